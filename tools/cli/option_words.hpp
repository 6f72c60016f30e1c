// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Words as perf takes them, where a command of ours runs a program: options end at the first word
// that is none, what stands behind it is the program's. Letters stand together (-ag), have their
// value in the same word or the next (-m64, -m 64), and names may be shortened (--out FILE).
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace pmukit::cli {

// All words of the program, its name first. Of a command that takes another as its `command`:
// options in full, each with its value in one word, and -- before the program; of any other they
// are as they were. Error: an option of perf that is not ours (perf_options.hpp).
Result<std::vector<std::string>> arranged(const std::vector<std::string> &words,
                                          const CLI::App &app);

}  // namespace pmukit::cli
