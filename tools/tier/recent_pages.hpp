// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// What a policy remembers of pages. Memory is limited: at the limit, the half of the pages is
// forgotten that was not used for the longest time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

#include "base/hash.hpp"

namespace pmukit::tier {

template <typename T>
class RecentPages {
public:
    explicit RecentPages(size_t most) : most_(std::max<size_t>(most, 2)) {}

    // Returns what is known of a page, T() if nothing is, and notes that it was used in this
    // interval. The reference is valid until the next call.
    T &at(uint64_t id, uint64_t interval)
    {
        if (pages_.size() >= most_ && !pages_.contains(id))
            forget_older_half();
        Entry &entry = pages_[id];
        entry.used = interval;
        return entry.value;
    }
    size_t size() const { return pages_.size(); }

private:
    struct Entry {
        T value{};
        uint64_t used = 0;
    };

    void forget_older_half()
    {
        std::vector<std::tuple<uint64_t, uint64_t>> order;  // interval, page
        order.reserve(pages_.size());
        for (const auto &[id, entry] : pages_)
            order.emplace_back(entry.used, id);
        const auto half = order.begin() + static_cast<ptrdiff_t>(order.size() / 2);
        std::nth_element(order.begin(), half, order.end());
        std::for_each(order.begin(), half,
                      [this](const auto &page) { pages_.erase(std::get<1>(page)); });
    }

    size_t most_;
    AddressMap<Entry> pages_;
};

}  // namespace pmukit::tier
