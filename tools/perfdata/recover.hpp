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
// Memory: 16 MiB of mapped pages, and 16 bytes for each range.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/file.hpp"
#include "base/result.hpp"
#include "perfdata/copy.hpp"
#include "perfdata/progress.hpp"
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
    bool missing = false;      // the file: of a directory that has later ones

    bool clean() const { return lost.empty() && header_whole && !missing; }
};

// A recording that may be damaged: a file of either layout, or the files of a directory.
class DamagedRecording {
public:
    struct Part {
        std::string path;
        Recovery found;
    };

    // Error: not even the events can be read. Files are mapped: when one becomes shorter, what
    // reads on gets SIGBUS.
    static Result<DamagedRecording> open(const std::string &path);
    static Result<DamagedRecording> open(const std::string &path, const ProgressCallback &progress);
    // From bytes that outlive this.
    static Result<DamagedRecording> of(Bytes file);

    // What was found in each file.
    const std::vector<Part> &parts() const { return parts_; }
    bool clean() const;

    // Writes what was kept as one file that stock perf reads: with a true header, the sections that
    // were there, and a new index of AUX buffers. It is complete: finish() gives it its name.
    Result<Writer> write(const std::string &path) const;
    Result<Writer> write(const std::string &path, const ProgressCallback &progress) const;

private:
    explicit DamagedRecording(Reader reader) : reader_(std::move(reader)) {}

    struct Content {
        Bytes bytes;
        std::unique_ptr<MappedFile> file;  // null: the caller's bytes
    };
    static Result<Content> map(const std::string &path);
    void find_first(Content content, const ProgressCallback &progress);
    void find(const std::string &path, Content content, ByteRange range,
              const ProgressCallback &progress);
    Result<void> write_records(size_t part, RecordCopier &copier,
                               const ProgressCallback &progress) const;

    Reader reader_;
    std::vector<Part> parts_;
    std::vector<Content> contents_;  // of parts_
};

}  // namespace pmukit::perfdata
