// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Decodes records of cache_qos_aux. Format: include/uapi/pmukit/cache_qos.h. Headers, readings and
// names have 64 bytes each and are at multiples of 64 in the stream. So damage affects only one
// record, and the offset of the next record is known.
#pragma once

#include <pmukit/cache_qos.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/budget.hpp"
#include "base/bytes.hpp"
#include "base/limits.hpp"
#include "decode/decode.hpp"

namespace pmukit::decode::cache_qos {

constexpr size_t kRecordBytes = PMUKIT_CACHE_QOS_RECORD_BYTES;

// A header record: properties of the readings that follow it.
struct Header {
    uint64_t sequence = 0;
    uint16_t domain = 0;
    uint8_t backend = 0;  // PMUKIT_CACHE_QOS_BACKEND_*
    uint64_t scale = 0;   // bytes per unit
    uint64_t start_ns = 0;
    uint32_t rmids = 0;
    uint8_t width = 0;  // bits of a bandwidth counter
    uint64_t cache_bytes = 0;
    uint64_t lost = 0;  // records lost since the event was opened
};

struct Reading {
    uint64_t time_ns = 0;
    uint64_t sequence = 0;
    uint32_t monitor = 0;
    uint16_t domain = 0;
    uint8_t event = 0;  // PMUKIT_CACHE_QOS_EVENT_*
    uint8_t kind = 0;   // PMUKIT_CACHE_QOS_KIND_*
    uint32_t generation = 0;
    uint32_t status = 0;  // PMUKIT_CACHE_QOS_S_*
    uint64_t raw = 0;     // value in units of Header::scale bytes
    uint64_t bytes = 0;
    uint64_t bound = 0;  // occupancy: the true value is at most this much lower
    uint64_t age_ns = 0;
};

// Returns false if the value of the monitor could not be read, or the monitor has no RMID: the 0 in
// the reading is then no value.
bool has_value(const Reading &reading);

// Part of the name of a monitor, for the readings that follow.
struct NamePart {
    uint64_t sequence = 0;
    uint32_t monitor = 0;
    uint16_t domain = 0;
    uint8_t kind = 0;   // PMUKIT_CACHE_QOS_KIND_*
    uint64_t id = 0;    // process or thread, cgroup; 0: none
    uint32_t life = 0;  // how often the monitor number was assigned to a new owner
    uint8_t part = 0, parts = 0;
    std::string text;
};

using Record = std::variant<Header, Reading, NamePart>;

// The name of a monitor.
struct Name {
    uint8_t kind = 0;
    uint64_t id = 0;
    uint32_t life = 0;
    std::string text;
    // The name for output: "gzip-1234" for a thread, as in perf; a path; a list of CPUs.
    std::string label() const;
    bool operator==(const Name &) const = default;
};

// Names of the monitors of each L3, assembled from their parts.
class Names {
public:
    explicit Names(std::shared_ptr<Budget> left = std::make_shared<Budget>(limits::kMonitors));
    Names(Names &&) noexcept;
    Names &operator=(Names &&) noexcept;
    ~Names();

    void note(const NamePart &part);
    // Returns nullptr if no record has named the monitor.
    const Name *find(uint32_t monitor, uint16_t domain) const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

// Returns nullopt if the bytes are fewer than kRecordBytes, or are not a record of a known version.
std::optional<Record> parse_record(Bytes bytes);

// Returns the text up to the first 0. Control characters, which could affect a terminal, become
// '?'.
std::string text_of(Bytes bytes);

// Names for output; "?" for an unknown number.
std::string_view event_name(uint8_t event);
std::string_view kind_name(uint8_t kind);
std::string_view backend_name(uint8_t backend);
// Returns the name of the lowest bit that is set.
std::string_view status_name(uint32_t status);

class Sink {
public:
    virtual ~Sink() = default;
    virtual void header(uint64_t offset, const Header &header) = 0;
    virtual void reading(uint64_t offset, const Reading &reading) = 0;
    virtual void name(uint64_t offset, const NamePart &part) = 0;
    // Bytes at this offset of the stream that are part of no record.
    virtual void skipped(uint64_t offset, uint64_t bytes) = 0;
};

class StreamDecoder final : public Decoder {
public:
    explicit StreamDecoder(Sink &sink);
    StreamDecoder(StreamDecoder &&) noexcept;
    StreamDecoder &operator=(StreamDecoder &&) noexcept;
    ~StreamDecoder() override;

    void start(uint64_t offset) override;
    void data(Bytes bytes) override;
    void loss(uint64_t bytes) override;
    void end() override;

private:
    struct State;
    std::unique_ptr<State> state_;
};

// True if these bytes begin like records. For streams whose PMU name is unknown.
bool looks_like_records(Bytes bytes);

// Extracts the record from the raw payload of a sample. Returns nullopt if the payload is not of
// cache_qos.
std::optional<Bytes> words_of_raw(Bytes raw);

// Counts missing records by sequence number. Each event and CPU needs a separate object.
class SequenceAccount {
public:
    SequenceAccount();
    SequenceAccount(SequenceAccount &&) noexcept;
    SequenceAccount &operator=(SequenceAccount &&) noexcept;
    ~SequenceAccount();

    // Returns false for a duplicate (stock perf's reader can write a burst twice).
    bool note(uint64_t sequence);

    uint64_t missing() const;
    uint64_t duplicates() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace pmukit::decode::cache_qos
