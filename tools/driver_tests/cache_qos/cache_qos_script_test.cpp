// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Tests the driver's core together with the simulated machine. Tests with random steps compare the
// values of all monitors with the truth after each pass. A test with scripted steps checks the rule
// in its name; Rnn is the requirement R-nn of Documentation/devices/cache_qos.rst.
//
// The environment variables CACHE_QOS_STEPS and CACHE_QOS_SEED set the number of random steps and
// the first seed, as in CACHE_QOS_STEPS=1000000.
#include "cache_qos_script.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <stdexcept>

namespace {

using pmukit::driver_tests::Leaf;
using pmukit::driver_tests::Recorded;
using pmukit::driver_tests::recorded;
using pmukit::driver_tests::RecordedL3;
using pmukit::kshim::Machine;
using pmukit::kshim::MachineShape;
using pmukit::kshim::RandomSteps;
using pmukit::kshim::Script;
using pmukit::kshim::World;

u64 from_environment(const char *name, u64 otherwise)
{
    const char *text = std::getenv(name);
    return text ? std::strtoull(text, nullptr, 0) : otherwise;
}

MachineShape shape_of(const std::string &profile, u32 domains = 1, u32 lines = 256)
{
    MachineShape shape;
    shape.profile = profile;
    shape.cpus = 4;
    shape.domains = domains;
    shape.lines = lines;
    shape.ways = 8;
    return shape;
}

// Random steps

struct Kind {
    const char *name;
    const char *profile;
    u32 domains;
    u32 lines;
    bool hotplug, faults;
    u32 nodes = 1;
    u64 rotate_ns = 0;
};

class CacheQosRandom : public testing::TestWithParam<Kind> {};

// After this many steps, the test continues with a new world.
constexpr u64 kStepsOfAWorld = 1000;

void run_a_world(const Kind &kind, u64 seed, u64 steps)
{
    MachineShape shape = shape_of(kind.profile, kind.domains, kind.lines);
    shape.seed = seed;
    shape.nodes = kind.nodes;
    const u64 wrap = u64{1} << cache_qos_sim_profile_by_name(kind.profile)->width;
    shape.mbm_start = wrap - 1 - seed % 1000000;
    Script script(shape);
    script.world().driver().rotate_ns = kind.rotate_ns;
    RandomSteps random(script, seed, shape.cpus, shape.domains);
    random.with_hotplug = kind.hotplug;
    random.with_faults = kind.faults;
    std::string done;
    for (u64 i = 0; i < steps; i++) {
        const std::string step = random.next();
        done += step + "\n";
        const std::string wrong = script.run(step);
        ASSERT_EQ(wrong, "") << "seed " << seed << " step " << i << "\n" << done;
    }
}

TEST_P(CacheQosRandom, R21_R22_R26_R27_R30_R31_R51_CountsMatchSimulationWithinBoundAfterRandomSteps)
{
    const u64 first = from_environment("CACHE_QOS_SEED", 1);
    const u64 steps = from_environment("CACHE_QOS_STEPS", 5 * kStepsOfAWorld);
    for (u64 seed = first; seed < first + (steps + kStepsOfAWorld - 1) / kStepsOfAWorld; seed++) {
        run_a_world(GetParam(), seed, kStepsOfAWorld);
        if (HasFatalFailure())
            return;
    }
}

INSTANTIATE_TEST_SUITE_P(Profiles, CacheQosRandom,
                         testing::Values(Kind{"spr", "spr", 1, 256, false, false},
                                         Kind{"two_domains", "spr", 2, 128, false, false},
                                         Kind{"hotplug", "spr", 2, 128, true, false},
                                         Kind{"faults", "spr", 2, 128, false, true},
                                         Kind{"occupancy_alone", "hsw", 1, 256, false, false},
                                         Kind{"few_rmids", "tiny", 2, 128, false, false},
                                         Kind{"many_rmids", "wide", 1, 256, false, false},
                                         Kind{"amd", "amd-rome", 2, 128, true, false},
                                         Kind{"amd_bound", "amd-turin", 2, 128, true, true},
                                         Kind{"two_nodes", "spr", 2, 128, true, false, 2},
                                         Kind{"three_nodes", "gnr", 1, 192, true, true, 3},
                                         Kind{"four_nodes", "emr", 1, 256, false, true, 4},
                                         Kind{"turns", "tiny", 2, 128, true, false, 1, 5000000},
                                         Kind{"turns_faults", "tiny", 1, 128, false, true, 1,
                                              5000000}),
                         [](const testing::TestParamInfo<Kind> &kind) { return kind.param.name; });

// Scripted steps

std::string run_on(const MachineShape &shape, std::string_view text)
{
    Script script(shape);
    return script.run(text);
}

TEST(CacheQosScript, ReportsInvalidStepsAndUnexpectedCounts)
{
    Script script(shape_of("spr"));
    EXPECT_EQ(script.run("nonsense 1\n"), "nonsense 1: no such step\n");
    EXPECT_EQ(script.run("task 1\n"), "task 1: no such step\n");
    EXPECT_EQ(script.run("bytes monitor 0 1 = 5\n"), "bytes monitor 0 1 = 5: it has 0\n");
    EXPECT_EQ(script.run("# nothing\n\n"), "");
}

// Nested groups. Each group has its own tasks.
constexpr std::string_view kGroupsAddUp = R"(
        task 50 100
        task 30 100
        group 0
        group 1
        move 0 1
        move 1 2
        monitor 1 1
        switch 0 0
        switch 1 1
        run 5000
        pass
        # the child is not monitored: its tasks count for the parent
        bytes group 1 1 = 80
        bytes group 1 2 = 80
        # now it is, and the parent does not shrink; what was there before is not the child's
        monitor 2 1
        pass
        bytes group 1 1 = 80
        bytes group 2 1 = 0
        flush 0
        run 5000
        pass
        bytes group 1 1 = 80
        bytes group 2 1 = 30
        bytes group 2 2 = 30
        bytes group 1 2 = 160
        bytes group 0 1 = 80
        # a task is in one group: it leaves the one it was in
        move 1 0
        flush 0
        run 5000
        pass
        bytes group 1 1 = 50
        bytes group 2 1 = 0
        bytes group 0 1 = 80
        # disabled: the parent stays
        monitor 2 0
        rmgroup 2
        pass
        bytes group 1 1 = 50
    )";

