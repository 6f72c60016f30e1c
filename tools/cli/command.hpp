// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// A subcommand as main() sees it: its options, and the function that runs it. A new subcommand has
// its own files with an add_<name>(), declared in commands.hpp, and one line in main.cpp's table.
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

// What main() passes to the function of a subcommand.
struct Invocation {
    const std::vector<std::string> &words;  // all command-line arguments, the program name first
    Output &out;
};

// How much a command prints on standard output.
enum class Shows {
    kLines,  // a few lines, or nothing
    kText,   // long text such as tables; a pager shows it if standard output is a terminal
};

struct Command {
    CLI::App *words;
    // Runs the subcommand. The function object owns the options that the parser `words` fills.
    std::function<Result<int>(const Invocation &)> run;
    Shows shows = Shows::kLines;
};

using AddCommand = Command (*)(CLI::App &app);

}  // namespace pmukit::cli
