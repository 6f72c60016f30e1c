// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Prints a recording in the format of `perf script`; perf_text.hpp does so for `perf report -D`.
// For tests only.
//
// perf_script() and plain_perf_script() return the fields that every event of the file has, as
// numbers: no symbols and no thread names, which perf takes from its session. Fields are separated
// by one blank.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "perfdata/reader.hpp"

namespace pmukit::perfdata::testing {

// The value of perf script's option -F for this recording.
Result<std::string> script_fields(Reader &reader);

// Prints the samples, and the records that perf script prints between them, in time order.
Result<std::string> perf_script(Reader &reader);
// piped: whether to treat the recording as a pipe. A copy of a pipe is a file, but is compared with
// perf's output for the pipe.
Result<std::string> perf_script(Reader &reader, bool piped);

// Reduces the output of perf script to the format of perf_script().
std::string plain_perf_script(std::string_view said);

}  // namespace pmukit::perfdata::testing
