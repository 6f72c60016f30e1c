// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Headers built from the figures of the specification, and invalid headers.
#include "decode/hisi_ptt/hisi_ptt_tlp.hpp"

#include <gtest/gtest.h>

#include "decode/hisi_ptt/hisi_ptt_test_vectors.hpp"

namespace pmukit::decode::hisi_ptt {
namespace {

uint32_t write_bytes(uint32_t length, uint32_t first_be, uint32_t last_be)
{
    return data_bytes(parse_tlp({0x40000000 | length, last_be << 4 | first_be, 0x1000, 0}, 0));
}

TEST(HisiPttTlp, CountsWrittenBytesThatTheByteEnablesSelect)
{
    EXPECT_EQ(write_bytes(1, 0xf, 0), 4U);
    EXPECT_EQ(write_bytes(1, 0x5, 0), 2U);
    EXPECT_EQ(write_bytes(1, 0, 0), 0U);
    EXPECT_EQ(write_bytes(2, 0xf, 0xf), 8U);
    EXPECT_EQ(write_bytes(2, 0xe, 0x3), 5U);
    EXPECT_EQ(write_bytes(16, 0x8, 0x1), 58U);
    EXPECT_EQ(write_bytes(0, 0xf, 0xf), 4096U);
    // Byte enables that the specification forbids: all bytes of the payload are counted.
    EXPECT_EQ(write_bytes(4, 0, 0xf), 16U);
    EXPECT_EQ(write_bytes(4, 0xf, 0), 16U);
}

// The steering tag replaces the tag of a write, or the byte enables of a read.
TEST(HisiPttTlp, ProcessingHintEnablesAllBytesOfARead)
{
    constexpr uint32_t kHint = 1 << 16;
    EXPECT_EQ(write_bytes(1 | kHint, 0x1, 0), 1U);
    EXPECT_EQ(write_bytes(2 | kHint, 0x8, 0x1), 2U);
    const TlpHeader read = {0x00000002 | kHint, 0x01000118, 0x1000, 0};
    EXPECT_EQ(requested_bytes(parse_tlp(read, 0)), 8U);
    EXPECT_EQ(tlp_text(parse_tlp({0x40000001 | kHint, 0x0100aa01, 0x1000, 0}, 0)),
              "MWr 01:00.0 steering tag 0xaa address 0x1000 length 1 be 0x1/0x0 th");
    const TlpHeader io_write = {0x42000001 | kHint, 0x01000001, 0x1000, 0};
    // I/O requests have no processing hints, so their byte enables apply.
    EXPECT_EQ(data_bytes(parse_tlp(io_write, 0)), 1U);
}

// Neither operands of atomics nor data of messages have byte enables.
TEST(HisiPttTlp, CountsAllBytesOfAtomicsAndMessages)
{
    for (uint32_t fetch_add_swap_cas : {0x4c000002, 0x4d000002, 0x4e000002})
        EXPECT_EQ(data_bytes(parse_tlp({fetch_add_swap_cas, 0x01000018, 0x1000, 0}, 0)), 8U);
    EXPECT_EQ(data_bytes(parse_tlp({0x74000002, 0x0100007e, 0, 0}, 0)), 8U);
}

TEST(HisiPttTlp, CountsBytesOfCompletions)
{
    TlpHeader header = testing::completion_tlp(0x100, 0, 3, 1);
    // The completion has three bytes, beginning with the second byte of the dword.
    header[2] |= 1;
    EXPECT_EQ(data_bytes(parse_tlp(header, 0)), 3U);
    EXPECT_EQ(data_bytes(parse_tlp(testing::completion_tlp(0x100, 0, 2, 1), 0)), 2U);
    EXPECT_EQ(data_bytes(parse_tlp(testing::completion_tlp(0x100, 0, 256, 16), 0)), 64U);
    EXPECT_EQ(data_bytes(parse_tlp(testing::completion_tlp(0x100, 0, 4, 0), 0)), 0U);
}

TEST(HisiPttTlp, CountsRequestedBytesOfReadsAndPayloadBytesOfWrites)
{
    const Tlp read = parse_tlp(testing::read_tlp(0x100, 1, 0x1000, 16), 0);
    EXPECT_EQ(requested_bytes(read), 64U);
    EXPECT_EQ(data_bytes(read), 0U);
    const Tlp write = parse_tlp(testing::write_tlp(0x100, 0x1000, 16), 0);
    EXPECT_EQ(requested_bytes(write), 0U);
    EXPECT_EQ(data_bytes(write), 64U);
}

TEST(HisiPttTlp, ClassifiesTlpTypesAsPostedNonPostedOrCompletion)
{
    const std::pair<uint8_t, TlpClass> cases[] = {
        {0x00, TlpClass::kNonPosted},  {0x60, TlpClass::kPosted},    {0x34, TlpClass::kPosted},
        {0x73, TlpClass::kPosted},     {0x44, TlpClass::kNonPosted}, {0x42, TlpClass::kNonPosted},
        {0x4e, TlpClass::kNonPosted},  {0x5b, TlpClass::kNonPosted}, {0x0a, TlpClass::kCompletion},
        {0x4b, TlpClass::kCompletion}, {0x1f, TlpClass::kUnknown},   {0x80, TlpClass::kUnknown},
        {0x24, TlpClass::kUnknown},    {0x54, TlpClass::kUnknown},   {0x37, TlpClass::kPosted},
        {0x38, TlpClass::kUnknown},
    };
    for (auto [fmt_type, queue] : cases)
        EXPECT_EQ(kind_of(fmt_type).queue, queue) << int{fmt_type};
}

// The upper tag bits of PCI Express 6.0 are at different bit positions in different kinds of
// headers. All headers of this test have tag 0x2c17 and segment 0x5a.
TEST(HisiPttTlp, Reads14BitTagAndSegmentOfEachHeaderType)
{
    constexpr uint32_t kUpper = 0x5aU << 23 | 1U << 21 | 0xb0000,
                       kLower = 0x5aU << 24 | 1U << 5 | 0xb;
    const TlpHeader headers[] = {
        {0x20000001, 0x0100170f, kUpper | 0x1234, 0x56789abc},  // MRd, 64 bits
        {0x6c000001, 0x01001700, kUpper | 0x1234, 0x56789abc},  // FetchAdd
        {0x00000001, 0x0100170f, 0x56789abc, kLower},           // MRd, 32 bits
        {0x02000001, 0x0100170f, 0x00000cf8, kLower},           // IORd
        {0x04000001, 0x0100170f, 0x02000010, kUpper},           // CfgRd0
        {0x4a000001, 0x02000004, 0x01001700, kLower},           // CplD
    };
    for (const TlpHeader &header : headers) {
        const Tlp tlp = parse_tlp(header, 0, true);
        EXPECT_TRUE(tlp.wide_tag) << tlp_text(tlp);
        EXPECT_EQ(tlp.tag, 0x2c17) << tlp_text(tlp);
        EXPECT_EQ(tlp.segment, 0x5a) << tlp_text(tlp);
        EXPECT_EQ(tlp.requester, 0x100) << tlp_text(tlp);
        EXPECT_EQ(parse_tlp(header, 0).tag, 0x17);
    }
    EXPECT_EQ(parse_tlp(headers[0], 0, true).address, 0x123456789abcU);
    EXPECT_EQ(parse_tlp(headers[2], 0, true).address, 0x56789abcU);
    EXPECT_EQ(parse_tlp(headers[0], 0).address, 0x2d2b123456789abcU);
}

TEST(HisiPttTlp, TagHasTenBitsIfTheValidBitOf14BitTagsIsClear)
{
    const Tlp tlp = parse_tlp({0x20880001, 0x0100170f, 0x5a1b1234, 0x56789abc}, 0, true);
    EXPECT_FALSE(tlp.wide_tag);
    EXPECT_EQ(tlp.tag, 0x317);
    EXPECT_EQ(tlp.segment, 0);
    EXPECT_EQ(tlp.address, 0x5a1b123456789abcU);
    EXPECT_FALSE(parse_tlp({0x34000000, 0x0100007f, 0xffffffff, 0xffffffff}, 0, true).wide_tag);
}

TEST(HisiPttTlp, DecodesOnlyPasidPrefixes)
{
    const TlpHeader header = testing::read_tlp(0x100, 1, 0x1000, 16);
    EXPECT_FALSE(parse_tlp(header, 0).pasid);
    EXPECT_FALSE(parse_tlp(header, 0x90012345).pasid);
    const Tlp tlp = parse_tlp(header, 0x911fffff);
    ASSERT_TRUE(tlp.pasid);
    EXPECT_EQ(tlp.pasid->pasid, 0xfffffU);
    EXPECT_TRUE(tlp.pasid->execute);
    EXPECT_FALSE(tlp.pasid->privileged);
}

TEST(HisiPttTlp, MessagesAreRoutedByAddressOrId)
{
    EXPECT_EQ(parse_tlp({0x31000000, 0x01000000, 0xab, 0xcd000000}, 0).address, 0xabcd000000U);
    EXPECT_EQ(parse_tlp({0x32000000, 0x0100007f, 0x02010000, 0}, 0).target, 0x201U);
    EXPECT_EQ(parse_tlp({0x72000002, 0x0100007f, 0x02010000, 0}, 0).kind.type, TlpType::kMsgD);
}

TEST(HisiPttTlp, BdfTextHasTheFormatOfTheKernel)
{
    EXPECT_EQ(bdf_text(0x0101), "01:00.1");
    EXPECT_EQ(bdf_text(0xffff), "ff:1f.7");
}

}  // namespace
}  // namespace pmukit::decode::hisi_ptt
