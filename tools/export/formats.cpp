// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include <algorithm>

#include "base/bytes.hpp"
#include "base/file.hpp"
#include "base/number.hpp"
#include "export/writer.hpp"

namespace pmukit::exporter {
namespace {

bool is_column(std::string_view name)
{
    return std::ranges::any_of(tables(), [name](const Table &table) {
        return std::ranges::find(table.columns, name, &Column::name) != table.columns.end();
    });
}

// The first line of each file has the names of the columns.
bool is_csv(std::string_view front)
{
    const size_t end = front.find("\r\n");
    return end != front.npos && std::ranges::all_of(split(front.substr(0, end), ','), is_column);
}

bool is_jsonl(std::string_view front)
{
    return front.starts_with("{\"table\":\"");
}

bool is_sqlite(std::string_view front)
{
    constexpr size_t kApplication = 68;
    return front.starts_with("SQLite format 3") && front.size() >= kApplication + 4 &&
           load<uint32_t>(as_bytes(front).data() + kApplication, std::endian::big) ==
               kSqliteApplication;
}

bool is_perfetto(std::string_view front)
{
    return front.starts_with("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
}

bool is_openmetrics(std::string_view front)
{
    return front.starts_with("# HELP pmukit_") || front.starts_with("# EOF");
}

constexpr Format kFormats[] = {
    {"csv", "RFC 4180: a directory with one file per table, or one file for one --driver", true,
     false, make_csv, is_csv},
    {"jsonl", "JSON lines: one object per row, one file", true, false, make_jsonl, is_jsonl},
    {"sqlite", "SQLite database", false, false, make_sqlite, is_sqlite},
    {"ctf", "directory with a CTF trace, for babeltrace2 and Trace Compass", false, false, make_ctf,
     nullptr},
    {"perfetto", "trace events as JSON, for ui.perfetto.dev", true, false, make_perfetto,
     is_perfetto},
    {"perfetto-trace", "trace of Perfetto, for ui.perfetto.dev and trace_processor", true, false,
     make_perfetto_trace, is_perfetto_trace},
    {"parquet",
     "Parquet in directories host=/driver=/date=, for many recordings (if built with Arrow)", false,
     true, make_parquet, nullptr},
    {"openmetrics", "totals, for the textfile collector of Prometheus", true, false,
     make_openmetrics, is_openmetrics},
};

}  // namespace

std::span<const Format> formats()
{
    return kFormats;
}

const Format *find_format(std::string_view name)
{
    const auto found = std::ranges::find(kFormats, name, &Format::name);
    return found == std::end(kFormats) ? nullptr : found;
}

}  // namespace pmukit::exporter
