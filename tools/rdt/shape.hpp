// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Properties of the emulated processor, used by all of tools/rdt.
//
// The sources that make up the plugin use the C library only: see plugin.cpp.
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
    // NUMA nodes that divide the CPUs and RMIDs of an L3 evenly (Intel's sub-NUMA clustering).
    uint32_t nodes = 1;
    uint64_t l3_bytes = 16 << 20;
    uint32_t ways = 16;
    // Size of each CPU's cache in front of the L3; 0: none.
    uint64_t l2_bytes = 1 << 20;
    uint32_t rmids = 64;
    uint32_t classes = 8;
    // Bytes per unit of QM_CTR, and width of the bandwidth counters in bits.
    uint32_t unit = 65536;
    uint32_t width = 32;
    // Bandwidth counters of an L3, if there are fewer than RMIDs (AMD); 0: one per RMID.
    uint32_t counters = 0;
    // Bandwidth counters of an L3 that software assigns to RMIDs (AMD's ABMC); 0: none.
    uint32_t abmc = 0;
    // Initial value of the bandwidth counters, to start near a wrap.
    uint64_t start = 0;
    // Memory per node. The node of L3 n begins at n * node_bytes; the last node owns all higher
    // addresses. 0: all memory is local.
    uint64_t node_bytes = 0;
    // Every n-th read of QM_CTR in an L3 sets the Unavailable or the Error bit; 0: never.
    uint32_t unavailable = 0;
    uint32_t error = 0;
};

uint32_t l3s_of(const Shape &shape);
uint32_t l3_of(const Shape &shape, uint32_t cpu);
uint32_t sets_of(const Shape &shape);
// Index of the CPU's node among the nodes of its L3
uint32_t node_of(const Shape &shape, uint32_t cpu);
// RMIDs of a node, and bytes per unit of QM_CTR: those of CPUID, divided by the number of nodes and
// rounded down.
uint32_t rmids_of_node(const Shape &shape);
uint32_t unit_of_node(const Shape &shape);

// Applies "name=value". Returns false for an unknown name or a malformed value.
bool take_option(Shape &shape, const char *option);

// Returns the limit that the shape violates, nullptr if it is valid.
const char *fault_of(const Shape &shape);

}  // namespace pmukit::rdt
