// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Plans which pages of a process to move between a fast and a slow NUMA node. The functions have no
// side effects: their input is heat and pages, their output is moves.
#pragma once

#include <cstdint>
#include <set>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace pmukit::tier {

// A hot range of physical memory. Its heat, which may have any unit, is spread evenly over the
// range.
struct HotRange {
    uint64_t hpa = 0, bytes = 0;
    double heat = 0;
};

class HeatMap {
public:
    explicit HeatMap(std::vector<HotRange> ranges);  // ranges may overlap; empty ones are dropped

    // Returns the heat of the memory from `hpa` on: the share of every range that overlaps it.
    double of(uint64_t hpa, uint64_t bytes) const;

private:
    std::vector<HotRange> ranges_;  // sorted by start
    uint64_t longest_ = 0;
};

// One page that the kernel can move.
struct Page {
    uint64_t address = 0;  // virtual address in the process
    uint64_t hpa = 0;
    uint32_t node = 0;
};

struct Nodes {
    uint32_t fast = 0, slow = 0;
    // Nodes whose heat was measured. A page without heat is cold on these nodes, but of unknown
    // heat on other nodes.
    std::set<uint32_t> watched{};
};

struct Move {
    uint64_t address = 0;
    double heat = 0;
};

struct Plan {
    // promote: pages to move to the fast node, hottest first. demote: pages to move away from the
    // fast node, coldest first. Demotions are executed first, because they free pages of the fast
    // node.
    std::vector<Move> promote, demote;
    uint64_t fast_pages_before = 0, fast_pages_after = 0;
    double heat = 0, fast_heat_before = 0, fast_heat_after = 0;  // of the whole process
};

class Planner {
public:
    // `heat` must outlive the planner.
    Planner(const HeatMap &heat, Nodes nodes, uint64_t page_bytes)
        : heat_(heat), nodes_(std::move(nodes)), page_bytes_(page_bytes)
    {
    }

    // Adds a page of the process; the order of pages is arbitrary. Pages that are neither hot nor
    // on the fast node are only counted.
    void add(const Page &page);

    uint64_t pages() const { return pages_; }
    uint64_t fast_pages() const { return residents_.size(); }

    // Returns a plan that leaves at most budget_pages pages of the process on the fast node. The
    // hottest pages fill the free part of the budget; then hot pages replace pages that are known
    // to be less hot. A page of unknown heat is demoted only if the fast node exceeds the budget,
    // and only after all pages of known heat.
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

// How much of the fast node a process may use: a number of pages ("420"), or a share of the pages
// of the process ("20%").
struct Budget {
    uint64_t value = 100;
    bool percent = true;
};

Result<Budget> parse_budget(std::string_view text);
uint64_t pages_of(const Budget &budget, uint64_t process_pages);

}  // namespace pmukit::tier
