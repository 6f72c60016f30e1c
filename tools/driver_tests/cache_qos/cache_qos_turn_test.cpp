// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Tests the turns of monitors (parameter rotate_ms) on a simulated machine. The machine's reference
// counters know which lines and which traffic belong to a monitor during its turns.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "cache_qos_script.hpp"

namespace {

using pmukit::kshim::MachineShape;
using pmukit::kshim::World;

constexpr u64 kMs = 1000000;
constexpr u64 kTurn = 20 * kMs;

MachineShape machine_with_rmids(u32 rmids, u32 lines)
{
    MachineShape shape;
    shape.made = *cache_qos_sim_profile_by_name("spr");
    shape.made->max_rmid_any = shape.made->max_rmid = rmids - 1;
    shape.cpus = 4;
    shape.lines = lines;
    shape.ways = 8;
    return shape;
}

// A machine with cgroups, each of which has one task and is watched.
class Turns {
public:
    Turns(u32 rmids, u32 lines, u32 cgroups, u64 lines_of_task, u64 per_ms)
        : world(machine_with_rmids(rmids, lines))
    {
        world.driver().rotate_ns = kTurn;
        for (u32 i = 0; i < cgroups; i++) {
            add(World::kNone);
            world.move_to_cgroup(world.new_task(lines_of_task, per_ms * 1000 * world.scale()), i);
        }
        tasks_ = cgroups;
        began_ns = world.now_ns();
    }
    void add(u32 parent)
    {
        const u32 cgroup = world.new_cgroup(parent);
        EXPECT_EQ(world.watch_cgroup(cgroup, true), 0);
        world.start();
        monitors.push_back(world.monitor_of_cgroup(cgroup));
    }
    // Runs the tasks one after the other, each for one millisecond, with a pass every two.
    void run(u64 ms)
    {
        for (u64 i = 0; i < ms; i++) {
            for (u32 cpu = 0; cpu < 4; cpu++)
                world.switch_to(cpu, next());
            world.run(kMs);
            if (i % 2)
                pass();
        }
    }
    // Compares all values with the truth in every eighth pass, because that is slow.
    void pass()
    {
        world.pass();
        if (passes_++ % 8 == 0)
            world.compare();
    }
    // Stops all tasks, and reads until no more traffic appears.
    void finish()
    {
        for (u32 cpu = 0; cpu < 4; cpu++)
            world.switch_to(cpu, World::kIdle);
        pass();
        pass();
    }
    u64 had_ns(u32 monitor)
    {
        return cache_qos_turn_ns(&world.driver(), world.number_of(monitor), world.now_ns());
    }
    u64 total(u32 monitor) { return world.bytes(monitor, PMUKIT_CACHE_QOS_EVENT_TOTAL); }
    u64 truth(u32 monitor) { return world.truth(monitor).units[0] * world.scale(); }
    u32 status(u32 monitor, pmukit_cache_qos_event event)
    {
        return world.value(monitor, event).status;
    }

    World world;
    std::vector<u32> monitors;
    u64 began_ns = 0;

private:
    // A task that no CPU runs
    u32 next()
    {
        u32 task = 0;
        do
            task = static_cast<u32>(at_++ % tasks_);
        while (tasks_ > 4 && (world.running(0) == task || world.running(1) == task ||
                              world.running(2) == task || world.running(3) == task));
        return task;
    }

