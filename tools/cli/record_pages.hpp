// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// What -m of pmukit record says.
#pragma once

#include <string>

#include "record/recorder.hpp"

namespace pmukit::cli {

// "128", "128,1024" or ",1024": pages of the record ring and of the AUX area. What is left out
// stays as it is.
Result<void> parse_pages(const std::string &text, record::RecordOptions &options);

}  // namespace pmukit::cli
