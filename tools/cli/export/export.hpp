// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// pmukit export: its words, and what they do.
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
    std::string headers;              // as of DumpOptions
    std::string driver;               // a table's name; empty: all
    std::vector<std::string> events;  // as choose_events() has them
    // folded: where the programs of the recording are, and the kernel's symbols; empty: /, none
    std::string symfs, kallsyms;
    std::optional<std::string> source;  // "model": the device was emulated, the file cannot know
};

// Stacks are no rows: a format of this component.
constexpr const char *kFoldedFormat = "folded";

Result<int> run_export(const ExportOptions &options, Output &out);

}  // namespace pmukit::cli