TEST(CacheQosScript, R51_R52_R54_CountsOfParentGroupIncludeChildGroups)
{
    EXPECT_EQ(run_on(shape_of("spr"), kGroupsAddUp), "");
}

TEST(CacheQosScript, R57_R58_CountsOfCgroupIncludeDescendants)
{
    EXPECT_EQ(run_on(shape_of("spr"), R"(
        cgroup none
        cgroup 0
        task 50 100
        task 30 100
        tocg 0 0
        tocg 1 1
        watchcg 1 1
        watchcg 0 1
        monitors 0
        watch 3 1
        switch 0 0
        switch 1 1
        run 5000
        pass
        bytes cgroup 0 1 = 80
        bytes cgroup 1 1 = 30
        bytes monitor 3 1 = 30
        bytes cgroup 0 2 = 80
        # the cgroup between goes, the other stays what it is; the task's event too
        watchcg 0 0
        tocg 1 0
        run 5000
        pass
        bytes cgroup 1 1 = 30
        bytes monitor 3 1 = 30
    )"),
              "");
}

// This case was the main objection to the driver of 2014: task A fills lines and ends, but its
// lines are still in the cache.
TEST(CacheQosScript, R22_R26_LinesOfEndedTaskAreExcludedOrIncludedInTheErrorBound)
{
    Script script(shape_of("tiny", 1, 256));
    ASSERT_EQ(script.run(R"(
        task 200 1000
        task 10 100
        monitors 0
        watch 1 0
        switch 0 0
        run 2000
        pass
        bytes monitor 1 1 = 200
        exit 0
        end 1
        pass
        monitors 0
        watch 2 1
        switch 0 1
        run 2000
        pass
        bytes monitor 2 1 = 10
        # two RMIDs are left; the third is A's and waits until its lines are gone
        monitors 0
        watch 3 1
        monitors 0
        watch 4 1
        result 16
    )"),
              "");
    EXPECT_EQ(script.world().driver().nr_atoms[CACHE_QOS_LIMBO], 1U);
    // R-25: with alloc_dirty, the driver allocates this RMID although the RMID is in limbo. It
    // reports how many of the lines may be those of task A.
    script.world().driver().alloc_dirty = true;
    ASSERT_EQ(script.run("watch 4 1\nresult 0\nrun 2000\npass\n"), "");
    const struct cache_qos_value value = script.world().value(4, PMUKIT_CACHE_QOS_EVENT_OCCUPANCY);
    EXPECT_GE(value.bound / script.world().scale(), 200U);
    EXPECT_TRUE(value.status & PMUKIT_CACHE_QOS_S_DIRTY);
}

