// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Whole records are decoded in place; only a record that spans two pieces of data is copied. After
// damage the decoder searches word by word for a header (the mark is word 1) that is followed by
// another header or by the end of the data, and reports the skipped bytes.
#include "decode/cxl_hmu/cxl_hmu_decode.hpp"

#include <algorithm>
#include <vector>

#include "decode/stream.hpp"

namespace pmukit::decode::cxl_hmu {
namespace {

constexpr size_t kHeaderWords = 2;
constexpr size_t kHeaderBytes = kHeaderWords * kWordBytes;

struct Header {
    uint64_t word0;
    size_t entries;
    size_t extra;
    unsigned counter_width;
    size_t record_bytes() const { return (kHeaderWords + extra + entries) * kWordBytes; }
};

unsigned field_of(uint64_t word, unsigned shift, uint64_t mask)
{
    return static_cast<unsigned>(word >> shift & mask);
}

// Returns nullopt unless the header has the mark, a counter width that leaves bits of an entry for
// the unit, and zero in undefined bits. In the layouts of pmukit 0.1.0 and of the RFC, the number
// of words in the header covers only the entries.
std::optional<Header> parse_header(Bytes bytes)
{
    ByteReader in(bytes);
    std::optional<uint64_t> word0 = in.u64(), mark = in.u64();
    if (!mark || *mark != kMark)
        return std::nullopt;
    constexpr uint64_t kUndefined = 0x00fffffffe000000ULL;
    const size_t words = field_of(*word0, PMUKIT_CXL_HMU_W0_WORDS_SHIFT, 0xffff);
    Header header{*word0, words, field_of(*word0, PMUKIT_CXL_HMU_W0_EXTRA_WORDS_SHIFT, 0xff),
                  field_of(*word0, PMUKIT_CXL_HMU_W0_COUNTER_WIDTH_SHIFT, 0xff)};
    if (header.counter_width < 1 || header.counter_width > 63 || (*word0 & kUndefined))
        return std::nullopt;
    if (*word0 & PMUKIT_CXL_HMU_W0_COUNTS_EXTRA) {
        if (words < header.extra)
            return std::nullopt;
        header.entries = words - header.extra;
    }
    return header;
}

void read_unit(uint64_t word, Record &record)
{
    unsigned unit = (word >> PMUKIT_CXL_HMU_UNIT_LOG2_SHIFT) & 0xff;
    unsigned downsampling = (word >> PMUKIT_CXL_HMU_UNIT_DOWNSAMPLING_SHIFT) & 0xff;
    if (unit < 64)
        record.unit_log2 = unit;
    if (downsampling < 64)
        record.downsampling_log2 = downsampling;
}

void read_extra(Record &record)
{
    const Words &extra = record.extra;
    if (extra.size() > PMUKIT_CXL_HMU_X_TIME)
        record.time_ns = extra[PMUKIT_CXL_HMU_X_TIME];
    if (extra.size() > PMUKIT_CXL_HMU_X_UNIT)
        read_unit(extra[PMUKIT_CXL_HMU_X_UNIT], record);
    if (extra.size() > PMUKIT_CXL_HMU_X_FLAGS)
        record.flags = extra[PMUKIT_CXL_HMU_X_FLAGS];
    if (extra.size() > PMUKIT_CXL_HMU_X_SEQUENCE)
        record.sequence = extra[PMUKIT_CXL_HMU_X_SEQUENCE];
    if (extra.size() > PMUKIT_CXL_HMU_X_LOST)
        record.lost = extra[PMUKIT_CXL_HMU_X_LOST];
}

// `bytes` must contain the whole record.
Record make_record(const Header &header, Bytes bytes, uint64_t offset)
{
    Record record;
    record.offset = offset;
    record.word0 = header.word0;
    record.counter_width = header.counter_width;
    record.extra = Words(bytes.subspan(kHeaderBytes, header.extra * kWordBytes));
    record.entries =
        Words(bytes.subspan(kHeaderBytes + header.extra * kWordBytes, header.entries * kWordBytes));
    read_extra(record);
    return record;
}

// Returns true if `bytes` begins with a record that is followed by another record or by the end of
// the data. `bytes` has at least the size of a header. Used only in the search after damage, in
// which an entry with the value of the mark could be mistaken for a header.
bool chain_begins(Bytes bytes)
{
    if (load_le<uint64_t>(bytes.data() + kWordBytes) != kMark)
        return false;
    const std::optional<Header> header = parse_header(bytes);
    if (!header)
        return false;
    if (header->record_bytes() >= bytes.size())
        return true;
    const Bytes behind = bytes.subspan(header->record_bytes());
    return behind.size() < kHeaderBytes || parse_header(behind);
}

}  // namespace

struct __attribute__((visibility("hidden"))) StreamDecoder::State {
    explicit State(Sink &sink) : sink_(sink) {}

