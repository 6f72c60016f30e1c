// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Output of a recording: one file or, with --interval, a series of complete files. The next file
// begins between two rounds, after every ring was drained, so that no record is lost or in two
// files.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <optional>
#include <string>

#include "perfdata/writer.hpp"
#include "record/recorder.hpp"

namespace pmukit::cli {

struct Interval {
    std::chrono::seconds length{};
    size_t keep = 0;  // number of files to keep; 0: all
};

// Parses "SECONDS[,KEEP]".
Result<Interval> parse_interval(const std::string &text);

class RecordFiles final : public record::RecordSink {
public:
    // Opens a file and writes its header. `part` is the number of the file in this recording, from
    // 1; it is 0 without --interval.
    using Open = std::function<Result<perfdata::Writer>(const std::string &path, size_t part)>;
    // Writes the records with which each file begins.
    using Front = std::function<Result<void>(perfdata::Writer &writer, record::RecordSink &sink,
                                             size_t part)>;

    // Writes the records with which each file ends, and the header sections known only then.
    using Back = std::function<Result<void>(perfdata::Writer &writer, record::RecordSink &sink)>;

    RecordFiles(std::string output, std::optional<Interval> interval, Open open, Front front,
                Back back = {})
        : output_(std::move(output)),
          interval_(interval),
          open_(std::move(open)),
          front_(std::move(front)),
          back_(std::move(back))
    {
    }

    // Opens the next file. The caller opens only the first: round() opens the others.
    Result<void> begin();
    Result<void> records(Bytes bytes) override { return writer_->records(bytes); }
    Result<void> aux(const record::AuxChunk &chunk) override;
    Result<void> round() override;
    // Completes the last file.
    Result<void> finish();
    // Call after an error. Keeps the last file, although it is incomplete, and returns its name.
    // Returns an empty name if no file exists.
    std::string keep();
    // Returns the total size of the completed files.
    uint64_t bytes() const { return bytes_; }

private:
    // A file that another thread completes. `bytes` gets the size of the complete file.
    struct Closing {
        std::string path;
        std::future<Result<uint64_t>> bytes;
    };

    Result<void> find_earlier();
    Result<void> end_file();
    Result<void> settle();

    std::string output_;
    std::optional<Interval> interval_;
    Open open_;
    Front front_;
    Back back_;
    std::optional<perfdata::Writer> writer_;
    std::optional<Closing> closing_;
    std::string path_;
    std::chrono::steady_clock::time_point until_;
    std::deque<std::string> finished_;  // oldest first, including files of earlier recordings
    uint64_t number_ = 0;               // number in the name of the current file
    size_t part_ = 0;
    uint64_t bytes_ = 0;
};

}  // namespace pmukit::cli
