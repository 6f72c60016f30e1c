// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Finds the NUMA node and the memory tier of a host physical address, from the memory blocks in
// sysfs. Memory that is not online as system memory has no block. It therefore has no node, which
// is not an error.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/result.hpp"

namespace pmukit::topology {

class MemoryMap {
public:
    // Reads DIR/devices/system/memory and DIR/devices/virtual/memory_tiering. Each may be missing.
    static Result<MemoryMap> read(const std::string &dir);

    // Returns the only node whose memory is in the range; nullopt if there are several, or if the
    // node of a part is unknown.
    std::optional<uint32_t> node_of(uint64_t hpa, uint64_t bytes) const;
    std::optional<uint32_t> tier_of(uint32_t node) const;

private:
    Result<void> read_blocks(const std::string &dir);
    Result<void> read_tiers(const std::string &dir);

    uint64_t block_bytes_ = 0;                 // 0: the blocks are unknown
    std::map<uint64_t, uint32_t> block_node_;  // key: block number
    std::map<uint32_t, uint32_t> node_tier_;
};

}  // namespace pmukit::topology
