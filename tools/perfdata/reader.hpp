// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Reads perf.data: file or pipe layout, either byte order, packed records, perf.data directories.
//
//     Result<Reader> reader = Reader::open_path("perf.data");
//     for (Record record;;) {
//         Result<bool> more = reader->next(record);
//         if (!more || !*more) break;
//         ...
//     }
//     if (reader->damage()) ...
//
// A record is a view that lives until the next step: nothing is copied, nothing is allocated per
// record, and nothing by a size that the file only claims. Where the stream of records breaks off,
// everything before it has been given, and damage() says where and how many bytes are left unread.
// Memory: Documentation/decisions/0004-reading-perf-data.rst.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/budget.hpp"
#include "base/bytes.hpp"
#include "base/fd.hpp"
#include "base/hash.hpp"
#include "base/limits.hpp"
#include "base/result.hpp"
#include "perfdata/attr.hpp"
#include "perfdata/input.hpp"
#include "perfdata/records.hpp"
#include "perfdata/sample.hpp"
#include "perfdata/unpack.hpp"

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

    Reader(Reader &&) = default;
    Reader &operator=(Reader &&) = default;
    ~Reader() = default;

    // False: no more records. Error: a record that is whole but that we cannot read, or the system
    // refused to read.
    Result<bool> next(Record &into);
    // The same for pushed readers.
    Result<Step> step(Record &into);
    // Pipe layout: goes on to the first record that is not of the header, so that the events are
    // known; next() gives units and scales of events and then that one. Not for pushed readers.
    Result<void> read_front();
    // Takes as many bytes as fit, after step() asked; what it gave before is gone.
    size_t feed(Bytes bytes)
    {
        ready_ = 0;  // the window moves
        return input_.feed(bytes);
    }
    void end_feed() { input_.end_feed(); }

    std::endian order() const { return order_; }
    const std::vector<Event> &events() const { return events_; }
    const std::optional<Damage> &damage() const { return damage_; }
    // Header sections that were missing or wrong: not fatal, but names may be unknown; kNotFound: a
    // file of a directory. The first 256: a pipe can be wrong without end.
    const std::vector<Error> &warnings() const { return warnings_; }
    uint64_t position() const { return position_; }
    bool is_pipe() const { return pipe_; }
    bool is_directory() const { return is_directory_; }
    // Of the file that is being read: of a directory, one after the other.
    const std::string &part() const { return part_; }
    // Those that come after it.
    std::vector<std::string> later_parts() const
    {
        return {more_parts_.rbegin(), more_parts_.rend()};
    }
    // The first file of a directory that is not there, though a later one is; also in warnings().
    const std::optional<std::string> &missing_part() const { return missing_part_; }
    // Where the records of a file begin and, as far as the header can be believed, end.
    uint64_t data_begin() const { return data_begin_; }
    uint64_t data_end() const { return data_end_; }

    // In the order of the file; without those that are in warnings(), because they lie outside of
    // it or are too large. In pipe layout they come with the records.
    const std::vector<FeatureSection> &features() const { return features_; }
    // Borrowed from the reader. nullopt: not there.
    std::optional<Bytes> feature(unsigned feature) const;

    // The PMU of an event, from the file's own table. Empty: the file does not say.
    std::string pmu_name(uint32_t attr_type) const;
    const std::string &hostname() const { return hostname_; }
    const std::string &os_release() const { return os_release_; }

    // Index into events(). nullopt: the record names no event that the file has.
    std::optional<size_t> event_of_id(uint64_t id) const;
    std::optional<size_t> event_of(const Record &record) const;
    // When a kernel record happened, as the event's clock counts. nullopt: it does not say.
    std::optional<uint64_t> time_of(const Record &record) const;

private:
    explicit Reader(Input input) : input_(std::move(input)) {}
    static Result<Reader> begun(Reader reader);

    Result<Step> begin();
    Result<void> read_file_header(Bytes file);
    Result<void> read_attrs(Bytes section, uint64_t section_offset, size_t entry_bytes);
    void read_features(uint64_t table_offset, Bytes bitmap);
    void read_feature(unsigned feature, Bytes content, uint64_t offset);
    bool read_pmu_mappings(Bytes content);
    bool read_event_desc(Bytes content);
    bool read_groups(Bytes content);
    void read_header_attr(const Record &record);
    void read_header_feature(const Record &record);
    bool may_keep(size_t bytes);
    void read_event_update(const Record &record);
    Result<void> add_event(Bytes attr, Bytes ids, uint64_t offset);
    void warn(Error warning);
    Result<void> find_parts(const std::string &folder);
    std::optional<Bytes> section(uint64_t offset, uint64_t size) const;

    Result<bool> have(size_t wanted);
    Result<Step> outer_record(Record &into);
    bool unpacked_record(Record &into);
    Result<Step> begin_payload(Record &into, size_t size);
    Result<Step> next_piece(Record &into);
    Result<void> begin_packed(const Record &record);
    Result<Step> cut_short(const char *reason, uint32_t type);
    Result<void> break_off(std::string reason, uint32_t type);
    Result<bool> next_part();
    void lose(uint64_t offset, uint64_t bytes, std::string reason, uint32_t type);
    void keep_features();
    void note(const Record &record);
    void pass(size_t bytes);
    std::optional<uint64_t> word_at(Bytes body, size_t at) const;
    std::optional<uint64_t> word_from_end(Bytes body, size_t from_end) const;

    // Where the records of an event keep their id and time, bytes from the start (samples) or from
    // the end (others).
    static constexpr size_t kNowhere = SIZE_MAX;
    struct Places {
        size_t sample_id, trailer_id, sample_time, trailer_time;
    };

    Input input_;
    std::endian order_ = std::endian::little;
    bool begun_ = false, pipe_ = false, pieces_ = true;
    std::optional<Record> ahead_;  // read_front() came to it
    // What read_front() passed on its way and next() gives first, and the last of it that was
    // given.
    struct Kept {
        Record record;
        std::vector<std::byte> body;
    };
    std::deque<Kept> front_;
    Kept given_;

    // What is at hand of the records: ready_ bytes at at_, which is position_ in the file.
    const std::byte *at_ = nullptr;
    size_t ready_ = 0;
    uint64_t position_ = 0, end_ = 0;
    uint64_t data_begin_ = 0, data_end_ = 0;
    uint64_t forget_at_ = 0;
    uint64_t piece_left_ = 0;  // of the payload that piece_ began
    Record piece_;
    // Not in the reader itself: records view it, and a reader is moved.
    std::unique_ptr<std::array<std::byte, 64>> piece_body_ =
        std::make_unique<std::array<std::byte, 64>>();
    size_t piece_body_bytes_ = 0;
    std::unique_ptr<Unpacker> unpacker_;
    uint64_t packed_offset_ = 0;  // of the record whose content is being unpacked
    bool unpacking_failed_ = false;

    std::vector<std::string> more_parts_;  // of a directory, last one first
    std::optional<std::string> missing_part_;
    bool is_directory_ = false;
    std::string part_;

    std::vector<Event> events_;
    Budget event_bytes_{limits::kEvents};
    bool events_warned_ = false;
    std::vector<Places> places_;
    FlatMap<uint32_t> event_by_id_;
    std::map<uint32_t, std::string> pmu_by_type_;
    std::vector<FeatureSection> features_;
    bool features_in_file_ = false;
    std::map<unsigned, std::vector<std::byte>> feature_bytes_;  // of a pipe
    std::string hostname_, os_release_;
    std::vector<Error> warnings_;
    std::optional<Damage> damage_;
};

}  // namespace pmukit::perfdata