    void start(uint64_t offset);
    void data(Bytes bytes);
    void loss(uint64_t bytes);
    void end();
    size_t consume(Bytes bytes);
    size_t skip_damage(Bytes bytes);
    void drop_carry();
    void fill_carry(Bytes &bytes, size_t wanted);

    Sink &sink_;
    Position position_;
    // False while the decoder searches for the next record.
    bool in_step_ = true;
    // The start of an incomplete record, less than 1 MiB.
    std::vector<std::byte> carry_;
};

void StreamDecoder::State::start(uint64_t offset)
{
    carry_.clear();
    position_ = Position(offset);
    in_step_ = true;
}

// Skips the words before the next record. If fewer bytes than a header remain, they are left for
// the next call.
size_t StreamDecoder::State::skip_damage(Bytes bytes)
{
    // Words are 8-byte aligned in the stream. After a loss, `bytes` may begin inside a word.
    size_t at =
        std::min<size_t>(bytes.size(), (kWordBytes - position_.offset() % kWordBytes) % kWordBytes);
    while (bytes.size() - at >= kHeaderBytes) {
        if (chain_begins(bytes.subspan(at))) {
            in_step_ = true;
            break;
        }
        at += kWordBytes;
    }
    position_.skip(at);
    if (in_step_)
        position_.tell_skipped(sink_);
    return at;
}

// Decodes the whole records at the start of `bytes`. Returns the number of bytes used.
size_t StreamDecoder::State::consume(Bytes bytes)
{
    size_t used = 0;
    while (bytes.size() - used >= kHeaderBytes) {
        Bytes rest = bytes.subspan(used);
        std::optional<Header> header = in_step_ ? parse_header(rest) : std::nullopt;
        if (!header) {
            in_step_ = false;
            used += skip_damage(rest);
            if (!in_step_)
                break;
            continue;
        }
        if (header->record_bytes() > rest.size())
            break;
        sink_.record(make_record(*header, rest, position_.offset()));
        used += header->record_bytes();
        position_.move(header->record_bytes());
    }
    return used;
}

// Moves bytes from `bytes` to carry_ until carry_ has `wanted` bytes or `bytes` is empty.
void StreamDecoder::State::fill_carry(Bytes &bytes, size_t wanted)
{
    size_t more = std::min(bytes.size(), wanted - std::min(wanted, carry_.size()));
    append(carry_, bytes.first(more));
    bytes = bytes.subspan(more);
}

void StreamDecoder::State::data(Bytes bytes)
{
    while (!carry_.empty() && !bytes.empty()) {
        size_t wanted = kHeaderBytes;
        if (std::optional<Header> header = in_step_ ? parse_header(carry_) : std::nullopt)
            wanted = header->record_bytes();
        const Bytes before = bytes;
        fill_carry(bytes, wanted);
        const size_t left = carry_.size() - consume(carry_);
        const size_t taken = before.size() - bytes.size();
        // All unused bytes are part of the new data, so decoding continues there.
        if (left <= taken) {
            bytes = before.subspan(taken - left);
            carry_.clear();
        } else {
            carry_.erase(carry_.begin(), carry_.end() - static_cast<ptrdiff_t>(left));
        }
    }
    size_t used = consume(bytes);
    append(carry_, bytes.subspan(used));
}

void StreamDecoder::State::drop_carry()
{
    position_.skip(carry_.size());
    carry_.clear();
    position_.tell_skipped(sink_);
}

void StreamDecoder::State::loss(uint64_t bytes)
{
    // An incomplete record does not continue after the loss.
    drop_carry();
    position_.move(bytes);
    // A loss of unknown size (0) is always between two records.
    in_step_ = bytes == 0;
}

void StreamDecoder::State::end()
{
    drop_carry();
    in_step_ = true;
}

StreamDecoder::StreamDecoder(Sink &sink) : state_(std::make_unique<State>(sink)) {}
StreamDecoder::StreamDecoder(StreamDecoder &&) noexcept = default;
StreamDecoder &StreamDecoder::operator=(StreamDecoder &&) noexcept = default;
StreamDecoder::~StreamDecoder() = default;

void StreamDecoder::start(uint64_t offset)
{
    state_->start(offset);
}

void StreamDecoder::data(Bytes bytes)
{
    state_->data(bytes);
}

void StreamDecoder::loss(uint64_t bytes)
{
    state_->loss(bytes);
}

void StreamDecoder::end()
{
    state_->end();
}

std::optional<Bytes> words_of_raw(Bytes raw)
{
    constexpr size_t kTagAt = offsetof(pmukit_raw_header, tag);
    static_assert(sizeof(pmukit_raw_header) == 12, "the words must follow 8-byte aligned");
    if (raw.size() < sizeof(pmukit_raw_header) ||
        load_le<uint32_t>(raw.data() + kTagAt) != PMUKIT_RAW_TAG_CXL_HMU)
        return std::nullopt;
    return raw.subspan(sizeof(pmukit_raw_header));
}

bool looks_like_record(Bytes bytes)
{
    return parse_header(bytes).has_value();
}

}  // namespace pmukit::decode::cxl_hmu
