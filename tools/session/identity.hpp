// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Tells recordings apart, and their times from those of other machines: for outputs in which rows
// of many recordings are together.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "perfdata/features.hpp"
#include "session/recording.hpp"

namespace pmukit::cli {

// Returns 16 hexadecimal digits that depend only on the bytes of the file (in a perf.data
// directory: of its files), so that a copy has the same id. It is a hash of the size, of the first
// and the last 64 KiB, and of 512 bytes of each 64 KiB between them (above 1 GiB: of 16384 blocks).
// nullopt: the input can be read only once, or not at all.
std::optional<std::string> recording_id(const Recording &recording);

// Returns the boot ids (perfdata::kBootCap) by the name of the PMU. After Recording::read_front().
// An id is empty if recordings of several boots were merged.
std::map<std::string, std::string, std::less<>> boot_ids(const Recording &recording);

// Returns the relation between the clock of this event and the wall clock (CLOCK_DATA). nullopt:
// the file does not have it, or the records of the event's driver use another clock.
std::optional<perfdata::ClockData> clock_data(const Recording &recording, size_t event);
// As above, for a recording as a whole.
std::optional<perfdata::ClockData> clock_data(const Recording &recording);
// Converts a time to nanoseconds since 1970 (UTC). nullopt: the result is not in the range of 64
// bits.
std::optional<uint64_t> wall_time(const perfdata::ClockData &clock, uint64_t time_ns);

}  // namespace pmukit::cli
