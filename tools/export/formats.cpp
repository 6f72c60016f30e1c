// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include <algorithm>

#include "export/writer.hpp"

namespace pmukit::exporter {
namespace {

constexpr Format kFormats[] = {
    {"csv", "RFC 4180: a folder with a file for each table, or one file of one --driver", true,
     false, make_csv},
    {"jsonl", "JSON lines: an object a row, in one file", true, false, make_jsonl},
    {"sqlite", "a database of SQLite", false, false, make_sqlite},
    {"ctf", "a folder with a CTF trace, for babeltrace2 and Trace Compass", false, false, make_ctf},
    {"perfetto", "trace events as JSON, for ui.perfetto.dev", true, false, make_perfetto},
    {"parquet", "Parquet in folders host=/driver=/date=, for many recordings (where Arrow is)",
     false, true, make_parquet},
    {"openmetrics", "sums, for Prometheus' textfile collector", true, false, make_openmetrics},
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
