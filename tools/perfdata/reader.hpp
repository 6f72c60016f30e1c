// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Reads perf.data: file or pipe layout, either byte order, compressed records, perf.data
// directories.
//
//     Result<Reader> reader = Reader::open_path("perf.data");
//     for (Record record; reader->next(record);)
//         ...
//     if (reader->error() || reader->damage()) ...
//
// A record is a view that is valid until the next step. Nothing is copied or allocated per record,
// and a size that the file claims is checked before memory of that size is allocated. If the stream
// of records breaks off, all records before that point are returned, and damage() reports the
// offset and the number of unread bytes. For memory use, see
// Documentation/decisions/0004-reading-perf-data.rst.
#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/fd.hpp"
#include "base/result.hpp"
#include "perfdata/attr.hpp"
#include "perfdata/records.hpp"
#include "perfdata/sample.hpp"

namespace pmukit::perfdata {

// The beginning of the message if bytes of file layout are fed or come from a pipe.
constexpr const char *kFileLayoutInPipe = "a recording of file layout cannot be read from a pipe";

struct Event {
    Attr attr;
    std::vector<uint64_t> ids;
    std::string name;                   // as recorded; empty if the file has none
    std::vector<std::byte> attr_bytes;  // as in the file, in its byte order
};

struct Damage {
    uint64_t offset;      // where the records break off
    uint64_t lost_bytes;  // bytes from offset to the end of the data
    std::string reason;
    uint32_t record_type = 0;  // type of the damaged record; 0: the damage is between records
};

// A section of the header, of a known or unknown type.
struct FeatureSection {
    unsigned feature;  // enum Feature
    uint64_t offset;   // offset of its content in the file
    uint64_t bytes;
};

class Reader {
public:
    enum class Step {
        kRecord,
        kMore,  // only for readers from pushed(): call feed() with more bytes
        kEnd,
    };

    // Reads bytes that outlive the reader. Payloads are returned whole.
    static Result<Reader> open(Bytes file);
    // Reads a file, a perf.data directory, or standard input ("-"). Long payloads are returned in
    // pieces. A file is mapped: if it becomes shorter, an access in next() or to a record raises
    // SIGBUS.
    static Result<Reader> open_path(const std::string &path);
    static Result<Reader> open_fd(Fd fd, const std::string &name);
    // Reads pipe layout, from bytes that the caller passes to feed().
    static Result<Reader> pushed();

    // A reader that was moved from cannot be read.
    Reader(Reader &&) noexcept;
    Reader &operator=(Reader &&) noexcept;
    ~Reader();

    // Returns false at the end of the records, or on an error that error() returns.
    [[nodiscard]] bool next(Record &into);
    // The error that ended next(): a complete record that this reader cannot read, or a failed
    // read(2). nullopt: no error.
    const std::optional<Error> &error() const;
    // Like next(), for readers from pushed().
    Result<Step> step(Record &into);
    // Pipe layout: reads up to the first record that is not part of the header, so that the events
    // are known. next() then returns units and scales of events, then that record. Not for readers
    // from pushed().
    Result<void> read_front();
    // Takes as many bytes as fit, after step() returned kMore. Earlier records become invalid.
    size_t feed(Bytes bytes);
    void end_feed();

    std::endian order() const;
    const std::vector<Event> &events() const;
    const std::optional<Damage> &damage() const;
    // Header sections that were missing or invalid. This is not fatal, but names may be unknown.
    // kNotFound: a missing file of a directory. Only the first 256 errors are stored: a pipe can
    // have any number.
    const std::vector<Error> &warnings() const;
    uint64_t position() const;
    bool is_pipe() const;
    bool is_directory() const;
    // Name of the current file. The files of a directory are read one after another.
    const std::string &part() const;
    // The files of the directory that are read after part().
    std::vector<std::string> later_parts() const;
    // The first missing file of a directory in which a later file exists; also in warnings().
    const std::optional<std::string> &missing_part() const;
    // Bytes of records that the header counts and a truncated file lacks; also in warnings().
    // 0: an unknown number, because the recorder was killed. nullopt: the file is not truncated.
    std::optional<uint64_t> missing_bytes() const;
    // Start and end of the current file's records. In the file of a killed recorder, the
    // records end with the file.
    uint64_t data_begin() const;
    uint64_t data_end() const;

    // Header sections in file order. Sections that lie outside the file or are too large are left
    // out and reported in warnings(). In pipe layout the sections arrive with the records.
    const std::vector<FeatureSection> &features() const;
    // Borrowed from the reader. nullopt: no such section.
    std::optional<Bytes> feature(unsigned feature) const;

    // Name of the PMU with this attr.type, from the file's own table. Empty: not in the file.
    const std::string &pmu_name(uint32_t attr_type) const;
    const std::string &hostname() const;
    const std::string &os_release() const;

    // Index into events(). nullopt: the id or the record belongs to no event of the file.
    std::optional<size_t> event_of_id(uint64_t id) const;
    std::optional<size_t> event_of(const Record &record) const;
    // Time of a kernel record by the event's clock. nullopt: the record has none.
    std::optional<uint64_t> time_of(const Record &record) const;

private:
    struct State;
    explicit Reader(std::unique_ptr<State> state);
    static Result<Reader> begun(std::unique_ptr<State> state);

    std::unique_ptr<State> state_;
};

}  // namespace pmukit::perfdata
