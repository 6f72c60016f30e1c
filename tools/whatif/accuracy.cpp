// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "whatif/accuracy.hpp"

#include <algorithm>
#include <functional>

namespace pmukit::whatif {

void Accuracy::feed(std::span<const models::cxl_hmu::Request> accesses,
                    std::span<const uint32_t> numbers)
{
    counts_.resize(index_.units());
    for (size_t i = 0; i < accesses.size(); i++) {
        uint32_t &count = counts_[numbers[i]];
        if (count++ == 0)
            accessed_.push_back(numbers[i]);
        chmu_.access(accesses[i].dpa);
        if (++in_epoch_ == epoch_)
            end_epoch();
    }
}

void Accuracy::end_epoch()
{
    compare(chmu_.end_epoch());
    totals_.epochs++;
    totals_.dropped = chmu_.dropped();
    forget_counts();
}

void Accuracy::compare(const std::vector<Chmu::Entry> &entries)
{
    of_hottest_.clear();
    for (const uint32_t unit : accessed_)
        of_hottest_.push_back(counts_[unit]);
    const uint64_t hot = std::min<uint64_t>(hot_units_, of_hottest_.size());
    const auto last = of_hottest_.begin() + static_cast<ptrdiff_t>(hot) - 1;
    std::nth_element(of_hottest_.begin(), last, of_hottest_.end(), std::greater<>());

    listed_.clear();
    for (const Chmu::Entry &entry : entries)
        listed_.push_back(index_.find(entry.unit));
    std::ranges::sort(listed_);
    listed_.erase(std::unique(listed_.begin(), listed_.end()), listed_.end());
    const auto right = static_cast<uint64_t>(
        std::ranges::count_if(listed_, [&](uint32_t unit) { return counts_[unit] >= *last; }));

    totals_.hot += hot;
    totals_.listed += listed_.size();
    totals_.listed_right += right;
    totals_.found += std::min(right, hot);
}

void Accuracy::forget_counts()
{
    for (const uint32_t unit : accessed_) {
        if (watch_)
            watch_(number_, index_.dpa_of(unit), counts_[unit]);
        counts_[unit] = 0;
    }
    accessed_.clear();
    in_epoch_ = 0;
    number_++;
}

void Accuracy::finish()
{
    if (in_epoch_ != 0)
        forget_counts();
}

}  // namespace pmukit::whatif
