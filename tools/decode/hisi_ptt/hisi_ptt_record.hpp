// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Decodes the records in samples. A record consists of a header and entries; the header has the
// number and format of the entries. include/uapi/pmukit/hisi_ptt.h describes the layout.
#pragma once

#include <pmukit/hisi_ptt.h>

#include <cstdint>
#include <memory>
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
    RecordAccount();
    RecordAccount(RecordAccount &&) noexcept;
    RecordAccount &operator=(RecordAccount &&) noexcept;
    ~RecordAccount();

    // Call if the first records are in an earlier recording, so that a first sequence number above
    // 0 is no gap.
    void begins_later();
    // Returns false for a duplicate (stock perf's reader can write a burst twice).
    bool note(const Record &record);

    uint64_t records() const;
    uint64_t lost_entries() const;
    // True if lost_entries() is a lower bound.
    bool at_least() const;
    uint64_t missing_records() const;
    uint64_t duplicates() const;
    uint64_t overruns() const;
    uint64_t resets() const;
    bool filter_gone() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace pmukit::decode::hisi_ptt
