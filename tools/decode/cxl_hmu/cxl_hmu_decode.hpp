// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Decodes cxl_hmu records. Format: include/uapi/pmukit/cxl_hmu.h.
#pragma once

#include <pmukit/cxl_hmu.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "decode/decode.hpp"
#include "decode/stream.hpp"

namespace pmukit::decode::cxl_hmu {

constexpr size_t kWordBytes = 8;
constexpr uint64_t kMark = PMUKIT_CXL_HMU_MARK;
constexpr std::string_view kPmuPrefix = "cxl_hmu_mem";  // then MEMDEV.CHMU.INSTANCE

// Words of a record as a borrowed array: little-endian, at any alignment.
class Words {
public:
    Words() = default;
    explicit Words(Bytes bytes) : bytes_(bytes) {}
    size_t size() const { return bytes_.size() / kWordBytes; }
    bool empty() const { return size() == 0; }
    uint64_t operator[](size_t i) const
    {
        return load_le<uint64_t>(bytes_.data() + i * kWordBytes);
    }

private:
    Bytes bytes_;
};

struct Record {
    uint64_t offset = 0;  // in the stream, bytes
    uint64_t word0 = 0;
    unsigned counter_width = 0;  // bits of the count in an entry; the unit number is above
    Words extra;                 // all extra words, known or not
    Words entries;               // hot-list entries

    // From the extra words; absent if the record has fewer.
    std::optional<uint64_t> time_ns, sequence, lost;
    std::optional<unsigned> unit_log2, downsampling_log2;
    uint64_t flags = 0;  // PMUKIT_CXL_HMU_F_*

    uint64_t count_of(uint64_t entry) const { return entry & ((uint64_t{1} << counter_width) - 1); }
    uint64_t unit_of(uint64_t entry) const { return entry >> counter_width; }
};

class Sink {
public:
    virtual ~Sink() = default;
    // The record and its words are borrowed for the call.
    virtual void record(const Record &record) = 0;
    // Bytes at this offset of the stream that are part of no record.
    virtual void skipped(uint64_t offset, uint64_t bytes) = 0;
};

class StreamDecoder final : public Decoder {
public:
    explicit StreamDecoder(Sink &sink) : sink_(sink) {}

    void start(uint64_t offset) override;
    void data(Bytes bytes) override;
    void loss(uint64_t bytes) override;
    void end() override;

private:
    size_t consume(Bytes bytes);
    size_t skip_damage(Bytes bytes);
    void drop_carry();
    void fill_carry(Bytes &bytes, size_t wanted);

    Sink &sink_;
    Position position_;
    bool in_step_ = true;           // false: looking for the next record
    std::vector<std::byte> carry_;  // start of an incomplete record; < 1 MiB
};

// Extracts the record's words from the raw payload of a sample. nullopt: not a cxl_hmu payload.
std::optional<Bytes> words_of_raw(Bytes raw);

// True if these bytes begin like a record. For streams whose PMU name is unknown.
bool looks_like_record(Bytes bytes);

}  // namespace pmukit::decode::cxl_hmu
