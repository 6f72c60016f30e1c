// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// How many entries an event lost whose driver adds them to the event's count of lost samples
// (PERF_FORMAT_LOST, LOST_SAMPLES of a recorder). The kernel adds to that count the records that
// did not fit into the event's ring. LOST counts those, of all events of the ring together, and
// comes only when the ring has space again.
#pragma once

#include <linux/perf_event.h>

#include <algorithm>
#include <cstdint>

namespace pmukit::perfdata {

// Each of them says that AUX data is missing behind what its record announces; with COLLISION
// it was not counted how much.
constexpr uint64_t kAuxLossFlags =
    PERF_AUX_FLAG_TRUNCATED | PERF_AUX_FLAG_PARTIAL | PERF_AUX_FLAG_COLLISION;

class LostEntries {
public:
    // The event's AUX data has a gap.
    void gap(uint64_t aux_flags)
    {
        gap_ = true;
        uncounted_ |= (aux_flags & PERF_AUX_FLAG_COLLISION) != 0;
    }
    // Of one ring. counted: of this event; lost: records that LOST tells of; of_others: those of
    // them that the counts of events without entries have.
    void ring(uint64_t counted, uint64_t lost, uint64_t of_others = 0)
    {
        const uint64_t records = lost - std::min(lost, of_others);
        counted_ += counted;
        entries_ += counted - std::min(counted, records);
        lost_ |= lost != 0;
    }

    bool has_gap() const { return gap_; }
    uint64_t counted() const { return counted_; }
    // Without a gap the driver lost none, or its record is lost and the count may be of that.
    uint64_t count() const { return gap_ ? entries_ : 0; }
    // A lost record may be one of a gap.
    bool at_least() const { return uncounted_ || lost_ || gap_ == (counted_ == 0); }
    bool any() const { return count() != 0 || at_least(); }

private:
    uint64_t counted_ = 0, entries_ = 0;
    bool gap_ = false, uncounted_ = false, lost_ = false;
};

}  // namespace pmukit::perfdata
