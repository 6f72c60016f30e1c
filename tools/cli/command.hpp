// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// A subcommand as main() knows it: words that it takes, and what it does. A new one has files of
// its own with an add_<name>(), declared in commands.hpp, and one line in main.cpp's table.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "console/output.hpp"

namespace CLI {
class App;
}

namespace pmukit::cli {

// One run of the program.
struct Invocation {
    const std::vector<std::string> &words;  // all of them, the program's name first
    Output &out;
};

// What a command has for standard output.
enum class Shows {
    kLines,  // a few, or nothing
    kText,   // tables and the like: through a pager on a terminal
};

struct Command {
    CLI::App *words;
    std::function<Result<int>(const Invocation &)> run;  // keeps the options that words fill
    Shows shows = Shows::kLines;
};

using AddCommand = Command (*)(CLI::App &app);

}  // namespace pmukit::cli
