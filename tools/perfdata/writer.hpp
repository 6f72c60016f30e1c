// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Writes a perf.data file that stock perf reads: header, attributes and ids, records, AUXTRACE
// buffers, feature sections. The file gets its name only when it is whole; until then it is
// NAME.part-PID. Or the same in pipe layout, as records into a descriptor. What it writes is new,
// or copied from other recordings in their byte order.
#pragma once

#include <bit>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "base/fd.hpp"
#include "base/result.hpp"
#include "perfdata/features.hpp"
#include "perfdata/new_file.hpp"
#include "perfdata/packer.hpp"
#include "perfdata/records.hpp"

namespace pmukit::perfdata {

struct WriterEvent {
    // struct perf_event_attr as the kernel took it, in the byte order of the file
    std::vector<std::byte> attr;
    std::vector<uint64_t> ids;
    std::string name;
};

struct HostInfo {
    std::string hostname, os_release, version, arch;
    uint32_t cpus_available = 0, cpus_online = 0;
    std::vector<std::string> cmdline;
    std::vector<std::pair<uint32_t, std::string>> pmus;  // attr.type, name
    // What a PMU says of itself (PMU_CAPS): its name; names and values
    using Caps = std::vector<std::pair<std::string, std::string>>;
    std::vector<std::pair<std::string, Caps>> caps = {};
    // Where the events have a clock of their own: what the wall clock said at one moment of it
    // (CLOCK_DATA), and how fine it is (CLOCKID).
    std::optional<ClockData> clock = {};
    uint64_t clock_resolution_ns = 0;  // 0: not known
};
// The content of PMU_CAPS.
std::vector<std::byte> packed_caps(const std::vector<std::pair<std::string, HostInfo::Caps>> &pmus,
                                   std::endian order);

class Writer {
public:
    // Of this machine's byte order, or of the given one. In pipe layout where the path is a FIFO.
    // stop_fd: NewFile::give_up_when().
    static Result<Writer> create(const std::string &path, std::vector<WriterEvent> events,
                                 const HostInfo &host, int stop_fd = -1);
    static Result<Writer> create(const std::string &path, std::vector<WriterEvent> events,
                                 const HostInfo &host, std::endian order, int stop_fd = -1);
    // Pipe layout into a descriptor: the header goes out at once, finish() only flushes.
    static Result<Writer> create_pipe(Fd fd, std::vector<WriterEvent> events, const HostInfo &host,
                                      int stop_fd = -1);
    // For records of other recordings: section() adds their header. Error: a FIFO.
    static Result<Writer> create_copy(const std::string &path, std::endian order,
                                      std::vector<WriterEvent> events);
    Writer(Writer &&) = default;
    Writer &operator=(Writer &&) = delete;
    ~Writer() = default;  // what finish() did not complete goes away, unless it is kept

    // The content of a header section, enum Feature; not in a pipe. The writer makes EVENT_DESC and
    // AUXTRACE, the index of AUX buffers, itself.
    void section(unsigned feature, std::vector<std::byte> content);

    // AUXTRACE_INFO: the AUX data is of a kind that stock perf decodes, by its number there, with
    // what it wants to know (priv). Before any record. Stock perf stops at a number it does not
    // know, so PMUs that only we decode have none. Error: more words than a record can hold.
    Result<void> auxtrace_info(uint32_t type, const std::vector<uint64_t> &priv);
    // Whole perf records, one or many, as the kernel wrote them.
    Result<void> records(Bytes bytes);
    // A record of a reader, piece by piece where the reader gives its payload so.
    Result<void> copy(const Record &record);
    // One drained piece of an AUX area; two parts, because a ring wraps. record.size is set here.
    Result<void> auxtrace(AuxtraceRecord record, Bytes first, Bytes second);
    // All rings were drained once: readers that sort by time may flush. A pipe gets it at once; of
    // a file what is older than a second outlives a recorder that is killed.
    Result<void> finished_round();
    // Features and header; nothing may be written afterwards. All but the name is there then.
    Result<void> complete();
    // The same, and the name.
    Result<void> finish();
    // A power cut after finish() does not lose the file.
    void make_durable() { file_.make_durable(); }
    // It cannot be finished, and what it holds cannot be had again: the unfinished file stays, for
    // DamagedRecording. How it is called; empty: there is none, or no record is in it.
    std::string keep();

    std::endian order() const { return order_; }
    uint64_t data_bytes() const { return file_.offset() - data_offset_; }

private:
    struct IndexEntry {
        uint64_t offset, size;
    };

    Writer(NewFile file, std::endian order, std::vector<WriterEvent> events);
    static Result<Writer> in_file(NewFile file, std::endian order, std::vector<WriterEvent> events);
    static Result<Writer> in_pipe(NewFile file, std::endian order, std::vector<WriterEvent> events,
                                  const HostInfo &host);
    void host_sections(const HostInfo &host);
    Result<void> write_front();
    Result<void> write_pipe_front();
    Result<void> write_pipe_event(const WriterEvent &event);
    Result<void> write_features();
    Packer packer() const { return Packer(order_); }
    std::vector<std::byte> file_header() const;
    std::vector<std::byte> event_desc() const;
    std::vector<std::byte> auxtrace_index() const;

    NewFile file_;
    std::endian order_;
    std::vector<WriterEvent> events_;
    bool pipe_ = false, complete_ = false;
    uint64_t attrs_offset_ = 0, data_offset_ = 0, data_end_ = 0;
    std::chrono::steady_clock::time_point flushed_;
    size_t attr_bytes_ = 0;  // of the widest attribute
    std::vector<IndexEntry> index_;
    // In the order of their bits: the table in the file has no other key.
    std::map<unsigned, std::vector<std::byte>> sections_;
};

}  // namespace pmukit::perfdata
