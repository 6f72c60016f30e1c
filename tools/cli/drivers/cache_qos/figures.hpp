// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The two tables of values that report shows, as text and as figures: occupancy and bandwidth. A
// figure has one line per monitor and L3.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/figures.hpp"
#include "decode/cache_qos/cache_qos_series.hpp"

namespace pmukit::cli {

// Values of one event
struct CacheValues {
    const decode::cache_qos::SeriesTable &series;
    const std::map<uint16_t, decode::cache_qos::Header> &headers;  // newest header, by L3

    bool of_resctrl() const;
};

struct CacheTable {
    bool is_count;
    const char *title, *unit;
    const char *share, *share_of;  // what `share` is of: a sentence, and the word in JSON
};
constexpr CacheTable kCacheTables[] = {
    {false, "Cache occupancy", "bytes", "share: last reading, of the L3", "last"},
    {true, "Memory bandwidth", "bytes/s", "share: growth over all readings, of that of the machine",
     "sum"},
};
const CacheTable &table_of(const decode::cache_qos::Series &series);

// The error bound of an occupancy. nullopt: resctrl does not know it, or the series is a bandwidth.
std::optional<uint64_t> bound_of(const decode::cache_qos::Series &series, bool of_resctrl);
// What CacheTable::share describes. nullopt: there is no value, or the whole is unknown.
std::optional<double> share_of(const CacheValues &values, const decode::cache_qos::SeriesKey &key,
                               const decode::cache_qos::Series &series);
// True if at least one row of the table has a share.
bool has_shares(const CacheValues &values, const CacheTable &table);
std::string share_text(const std::optional<double> &share);

// `bytes` is the approximate limit for the size of the figures. Series beyond the limit are left
// out, and the last row of the table shows how many these are.
std::vector<html::Figure> cache_figures(const FigureHead &head, const CacheValues &values,
                                        size_t bytes);

}  // namespace pmukit::cli
