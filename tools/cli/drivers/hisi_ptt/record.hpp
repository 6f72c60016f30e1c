// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Filters by PCI address, for recordings of PCIe traces.
#pragma once

#include <string>

#include "base/result.hpp"
#include "record/event_string.hpp"

namespace pmukit::cli {

// Replaces the PCI address in filter=0000:00:10.0 (or 00:10.0; several ports are joined by +) by
// the number that sysfs has for this root port or requester (root: see record::kSysfsPmus). Does
// not change a filter that is a number.
Result<void> resolve_filter(record::EventString &event, const std::string &root);

}  // namespace pmukit::cli
