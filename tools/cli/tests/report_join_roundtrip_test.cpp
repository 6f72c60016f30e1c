// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// pmukit report --join of recordings for which the expected result was computed by hand. They have
// hot memory, PCIe requests and cache readings; some of these cannot be joined.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/test_folder.hpp"
#include "cli/join.hpp"
#include "cli/tests/page_tree.hpp"
#include "encode/encode.hpp"
#include "topology/test_tree.hpp"

namespace pmukit {
namespace {

using cli::overlap_of;
using nlohmann::json;

TEST(Overlap, OfTwoSeriesIsOneIfTheyAreProportionalAndZeroIfTheyShareNoTime)
{
    EXPECT_DOUBLE_EQ(overlap_of({1, 2, 3}, {10, 20, 30}), 1);
    EXPECT_DOUBLE_EQ(overlap_of({1, 0}, {0, 5}), 0);
    EXPECT_DOUBLE_EQ(overlap_of({100, 50}, {0, 9}), 1.0 / 3);
    EXPECT_DOUBLE_EQ(overlap_of({0, 0}, {1, 1}), 0) << "nothing is like nothing";
    EXPECT_DOUBLE_EQ(overlap_of({}, {}), 0);
}

// A device of 16 MiB at host address 4 GiB, on node 1 of tier 22. Node 0, of tier 4, begins at
// address 0.
void put_machine(const TestFolder &tree)
{
    topology::TreeRegion region;
    region.dpa_bytes = uint64_t{16} << 20;
    put_region(tree, region);
    tree.put("devices/system/memory/block_size_bytes", "8000000\n");
    tree.folder("devices/system/memory/memory0/node0");
    tree.folder("devices/system/memory/memory32/node1");
    tree.put("devices/virtual/memory_tiering/memory_tier4/nodelist", "0\n");
    tree.put("devices/virtual/memory_tiering/memory_tier22/nodelist", "1\n");
}

// Two seconds of data. Unit 0 is hot in both seconds, and unit 512 (at 2 MiB) only in the first.
// Unit 8192 is past the end of the device. Requester 01:00.0 reads from the first range in both
// seconds. 02:00.0 writes to the second range and reads outside of the ranges. One request is a
// translation request. Group 1 moves 1000 bytes and then 500, like the heat of unit 0; group 2
// moves bytes only in the last second.
constexpr const char *kEverything = R"(order little
pmu 11 cxl_hmu_mem0.0.0
pmu 24 hisi_ptt0_2
pmu 30 cache_qos_aux
event 7 cxl_hmu_mem0.0.0//
event 8 hisi_ptt0_2/filter=0x80001,type=7,format=1/ config 0x107080001 period 1
event 9 cache_qos_aux/snapshot/
aux 7 cpu 0
hot unit 12 time 1000000000 sequence 0 0:100 512:10
hot unit 12 time 2000000000 sequence 1 0:50 8192:7
aux 8 cpu 0 time 1000000000
8dw 100 20000010 010001ff 00000001 00000040
8dw 120 60000010 020002ff 00000001 00200000
8dw 130 00000010 020003ff 00001000 00000000
8dw 140 20000410 020004ff 00000001 00000000
aux 8 cpu 0 time 2000000000
8dw 200 20000010 010005ff 00000001 00000080
aux 9 cpu 0
cq-header 0 0 8388608 65536
cq 1 900000000 1 1 0 2 0 0
cq 2 900000000 2 1 0 2 0 0
cq 3 1000000000 1 1 0 2 1000 0
cq 4 1000000000 2 1 0 2 0 0
cq 5 2000000000 1 1 0 2 1500 0
cq 6 2000000000 2 1 0 2 400 0
)";

class Joined : public testing::Test {
protected:
    void record(const std::string &text)
    {
        put_machine(tree_);
        Result<encode::Case> what = encode::parse_case(text);
        ASSERT_TRUE(what) << what.error().message;
        ASSERT_TRUE(encode::write_recording(*what, tree_.path("perf.data")));
    }
    std::string said(const std::string &options, int wanted_status = 0)
    {
        std::string text;
        FILE *pipe = ::popen(
            (PMUKIT_COMMAND " report -i " + tree_.path("perf.data") + " " + options + " 2>&1")
                .c_str(),
            "r");
        char chunk[4096];
        while (size_t got = std::fread(chunk, 1, sizeof chunk, pipe))
            text.append(chunk, got);
        const int ended = ::pclose(pipe);
        EXPECT_TRUE(WIFEXITED(ended));
        EXPECT_EQ(WEXITSTATUS(ended), wanted_status) << text;
        return text;
    }
    json joined()
    {
        return json::parse(said("--join --json --cxl-topology " + tree_.dir())).at("join");
    }

