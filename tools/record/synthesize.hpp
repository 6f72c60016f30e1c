// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Synthesizes the records that the kernel would have written for what existed before a recording:
// the kernel and its modules, and the threads, names and maps of each process. As in perf,
// these records have no time and belong to no event.
//
// The data is read from /proc and /sys, or from a copy of them below another root.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "record/recorder.hpp"

namespace pmukit::record {

// A line of /proc/PID/maps.
struct MapsLine {
    uint64_t begin = 0, end = 0, file_offset = 0, inode = 0;
    uint32_t major = 0, minor = 0;
    bool readable = false, writable = false, executable = false, shared = false;
    std::string_view path;  // empty: the map has no file
};
std::optional<MapsLine> parse_maps_line(std::string_view line);

class Synthesizer {
public:
    // This function is called every few milliseconds while /proc is read.
    using Meanwhile = std::function<Result<void>()>;
    // data_maps: writes readable maps without code, too (see Tracking in perf_event.hpp).
    explicit Synthesizer(RecordSink &sink, std::string root = "", Meanwhile meanwhile = {},
                         bool data_maps = false)
        : sink_(sink),
          root_(std::move(root)),
          meanwhile_(std::move(meanwhile)),
          data_maps_(data_maps)
    {
    }
    // Writes the kernel and its modules; to be called again for each new file. Writes nothing if
    // the kernel hides its addresses from the user (kptr_restrict).
    Result<void> kernel();
    // Writes all processes. A process that ends during the call is skipped.
    Result<void> processes();
    // Writes only the name of a thread.
    Result<void> name_of(uint32_t pid, uint32_t tid);
    // Writes the process to which this thread belongs.
    Result<void> process_of(uint32_t tid);

private:
    Result<std::vector<uint32_t>> numbers_in(const std::string &folder);
    Result<void> process(uint32_t pid);
    Result<void> threads(uint32_t pid, uint32_t parent);
    std::optional<std::vector<std::byte>> named(uint32_t pid, uint32_t tid) const;
    Result<void> maps(uint32_t pid);
    Result<void> modules();
    Result<void> give(const std::optional<std::vector<std::byte>> &record);
    Result<void> be_patient();

    RecordSink &sink_;
    std::string root_;
    Meanwhile meanwhile_;
    bool data_maps_;
    std::chrono::steady_clock::time_point looked_ = std::chrono::steady_clock::now();
    std::optional<std::vector<std::byte>> kernel_;  // the kernel's record, which does not change
};

}  // namespace pmukit::record
