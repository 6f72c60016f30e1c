// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "tierd/memory_policies.hpp"

#include <algorithm>
#include <climits>

#include "base/number.hpp"

namespace pmukit::tierd {
namespace {

constexpr int kMostNode = 65535;

// True for policies without nodes (mpol_to_str() of Linux).
bool names_no_nodes(std::string_view policy)
{
    return policy.starts_with("default") || policy.starts_with("local");
}

}  // namespace

// A line: START POLICY[=FLAGS][:NODES] [file=NAME] [anon=PAGES] ... POLICY may contain blanks.
MemoryPolicies::Mapping MemoryPolicies::parse(std::string_view line)
{
    const size_t blank = line.find(' ');
    const Result<uint64_t> start = parse_u64("0x" + std::string(line.substr(0, blank)));
    Mapping mapping{.start = start ? *start : 0, .limited = true};
    if (!start || blank == line.npos)
        return mapping;
    const std::string_view policy = line.substr(blank + 1);
    mapping.limited = !names_no_nodes(policy);
    const size_t colon = policy.find(':');
    if (!mapping.limited || colon == policy.npos)
        return mapping;
    std::string_view nodes = policy.substr(colon + 1);
    nodes = nodes.substr(0, nodes.find(' '));
    if (const Result<std::vector<int>> parsed = parse_list(nodes, kMostNode); parsed)
        mapping.nodes = *parsed;
    return mapping;
}

MemoryPolicies::MemoryPolicies(std::string_view numa_maps)
{
    for (const std::string_view line : split(numa_maps, '\n'))
        if (!line.empty())
            mappings_.push_back(parse(line));
    std::ranges::stable_sort(mappings_, {}, &Mapping::start);
}

bool MemoryPolicies::allows(uint64_t address, uint32_t node) const
{
    const auto after = std::ranges::upper_bound(mappings_, address, {}, &Mapping::start);
    if (after == mappings_.begin())  // a mapping that is newer than numa_maps
        return false;
    const Mapping &mapping = *std::prev(after);
    return !mapping.limited || std::ranges::binary_search(mapping.nodes, static_cast<int>(node));
}

}  // namespace pmukit::tierd
