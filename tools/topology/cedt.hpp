// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Parses the windows and XOR maps of the CXL Early Discovery Table (ACPI). Linux shows the
// arithmetic of a window and the maps nowhere else. Source: "CXL Early Discovery Table" of the CXL
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
    // One line for each part that is not used: an invalid CFMWS or CXIMS (Linux omits it, too), and
    // the rest of a table from a structure that exceeds the table. A line for a wrong checksum.
    std::vector<std::string> skipped;
};

// Error: the header is invalid. Invalid structures are only skipped.
Result<Cedt> parse_cedt(Bytes table);

// Reads DIR/CEDT, else DIR/firmware/acpi/tables/CEDT; nullopt if neither exists. If the table
// cannot be read, the result has only the reason, in `skipped`.
std::optional<Cedt> read_cedt(const std::string &dir);

}  // namespace pmukit::topology
