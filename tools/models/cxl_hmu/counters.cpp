// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "models/cxl_hmu/counters.hpp"

#include <algorithm>
#include <cassert>
#include <span>

namespace pmukit::models::cxl_hmu {

namespace {

// Multiplicative hash (Knuth, TAOCP 6.4): neighboring units map to different sets. The upper 32
// bits are scaled to the number of sets.
uint64_t set_of(uint64_t unit, uint64_t sets)
{
    const uint64_t hash = (unit * 0x9e3779b97f4a7c15u) >> 32;
    return (hash * sets) >> 32;
}

}  // namespace

Counters::Counters(const CounterScheme &scheme)
    : counters_(scheme.number),
      replacement_(scheme.replacement),
      ways_(std::min(scheme.number, scheme.ways)),
      sets_(scheme.number / std::max(ways_, 1u))
{
    assert(ways_ != 0 && scheme.number % ways_ == 0);
}

// Returns true if `way` must be replaced rather than `other`. A free way has neither count nor
// credit, so it is chosen before all ways in use.
bool Counters::gives_way_sooner(const Counter &way, const Counter &other) const
{
    return replacement_ == Replacement::kLeast ? way.count < other.count
                                               : way.credit < other.credit;
}

bool Counters::gives_way(Counter &way) const
{
    switch (replacement_) {
        case Replacement::kCredit:
            return --way.credit == 0;
        case Replacement::kNone:
            return false;
        case Replacement::kLeast:
            return true;
    }
    return false;
}

Counters::Counter *Counters::count(uint64_t unit, uint32_t limit, uint32_t tick)
{
    const std::span<Counter> set(counters_.data() + set_of(unit, sets_) * ways_, ways_);
    Counter *victim = &set[0];
    for (Counter &way : set) {
        if (way.count != 0 && way.unit == unit) {
            way.count += way.count < limit;
            way.credit += way.credit < kMaxCredit;
            return &way;
        }
        if (gives_way_sooner(way, *victim))
            victim = &way;
    }
    if (victim->count != 0 && !gives_way(*victim))
        return nullptr;
    used_ += victim->count == 0;
    *victim = Counter{unit, 1, 1, tick};
    return victim;
}

void Counters::free(Counter &counter)
{
    counter = Counter{};
    used_--;
}

void Counters::free_all()
{
    std::fill(counters_.begin(), counters_.end(), Counter{});
    used_ = 0;
}

}  // namespace pmukit::models::cxl_hmu
