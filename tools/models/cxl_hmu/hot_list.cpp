// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "models/cxl_hmu/hot_list.hpp"

#include <algorithm>
#include <cassert>

namespace pmukit::models::cxl_hmu {

HotList::HotList(unsigned entries, unsigned outstanding) : ring_(entries), waiting_(outstanding)
{
    assert(entries >= 2);
}

void HotList::push(uint64_t entry)
{
    ring_[tail_] = entry;
    tail_ = (tail_ + 1) % size();
}

HotList::Put HotList::put(uint64_t entry)
{
    if (!full()) {
        push(entry);
        return Put::kStored;
    }
    if (waiting_used_ == waiting_.size())
        return Put::kDiscarded;
    waiting_[(waiting_first_ + waiting_used_++) % waiting_.size()] = entry;
    return Put::kPostponed;
}

bool HotList::set_head(unsigned index)
{
    if (index >= size())
        return false;
    head_ = index;
    return true;
}

bool HotList::set_tail(unsigned index)
{
    if (index >= size())
        return false;
    tail_ = index;
    return true;
}

unsigned HotList::insert_outstanding()
{
    unsigned inserted = 0;
    for (; waiting_used_ != 0 && !full(); inserted++, waiting_used_--) {
        push(waiting_[waiting_first_]);
        waiting_first_ = static_cast<unsigned>((waiting_first_ + 1) % waiting_.size());
    }
    return inserted;
}

uint64_t HotList::outstanding_entry(unsigned index) const
{
    return waiting_[(waiting_first_ + index) % waiting_.size()];
}

unsigned HotList::drop_outstanding()
{
    const unsigned dropped = waiting_used_;
    waiting_used_ = 0;
    return dropped;
}

void HotList::reset()
{
    std::fill(ring_.begin(), ring_.end(), 0);
    head_ = tail_ = waiting_first_ = waiting_used_ = 0;
}

}  // namespace pmukit::models::cxl_hmu
