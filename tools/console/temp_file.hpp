// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Ctrl-C half way leaves nothing behind: what was written so far would pass for a recording that
// can be recovered.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"

namespace pmukit::cli {

// The unfinished file of this output (perfdata::NewFile), or the folder of its name, is removed
// when SIGINT, SIGTERM or SIGHUP ends the program. One output a program.
void remove_when_killed(const std::string &output);

// The first thing a command does that writes an output. Error, usage: it is one of the inputs, by
// whatever name or link, and would be replaced. Empty, "-": there is no file.
Result<void> begin_output(const std::string &output, const std::vector<std::string> &inputs);

// For signal handlers: the file or folder goes at once, if remove_when_killed() named one.
void remove_temp_file();

// The last thing a command does: what it had to say is said, so that no want of memory comes
// between a name and a status. file: complete, of perfdata (Writer, NewFile). The status, unless
// the name cannot be given.
template <typename File>
Result<int> named_last(File &file, int status)
{
    if (Result<void> named = file.finish(); !named)
        return named.error();
    return status;
}

}  // namespace pmukit::cli
