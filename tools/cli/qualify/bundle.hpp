// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// What a bug report needs about a machine, in one archive.
#pragma once

#include <string>
#include <vector>

#include "cli/qualify/check.hpp"
#include "cli/qualify/machine.hpp"

namespace pmukit::cli::qualify {

// report: what the command prints with --json. full: memory addresses and the host's name as well.
Result<void> write_bundle(const std::string &path, const Machine &machine, std::string_view driver,
                          const std::vector<DeviceReport> &reports, const std::string &report,
                          bool full);

}  // namespace pmukit::cli::qualify