// This case is Zijlstra's counter-example: a program with many threads fits in the cache, and a
// monitor moves from thread to thread. The lines of the threads were filled before they were
// monitored, so the monitor must count none of them.
TEST(CacheQosScript, R24_R26_MonitorCountsNoLinesFilledBeforeItWatchedTheTask)
{
    Script script(shape_of("hsw"));
    std::string text = "monitors 0\n";
    for (u32 thread = 0; thread < 4; thread++)
        text += "task 40 100\nswitch 0 " + std::to_string(thread) + "\nrun 4000\n";
    ASSERT_EQ(script.run(text + "pass\n"), "");
    for (u32 round = 0; round < 100; round++) {
        const std::string thread = std::to_string(round % 4);
        ASSERT_EQ(script.run("watch 1 " + thread + "\nswitch 0 " + thread +
                             "\nrun 1000\npass\nbytes monitor 1 1 = 0\nunwatch 1 " + thread + "\n"),
                  "")
            << "round " << round;
    }
    ASSERT_EQ(
        script.run("flush 0\nwatch 1 0\nswitch 0 0\nrun 4000\npass\nbytes monitor 1 1 = 40\n"), "");
}

struct Wraps {
    const char *profile;
    u32 width;
};

class CacheQosWraps : public testing::TestWithParam<Wraps> {};

// The test counts more than ten wraps, in steps of less than one wrap.
TEST_P(CacheQosWraps, R30_R32_CountsTrafficAcrossWraps)
{
    MachineShape shape = shape_of(GetParam().profile);
    shape.mbm_start = (u64{1} << GetParam().width) - 5;
    shape.enough_counters = true;
    Script script(shape);
    ASSERT_EQ(script.world().driver().hw.width, GetParam().width);
    ASSERT_EQ(script.run("task 10 1\nmonitors 0\nwatch 1 0\nswitch 0 0\npass\npass\n"), "");
    const u64 before = script.world().bytes(1, PMUKIT_CACHE_QOS_EVENT_TOTAL);
    const u64 step = (u64{1} << GetParam().width) / 3 * 2;
    // With the largest width, the bytes of 16 rounds would not fit into 64 bits.
    const u64 rounds = GetParam().width > 44 ? 1 : 16;
    const u64 scale = script.world().scale();
    const u64 units = GetParam().width > 44 ? ~u64{0} / scale / 2 : step;
    for (u64 i = 0; i < rounds; i++)
        ASSERT_EQ(script.run("burst 0 " + std::to_string(units) + "\nrun 1\npass\n"), "");
    EXPECT_EQ(script.world().bytes(1, PMUKIT_CACHE_QOS_EVENT_TOTAL) - before,
              units * rounds * scale);
}

INSTANTIATE_TEST_SUITE_P(Widths, CacheQosWraps,
                         testing::Values(Wraps{"tiny", 24}, Wraps{"clx", 24}, Wraps{"spr", 32},
                                         Wraps{"amd-rome", 44}, Wraps{"wide", 62}));

// On processors with the erratum BDF102, the driver corrects counts by a factor. The corrected
// counts are exact except for the rounding of the factor.
TEST(CacheQosScript, R30_CorrectsCountsOnProcessorsWithErratumBdf102)
{
    Script script(shape_of("bdx"));
    script.world().bandwidth_slack_bytes = 100 * script.world().scale();
    std::string text = "task 10 1\nswitch 0 0\n";
    for (u32 monitor = 1; monitor <= 47; monitor++)
        text += "monitors 0\nwatch " + std::to_string(monitor) +
                " 0\nburst 0 100000\npass\nunwatch " + std::to_string(monitor) + " 0\n";
    ASSERT_EQ(script.run(text), "");
    EXPECT_EQ(script.world().driver().nr_atoms[CACHE_QOS_USED], 47U);
    EXPECT_NEAR(double(script.world().bytes(40, PMUKIT_CACHE_QOS_EVENT_TOTAL)),
                100000.0 * double(script.world().scale()), 100.0 * double(script.world().scale()));
}

// All traffic is local. A read of the local counter fails while that counter wraps. The local
// traffic that is missed must not appear as remote.
TEST(CacheQosScript, R30_LocalTrafficMissedByAFailedReadIsNotCountedAsRemote)
{
    MachineShape shape = shape_of("tiny");
    shape.mbm_start = (u64{1} << 24) - 5;
    Script script(shape);
    ASSERT_EQ(script.run("task 1 1\nmonitors 0\nwatch 1 0\nswitch 0 0\nrun 10\npass\n"), "");
    const cache_qos_sim_fault fault = {CACHE_QOS_SIM_FAULT_UNAVAILABLE,
                                       static_cast<u32>(script.world().machine().cpu(0).pqr),
                                       CACHE_QOS_SIM_ANY,
                                       1,  // skip the first read, which is that of occupancy
                                       1,
                                       0};
    ASSERT_TRUE(cache_qos_sim_inject(script.world().machine().get(), &fault));
    script.run("burst 0 100\nrun 10\npass\n");
    EXPECT_EQ(script.run("burst 0 100\nrun 10\npass\nbytes monitor 1 4 = 0\n"), "");
    EXPECT_TRUE(script.world().value(1, PMUKIT_CACHE_QOS_EVENT_LOCAL).status &
                PMUKIT_CACHE_QOS_S_GAP);
}

