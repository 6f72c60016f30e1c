// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "decode/cxl_hmu/cxl_hmu_units.hpp"

#include <algorithm>

#include "base/saturate.hpp"

namespace pmukit::decode::cxl_hmu {
namespace {

constexpr unsigned kFirstSlotsLog2 = 4;

// A lambda, so that the sort inlines it.
constexpr auto hotter = [](const HotUnit &a, const HotUnit &b) {
    if (a.accesses != b.accesses)
        return a.accesses > b.accesses;
    if (a.epochs != b.epochs)
        return a.epochs > b.epochs;
    return a.dpa < b.dpa;
};

}  // namespace

UnitTable::UnitTable(size_t most_units) : most_units_(most_units)
{
    index(kFirstSlotsLog2);
}

// Returns the slot of the unit or, if the unit is not in the table, the free slot for it.
size_t UnitTable::slot_of(uint64_t dpa) const
{
    size_t slot = hash_.slot(dpa, slots_log2_);
    while (slots_[slot] && units_[slots_[slot] - 1].dpa != dpa)
        slot = (slot + 1) & (slots_.size() - 1);
    return slot;
}

void UnitTable::index(unsigned slots_log2)
{
    slots_log2_ = slots_log2;
    slots_.assign(size_t{1} << slots_log2, 0);
    for (uint32_t i = 0; i < units_.size(); i++)
        slots_[slot_of(units_[i].dpa)] = i + 1;
}

void UnitTable::leave_out_colder_half()
{
    const auto middle = units_.begin() + static_cast<ptrdiff_t>(units_.size() / 2);
    std::nth_element(units_.begin(), middle, units_.end(), hotter);
    uint64_t accesses = 0, epochs = 0;
    for (auto unit = middle; unit != units_.end(); ++unit) {
        accesses = std::max(accesses, unit->accesses);
        epochs = std::max(epochs, unit->epochs);
        left_out_.accesses = add_or_max(left_out_.accesses, unit->accesses);
        left_out_.epochs = add_or_max(left_out_.epochs, unit->epochs);
        left_out_.units++;
    }
    left_out_.most_short_accesses = add_or_max(left_out_.most_short_accesses, accesses);
    left_out_.most_short_epochs = add_or_max(left_out_.most_short_epochs, epochs);
    units_.erase(middle, units_.end());
    index(slots_log2_);
}

HotUnit &UnitTable::at(uint64_t dpa)
{
    if (const uint32_t known = slots_[slot_of(dpa)])
        return units_[known - 1];
    if (units_.size() == most_units_)
        leave_out_colder_half();
    if (2 * (units_.size() + 1) > slots_.size())
        index(slots_log2_ + 1);
    units_.push_back({dpa, 0, 0});
    slots_[slot_of(dpa)] = static_cast<uint32_t>(units_.size());
    return units_.back();
}

std::vector<HotUnit> UnitTable::hottest(size_t limit) const
{
    if (limit == 0 || limit >= units_.size()) {
        std::vector<HotUnit> hot = units_;
        std::ranges::sort(hot, hotter);
        return hot;
    }
    std::vector<HotUnit> hot(limit);
    std::ranges::partial_sort_copy(units_, hot, hotter);
    return hot;
}

}  // namespace pmukit::decode::cxl_hmu
