// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// What the emulated processor has: everything in tools/rdt is made to this measure.
//
// The sources of this folder that the plugin is made of use the C library alone: see plugin.cpp.
#pragma once

#include <cstdint>

namespace pmukit::rdt {

inline constexpr uint32_t kMaxCpus = 64, kMaxL3s = 16, kMaxRmids = 1024, kMaxClasses = 16,
                          kMaxWays = 32, kMaxCounters = 32;
inline constexpr uint64_t kLineBytes = 64;

enum class Vendor { kIntel, kAmd };

struct Shape {
    Vendor vendor = Vendor::kIntel;
    uint32_t cpus = 1;
    uint32_t cpus_per_l3 = kMaxCpus;
    uint64_t l3_bytes = 16 << 20;
    uint32_t ways = 16;
    // Of the cache in front of the L3 that each CPU has; 0: none.
    uint64_t l2_bytes = 1 << 20;
    uint32_t rmids = 64;
    uint32_t classes = 8;
    // Bytes of a unit of QM_CTR, and bits of the counters of bandwidth.
    uint32_t unit = 65536;
    uint32_t width = 32;
    // Counters of bandwidth of an L3, where they are fewer than RMIDs (AMD); 0: each has one.
    uint32_t counters = 0;
    // Counters of bandwidth of an L3 that software can bind to RMIDs (AMD's ABMC); 0: none.
    uint32_t abmc = 0;
    // Units that the counters of bandwidth have when the machine starts: to be near a wrap.
    uint64_t start = 0;
    // Memory of a node: that of L3 n begins at n times as much, the last one has what is above.
    // 0: all memory is local.
    uint64_t node_bytes = 0;
    // Each n-th read of QM_CTR in an L3 has the bit; 0: none.
    uint32_t unavailable = 0;
    uint32_t error = 0;
};

uint32_t l3s_of(const Shape &shape);
uint32_t l3_of(const Shape &shape, uint32_t cpu);
uint32_t sets_of(const Shape &shape);

// Takes "name=value"; false: no such name, or no such value.
bool take_option(Shape &shape, const char *option);

// Why there is no such processor; nullptr: there is.
const char *fault_of(const Shape &shape);

}  // namespace pmukit::rdt