TEST(CacheQosScript, R21_R37_AllocatesAllRmidsBut0ToMonitorsThenFailsWithEnospc)
{
    for (const char *profile : {"tiny", "hsw", "spr", "clx", "uneven"}) {
        Script script(shape_of(profile));
        const u32 rmids = script.world().driver().hw.nr_rmid;
        std::string text = "task 1 1\nswitch 0 0\n";
        for (u32 monitor = 1; monitor < rmids; monitor++)
            text += "monitors 0\nwatch " + std::to_string(monitor) +
                    " 0\nresult 0\nrun 1\nunwatch " + std::to_string(monitor) + " 0\n";
        ASSERT_EQ(script.run(text + "pass\n"), "") << profile;
        EXPECT_EQ(script.world().driver().nr_atoms[CACHE_QOS_USED], rmids - 1) << profile;
        EXPECT_EQ(script.run("monitors 0\nwatch " + std::to_string(rmids) + " 0\nresult 28\n"), "")
            << profile;
    }
}

// The profile has more RMIDs than ten bits can represent. The newest monitors have the largest
// RMIDs.
TEST(CacheQosScript, R21_SupportsRmidsAboveTenBits)
{
    Script script(shape_of("wide", 1, 64));
    World &world = script.world();
    ASSERT_EQ(world.driver().hw.nr_rmid, 2048U);
    u32 highest = 0;
    std::string wrong = script.run("task 20 100\n");
    for (u32 round = 1; round <= 1500 && wrong.empty(); round++) {
        wrong = script.run("monitors 0\nwatch " + std::to_string(round) +
                           " 0\nswitch 0 0\nflush 0\nrun 1000\n");
        highest = std::max(highest, static_cast<u32>(world.machine().cpu(0).pqr));
        if (round % 100 == 0)
            wrong += script.run("pass\nbytes monitor " + std::to_string(round) + " 1 = 20\n");
        wrong += script.run("end " + std::to_string(round) + "\n");
        if (round % 4 == 0)
            wrong += script.run("pass\n");
    }
    EXPECT_EQ(wrong, "");
    EXPECT_GT(highest, 1024U);
}

TEST(CacheQosScript, R55_RmidIsAvailableAfterLimbo)
{
    EXPECT_EQ(run_on(shape_of("tiny", 1, 256), R"(
        task 20 100
        group 0
        group 0
        group 0
        group 0
        monitor 1 1
        monitor 2 1
        monitor 3 1
        monitor 4 1
        # ENOSPC: all are used
        result 28
        move 0 1
        switch 0 0
        run 2000
        pass
        bytes group 1 1 = 20
        monitor 1 0
        monitor 4 1
        # EBUSY: one is in limbo
        result 16
        switch 0 idle
        run 10
        pass
        monitor 4 1
        result 0
    )"),
              "");
}

TEST(CacheQosScript, R36_ReadErrorsOfOneL3DoNotAffectCountsOfAnother)
{
    Script script(shape_of("spr", 2));
    ASSERT_EQ(script.run(R"(
        task 20 100
        task 30 100
        group 0
        monitor 1 1
        move 0 1
        move 1 1
        switch 0 0
        switch 2 1
        run 2000
        pass
        bytes group 1 1 = 50
    )"),
              "");
    const cache_qos_sim_fault fault = {
        CACHE_QOS_SIM_FAULT_ERROR, CACHE_QOS_SIM_ANY, 1, 0, 10000, 0};
    cache_qos_sim_inject(script.world().machine().get(), &fault);
    cache_qos_sim_flush(script.world().machine().get(), 0);
    cache_qos_sim_flush(script.world().machine().get(), 1);
    // Each task accesses 10 lines.
    script.world().run(100000);
    EXPECT_FALSE(script.world().pass());
    const struct cache_qos_value v = script.world().value(1, PMUKIT_CACHE_QOS_EVENT_OCCUPANCY);
    EXPECT_EQ(v.bytes / script.world().scale(), 10 + 30U);
    EXPECT_TRUE(v.status & PMUKIT_CACHE_QOS_S_ERROR);
}

