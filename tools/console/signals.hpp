// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Signals that end the current operation, but not the program, which still has to complete files.
#pragma once

#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace pmukit::cli {

// True if the disposition of the signal is SIG_IGN: nohup(1) and shells start programs in the
// background with some signals ignored on purpose.
bool is_ignored(int signal);

// Returns the signals whose default action ends a program (signal(7)), except those that the
// program itself causes: faults, SIGABRT, and SIGPIPE and SIGXFSZ, which main() ignores.
std::vector<int> ending_signals();

// Returns a signalfd(2) for these signals, and blocks them. Except for SIGINT and SIGTERM, leaves
// out signals that are ignored or handled, because a signalfd also receives ignored signals once
// they are blocked.
Result<Fd> catch_signals(const std::vector<int> &signals);

}  // namespace pmukit::cli
