// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Memory policies of the mappings of a process, from /proc/PID/numa_maps (proc(5), numa(7)).
// move_pages(2) ignores them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace pmukit::tierd {

class MemoryPolicies {
public:
    // A line that cannot be parsed forbids all nodes for its mapping.
    explicit MemoryPolicies(std::string_view numa_maps);

    // True if the policy of the mapping of an address names no nodes, or names this one.
    bool allows(uint64_t address, uint32_t node) const;

private:
    struct Mapping {
        uint64_t start = 0;
        bool limited = false;
        std::vector<int> nodes{};  // if limited: ascending
    };
    static Mapping parse(std::string_view line);

    std::vector<Mapping> mappings_;  // ascending
};

}  // namespace pmukit::tierd
