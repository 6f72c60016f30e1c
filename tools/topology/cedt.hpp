// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The windows and XOR maps of the CXL Early Discovery Table (ACPI). Linux shows neither the
// arithmetic of a window nor the maps anywhere else. Follows "CXL Early Discovery Table" of the CXL
// specification.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/result.hpp"

namespace pmukit::topology {

enum class Arithmetic { kModulo, kXor, kUnknown };

// CFMWS: a window of host physical addresses that a root decoder decodes.
struct FixedWindow {
    uint64_t start = 0, bytes = 0;
    unsigned ways = 1;
    uint64_t granularity = 0;  // bytes
    Arithmetic arithmetic = Arithmetic::kModulo;
};

// CXIMS: the maps of all XOR windows of this granularity.
struct XorMaps {
    uint64_t granularity = 0;
    std::vector<uint64_t> maps;
};

struct Cedt {
    std::vector<FixedWindow> windows;
    std::vector<XorMaps> xor_maps;
    // One line for each CFMWS or CXIMS that is invalid and left out, as Linux leaves it out, for
    // the rest behind a structure whose end is not in the table, and for a wrong checksum.
    std::vector<std::string> skipped;
};

// Refused as a whole only for its header.
Result<Cedt> parse_cedt(Bytes table);

// From DIR/CEDT, else DIR/firmware/acpi/tables/CEDT; nullopt when there is neither. Of a table that
// cannot be read nothing is known but why: it stands in `skipped`.
std::optional<Cedt> read_cedt(const std::string &dir);

}  // namespace pmukit::topology
