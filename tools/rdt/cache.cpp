// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "rdt/cache.hpp"

namespace pmukit::rdt {

namespace {

template <typename Element>
bool allocate(Memory<Element> &memory, uint64_t count)
{
    memory.reset(static_cast<Element *>(std::calloc(count, sizeof(Element))));
    return memory != nullptr;
}

}  // namespace

bool Cache::make(const Shape &shape)
{
    sets_ = sets_of(shape);
    ways_ = shape.ways;
    return allocate(slots_, uint64_t{sets_} * ways_);
}

uint32_t Cache::set_of(uint64_t line, uint32_t sets)
{
    return static_cast<uint32_t>((line ^ line >> 14 ^ line >> 23) & (sets - 1));
}

Cache::Slot *Cache::find(Slot *set, uint64_t line) const
{
    for (uint32_t way = 0; way < ways_; way++)
        if (set[way].valid && set[way].line == line)
            return &set[way];
    return nullptr;
}

// Returns the first empty way of the mask, else its least recently used way; nullptr if the mask is
// empty.
Cache::Slot *Cache::victim(Slot *set, uint64_t mask) const
{
    Slot *oldest = nullptr;
    for (uint32_t way = 0; way < ways_; way++) {
        if (!(mask >> way & 1))
            continue;
        if (!set[way].valid)
            return &set[way];
        if (!oldest || set[way].used < oldest->used)
            oldest = &set[way];
    }
    return oldest;
}

void Cache::fill(Slot &slot, const Access &access)
{
    if (slot.valid)
        tallies_[slot.rmid].lines--;
    slot = {access.line, now_, access.rmid, true};
    tallies_[access.rmid].lines++;
}

bool Cache::access(const Access &access)
{
    Slot *set = slots_.get() + uint64_t{set_of(access.line, sets_)} * ways_;
    now_++;
    if (Slot *there = find(set, access.line)) {
        there->used = now_;
        return true;
    }
    Tally &tally = tallies_[access.rmid];
    (access.remote ? tally.remote : tally.local)++;
    if (Slot *slot = victim(set, access.ways))
        fill(*slot, access);
    return false;
}

bool InnerCache::make(const Shape &shape)
{
    lines_ = shape.l2_bytes / kLineBytes;
    return lines_ == 0 || allocate(line_after_, lines_);
}

bool InnerCache::access(uint64_t line)
{
    if (lines_ == 0)
        return false;
    uint64_t &there = line_after_[line & (lines_ - 1)];
    const bool hit = there == line + 1;
    there = line + 1;
    return hit;
}

}  // namespace pmukit::rdt
