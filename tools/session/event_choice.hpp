// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Selects events of a recording by name (--event).
#pragma once

#include <string>
#include <vector>

#include "perfdata/reader.hpp"

namespace pmukit::cli {

// Returns for each event index whether the event is selected. A name is that of an event, or that
// of a PMU, which selects all events of the PMU. Returns an empty vector if there are no names,
// because then all events are selected. Returns a usage error if a name matches nothing.
Result<std::vector<bool>> choose_events(const perfdata::Reader &reader,
                                        const std::vector<std::string> &names);

}  // namespace pmukit::cli
