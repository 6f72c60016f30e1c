// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// What is still there in a damaged recording: every whole record and AUX buffer, and the ranges of
// bytes between them that are lost.
//
//     file   |header|rec|rec|AUXTRACE....|rec|#######|rec|rec|re
//     kept          [----------------------)         [------)
//     lost                                   [-------)       [-)
//
// Behind a place that makes no sense the walk goes on where several records in a row make sense.
// Packed records (-z) are kept as they are; what comes behind a lost one cannot be unpacked.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "perfdata/reader.hpp"

namespace pmukit::perfdata {

struct ByteRange {
    uint64_t begin = 0, end = 0;  // offsets in the file; end is not part of it
};

struct Recovery {
    std::vector<ByteRange> kept, lost;
    uint64_t records = 0;
    uint64_t aux_buffers = 0;
    uint64_t packed = 0;       // of the records: such as hold others, packed
    bool header_whole = true;  // its sizes were true and its sections are there

    bool clean() const { return lost.empty() && header_whole; }
};

// Error: not even the events can be read.
Result<Recovery> find_records(Bytes file);

// Writes what was kept as a file that stock perf reads: with a true header, the sections that were
// there, and a new index of AUX buffers. The file has its name only when it is whole.
Result<void> write_recovered(Bytes file, const Recovery &recovery, const std::string &path);

}  // namespace pmukit::perfdata
