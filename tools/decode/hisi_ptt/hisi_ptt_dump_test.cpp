// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// testdata/*.perf.txt is what perf of Linux 7.2 prints for the entries in testdata/*.ptt.txt.
#include "decode/hisi_ptt/hisi_ptt_dump.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <iterator>

#include "decode/hisi_ptt/hisi_ptt_test_vectors.hpp"

namespace pmukit::decode::hisi_ptt {
namespace {

// Returns all lines except the first, which contains the size of the data.
std::string recorded(const std::string &name)
{
    std::ifstream file(std::string(HISI_PTT_TESTDATA) + "/" + name + ".perf.txt");
    std::string first;
    EXPECT_TRUE(std::getline(file, first)) << name;
    return {std::istreambuf_iterator<char>(file), {}};
}

TEST(HisiPttDump, PrintsWhatPerfPrintsFor8dw)
{
    const testing::Vectors vectors = testing::read_vectors("8dw");
    DumpText dump;
    EXPECT_EQ(dump.lines(Format::k8dw, 0, vectors.bytes), recorded("8dw"));
}

TEST(HisiPttDump, PrintsWhatPerfPrintsFor4dw)
{
    const testing::Vectors vectors = testing::read_vectors("4dw");
    DumpText dump;
    EXPECT_EQ(dump.lines(Format::k4dw, 0, vectors.bytes), recorded("4dw"));
}

// perf of Linux 6.12 prints these fields, from bit 0 up, with these numbers of bits: Fmt 2, Type 5,
// T9, T8, TH, SO, Length 10, Time 11.
TEST(HisiPttDump, PrintsWhatPerfOfLinux6_12Prints)
{
    DumpText dump(PerfText::kLinux6_12);
    testing::Buffer narrow;
    for (const uint32_t dword : {0x123454abU, 0x0100000fU, 0x00000004U, 0x02810040U})
        testing::put_dword(narrow, dword);
    EXPECT_EQ(dump.lines(Format::k4dw, 0x10, narrow),
              ".  00000010: ab 54 34 12                                 "
              "Format 3 Type a T9 1 T8 0 TH 0 SO 1 Length 28a Time 91\n"
              ".  00000014: 0f 00 00 01                                 Header DW1\n"
              ".  00000018: 04 00 00 00                                 Header DW2\n"
              ".  0000001c: 40 00 81 02                                 Header DW3\n");
    const testing::Buffer wide =
        testing::entry_8dw({0x60000001, 0x01001e0f, 4, 0x02810040}, 0x4c033);
    EXPECT_EQ(dump.lines(Format::k8dw, 0, wide),
              ".  00000004: 00 00 00 00                                 Prefix\n"
              ".  00000008: 01 00 00 60                                 Header DW0\n"
              ".  0000000c: 0f 1e 00 01                                 Header DW1\n"
              ".  00000010: 04 00 00 00                                 Header DW2\n"
              ".  00000014: 40 00 81 02                                 Header DW3\n"
              ".  0000001c: 33 c0 04 00                                 Time\n");
}

TEST(HisiPttDump, PrintedOffsetsBeginAtTheOffsetOfTheFirstEntry)
{
    DumpText dump;
    const std::string text(
        dump.lines(Format::k8dw, 0xfedcba80, testing::stream_of(Format::k8dw, 2)));
    EXPECT_TRUE(text.starts_with(".  fedcba84: 00 00 00 00 ")) << text;
    EXPECT_NE(text.find("\n.  fedcbaa4: 00 00 00 00 "), std::string::npos) << text;
}

TEST(HisiPttDump, FieldsHaveNoLeadingZeros)
{
    for (const uint32_t time : {0x0u, 0xfu, 0x10u, 0xffu, 0x100u, 0x7ffu}) {
        testing::Buffer packet(k4dwBytes, std::byte{0});
        store_le<uint32_t>(packet.data(), time);
        DumpText dump;
        const std::string text(dump.lines(Format::k4dw, 0, packet));
        char wanted[16];
        std::snprintf(wanted, sizeof wanted, " Time %x\n", time);
        EXPECT_NE(text.find(wanted), std::string::npos) << text;
    }
}

TEST(HisiPttDump, HandlesTheMaximumNumberOfPackets)
{
    const testing::Buffer widest(DumpText::kMaxPackets * k4dwBytes, std::byte{0x7e});
    DumpText dump;
    const std::string_view text = dump.lines(Format::k4dw, 0, widest);
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4 * DumpText::kMaxPackets);
    EXPECT_TRUE(text.ends_with("Header DW3\n"));
    EXPECT_EQ(dump.lines(Format::k4dw, 0, {}), "");
}

}  // namespace
}  // namespace pmukit::decode::hisi_ptt
