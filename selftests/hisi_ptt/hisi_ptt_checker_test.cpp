// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "hisi_ptt_checker.hpp"

#include <gtest/gtest.h>

namespace pmukit::checker::hisi_ptt {
namespace {

constexpr std::string_view kTitle = "# pmukit tlp log 1\n";
constexpr std::string_view kStart =
    "# start at=1000 format=8dw direction=1 types=0x3 filter=port:0x0001 buffer=4096 tick_ns=10\n";

// Every kind of packet, as written in the model's log and in the dump
constexpr std::string_view kModelLog =
    "1010 out P MWr port=00:10.0 req=00:00.0 tag=0x0 addr=0xfe800011 bytes=2\n"
    "1020 out NP MRd port=00:10.0 req=00:00.0 tag=0x1e addr=0x400001000 bytes=8 pasid=0x12 ro\n"
    "1030 in CPL CplD port=00:10.0 req=00:00.0 tag=0x1e cpl=01:00.0 status=SC left=130 bytes=6 "
    "addr=0x1fe\n"
    "1040 in CPL Cpl port=00:10.0 req=00:00.0 tag=0x1f cpl=01:00.0 status=UR left=4 bytes=0\n"
    "1050 out NP CfgWr port=00:10.0 req=00:00.0 tag=0x20 target=01:00.0 reg=0x106 bytes=2\n";
constexpr std::string_view kDump =
    "# hisi_ptt0_2 cpu 0: AUX offset 0x0\n"
    "0x00000000          101 MWr 00:00.0 tag 0x0 address 0xfe800010 length 1 be 0x6/0x0\n"
    "0x00000020          102 MRd 00:00.0 tag 0x1e address 0x400001000 length 2 be 0xf/0xf pasid "
    "0x12\n"
    "0x00000040          103 CplD 00:00.0 tag 0x1e by 01:00.0 SC bytes 130 lower 0x7e length 2\n"
    "0x00000060          104 Cpl 00:00.0 tag 0x1f by 01:00.0 UR bytes 4 lower 0x0\n"
    "0x00000080          105 CfgWr0 00:00.0 tag 0x20 of 01:00.0 register 0x104 be 0xc\n";

std::vector<Tlp> dump_of(std::string_view text)
{
    const auto tlps = read_dump(text);
    EXPECT_TRUE(tlps) << tlps.error().message;
    return tlps ? *tlps : std::vector<Tlp>{};
}

std::vector<Trace> runs_of(std::string_view lines)
{
    const auto runs = read_traced(std::string(kTitle) + std::string(lines));
    EXPECT_TRUE(runs) << runs.error().message;
    return runs ? *runs : std::vector<Trace>{};
}

TEST(HisiPttChecker, ModelLogEqualsDumpOfSameTrace)
{
    const std::vector<Trace> runs = runs_of(std::string(kStart) + std::string(kModelLog));
    ASSERT_EQ(runs.size(), 1u);
    EXPECT_EQ(difference(logged(runs[0], runs[0].packets), dump_of(kDump)), std::nullopt);
}

// Each case changes one field of the dump.
class OneChangedField
    : public testing::TestWithParam<std::pair<std::string_view, std::string_view>> {};

TEST_P(OneChangedField, IsDetectedInTheDump)
{
    const auto [from, to] = GetParam();
    std::string text(kDump);
    const size_t at = text.find(from);
    ASSERT_NE(at, text.npos) << from;
    text.replace(at, from.size(), to);
    const std::vector<Trace> runs = runs_of(std::string(kStart) + std::string(kModelLog));
    EXPECT_NE(difference(logged(runs[0], runs[0].packets), dump_of(text)), std::nullopt) << to;
}

using Change = std::pair<std::string_view, std::string_view>;
INSTANTIATE_TEST_SUITE_P(
    Dump, OneChangedField,
    testing::Values(Change{"MWr", "MRd"}, Change{"MRd 00:00.0", "MRd 01:00.0"},
                    Change{"0x1e address", "0x1f address"}, Change{"0xfe800010", "0xfe800020"},
                    Change{"be 0x6/", "be 0x2/"}, Change{"length 2 be", "length 3 be"},
                    Change{"0xf/0xf", "0xf/0x7"}, Change{"pasid 0x12", "pasid 0x13"},
                    Change{"         102", "         112"},
                    Change{"by 01:00.0 SC", "by 01:00.1 SC"}, Change{"SC", "UR"},
                    Change{"bytes 130", "bytes 131"}, Change{"0x7e", "0x7f"},
                    Change{"0x7e length 2", "0x7e length 3"}, Change{"of 01:00.0", "of 02:00.0"},
                    Change{"0x104", "0x108"}, Change{"be 0xc", "be 0xf"}));

TEST(HisiPttChecker, DetectsMissingAndAdditionalPackets)
{
    const std::vector<Tlp> all = dump_of(kDump);
    std::vector<Tlp> fewer = all;
    fewer.pop_back();
    EXPECT_NE(difference(all, fewer), std::nullopt);
    EXPECT_NE(difference(fewer, all), std::nullopt);
    EXPECT_NE(difference(all, {}), std::nullopt);
}

TEST(HisiPttChecker, FourDwFormatHas11TimeBitsAndNoPrefix)
{
    std::string start(kStart);
    start.replace(start.find("8dw"), 3, "4dw");
    const std::vector<Trace> runs = runs_of(
        start +
        "40960 out NP MRd port=00:10.0 req=00:00.0 tag=0x1 addr=0x1000 bytes=4 pasid=0x1\n");
    const std::vector<Tlp> tlps = logged(runs[0], runs[0].packets);
    EXPECT_EQ(tlps[0].ticks, 0u);
    EXPECT_EQ(tlps[0].pasid, "");
}

TEST(HisiPttChecker, EachStartLineOfTheLogBeginsANewTrace)
{
    const std::vector<Trace> runs = runs_of(
        std::string(kStart) + "# stop at=2000\n" +
        "# start at=3000 format=4dw direction=2 types=0x4 filter=requester:0x0108 buffer=64 "
        "tick_ns=1\n");
    ASSERT_EQ(runs.size(), 2u);
    EXPECT_EQ(runs[0].start_ns, 1000u);
    EXPECT_EQ(runs[0].stop_ns, 2000u);
    EXPECT_EQ(runs[0].selection.target, 1u);
    EXPECT_TRUE(runs[1].selection.by_requester);
    EXPECT_EQ(runs[1].selection.target, 0x108u);
    EXPECT_EQ(runs[1].selection.format_dwords, 4u);
}

TEST(HisiPttChecker, SelectsPacketsByTimeAndTerms)
{
    const auto seen = read_seen(
        std::string(kTitle) +
        "999 out P MWr port=00:10.0 req=00:00.0 tag=0x0 addr=0x0 bytes=4\n"
        "1000 out P MWr port=00:10.0 req=00:00.0 tag=0x0 addr=0x4 bytes=4\n"
        "1001 out P MWr port=00:11.0 req=00:00.0 tag=0x0 addr=0x8 bytes=4\n"
        "1002 in P MWr port=00:10.0 req=01:00.0 tag=0x0 addr=0xc bytes=4\n"
        "1003 out CPL CplD port=00:10.0 req=01:00.0 tag=0x0 cpl=00:00.0 status=SC left=4 bytes=4 "
        "addr=0x0\n"
        "2000 out P MWr port=00:10.0 req=00:00.0 tag=0x0 addr=0x10 bytes=4\n");
    ASSERT_TRUE(seen);
    const std::vector<Trace> runs = runs_of(std::string(kStart) + "# stop at=2000\n");
    const std::vector<Seen> taken = ought_to_be_taken(runs[0], *seen);
    ASSERT_EQ(taken.size(), 1u);
    EXPECT_EQ(taken[0].tlp.address, 4u);
}

TEST(HisiPttChecker, PacketsOfEachDirectionMatchTheDocumentation)
{
    struct Case {
        unsigned format, direction;
        std::string_view taken;
    };
    const auto seen_of = [](bool inbound, std::string flow, std::string requester) {
        Seen seen;
        seen.inbound = inbound;
        seen.flow = std::move(flow);
        seen.port = "00:11.0";
        seen.tlp.requester = std::move(requester);
        return seen;
    };
    const std::pair<char, Seen> all[] = {
        {'O', seen_of(false, "P", "00:00.0")},  {'p', seen_of(true, "P", "01:00.0")},
        {'n', seen_of(true, "NP", "01:00.0")},  {'a', seen_of(true, "CPL", "00:00.0")},
        {'b', seen_of(true, "CPL", "02:00.0")},
    };
    for (const Case &c : {Case{4, 0, "pnab"}, Case{4, 1, "O"}, Case{4, 2, "Opnb"}, Case{4, 3, "Oa"},
                          Case{8, 0, ""}, Case{8, 1, "O"}, Case{8, 2, "pnb"}, Case{8, 3, "a"}}) {
        std::string taken;
        for (const auto &[name, seen] : all)
            if (takes({c.format, c.direction, 7, false, 1u << 2, 1}, seen))
                taken += name;
        EXPECT_EQ(taken, c.taken) << c.format << ' ' << c.direction;
    }
    EXPECT_FALSE(takes({8, 1, 7, false, 1u << 0, 1}, all[0].second));
    EXPECT_TRUE(takes({8, 2, 7, true, 0x0100, 1}, all[1].second));
    EXPECT_FALSE(takes({8, 2, 7, true, 0x0101, 1}, all[1].second));
}

TEST(HisiPttChecker, RejectsInvalidLines)
{
    EXPECT_FALSE(read_seen("something else\n"));
    for (const char *line : {"x out P MWr req=00:00.0 tag=0x0 addr=0x0 bytes=4\n", "1 out P\n",
                             "1 out P MWr req=00:00.0 tag=0x0 bytes=4\n",
                             "1 in CPL CplD req=00:00.0 tag=0x0 left=4 bytes=4\n"})
        EXPECT_FALSE(read_seen(std::string(kTitle) + line)) << line;
    EXPECT_FALSE(read_traced(std::string(kTitle) + std::string(kModelLog)));
    EXPECT_FALSE(read_traced(std::string(kTitle) + "# start at=1 format=8dw\n"));
    EXPECT_FALSE(read_traced(std::string(kTitle) + std::string(kStart) + "# change at=5\n"));
    EXPECT_FALSE(read_dump("0x00000000 1 MWr 00:00.0 tag 0x0 address 0x0 length 1 be 0x1f/0x0\n"));
    EXPECT_FALSE(read_dump("0x00000000 1 unknown\n"));
}

}  // namespace
}  // namespace pmukit::checker::hisi_ptt
