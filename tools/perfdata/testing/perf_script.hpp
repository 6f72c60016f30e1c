// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// A recording in the words of `perf script`, beside those of `perf report -D` (perf_text.hpp). For
// tests only.
//
// Both sides print the fields that every event of the file has, as numbers: no symbols, no names
// of threads, which perf takes from its session. Blanks between fields are one.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "perfdata/reader.hpp"

namespace pmukit::perfdata::testing {

// The value of perf script's option -F for this recording.
Result<std::string> script_fields(Reader &reader);

// Its samples and what is shown beside them, by time.
Result<std::string> perf_script(Reader &reader);
// As if it were a pipe, or not: for a copy of one.
Result<std::string> perf_script(Reader &reader, bool piped);

// What perf script said, as perf_script() says it.
std::string plain_perf_script(std::string_view said);

}  // namespace pmukit::perfdata::testing
