// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include <algorithm>

#include "export/writer.hpp"

namespace pmukit::exporter {
namespace {

constexpr Format kFormats[] = {
    {"csv", "RFC 4180: a directory with one file per table, or one file for one --driver", true,
     false, make_csv},
    {"jsonl", "JSON lines: one object per row, one file", true, false, make_jsonl},
    {"sqlite", "SQLite database", false, false, make_sqlite},
    {"ctf", "directory with a CTF trace, for babeltrace2 and Trace Compass", false, false,
     make_ctf},
    {"perfetto", "trace events as JSON, for ui.perfetto.dev", true, false, make_perfetto},
    {"parquet",
     "Parquet in directories host=/driver=/date=, for many recordings (if built with Arrow)", false,
     true, make_parquet},
    {"openmetrics", "totals, for the textfile collector of Prometheus", true, false,
     make_openmetrics},
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
