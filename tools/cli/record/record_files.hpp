// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Where a recording goes: into one file, or with --interval into one after the other, each whole
// by itself. Files change between two rounds, when every ring was drained: nothing is lost in
// between, and no record is in two files.
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
    size_t keep = 0;  // files; 0: all
};

// "SECONDS[,KEEP]"
Result<Interval> parse_interval(const std::string &text);

class RecordFiles final : public record::RecordSink {
public:
    // A file with its header. part: of this recording, from 1 on; 0: there is only one.
    using Open = std::function<Result<perfdata::Writer>(const std::string &path, size_t part)>;
    // What each file begins with.
    using Front = std::function<Result<void>(perfdata::Writer &writer, record::RecordSink &sink,
                                             size_t part)>;

    // What each file ends with.
    using Back = std::function<Result<void>(record::RecordSink &sink)>;

    RecordFiles(std::string output, std::optional<Interval> interval, Open open, Front front,
                Back back = {})
        : output_(std::move(output)),
          interval_(interval),
          open_(std::move(open)),
          front_(std::move(front)),
          back_(std::move(back))
    {
    }

    // The first file.
    Result<void> begin();
    Result<void> records(Bytes bytes) override { return writer_->records(bytes); }
    Result<void> aux(const record::AuxChunk &chunk) override;
    Result<void> round() override;
    // The last one.
    Result<void> finish();
    // After an error: what of the last one is there stays. How it is called; empty: nothing is.
    std::string keep();
    // Of all files.
    uint64_t bytes() const { return bytes_; }

private:
    // What came of a file that was closed: how many bytes are in it.
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
    std::deque<std::string> finished_;  // the oldest first, those of earlier recordings too
    uint64_t number_ = 0;               // in the name of the file
    size_t part_ = 0;
    uint64_t bytes_ = 0;
};

}  // namespace pmukit::cli
