// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Leaves of CPUID. Intel SDM volume 3B, chapter 19 "Intel Resource Director Technology"; AMD APM
// volume 2, "Platform Quality of Service".
#pragma once

#include <cstdint>

#include "rdt/shape.hpp"

namespace pmukit::rdt {

struct Leaf {
    uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;

    bool operator==(const Leaf &) const = default;
};

// Returns true if RDT may change the leaf.
bool changes_leaf(const Shape &shape, uint32_t leaf);

// `found`: the registers that CPUID returned without the plugin.
Leaf leaf_of(const Shape &shape, uint32_t leaf, uint32_t subleaf, const Leaf &found);

}  // namespace pmukit::rdt
