// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The result depends only on the bytes of the stream, not on the pieces in which they arrive. To
// ensure this, a record is delivered only when the next record or the end of the data is known.
#include "decode/imc/imc_decode.hpp"

#include <algorithm>

#include "decode/stream.hpp"

namespace pmukit::decode::imc {
namespace {

constexpr uint64_t kTimebase2Mask = (uint64_t{1} << 42) - 1;
constexpr size_t kTimebase2At = 56;
constexpr size_t kCheckedBytes = 2 * kRecordBytes;  // a record and its successor
constexpr size_t kSearchedBytes = 3 * kRecordBytes;
constexpr size_t kNothingExpected = kRecordBytes;
constexpr size_t kRunBytes = 8192;  // stays in the L1 cache
constexpr unsigned kModeShift = 62;
constexpr uint64_t kKernelAddress = uint64_t{1} << 63;

uint64_t be64(const std::byte *at)
{
    return load<uint64_t>(at, std::endian::big);
}

// Returns the time of the record at this address, or 0 if there is no record. A record with a tb2
// of 0 is rejected: such a record occurs once in 2^42 ticks, whereas other data often has a 0
// there.
uint64_t time_at(const std::byte *at)
{
    const uint64_t tb1 = be64(at), tb2 = be64(at + kTimebase2At);
    return (tb1 & kTimebase2Mask) == tb2 && tb2 != 0 ? tb1 : 0;
}

// Returns the time of the record after the one at this offset, or 0 if the bytes end before it or
// contain no record there.
uint64_t time_behind(Bytes bytes, size_t at)
{
    return bytes.size() - at >= kCheckedBytes ? time_at(bytes.data() + at + kRecordBytes) : 0;
}

// Returns true if a record has a wrong time: the next record is not later than this record, but
// later than the previous record.
bool is_outlier(uint64_t time, uint64_t before, uint64_t next)
{
    return next > before && next <= time;
}

bool is_one(Bytes bytes, size_t at)
{
    return bytes.size() >= at + kRecordBytes && time_at(bytes.data() + at) != 0;
}

// Returns true if there is a record at this offset, and after it the end of the bytes or a record
// with a later time.
bool is_followed(Bytes bytes, size_t at, uint64_t before)
{
    if (bytes.size() - at < kRecordBytes)
        return false;
    const uint64_t time = time_at(bytes.data() + at);
    const bool ends = bytes.size() - at == kRecordBytes;
    return time > before && (ends || time_behind(bytes, at) > time);
}

// Soon after boot, the upper bytes of the timebase are 0. Then the bytes at an offset just before
// or after a record can look like a record, too. Its time is 256 times as large, or has a byte of
// other data as its most significant byte. So the offset with the smallest time is the right one.
// If the true record begins before `bytes`, the result is the record after it.
size_t best_neighbour(Bytes bytes, size_t at, uint64_t before)
{
    constexpr size_t kWord = sizeof(uint64_t);
    size_t best = at;
    for (size_t other = at + 1; other < at + kRecordBytes && other < bytes.size(); other++) {
        const bool near = other < at + kWord || other > at + kRecordBytes - kWord;
        if (near && is_followed(bytes, other, before) &&
            time_at(bytes.data() + other) < time_at(bytes.data() + best))
            best = other;
    }
    return best;
}

}  // namespace

Mode mode_of(const Record &record, ModeRule rule)
{
    if (rule == ModeRule::kHvPr)
        return static_cast<Mode>(record.val >> kModeShift);
    return record.ip & kKernelAddress ? Mode::kKernel : Mode::kUser;
}

struct __attribute__((visibility("hidden"))) StreamDecoder::State {
    explicit State(Sink &sink) : sink_(sink) {}

    void start(uint64_t offset);
    void data(Bytes bytes);
    void loss(uint64_t bytes);
    void end();
    void settle();
    size_t consume(Bytes bytes, bool last);
    size_t take_run(Bytes bytes, bool last);
    size_t search(Bytes bytes, bool last);
    bool begins(Bytes bytes, size_t &at) const;
    void finish_part();

