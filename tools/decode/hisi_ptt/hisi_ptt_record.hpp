// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Entries as they travel in samples: a header of words, then entries whose number and format it
// says. Format: include/uapi/pmukit/hisi_ptt.h.
#pragma once

#include <pmukit/hisi_ptt.h>

#include <cstdint>
#include <optional>

#include "base/bytes.hpp"
#include "decode/hisi_ptt/hisi_ptt_decode.hpp"

namespace pmukit::decode::hisi_ptt {

struct Record {
    Format format = Format::k4dw;
    Bytes entries;  // whole ones, borrowed; none: the record only tells of a loss
    // Of the extra words; absent in a record that has fewer.
    std::optional<uint64_t> time_ns, sequence, lost;
    uint64_t flags = 0;  // PMUKIT_HISI_PTT_F_*
};

// The words inside the raw payload of a sample. nullopt: it is not ours.
std::optional<Bytes> words_of_raw(Bytes raw);
// nullopt: these words are no record, or end before it does.
std::optional<Record> parse_record(Bytes words);

// What the numbers of records say about missing ones. One for each event and CPU.
class RecordAccount {
public:
    // The first records are in an earlier recording: whatever number comes first is no gap.
    void begins_later() { begins_later_ = true; }
    // False: this record came before (stock perf's reader can write a burst twice).
    bool note(const Record &record);

    uint64_t records() const { return records_; }
    uint64_t lost_entries() const { return lost_before_ + lost_now_; }
    // More than lost_entries() may be lost.
    bool at_least() const { return at_least_; }
    uint64_t missing_records() const { return missing_; }
    uint64_t duplicates() const { return duplicates_; }
    uint64_t overruns() const { return overruns_; }
    uint64_t resets() const { return resets_; }
    bool filter_gone() const { return filter_gone_; }

private:
    bool note_sequence(const Record &record);

    uint64_t records_ = 0, missing_ = 0, duplicates_ = 0, overruns_ = 0, resets_ = 0;
    uint64_t lost_before_ = 0, lost_now_ = 0;  // before and since the event was last enabled anew
    bool filter_gone_ = false, at_least_ = false, begins_later_ = false;
    std::optional<uint64_t> last_sequence_;
    uint64_t last_time_ns_ = 0;
};

}  // namespace pmukit::decode::hisi_ptt
