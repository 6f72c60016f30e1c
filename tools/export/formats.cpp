// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include <algorithm>

#include "export/writer.hpp"

namespace pmukit::exporter {
namespace {

constexpr Format kFormats[] = {
    {"csv", "RFC 4180: a folder with a file for each table, or one file of one --unit", true,
     make_csv},
    {"jsonl", "JSON lines: an object a row, in one file", true, make_jsonl},
    {"sqlite", "a database of SQLite", false, make_sqlite},
    {"ctf", "a folder with a CTF trace, for babeltrace2 and Trace Compass", false, make_ctf},
    {"perfetto", "trace events as JSON, for ui.perfetto.dev", true, make_perfetto},
    {"openmetrics", "sums, for Prometheus' textfile collector", true, make_openmetrics},
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
