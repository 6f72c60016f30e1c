// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// A hotness monitoring unit as a replay uses it: the counters and the hot list of the model, and
// software that reads the whole list at the end of each epoch. Entries that do not fit into the
// list within an epoch are dropped.
#pragma once

#include <cstdint>
#include <vector>

#include "models/cxl_hmu/hot_list.hpp"
#include "models/cxl_hmu/tracker.hpp"

namespace pmukit::whatif {

struct ChmuSetup {
    models::cxl_hmu::CounterScheme counters{};
    models::cxl_hmu::TrackerSettings tracker{};
    unsigned hot_list_entries = 1024;
    uint64_t epoch = 10'000;  // in accesses: a log has no times

    friend bool operator==(const ChmuSetup &, const ChmuSetup &) = default;
};

class Chmu {
public:
    struct Entry {
        uint64_t unit = 0;  // address divided by the unit size
        uint64_t heat = 0;  // accesses: the count times the downsampling factor
    };

    static size_t bytes_of(const ChmuSetup &setup)
    {
        return setup.counters.number * sizeof(models::cxl_hmu::Counters::Counter) +
               setup.hot_list_entries * (sizeof(uint64_t) + sizeof(Entry));
    }

    explicit Chmu(const ChmuSetup &setup)
        : tracker_(setup.counters),
          list_(setup.hot_list_entries, 0),
          width_(setup.tracker.counter_width),
          downsampling_log2_(setup.tracker.downsampling_log2)
    {
        tracker_.start(setup.tracker);
    }

    void access(uint64_t dpa)
    {
        tracker_.request(dpa, [this](uint64_t unit, uint32_t count) { put(unit, count); });
    }

    // Ends an epoch. Returns the entries of the list, and empties it. They are valid until the next
    // call.
    const std::vector<Entry> &end_epoch()
    {
        tracker_.pass_ticks(1, [this](uint64_t unit, uint32_t count) { put(unit, count); });
        entries_.clear();
        for (unsigned at = list_.head(); at != list_.tail(); at = (at + 1) % list_.size()) {
            const uint64_t entry = list_.entry(at);
            const uint64_t count = entry & ((uint64_t{1} << width_) - 1);
            entries_.push_back({entry >> width_, count << downsampling_log2_});
        }
        list_.reset();
        return entries_;
    }

    uint64_t dropped() const { return dropped_; }

private:
    void put(uint64_t unit, uint32_t count)
    {
        const uint64_t entry = unit << width_ | count;
        dropped_ += list_.put(entry) == models::cxl_hmu::HotList::Put::kDiscarded;
    }

    models::cxl_hmu::Tracker tracker_;
    models::cxl_hmu::HotList list_;
    unsigned width_, downsampling_log2_;
    std::vector<Entry> entries_;
    uint64_t dropped_ = 0;
};

}  // namespace pmukit::whatif
