// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Events of a recording that were asked for by name: --event.
#pragma once

#include <string>
#include <vector>

#include "perfdata/reader.hpp"

namespace pmukit::cli {

// By the number of the event: is it chosen? names: of an event, or of a PMU, which means all of its
// events. Without names: no numbers, all are meant. Error, usage: nothing is called so.
Result<std::vector<bool>> choose_events(const perfdata::Reader &reader,
                                        const std::vector<std::string> &names);

}  // namespace pmukit::cli