TEST(CacheQosScript, R11_CountsAreCorrectIfOtherSoftwareOverwritesQmEvtsel)
{
    Script script(shape_of("spr"));
    ASSERT_EQ(script.run("task 20 100\nmonitors 0\nwatch 1 0\nswitch 0 0\nrun 2000\n"), "");
    for (u64 after = 0; after < 40; after++) {
        const cache_qos_sim_fault fault = {CACHE_QOS_SIM_FAULT_STEAL_EVTSEL,
                                           CACHE_QOS_SIM_ANY,
                                           CACHE_QOS_SIM_ANY,
                                           after,
                                           1,
                                           u64{17} << 32 | 2};
        ASSERT_TRUE(cache_qos_sim_inject(script.world().machine().get(), &fault));
        script.world().machine().cpu(0).evtsel = 0;
        script.world().pass();
        // Ignores the violations that the overwritten QM_EVTSEL causes.
        script.world().violations();
        script.world().compare();
        ASSERT_EQ(script.world().violations(), "") << after;
    }
    ASSERT_EQ(script.run("bytes monitor 1 1 = 20\n"), "");
}

TEST(CacheQosScript, R08_R09_KeepsRmidWrittenByOtherSoftwareAndMarksCountsAsSuspect)
{
    Script script(shape_of("spr"));
    World &world = script.world();
    ASSERT_EQ(script.run("task 20 100\nmonitors 0\nwatch 1 0\nswitch 0 0\n"), "");
    world.machine().cpu(0).pqr = u64{3} << 32 | 99;
    world.on(0);
    cache_qos_check_pqr(&world.driver(), world.driver().cpus[0]);
    EXPECT_EQ(world.machine().cpu(0).pqr, u64{3} << 32 | 99);
    EXPECT_EQ(world.driver().cpus[0]->hijacks, 1U);
    EXPECT_TRUE(cache_qos_registers_taken(&world.driver()));
    cache_qos_mark_suspects(&world.driver());
    EXPECT_TRUE(world.value(1, PMUKIT_CACHE_QOS_EVENT_OCCUPANCY).status &
                PMUKIT_CACHE_QOS_S_SUSPECT);
}

// The test makes a million switches between watched tasks and others; the class of service changes
// between them.
TEST(CacheQosScript, R09_R15_TaskSwitchesKeepClosidAndWritePqrAssocOncePerChange)
{
    Script script(shape_of("spr"));
    World &world = script.world();
    std::mt19937_64 random(9);
    std::string text;
    for (u32 task = 0; task < 8; task++)
        text += "task 1 1\n";
    for (u32 monitor = 1; monitor < 6; monitor++)
        text += "monitors 0\nwatch " + std::to_string(monitor) + " " + std::to_string(monitor % 4) +
                "\n";
    ASSERT_EQ(script.run(text), "");
    for (u32 cpu = 0; cpu < 4; cpu++)
        world.set_closid(cpu, static_cast<u32>(random() % 16));
    for (u32 i = 0; i < 1000000; i++) {
        const u32 task = static_cast<u32>(random() % 9);
        if (random() % 8 == 0)
            world.set_closid(i % 4, static_cast<u32>(random() % 16));
        world.switch_to(i % 4, task < 8 ? task : World::kIdle);
    }
    world.conserve();
    EXPECT_EQ(world.violations(), "");
    EXPECT_GT(world.changes(0), 100000U);
}

TEST(CacheQosScript, R18_RepeatedForkAndExitLeakNothing)
{
    Script script(shape_of("spr"));
    World &world = script.world();
    ASSERT_EQ(script.run("task 5 10\ngroup 0\nmonitor 1 1\nmove 0 1\nmonitors 0\nwatch 2 0\n"), "");
    const u32 sets = world.driver().free_sets, used = world.driver().nr_atoms[CACHE_QOS_USED];
    for (u32 i = 0; i < 100000; i++) {
        const u32 child = world.fork(0);
        world.switch_to(i % 4, child);
        world.exit(child);
    }
    EXPECT_EQ(world.violations(), "");
    EXPECT_EQ(world.driver().free_sets, sets);
    EXPECT_EQ(world.driver().nr_atoms[CACHE_QOS_USED], used);
}

// Features that the driver must detect on the processor of a profile.
struct Probed {
    const char *profile;
    u32 nr_rmid, width, events;
};

