// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Signals that end what runs, not the program: there is something to complete.
#pragma once

#include <initializer_list>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace pmukit::cli {

// nohup(1) and shells' background jobs ignore some on purpose.
bool is_ignored(int signal);

// These come as bytes (signalfd(2)). Not SIGHUP where it is ignored: what is blocked comes even so.
Result<Fd> catch_signals(std::initializer_list<int> signals);

}  // namespace pmukit::cli
