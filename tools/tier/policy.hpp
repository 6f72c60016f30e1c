// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Placement policies: which pages move between a slow node, whose hot pages a hotness monitoring
// unit reports, and a fast node, whose heat no unit counts. A policy is called at the end of each
// interval; it has no side effects but its memory of earlier intervals. Each policy is one file,
// with a page of the same name in Documentation/policies; policies() lists all.
//
//     hot pages of the slow node, hottest first ----+
//     free places of the fast node -----------------+--> decide() --> pages to promote and to
//     demote pages of the fast node, longest idle first ---+
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/budget.hpp"
#include "base/limits.hpp"

namespace pmukit::tier {

// A page on the slow node that was reported as hot in the interval. `id` is any number that the
// caller gives a page.
struct HotPage {
    uint64_t id = 0;
    uint64_t heat = 0;  // accesses that the unit counted in the interval
};

// A page on the fast node. Its accesses are not counted, but the kernel knows whether there were
// any: the accessed bit of page tables.
struct FastPage {
    uint64_t id = 0;
    uint64_t idle = 0;  // intervals since the last access; 0: accessed in the interval that ended
};

class ColdestFirst {
public:
    virtual ~ColdestFirst() = default;
    // Returns the pages of the fast node one after the other, the longest idle first; pages that
    // are equally idle in the order of their last access or promotion.
    virtual std::optional<FastPage> next() = 0;
};

struct Interval {
    uint64_t number = 0;  // from 1; grows by more than 1 if intervals without accesses passed
    std::span<const HotPage> hot;  // the hottest first; each page once
    uint64_t free_pages = 0;       // pages that fit on the fast node without a demotion
    ColdestFirst &coldest;
};

// demote must be executed first: it frees the places for promote.
struct Moves {
    std::vector<uint64_t> promote, demote;
};

class Policy {
public:
    virtual ~Policy() = default;
    virtual Moves decide(const Interval &interval) = 0;
};

struct PolicySettings {
    // Accesses to a page that must be fast instead of slow to pay for one move of the page.
    uint64_t move_cost = 64;
    // Limit of the pages that a policy remembers from earlier intervals.
    size_t most_pages = limits::kPolicy / (kNodeBytes + 64);
};

struct PolicyKind {
    std::string_view name;
    std::unique_ptr<Policy> (*make)(const PolicySettings &settings);
};

std::span<const PolicyKind> policies();
// Returns nullptr if there is no such policy.
const PolicyKind *policy_of_name(std::string_view name);

std::unique_ptr<Policy> make_hottest_first(const PolicySettings &settings);
std::unique_ptr<Policy> make_cost_benefit(const PolicySettings &settings);
std::unique_ptr<Policy> make_hysteresis(const PolicySettings &settings);

// Finds places on the fast node for pages, for policies.
class Places {
public:
    explicit Places(const Interval &interval)
        : free_(interval.free_pages), coldest_(interval.coldest)
    {
    }

    bool has_free() const { return free_ > 0; }
    // Promotes a page to a free place or, if there is none, to that of the coldest page, provided
    // that this page has been idle for `idle` intervals. Returns false if there is no place.
    bool promote(uint64_t id, uint64_t idle);
    Moves take_moves() { return std::move(moves_); }

private:
    uint64_t free_;
    ColdestFirst &coldest_;
    std::optional<FastPage> next_;  // the coldest page that is not demoted
    Moves moves_;
};

}  // namespace pmukit::tier