    Sink &sink_;
    Position position_;
    // tb1 of the last delivered record.
    uint64_t last_tb_ = 0;
    bool in_step_ = true;
    // Stream offset of the records, modulo their size.
    std::optional<uint64_t> phase_;
    Carry<8 * kRecordBytes> carry_;
};

void StreamDecoder::State::start(uint64_t offset)
{
    position_ = Position(offset);
    last_tb_ = 0;
    in_step_ = offset % kRecordBytes == 0;
    phase_ = in_step_ ? std::optional<uint64_t>(0) : std::nullopt;
    carry_.clear();
}

// Called while in step. Delivers the records before the first invalid one.
size_t StreamDecoder::State::take_run(Bytes bytes, bool last)
{
    const size_t checked = last ? kRecordBytes : kCheckedBytes;
    if (bytes.size() < checked)
        return 0;
    size_t run = 0;
    uint64_t time = time_at(bytes.data());
    while (time > last_tb_ && run < kRunBytes) {
        const uint64_t next = time_behind(bytes, run);
        if (is_outlier(time, last_tb_, next))
            break;
        last_tb_ = time;
        run += kRecordBytes;
        if (bytes.size() - run < checked)
            break;
        time = next;
    }
    if (run)
        sink_.records(position_.offset(), Records(bytes.first(run)));
    position_.move(run);
    in_step_ = run != 0;
    return run;
}

// Called while out of step. Returns true if a record begins at `at`. If a neighboring offset is a
// better match, sets `at` to that offset.
bool StreamDecoder::State::begins(Bytes bytes, size_t &at) const
{
    const size_t to_expected =
        phase_ ? (*phase_ - position_.offset() - at) % kRecordBytes : kNothingExpected;
    if (to_expected == 0) {
        const uint64_t time = time_at(bytes.data() + at);
        return time > last_tb_ && !is_outlier(time, last_tb_, time_behind(bytes, at));
    }
    if (!is_followed(bytes, at, last_tb_))
        return false;
    if (to_expected != kNothingExpected && is_one(bytes, at + to_expected))
        return false;
    at = best_neighbour(bytes, at, last_tb_);
    return true;
}

// Skips the bytes before the next record. If too few bytes remain for a decision, they are left for
// the next call.
size_t StreamDecoder::State::search(Bytes bytes, bool last)
{
    const size_t checked = last ? kRecordBytes : kSearchedBytes;
    size_t at = 0;
    while (!in_step_ && bytes.size() - at >= checked) {
        in_step_ = begins(bytes, at);
        at += !in_step_;
    }
    position_.skip(at);
    if (in_step_) {
        position_.tell_skipped(sink_);
        phase_ = position_.offset() % kRecordBytes;
    }
    return at;
}

// Returns the number of bytes used.
size_t StreamDecoder::State::consume(Bytes bytes, bool last)
{
    size_t used = 0;
    for (;;) {
        const Bytes rest = bytes.subspan(used);
        const bool was_in_step = in_step_;
        const size_t took = in_step_ ? take_run(rest, last) : search(rest, last);
        used += took;
        if (took == 0 && in_step_ == was_in_step)
            return used;
    }
}

void StreamDecoder::State::data(Bytes bytes)
{
    carry_.data(bytes, [this](Bytes there) { return consume(there, false); });
}

void StreamDecoder::State::settle()
{
    carry_.settle([this](Bytes there) { return consume(there, true); });
}

// Call if no data follows the bytes in carry_. Delivers the whole records in carry_ and skips the
// other bytes.
void StreamDecoder::State::finish_part()
{
    settle();
    position_.skip(carry_.size());
    carry_.clear();
    position_.tell_skipped(sink_);
}

void StreamDecoder::State::loss(uint64_t bytes)
{
    finish_part();
    position_.move(bytes);
    if (bytes == 0)  // a loss of unknown size is always between two records
        phase_ = position_.offset() % kRecordBytes;
    in_step_ = position_.offset() % kRecordBytes == phase_;
}

void StreamDecoder::State::end()
{
    finish_part();
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

void StreamDecoder::settle()
{
    state_->settle();
}

bool looks_like_records(Bytes bytes)
{
    if (bytes.size() < kRecordBytes)
        return false;
    const uint64_t time = time_at(bytes.data());
    return time != 0 && (bytes.size() < kCheckedBytes || time_behind(bytes, 0) > time);
}

// Samples

std::optional<Bytes> words_of_raw(Bytes raw)
{
    constexpr size_t kTagAt = offsetof(pmukit_raw_header, tag);
    if (raw.size() < sizeof(pmukit_raw_header) ||
        load_le<uint32_t>(raw.data() + kTagAt) != PMUKIT_RAW_TAG_IMC)
        return std::nullopt;
    return raw.subspan(sizeof(pmukit_raw_header));
}

std::optional<SampleRecord> parse_sample_record(Bytes words)
{
    constexpr size_t kWord = sizeof(uint64_t);
    if (words.size() < PMUKIT_IMC_WORDS * kWord)
        return std::nullopt;
    const Bytes record = words.subspan(PMUKIT_IMC_W_RECORD * kWord, kRecordBytes);
    if (time_at(record.data()) == 0)
        return std::nullopt;
    return SampleRecord{load_le<uint64_t>(words.data() + PMUKIT_IMC_W_SEQUENCE * kWord),
                        load_le<uint64_t>(words.data() + PMUKIT_IMC_W_LOST * kWord),
                        Records(record)[0]};
}

struct __attribute__((visibility("hidden"))) SampleAccount::State {
    std::optional<uint64_t> last_;
    uint64_t missing_ = 0, lost_ = 0, duplicates_ = 0;
};

SampleAccount::SampleAccount() : state_(std::make_unique<State>()) {}
SampleAccount::SampleAccount(SampleAccount &&) noexcept = default;
SampleAccount &SampleAccount::operator=(SampleAccount &&) noexcept = default;
SampleAccount::~SampleAccount() = default;

bool SampleAccount::note(const SampleRecord &sample)
{
    State &state = *state_;
    if (state.last_ && sample.sequence <= *state.last_) {
        state.duplicates_++;
        return false;
    }
    state.missing_ += state.last_ ? sample.sequence - *state.last_ - 1 : 0;
    state.last_ = sample.sequence;
    state.lost_ = std::max(state.lost_, sample.lost);
    return true;
}

uint64_t SampleAccount::missing() const
{
    return state_->missing_;
}

uint64_t SampleAccount::lost() const
{
    return state_->lost_;
}

uint64_t SampleAccount::duplicates() const
{
    return state_->duplicates_;
}

}  // namespace pmukit::decode::imc
