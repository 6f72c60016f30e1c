// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The mover on a fake machine: node 0 has the frames below 0x8000, node 1 those from 0x8000 on. A
// process has pages of 4 KiB, whose places and flags are in fake files, and a fake move_pages(2)
// changes the files.
#include "tierd/mover.hpp"

#include <gtest/gtest.h>
#include <linux/kernel-page-flags.h>

#include <cerrno>
#include <map>

#include "base/test_folder.hpp"

namespace pmukit::tierd {
namespace {

constexpr uint64_t kPage = 4096, kNode1 = 0x8000;
constexpr uint64_t kMine = uint64_t{1} << 63 | uint64_t{1} << 56;
constexpr uint64_t kFrames = 2 * kNode1;

// The fake kernel.
struct Kernel {
    TestFolder tree;
    std::map<uint32_t, std::map<uint64_t, uint64_t>> frames;  // by process and page number
    std::map<uint64_t, int> refuses;                          // status by page number
    std::vector<uint64_t> flags = std::vector<uint64_t>(kFrames);
    std::vector<uint64_t> idle = std::vector<uint64_t>(kFrames / 64);
    uint64_t next[2] = {0x100, kNode1 + 0x100};
    int error = 0;  // of move_pages(2)

    void write_pagemap(uint32_t pid)
    {
        std::vector<uint64_t> entries(64);
        for (const auto &[page, frame] : frames[pid])
            entries.at(page) = kMine | frame;
        tree.put("proc/" + std::to_string(pid) + "/pagemap", std::as_bytes(std::span(entries)));
    }
    void write_files()
    {
        tree.put("proc/kpageflags", std::as_bytes(std::span(flags)));
        tree.put("sys/kernel/mm/page_idle/bitmap", std::as_bytes(std::span(idle)));
        for (const auto &[pid, pages] : frames) {
            const std::string folder = "proc/" + std::to_string(pid);
            tree.put(folder + "/maps", "0-40000 rw-p 00000000 00:00 0 \n");
            tree.put(folder + "/numa_maps", "0 default anon=1\n");
            write_pagemap(pid);
        }
    }
    uint64_t node_of(uint32_t pid, uint64_t page) { return frames[pid].at(page) >= kNode1; }
};

Kernel *kernel;

long fake_move_pages(pid_t pid, unsigned long count, void **pages, const int *nodes, int *status,
                     int)
{
    const auto process = static_cast<uint32_t>(pid);
    if (nodes && kernel->error) {
        errno = kernel->error;
        return -1;
    }
    for (unsigned long i = 0; i < count; i++) {
        const uint64_t page = reinterpret_cast<uintptr_t>(pages[i]) / kPage;
        const auto refused = kernel->refuses.find(page);
        if (nodes && refused != kernel->refuses.end()) {
            status[i] = refused->second;
            continue;
        }
        if (nodes)
            kernel->frames[process].at(page) = kernel->next[nodes[i]]++;
        status[i] = static_cast<int>(kernel->node_of(process, page));
    }
    kernel->write_pagemap(process);
    return 0;
}

// A policy that promotes all hot pages, and demotes the coldest ones for them.
class TakeAll final : public tier::Policy {
public:
    tier::Moves decide(const tier::Interval &interval) override
    {
        tier::Places places(interval);
        for (const tier::HotPage &page : interval.hot)
            places.promote(page.id, 1);
        return places.take_moves();
    }
};

class Moving : public testing::Test {
protected:
    Moving()
    {
        kernel = &fake;
        fake.tree.put("sys/devices/system/memory/block_size_bytes", "8000000\n");
        fake.tree.folder("sys/devices/system/memory/memory0/node0");
        fake.tree.folder("sys/devices/system/memory/memory1/node1");
        setup.fast = 0;
        setup.slow = 1;
        setup.proc_root = fake.tree.path("proc");
        setup.sys_root = fake.tree.path("sys");
        setup.move_pages = fake_move_pages;
        setup.report = [this](const PageMove &move) { moves.push_back(move); };
        setup.report_stay = [this](const PageStay &stay) { stays.push_back(stay); };
        // Page n of process 7 is in frame n of node 1.
        for (uint64_t page = 0; page < 8; page++)
            fake.frames[7][page] = kNode1 + page;
        fake.write_files();
    }
    void begin()
    {
        Result<std::unique_ptr<Mover>> made = Mover::create(setup, std::make_unique<TakeAll>());
        ASSERT_TRUE(made) << made.error().message;
        mover = std::move(*made);
    }
    // Ends an interval in which these frames of node 1 had this heat.
    Interval interval(const std::map<uint64_t, double> &heat, std::vector<uint32_t> pids = {7})
    {
        if (!mover)
            begin();
        std::vector<tier::HotRange> hot;
        for (const auto &[frame, accesses] : heat)
            hot.push_back({(kNode1 + frame) * kPage, kPage, accesses});
        moves.clear();
        stays.clear();
        const Result<Interval> done = mover->end_interval(hot, pids);
        EXPECT_TRUE(done) << done.error().message;
        return done ? *done : Interval{};
    }
    void limit(uint64_t pages) { setup.budget = {pages, false}; }
    // All pages that the mover asked about since were not accessed again.
    void nothing_is_accessed()
    {
        fake.idle.assign(fake.idle.size(), ~uint64_t{0});
        fake.write_files();
    }

