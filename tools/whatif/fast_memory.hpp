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
    // Memory of a page, if it is on the fast node.
    static constexpr size_t kPageBytes = 2 * sizeof(uint32_t) + 40;

    FastMemory(std::unique_ptr<tier::Policy> policy, const FastMemorySetup &setup)
        : policy_(std::move(policy)), setup_(setup)
    {
    }

    // Must be called before a page with a number of pages - 1 or less is used.
    void grow(size_t pages)
    {
        if (pages > places_.size())
            places_.resize(pages, kNone);
    }
    // Returns true if the page is on the fast node.
    bool access(uint32_t page, uint64_t accesses = 1)
    {
        const uint32_t place = places_[page];
        if (place == kNone) {
            totals_.slow += accesses;
            return false;
        }
        totals_.fast += accesses;
        Resident &at = residents_[place];
        at.stay += accesses;
        if (at.used != interval_) {
            unlink(place);
            append(place);
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
    static constexpr uint32_t kNone = UINT32_MAX;

    // A page of the fast node, in a list in the order of the last access. `before` and `after` are
    // places.
    struct Resident {
        uint64_t stay = 0;  // accesses since the promotion
        uint64_t used = 0;  // interval of the last access
        uint32_t page = 0;
        uint32_t before = kNone, after = kNone;
    };

    std::optional<tier::FastPage> next() override;
    void sum_heat();
    void promote(uint32_t page);
    void demote(uint32_t page);
    void unlink(uint32_t place);
    void append(uint32_t place);
    bool is_useless(const Resident &page) const { return page.stay < setup_.move_cost; }

    std::unique_ptr<tier::Policy> policy_;
    FastMemorySetup setup_;
    std::vector<uint32_t> places_;  // place of each page in residents_, or kNone: it is slow
    std::vector<Resident> residents_;
    std::vector<uint32_t> free_;  // places of residents_ that are not used
    uint32_t first_ = kNone, last_ = kNone;
    uint32_t next_ = kNone;  // what next() returns
    uint64_t interval_ = 1;
    std::vector<tier::HotPage> hot_;
    PlacementTotals totals_;
};

}  // namespace pmukit::whatif
