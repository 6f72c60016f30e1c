// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Reads perf.data: file or pipe layout, either byte order, packed records, perf.data directories.
//
//     Result<Reader> reader = Reader::open_path("perf.data");
//     for (Record record; reader->next(record);)
//         ...
//     if (reader->error() || reader->damage()) ...
//
// A record is a view that lives until the next step: nothing is copied, nothing is allocated per
// record, and nothing by a size that the file only claims. Where the stream of records breaks off,
// everything before it has been given, and damage() says where and how many bytes are left unread.
// Memory: Documentation/decisions/0004-reading-perf-data.rst.
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

struct Event {
    Attr attr;
    std::vector<uint64_t> ids;
    std::string name;                   // as recorded; empty when the file does not say
    std::vector<std::byte> attr_bytes;  // as the file has them, in its byte order
};

struct Damage {
    uint64_t offset;      // where the records break off
    uint64_t lost_bytes;  // from there to the end of the data
    std::string reason;
    uint32_t record_type = 0;  // of the record it was found in; 0: between records
};

// A section of the header, known to us or not.
struct FeatureSection {
    unsigned feature;  // enum Feature
    uint64_t offset;   // of its content in the file
    uint64_t bytes;
};

class Reader {
public:
    enum class Step {
        kRecord,
        kMore,  // pushed readers only: feed() more bytes
        kEnd,
    };

    // From bytes that outlive the reader. Payloads come whole.
    static Result<Reader> open(Bytes file);
    // A file, a perf.data directory, or "-": standard input. Long payloads come in pieces. A file
    // is mapped: when it becomes shorter, the program gets SIGBUS as it reads on, in next() or
    // where it looks at a record.
    static Result<Reader> open_path(const std::string &path);
    static Result<Reader> open_fd(Fd fd, const std::string &name);
    // Pipe layout, from bytes that the caller feeds.
    static Result<Reader> pushed();

    // From one that was moved nothing can be read.
    Reader(Reader &&) noexcept;
    Reader &operator=(Reader &&) noexcept;
    ~Reader();

    // False: there are no more records, or error() says why it cannot go on.
    [[nodiscard]] bool next(Record &into);
    // A record that is whole but that we cannot read, or the system refused to read. nullopt:
    // next() has more, or came to the end.
    const std::optional<Error> &error() const;
    // The same for pushed readers.
    Result<Step> step(Record &into);
    // Pipe layout: goes on to the first record that is not of the header, so that the events are
    // known; next() gives units and scales of events and then that one. Not for pushed readers.
    Result<void> read_front();
    // Takes as many bytes as fit, after step() asked; what it gave before is gone.
    size_t feed(Bytes bytes);
    void end_feed();

    std::endian order() const;
    const std::vector<Event> &events() const;
    const std::optional<Damage> &damage() const;
    // Header sections that were missing or wrong: not fatal, but names may be unknown; kNotFound: a
    // file of a directory. The first 256: a pipe can be wrong without end.
    const std::vector<Error> &warnings() const;
    uint64_t position() const;
    bool is_pipe() const;
    bool is_directory() const;
    // Of the file that is being read: of a directory, one after the other.
    const std::string &part() const;
    // Those that come after it.
    std::vector<std::string> later_parts() const;
    // The first file of a directory that is not there, though a later one is; also in warnings().
    const std::optional<std::string> &missing_part() const;
    // Where the records of a file begin and, as far as the header can be believed, end.
    uint64_t data_begin() const;
    uint64_t data_end() const;

    // In the order of the file; without those that are in warnings(), because they lie outside of
    // it or are too large. In pipe layout they come with the records.
    const std::vector<FeatureSection> &features() const;
    // Borrowed from the reader. nullopt: not there.
    std::optional<Bytes> feature(unsigned feature) const;

    // The PMU of an event, from the file's own table. Empty: the file does not say.
    const std::string &pmu_name(uint32_t attr_type) const;
    const std::string &hostname() const;
    const std::string &os_release() const;

    // Index into events(). nullopt: the record names no event that the file has.
    std::optional<size_t> event_of_id(uint64_t id) const;
    std::optional<size_t> event_of(const Record &record) const;
    // When a kernel record happened, as the event's clock counts. nullopt: it does not say.
    std::optional<uint64_t> time_of(const Record &record) const;

private:
    struct State;
    explicit Reader(std::unique_ptr<State> state);
    static Result<Reader> begun(std::unique_ptr<State> state);

    std::unique_ptr<State> state_;
};

}  // namespace pmukit::perfdata
