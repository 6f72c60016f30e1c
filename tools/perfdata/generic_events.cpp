// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "perfdata/generic_events.hpp"

#include <fmt/core.h>
#include <linux/perf_event.h>

#include <algorithm>
#include <iterator>
#include <span>

#include "base/number.hpp"

namespace pmukit::perfdata {
namespace {

struct Name {
    std::string_view name;
    GenericEvent event;
};

constexpr uint32_t kHardware = PERF_TYPE_HARDWARE, kSoftware = PERF_TYPE_SOFTWARE;

// The names of perf. Two names of one event are adjacent.
constexpr Name kEvents[] = {
    {"cycles", {kHardware, PERF_COUNT_HW_CPU_CYCLES}},
    {"cpu-cycles", {kHardware, PERF_COUNT_HW_CPU_CYCLES}},
    {"instructions", {kHardware, PERF_COUNT_HW_INSTRUCTIONS}},
    {"cache-references", {kHardware, PERF_COUNT_HW_CACHE_REFERENCES}},
    {"cache-misses", {kHardware, PERF_COUNT_HW_CACHE_MISSES}},
    {"branches", {kHardware, PERF_COUNT_HW_BRANCH_INSTRUCTIONS}},
    {"branch-instructions", {kHardware, PERF_COUNT_HW_BRANCH_INSTRUCTIONS}},
    {"branch-misses", {kHardware, PERF_COUNT_HW_BRANCH_MISSES}},
    {"bus-cycles", {kHardware, PERF_COUNT_HW_BUS_CYCLES}},
    {"stalled-cycles-frontend", {kHardware, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND}},
    {"idle-cycles-frontend", {kHardware, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND}},
    {"stalled-cycles-backend", {kHardware, PERF_COUNT_HW_STALLED_CYCLES_BACKEND}},
    {"idle-cycles-backend", {kHardware, PERF_COUNT_HW_STALLED_CYCLES_BACKEND}},
    {"ref-cycles", {kHardware, PERF_COUNT_HW_REF_CPU_CYCLES}},
    {"cpu-clock", {kSoftware, PERF_COUNT_SW_CPU_CLOCK}},
    {"task-clock", {kSoftware, PERF_COUNT_SW_TASK_CLOCK}},
    {"page-faults", {kSoftware, PERF_COUNT_SW_PAGE_FAULTS}},
    {"faults", {kSoftware, PERF_COUNT_SW_PAGE_FAULTS}},
    {"context-switches", {kSoftware, PERF_COUNT_SW_CONTEXT_SWITCHES}},
    {"cs", {kSoftware, PERF_COUNT_SW_CONTEXT_SWITCHES}},
    {"cpu-migrations", {kSoftware, PERF_COUNT_SW_CPU_MIGRATIONS}},
    {"migrations", {kSoftware, PERF_COUNT_SW_CPU_MIGRATIONS}},
    {"minor-faults", {kSoftware, PERF_COUNT_SW_PAGE_FAULTS_MIN}},
    {"major-faults", {kSoftware, PERF_COUNT_SW_PAGE_FAULTS_MAJ}},
    {"alignment-faults", {kSoftware, PERF_COUNT_SW_ALIGNMENT_FAULTS}},
    {"emulation-faults", {kSoftware, PERF_COUNT_SW_EMULATION_FAULTS}},
    {"dummy", {kSoftware, PERF_COUNT_SW_DUMMY}},
    {"bpf-output", {kSoftware, PERF_COUNT_SW_BPF_OUTPUT}},
    {"cgroup-switches", {kSoftware, 11}},  // PERF_COUNT_SW_CGROUP_SWITCHES, Linux 5.13
};

struct Cache {
    std::string_view name;
    uint64_t id;
};
constexpr Cache kCaches[] = {
    {"L1-dcache", PERF_COUNT_HW_CACHE_L1D}, {"L1-icache", PERF_COUNT_HW_CACHE_L1I},
    {"LLC", PERF_COUNT_HW_CACHE_LL},        {"dTLB", PERF_COUNT_HW_CACHE_DTLB},
    {"iTLB", PERF_COUNT_HW_CACHE_ITLB},     {"branch", PERF_COUNT_HW_CACHE_BPU},
    {"node", PERF_COUNT_HW_CACHE_NODE},
};

struct CacheOperation {
    std::string_view name;
    uint64_t operation, result;
};
constexpr CacheOperation kCacheOperations[] = {
    {"-loads", PERF_COUNT_HW_CACHE_OP_READ, PERF_COUNT_HW_CACHE_RESULT_ACCESS},
    {"-load-misses", PERF_COUNT_HW_CACHE_OP_READ, PERF_COUNT_HW_CACHE_RESULT_MISS},
    {"-stores", PERF_COUNT_HW_CACHE_OP_WRITE, PERF_COUNT_HW_CACHE_RESULT_ACCESS},
    {"-store-misses", PERF_COUNT_HW_CACHE_OP_WRITE, PERF_COUNT_HW_CACHE_RESULT_MISS},
    {"-prefetches", PERF_COUNT_HW_CACHE_OP_PREFETCH, PERF_COUNT_HW_CACHE_RESULT_ACCESS},
    {"-prefetch-misses", PERF_COUNT_HW_CACHE_OP_PREFETCH, PERF_COUNT_HW_CACHE_RESULT_MISS},
};

std::optional<GenericEvent> cache_event(std::string_view name)
{
    for (const Cache &cache : kCaches)
        for (const CacheOperation &what : kCacheOperations)
            if (name.starts_with(cache.name) && name.substr(cache.name.size()) == what.name)
                return GenericEvent{PERF_TYPE_HW_CACHE,
                                    cache.id | what.operation << 8 | what.result << 16};
    return std::nullopt;
}

// Parses a raw event such as r1a8: r, then a hexadecimal event number from the CPU's manual.
std::optional<GenericEvent> raw_event(std::string_view name)
{
    if (name.size() < 2 || name[0] != 'r')
        return std::nullopt;
    const Result<uint64_t> config = parse_u64("0x" + std::string(name.substr(1)));
    return config ? std::optional(GenericEvent{PERF_TYPE_RAW, *config}) : std::nullopt;
}

// Returns the modifiers of an event, such as :u or :kpp, for its excluded modes and its precision,
// as perf does since Linux 6.13: older versions print HG if neither host nor guest is excluded.
std::string modifiers_of(const Attr &attr)
{
    struct Level {
        uint64_t excluded;
        char letter;
    };
    constexpr Level kLevels[] = {{1 << 5, 'k'}, {1 << 4, 'u'}, {1 << 6, 'h'}};
    constexpr uint64_t kAll = 1 << 4 | 1 << 5 | 1 << 6;
    constexpr unsigned kPreciseShift = 15, kPreciseMask = 3;
    std::string letters;
    for (const Level &level : kLevels)
        if ((attr.flags & kAll) && !(attr.flags & level.excluded))
            letters += level.letter;
    letters.append(attr.flags >> kPreciseShift & kPreciseMask, 'p');
    constexpr uint64_t kHost = 1 << 19, kGuest = 1 << 20;
    if (attr.flags & (kHost | kGuest))
        letters += std::string(attr.flags & kHost ? "" : "H") + (attr.flags & kGuest ? "" : "G");
    return letters.empty() ? letters : ":" + letters;
}

// Caches that have no stores, and those that have neither stores nor prefetches.
constexpr uint64_t kWithoutStores[] = {PERF_COUNT_HW_CACHE_L1I, PERF_COUNT_HW_CACHE_ITLB,
                                       PERF_COUNT_HW_CACHE_BPU};
constexpr uint64_t kOnlyLoads[] = {PERF_COUNT_HW_CACHE_ITLB, PERF_COUNT_HW_CACHE_BPU};

bool is_in(std::span<const uint64_t> caches, uint64_t cache)
{
    return std::ranges::find(caches, cache) != caches.end();
}

std::string cache_name(uint64_t config)
{
    const uint64_t cache = config & 0xff, operation = config >> 8 & 0xff,
                   result = config >> 16 & 0xff;
    if (cache >= PERF_COUNT_HW_CACHE_MAX)
        return "unknown-ext-hardware-cache-type";
    if (operation >= PERF_COUNT_HW_CACHE_OP_MAX)
        return "unknown-ext-hardware-cache-op";
    if (result >= PERF_COUNT_HW_CACHE_RESULT_MAX)
        return "unknown-ext-hardware-cache-result";
    if ((operation == PERF_COUNT_HW_CACHE_OP_WRITE && is_in(kWithoutStores, cache)) ||
        (operation == PERF_COUNT_HW_CACHE_OP_PREFETCH && is_in(kOnlyLoads, cache)))
        return "invalid-cache";
    const auto *const what =
        std::ranges::find_if(kCacheOperations, [&](const CacheOperation &known) {
            return known.operation == operation && known.result == result;
        });
    return std::string(std::ranges::find(kCaches, cache, &Cache::id)->name) +
           std::string(what->name);
}

std::string breakpoint_name(const Attr &attr)
{
    constexpr std::string_view kAccesses[] = {"", "r", "w", "rw", "x"};  // by HW_BREAKPOINT_*
    return fmt::format("mem:{:#x}:{}", attr.config1,
                       attr.bp_type < std::size(kAccesses) ? kAccesses[attr.bp_type] : "");
}

std::string fixed_name(uint32_t type, uint64_t config, std::string_view otherwise)
{
    const auto *const known = std::ranges::find(kEvents, GenericEvent{type, config}, &Name::event);
    return std::string(known == std::end(kEvents) ? otherwise : known->name);
}

constexpr uint64_t kConfigMask = UINT32_MAX;  // of PERF_TYPE_HARDWARE and PERF_TYPE_HW_CACHE

bool has_pmu_in_config(const Attr &attr)
{
    return (attr.type == PERF_TYPE_HARDWARE || attr.type == PERF_TYPE_HW_CACHE) &&
           attr.config > kConfigMask;
}

std::string bare_name(const Attr &attr)
{
    switch (attr.type) {
        case PERF_TYPE_HARDWARE:
            return fixed_name(attr.type, attr.config & kConfigMask, "unknown-hardware");
        case PERF_TYPE_SOFTWARE:
            return fixed_name(attr.type, attr.config, "unknown-software");
        case PERF_TYPE_TRACEPOINT:
            return fmt::format("tracepoint/id={:#x}/", attr.config);
        case PERF_TYPE_HW_CACHE:
            return cache_name(attr.config);
        case PERF_TYPE_RAW:
            return fmt::format("raw {:#x}", attr.config);
        case PERF_TYPE_BREAKPOINT:
            return breakpoint_name(attr);
        default:
            return fmt::format("unknown event PMU={} config={:#x}", attr.type, attr.config);
    }
}

std::string pmu_or_type(std::string_view pmu, uint32_t type)
{
    if (!pmu.empty())
        return std::string(pmu);
    return type == PERF_TYPE_RAW ? "cpu" : fmt::format("type{}", type);
}

std::string unmodified_name(const Attr &attr, std::string_view pmu)
{
    if (has_pmu_in_config(attr))
        return fmt::format("{}/{}/", pmu_or_type(pmu, pmu_type(attr)), bare_name(attr));
    if (type_name(attr.type).empty() && !pmu.empty())
        return fmt::format("{}/config={:#x}/", pmu, attr.config);
    return bare_name(attr);
}

// perf prints no modifiers after an event of an unknown type.
bool has_modifiers(const Attr &attr)
{
    return !type_name(attr.type).empty();
}

}  // namespace

uint32_t pmu_type(const Attr &attr)
{
    return has_pmu_in_config(attr) ? static_cast<uint32_t>(attr.config >> 32) : attr.type;
}

std::string default_name(const Attr &attr, std::string_view pmu)
{
    return unmodified_name(attr, pmu) + (has_modifiers(attr) ? modifiers_of(attr) : "");
}

std::string name_of(const Reader &reader, const Event &event)
{
    return event.name.empty() ? default_name(event.attr, reader.pmu_name(pmu_type(event.attr)))
                              : event.name;
}

std::string_view type_name(uint32_t type)
{
    constexpr std::string_view kTypes[] = {"hardware", "software", "tracepoint",
                                           "hw_cache", "raw",      "breakpoint"};
    return type < std::size(kTypes) ? kTypes[type] : std::string_view();
}

std::optional<GenericEvent> generic_event(std::string_view name)
{
    const auto *known = std::ranges::find(kEvents, name, &Name::name);
    if (known != std::end(kEvents))
        return known->event;
    const std::optional<GenericEvent> cache = cache_event(name);
    return cache ? cache : raw_event(name);
}

std::vector<std::string> generic_names()
{
    std::vector<std::string> names;
    for (const Name &known : kEvents)
        names.emplace_back(known.name);
    for (const Cache &cache : kCaches)
        for (const CacheOperation &what : kCacheOperations)
            names.push_back(std::string(cache.name) + std::string(what.name));
    return names;
}

bool is_dummy(const Attr &attr)
{
    return attr.type == PERF_TYPE_SOFTWARE && attr.config == PERF_COUNT_SW_DUMMY;
}

}  // namespace pmukit::perfdata
