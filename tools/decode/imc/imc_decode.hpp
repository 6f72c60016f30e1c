// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Records of trace_imc from bytes. Format: Documentation/devices/imc-decode.rst. All of it is
// big-endian, whatever recorded it and whatever reads it.
//
//     | tb1 | ip | val | cpmc1 | cpmc2 | cpmc3 | cpmc4 | tb2 |      8 bytes each
//
// Where records begin. A record is one when the low 42 bits of tb1 are tb2, and it is taken when
// tb1 is above that of the record before. Records lie at multiples of their size, counted from the
// last one or from offset 0 of the stream; as long as they do nothing else is looked at. Anywhere
// else another record must follow, or the end of what there is, and no neighbour may look better. A
// record whose tb1 is above that of its successor, which is above the one before, is the one that
// is wrong: a single bad time does not make all later ones look old.
#pragma once

#include <pmukit/imc.h>

#include <cstdint>
#include <optional>

#include "base/bytes.hpp"
#include "decode/decode.hpp"
#include "decode/stream.hpp"

namespace pmukit::decode::imc {

constexpr size_t kRecordBytes = 64;
constexpr size_t kCounters = 4;

struct Record {
    uint64_t timebase = 0;
    uint64_t ip = 0;
    uint64_t val = 0;  // PIDR; the top bits: MSR[HV] and MSR[PR]
    std::array<uint64_t, kCounters> cpmc{};
};

// Where the processor was.
enum class Mode : uint8_t { kGuestKernel, kGuestUser, kKernel, kUser };
enum class ModeRule : uint8_t {
    kHvPr,     // ISA 3.1 (POWER10) and the software engine: the record says
    kAddress,  // before: the upper half of the address space is the kernel's
};
Mode mode_of(const Record &record, ModeRule rule);

// Whole records as a borrowed array, at any alignment.
class Records {
public:
    explicit Records(Bytes bytes) : bytes_(bytes) {}
    size_t size() const { return bytes_.size() / kRecordBytes; }
    // Of one of them, as they stand there.
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
    // One or more records in the order of their times, borrowed for the call; a few KiB at most.
    virtual void records(uint64_t offset, Records records) = 0;
    // Bytes at this offset of the stream that are part of no record, or of one that is too old.
    virtual void skipped(uint64_t offset, uint64_t bytes) = 0;
};

class StreamDecoder final : public Decoder {
public:
    explicit StreamDecoder(Sink &sink) : sink_(sink) {}

    void start(uint64_t offset) override;
    void data(Bytes bytes) override;
    void loss(uint64_t bytes) override;
    void end() override;
    // No more data for now: decides on what waits for the record behind it, without that record.
    void settle();

private:
    size_t consume(Bytes bytes, bool last);
    size_t take_run(Bytes bytes, bool last);
    size_t search(Bytes bytes, bool last);
    bool begins(Bytes bytes, size_t &at) const;
    void finish_part();

    Sink &sink_;
    Position position_;
    uint64_t last_tb_ = 0;  // of the last record
    bool in_step_ = true;
    std::optional<uint64_t> phase_;  // offset of records, modulo their size
    Carry<8 * kRecordBytes> carry_;
};

// Do these bytes begin like records? For streams whose PMU has no known name.
bool looks_like_records(Bytes bytes);

// The raw payload of a sample

// Its words. nullopt: it is not ours.
std::optional<Bytes> words_of_raw(Bytes raw);

struct SampleRecord {
    uint64_t sequence = 0, lost = 0;  // since the event was opened
    Record record;
};
// nullopt: these words end too early, or their record fails the rule of tb1 and tb2.
std::optional<SampleRecord> parse_sample_record(Bytes words);

// What the numbers in samples say about missing ones. One for each event as the kernel has them.
class SampleAccount {
public:
    // False: this sample came before (stock perf's reader can write a burst twice).
    bool note(const SampleRecord &sample);

    uint64_t missing() const { return missing_; }
    uint64_t lost() const { return lost_; }
    uint64_t duplicates() const { return duplicates_; }

private:
    std::optional<uint64_t> last_;
    uint64_t missing_ = 0, lost_ = 0, duplicates_ = 0;
};

}  // namespace pmukit::decode::imc
