// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// An archive with the properties of a machine that a bug report needs.
#pragma once

#include <string>
#include <vector>

#include "cli/qualify/check.hpp"
#include "cli/qualify/machine.hpp"

namespace pmukit::cli::qualify {

// Writes the archive. report: output of --json. full: includes memory addresses and the host name.
Result<void> write_bundle(const std::string &path, const Machine &machine, std::string_view driver,
                          const std::vector<DeviceReport> &reports, const std::string &report,
                          bool full);

}  // namespace pmukit::cli::qualify
