// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "decode/hisi_ptt/hisi_ptt_record.hpp"

#include <algorithm>

#include "base/saturate.hpp"

namespace pmukit::decode::hisi_ptt {
namespace {

constexpr size_t kWordBytes = 8;
constexpr size_t kHeaderWords = 2;

uint64_t word(Bytes words, size_t index)
{
    return load_le<uint64_t>(words.data() + index * kWordBytes);
}

std::optional<uint64_t> extra(Bytes words, size_t extra_words, size_t index)
{
    if (index >= extra_words)
        return std::nullopt;
    return word(words, kHeaderWords + index);
}

}  // namespace

std::optional<Bytes> words_of_raw(Bytes raw)
{
    constexpr size_t kTagAt = offsetof(pmukit_raw_header, tag);
    if (raw.size() < sizeof(pmukit_raw_header) ||
        load_le<uint32_t>(raw.data() + kTagAt) != PMUKIT_RAW_TAG_HISI_PTT)
        return std::nullopt;
    return raw.subspan(sizeof(pmukit_raw_header));
}

std::optional<Record> parse_record(Bytes words)
{
    if (words.size() < kHeaderWords * kWordBytes || word(words, 1) != PMUKIT_HISI_PTT_MARK)
        return std::nullopt;
    const uint64_t word0 = word(words, 0);
    const size_t entries = word0 >> PMUKIT_HISI_PTT_W0_ENTRIES_SHIFT & 0xffff;
    const size_t entry_bytes = word0 >> PMUKIT_HISI_PTT_W0_ENTRY_BYTES_SHIFT & 0xff;
    const size_t extra_words = word0 >> PMUKIT_HISI_PTT_W0_EXTRA_WORDS_SHIFT & 0xff;
    if (entry_bytes != k4dwBytes && entry_bytes != k8dwBytes)
        return std::nullopt;
    const size_t header_bytes = (kHeaderWords + extra_words) * kWordBytes;
    if (words.size() < header_bytes || words.size() - header_bytes < entries * entry_bytes)
        return std::nullopt;

    Record record;
    record.format = entry_bytes == k8dwBytes ? Format::k8dw : Format::k4dw;
    record.entries = words.subspan(header_bytes, entries * entry_bytes);
    record.time_ns = extra(words, extra_words, PMUKIT_HISI_PTT_X_TIME);
    record.flags = extra(words, extra_words, PMUKIT_HISI_PTT_X_FLAGS).value_or(0);
    record.sequence = extra(words, extra_words, PMUKIT_HISI_PTT_X_SEQUENCE);
    record.lost = extra(words, extra_words, PMUKIT_HISI_PTT_X_LOST);
    return record;
}

struct __attribute__((visibility("hidden"))) RecordAccount::State {
    bool note(const Record &record);
    bool note_sequence(const Record &record);

    uint64_t records_ = 0, missing_ = 0, duplicates_ = 0, overruns_ = 0, resets_ = 0;
    uint64_t lost_before_ = 0, lost_now_ = 0;  // before and since the event was last re-enabled
    bool filter_gone_ = false, at_least_ = false, begins_later_ = false;
    std::optional<uint64_t> last_sequence_;
    uint64_t last_time_ns_ = 0;
};

bool RecordAccount::State::note_sequence(const Record &record)
{
    const uint64_t sequence = *record.sequence;
    const bool is_newer = !record.time_ns || *record.time_ns > last_time_ns_;
    last_time_ns_ = std::max(last_time_ns_, record.time_ns.value_or(0));
    if (last_sequence_ && sequence == 0 && *last_sequence_ != 0 && is_newer) {
        // When an event is re-enabled, its sequence number and its count of losses restart at 0.
        add_to(lost_before_, lost_now_);
        lost_now_ = 0;
        last_sequence_.reset();
        begins_later_ = false;
    }
    if (last_sequence_ && sequence <= *last_sequence_) {
        duplicates_++;
        return false;
    }
    const uint64_t first = begins_later_ ? sequence : 0;
    add_to(missing_, sequence - (last_sequence_ ? *last_sequence_ + 1 : first));
    last_sequence_ = sequence;
    return true;
}

bool RecordAccount::State::note(const Record &record)
{
    if (record.sequence && !note_sequence(record))
        return false;
    records_++;
    lost_now_ = record.lost.value_or(lost_now_);
    at_least_ |= (record.flags & PMUKIT_HISI_PTT_F_AT_LEAST) != 0;
    overruns_ += (record.flags & PMUKIT_HISI_PTT_F_OVERRUN) != 0;
    resets_ += (record.flags & PMUKIT_HISI_PTT_F_RESET) != 0;
    filter_gone_ |= (record.flags & PMUKIT_HISI_PTT_F_FILTER_GONE) != 0;
    return true;
}

RecordAccount::RecordAccount() : state_(std::make_unique<State>()) {}
RecordAccount::RecordAccount(RecordAccount &&) noexcept = default;
RecordAccount &RecordAccount::operator=(RecordAccount &&) noexcept = default;
RecordAccount::~RecordAccount() = default;

void RecordAccount::begins_later()
{
    state_->begins_later_ = true;
}

bool RecordAccount::note(const Record &record)
{
    return state_->note(record);
}

uint64_t RecordAccount::records() const
{
    return state_->records_;
}

uint64_t RecordAccount::lost_entries() const
{
    return state_->lost_before_ + state_->lost_now_;
}

bool RecordAccount::at_least() const
{
    return state_->at_least_;
}

uint64_t RecordAccount::missing_records() const
{
    return state_->missing_;
}

uint64_t RecordAccount::duplicates() const
{
    return state_->duplicates_;
}

uint64_t RecordAccount::overruns() const
{
    return state_->overruns_;
}

uint64_t RecordAccount::resets() const
{
    return state_->resets_;
}

bool RecordAccount::filter_gone() const
{
    return state_->filter_gone_;
}

}  // namespace pmukit::decode::hisi_ptt
