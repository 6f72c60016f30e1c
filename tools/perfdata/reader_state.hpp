// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The implementation of Reader. This header is not installed. Programs that use libpmukit have only
// a pointer to the implementation, so it can change without a new soname.
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
#include "base/hash.hpp"
#include "base/limits.hpp"
#include "base/result.hpp"
#include "perfdata/input.hpp"
#include "perfdata/reader.hpp"
#include "perfdata/records.hpp"

namespace pmukit::perfdata {

// Decompresses the records inside COMPRESSED and COMPRESSED2 records. One zstd stream spans all of
// them, and a record may begin in one and end in the next.
class __attribute__((visibility("hidden"))) Unpacker {
public:
    // nullptr: built without libzstd, or out of memory.
    static std::unique_ptr<Unpacker> make();
    ~Unpacker();
    Unpacker(const Unpacker &) = delete;
    Unpacker &operator=(const Unpacker &) = delete;

    // Sets the next compressed bytes, borrowed until next() has returned all their records.
    void start(Bytes packed);
    // Returns a whole record with its header, borrowed until the next call; empty: call start()
    // with more. Error: the stream or a size in it is invalid, and nothing more can be
    // decompressed.
    Result<Bytes> next(std::endian order);
    // Bytes of a record that is not yet complete.
    size_t remainder() const { return last_ - first_; }
    // True until next() has returned all records of the bytes given to start().
    bool busy() const { return busy_; }

private:
    struct Stream;
    explicit Unpacker(std::unique_ptr<Stream> stream);
    Result<void> fill();

    std::unique_ptr<Stream> stream_;
    Bytes packed_;
    std::unique_ptr<std::byte[]> room_;
    size_t first_ = 0, last_ = 0;  // decompressed and not yet returned
    bool more_ = false;            // the stream may hold more decompressed bytes
    bool busy_ = false;
};

// Hidden: the shared library does not export it.
struct __attribute__((visibility("hidden"))) Reader::State {
    explicit State(Input input) : input_(std::move(input)) {}
    State(const State &) = delete;
    State &operator=(const State &) = delete;

    bool next(Record &into);
    Result<Step> step(Record &into);
    Result<void> read_front();
    std::optional<Bytes> feature(unsigned feature) const;
    const std::string &pmu_name(uint32_t attr_type) const;
    std::optional<size_t> event_of_id(uint64_t id) const;
    std::optional<size_t> event_of(const Record &record) const;
    std::optional<uint64_t> time_of(const Record &record) const;

    Result<Step> begin();
    Result<void> read_file_header(Bytes file);
    Result<void> read_attrs(Bytes section, uint64_t section_offset, size_t entry_bytes);
    bool is_feature_table(uint64_t offset, Bytes bitmap) const;
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

    // Offsets of id and time in the records of an event: from the start in samples, from the end in
    // other records.
    static constexpr size_t kNowhere = SIZE_MAX;
    struct Places {
        size_t sample_id, trailer_id, sample_time, trailer_time;
    };

    Input input_;
    std::endian order_ = std::endian::little;
    bool begun_ = false, pipe_ = false, pieces_ = true;
    std::optional<Record> ahead_;  // the record where read_front() stopped
    struct Kept {
        Record record;
        std::vector<std::byte> body;
    };
    std::deque<Kept> front_;  // records that read_front() read; next() returns them first
    Kept given_;              // the record of front_ that next() returned last

    // at_ points to the next ready_ bytes of the records; position_ is their offset in the file.
    const std::byte *at_ = nullptr;
    size_t ready_ = 0;
    uint64_t position_ = 0, end_ = 0;
    uint64_t data_begin_ = 0, data_end_ = 0;
    uint64_t forget_at_ = 0;
    uint64_t piece_left_ = 0;  // bytes of the payload of piece_ that are not yet returned
    Record piece_;
    std::array<std::byte, 64> piece_body_{};
    size_t piece_body_bytes_ = 0;
    std::unique_ptr<Unpacker> unpacker_;
    uint64_t packed_offset_ = 0;  // offset of the current compressed record
    bool unpacking_failed_ = false;

    std::vector<std::string> more_parts_;  // later files of a directory, in reverse order
    std::optional<std::string> missing_part_;
    std::optional<uint64_t> missing_bytes_;
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
    std::map<unsigned, std::vector<std::byte>> feature_bytes_;  // sections of a pipe or directory
    std::string hostname_, os_release_;
    std::vector<Error> warnings_;
    std::optional<Damage> damage_;
    std::optional<Error> error_;  // the error that ended next()
};

}  // namespace pmukit::perfdata
