// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// pmukit export: its options and its entry point.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "cli/commands.hpp"

namespace pmukit::cli {

struct ExportOptions {
    std::string input = "perf.data";
    std::string output;  // "-": standard output
    std::string format;
    std::string headers;              // see DumpOptions
    std::string driver;               // name of a table; empty: all
    std::vector<std::string> events;  // see choose_events()
    // For symbols: root folder of the recorded programs (empty: /), and file of kernel symbols
    // (empty: none).
    std::string symfs, kallsyms;
    std::optional<std::string> source;  // "model": marks the output as emulated; empty: as recorded
    bool force = false;                 // see begin_output()
};

constexpr const char *kFoldedFormat = "folded";

Result<int> run_export(const ExportOptions &options, Output &out);

}  // namespace pmukit::cli