TEST(CacheQosScript, R04_R05_R12_DetectsRmidsWidthAndEventsOrRefusesTheProcessor)
{
    constexpr u32 kAll = 0xf, kOccupancyAlone = 1;
    for (const Probed &want :
         {Probed{"hsw", 72, 24, kOccupancyAlone}, Probed{"bdx", 48, 24, kAll},
          Probed{"clx", 224, 24, kAll}, Probed{"spr", 352, 32, kAll}, Probed{"emr", 480, 32, kAll},
          Probed{"gnr", 288, 32, kAll}, Probed{"wide", 2048, 62, kAll},
          Probed{"amd-rome", 256, 44, kAll}, Probed{"amd-genoa", 256, 44, kAll},
          Probed{"amd-turin", 4096, 44, kAll}, Probed{"tiny", 4, 24, kAll},
          Probed{"uneven", 224, 24, kAll}}) {
        World world(shape_of(want.profile));
        const cache_qos_hw &hw = world.driver().hw;
        EXPECT_EQ(hw.nr_rmid, want.nr_rmid) << want.profile;
        EXPECT_EQ(hw.events, want.events) << want.profile;
        if (want.events != kOccupancyAlone) {
            EXPECT_EQ(hw.width, want.width) << want.profile;
        }
        world.conserve();
        EXPECT_EQ(world.violations(), "") << want.profile;
    }
    for (const char *refused : {"skx", "none", "broken", "broken-mixed"})
        EXPECT_THROW(World world(shape_of(refused)), std::runtime_error) << refused;
}

// Assignable counters (ABMC)

u32 counters_in_use(World &world)
{
    return static_cast<u32>(std::ranges::count_if(
        world.machine().domain(0).counters,
        [](const auto &counter) { return (counter.config & CACHE_QOS_SIM_ABMC_ENABLE) != 0; }));
}

// The processor has 32 counters. RMID 0 and the RMIDs of the first 15 monitors take two counters
// each, from their start on. A later monitor gets the counters of a monitor that has ended, and
// reports a gap.
TEST(CacheQosScript, R12_R31_AssignsAbmcCountersToMonitoredRmids)
{
    Script script(shape_of("amd-turin"));
    World &world = script.world();
    std::string text = "task 1 1\nswitch 0 0\n";
    for (u32 monitor = 1; monitor <= 16; monitor++) {
        const std::string number = std::to_string(monitor);
        text += "monitors 0\nwatch " + number + " 0\nburst 0 " + std::to_string(100 * monitor) +
                "\nrun 10\npass\nunwatch " + number + " 0\n";
    }
    ASSERT_EQ(script.run(text), "");
    for (u32 monitor = 1; monitor <= 15; monitor++) {
        const cache_qos_value total = world.value(monitor, PMUKIT_CACHE_QOS_EVENT_TOTAL);
        EXPECT_EQ(total.bytes, 100 * monitor * world.scale()) << monitor;
        EXPECT_EQ(total.status, 0U) << monitor;
    }
    EXPECT_EQ(counters_in_use(world), 32U);
    EXPECT_TRUE(world.value(16, PMUKIT_CACHE_QOS_EVENT_TOTAL).status & PMUKIT_CACHE_QOS_S_GAP);
    ASSERT_EQ(
        script.run(
            "bytes monitor 16 2 = 0\nend 3\nrun 10\npass\nrun 10\npass\nwatch 16 0\nrun 10\npass\n"
            "burst 0 70\nrun 10\npass\nbytes monitor 16 2 = 70\n"),
        "");
    // All other monitors end. The next monitor has counters from its start on, so it reports no
    // gap.
    text.clear();
    for (u32 monitor = 1; monitor <= 16; monitor++)
        if (monitor != 3)
            text += "end " + std::to_string(monitor) + "\n";
    text +=
        "run 10\npass\nrun 10\npass\nrun 10\npass\nmonitors 0\nwatch 17 0\nburst 0 30\n"
        "run 10\npass\nbytes monitor 17 2 = 30\n";
    ASSERT_EQ(script.run(text), "");
    EXPECT_EQ(world.value(17, PMUKIT_CACHE_QOS_EVENT_TOTAL).status, 0U);
    // After the last CPU goes offline, the driver has released all of its counters.
    for (u32 cpu = 0; cpu < 4; cpu++)
        world.cpu_online(cpu, false);
    EXPECT_EQ(counters_in_use(world), 0U);
    EXPECT_EQ(world.violations(), "");
}