    TestFolder tree_;
};

uint64_t in_second(const json &join, const json &columns, uint64_t second)
{
    const uint64_t origin = join.at("origin_ns"), width = join.at("column_ns");
    uint64_t sum = 0;
    for (size_t i = 0; i < columns.size(); i++) {
        const uint64_t from = origin + i * width;
        const bool within = second * 1000000000 >= from && second * 1000000000 < from + width;
        sum += within ? columns[i].get<uint64_t>() : 0;
    }
    return sum;
}

TEST_F(Joined, JoinsHotRangesRequestersNodesAndTiers)
{
    record(kEverything);
    const json join = joined();
    const json &ranges = join.at("ranges");
    ASSERT_EQ(ranges.size(), 2U);
    EXPECT_EQ(ranges[0].at("hpa"), 0x100000000U);
    EXPECT_EQ(ranges[0].at("node"), 1);
    EXPECT_EQ(ranges[0].at("tier"), 22);
    EXPECT_EQ(ranges[0].at("accesses"), 150);
    EXPECT_EQ(ranges[0].at("units"), 1);
    EXPECT_EQ(ranges[0].at("requesters"),
              json::parse(R"([{"requester": "01:00.0", "reads": 2, "read_bytes": 128,
                               "writes": 0, "written_bytes": 0}])"));
    EXPECT_EQ(ranges[1].at("hpa"), 0x100200000U);
    EXPECT_EQ(ranges[1].at("accesses"), 10);
    EXPECT_EQ(ranges[1].at("requesters"),
              json::parse(R"([{"requester": "02:00.0", "reads": 0, "read_bytes": 0,
                               "writes": 1, "written_bytes": 64}])"));
    EXPECT_EQ(join.at("nodes"),
              json::parse(R"([{"node": 0, "tier": 4, "accesses": 0, "reads": 1, "read_bytes": 64,
                               "writes": 0, "written_bytes": 0},
                              {"node": 1, "tier": 22, "accesses": 160, "reads": 2,
                               "read_bytes": 128, "writes": 1, "written_bytes": 64}])"));
}

TEST_F(Joined, DataOfAllDriversHasOneTimeAxis)
{
    record(kEverything);
    const json join = joined();
    EXPECT_LE(join.at("origin_ns"), 900000000U);
    const json &hot = join.at("ranges")[0].at("columns");
    EXPECT_EQ(in_second(join, hot, 1), 100U);
    EXPECT_EQ(in_second(join, hot, 2), 50U);
    ASSERT_EQ(join.at("requesters").size(), 2U);
    const json &reader = join.at("requesters")[0];
    EXPECT_EQ(reader.at("name"), "01:00.0");
    EXPECT_EQ(in_second(join, reader.at("columns"), 1), 64U);
    EXPECT_EQ(in_second(join, reader.at("columns"), 2), 64U);
    ASSERT_EQ(join.at("groups").size(), 2U);
    EXPECT_EQ(in_second(join, join.at("groups")[0].at("columns"), 1), 1000U);
    EXPECT_EQ(in_second(join, join.at("groups")[0].at("columns"), 2), 500U);
}

TEST_F(Joined, ReportsTheOverlapInTimeOfEachGroupWithAHotRange)
{
    record(kEverything);
    const json join = joined();
    const json &together = join.at("ranges")[0].at("together");
    EXPECT_DOUBLE_EQ(together.at("group 1 L3 0 total_bytes").get<double>(), 1);
    EXPECT_DOUBLE_EQ(together.at("group 2 L3 0 total_bytes").get<double>(), 1.0 / 3);
}

TEST_F(Joined, ReportsWhatCannotBeJoined)
{
    record(kEverything);
    std::string rest;
    const json join = joined();
    for (const json &line : join.at("not_joined"))
        rest += line.get<std::string>() + "\n";
    EXPECT_NE(rest.find("1 hot units have no host address; first reason: "), std::string::npos)
        << rest;
    EXPECT_NE(rest.find("7 accesses are of units without a host address"), std::string::npos);
    EXPECT_NE(rest.find("1 memory requests, of 64 bytes, went to 1 ranges that were not hot"),
              std::string::npos);
    EXPECT_NE(rest.find("4 memory requests have untranslated addresses"), std::string::npos);
    EXPECT_NE(rest.find("1 requests are translation requests"), std::string::npos);
    EXPECT_NE(rest.find("2 clocks were used and may differ"), std::string::npos);
}

