// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Ctrl-C half way leaves nothing behind: what was written so far would pass for a recording that
// can be recovered.
#pragma once

#include <string>

namespace pmukit::cli {

// The unfinished file of this output (perfdata::NewFile), or the folder of its name, is removed
// when SIGINT, SIGTERM or SIGHUP ends the program. One output a program.
void remove_when_killed(const std::string &output);

}  // namespace pmukit::cli
