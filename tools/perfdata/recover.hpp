// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Finds all complete records and AUX buffers in a damaged recording, and the lost byte ranges
// between them.
//
//     file   |header|rec|rec|AUXTRACE....|rec|#######|rec|rec|re
//     kept          [----------------------)         [------)
//     lost                                   [-------)       [-)
//
// After damage, the search continues at the next offset where several records in a row are valid.
// Compressed records (-z) are kept unchanged; those after a lost one cannot be decompressed.
// Memory: 16 MiB of mapped pages, and 16 bytes per range.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "perfdata/progress.hpp"
#include "perfdata/writer.hpp"

namespace pmukit::perfdata {

struct ByteRange {
    uint64_t begin = 0, end = 0;  // offsets in the file; end is exclusive
};

struct Recovery {
    std::vector<ByteRange> kept, lost;
    uint64_t records = 0;
    uint64_t aux_buffers = 0;
    uint64_t packed = 0;       // how many of the records are compressed
    bool header_whole = true;  // the sizes in the header are valid and its sections exist
    bool missing = false;      // the file is missing from a directory that has later files

    bool clean() const { return lost.empty() && header_whole && !missing; }
};

// A recording that may be damaged: a file of either layout, or the files of a directory.
class DamagedRecording {
public:
    struct Part {
        std::string path;
        Recovery found;
    };

    DamagedRecording(DamagedRecording &&) noexcept;
    DamagedRecording &operator=(DamagedRecording &&) noexcept;
    ~DamagedRecording();

    // Error: not even the events can be read. Files are mapped: if one becomes shorter, further
    // access raises SIGBUS.
    static Result<DamagedRecording> open(const std::string &path);
    static Result<DamagedRecording> open(const std::string &path, const ProgressCallback &progress);
    // Reads bytes that outlive this object.
    static Result<DamagedRecording> of(Bytes file);

    // The result for each file.
    const std::vector<Part> &parts() const;
    bool clean() const;

    // Writes the kept records as one file that stock perf reads: with a valid header, the sections
    // that exist, and a new index of AUX buffers. The file is complete; finish() gives it its name.
    Result<Writer> write(const std::string &path) const;
    Result<Writer> write(const std::string &path, const ProgressCallback &progress) const;

private:
    struct State;
    explicit DamagedRecording(std::unique_ptr<State> state);

    std::unique_ptr<State> state_;
};

}  // namespace pmukit::perfdata
