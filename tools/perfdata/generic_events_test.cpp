// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "perfdata/generic_events.hpp"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

namespace pmukit::perfdata {
namespace {

TEST(GenericEvents, ParsesPerfsNames)
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

TEST(GenericEvents, ParsesEveryListedName)
{
    for (const std::string &name : generic_names())
        EXPECT_TRUE(generic_event(name)) << name;
}

Attr event_attr(uint32_t type, uint64_t config, uint64_t flags = 0)
{
    Attr attr;
    attr.type = type;
    attr.config = config;
    attr.flags = flags;
    return attr;
}

TEST(DefaultName, MatchesPerf)
{
    constexpr uint64_t kNoUser = 1 << 4, kNoKernel = 1 << 5, kNoHypervisor = 1 << 6;
    EXPECT_EQ(default_name(event_attr(PERF_TYPE_HARDWARE, 0)), "cycles");
    EXPECT_EQ(default_name(event_attr(PERF_TYPE_HARDWARE, 0, kNoKernel | kNoHypervisor)),
              "cycles:u");
    EXPECT_EQ(default_name(event_attr(PERF_TYPE_HARDWARE, 1, kNoUser | uint64_t{2} << 15)),
              "instructions:khpp");
    constexpr uint64_t kNoHost = 1 << 19, kNoGuest = 1 << 20;
    EXPECT_EQ(default_name(event_attr(PERF_TYPE_HARDWARE, 0, kNoGuest)), "cycles:H");
    EXPECT_EQ(default_name(event_attr(PERF_TYPE_HARDWARE, 0, kNoHost)), "cycles:G");
    EXPECT_EQ(default_name(event_attr(PERF_TYPE_HARDWARE, 0, kNoGuest | kNoUser)), "cycles:khH");
    EXPECT_EQ(default_name(event_attr(PERF_TYPE_SOFTWARE, 2)), "page-faults");
    EXPECT_EQ(default_name(event_attr(PERF_TYPE_HW_CACHE, 0x10002)), "LLC-load-misses");
    EXPECT_EQ(default_name(event_attr(PERF_TYPE_RAW, 0x1a8)), "raw 0x1a8");
    EXPECT_EQ(default_name(event_attr(PERF_TYPE_TRACEPOINT, 7)), "unknown tracepoint");
    EXPECT_EQ(default_name(event_attr(24, 7)), "");
}

}  // namespace
}  // namespace pmukit::perfdata
