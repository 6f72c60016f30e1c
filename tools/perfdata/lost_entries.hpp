// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Computes how many entries an event lost, for drivers that add lost entries to the event's lost
// count (PERF_FORMAT_LOST, LOST_SAMPLES of a recorder). The kernel adds records to this count that
// did not fit into the event's ring. LOST counts these records, for all events of the ring
// together, and is written only when the ring has space again.
#pragma once

#include <linux/perf_event.h>

#include <algorithm>
#include <cstdint>

namespace pmukit::perfdata {

// Each flag reports missing AUX data after the announced data. COLLISION: the loss was not counted.
constexpr uint64_t kAuxLossFlags =
    PERF_AUX_FLAG_TRUNCATED | PERF_AUX_FLAG_PARTIAL | PERF_AUX_FLAG_COLLISION;

class LostEntries {
public:
    // Call for each gap in the event's AUX data.
    void gap(uint64_t aux_flags)
    {
        gap_ = true;
        uncounted_ |= (aux_flags & PERF_AUX_FLAG_COLLISION) != 0;
    }
    // Adds one ring. counted: lost count of this event; lost: records that LOST reports for the
    // ring; of_others: the part of `lost` that is in the lost counts of the ring's events without
    // entries.
    void ring(uint64_t counted, uint64_t lost, uint64_t of_others = 0)
    {
        const uint64_t records = lost - std::min(lost, of_others);
        counted_ += counted;
        entries_ += counted - std::min(counted, records);
        lost_ |= lost != 0;
    }

    bool has_gap() const { return gap_; }
    uint64_t counted() const { return counted_; }
    // Without a gap, either the driver lost no entries, or the record that reports the gap is
    // itself lost. In that case the lost count may stand for that record, not for entries.
    uint64_t count() const { return gap_ ? entries_ : 0; }
    // True if the count is a lower bound: a lost record may have reported a gap.
    bool at_least() const { return uncounted_ || lost_ || gap_ == (counted_ == 0); }
    bool any() const { return count() != 0 || at_least(); }

private:
    uint64_t counted_ = 0, entries_ = 0;
    bool gap_ = false, uncounted_ = false, lost_ = false;
};

}  // namespace pmukit::perfdata
