// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The driver's pure half and the simulated machine together. Steps by chance: everything watched is
// compared with the truth after each pass. Steps by hand: one rule each, which the name says; R and
// a number is a requirement of Documentation/devices/cache_qos.rst.
//
// CACHE_QOS_STEPS=1000000 CACHE_QOS_SEED=7 runs more of them, or others.
#include "cache_qos_script.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <stdexcept>

namespace {

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

// Steps by chance

struct Kind {
    const char *name;
    const char *profile;
    u32 domains;
    u32 lines;
    bool hotplug, faults;
};

class CacheQosRandom : public testing::TestWithParam<Kind> {};

// A world has so many steps; then another begins.
constexpr u64 kStepsOfAWorld = 1000;

void run_a_world(const Kind &kind, u64 seed, u64 steps)
{
    MachineShape shape = shape_of(kind.profile, kind.domains, kind.lines);
    shape.seed = seed;
    const u64 wrap = u64{1} << cache_qos_sim_profile_by_name(kind.profile)->width;
    shape.mbm_start = wrap - 1 - seed % 1000000;
    Script script(shape);
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

TEST_P(CacheQosRandom, R21_R22_R26_R27_R30_R31_R51_EveryValueIsTheTruthWithinItsBound)
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
                                         Kind{"amd", "amd-rome", 2, 128, true, false}),
                         [](const testing::TestParamInfo<Kind> &kind) { return kind.param.name; });

// Steps by hand

std::string run_on(const MachineShape &shape, std::string_view text)
{
    Script script(shape);
    return script.run(text);
}

TEST(CacheQosScript, SaysWhatIsWrongWithAStep)
{
    Script script(shape_of("spr"));
    EXPECT_EQ(script.run("nonsense 1\n"), "nonsense 1: no such step\n");
    EXPECT_EQ(script.run("task 1\n"), "task 1: no such step\n");
    EXPECT_EQ(script.run("bytes monitor 0 1 = 5\n"), "bytes monitor 0 1 = 5: it has 0\n");
    EXPECT_EQ(script.run("# nothing\n\n"), "");
}

// The seed's session: a group in a group, each with its own tasks.
TEST(CacheQosScript, R51_R52_R54_GroupsAddUp)
{
    EXPECT_EQ(run_on(shape_of("spr"), R"(
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
    )"),
              "");
}

TEST(CacheQosScript, R57_R58_ACgroupHasItsDescendants)
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

// The core of the thread of 2014: A fills, A ends, and its lines are still there.
TEST(CacheQosScript, R22_R26_LinesOfAnEarlierOwnerAreRefusedOrBounded)
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
    // R-25: asked to, the driver gives it out all the same, and says how much may be A's.
    script.world().driver().alloc_dirty = true;
    ASSERT_EQ(script.run("watch 4 1\nresult 0\nrun 2000\npass\n"), "");
    const struct cache_qos_value value = script.world().value(4, PMUKIT_CACHE_QOS_EVENT_OCCUPANCY);
    EXPECT_GE(value.bound / script.world().scale(), 200U);
    EXPECT_TRUE(value.status & PMUKIT_CACHE_QOS_S_DIRTY);
}

// Zijlstra's counter-example: a program of many threads that fits in the cache, and a monitor that
// goes from thread to thread. What the threads share was filled long ago; nothing is made up.
TEST(CacheQosScript, R24_R26_AMonitorThatWandersClaimsNothing)
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

