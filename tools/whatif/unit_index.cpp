// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "whatif/unit_index.hpp"

#include <algorithm>

namespace pmukit::whatif {

namespace {

constexpr unsigned kFirstSlotsLog2 = 10;

}  // namespace

uint32_t Numbers::add(uint64_t key)
{
    const auto number = static_cast<uint32_t>(keys_.size());
    keys_.push_back(key);
    if (2 * keys_.size() <= slots_.size()) {
        slots_[slot_of(key)] = number + 1;
        return number;
    }
    slots_log2_ = std::max(kFirstSlotsLog2, slots_log2_ + 1);
    slots_.assign(size_t{1} << slots_log2_, 0);
    for (uint32_t i = 0; i < keys_.size(); i++)
        slots_[slot_of(keys_[i])] = i + 1;
    return number;
}

UnitIndex::UnitIndex(unsigned unit_log2, unsigned page_log2, Budget &left, size_t unit_bytes,
                     size_t page_bytes)
    : unit_log2_(unit_log2),
      page_log2_(std::max(unit_log2, page_log2)),
      is_one_(unit_log2_ == page_log2_),
      left_(left),
      unit_bytes_(unit_bytes + Numbers::kKeyBytes + 2 * sizeof(uint32_t)),
      page_bytes_(page_bytes + Numbers::kKeyBytes + 2 * sizeof(uint64_t))
{
}

bool UnitIndex::add(uint64_t unit)
{
    const uint64_t page = unit >> (page_log2_ - unit_log2_);
    uint32_t page_number = is_one_ ? kNoNumber : pages_.find(page);
    const bool is_new_page = page_number == kNoNumber;
    if (!left_.take(unit_bytes_ + (is_new_page ? page_bytes_ : 0)))
        return false;
    if (is_new_page) {
        if (!is_one_)
            page_number = pages_.add(page);
        accesses_.push_back(0);
    }
    last_ = units_.add(unit);
    if (!is_one_)
        page_of_.push_back(page_number);
    return true;
}

}  // namespace pmukit::whatif
