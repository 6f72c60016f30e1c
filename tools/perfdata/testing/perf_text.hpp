// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// A recording in the words of `perf report -D`, to hold our reader against perf, line by line. For
// tests only: what it says is perf's, not ours.
//
// Left out on both sides, see plain_perf_text(): hex dumps, what perf adds from its own session
// (threads, objects, statistics), names of registers, and the contents of pipe headers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "perfdata/reader.hpp"

namespace pmukit::perfdata::testing {

// All records of a recording, by time as perf orders them.
Result<std::string> perf_text(Reader &reader);

// One record without its stamp: "PERF_RECORD_COMM: sh:5/5" and so on, with the lines that follow.
std::string perf_record_text(const Reader &reader, const Record &record);

// The header's sections as `perf report --header-only -I` prints them, those that we parse, by
// their number.
std::string perf_header_text(const Reader &reader);

// What perf itself said, without what is left out. Both have the same lines then.
std::string plain_perf_text(std::string_view said);
std::string plain_perf_header(std::string_view said);

// A recording that perf refuses for its header: without sections, and with a size of the records
// that is true when the recorder could not write one.
std::vector<std::byte> without_sections(Bytes file);

}  // namespace pmukit::perfdata::testing
