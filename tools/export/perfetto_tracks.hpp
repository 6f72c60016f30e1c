// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// What the two formats for ui.perfetto.dev share. Each PMU of a host is a process, each of its CPUs
// is a thread, and each row is an instant. The time of a row with a column of ticks (an entry of
// hisi_ptt) is the time of the first row of its track plus one nanosecond per tick.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "export/schema.hpp"

namespace pmukit::exporter {

constexpr size_t kNoColumn = SIZE_MAX;

// Columns of a table with a special meaning in a trace; kNoColumn: the table has no such column.
struct TraceColumns {
    explicit TraceColumns(const Table &table);

    size_t name;  // names an instant
    // Drawn as a curve. A point of the curve is the sum over one call of rows(); rows without a
    // value have no point.
    size_t sum;
    size_t ticks;  // a time in ticks, which is finer than time_ns
};

struct Track {
    uint64_t process, thread;  // numbers of the trace; thread 0: rows without a CPU
    // time_ns and ticks of the first row.
    std::optional<std::pair<uint64_t, uint64_t>> anchor = {};
};

// Numbers of processes and threads, from 1.
class Tracks {
public:
    struct Found {
        Track &track;
        // Names of a process or thread that had no track before; empty: it had one.
        std::string process_name, thread_name;
    };
    // origin: the first columns of a row.
    Found find(Values origin);

private:
    // Key: host and PMU.
    std::map<std::pair<std::string, std::string>, uint64_t> processes_;
    std::map<std::pair<uint64_t, uint64_t>, Track> tracks_;
};

// Time of a row in nanoseconds.
uint64_t time_of(Track &track, Values row, const TraceColumns &columns);

}  // namespace pmukit::exporter
