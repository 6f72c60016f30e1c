// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Whether a recording may have the name that -o gives, and what becomes of the one that had it.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"

namespace pmukit::cli {

// Error: the command has that file among its words, or there is a file that is no recording; the
// same of NAME.old, where there is an earlier recording that is to be called so.
Result<void> claim_output(const std::string &path, const std::vector<std::string> &command);

// An earlier recording of that name becomes NAME.old, as perf has it. A link and what is no file
// stay.
Result<void> keep_earlier(const std::string &path);

}  // namespace pmukit::cli
