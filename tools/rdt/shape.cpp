// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "rdt/shape.hpp"

#include <cstdlib>
#include <cstring>

namespace pmukit::rdt {

namespace {

// Returns the text after "name=", nullptr if the option has another name.
const char *value_of(const char *option, const char *name)
{
    const size_t length = std::strlen(name);
    if (std::strncmp(option, name, length) != 0 || option[length] != '=')
        return nullptr;
    return option + length + 1;
}

// Parses a number as strtoull() with base 0, with an optional suffix K, M or G.
bool parse(const char *text, uint64_t &number)
{
    if (*text < '0' || *text > '9')
        return false;
    char *end = nullptr;
    number = std::strtoull(text, &end, 0);
    static constexpr char kUnits[] = "KMG";
    const char *unit = *end ? std::strchr(kUnits, *end) : nullptr;
    if (unit)
        number <<= 10 * (unit - kUnits + 1);
    return *end == '\0' || (unit && end[1] == '\0');
}

struct Narrow {
    const char *name;
    uint32_t Shape::*member;
};
constexpr Narrow kNarrow[] = {
    {"cpus-per-l3", &Shape::cpus_per_l3},
    {"nodes", &Shape::nodes},
    {"ways", &Shape::ways},
    {"rmids", &Shape::rmids},
    {"classes", &Shape::classes},
    {"unit", &Shape::unit},
    {"width", &Shape::width},
    {"counters", &Shape::counters},
    {"abmc", &Shape::abmc},
    {"unavailable", &Shape::unavailable},
    {"error", &Shape::error},
};
struct Wide {
    const char *name;
    uint64_t Shape::*member;
};
constexpr Wide kWide[] = {
    {"l3", &Shape::l3_bytes},
    {"l2", &Shape::l2_bytes},
    {"start", &Shape::start},
    {"node", &Shape::node_bytes},
};

bool take_vendor(Shape &shape, const char *value)
{
    if (std::strcmp(value, "intel") == 0)
        shape.vendor = Vendor::kIntel;
    else if (std::strcmp(value, "amd") == 0)
        shape.vendor = Vendor::kAmd;
    else
        return false;
    return true;
}

bool is_power_of_2(uint64_t number)
{
    return number && !(number & (number - 1));
}

bool between(uint64_t number, uint64_t least, uint64_t most)
{
    return number >= least && number <= most;
}

// Linux supports these numbers of nodes.
bool divides_l3(const Shape &shape)
{
    const bool known = between(shape.nodes, 1, 4) || shape.nodes == 6;
    return shape.nodes == 1 ||
           (known && shape.vendor == Vendor::kIntel && shape.cpus_per_l3 % shape.nodes == 0 &&
            rmids_of_node(shape) >= 2 && unit_of_node(shape) >= kLineBytes);
}

}  // namespace

uint32_t l3s_of(const Shape &shape)
{
    return (shape.cpus + shape.cpus_per_l3 - 1) / shape.cpus_per_l3;
}

uint32_t l3_of(const Shape &shape, uint32_t cpu)
{
    return cpu / shape.cpus_per_l3;
}

uint32_t sets_of(const Shape &shape)
{
    return static_cast<uint32_t>(shape.l3_bytes / kLineBytes / shape.ways);
}

uint32_t node_of(const Shape &shape, uint32_t cpu)
{
    return cpu % shape.cpus_per_l3 / (shape.cpus_per_l3 / shape.nodes);
}

uint32_t rmids_of_node(const Shape &shape)
{
    return shape.rmids / shape.nodes;
}

uint32_t unit_of_node(const Shape &shape)
{
    return shape.unit / shape.nodes;
}

bool take_option(Shape &shape, const char *option)
{
    if (const char *value = value_of(option, "vendor"))
        return take_vendor(shape, value);
    uint64_t number = 0;
    for (const Narrow &row : kNarrow) {
        const char *value = value_of(option, row.name);
        if (!value)
            continue;
        if (!parse(value, number) || number > UINT32_MAX)
            return false;
        shape.*row.member = static_cast<uint32_t>(number);
        return true;
    }
    for (const Wide &row : kWide)
        if (const char *value = value_of(option, row.name))
            return parse(value, shape.*row.member);
    return false;
}

const char *fault_of(const Shape &shape)
{
    if (!between(shape.cpus, 1, kMaxCpus))
        return "1 to 64 CPUs";
    if (shape.cpus_per_l3 == 0 || l3s_of(shape) > kMaxL3s)
        return "1 to 16 L3 caches (cpus-per-l3=)";
    if (!between(shape.ways, 1, kMaxWays))
        return "1 to 32 ways (ways=)";
    if (shape.l3_bytes % (kLineBytes * shape.ways) != 0 || !is_power_of_2(sets_of(shape)) ||
        shape.l3_bytes > 1ULL << 32)
        return "an L3 of up to 4 GiB whose number of sets is a power of 2 (l3=, ways=)";
    if (shape.l2_bytes && (shape.l2_bytes < kLineBytes || !is_power_of_2(shape.l2_bytes) ||
                           shape.l2_bytes > 1ULL << 30))
        return "an L2 of 0 or a power of 2 from 64 bytes to 1 GiB (l2=)";
    if (!between(shape.rmids, 2, kMaxRmids))
        return "2 to 1024 RMIDs (rmids=)";
    if (!between(shape.classes, 1, kMaxClasses))
        return "1 to 16 classes of service (classes=)";
    if (shape.unit < kLineBytes || shape.unit % kLineBytes != 0)
        return "a unit that is a multiple of 64 bytes (unit=)";
    if (!divides_l3(shape))
        return "1, 2, 3, 4 or 6 nodes, which divide the CPUs of an L3, of Intel (nodes=, "
               "cpus-per-l3=, vendor=), with 2 RMIDs and 64 bytes of a unit each (rmids=, unit=)";
    if (!between(shape.width, 24, 62))
        return "counters of 24 to 62 bits (width=)";
    if (shape.counters > kMaxCounters)
        return "up to 32 bandwidth counters (counters=)";
    if (shape.abmc > kMaxCounters || (shape.abmc && shape.vendor != Vendor::kAmd))
        return "up to 32 assignable counters, AMD only (abmc=, vendor=)";
    return nullptr;
}

}  // namespace pmukit::rdt
