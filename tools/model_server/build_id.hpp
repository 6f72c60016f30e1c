// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Which build of the program runs: a test can tell that it talks to the one it has just made.
#pragma once

#include <string>

namespace pmukit::cli {

// The GNU build id that the linker put into this program, in hex; "unknown" without one.
std::string build_id();

}  // namespace pmukit::cli