TEST_F(Joined, WarnsOnlyAboutDifferentClocks)
{
    std::string text = kEverything;
    const auto with_clock = [&text](const std::string &line, const char *clock) {
        text.insert(text.find(line) + line.size(), clock);
    };
    const std::string memory = "event 7 cxl_hmu_mem0.0.0//",
                      packets = "format=1/ config 0x107080001 period 1";
    with_clock(memory, " clock monotonic");
    with_clock(packets, " clock monotonic");
    record(text);
    EXPECT_EQ(joined().at("not_joined").dump().find("clock"), std::string::npos)
        << "readings are always of that clock";

    text = kEverything;
    with_clock(memory, " clock raw");
    with_clock(packets, " clock monotonic");
    record(text);
    EXPECT_NE(joined()
                  .at("not_joined")
                  .dump()
                  .find("2 clocks were used and may differ (cache_qos_aux: CLOCK_MONOTONIC, "
                        "hisi_ptt0_2: CLOCK_MONOTONIC, cxl_hmu_mem0.0.0: CLOCK_MONOTONIC_RAW)"),
              std::string::npos)
        << joined().at("not_joined").dump();
}

TEST_F(Joined, TextShowsTheJoinedRangesAndGroups)
{
    record(kEverything);
    const std::string text = said("--join --source model --cxl-topology " + tree_.dir());
    EXPECT_NE(text.find("source=model"), std::string::npos) << text;
    EXPECT_NE(text.find("    1  0x0000000100000000-0x00000001001fffff     1    22           150   "
                        "93.8%  01:00.0             2              128           0                "
                        "0  group 1 L3 0 total_bytes 100%\n"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("\n  group 2 L3 0 total_bytes"), std::string::npos);
}

TEST_F(Joined, HtmlShowsTheSumOfHotRangesAndAllSeriesOverOneTime)
{
    record(kEverything);
    said("--join --html " + tree_.path("page.html") + " --cxl-topology " + tree_.dir());
    std::ifstream file(tree_.path("page.html"));
    PageParser parser;
    ASSERT_EQ(parser.parse({std::istreambuf_iterator<char>(file), {}}), "");
    const std::vector<const Element *> figures = parser.root().all("figure");
    ASSERT_GE(figures.size(), 2U);
    EXPECT_EQ(figures[0]->all("h2").at(0)->text,
              "Hot ranges, and PCIe requesters that access them");
    EXPECT_EQ(figures[0]->all("tfoot").at(0)->children.at(0)->children.at(4)->text, "160");
    EXPECT_EQ(figures[1]->all("h2").at(0)->text, "All of it over one time");
    EXPECT_EQ(figures[1]->all("tbody").at(0)->children.size(), 6U)
        << "2 ranges, 2 requesters, 2 groups";
    EXPECT_NE(figures[1]->text.find("untranslated"), std::string::npos);
}

// With ranges of 16 MiB, all hot units are in one range.
TEST_F(Joined, RangeBytesOptionSetsTheRangeSize)
{
    record(kEverything);
    const json join =
        json::parse(said("--join --json --range-bytes 16777216 --cxl-topology " + tree_.dir()))
            .at("join");
    ASSERT_EQ(join.at("ranges").size(), 1U);
    EXPECT_EQ(join.at("ranges")[0].at("accesses"), 160);
    EXPECT_EQ(join.at("ranges")[0].at("units"), 2);
    EXPECT_EQ(join.at("ranges")[0].at("requesters").size(), 2U);
}

TEST_F(Joined, JoinsTheDataOfASingleDriver)
{
    record(
        "pmu 11 cxl_hmu_mem0.0.0\nevent 7 cxl_hmu_mem0.0.0//\naux 7 cpu 0\n"
        "hot unit 12 time 1000000000 sequence 0 0:100\n");
    const json join = joined();
    EXPECT_EQ(join.at("ranges").size(), 1U);
    EXPECT_TRUE(join.at("requesters").empty());
    EXPECT_TRUE(join.at("groups").empty());
    EXPECT_TRUE(join.at("not_joined").empty());
    EXPECT_NE(said("--join --cxl-topology " + tree_.dir()).find("all of it was joined"),
              std::string::npos);
}

TEST_F(Joined, RejectsJoinWithoutATopology)
{
    record(kEverything);
    EXPECT_NE(said("--join", 2).find("--cxl-topology"), std::string::npos);
    said("--join --cxl-topology " + tree_.path("none"), 1);
    EXPECT_NE(said("--help").find("--join"), std::string::npos);
}

class JoinLimits : public Joined {
protected:
    static constexpr unsigned kRangeLog2 = 12;

    JoinLimits()
    {
        put_machine(tree_);
        Result<cli::Placer> placer = cli::Placer::open(tree_.dir());
        EXPECT_TRUE(placer);
        placer_.emplace(std::move(*placer));
        join_.emplace(*placer_, kRangeLog2);
    }
    static decode::hisi_ptt::Tlp request_of(uint64_t address)
    {
        decode::hisi_ptt::Tlp tlp{};
        tlp.address = address;
        return tlp;
    }
    // Returns the number at the start of the line about data that was not joined with this text.
    static uint64_t count_before(const cli::Joined &joined, const std::string &text)
    {
        for (const std::string &line : joined.not_joined)
            if (line.find(text) != line.npos)
                return std::stoull(line);
        return 0;
    }

    std::optional<cli::Placer> placer_;
    std::optional<cli::Join> join_;
};

TEST_F(JoinLimits, LimitsTheNumberOfAddressRangesWithMemoryRequests)
{
    constexpr uint64_t kFew = 65536, kMany = limits::kJoin / 64;
    for (const uint64_t ranges : {kFew, kMany}) {
        join_.emplace(*placer_, kRangeLog2);
        for (uint64_t i = 0; i < ranges; i++)
            join_->request(request_of(i << kRangeLog2), {1, 1, 0}, 1);
        const cli::Joined joined = join_->finish();
        uint64_t kept = 0;
        for (const cli::JoinNode &node : joined.nodes)
            kept += node.traffic.tlps();
        EXPECT_GE(kept, kFew);
        EXPECT_LT(kept, kMany);
        EXPECT_EQ(count_before(joined, "memory requests were of too many"), ranges - kept);
    }
}

TEST_F(JoinLimits, LimitsTheNumberOfHotUnits)
{
    constexpr uint64_t kUnits = 4096, kMany = limits::kJoin / 64;
    for (uint64_t i = 0; i < kMany; i++)
        join_->hot("cxl_hmu_mem0.0.0", 4096, i << 12, 1, 1);
    join_->hot("cxl_hmu_mem0.0.0", 4096, 0, 1, 1);
    const cli::Joined joined = join_->finish();
    const uint64_t behind_the_device = count_before(joined, "hot units have no host address");
    EXPECT_GT(behind_the_device, kUnits);
    EXPECT_LT(behind_the_device, kMany - kUnits);
    EXPECT_EQ(count_before(joined, "or of too many units"), kMany - kUnits);
    EXPECT_EQ(joined.ranges.size(), kUnits);
    EXPECT_EQ(joined.ranges[0].heat, 2U) << "a known thread continues";
}

// Memory for comparisons grows with the product of groups and ranges.
TEST_F(JoinLimits, LimitsTheNumberOfGroupsThatAreComparedWithRanges)
{
    constexpr uint64_t kRanges = 4096, kFew = 100, kMany = 4000;
    for (const uint64_t groups : {kFew, kMany}) {
        join_.emplace(*placer_, kRangeLog2);
        for (uint64_t i = 0; i < kRanges; i++)
            join_->hot("cxl_hmu_mem0.0.0", 4096, i << 12, 1, 1);
        decode::cache_qos::SeriesTable series;
        for (uint32_t i = 0; i < groups; i++)
            ASSERT_TRUE(series.add({.time_ns = 1, .monitor = i, .event = 1, .kind = 2}));
        join_->groups(series);
        const cli::Joined joined = join_->finish();
        EXPECT_EQ(count_before(joined, "series of groups"), groups - joined.groups.size());
        EXPECT_GE(joined.groups.size(), kFew);
        EXPECT_LT(joined.groups.size(), kMany);
        EXPECT_LE(joined.groups.size() * joined.ranges.size() * sizeof(double), limits::kJoin);
        EXPECT_EQ(joined.ranges[0].together.size(), joined.groups.size());
    }
}

}  // namespace
}  // namespace pmukit
