// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Prints a recording in the format of `perf report -D`, to compare our reader with perf line by
// line. For tests only: the format is perf's.
//
// Omitted on both sides, see plain_perf_text(): hex dumps, data of perf's session (threads,
// objects, statistics), names of registers, and the contents of pipe headers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "perfdata/reader.hpp"

namespace pmukit::perfdata::testing {

// All records of a recording, in time order as in perf.
Result<std::string> perf_text(Reader &reader);

// One record without its stamp: "PERF_RECORD_COMM: sh:5/5" and so on, with the lines that follow.
std::string perf_record_text(const Reader &reader, const Record &record);

// The header's sections as `perf report --header-only -I` prints them: those that we parse, in
// numerical order.
std::string perf_header_text(const Reader &reader);

// Returns perf's own output without the lines that our text omits.
std::string plain_perf_text(std::string_view said);
std::string plain_perf_header(std::string_view said);

// Returns a copy, without header sections, of a recording whose header perf refuses. If a killed
// recorder left a data size of 0, the copy has the real size of the records.
std::vector<std::byte> without_sections(Bytes file);

}  // namespace pmukit::perfdata::testing
