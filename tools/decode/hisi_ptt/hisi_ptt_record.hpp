// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Decodes the records in samples. A record consists of a header and entries; the header has the
// number and format of the entries. include/uapi/pmukit/hisi_ptt.h describes the layout.
#pragma once

#include <pmukit/hisi_ptt.h>

#include <cstdint>
#include <optional>

#include "base/bytes.hpp"
#include "decode/hisi_ptt/hisi_ptt_decode.hpp"

namespace pmukit::decode::hisi_ptt {

struct Record {
    Format format = Format::k4dw;
    // Whole entries, which the record does not own. If empty, the record only reports a loss.
    Bytes entries;
    // From the extra words. A field is absent if the record has too few extra words.
    std::optional<uint64_t> time_ns, sequence, lost;
    uint64_t flags = 0;  // PMUKIT_HISI_PTT_F_*
};

// Extracts the words from the raw payload of a sample. Returns nullopt if the payload is not from
// hisi_ptt.
std::optional<Bytes> words_of_raw(Bytes raw);
// Returns nullopt if the words are no record, or a truncated one.
std::optional<Record> parse_record(Bytes words);

// Counts missing records by sequence number. Each event and CPU needs a separate object.
class RecordAccount {
public:
    // Call if the first records are in an earlier recording, so that a first sequence number above
    // 0 is no gap.
    void begins_later() { begins_later_ = true; }
    // Returns false for a duplicate (stock perf's reader can write a burst twice).
    bool note(const Record &record);

    uint64_t records() const { return records_; }
    uint64_t lost_entries() const { return lost_before_ + lost_now_; }
    // True if lost_entries() is a lower bound.
    bool at_least() const { return at_least_; }
    uint64_t missing_records() const { return missing_; }
    uint64_t duplicates() const { return duplicates_; }
    uint64_t overruns() const { return overruns_; }
    uint64_t resets() const { return resets_; }
    bool filter_gone() const { return filter_gone_; }

private:
    bool note_sequence(const Record &record);

    uint64_t records_ = 0, missing_ = 0, duplicates_ = 0, overruns_ = 0, resets_ = 0;
    uint64_t lost_before_ = 0, lost_now_ = 0;  // before and since the event was last re-enabled
    bool filter_gone_ = false, at_least_ = false, begins_later_ = false;
    std::optional<uint64_t> last_sequence_;
    uint64_t last_time_ns_ = 0;
};

}  // namespace pmukit::decode::hisi_ptt
