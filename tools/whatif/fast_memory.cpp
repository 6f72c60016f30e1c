// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "whatif/fast_memory.hpp"

#include <algorithm>
#include <cassert>
#include <tuple>

namespace pmukit::whatif {

void FastMemory::unlink(uint32_t page)
{
    Page &at = pages_[page];
    (at.before == kEnd ? first_ : pages_[at.before].after) = at.after;
    (at.after == kEnd ? last_ : pages_[at.after].before) = at.before;
    at.before = kSlow;
}

void FastMemory::append(uint32_t page)
{
    Page &at = pages_[page];
    at.used = interval_;
    at.before = last_;
    at.after = kEnd;
    (last_ == kEnd ? first_ : pages_[last_].after) = page;
    last_ = page;
}

std::optional<tier::FastPage> FastMemory::next()
{
    if (next_ == kEnd)
        return std::nullopt;
    const uint32_t page = next_;
    next_ = pages_[page].after;
    return tier::FastPage{page, interval_ - pages_[page].used};
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
    const tier::Moves moves = policy_->decide({.number = interval_,
                                               .hot = hot_,
                                               .free_pages = setup_.capacity_pages - fast_pages_,
                                               .coldest = *this});
    for (const uint64_t id : moves.demote) {
        const auto page = static_cast<uint32_t>(id);
        assert(pages_[page].is_fast());
        unlink(page);
        totals_.useless += is_useless(pages_[page]) ? 2 : 0;
    }
    for (const uint64_t id : moves.promote) {
        const auto page = static_cast<uint32_t>(id);
        assert(!pages_[page].is_fast());
        append(page);
        pages_[page].stay = 0;
    }
    totals_.demotions += moves.demote.size();
    totals_.promotions += moves.promote.size();
    fast_pages_ += moves.promote.size() - moves.demote.size();
    assert(fast_pages_ <= setup_.capacity_pages);
    hot_.clear();
    interval_ += intervals;
}

void FastMemory::finish()
{
    for (uint32_t page = first_; page != kEnd; page = pages_[page].after)
        totals_.useless += is_useless(pages_[page]);
}

}  // namespace pmukit::whatif
