// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// pmukit tier with a recording, a topology and a process that are all fake files.
#include "cli/tier.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/fd.hpp"
#include "base/test_folder.hpp"
#include "cli/tests/hot_recording.hpp"
#include "topology/test_tree.hpp"

namespace pmukit::cli {
namespace {

constexpr uint64_t kSlowBase = 0x8000000;  // start of the second memory block
constexpr uint64_t kMine = uint64_t{1} << 63 | uint64_t{1} << 56;

// Node 0 has the first 128 MiB of memory. Node 1 has the second 128 MiB, which is memory of the
// device. The process has four pages on node 1 (pages 0 to 3 of the device) and one on node 0.
class Tier : public testing::Test {
protected:
    Tier()
    {
        topology::TreeRegion region;
        region.start = kSlowBase;
        region.dpa_bytes = 0x8000000;
        topology::put_region(tree, region);
        tree.put("devices/system/memory/block_size_bytes", "8000000\n");
        tree.folder("devices/system/memory/memory0/node0");
        tree.folder("devices/system/memory/memory1/node1");
        tree.put("devices/system/node/has_cpu", "0\n");
        tree.put("proc/42/maps", "0-6000 rw-p 00000000 00:00 0 \n");
        std::vector<uint64_t> entries = {0};
        for (uint64_t page = 0; page < 4; page++)
            entries.push_back(kMine | ((kSlowBase >> 12) + page));
        entries.push_back(kMine | 0x77);
        tree.put("proc/42/pagemap", {reinterpret_cast<const char *>(entries.data()),
                                     entries.size() * sizeof entries[0]});
        record({{1, 10}, {2, 30}, {3, 20}, {900, 40}});
        options.input = tree.path("perf.data");
        options.pid = 42;
        options.cxl_topology = tree.dir();
        options.proc_root = tree.path("proc");
    }
    void record(const std::vector<Hot> &hot)
    {
        ASSERT_TRUE(write_hot_recording(tree.path("perf.data"), {{1000, hot}}));
    }
    std::string run()
    {
        const std::string path = tree.path("out");
        const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600));
        Output out(file.get(), path);
        const Result<int> status = run_tier(options, out);
        EXPECT_TRUE(out.finish());
        if (!status) {
            error = status.error();
            return {};
        }
        EXPECT_EQ(*status, wanted_status);
        std::ifstream in(path);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    nlohmann::json run_json()
    {
        options.json = true;
        return nlohmann::json::parse(run(), nullptr, false);
    }
    std::string refusal()
    {
        EXPECT_EQ(run(), "");
        return error.message;
    }

