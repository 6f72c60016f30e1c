// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "whatif/fast_memory.hpp"

#include <algorithm>
#include <cassert>
#include <tuple>
#include <utility>

namespace pmukit::whatif {

void FastMemory::unlink(uint32_t place)
{
    const Resident &at = residents_[place];
    (at.before == kNone ? first_ : residents_[at.before].after) = at.after;
    (at.after == kNone ? last_ : residents_[at.after].before) = at.before;
}

void FastMemory::append(uint32_t place)
{
    Resident &at = residents_[place];
    at.used = interval_;
    at.before = last_;
    at.after = kNone;
    (last_ == kNone ? first_ : residents_[last_].after) = place;
    last_ = place;
}

void FastMemory::promote(uint32_t page)
{
    assert(places_[page] == kNone);
    uint32_t place = static_cast<uint32_t>(residents_.size());
    if (free_.empty()) {
        residents_.emplace_back();
    } else {
        place = free_.back();
        free_.pop_back();
    }
    residents_[place].page = page;
    residents_[place].stay = 0;
    append(place);
    places_[page] = place;
    totals_.promotions++;
}

void FastMemory::demote(uint32_t page)
{
    const uint32_t place = std::exchange(places_[page], kNone);
    assert(place != kNone);
    unlink(place);
    free_.push_back(place);
    totals_.useless += is_useless(residents_[place]) ? 2 : 0;
    totals_.demotions++;
}

std::optional<tier::FastPage> FastMemory::next()
{
    if (next_ == kNone)
        return std::nullopt;
    const Resident &at = residents_[next_];
    next_ = at.after;
    return tier::FastPage{at.page, interval_ - at.used};
}

// Several units of a page, or several entries of a unit, become one page. The hottest page is then
// the first; pages of equal heat are in the order of their numbers, so that a replay can be
// repeated.
void FastMemory::sum_heat()
{
    std::ranges::sort(hot_, {}, &tier::HotPage::id);
    size_t used = 0;
    for (const tier::HotPage &page : hot_) {
        if (used != 0 && hot_[used - 1].id == page.id)
            hot_[used - 1].heat += page.heat;
        else
            hot_[used++] = page;
    }
    hot_.resize(used);
    std::ranges::sort(hot_, [](const tier::HotPage &a, const tier::HotPage &b) {
        return std::tuple(b.heat, a.id) < std::tuple(a.heat, b.id);
    });
}

void FastMemory::end_interval(uint64_t intervals)
{
    sum_heat();
    next_ = first_;
    const uint64_t used = residents_.size() - free_.size();
    const tier::Moves moves = policy_->decide({.number = interval_,
                                               .hot = hot_,
                                               .free_pages = setup_.capacity_pages - used,
                                               .coldest = *this});
    for (const uint64_t page : moves.demote)
        demote(static_cast<uint32_t>(page));
    for (const uint64_t page : moves.promote)
        promote(static_cast<uint32_t>(page));
    assert(residents_.size() <= setup_.capacity_pages);
    hot_.clear();
    interval_ += intervals;
}

void FastMemory::finish()
{
    for (uint32_t place = first_; place != kNone; place = residents_[place].after)
        totals_.useless += is_useless(residents_[place]);
}

}  // namespace pmukit::whatif
