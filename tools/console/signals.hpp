// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Signals that end the current operation, but not the program, which still has to complete files.
#pragma once

#include <initializer_list>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace pmukit::cli {

// True if the disposition of the signal is SIG_IGN: nohup(1) and shells start programs in the
// background with some signals ignored on purpose.
bool is_ignored(int signal);

// Returns a signalfd(2) for these signals, and blocks them. Leaves out SIGHUP if it is ignored,
// because a signalfd also receives ignored signals once they are blocked.
Result<Fd> catch_signals(std::initializer_list<int> signals);

}  // namespace pmukit::cli