// More than ten times round, in steps of less than once round.
TEST_P(CacheQosWraps, R30_R32_NothingIsLost)
{
    MachineShape shape = shape_of(GetParam().profile);
    shape.mbm_start = (u64{1} << GetParam().width) - 5;
    shape.enough_counters = true;
    Script script(shape);
    ASSERT_EQ(script.world().driver().hw.width, GetParam().width);
    ASSERT_EQ(script.run("task 10 1\nmonitors 0\nwatch 1 0\nswitch 0 0\npass\npass\n"), "");
    const u64 before = script.world().bytes(1, PMUKIT_CACHE_QOS_EVENT_TOTAL);
    const u64 step = (u64{1} << GetParam().width) / 3 * 2;
    // The largest width would not fit into 64 bits of bytes so often.
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

// Erratum BDF102: what is counted short comes out right, but for the rounding of the factor.
TEST(CacheQosScript, R30_CountsThatAreShortAreCorrected)
{
    Script script(shape_of("bdx"));
    script.world().bandwidth_slack_bytes = 100 * script.world().scale();
    std::string text = "task 10 1\nswitch 0 0\n";
    for (u32 monitor = 1; monitor <= 55; monitor++)
        text += "monitors 0\nwatch " + std::to_string(monitor) +
                " 0\nburst 0 100000\npass\nunwatch " + std::to_string(monitor) + " 0\n";
    ASSERT_EQ(script.run(text), "");
    EXPECT_EQ(script.world().driver().nr_atoms[CACHE_QOS_USED], 55U);
    EXPECT_NEAR(double(script.world().bytes(50, PMUKIT_CACHE_QOS_EVENT_TOTAL)),
                100000.0 * double(script.world().scale()), 100.0 * double(script.world().scale()));
}

// All traffic is local. A reading of local fails while its counter goes round: what it misses must
// not turn up as remote.
TEST(CacheQosScript, R30_WhatLocalMissesIsNotRemote)
{
    MachineShape shape = shape_of("tiny");
    shape.mbm_start = (u64{1} << 24) - 5;
    Script script(shape);
    ASSERT_EQ(script.run("task 1 1\nmonitors 0\nwatch 1 0\nswitch 0 0\nrun 10\npass\n"), "");
    const cache_qos_sim_fault fault = {CACHE_QOS_SIM_FAULT_UNAVAILABLE,
                                       static_cast<u32>(script.world().machine().cpu(0).pqr),
                                       CACHE_QOS_SIM_ANY,
                                       1,  // occupancy is read first, then local
                                       1,
                                       0};
    ASSERT_TRUE(cache_qos_sim_inject(script.world().machine().get(), &fault));
    script.run("burst 0 100\nrun 10\npass\n");
    EXPECT_EQ(script.run("burst 0 100\nrun 10\npass\nbytes monitor 1 4 = 0\n"), "");
    EXPECT_TRUE(script.world().value(1, PMUKIT_CACHE_QOS_EVENT_LOCAL).status &
                PMUKIT_CACHE_QOS_S_GAP);
}

TEST(CacheQosScript, R21_R37_EveryRmidIsOfUseAndNoneIsMistakenForAnother)
{
    for (const char *profile : {"tiny", "hsw", "spr", "clx"}) {
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

// More RMIDs than ten bits can say: the newest monitors have the largest numbers.
TEST(CacheQosScript, R21_RmidsOfMoreThanTenBits)
{
    Script script(shape_of("wide", 1, 64));
    World &world = script.world();
    ASSERT_EQ(world.driver().hw.nr_rmid, 2048U);
    u32 highest = 0;
    std::string wrong = script.run("task 20 100\n");
    for (u32 turn = 1; turn <= 1500 && wrong.empty(); turn++) {
        wrong = script.run("monitors 0\nwatch " + std::to_string(turn) +
                           " 0\nswitch 0 0\nflush 0\nrun 1000\n");
        highest = std::max(highest, static_cast<u32>(world.machine().cpu(0).pqr));
        if (turn % 100 == 0)
            wrong += script.run("pass\nbytes monitor " + std::to_string(turn) + " 1 = 20\n");
        wrong += script.run("end " + std::to_string(turn) + "\n");
        if (turn % 4 == 0)
            wrong += script.run("pass\n");
    }
    EXPECT_EQ(wrong, "");
    EXPECT_GT(highest, 1024U);
}

TEST(CacheQosScript, R55_AfterLimboThereIsAnRmidAgain)
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

TEST(CacheQosScript, R36_OneL3ThatFailsLeavesTheOthers)
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
    script.world().run(100000);  // 10 lines each
    EXPECT_FALSE(script.world().pass());
    const struct cache_qos_value v = script.world().value(1, PMUKIT_CACHE_QOS_EVENT_OCCUPANCY);
    EXPECT_EQ(v.bytes / script.world().scale(), 10 + 30U);
    EXPECT_TRUE(v.status & PMUKIT_CACHE_QOS_S_ERROR);
}

TEST(CacheQosScript, R11_AStolenEvtselIsNoticed)
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
        script.world().complaints();  // of the thief's own QM_EVTSEL, which nobody can put back
        script.world().compare();
        ASSERT_EQ(script.world().complaints(), "") << after;
    }
    ASSERT_EQ(script.run("bytes monitor 1 1 = 20\n"), "");
}

