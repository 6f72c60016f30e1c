// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Plans which pages of a process to move between a fast and a slow NUMA node. Pure functions: heat
// and pages in, moves out.
#pragma once

#include <cstdint>
#include <set>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace pmukit::tier {

// A hot range of physical memory. Its heat, in any unit, is spread evenly over it.
struct HotRange {
    uint64_t hpa = 0, bytes = 0;
    double heat = 0;
};

class HeatMap {
public:
    explicit HeatMap(std::vector<HotRange> ranges);  // may overlap; those without bytes are dropped

    // Heat at this address, from the overlapping parts of all ranges.
    double of(uint64_t hpa, uint64_t bytes) const;

private:
    std::vector<HotRange> ranges_;  // sorted by start
    uint64_t longest_ = 0;
};

// One page that the kernel can move.
struct Page {
    uint64_t address = 0;  // in the process
    uint64_t hpa = 0;
    uint32_t node = 0;
};

struct Nodes {
    uint32_t fast = 0, slow = 0;
    // Measured nodes: a page without heat is cold there; on other nodes its heat is unknown.
    std::set<uint32_t> watched{};
};

struct Move {
    uint64_t address = 0;
    double heat = 0;
};

struct Plan {
    // promote: to the fast node, hottest first. demote: from the fast node, coldest first; executed
    // before `promote`, because it frees pages of the fast node.
    std::vector<Move> promote, demote;
    uint64_t fast_pages_before = 0, fast_pages_after = 0;
    double heat = 0, fast_heat_before = 0, fast_heat_after = 0;  // of the whole process
};

class Planner {
public:
    // heat must outlive the planner.
    Planner(const HeatMap &heat, Nodes nodes, uint64_t page_bytes)
        : heat_(heat), nodes_(std::move(nodes)), page_bytes_(page_bytes)
    {
    }

    // Call in any order. Pages that are neither hot nor on the fast node are only counted.
    void add(const Page &page);

    uint64_t pages() const { return pages_; }
    uint64_t fast_pages() const { return residents_.size(); }

    // Plans for at most budget_pages of the process on the fast node. The hottest pages fill the
    // free part of the budget; then hot pages replace pages that are known to be less hot. A page
    // of unknown heat is demoted only if the fast node exceeds the budget, and after all pages of
    // known heat.
    Plan plan(uint64_t budget_pages) const;

private:
    struct Resident {
        Move move;
        bool known;
    };

    void swap(Plan &plan, size_t next, const std::vector<Move> &hot,
              std::vector<Resident> &residents, size_t gone) const;

    const HeatMap &heat_;
    Nodes nodes_;
    uint64_t page_bytes_;
    uint64_t pages_ = 0;
    std::vector<Move> hot_;            // hot pages on other nodes
    std::vector<Resident> residents_;  // pages on the fast node
};

// How much of the fast node a process may use: "420" pages, or "20%" of its pages.
struct Budget {
    uint64_t value = 100;
    bool percent = true;
};

Result<Budget> parse_budget(std::string_view text);
uint64_t pages_of(const Budget &budget, uint64_t process_pages);

}  // namespace pmukit::tier
