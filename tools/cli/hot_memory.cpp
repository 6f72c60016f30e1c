// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/hot_memory.hpp"

namespace pmukit::cli {

void HotMemory::add(const Placer &placer, const std::string &pmu, uint64_t dpa, uint64_t unit_bytes,
                    double heat)
{
    const Placement at = placer.place(pmu, dpa, unit_bytes);
    if (at.hpa) {
        ranges.push_back({at.hpa->start, at.hpa->bytes, heat});
        // With an extended linear cache, the data may belong to either of two host pages.
        if (at.hpa->alias)
            ranges.push_back({*at.hpa->alias, at.hpa->bytes, heat});
    } else if (units_without_place++ == 0)
        first_reason = placer.why_not(pmu, dpa, unit_bytes).value_or("");
    if (at.node)
        nodes[*at.node] += heat;
}

}  // namespace pmukit::cli
