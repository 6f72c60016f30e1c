// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Describes the data of a driver to a session. The caller that opens a recording passes the drivers
// to recognize; cli/drivers.hpp lists them.
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
    // Type of the AUX data of the driver in AUXTRACE_INFO, as numbered by stock perf. 0: the driver
    // has no AUX data.
    uint32_t auxtrace_type;
    // Recognizes AUX data of a PMU whose name the file has lost.
    bool (*looks_like)(Bytes data);
    // Extracts the words from the raw payload of a sample. nullopt: another driver's payload.
    std::optional<Bytes> (*words_of_raw)(Bytes raw);
    // True if samples without a raw payload are delivered too: they have the instruction pointer.
    bool bare_samples = false;
    // Returns the size in bytes of an entry in the driver's AUX data, for an attr.config; each AUX
    // record then begins with an entry. nullptr: the AUX data consists of records that carry their
    // own size.
    uint64_t (*entry_bytes)(uint64_t config) = nullptr;
    // Returns the layout of the AUX data (1 or more) for the second word of AUXTRACE_INFO, which is
    // 0 if AUXTRACE_INFO does not have it. nullptr: the driver has only one layout.
    uint64_t (*decoder_version)(uint64_t word) = nullptr;
    // Newest supported layout.
    uint64_t newest_decoder = 1;
    // Returns the second word of AUXTRACE_INFO for an event with this config. has_pattern: the
    // event's PMU has a format term "pattern".
    uint64_t (*auxtrace_word)(uint64_t config, bool has_pattern) = nullptr;
    // Name of the PMU capability which shows that the driver of the PMU marks losses; another
    // driver of the same device may lack it. Empty: no such capability.
    std::string_view loss_cap = {};
    // Inverse of decoder_version: returns the second word of AUXTRACE_INFO for a layout.
    uint64_t (*word_of_version)(uint64_t version) = nullptr;
    // Name in recordings of another source with the same data (cli/drivers.hpp, OtherSource).
    // Empty: there is none.
    std::string_view other_source = {};

    constexpr bool has_pmu(std::string_view pmu) const
    {
        return pmu.starts_with(pmu_prefix) ||
               (!other_source.empty() && pmu.starts_with(other_source));
    }
};

// The drivers live until the program exits.
using Drivers = std::span<const Driver *const>;

// nullptr: none of these drivers.
constexpr const Driver *driver_of_pmu(Drivers drivers, std::string_view pmu)
{
    for (const Driver *driver : drivers)
        if (driver->has_pmu(pmu))
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
