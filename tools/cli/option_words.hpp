// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Parses words like perf, for commands that run a program: options end at the first word that is
// not an option, and the words after it are the program's. Short options may be combined (-ag),
// take a value in the same word or the next (-m64, -m 64), and long options may be abbreviated
// (--out FILE).
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace pmukit::cli {

// Returns all words of the program, its name first. For a command that runs another program (its
// `command` argument), options are written in full, each with its value in one word, and --
// precedes the program. Words of other commands are unchanged. Error: an option of perf that pmukit
// does not have (perf_options.hpp).
Result<std::vector<std::string>> arranged(const std::vector<std::string> &words,
                                          const CLI::App &app);

}  // namespace pmukit::cli
