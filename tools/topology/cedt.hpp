// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Parses the windows and XOR maps of the CXL Early Discovery Table (ACPI). The interleave
// arithmetic of a window and the XOR maps are only in this table: Linux does not show them in
// sysfs. Source: "CXL Early Discovery Table" of the CXL specification.
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

// CXIMS: the XOR maps that apply to all XOR windows of this granularity.
struct XorMaps {
    uint64_t granularity = 0;
    std::vector<uint64_t> maps;
};

struct Cedt {
    std::vector<FixedWindow> windows;
    std::vector<XorMaps> xor_maps;
    // One line for each part of the table that is not used: an invalid CFMWS or CXIMS (which Linux
    // omits, too), and everything from a structure that exceeds the table. Also a line for a wrong
    // checksum.
    std::vector<std::string> skipped;
};

// Returns an Error if the header is invalid. Invalid structures are only reported in `skipped`.
Result<Cedt> parse_cedt(Bytes table);

// Reads DIR/CEDT or, if that does not exist, DIR/firmware/acpi/tables/CEDT; nullopt if neither
// exists. If the table cannot be read, the result contains only the reason, as a line of `skipped`.
std::optional<Cedt> read_cedt(const std::string &dir);

}  // namespace pmukit::topology
