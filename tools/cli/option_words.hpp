// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Words of a command that runs another program: its own options end at the first word that is no
// option, as perf's do. In `record -e EVENT sort -o out in` the -o is sort's.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace pmukit::cli {

// Pure: the index of the first of words that is neither an option of command nor the value of one;
// words.size() if there is none. "--" and "-" are no options.
size_t first_word(const std::vector<std::string> &words, const CLI::App &command);

// Pure: words, the program's name first, with "--" before the program that a subcommand with a
// positional argument named "command" runs, unless one is there or the argument is "-".
std::vector<std::string> with_marked_command(const std::vector<std::string> &words,
                                             const CLI::App &app);

}  // namespace pmukit::cli