// Other software has assigned two counters. The first counts an event of an RMID that the driver
// does not use yet. The second counts a combination of traffic that is none of the driver's events.
// Both counters stay unchanged, even when the driver releases its own counters.
TEST(CacheQosScript, R12_KeepsAbmcCountersAssignedByOtherSoftware)
{
    Script script(shape_of("amd-turin"));
    World &world = script.world();
    Machine &machine = world.machine();
    const u64 apply = CACHE_QOS_SIM_ABMC_APPLY | CACHE_QOS_SIM_ABMC_ENABLE;
    ASSERT_TRUE(
        machine.write(0, CACHE_QOS_SIM_MSR_ABMC_CFG, apply | 31ULL << 48 | 7ULL << 32 | 0x7f));
    ASSERT_TRUE(
        machine.write(0, CACHE_QOS_SIM_MSR_ABMC_CFG, apply | 30ULL << 48 | 8ULL << 32 | 0x3));
    cache_qos_yield(&world.driver(), true);
    cache_qos_resume(&world.driver());
    ASSERT_EQ(script.run("run 10\npass\npass\n"), "");
    const cache_qos_domain &domain = world.driver().domains[0];
    EXPECT_EQ(domain.counters[31].state, CACHE_QOS_COUNTER_OTHERS);
    EXPECT_EQ(domain.counters[30].state, CACHE_QOS_COUNTER_OTHERS);
    EXPECT_EQ(domain.cells[7].served, BIT(CACHE_QOS_TOTAL));
    EXPECT_EQ(domain.cells[8].served, 0U);
    std::string text = "task 1 1\nswitch 0 0\n";
    for (u32 monitor = 1; monitor <= 20; monitor++)
        text += "monitors 0\nwatch " + std::to_string(monitor) + " 0\nburst 0 50\nrun 10\npass\n" +
                "unwatch " + std::to_string(monitor) + " 0\n";
    ASSERT_EQ(script.run(text), "");
    EXPECT_EQ(counters_in_use(world), 32U);
    for (u32 cpu = 0; cpu < 4; cpu++)
        world.cpu_online(cpu, false);
    EXPECT_EQ(counters_in_use(world), 2U);
    EXPECT_EQ(world.violations(), "");
}

// While resctrl is mounted, it assigns and releases one counter. During that time the driver keeps
// its other counters but writes no register.
TEST(CacheQosScript, R07_R12_WritesNoAbmcCounterWhileResctrlIsMountedAndReassignsThemAfterUnmount)
{
    Script script(shape_of("amd-turin"));
    World &world = script.world();
    Machine &machine = world.machine();
    ASSERT_EQ(script.run("task 1 1\nmonitors 0\nwatch 1 0\nswitch 0 0\nburst 0 10\nrun 10\npass\n"
                         "bytes monitor 1 2 = 10\n"),
              "");
    cache_qos_yield(&world.driver(), true);
    const u64 his = CACHE_QOS_SIM_ABMC_APPLY | CACHE_QOS_SIM_ABMC_ENABLE | 99ULL << 32 | 0x7f;
    ASSERT_TRUE(machine.write(0, CACHE_QOS_SIM_MSR_ABMC_CFG, his));
    const u64 found = machine.domain(0).counters[0].config;
    cache_qos_counters_scan(&world.driver(), 0);
    cache_qos_counters_release(&world.driver(), 0, true);
    cache_qos_counters_bind(&world.driver(), 0, 1, world.now_ns());
    EXPECT_EQ(machine.domain(0).counters[0].config, found);
    ASSERT_TRUE(machine.write(0, CACHE_QOS_SIM_MSR_ABMC_CFG, CACHE_QOS_SIM_ABMC_APPLY));
    cache_qos_resume(&world.driver());
    ASSERT_EQ(script.run("run 10\npass\nburst 0 10\nrun 10\npass\nbytes monitor 1 2 = 20\n"), "");
    EXPECT_TRUE(world.value(1, PMUKIT_CACHE_QOS_EVENT_TOTAL).status & PMUKIT_CACHE_QOS_S_GAP);
    for (u32 cpu = 0; cpu < 4; cpu++)
        world.cpu_online(cpu, false);
    EXPECT_EQ(counters_in_use(world), 0U);
}

// With Sub-NUMA clustering, each node has its own RMIDs, and the L3's value is the sum over its
// nodes.
TEST(CacheQosScript, R04_R29_OccupancyOfL3WithSncIsSumOverItsNodes)
{
    for (u32 nodes : {2U, 3U, 4U}) {
        MachineShape shape = shape_of("gnr");
        shape.cpus = 2 * nodes;
        shape.nodes = nodes;
        shape.lines = 64 * nodes;
        Script script(shape);
        World &world = script.world();
        EXPECT_EQ(world.driver().hw.nr_rmid, 288 / nodes);
        EXPECT_EQ(world.driver().nr_domains, nodes);
        std::string text = "group 0\nmonitor 1 1\n";
        for (u32 cpu = 0; cpu < nodes; cpu++)
            text += "task " + std::to_string(10 + cpu) + " 100\nmove " + std::to_string(cpu) +
                    " 1\nswitch " + std::to_string(cpu) + " " + std::to_string(cpu) + "\n";
        ASSERT_EQ(script.run(text + "run 5000\npass\n"), "");
        u64 sum = 0;
        for (u16 node = 0; node < nodes; node++) {
            const u64 lines =
                world.value(world.monitor_of_group(1), PMUKIT_CACHE_QOS_EVENT_OCCUPANCY, node)
                    .bytes /
                world.scale();
            EXPECT_EQ(lines, 10U + node);
            sum += lines;
        }
        EXPECT_EQ(script.run("bytes group 1 1 = " + std::to_string(sum) + "\n"), "");
    }
}

