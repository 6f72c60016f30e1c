// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Decodes cxl_hmu records. include/uapi/pmukit/cxl_hmu.h describes the format.
#pragma once

#include <pmukit/cxl_hmu.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "base/bytes.hpp"
#include "decode/decode.hpp"

namespace pmukit::decode::cxl_hmu {

constexpr size_t kWordBytes = 8;
constexpr uint64_t kMark = PMUKIT_CXL_HMU_MARK;
// In the name of a PMU, MEMDEV.CHMU.INSTANCE follows this prefix.
constexpr std::string_view kPmuPrefix = "cxl_hmu_mem";

// The words of a record, as an array that does not own its bytes. The bytes are little-endian and
// may have any alignment.
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
    // Offset of the record in the stream, in bytes.
    uint64_t offset = 0;
    uint64_t word0 = 0;
    // Number of bits of an entry that are the count. The bits above them are the unit number.
    unsigned counter_width = 0;
    // All extra words, including those that this decoder does not know.
    Words extra;
    Words entries;

    // From the extra words. A field is absent if the record has too few extra words.
    std::optional<uint64_t> time_ns, sequence, lost;
    std::optional<unsigned> unit_log2, downsampling_log2;
    uint64_t flags = 0;  // PMUKIT_CXL_HMU_F_*

    uint64_t count_of(uint64_t entry) const { return entry & ((uint64_t{1} << counter_width) - 1); }
    uint64_t unit_of(uint64_t entry) const { return entry >> counter_width; }
};

class Sink {
public:
    virtual ~Sink() = default;
    // The record and its words are valid only during the call.
    virtual void record(const Record &record) = 0;
    // Called for bytes that belong to no record. `offset` is their position in the stream.
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

// Extracts the record's words from the raw payload of a sample. Returns nullopt if the payload is
// not from cxl_hmu.
std::optional<Bytes> words_of_raw(Bytes raw);

// Returns true if `bytes` begins with what looks like a record. Used for streams whose PMU name is
// unknown.
bool looks_like_record(Bytes bytes);

}  // namespace pmukit::decode::cxl_hmu
