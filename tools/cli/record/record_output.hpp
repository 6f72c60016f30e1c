// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Checks that a recording may replace the file that -o names, and renames an earlier recording.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"

namespace pmukit::cli {

// Error: the file is one of the command's arguments, or exists and is not a recording. The same
// applies to NAME.old if an earlier recording is to be renamed to it.
Result<void> claim_output(const std::string &path, const std::vector<std::string> &command);

// Renames an earlier recording to NAME.old, like perf. Links and special files are left alone.
Result<void> keep_earlier(const std::string &path);

}  // namespace pmukit::cli
