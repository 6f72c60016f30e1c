// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Checks that a recording may replace the file that -o names, and renames an earlier recording.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"

namespace pmukit::cli {

// Returns an error if the file is an argument of the command, or exists and is not a recording. If
// an earlier recording is to be renamed, NAME.old is checked in the same way.
Result<void> claim_output(const std::string &path, const std::vector<std::string> &command);

// Renames an earlier recording to NAME.old, as perf does. Does not rename links and special files.
Result<void> keep_earlier(const std::string &path);

// Call before the new file is created. If the name is a link to a file that is not empty, renames
// the link to NAME.old, as perf does: otherwise the new recording would replace the linked file.
// Error: another user could have planted the link (see perfdata/output/destination.hpp).
Result<void> keep_link(const std::string &path);

}  // namespace pmukit::cli
