// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The table as files, in the shape that sysfs has: DIR/config with the 4096 bytes of configuration
// space, DIR/resource<n> with the bytes of the table's BAR. BARs lie where a Sapphire Rapids had
// its memory controllers.
#pragma once

#include <string>

#include "base/result.hpp"
#include "models/uncore_pmon/uncore_pmon_model.hpp"

namespace pmukit::models::uncore_pmon {

// Leaves the BARs where it put them. The folder is made if it is not there.
Result<void> dump_table(UncorePmonModel &model, const std::string &folder);

}  // namespace pmukit::models::uncore_pmon
