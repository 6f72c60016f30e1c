// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Writes a perf.data file that stock perf reads: header, attributes and ids, records, AUXTRACE
// buffers, feature sections. The file gets its name only when it is complete; until then it is
// called NAME.part-PID. In pipe layout, the writer writes the same content as records into a
// descriptor. The records are new, or copied from other recordings in their byte order.
#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "base/fd.hpp"
#include "base/result.hpp"
#include "perfdata/features.hpp"
#include "perfdata/records.hpp"

namespace pmukit::perfdata {

struct WriterEvent {
    // struct perf_event_attr as the kernel accepted it, in the byte order of the file
    std::vector<std::byte> attr;
    std::vector<uint64_t> ids;
    std::string name;
};

struct HostInfo {
    std::string hostname, os_release, version, arch;
    uint32_t cpus_available = 0, cpus_online = 0;
    std::vector<std::string> cmdline;
    std::vector<std::pair<uint32_t, std::string>> pmus;  // attr.type, name
    // PMU_CAPS: for each PMU its name, and the names and values of its capabilities
    using Caps = std::vector<std::pair<std::string, std::string>>;
    std::vector<std::pair<std::string, Caps>> caps = {};
    // If the events use their own clock: the times of that clock and the wall clock at one moment
    // (CLOCK_DATA), and its resolution (CLOCKID).
    std::optional<ClockData> clock = {};
    uint64_t clock_resolution_ns = 0;  // 0: unknown
};
// The content of PMU_CAPS.
std::vector<std::byte> packed_caps(const std::vector<std::pair<std::string, HostInfo::Caps>> &pmus,
                                   std::endian order);

class Writer {
public:
    // Writes in this machine's byte order, or in `order`. Writes pipe layout if the path is a FIFO.
    // stop_fd: once this descriptor is readable, a pipe that accepts no data for a second is an
    // error: its reader has stopped. -1: the writer waits forever.
    static Result<Writer> create(const std::string &path, std::vector<WriterEvent> events,
                                 const HostInfo &host, int stop_fd = -1);
    static Result<Writer> create(const std::string &path, std::vector<WriterEvent> events,
                                 const HostInfo &host, std::endian order, int stop_fd = -1);
    // Writes pipe layout to the descriptor. Writes the header at once; finish() only flushes.
    static Result<Writer> create_pipe(Fd fd, std::vector<WriterEvent> events, const HostInfo &host,
                                      int stop_fd = -1);
    // Writes pipe layout to a file, which gets its name in finish().
    static Result<Writer> create_pipe(const std::string &path, std::vector<WriterEvent> events,
                                      const HostInfo &host);
    // For records copied from other recordings: call section() for each section of their headers.
    // Error: the path is a FIFO.
    static Result<Writer> create_copy(const std::string &path, std::endian order,
                                      std::vector<WriterEvent> events);
    Writer(Writer &&) noexcept;
    Writer &operator=(Writer &&) noexcept;
    ~Writer();  // removes an unfinished file, unless it is kept

    // Sets the content of a header section (enum Feature); not for pipe layout. EVENT_DESC and
    // AUXTRACE (the index of AUX buffers) are ignored: the writer makes them itself.
    void section(unsigned feature, std::vector<std::byte> content);

    // Sets SAMPLE_TIME, which perf needs for times in percent (perf script --time 0%-50%); in pipe
    // layout, where the header is already written, does nothing.
    void sample_times(const TimeSpan &times);

    // Writes AUXTRACE_INFO: `type` is the number of the decoder in stock perf, and `priv` are the
    // words that this decoder needs. Call before any record. Do not call for PMUs that only pmukit
    // decodes, because stock perf stops at an unknown number. Error: more words than a record can
    // hold.
    Result<void> auxtrace_info(uint32_t type, const std::vector<uint64_t> &priv);
    // Complete perf records, one or many, as written by the kernel.
    Result<void> records(Bytes bytes);
    // Copies a record of a reader; call for each piece if the reader returns the payload in pieces.
    Result<void> copy(const Record &record);
    // Writes one drained piece of an AUX area. The piece has two parts if the area wraps inside it.
    // Sets record.size to the size of both parts.
    Result<void> auxtrace(AuxtraceRecord record, Bytes first, Bytes second);
    // Call each time all rings were drained once, so that readers that sort by time may flush. A
    // pipe is flushed at once. In a file, records older than a second survive if the recorder is
    // killed.
    Result<void> finished_round();
    // Writes features and header; after that, nothing may be written and only the renaming is left.
    Result<void> complete();
    // Calls complete(), then gives the file its name.
    Result<void> finish();
    // After finish(), the file survives a power failure.
    void make_durable();
    // Call if the file cannot be finished and its data cannot be recorded again: keeps the
    // unfinished file for DamagedRecording. Returns its path; empty: there is no such file, or it
    // has no record.
    std::string keep();

    std::endian order() const;
    uint64_t data_bytes() const;

private:
    struct State;
    explicit Writer(std::unique_ptr<State> state);
    static Result<Writer> in_file(std::unique_ptr<State> state);
    static Result<Writer> in_pipe(std::unique_ptr<State> state, const HostInfo &host);

    std::unique_ptr<State> state_;
};

}  // namespace pmukit::perfdata