TEST(CacheQosScript, R08_R09_AForeignRmidStays)
{
    Script script(shape_of("spr"));
    World &world = script.world();
    ASSERT_EQ(script.run("task 20 100\nmonitors 0\nwatch 1 0\nswitch 0 0\n"), "");
    world.machine().cpu(0).pqr = u64{3} << 32 | 99;
    world.on(0);
    cache_qos_check_pqr(&world.driver(), world.driver().cpus[0]);
    EXPECT_EQ(world.machine().cpu(0).pqr, u64{3} << 32 | 99);
    EXPECT_EQ(world.driver().cpus[0]->hijacks, 1U);
    EXPECT_TRUE(cache_qos_is_taken(&world.driver()));
    cache_qos_mark_suspects(&world.driver());
    EXPECT_TRUE(world.value(1, PMUKIT_CACHE_QOS_EVENT_OCCUPANCY).status &
                PMUKIT_CACHE_QOS_S_SUSPECT);
}

// A million switches between tasks that are watched and others, and classes of service that change
// between them.
TEST(CacheQosScript, R09_R15_AMillionSwitches)
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
    EXPECT_EQ(world.complaints(), "");
    EXPECT_GT(world.changes(0), 100000U);
}

TEST(CacheQosScript, R18_AHundredThousandForksLeaveNothing)
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
    EXPECT_EQ(world.complaints(), "");
    EXPECT_EQ(world.driver().free_sets, sets);
    EXPECT_EQ(world.driver().nr_atoms[CACHE_QOS_USED], used);
}

// What a processor says it is, and what the driver makes of it. 0: refused.
struct Probed {
    const char *profile;
    u32 nr_rmid, width, events;
};

TEST(CacheQosScript, R04_R05_R12_ProcessorsAreTakenForWhatTheyAre)
{
    constexpr u32 kAll = 0xf, kOccupancyAlone = 1;
    for (const Probed &want :
         {Probed{"hsw", 56, 24, kOccupancyAlone}, Probed{"bdx", 56, 24, kAll},
          Probed{"clx", 224, 24, kAll}, Probed{"spr", 256, 32, kAll},
          Probed{"wide", 2048, 62, kAll}, Probed{"amd-rome", 256, 44, kAll},
          Probed{"amd-abmc", 4096, 44, kOccupancyAlone}, Probed{"tiny", 4, 24, kAll}}) {
        World world(shape_of(want.profile));
        const cache_qos_hw &hw = world.driver().hw;
        EXPECT_EQ(hw.nr_rmid, want.nr_rmid) << want.profile;
        EXPECT_EQ(hw.events, want.events) << want.profile;
        if (want.events != kOccupancyAlone) {
            EXPECT_EQ(hw.width, want.width) << want.profile;
        }
        world.conserve();
        EXPECT_EQ(world.complaints(), "") << want.profile;
    }
    for (const char *refused : {"skx", "none", "broken", "broken-mixed"})
        EXPECT_THROW(World world(shape_of(refused)), std::runtime_error) << refused;
}

}  // namespace
