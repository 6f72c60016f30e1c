// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Computes how many entries of AUX data an event lost. Some drivers add lost entries to the event's
// lost count, which PERF_FORMAT_LOST and LOST_SAMPLES of a recorder report. The kernel adds to the
// same count the records that did not fit into the event's ring. PERF_RECORD_LOST counts these
// records as well, but for all events of a ring together; the kernel writes it only when the ring
// has space again.
#pragma once

#include <linux/perf_event.h>

#include <algorithm>
#include <cstdint>

#include "base/saturate.hpp"

namespace pmukit::perfdata {

// Flags of an AUX record that report missing data after the data that the record announces.
// COLLISION also means that the driver did not count the loss.
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
    // Adds one ring. counted: the lost count of this event. lost: the number of lost records that
    // PERF_RECORD_LOST reports for the ring. of_others: how many of these records are included in
    // the lost counts of other events, which have no AUX entries.
    void ring(uint64_t counted, uint64_t lost, uint64_t of_others = 0)
    {
        const uint64_t records = lost - std::min(lost, of_others);
        add_to(counted_, counted);
        add_to(entries_, counted - std::min(counted, records));
        lost_ |= lost != 0;
    }

    bool has_gap() const { return gap_; }
    uint64_t counted() const { return counted_; }
    // Returns 0 if there is no gap: either the driver lost no entries, or the record that reports
    // the gap is itself lost. In the second case, the lost count may count that record, not
    // entries.
    uint64_t count() const { return gap_ ? entries_ : 0; }
    // True if the count is a lower bound: the driver did not count a loss, a lost record may have
    // reported a gap, there is a gap but the lost count is 0, or a lost count but no gap.
    bool at_least() const { return uncounted_ || lost_ || gap_ == (counted_ == 0); }
    bool any() const { return count() != 0 || at_least(); }

private:
    uint64_t counted_ = 0, entries_ = 0;
    bool gap_ = false, uncounted_ = false, lost_ = false;
};

}  // namespace pmukit::perfdata