    TestFolder tree;
    TierOptions options;
    Error error{};
    int wanted_status = 0;
};

TEST_F(Tier, PlansToPromoteTheHottestPagesWithinTheBudget)
{
    options.budget = "3";
    const nlohmann::json said = run_json();
    ASSERT_TRUE(said.is_object());
    EXPECT_EQ(said["movable_pages"], 5);
    EXPECT_EQ(said["budget_pages"], 3);
    EXPECT_EQ(said["fast_node"], 0);
    EXPECT_EQ(said["slow_node"], 1);
    EXPECT_EQ(said["fast_pages_before"], 1);
    EXPECT_EQ(said["fast_pages_after"], 3);
    ASSERT_EQ(said["promote"].size(), 2u);
    EXPECT_EQ(said["promote"][0]["address"], 0x3000);
    EXPECT_EQ(said["promote"][0]["heat"], 30);
    EXPECT_EQ(said["promote"][1]["address"], 0x4000);
    EXPECT_TRUE(said["demote"].empty());
    EXPECT_TRUE(said["applied"].is_null());
    EXPECT_EQ(said["heat"], 60);  // without the heat of pages of other processes
    EXPECT_EQ(said["fast_heat_after"], 50);
}

// An extended linear cache covers the first 128 MiB of the region. A hot line of the device may
// belong to either of two host pages, so both count as hot.
TEST_F(Tier, HeatIsCountedForBothHostPagesOfAnExtendedLinearCache)
{
    topology::TreeRegion region;
    region.start = kSlowBase;
    region.dpa_bytes = region.cache_bytes = 0x8000000;
    topology::put_region(tree, region);
    tree.folder("devices/system/memory/memory2/node1");
    const uint64_t frame = kSlowBase >> 12;
    const uint64_t entries[] = {0, kMine | (frame + 1), kMine | (frame + 0x8000 + 2), kMine | 0x77,
                                kMine | (frame + 5)};
    tree.put("proc/42/pagemap", {reinterpret_cast<const char *>(entries), sizeof entries});
    const nlohmann::json said = run_json();
    ASSERT_TRUE(said.is_object());
    ASSERT_EQ(said["promote"].size(), 2u);
    EXPECT_EQ(said["promote"][0]["address"], 0x2000);
    EXPECT_EQ(said["promote"][0]["heat"], 30);
    EXPECT_EQ(said["promote"][1]["address"], 0x1000);
    EXPECT_EQ(said["promote"][1]["heat"], 10);
}

TEST_F(Tier, AcceptsAPercentageAsBudget)
{
    options.budget = "40%";
    EXPECT_EQ(run_json()["budget_pages"], 2);
}

TEST_F(Tier, TextShowsThePlan)
{
    options.budget = "2";
    const std::string said = run();
    EXPECT_NE(said.find("process 42: 5 pages that can move, 1 of them on node 0, the fast one"),
              std::string::npos)
        << said;
    EXPECT_NE(said.find("budget: 2 pages of node 0"), std::string::npos);
    EXPECT_NE(
        said.find("promote 1 pages to node 0, demote 0 to node 1; afterwards 2 are on node 0"),
        std::string::npos);
    EXPECT_NE(said.find("node 0: 0.0% before, 50.0% after"), std::string::npos);
    EXPECT_NE(said.find("nothing was moved; use --apply"), std::string::npos);
}

TEST_F(Tier, TopOptionLimitsTheListedMoves)
{
    options.top = 1;
    EXPECT_NE(run().find("2 more pages; --top 0 shows all"), std::string::npos);
    options.top = 0;
    EXPECT_EQ(run().find("more pages"), std::string::npos);
}

TEST_F(Tier, RequiresFastNodeOptionIfTheFastNodeIsAmbiguous)
{
    tree.put("devices/system/node/has_cpu", "0,2\n");
    EXPECT_NE(refusal().find("give --fast-node (CPUs are near 0, 2)"), std::string::npos)
        << error.message;
    EXPECT_EQ(error.code, Errc::kUsage);
    tree.remove("devices/system/node/has_cpu");
    EXPECT_NE(refusal().find("has_cpu names none"), std::string::npos) << error.message;
    options.fast_node = 0;
    EXPECT_EQ(run_json()["fast_node"], 0);
}

TEST_F(Tier, RequiresSlowNodeOptionIfDeviceMemoryIsOffline)
{
    tree.remove("devices/system/memory/memory1");
    EXPECT_NE(refusal().find("give --slow-node"), std::string::npos) << error.message;
}

TEST_F(Tier, RejectsOneNodeAsFastAndSlow)
{
    options.fast_node = 1;
    EXPECT_NE(refusal().find("node 1 cannot be both"), std::string::npos) << error.message;
}

TEST_F(Tier, ReportsAProcessThatDoesNotExist)
{
    options.pid = 43;
    EXPECT_EQ(refusal(), "process 43 does not exist");
    EXPECT_EQ(error.code, Errc::kNotFound);
}

TEST_F(Tier, FailsIfNoHotUnitHasAHostAddress)
{
    tree.put("bus/cxl/devices/region0/commit", "0\n");
    EXPECT_NE(refusal().find("no hot unit has a host address: region0"), std::string::npos)
        << error.message;
}

TEST_F(Tier, ReportsARecordingWithoutHotUnits)
{
    record({});
    EXPECT_NE(refusal().find("no hot units"), std::string::npos) << error.message;
}

// Replaces move_pages(2): moves to node 1 succeed, moves to node 2 fail as if the process had
// exited.
long moves_to_node_1(pid_t, unsigned long count, void **, const int *nodes, int *status, int)
{
    if (nodes && nodes[0] == 2) {
        errno = ESRCH;
        return -1;
    }
    std::fill(status, status + count, 1);
    return 0;
}

// The device has nodes 1 and 2. The cold page on node 2 is demoted, to make space for the hottest
// page.
TEST_F(Tier, ReportsMovedPagesIfALaterMoveFails)
{
    topology::TreeRegion region;
    region.start = kSlowBase;
    region.dpa_bytes = 0x10000000;
    topology::put_region(tree, region);
    tree.folder("devices/system/memory/memory2/node2");
    record({{1, 10}, {2, 30}, {0x8001, 5}});
    const uint64_t frame = kSlowBase >> 12;
    const uint64_t entries[] = {0, kMine | (frame + 1), kMine | (frame + 2),
                                kMine | (frame + 0x8000)};
    tree.put("proc/42/pagemap", {reinterpret_cast<const char *>(entries), sizeof entries});
    options.fast_node = 2;
    options.slow_node = 1;
    options.budget = "1";
    options.apply = true;
    options.move_pages = moves_to_node_1;
    wanted_status = 1;
    testing::internal::CaptureStderr();
    const std::string said = run();
    EXPECT_NE(testing::internal::GetCapturedStderr().find("process 42: it is gone"),
              std::string::npos);
    EXPECT_NE(said.find("promote 1 pages to node 2, demote 1 to node 1"), std::string::npos)
        << said;
    EXPECT_NE(said.find("\nmoved 1 of 2 pages\n"), std::string::npos) << said;

    testing::internal::CaptureStderr();
    const nlohmann::json json = run_json();
    testing::internal::GetCapturedStderr();
    ASSERT_TRUE(json.is_object());
    EXPECT_EQ(json["applied"]["moved"], 1);
}

TEST_F(Tier, CountsPagesThatCannotMove)
{
    const uint64_t entries[] = {0, uint64_t{1} << 63 | 0x88, uint64_t{1} << 62, kMine | 0x20000000};
    tree.put("proc/42/pagemap", {reinterpret_cast<const char *>(entries), sizeof entries});
    const nlohmann::json said = run_json();
    EXPECT_EQ(said["shared_pages"], 1);
    EXPECT_EQ(said["swapped_pages"], 1);
    EXPECT_EQ(said["unplaced_pages"], 1);
    EXPECT_EQ(said["movable_pages"], 0);
}

}  // namespace
}  // namespace pmukit::cli
