// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Identifies the running build, so that a test can check that it runs the program just built.
#pragma once

#include <string>

namespace pmukit::cli {

// Returns the GNU build ID of this program in hex, or "unknown" if it has none.
std::string build_id();

}  // namespace pmukit::cli