    Kernel fake;
    MoverSetup setup;
    std::unique_ptr<Mover> mover;
    std::vector<PageMove> moves;
    std::vector<PageStay> stays;
};

TEST_F(Moving, PromotesHotPagesTheHottestFirst)
{
    limit(2);
    const Interval done = interval({{1, 10}, {2, 30}, {3, 20}});
    EXPECT_EQ(done.hot, 3u);
    EXPECT_EQ(done.pages, 8u);
    EXPECT_EQ(done.budget_pages, 2u);
    EXPECT_EQ(done.promoted.moved, 2u);
    EXPECT_EQ(fake.node_of(7, 2), 0u);
    EXPECT_EQ(fake.node_of(7, 3), 0u);
    EXPECT_EQ(fake.node_of(7, 1), 1u);
    ASSERT_EQ(moves.size(), 2u);
    EXPECT_EQ(moves[0].address, 2 * kPage);
    EXPECT_EQ(moves[0].heat, 30u);
    EXPECT_TRUE(moves[0].is_promotion);
    EXPECT_EQ(moves[0].from, 1u);
    EXPECT_EQ(moves[0].to, 0u);
    EXPECT_EQ(moves[0].process, 7u);
}

TEST_F(Moving, DemotesIdlePagesForHotOnes)
{
    limit(2);
    interval({{1, 10}, {2, 30}});
    interval({});
    nothing_is_accessed();
    const Interval done = interval({{3, 20}});
    EXPECT_EQ(done.fast_pages, 2u);
    EXPECT_EQ(done.demoted.moved, 1u);
    EXPECT_EQ(done.promoted.moved, 1u);
    EXPECT_EQ(fake.node_of(7, 3), 0u);
    EXPECT_EQ(fake.node_of(7, 1) + fake.node_of(7, 2), 1u);
}

TEST_F(Moving, AccessedPagesAreNotDemoted)
{
    limit(2);
    interval({{1, 10}, {2, 30}});
    interval({});
    // The bits of the bitmap are clear: all pages were accessed.
    fake.write_files();
    const Interval done = interval({{3, 20}});
    EXPECT_EQ(done.demoted.moved, 0u);
    EXPECT_EQ(done.promoted.moved, 0u);
}

TEST_F(Moving, WithoutDemotionNothingLeavesTheFastNode)
{
    limit(1);
    setup.demotes = false;
    fake.tree.remove("sys/kernel/mm/page_idle");
    interval({{1, 10}});
    const Interval done = interval({{3, 20}});
    EXPECT_EQ(done.promoted.moved + done.demoted.moved, 0u);
    EXPECT_EQ(fake.node_of(7, 1), 0u);
}

TEST_F(Moving, DemotionNeedsIdlePageTracking)
{
    fake.tree.remove("sys/kernel/mm/page_idle");
    const auto made = Mover::create(setup, std::make_unique<TakeAll>());
    ASSERT_FALSE(made);
    EXPECT_NE(made.error().message.find("CONFIG_IDLE_PAGE_TRACKING"), std::string::npos);
    EXPECT_NE(made.error().message.find("--no-demote"), std::string::npos);
}

TEST_F(Moving, MovesNoMoreThanTheLimitOfAnInterval)
{
    setup.most_moves = 3;
    EXPECT_EQ(interval({{1, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 1}}).promoted.moved, 3u);
    EXPECT_EQ(interval({{1, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 1}}).promoted.moved, 2u);
}

// The huge page of 4 pages is hotter, but does not fit into the limit of an interval.
TEST_F(Moving, AHugePageThatDoesNotFitLeavesItsPlaceToColderPages)
{
    fake.flags[kNode1] = uint64_t{1} << KPF_COMPOUND_HEAD;
    for (uint64_t frame = 1; frame < 4; frame++)
        fake.flags[kNode1 + frame] = uint64_t{1} << KPF_COMPOUND_TAIL;
    fake.write_files();
    setup.most_moves = 3;
    const Interval done = interval({{0, 50}, {5, 10}});
    EXPECT_EQ(fake.node_of(7, 5), 0u);
    EXPECT_EQ(fake.node_of(7, 0), 1u);
    EXPECT_EQ(done.no_room, 1u);
    ASSERT_EQ(stays.size(), 1u);
    EXPECT_EQ(stays[0].reason, Stay::kNoRoom);
    EXPECT_EQ(stays[0].pages, 4u);
}

TEST_F(Moving, AReasonToStayIsReportedOnceUntilItChanges)
{
    limit(1);
    setup.demotes = false;
    interval({{1, 30}});
    interval({{2, 10}});
    ASSERT_EQ(stays.size(), 1u);
    EXPECT_EQ(stays[0].reason, Stay::kNoRoom);
    EXPECT_EQ(interval({{2, 10}}).no_room, 1u);
    EXPECT_TRUE(stays.empty());
    fake.tree.put("proc/7/numa_maps", "0 bind:1 anon=1\n");
    interval({{2, 10}});
    ASSERT_EQ(stays.size(), 1u);
    EXPECT_EQ(stays[0].reason, Stay::kForbidden);
}

TEST_F(Moving, AShareOfTheFastNodeLimitsTheBudget)
{
    // 40 KiB are 10 pages; 25 % of them are 2.
    fake.tree.put("sys/devices/system/node/node0/meminfo",
                  "Node 0 MemTotal:       40 kB\nNode 0 MemFree:          40 kB\n");
    setup.fast_percent = 25;
    const Interval done = interval({{1, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 1}});
    EXPECT_EQ(done.budget_pages, 2u);
    EXPECT_EQ(done.promoted.moved, 2u);
}

TEST_F(Moving, SomeMemoryOfTheFastNodeStaysFree)
{
    // 2 % of 4000 KiB are 80 KiB: 3 pages are left of 92 KiB.
    fake.tree.put("sys/devices/system/node/node0/meminfo",
                  "Node 0 MemTotal:       4000 kB\nNode 0 MemFree:          92 kB\n");
    EXPECT_EQ(interval({{1, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 1}}).promoted.moved, 3u);
}

TEST_F(Moving, AHugePageMovesOnceWithTheHeatOfItsPages)
{
    fake.flags[kNode1 + 2] = uint64_t{1} << KPF_COMPOUND_HEAD;
    for (uint64_t frame = 3; frame < 6; frame++)
        fake.flags[kNode1 + frame] = uint64_t{1} << KPF_COMPOUND_TAIL;
    fake.write_files();
    limit(4);
    const Interval done = interval({{3, 10}, {5, 7}, {6, 12}});
    EXPECT_EQ(done.hot, 2u);
    ASSERT_EQ(moves.size(), 1u);
    EXPECT_EQ(moves[0].address, 2 * kPage);
    EXPECT_EQ(moves[0].pages, 4u);
    EXPECT_EQ(moves[0].heat, 17u);
    EXPECT_EQ(done.promoted.moved, 4u);
}

TEST_F(Moving, LockedPagesStay)
{
    fake.flags[kNode1 + 2] = uint64_t{1} << KPF_UNEVICTABLE;
    fake.write_files();
    const Interval done = interval({{2, 10}});
    EXPECT_EQ(done.stay, 1u);
    EXPECT_EQ(done.promoted.moved, 0u);
    ASSERT_EQ(stays.size(), 1u);
    EXPECT_EQ(stays[0].reason, Stay::kLocked);
    EXPECT_EQ(stays[0].address, 2 * kPage);
    EXPECT_EQ(stays[0].heat, 10u);
}

TEST_F(Moving, AMemoryPolicyIsRespected)
{
    fake.tree.put("proc/7/numa_maps", "0 default anon=1\n3000 bind:1 anon=5\n");
    const Interval done = interval({{2, 10}, {3, 10}});
    EXPECT_EQ(done.not_allowed, 1u);
    ASSERT_EQ(stays.size(), 1u);
    EXPECT_EQ(stays[0].reason, Stay::kForbidden);
    EXPECT_EQ(stays[0].address, 3 * kPage);
    EXPECT_EQ(fake.node_of(7, 2), 0u);
    EXPECT_EQ(fake.node_of(7, 3), 1u);
}

TEST_F(Moving, ARefusedPageBacksOffTwiceAsLongEachTime)
{
    fake.refuses[2] = -EBUSY;
    std::vector<uint64_t> attempts;
    for (uint64_t number = 1; number <= 16; number++) {
        const Interval done = interval({{2, 10}});
        if (done.promoted.busy)
            attempts.push_back(number);
        else
            EXPECT_EQ(done.backing_off, 1u) << number;
    }
    EXPECT_EQ(attempts, (std::vector<uint64_t>{1, 5, 13}));
}

TEST_F(Moving, APageThatCannotBeDemotedLeavesNoPlace)
{
    limit(1);
    interval({{1, 10}});
    interval({});
    nothing_is_accessed();
    fake.refuses[1] = -EBUSY;
    const Interval done = interval({{2, 10}});
    EXPECT_EQ(done.demoted.busy, 1u);
    EXPECT_EQ(done.promoted.moved, 0u);
    EXPECT_EQ(fake.node_of(7, 2), 1u);
}

TEST_F(Moving, AnEndedProcessIsLeftOut)
{
    fake.frames[8] = fake.frames[7];
    for (auto &[page, frame] : fake.frames[8])
        frame += 16;
    fake.write_files();
    EXPECT_EQ(interval({{1, 1}, {17, 1}}, {7, 8}).processes, 2u);
    fake.tree.remove("proc/7");
    const Interval done = interval({{2, 1}, {18, 1}}, {7, 8});
    EXPECT_EQ(done.processes, 1u);
    EXPECT_EQ(done.promoted.moved, 1u);
    EXPECT_EQ(fake.node_of(8, 2), 0u);
}

TEST_F(Moving, AProcessWhoseCpusetLacksTheNodeIsReportedAndBacksOff)
{
    kernel->error = EACCES;
    Interval done = interval({{1, 1}});
    EXPECT_EQ(done.refused_processes, 1u);
    EXPECT_EQ(done.promoted.moved, 0u);
    EXPECT_TRUE(moves.empty());
    ASSERT_EQ(stays.size(), 1u);
    EXPECT_EQ(stays[0].reason, Stay::kCpuset);
    kernel->error = 0;
    EXPECT_EQ(interval({{1, 1}}).backing_off, 1u);
}

TEST_F(Moving, AMissingPrivilegeIsAnError)
{
    begin();
    kernel->error = EPERM;
    const auto done =
        mover->end_interval({{(kNode1 + 1) * kPage, kPage, 5}}, std::vector<uint32_t>{7});
    ASSERT_FALSE(done);
    EXPECT_NE(done.error().message.find("CAP_SYS_PTRACE"), std::string::npos);
}

TEST_F(Moving, DryRunMovesNothing)
{
    setup.dry_run = true;
    const Interval done = interval({{1, 10}});
    EXPECT_EQ(done.promoted.moved, 1u);
    EXPECT_EQ(moves.size(), 1u);
    EXPECT_EQ(fake.node_of(7, 1), 1u);
}

}  // namespace
}  // namespace pmukit::tierd
