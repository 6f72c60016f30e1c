// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Runs a few of the random steps of kernel_cache_qos_script_test. The program is fast enough to be
// run for every mutant of the driver's core (make mutants).
#include <gtest/gtest.h>

#include "cache_qos_script.hpp"

namespace {

using pmukit::kshim::MachineShape;
using pmukit::kshim::RandomSteps;
using pmukit::kshim::Script;

struct Kind {
    const char *profile;
    u32 domains;
    bool hotplug, faults;
};

TEST(CacheQosSteps, R21_R26_R31_R51_CountsMatchSimulationWithinBoundAfterRandomSteps)
{
    constexpr u32 kSteps = 400, kSeeds = 3;
    for (const Kind &kind : {Kind{"spr", 2, true, false}, Kind{"tiny", 1, false, true},
                             Kind{"amd-rome", 2, false, false}})
        for (u64 seed = 1; seed <= kSeeds; seed++) {
            SCOPED_TRACE(kind.profile);
            MachineShape shape;
            shape.profile = kind.profile;
            shape.cpus = 4;
            shape.domains = kind.domains;
            shape.lines = 128;
            shape.ways = 8;
            shape.seed = seed;
            Script script(shape);
            RandomSteps random(script, seed, shape.cpus, shape.domains);
            random.with_hotplug = kind.hotplug;
            random.with_faults = kind.faults;
            for (u32 i = 0; i < kSteps; i++) {
                const std::string step = random.next();
                ASSERT_EQ(script.run(step), "") << "seed " << seed << " step " << i << ": " << step;
            }
        }
}

}  // namespace
