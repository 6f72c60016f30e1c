// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Expected words are written out by hand from the drawings of PCI Express Base Specification 6.0,
// chapter 2, and of Linux' Documentation/trace/hisi-ptt.rst.
#include "models/hisi_ptt/tlp_encoder.hpp"

#include <gtest/gtest.h>

namespace pmukit::models::hisi_ptt {
namespace {

using vfu::Packet;
using vfu::PacketDirection;
using vfu::PacketKind;
using Words8 = std::array<uint32_t, 8>;
using Words4 = std::array<uint32_t, 4>;

Tlp write_of(uint64_t address, uint32_t bytes)
{
    Tlp tlp;
    tlp.packet.kind = PacketKind::kMemoryWrite;
    tlp.packet.direction = PacketDirection::kInbound;
    tlp.packet.requester = 0x0100;
    tlp.packet.address = address;
    tlp.packet.bytes = bytes;
    return tlp;
}

// The only packet that the public document shows: a write of one dword by 01:00.0, tag 0x1e.
TEST(TlpEncoder, EncodesThePublishedExample)
{
    Tlp tlp = write_of(0x4'0281'0040, 4);
    tlp.packet.tag = 0x1e;
    EXPECT_EQ(encode_8dw(tlp, 0x4c033),
              (Words8{0xffffffff, 0, 0x60000001, 0x01001e0f, 0x00000004, 0x02810040, 0, 0x4c033}));
}

TEST(TlpEncoder, WriteBelow4GiBHasAThreeDwordHeader)
{
    EXPECT_EQ(encode_8dw(write_of(0xfee00000, 4), 1),
              (Words8{0xffffffff, 0, 0x40000001, 0x0100000f, 0xfee00000, 0, 0, 1}));
}

TEST(TlpEncoder, ReadsCarryNoData)
{
    Tlp tlp = write_of(0x1'0000'0000, 512);
    tlp.packet.kind = PacketKind::kMemoryRead;
    EXPECT_EQ(encode_8dw(tlp, 0)[2], 0x20000080u);
    tlp.packet.address = 0x1000;
    EXPECT_EQ(encode_8dw(tlp, 0)[2], 0x00000080u);
}

TEST(TlpEncoder, ByteEnablesMarkTheBytesOfTheFirstAndLastDword)
{
    struct Case {
        uint64_t address;
        uint32_t bytes;
        uint32_t length;
        uint32_t enables;
    };
    for (const Case &c :
         {Case{0x1000, 1, 1, 0x01}, Case{0x1003, 1, 1, 0x08}, Case{0x1001, 2, 1, 0x06},
          Case{0x1003, 2, 2, 0x18}, Case{0x1000, 8, 2, 0xff}, Case{0x1002, 6, 2, 0xfc},
          Case{0x1001, 8, 3, 0x1e}, Case{0x1000, 0, 1, 0x00}}) {
        const Words8 words = encode_8dw(write_of(c.address, c.bytes), 0);
        EXPECT_EQ(words[2] & 0x3ff, c.length) << c.address << ' ' << c.bytes;
        EXPECT_EQ(words[3] & 0xff, c.enables) << c.address << ' ' << c.bytes;
        EXPECT_EQ(words[4], 0x1000u) << c.address << ' ' << c.bytes;
    }
}

TEST(TlpEncoder, ALengthOf1024DwordsIsWrittenAsZero)
{
    EXPECT_EQ(encode_8dw(write_of(0x2000, 4096), 0)[2], 0x40000000u);
    EXPECT_EQ(encode_8dw(write_of(0x2000, 4092), 0)[2], 0x400003ffu);
}

TEST(TlpEncoder, CompletionHasByteCountAndLowerAddress)
{
    Tlp tlp;
    tlp.packet.kind = PacketKind::kCompletion;
    tlp.packet.requester = 0x0208;
    tlp.packet.completer = 0x0080;
    tlp.packet.tag = 0x42;
    tlp.packet.address = 0x12345'67fe;
    tlp.packet.bytes = 2;
    tlp.packet.bytes_left = 130;
    EXPECT_EQ(encode_8dw(tlp, 9),
              (Words8{0xffffffff, 0, 0x4a000001, 0x00800082, 0x0208427e, 0, 0, 9}));
}

TEST(TlpEncoder, AByteCountOf4096IsWrittenAsZero)
{
    Tlp tlp;
    tlp.packet.kind = PacketKind::kCompletion;
    tlp.packet.bytes = 128;
    tlp.packet.bytes_left = 4096;
    EXPECT_EQ(encode_8dw(tlp, 0)[3], 0u);
}

TEST(TlpEncoder, UnsupportedRequestCompletionHasNoData)
{
    Tlp tlp;
    tlp.packet.kind = PacketKind::kCompletion;
    tlp.packet.requester = 0x0100;
    tlp.packet.tag = 7;
    tlp.packet.address = 0x123;
    tlp.packet.bytes_left = 64;
    tlp.packet.status = vfu::CompletionStatus::kUnsupportedRequest;
    EXPECT_EQ(encode_8dw(tlp, 0),
              (Words8{0xffffffff, 0, 0x0a000000, 0x00002040, 0x01000700, 0, 0, 0}));
}

TEST(TlpEncoder, ConfigurationRequestsHaveFunctionAndRegister)
{
    Tlp tlp;
    tlp.packet.kind = PacketKind::kConfigRead;
    tlp.packet.completer = 0x0100;
    tlp.packet.tag = 3;
    tlp.packet.address = 0xf06;
    tlp.packet.bytes = 2;
    EXPECT_EQ(encode_8dw(tlp, 0),
              (Words8{0xffffffff, 0, 0x04000001, 0x0000030c, 0x01000f04, 0, 0, 0}));
    tlp.packet.kind = PacketKind::kConfigWrite;
    EXPECT_EQ(encode_8dw(tlp, 0)[2], 0x44000001u);
}

TEST(TlpEncoder, FourDwordEntryCondensesHeaderAndTimeInItsFirstDword)
{
    Tlp tlp = write_of(0x4'0281'0040, 4);
    tlp.packet.tag = 0x31e;
    // Fmt 3, type 0, T9, T8, no hint, strong order, one dword, the low 11 bits of the time
    EXPECT_EQ(encode_4dw(tlp, 0xfff),
              (Words4{0xc0000000 | 1u << 24 | 1u << 23 | 1u << 21 | 1u << 11 | 0x7ff, 0x01001e0f, 4,
                      0x02810040}));
    tlp.relaxed_ordering = true;
    EXPECT_EQ(encode_4dw(tlp, 0)[0] >> 21 & 1, 0u);
}

TEST(TlpEncoder, EightDwordEntryHasTheWholeTagAndAttributes)
{
    Tlp tlp = write_of(0x1000, 4);
    tlp.packet.tag = 0x31e;
    tlp.relaxed_ordering = true;
    EXPECT_EQ(encode_8dw(tlp, 0)[2], 0x40000001u | 1u << 23 | 1u << 19 | 1u << 13);
}

TEST(TlpEncoder, PrefixIsPresentOnlyWithAPasid)
{
    Tlp tlp = write_of(0x1000, 4);
    EXPECT_EQ(encode_8dw(tlp, 0)[1], 0u);
    tlp.pasid = 0xabcde;
    EXPECT_EQ(encode_8dw(tlp, 0)[1], 0x910abcdeu);
    tlp.pasid = 0;
    EXPECT_EQ(encode_8dw(tlp, 0)[1], 0x91000000u);
}

TEST(TlpEncoder, TimeIsTruncatedToItsLowBits)
{
    EXPECT_EQ(encode_8dw(write_of(0, 4), 0x1'2345'6789)[7], 0x23456789u);
    EXPECT_EQ(encode_4dw(write_of(0, 4), 0x1'2345'6789)[0] & 0x7ff, 0x789u);
}

// 14-bit tags: tag<7:0> in DW1 or DW2, tag<9:8> in DW0, tag<13:10> with its valid bit as in
// tools/perf/util/hisi-ptt-decoder/hisi-ptt-pkt-decoder.h. The parts of 0x2b1e are 0xa, 3 and 0x1e.

TEST(TlpEncoder, WideTagOfAWriteAbove4GiBHasItsTopBitsInDw2)
{
    Tlp tlp = write_of(0x8204'0281'0040, 4);
    tlp.packet.tag = 0x2b1e;
    EXPECT_EQ(encode_8dw(tlp, 7, true),
              (Words8{0xffffffff, 0, 0x60880001, 0x01001e0f, 0x002a8204, 0x02810040, 0, 7}));
    EXPECT_EQ(encode_4dw(tlp, 7, true), (Words4{0xc1a00807, 0x01001e0f, 0x002a8204, 0x02810040}));
}

TEST(TlpEncoder, WideTagOfAWriteBelow4GiBHasItsTopBitsInDw3)
{
    Tlp tlp = write_of(0xfee00000, 4);
    tlp.packet.tag = 0x2b1e;
    EXPECT_EQ(encode_8dw(tlp, 1, true),
              (Words8{0xffffffff, 0, 0x40880001, 0x01001e0f, 0xfee00000, 0x2a, 0, 1}));
}

TEST(TlpEncoder, WideTagOfAConfigurationRequestHasItsTopBitsInDw3)
{
    Tlp tlp;
    tlp.packet.kind = PacketKind::kConfigRead;
    tlp.packet.requester = 0;
    tlp.packet.completer = 0x0100;
    tlp.packet.address = 0x10;
    tlp.packet.bytes = 4;
    tlp.packet.tag = 0x2b1e;
    EXPECT_EQ(encode_8dw(tlp, 1, true),
              (Words8{0xffffffff, 0, 0x04880001, 0x00001e0f, 0x01000010, 0x002a0000, 0, 1}));
}

TEST(TlpEncoder, WideTagOfACompletionHasItsTopBitsInDw3)
{
    Tlp tlp;
    tlp.packet.kind = PacketKind::kCompletion;
    tlp.packet.completer = 0x0100;
    tlp.packet.requester = 0;
    tlp.packet.bytes = tlp.packet.bytes_left = 4;
    tlp.packet.tag = 0x2b1e;
    EXPECT_EQ(encode_8dw(tlp, 1, true),
              (Words8{0xffffffff, 0, 0x4a880001, 0x01000004, 0x00001e00, 0x2a, 0, 1}));
}

TEST(TlpEncoder, WideTagFormatSetsTagValidForA10BitTagToo)
{
    EXPECT_EQ(encode_8dw(write_of(0xfee00000, 4), 1, true)[5], 0x20u);
}

}  // namespace
}  // namespace pmukit::models::hisi_ptt
