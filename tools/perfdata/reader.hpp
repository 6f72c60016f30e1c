// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Reads perf.data, file or pipe layout, either byte order, from bytes that outlive the reader.
//
//     Result<Reader> reader = Reader::open(bytes);
//     for (Record record; ; ) { Result<bool> more = reader->next(record); ... }
//     if (reader->damage()) ...
//
// A record is a view: nothing is copied, nothing is allocated per record, and nothing by a size
// that the file only claims. Where the stream of records breaks off, everything before it has been
// given, and damage() says where and how many bytes are left unread.
#pragma once

#include <bit>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "perfdata/attr.hpp"
#include "perfdata/records.hpp"
#include "perfdata/sample.hpp"

namespace pmukit::perfdata {

struct Event {
    Attr attr;
    std::vector<uint64_t> ids;
    std::string name;  // as recorded; empty when the file does not say
};

struct Damage {
    uint64_t offset;      // where the records break off
    uint64_t lost_bytes;  // from there to the end of the data
    std::string reason;
};

class Reader {
public:
    static Result<Reader> open(Bytes file);

    // False: no more records. Error: a record that is whole but that we cannot read.
    Result<bool> next(Record &into);

    std::endian order() const { return order_; }
    const std::vector<Event> &events() const { return events_; }
    const std::optional<Damage> &damage() const { return damage_; }
    // Header sections that were missing or wrong: not fatal, but names may be unknown.
    const std::vector<Error> &complaints() const { return complaints_; }
    uint64_t position() const { return position_; }

    // The PMU of an event, from the file's own table. Empty: the file does not say.
    std::string pmu_name(uint32_t attr_type) const;
    const std::string &hostname() const { return hostname_; }
    const std::string &os_release() const { return os_release_; }

    // Index into events(). nullopt: the record names no event that the file has.
    std::optional<size_t> event_of_id(uint64_t id) const;
    std::optional<size_t> event_of(const Record &record) const;

private:
    explicit Reader(Bytes file) : file_(file) {}

    Result<void> read_file_header();
    Result<void> read_attrs(Bytes section, uint64_t section_offset, size_t entry_bytes);
    void read_features(uint64_t table_offset, Bytes bitmap);
    void read_feature(unsigned feature, Bytes content, uint64_t offset);
    bool read_pmu_mappings(Bytes content);
    bool read_event_desc(Bytes content);
    void read_header_attr(const Record &record);
    void read_header_feature(const Record &record);
    Result<void> add_event(Bytes attr, Bytes ids, uint64_t offset);
    bool break_off(std::string reason);
    std::optional<Bytes> section(uint64_t offset, uint64_t size) const;

    Bytes file_;
    std::endian order_ = std::endian::little;
    uint64_t position_ = 0, end_ = 0;
    std::vector<Event> events_;
    std::unordered_map<uint64_t, size_t> event_by_id_;
    std::map<uint32_t, std::string> pmu_by_type_;
    std::string hostname_, os_release_;
    std::vector<Error> complaints_;
    std::optional<Damage> damage_;
};

}  // namespace pmukit::perfdata
