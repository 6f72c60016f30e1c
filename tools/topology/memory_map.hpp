// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Which NUMA node, and which memory tier, has a host physical address: from the memory blocks of
// sysfs. Memory that is not online as system memory has no block, and so no node: that is an
// answer, not an error.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/result.hpp"

namespace pmukit::topology {

class MemoryMap {
public:
    // DIR/devices/system/memory and DIR/devices/virtual/memory_tiering; each may be missing.
    static Result<MemoryMap> read(const std::string &dir);

    // The one node that has the whole range; nullopt: several, or some of it is unknown.
    std::optional<uint32_t> node_of(uint64_t hpa, uint64_t bytes) const;
    std::optional<uint32_t> tier_of(uint32_t node) const;

private:
    Result<void> read_blocks(const std::string &dir);
    Result<void> read_tiers(const std::string &dir);

    uint64_t block_bytes_ = 0;                 // 0: no blocks known
    std::map<uint64_t, uint32_t> block_node_;  // by number of the block
    std::map<uint32_t, uint32_t> node_tier_;
};

}  // namespace pmukit::topology
