// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// What a session has to know of a driver: how its data differs from that of others. The caller that
// opens a recording passes the drivers whose data is looked for; cli/drivers.hpp has them.
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
    // Its AUX data is entries of so many bytes, by the config of the event, and each AUX record
    // begins with one. nullptr: records say themselves where they end.
    uint64_t (*entry_bytes)(uint64_t config) = nullptr;
    // The layout of its AUX data by the second word of AUXTRACE_INFO (0: no word), from 1 on, and
    // the newest that is read; that word for an event, by its config and by whether its PMU has a
    // term "pattern". nullptr: there is one layout.
    uint64_t (*decoder_version)(uint64_t word) = nullptr;
    uint64_t newest_decoder = 1;
    uint64_t (*auxtrace_word)(uint64_t config, bool has_pattern) = nullptr;
    // A capability that its PMUs have if their driver marks what it loses; another driver with the
    // same PMUs does not. Empty: there is none.
    std::string_view loss_cap = {};
    // The word that says a layout.
    uint64_t (*word_of_version)(uint64_t version) = nullptr;
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
