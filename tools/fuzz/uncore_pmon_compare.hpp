// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Compares how the driver and `pmukit discover` read a discovery table: both must accept the same
// units with the same properties, and must refuse the other units for the same reason. A fuzz
// target and a test use this header.
#pragma once

extern "C" {
#include "uncore_pmon/uncore_pmon_core.h"
}

#include <algorithm>
#include <string>
#include <vector>

#include "decode/uncore_pmon/uncore_pmon_decode.hpp"

namespace pmukit::fuzz {

namespace uncore = decode::uncore_pmon;

inline bool same_unit(const uncore_pmon_unit &kernel, const uncore::Unit &ours)
{
    bool same = kernel.box_control == ours.box_control && kernel.type == ours.type &&
                kernel.id == ours.id && kernel.access == static_cast<u8>(ours.access) &&
                kernel.counters == ours.counters && kernel.width_bits == ours.width_bits;
    for (u32 i = 0; i < ours.counters; i++)
        same = same &&
               kernel.box_control + uncore_pmon_control_offset(&kernel, i) ==
                   uncore::control_address(ours, i) &&
               kernel.box_control + uncore_pmon_counter_offset(&kernel, i) ==
                   uncore::counter_address(ours, i);
    const uncore_pmon_type *type = uncore_pmon_type_find(kernel.type);
    return same && uncore::name_of_type(ours.type) == (type ? type->name : "");
}

// Returns a text about the first difference, or an empty string if there is none.
inline std::string compare_entries(const std::vector<uncore_pmon_entry> &kernel,
                                   const uncore::Table &ours)
{
    size_t units = 0, refused = 0;
    for (size_t i = 0; i < kernel.size(); i++) {
        const std::string entry = "entry " + std::to_string(i + 1);
        if (!kernel[i].used)
            continue;
        if (kernel[i].wrong) {
            if (refused == ours.refused.size() || ours.refused[refused].entry != i + 1 ||
                ours.refused[refused].why != kernel[i].wrong)
                return entry + ": the driver refuses: " + kernel[i].wrong;
            refused++;
            continue;
        }
        if (units == ours.units.size() || ours.units[units].entry != i + 1 ||
            !same_unit(kernel[i].unit, ours.units[units]))
            return entry + ": the driver sees another unit";
        units++;
    }
    const bool all = units == ours.units.size() && refused == ours.refused.size();
    return all ? "" : "pmukit discover accepts more entries";
}

// Compares both readers on a table at the start of a BAR. `bytes` is the start of the BAR, whose
// length is bar_bytes.
inline std::string compare_table(Bytes bytes, uint64_t bar_bytes)
{
    const Result<uncore::Global> ours = uncore::parse_global(bytes, bar_bytes);
    if (bytes.size() < uncore::kGlobalBytes || bar_bytes < uncore::kGlobalBytes)
        return ours ? "pmukit discover reads a table from too few bytes" : "";

    std::vector<u64> words(bytes.size() / sizeof(u64));
    for (size_t i = 0; i < words.size(); i++)
        words[i] = load_le<uint64_t>(bytes.data() + i * sizeof(u64));
    uncore_pmon_global global;
    const char *wrong = uncore_pmon_global_decode(words.data(), bar_bytes, &global);
    if (!wrong != bool(ours))
        return "only one of them accepts the global entry";
    if (wrong || words.size() * sizeof(u64) < uncore_pmon_table_bytes(&global))
        return "";

    std::vector<uncore_pmon_entry> entries(global.max_units);
    uncore_pmon_table_decode(words.data(), &global, entries.data());
    const Result<uncore::Table> table = uncore::parse_table(bytes, bar_bytes);
    return table ? compare_entries(entries, *table) : table.error().message;
}

}  // namespace pmukit::fuzz
