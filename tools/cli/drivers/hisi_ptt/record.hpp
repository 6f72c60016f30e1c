// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// What recording a PCIe trace needs besides what any event does: filters by the name of a function.
#pragma once

#include <string>

#include "base/result.hpp"
#include "record/event_string.hpp"

namespace pmukit::cli {

// filter=0000:00:10.0 (or 00:10.0; several ports with +) becomes the number that the PMU gives to
// this root port or requester in sysfs (root: as record::kSysfsPmus). Numbers stay as they are.
Result<void> resolve_filter(record::EventString &event, const std::string &root);

}  // namespace pmukit::cli
