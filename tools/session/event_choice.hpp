// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Selects events of a recording by name (--event).
#pragma once

#include <string>
#include <vector>

#include "perfdata/reader.hpp"

namespace pmukit::cli {

// Returns for each event index whether the event is selected; empty if names is empty, which
// selects all. names: events, or PMUs (all of their events). Usage error: a name matches nothing.
Result<std::vector<bool>> choose_events(const perfdata::Reader &reader,
                                        const std::vector<std::string> &names);

}  // namespace pmukit::cli
