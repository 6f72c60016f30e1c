// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Parses the command line like perf, for commands that run a program: options end at the first word
// that is not an option; this word and all words after it are the program and its arguments. Short
// options may be combined (-ag) and have a value in the same word or the next (-m64, -m 64). Long
// options may be abbreviated (--out FILE).
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace pmukit::cli {

// Returns the command line of pmukit for CLI11, "pmukit" first. For a command that runs a program
// (it has an argument `command`), options are written in full, each long option with its value in
// one word, and -- precedes the program. The words of other commands are unchanged. Error: an
// option of perf that pmukit does not have (perf_options.hpp).
Result<std::vector<std::string>> arranged(const std::vector<std::string> &words,
                                          const CLI::App &app);

}  // namespace pmukit::cli
