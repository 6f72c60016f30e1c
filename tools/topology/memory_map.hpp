// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Finds the NUMA node and the memory tier of a host physical address, from the memory blocks in
// sysfs. Memory that is not online as system memory has no block, and so no node, which is not an
// error.
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

    // The only node with memory of the range; nullopt: several nodes, or a part is unknown.
    std::optional<uint32_t> node_of(uint64_t hpa, uint64_t bytes) const;
    std::optional<uint32_t> tier_of(uint32_t node) const;

private:
    Result<void> read_blocks(const std::string &dir);
    Result<void> read_tiers(const std::string &dir);

    uint64_t block_bytes_ = 0;                 // 0: no blocks known
    std::map<uint64_t, uint32_t> block_node_;  // by block number
    std::map<uint32_t, uint32_t> node_tier_;
};

}  // namespace pmukit::topology
