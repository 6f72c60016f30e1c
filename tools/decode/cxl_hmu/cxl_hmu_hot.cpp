// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "decode/cxl_hmu/cxl_hmu_hot.hpp"

#include <utility>

#include "base/saturate.hpp"
#include "decode/cxl_hmu/cxl_hmu_units.hpp"

namespace pmukit::decode::cxl_hmu {
namespace {

uint64_t shift_or_max(uint64_t value, unsigned by)
{
    return value > (UINT64_MAX >> by) ? UINT64_MAX : value << by;
}

}  // namespace

struct __attribute__((visibility("hidden"))) HotList::State {
    State(std::optional<unsigned> unit_log2, size_t most_units)
        : default_unit_log2_(unit_log2), units_(most_units)
    {
    }

    void record(const Record &record);
    bool note_sequence(const Record &record);
    void add_entries(const Record &record, unsigned unit_log2, unsigned downsampling_log2);

    std::optional<unsigned> default_unit_log2_;
    HotTotals totals_;
    UnitTable units_;
    std::optional<uint64_t> last_sequence_;
    bool begins_later_ = false;
    uint64_t lost_before_restart_ = 0, lost_since_ = 0;
    // Time of the last record that has a time. It stands in for the time of records without one.
    uint64_t last_time_ns_ = 0;
    Watch watch_;
};

// Returns false for a duplicate record (stock perf's reader can write a burst twice).
bool HotList::State::note_sequence(const Record &record)
{
    if (!record.sequence)
        return true;
    uint64_t sequence = *record.sequence;
    const bool is_newer = !record.time_ns || *record.time_ns > last_time_ns_;
    bool restarted = last_sequence_ && sequence == 0 && *last_sequence_ != 0 && is_newer;
    // When an event is re-enabled, its sequence number and its count of losses restart at 0.
    if (restarted) {
        lost_before_restart_ = add_or_max(lost_before_restart_, lost_since_);
        lost_since_ = 0;
        last_sequence_.reset();
        begins_later_ = false;
    }
    if (last_sequence_ && sequence <= *last_sequence_) {
        totals_.duplicates++;
        return false;
    }
    const uint64_t first = begins_later_ ? sequence : 0;
    uint64_t expected = last_sequence_ ? *last_sequence_ + 1 : first;
    totals_.sequence_gaps = add_or_max(totals_.sequence_gaps, sequence - expected);
    last_sequence_ = sequence;
    return true;
}

void HotList::State::add_entries(const Record &record, unsigned unit_log2,
                                 unsigned downsampling_log2)
{
    const bool counts = !(record.flags & PMUKIT_CXL_HMU_F_ALWAYS_ON);
    const uint64_t largest = record.count_of(UINT64_MAX);
    for (size_t i = 0; i < record.entries.size(); i++) {
        uint64_t entry = record.entries[i];
        uint64_t unit = record.unit_of(entry), count = record.count_of(entry);
        if (unit > (UINT64_MAX >> unit_log2)) {
            totals_.invalid++;
            continue;
        }
        HotUnit &heat = units_.at(unit << unit_log2);
        heat.epochs++;
        if (!counts) {
            if (watch_)
                watch_(unit << unit_log2, last_time_ns_, 1);
            continue;
        }
        uint64_t accesses = shift_or_max(count, downsampling_log2);
        totals_.saturated += count == largest;
        heat.accesses = add_or_max(heat.accesses, accesses);
        totals_.accesses = add_or_max(totals_.accesses, accesses);
        if (watch_)
            watch_(unit << unit_log2, last_time_ns_, accesses);
    }
}

void HotList::State::record(const Record &record)
{
    if (!note_sequence(record))
        return;
    totals_.records++;
    totals_.without_time += !record.time_ns;
    last_time_ns_ = record.time_ns.value_or(last_time_ns_);
    totals_.entries += record.entries.size();
    totals_.overflows += !!(record.flags & PMUKIT_CXL_HMU_F_OVERFLOW);
    totals_.truncated += !!(record.flags & PMUKIT_CXL_HMU_F_TRUNCATED);
    totals_.resets += !!(record.flags & PMUKIT_CXL_HMU_F_RESET);
    totals_.always_on |= !!(record.flags & PMUKIT_CXL_HMU_F_ALWAYS_ON);
    if (record.lost)
        lost_since_ = *record.lost;
    totals_.lost = add_or_max(lost_before_restart_, lost_since_);

    std::optional<unsigned> unit = record.unit_log2 ? record.unit_log2 : default_unit_log2_;
    if (!unit) {
        totals_.without_unit++;
        return;
    }
    totals_.unit_log2 = unit;
    totals_.downsampling_log2 = record.downsampling_log2.value_or(0);
    add_entries(record, *unit, *totals_.downsampling_log2);
}

HotList::HotList(std::optional<unsigned> unit_log2, size_t most_units)
    : state_(std::make_unique<State>(unit_log2, most_units))
{
}
HotList::HotList(HotList &&) noexcept = default;
HotList &HotList::operator=(HotList &&) noexcept = default;
HotList::~HotList() = default;

void HotList::begins_later()
{
    state_->begins_later_ = true;
}

void HotList::watch(Watch watch)
{
    state_->watch_ = std::move(watch);
}

void HotList::record(const Record &record)
{
    state_->record(record);
}

void HotList::skipped(uint64_t /*offset*/, uint64_t bytes)
{
    state_->totals_.skipped_bytes += bytes;
}

const HotTotals &HotList::totals() const
{
    return state_->totals_;
}

size_t HotList::units() const
{
    return all().size();
}

const std::vector<HotUnit> &HotList::all() const
{
    return state_->units_.all();
}

const LeftOut &HotList::left_out() const
{
    return state_->units_.left_out();
}

std::vector<HotUnit> HotList::hottest(size_t limit) const
{
    return state_->units_.hottest(limit);
}

}  // namespace pmukit::decode::cxl_hmu
