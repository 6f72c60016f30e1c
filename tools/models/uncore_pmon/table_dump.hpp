// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Writes the table to files as in sysfs: DIR/config with the 4096 bytes of configuration space,
// DIR/resource<n> with the bytes of the table's BAR. The BAR addresses are those of a Sapphire
// Rapids.
#pragma once

#include <string>

#include "base/result.hpp"
#include "models/uncore_pmon/uncore_pmon_model.hpp"

namespace pmukit::models::uncore_pmon {

// Sets the BAR addresses and does not restore them. Creates the folder if it does not exist.
Result<void> dump_table(UncorePmonModel &model, const std::string &folder);

}  // namespace pmukit::models::uncore_pmon
