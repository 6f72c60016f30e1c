// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The driver's pure half and the simulated machine together. Steps by chance: everything watched is
// compared with the truth after each pass. Steps by hand: one rule each, which the name says; R and
// a number is a requirement of Documentation/devices/cache_qos.rst.
//
// CACHE_QOS_STEPS=1000000 CACHE_QOS_SEED=7 runs more of them, or others.
#include "cache_qos_script.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

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

}  // namespace
