// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// What a session has to know of a driver: how its data is told from that of others. Whoever opens
// a recording hands in the drivers whose data is looked for; cli/drivers.hpp has them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/bytes.hpp"

namespace pmukit::cli {

struct Driver {
    std::string_view name;
    std::string_view pmu_prefix;
    // The number that stock perf has for its AUX data, in AUXTRACE_INFO. 0: none.
    uint32_t auxtrace_type;
    // AUX data of a PMU whose name the file has lost.
    bool (*looks_like)(Bytes data);
    // The words in the raw payload of a sample. nullopt: it is another driver's.
    std::optional<Bytes> (*words_of_raw)(Bytes raw);
    // Its samples say something without a payload, too: where the program was.
    bool bare_samples = false;
    // The newest layout of its AUX data that is read, and the one that is written: the decoder
    // version in AUXTRACE_INFO. 0: its AUX data has none.
    uint64_t newest_decoder = 0;
};

// Live as long as the program.
using Drivers = std::span<const Driver *const>;

// nullptr: no driver of these.
constexpr const Driver *driver_of_pmu(Drivers drivers, std::string_view pmu)
{
    for (const Driver *driver : drivers)
        if (pmu.starts_with(driver->pmu_prefix))
            return driver;
    return nullptr;
}

constexpr const Driver *driver_of_auxtrace_type(Drivers drivers, uint32_t type)
{
    for (const Driver *driver : drivers)
        if (type != 0 && driver->auxtrace_type == type)
            return driver;
    return nullptr;
}

}  // namespace pmukit::cli
