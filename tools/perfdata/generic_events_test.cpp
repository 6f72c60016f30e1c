// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "perfdata/generic_events.hpp"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include "base/test_folder.hpp"
#include "perfdata/testing/test_file.hpp"

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
}

// The names on the right are what perf 7.3 prints for these attributes, except those of the caches.
TEST(DefaultName, NamesThePmuOfTheUpperHalfOfConfig)
{
    constexpr uint64_t kCore = uint64_t{4} << 32, kAtom = uint64_t{10} << 32;
    constexpr uint64_t kNoKernel = 1 << 5;
    EXPECT_EQ(default_name(event_attr(PERF_TYPE_HARDWARE, kCore)), "cpu/cycles/");
    EXPECT_EQ(default_name(event_attr(PERF_TYPE_HARDWARE, kCore | 1, kNoKernel), "cpu_core"),
              "cpu_core/instructions/:uh");
    EXPECT_EQ(default_name(event_attr(PERF_TYPE_HARDWARE, kAtom | 99), "cpu_atom"),
              "cpu_atom/unknown-hardware/");
    EXPECT_EQ(default_name(event_attr(PERF_TYPE_HARDWARE, kAtom)), "type10/cycles/");
    EXPECT_EQ(default_name(event_attr(PERF_TYPE_HW_CACHE, kAtom | 0x10002), "cpu_atom"),
              "cpu_atom/LLC-load-misses/");
}

TEST(DefaultName, IsNeverEmpty)
{
    constexpr uint64_t kNoKernel = 1 << 5;
    EXPECT_EQ(default_name(event_attr(25, 0x12, kNoKernel)), "unknown event PMU=25 config=0x12");
    EXPECT_EQ(default_name(event_attr(25, 0x12), "cxl_hmu_mem0.0.0"),
              "cxl_hmu_mem0.0.0/config=0x12/");
    EXPECT_EQ(default_name(event_attr(PERF_TYPE_TRACEPOINT, 0x4d)), "tracepoint/id=0x4d/");
    EXPECT_EQ(default_name(event_attr(PERF_TYPE_HARDWARE, 99)), "unknown-hardware");
    EXPECT_EQ(default_name(event_attr(PERF_TYPE_SOFTWARE, 99)), "unknown-software");
}

TEST(DefaultName, SaysWhatIsWrongWithACacheEvent)
{
    const auto cache = [](uint64_t config) {
        return default_name(event_attr(PERF_TYPE_HW_CACHE, config));
    };
    EXPECT_EQ(cache(0x107), "unknown-ext-hardware-cache-type");
    EXPECT_EQ(cache(0x302), "unknown-ext-hardware-cache-op");
    EXPECT_EQ(cache(0x20002), "unknown-ext-hardware-cache-result");
    EXPECT_EQ(cache(0x101), "invalid-cache");
    EXPECT_EQ(cache(0x204), "invalid-cache");
    EXPECT_EQ(cache(0x201), "L1-icache-prefetches");
    EXPECT_EQ(cache(0x206), "node-prefetches");
}

TEST(DefaultName, SaysWhichAccessesABreakpointCounts)
{
    const std::pair<uint32_t, const char *> kNames[] = {
        {1, "mem:0x1234:r"}, {2, "mem:0x1234:w"}, {3, "mem:0x1234:rw"}, {4, "mem:0x1234:x"}};
    for (const auto &[access, name] : kNames) {
        Attr attr = event_attr(PERF_TYPE_BREAKPOINT, 0);
        attr.config1 = 0x1234;
        attr.bp_type = access;
        EXPECT_EQ(default_name(attr), name);
    }
}

TEST(NameOf, TakesThePmuFromTheFile)
{
    testing::FileBuilder builder(std::endian::native);
    builder.event(PERF_TYPE_HARDWARE, PERF_SAMPLE_IDENTIFIER, {7})
        .set(kAttrConfig, uint64_t{8} << 32)
        .event(24, PERF_SAMPLE_IDENTIFIER, {8})
        .set(kAttrConfig, 0x30)
        .event(25, PERF_SAMPLE_IDENTIFIER, {9})
        .pmu(8, "cpu_atom")
        .pmu(24, "hisi_ptt0_2");
    const TestFolder folder;
    folder.put("perf.data", builder.file());
    const Result<Reader> reader = Reader::open_path(folder.path("perf.data"));
    ASSERT_TRUE(reader) << reader.error().message;
    std::vector<std::string> names;
    for (const Event &event : reader->events())
        names.push_back(name_of(*reader, event));
    EXPECT_EQ(names, (std::vector<std::string>{"cpu_atom/cycles/", "hisi_ptt0_2/config=0x30/",
                                               "unknown event PMU=25 config=0x0"}));
}

}  // namespace
}  // namespace pmukit::perfdata
