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
    std::string output;  // -: standard output
    std::string format;
    std::string headers;              // see DumpOptions
    std::string driver;               // name of a table; empty: all
    std::vector<std::string> events;  // see choose_events()
    // folded: root folder of the recorded programs, and the kernel's symbols; empty: /, none
    std::string symfs, kallsyms;
    std::optional<std::string> source;  // "model": emulated device; the file cannot show it
};

// Stacks are not rows: tools/export does not have this format.
constexpr const char *kFoldedFormat = "folded";

Result<int> run_export(const ExportOptions &options, Output &out);

}  // namespace pmukit::cli
