// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Writes a perf.data file that stock perf reads: header, attributes and ids, records, AUXTRACE
// buffers, feature sections. The file gets its name only when it is whole; until then it is
// NAME.part-PID. Or the same in pipe layout, as records into a descriptor.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "base/fd.hpp"
#include "base/result.hpp"
#include "perfdata/records.hpp"

namespace pmukit::perfdata {

struct WriterEvent {
    std::vector<std::byte>
        attr;  // struct perf_event_attr as the kernel took it, this machine's byte order
    std::vector<uint64_t> ids;
    std::string name;
};

struct HostInfo {
    std::string hostname, os_release, version, arch;
    uint32_t cpus_available = 0, cpus_online = 0;
    std::vector<std::string> cmdline;
    std::vector<std::pair<uint32_t, std::string>> pmus;  // attr.type, name
};

class Writer {
public:
    static Result<Writer> create(const std::string &path, std::vector<WriterEvent> events,
                                 HostInfo host);
    // Pipe layout into a descriptor: the header goes out at once, finish() only flushes.
    static Result<Writer> create_pipe(Fd fd, std::vector<WriterEvent> events, HostInfo host);
    Writer(Writer &&) = default;
    Writer &operator=(Writer &&) = delete;
    ~Writer();  // removes what finish() did not complete

    // AUXTRACE_INFO: the AUX data is of a kind that stock perf decodes, by its number there, with
    // what it wants to know (priv). Before any record. Stock perf stops at a number it does not
    // know, so PMUs that only we decode have none.
    Result<void> auxtrace_info(uint32_t type, const std::vector<uint64_t> &priv);
    // Whole perf records, one or many, as the kernel wrote them.
    Result<void> records(Bytes bytes);
    // One drained piece of an AUX area; two parts, because a ring wraps. record.size is set here.
    Result<void> auxtrace(AuxtraceRecord record, Bytes first, Bytes second);
    // All rings were drained once: readers that sort by time may flush.
    Result<void> finished_round();
    // Features, header, name. Nothing may be written afterwards.
    Result<void> finish();

    uint64_t data_bytes() const { return offset_ - data_offset_; }

private:
    struct IndexEntry {
        uint64_t offset, size;
    };

    Writer(std::string path, std::vector<WriterEvent> events, HostInfo host);
    Result<void> append(Bytes bytes);
    Result<void> flush();
    Result<void> write_front();
    Result<void> write_pipe_front();
    Result<void> write_pipe_event(const WriterEvent &event);
    using FeatureBytes = std::pair<unsigned, std::vector<std::byte>>;
    std::vector<FeatureBytes> host_features() const;
    Result<void> write_features();
    std::vector<std::byte> file_header() const;
    std::vector<std::byte> event_desc() const;
    std::vector<std::byte> auxtrace_index() const;

    std::string path_, part_;
    std::vector<WriterEvent> events_;
    HostInfo host_;
    Fd fd_;
    bool pipe_ = false;
    std::vector<std::byte> buffer_;
    uint64_t offset_ = 0;  // of the next byte in the file
    uint64_t attrs_offset_ = 0, data_offset_ = 0, data_end_ = 0;
    size_t attr_bytes_ = 0;  // of the widest attribute
    std::vector<IndexEntry> index_;
    std::vector<unsigned> features_;  // bits, set once their sections are written
};

}  // namespace pmukit::perfdata