// Nested groups whose tasks run on one L3. The tasks have few enough lines for the cache of every
// recorded machine.
constexpr std::string_view kGroupsOfOneL3 = R"(
    task 25 100
    task 15 100
    group 0
    group 1
    move 0 1
    move 1 2
    monitor 1 1
    pass
    switch 0 0
    run 5000
    pass
    bytes group 1 1 = 25
    monitor 2 1
    pass
    bytes group 1 1 = 25
    bytes group 2 1 = 0
    switch 0 1
    run 5000
    pass
    bytes group 1 1 = 40
    bytes group 2 1 = 15
    monitor 2 0
    pass
    bytes group 1 1 = 40
    switch 0 idle
)";

// Returns the shape of a recorded machine. CPUID returns the recorded values, and the registers
// behave as these values say. The machine has at most two L3s of each kind, and the sizes of all
// L3s are reduced by the same factor.
MachineShape shape_of_recorded(const Recorded &r, u32 nodes)
{
    constexpr u32 kLines = 256, kMostL3s = 2;
    const auto leaf = [&r](u32 number, u32 subleaf) {
        const auto found = r.leaves.find({number, subleaf});
        return found == r.leaves.end() ? Leaf{} : found->second;
    };
    MachineShape shape;
    const Leaf l3 = leaf(0xf, 1);
    const bool is_amd = leaf(0, 0)[1] == CACHE_QOS_VENDOR_AMD_EBX;
    shape.made = cache_qos_sim_profile{
        .name = "recorded",
        .amd = is_amd,
        .pqm = true,
        .signature = leaf(1, 0)[0],
        .max_rmid_any = leaf(0xf, 0)[1],
        .max_rmid = l3[2],
        .scale = l3[1],
        .odd_scale = 0,
        .width_field = l3[0],
        .width = r.width,
        .events = l3[3],
        .snc = nodes > 1,
        .qos = leaf(0x80000020, 0)[1],
        .mbm_counters = is_amd ? 32U : 0U,
        .short_above = r.factor_above,
        .short_ppm = r.factor_ppm,
    };
    for (const RecordedL3 &kind : r.l3)
        for (u32 i = 0; i < std::min(kind.count, kMostL3s); i++)
            shape.lines_of.push_back(
                static_cast<u32>(kLines * kind.bytes / r.l3.front().bytes / 8 * 8));
    shape.domains = static_cast<u32>(shape.lines_of.size());
    shape.cpus = shape.domains * 4;
    shape.nodes = nodes;
    shape.ways = 8;
    return shape;
}

// Runs steps on a recorded machine whose L3s are divided into @nodes nodes each (1: not divided).
void run_recorded(const Recorded &r, u32 nodes)
{
    const MachineShape shape = shape_of_recorded(r, nodes);
    Script script(shape, &r);
    World &world = script.world();
    EXPECT_EQ(world.driver().hw.nr_rmid, r.nr_rmid / nodes);
    EXPECT_EQ(world.driver().hw.scale, r.scale / nodes);
    EXPECT_EQ(world.driver().hw.events, r.events);
    EXPECT_EQ(world.driver().nr_domains, shape.domains * nodes);
    // Corrected counts are not exact, because the driver rounds them.
    world.bandwidth_slack_bytes = r.factor_ppm ? 100 * world.scale() : 0;
    EXPECT_EQ(script.run(kGroupsOfOneL3), "");
    RandomSteps random(script, nodes, shape.cpus, shape.domains);
    random.with_hotplug = true;
    for (u32 i = 0; i < 60; i++) {
        const std::string step = random.next();
        ASSERT_EQ(script.run(step), "") << "step " << i << ": " << step;
    }
}

TEST(CacheQosRecorded, R04_R26_R30_R31_R51_CountsMatchSimulationsOfRecordedMachines)
{
    u32 machines = 0;
    for (const Recorded &r : recorded(CACHE_QOS_LEAVES)) {
        if (r.l3.empty() || (r.refused && !r.asked))
            continue;
        machines++;
        for (u32 nodes : {1U, 2U, 3U, 4U}) {
            const u32 signature = r.leaves.at({1, 0})[0];
            const bool snc = signature == 0x806f8 || signature == 0xc06f2 || signature == 0xa06d1;
            if (nodes > 1 && !snc)
                continue;
            SCOPED_TRACE(r.name + ", nodes: " + std::to_string(nodes));
            run_recorded(r, nodes);
            if (HasFatalFailure())
                return;
        }
    }
    EXPECT_EQ(machines, 30U);
}

}  // namespace
