// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Exit status of the program.
#pragma once

namespace pmukit::cli {

enum ExitStatus : int { kExitGood = 0, kExitFailed = 1, kExitUsage = 2, kExitEnvironment = 69 };

}  // namespace pmukit::cli