    u64 tasks_ = 0, at_ = 0, passes_ = 0;
};

TEST(CacheQosTurns, R28_HundredCgroupsOn32RmidsGetTheSameTimeAndTheExactBytesOfIt)
{
    Turns turns(32, 512, 100, 40, 40);
    for (u32 cpu = 0; cpu < 4; cpu++)
        turns.world.set_closid(cpu, cpu + 1);
    turns.run(2000);
    turns.finish();
    EXPECT_EQ(turns.world.violations(), "");
    const double mean =
        std::accumulate(turns.monitors.begin(), turns.monitors.end(), 0.0,
                        [&](double sum, u32 m) { return sum + double(turns.had_ns(m)); }) /
        100;
    EXPECT_GT(mean, 0.15 * double(turns.world.now_ns() - turns.began_ns));
    u64 sum = 0;
    for (u32 m : turns.monitors) {
        EXPECT_NEAR(double(turns.had_ns(m)), mean, 0.1 * mean) << m;
        EXPECT_EQ(turns.total(m), turns.truth(m)) << m;
        EXPECT_TRUE(turns.status(m, PMUKIT_CACHE_QOS_EVENT_TOTAL) & PMUKIT_CACHE_QOS_S_PARTIAL);
        EXPECT_FALSE(turns.status(m, PMUKIT_CACHE_QOS_EVENT_TOTAL) & PMUKIT_CACHE_QOS_S_GAP);
        sum += turns.total(m);
    }
    EXPECT_LT(sum, turns.total(World::kMachine));
    EXPECT_EQ(turns.total(World::kMachine), turns.truth(World::kMachine));
}

TEST(CacheQosTurns, R28_MonitorsHaveTheirRmidsAllTheTimeIfThereAreEnough)
{
    Turns turns(32, 512, 30, 40, 40);
    turns.run(200);
    turns.finish();
    EXPECT_EQ(turns.world.violations(), "");
    for (u32 m : turns.monitors) {
        EXPECT_GE(turns.had_ns(m), turns.world.now_ns() - turns.began_ns) << m;
        EXPECT_EQ(turns.status(m, PMUKIT_CACHE_QOS_EVENT_TOTAL), 0U) << m;
        EXPECT_EQ(turns.status(m, PMUKIT_CACHE_QOS_EVENT_OCCUPANCY), 0U) << m;
    }
    EXPECT_EQ(turns.world.driver().stats.turns, 30U);
}

// All tasks fit in the cache together, so no line is ever evicted and limbo does not end.
TEST(CacheQosTurns, R25_R28_LinesThatStayInTheCacheDoNotEndTheRotation)
{
    Turns turns(4, 1024, 6, 100, 40);
    turns.world.driver().threshold = 16;
    turns.run(1000);
    turns.finish();
    EXPECT_EQ(turns.world.violations(), "");
    u32 dirty = 0;
    for (u32 m : turns.monitors) {
        EXPECT_GT(turns.had_ns(m), 5 * kTurn) << m;
        EXPECT_EQ(turns.total(m), turns.truth(m)) << m;
        dirty += (turns.status(m, PMUKIT_CACHE_QOS_EVENT_TOTAL) & PMUKIT_CACHE_QOS_S_DIRTY) != 0;
    }
    EXPECT_GT(dirty, 0U) << "an RMID is given out again before its lines have left the cache";
}

TEST(CacheQosTurns, R28_OccupancyIsUnsettledUntilAsMuchWasMovedAsTheCacheHolds)
{
    Turns turns(4, 512, 3, 400, 40);
    u32 settled = 0;
    for (u32 i = 0; i < 400; i++) {
        turns.run(2);
        for (u32 m : turns.monitors) {
            const u16 number = turns.world.number_of(m);
            const cache_qos &cq = turns.world.driver();
            const bool marked =
                turns.status(m, PMUKIT_CACHE_QOS_EVENT_OCCUPANCY) & PMUKIT_CACHE_QOS_S_UNSETTLED;
            if (cache_qos_has(&cq.waiting, number))
                EXPECT_TRUE(marked) << m;
            if (marked || cache_qos_has(&cq.waiting, number) || cq.monitors[number].clock == 0)
                continue;
            if (!(cq.monitors[number].status & PMUKIT_CACHE_QOS_S_PARTIAL))
                continue;
            // 40 units a millisecond and CPU: the 512 lines were moved after 3.2 ms at the
            // earliest.
            EXPECT_GE(turns.world.now_ns(), cq.monitors[number].began_ns + 32 * kMs / 10);
            settled++;
        }
    }
    EXPECT_GT(settled, 50U);
    EXPECT_EQ(turns.world.violations(), "");
}

// The cache is idle, so the lines of a turn cannot be distinguished from those of the time before.
TEST(CacheQosTurns, R28_OccupancyStaysUnsettledWithoutTraffic)
{
    Turns turns(4, 512, 3, 100, 40);
    turns.run(100);
    turns.finish();
    for (u32 i = 0; i < 300; i++) {
        turns.world.run(2 * kMs);
        turns.pass();
        for (u32 m : turns.monitors)
            if (turns.world.driver().monitors[turns.world.number_of(m)].began_ns >
                turns.began_ns + 200 * kMs)
                EXPECT_TRUE(turns.status(m, PMUKIT_CACHE_QOS_EVENT_OCCUPANCY) &
                            PMUKIT_CACHE_QOS_S_UNSETTLED)
                    << m;
    }
    EXPECT_GT(turns.world.driver().stats.turns, 20U);
}

// A group was monitored before the cgroups, and its task is in a cgroup, too.
TEST(CacheQosTurns, R24_R51_GroupKeepsItsRmidAndItsValuesStayExact)
{
    Turns turns(8, 512, 0, 0, 0);
    u32 group = 0;
    ASSERT_EQ(turns.world.new_group(World::kRoot, &group), 0);
    ASSERT_EQ(turns.world.monitor_group(group, true), 0);
    for (u32 i = 0; i < 6; i++)
        turns.add(World::kNone);
    const u32 task = turns.world.new_task(60, 40000 * turns.world.scale());
    turns.world.move_task(task, group);
    turns.world.move_to_cgroup(task, 0);
    const u32 other = turns.world.new_task(60, 40000 * turns.world.scale());
    turns.world.move_to_cgroup(other, 1);
    for (u32 i = 0; i < 1000; i++) {
        turns.world.switch_to(0, i % 3 ? task : World::kIdle);
        turns.world.switch_to(1, i % 5 ? other : World::kIdle);
        turns.world.run(kMs);
        turns.pass();
    }
    turns.finish();
    EXPECT_EQ(turns.world.violations(), "");
    const u32 monitor = turns.world.monitor_of_group(group);
    EXPECT_EQ(turns.total(monitor), turns.truth(monitor));
    EXPECT_FALSE(turns.status(monitor, PMUKIT_CACHE_QOS_EVENT_TOTAL) & PMUKIT_CACHE_QOS_S_PARTIAL);
    for (u32 m : turns.monitors)
        EXPECT_EQ(turns.total(m), turns.truth(m)) << m;
}

// The cgroup above takes turns, too. Its value includes that of the cgroup below only while both
// have their turn. If no RMID is left when one of them loses its turn, the other one keeps the
// RMID, and the traffic since the last pass is missing (gap).
TEST(CacheQosTurns, R28_R57_NestedCgroupsCountTheExactBytesOfTheirTurns)
{
    constexpr u32 kCgroups = 8;
    Turns turns(6, 512, 0, 0, 0);
    std::vector<u32> tasks;
    for (u32 i = 0; i < kCgroups; i++) {
        turns.add(i % 2 ? i - 1 : World::kNone);
        // More lines than the cache has, so that the traffic does not end.
        tasks.push_back(turns.world.new_task(600, 40000 * turns.world.scale()));
        turns.world.move_to_cgroup(tasks.back(), i);
    }
    for (u32 i = 0; i < 1000; i++) {
        for (u32 cpu = 0; cpu < 4; cpu++)
            turns.world.switch_to(cpu, tasks[(i * 4 + cpu) % kCgroups]);
        turns.world.run(kMs);
        if (i % 2)
            turns.pass();
    }
    turns.finish();
    EXPECT_EQ(turns.world.violations(), "");
    for (u32 m : turns.monitors) {
        const u64 total = turns.total(m);
        EXPECT_GT(turns.had_ns(m), 5 * kTurn) << m;
        EXPECT_GT(total, turns.truth(m) / 2) << m;
        EXPECT_LE(total, turns.truth(m)) << m;
        if (!(turns.status(m, PMUKIT_CACHE_QOS_EVENT_TOTAL) & PMUKIT_CACHE_QOS_S_GAP) &&
            !turns.world.driver().monitors[turns.world.number_of(m)].missed)
            EXPECT_EQ(total, turns.truth(m)) << m;
    }
}

// A limited monitor has the whole share of unprivileged users: those behind it wait, others do not.
TEST(CacheQosTurns, R63_UnprivilegedMonitorsTakeTurnsOnTheirShareOnly)
{
    Turns turns(16, 512, 0, 0, 0);
    cache_qos &cq = turns.world.driver();
    std::vector<u16> limited;
    for (u32 i = 0; i < 20; i++) {
        const int node = cache_qos_node_make(&cq, CACHE_QOS_NONE);
        ASSERT_EQ(
            cache_qos_node_watch(&cq, static_cast<u16>(node), true, true, turns.world.now_ns()), 0);
        turns.world.start();
        limited.push_back(cq.nodes[node].monitor);
    }
    for (u32 i = 0; i < 8; i++)
        turns.add(World::kNone);
    for (u32 i = 0; i < 1000; i++) {
        turns.world.run(kMs);
        turns.world.pass();
        EXPECT_LE(cq.nr_limited, cq.max_limited);
    }
    for (u16 m : limited)
        EXPECT_GT(cache_qos_turn_ns(&cq, m, turns.world.now_ns()), 2 * kTurn) << m;
    for (u32 m : turns.monitors)
        EXPECT_GT(turns.had_ns(m), 800 * kMs) << m;
}

TEST(CacheQosTurns, R07_NoTimePassesForTurnsWhileOtherSoftwareHasTheRegisters)
{
    Turns turns(4, 512, 1, 40, 40);
    cache_qos &cq = turns.world.driver();
    turns.world.run(10 * kMs);
    const u64 had = turns.had_ns(turns.monitors[0]);
    EXPECT_GE(had, 10 * kMs);
    EXPECT_EQ(cache_qos_yields_ns(cache_qos_yields(&cq), turns.world.now_ns()), 0U);
    cache_qos_yield(&cq, true);
    cache_qos_turns_pause(&cq, true, turns.world.now_ns());
    turns.add(World::kNone);
    turns.world.run(10 * kMs);
    EXPECT_FALSE(cache_qos_turns_start(&cq, CACHE_QOS_NONE, turns.world.now_ns()));
    EXPECT_EQ(turns.had_ns(turns.monitors[0]), had);
    EXPECT_EQ(cache_qos_yields_ns(cache_qos_yields(&cq), turns.world.now_ns()), 10 * kMs);
    cache_qos_resume(&cq);
    cache_qos_turns_pause(&cq, false, turns.world.now_ns());
    turns.world.run(10 * kMs);
    EXPECT_EQ(turns.had_ns(turns.monitors[0]), had + 10 * kMs);
    EXPECT_EQ(cache_qos_yields_ns(cache_qos_yields(&cq), turns.world.now_ns()), 10 * kMs);
    EXPECT_EQ(turns.had_ns(turns.monitors[1]), 0U);
}

TEST(CacheQosTurns, R28_MonitorThatEndsDuringItsTurnLeavesNothingBehind)
{
    Turns turns(4, 512, 5, 40, 40);
    for (u32 round = 0; round < 40; round++) {
        turns.run(7);
        const u32 cgroup = round % 5;
        EXPECT_EQ(turns.world.watch_cgroup(cgroup, false), 0);
        turns.run(7);
        EXPECT_EQ(turns.world.watch_cgroup(cgroup, true), 0);
        turns.monitors[cgroup] = turns.world.monitor_of_cgroup(cgroup);
    }
    for (u32 cgroup = 0; cgroup < 5; cgroup++)
        EXPECT_EQ(turns.world.watch_cgroup(cgroup, false), 0);
    turns.finish();
    const cache_qos &cq = turns.world.driver();
    EXPECT_EQ(turns.world.violations(), "");
    EXPECT_EQ(cq.nr_atoms[CACHE_QOS_USED], 0U);
    EXPECT_FALSE(cache_qos_turn_waits(&cq));
    EXPECT_EQ(cq.free_sets, CACHE_QOS_MAX_SETS - 1U);
    EXPECT_TRUE(std::ranges::none_of(cq.monitors, [](const cache_qos_monitor &monitor) {
        return monitor.turns || monitor.unsettled;
    }));
}

TEST(CacheQosTurns, R44_TimeWithoutRmidsIsExactAtBothEndsAndNeverMoreThanTheRunningTime)
{
    EXPECT_EQ(cache_qos_turn_missed(1000, 1000, 1000), 0U);
    EXPECT_EQ(cache_qos_turn_missed(1001, 1000, 1000), 0U);  // perf's clock is faster
    EXPECT_EQ(cache_qos_turn_missed(1001, 1000, 0), 1001U);
    EXPECT_EQ(cache_qos_turn_missed(999, 1000, 0), 999U);
    EXPECT_EQ(cache_qos_turn_missed(1000, 1000, 400), 600U);
    EXPECT_EQ(cache_qos_turn_missed(100, 1000, 400), 0U);
}

// Looks of which both, one or none have read the clock.
TEST(CacheQosTurns, R44_TimeWithoutRegistersIsExactIfAYieldLastsAndElseThatOfTheYieldsBetween)
{
    const auto missed = [](cache_qos_look from, cache_qos_look to) {
        return cache_qos_look_missed(&from, &to);
    };
    EXPECT_EQ(missed({0, 700, 5000}, {0, 700, 9000}), 0U) << "no yield between";
    EXPECT_EQ(missed({0, 700, 5000}, {0, 900, 9000}), 200U) << "a yield began and ended";
    EXPECT_EQ(missed({0, 700, 5000}, {20000, 1700, 9000}), 1000U) << "it began";
    EXPECT_EQ(missed({20000, 1700, 5000}, {0, 4700, 9000}), 3000U) << "it ended";
    EXPECT_EQ(missed({20000, 1700, 5000}, {23999, 5699, 9000}), 4000U) << "all of the time";
    EXPECT_EQ(missed({20000, 1700, 5000}, {24001, 5701, 9000}), 4000U);
    EXPECT_EQ(missed({20000, 1700, 5000}, {24000, 1699, 9000}), 0U) << "another CPU's clock";
    EXPECT_EQ(missed({0, 700, 5000}, {0, 99999, 9000}), 4000U) << "not more than ran";
}

}  // namespace
