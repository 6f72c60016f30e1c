// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "record/generic_events.hpp"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

namespace pmukit::record {
namespace {

TEST(GenericEvents, AreThoseOfPerf)
{
    EXPECT_EQ(generic_event("cycles"), (GenericEvent{PERF_TYPE_HARDWARE, 0}));
    EXPECT_EQ(generic_event("cs"), (GenericEvent{PERF_TYPE_SOFTWARE, 3}));
    EXPECT_EQ(generic_event("cpu-clock"), (GenericEvent{PERF_TYPE_SOFTWARE, 0}));
    EXPECT_EQ(generic_event("LLC-load-misses"), (GenericEvent{PERF_TYPE_HW_CACHE, 0x10002}));
    EXPECT_EQ(generic_event("dTLB-stores"), (GenericEvent{PERF_TYPE_HW_CACHE, 0x103}));
    EXPECT_EQ(generic_event("r1A8"), (GenericEvent{PERF_TYPE_RAW, 0x1a8}));
    for (const char *other : {"", "r", "rx", "cycle", "Cycles", "LLC", "LLC-", "cpu", "sched:*"})
        EXPECT_FALSE(generic_event(other)) << other;
}

TEST(GenericEvents, AreAllFoundByTheirNames)
{
    for (const std::string &name : generic_names())
        EXPECT_TRUE(generic_event(name)) << name;
}

}  // namespace
}  // namespace pmukit::record
