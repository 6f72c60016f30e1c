// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// testdata/*.perf.txt is what perf of Linux 7.2 printed for the entries of *.ptt.txt beside it.
#include "decode/hisi_ptt/hisi_ptt_dump.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <iterator>

#include "decode/hisi_ptt/hisi_ptt_test_vectors.hpp"

namespace pmukit::decode::hisi_ptt {
namespace {

// All lines but the first, which names the size.
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

TEST(HisiPttDump, CountsOffsetsFromWhereItIsTold)
{
    DumpText dump;
    const std::string text(
        dump.lines(Format::k8dw, 0xfedcba80, testing::stream_of(Format::k8dw, 2)));
    EXPECT_TRUE(text.starts_with(".  fedcba84: 00 00 00 00 ")) << text;
    EXPECT_NE(text.find("\n.  fedcbaa4: 00 00 00 00 "), std::string::npos) << text;
}

TEST(HisiPttDump, FieldsHaveAsManyDigitsAsTheyNeed)
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

TEST(HisiPttDump, HasRoomForAsManyPacketsAsItSays)
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
