// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Recording support for PCIe traces only: filters by PCI address.
#pragma once

#include <string>

#include "base/result.hpp"
#include "record/event_string.hpp"

namespace pmukit::cli {

// Replaces filter=0000:00:10.0 (or 00:10.0; several ports with +) by the number that the PMU has in
// sysfs for this root port or requester (root: see record::kSysfsPmus). Numbers are left alone.
Result<void> resolve_filter(record::EventString &event, const std::string &root);

}  // namespace pmukit::cli
