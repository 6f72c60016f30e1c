// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// A fast node of limited size and a policy that fills it. All pages begin on the slow node. A page
// on the fast node is not seen by the unit, so the policy knows only since when it is idle.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "tier/policy.hpp"

namespace pmukit::whatif {

struct FastMemorySetup {
    uint64_t capacity_pages = 0;
    // A stay of a page on the fast node is useless if it has fewer accesses. Also the move_cost of
    // the policy.
    uint64_t move_cost = 0;
};

struct PlacementTotals {
    uint64_t fast = 0, slow = 0;             // accesses
    uint64_t promotions = 0, demotions = 0;  // moves of pages
    uint64_t useless = 0;                    // moves that began or ended a useless stay
};

class FastMemory final : private tier::ColdestFirst {
public:
    static constexpr size_t kPageBytes = 2 * 24;

    FastMemory(std::unique_ptr<tier::Policy> policy, const FastMemorySetup &setup)
        : policy_(std::move(policy)), setup_(setup)
    {
    }

    // Must be called before a page with a number of pages - 1 or less is used.
    void grow(size_t pages)
    {
        if (pages > pages_.size())
            pages_.resize(pages);
    }
    // Returns true if the page is on the fast node.
    bool access(uint32_t page, uint64_t accesses = 1)
    {
        Page &at = pages_[page];
        if (!at.is_fast()) {
            totals_.slow += accesses;
            return false;
        }
        totals_.fast += accesses;
        at.stay += accesses;
        if (at.used != interval_) {
            unlink(page);
            append(page);
        }
        return true;
    }
    // Call for each page that the unit reported in the interval, which must be on the slow node. A
    // page that is reported several times has the sum of its heat.
    void report(uint32_t page, uint64_t heat) { hot_.push_back({page, heat}); }
    // Ends an interval: moves pages as the policy wants. intervals: more than 1 if intervals
    // without an access follow it, in which the policy is not asked.
    void end_interval(uint64_t intervals = 1);
    // Ends the log. A page that is still on the fast node ends its stay there.
    void finish();

    const PlacementTotals &totals() const { return totals_; }

private:
    static constexpr uint32_t kSlow = UINT32_MAX;  // Page::before of a page on the slow node
    static constexpr uint32_t kEnd = UINT32_MAX - 1;

    // Pages of the fast node are in a list, in the order of their last access.
    struct Page {
        uint64_t stay = 0;  // accesses since the promotion
        uint64_t used = 0;  // interval of the last access
        uint32_t before = kSlow, after = kEnd;

        bool is_fast() const { return before != kSlow; }
    };

    std::optional<tier::FastPage> next() override;
    void sum_heat();
    void unlink(uint32_t page);
    void append(uint32_t page);
    bool is_useless(const Page &page) const { return page.stay < setup_.move_cost; }

    std::unique_ptr<tier::Policy> policy_;
    FastMemorySetup setup_;
    std::vector<Page> pages_;
    uint32_t first_ = kEnd, last_ = kEnd;
    uint32_t next_ = kEnd;  // what next() returns
    uint64_t fast_pages_ = 0, interval_ = 1;
    std::vector<tier::HotPage> hot_;
    PlacementTotals totals_;
};

}  // namespace pmukit::whatif
