// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Decodes records of trace_imc. Documentation/devices/imc-decode.rst describes the format. Records
// are always big-endian, whatever machine records or reads them.
//
//     | tb1 | ip | val | cpmc1 | cpmc2 | cpmc3 | cpmc4 | tb2 |      8 bytes each
//
// How records are found: the low 42 bits of tb1 must equal tb2, and tb1 must be above the tb1 of
// the previous record. Records are expected at multiples of their size, counted from the last
// record or from offset 0 of the stream. While records are found there, no other offset is
// examined. At any other offset, a record is accepted only if another record or the end of the data
// follows and no neighboring offset fits better. If a record's tb1 is above that of its successor,
// and the successor's tb1 is above that of the previous record, the record is wrong. So a single
// bad time does not make all later records look old.
#pragma once

#include <pmukit/imc.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/bytes.hpp"
#include "decode/decode.hpp"

namespace pmukit::decode::imc {

constexpr size_t kRecordBytes = 64;
constexpr size_t kCounters = 4;

struct Record {
    uint64_t timebase = 0;
    uint64_t ip = 0;
    // The register PIDR, with MSR[HV] and MSR[PR] in the top bits.
    uint64_t val = 0;
    std::array<uint64_t, kCounters> cpmc{};
};

// Mode of the processor.
enum class Mode : uint8_t { kGuestKernel, kGuestUser, kKernel, kUser };
enum class ModeRule : uint8_t {
    kHvPr,     // ISA 3.1 (POWER10) and the software engine: by HV and PR in the record
    kAddress,  // older CPUs: by the address; its upper half is the kernel's
};
Mode mode_of(const Record &record, ModeRule rule);

// Whole records, as an array that does not own its bytes. The bytes may have any alignment.
class Records {
public:
    explicit Records(Bytes bytes) : bytes_(bytes) {}
    size_t size() const { return bytes_.size() / kRecordBytes; }
    // The bytes of one record.
    Bytes bytes(size_t i) const { return bytes_.subspan(i * kRecordBytes, kRecordBytes); }
    Record operator[](size_t i) const
    {
        const std::byte *at = bytes_.data() + i * kRecordBytes;
        return {word(at, 0),
                word(at, 1),
                word(at, 2),
                {word(at, 3), word(at, 4), word(at, 5), word(at, 6)}};
    }

private:
    static uint64_t word(const std::byte *at, size_t index)
    {
        return load<uint64_t>(at + index * sizeof(uint64_t), std::endian::big);
    }
    Bytes bytes_;
};

class Sink {
public:
    virtual ~Sink() = default;
    // Called for one or more adjacent records with increasing times. The records are valid only
    // during the call. Their size is at most a few KiB.
    virtual void records(uint64_t offset, Records records) = 0;
    // Called for bytes that belong to no record, or to a record whose time is not later than the
    // last one's. `offset` is their position in the stream.
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
    // The last record is held back until the next one is known. Delivers or skips this record now.
    void settle();

private:
    struct State;
    std::unique_ptr<State> state_;
};

// Returns true if `bytes` begins with what looks like records. Used for streams whose PMU name is
// unknown.
bool looks_like_records(Bytes bytes);

// The raw payload of a sample

// Extracts the words of the raw payload of a sample. Returns nullopt if the payload is not from
// IMC.
std::optional<Bytes> words_of_raw(Bytes raw);

struct SampleRecord {
    uint64_t sequence = 0, lost = 0;  // since the event was opened
    Record record;
};
// Returns nullopt if there are too few words, or if tb1 and tb2 of the record do not match.
std::optional<SampleRecord> parse_sample_record(Bytes words);

// Counts missing samples by sequence number. Each event of the kernel needs a separate object.
class SampleAccount {
public:
    SampleAccount();
    SampleAccount(SampleAccount &&) noexcept;
    SampleAccount &operator=(SampleAccount &&) noexcept;
    ~SampleAccount();

    // Returns false for a duplicate (stock perf's reader can write a burst twice).
    bool note(const SampleRecord &sample);

    uint64_t missing() const;
    uint64_t lost() const;
    uint64_t duplicates() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace pmukit::decode::imc
