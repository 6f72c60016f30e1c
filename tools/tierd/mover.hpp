// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Moves pages of processes between a slow and a fast node, interval by interval.
//
//     hot ranges of host memory -+
//     pages of the processes ----+--> hot pages --> policy --> demote, promote within the limits
//     idle pages of the node ----+
//
// A page is not moved if it stays (Folio), if the memory policy of its mapping or the cpuset of its
// process forbids the node, if another process maps it, or if it was demoted or refused a short
// time ago. Each time doubles the number of intervals until its next promotion.
//
// All functions must be called by one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/budget.hpp"
#include "base/hash.hpp"
#include "base/limits.hpp"
#include "base/result.hpp"
#include "tier/move_pages.hpp"
#include "tier/plan.hpp"
#include "tier/policy.hpp"
#include "tier/process_pages.hpp"
#include "tier/recent_pages.hpp"
#include "tierd/idle_pages.hpp"
#include "tierd/memory_policies.hpp"
#include "tierd/page_flags.hpp"
#include "topology/memory_map.hpp"

namespace pmukit::tierd {

// What happened to a page, or to a huge page as a whole.
struct PageMove {
    uint32_t process = 0;
    uint64_t address = 0;
    uint64_t pages = 1;
    uint32_t from = 0, to = 0;  // nodes
    bool is_promotion = false;
    uint64_t heat = 0;  // accesses in the interval; 0 for a demotion
    tier::Fate fate = &tier::Moved::moved;
};

// Why a hot page stays on its node.
enum class Stay {
    kLocked,     // Folio::stays
    kForbidden,  // the memory policy of its mapping forbids the fast node
    kCpuset,     // the cpuset of its process lacks the fast node
    kBackOff,    // it was demoted or refused a short time ago
    kNoRoom,     // the fast node, the budget or the limit of moves has no room for it
    kNotChosen,  // the policy did not choose it
};

struct PageStay {
    uint32_t process = 0;
    uint64_t address = 0;
    uint64_t pages = 1;
    uint32_t node = 0;
    uint64_t heat = 0;  // accesses in the interval
    Stay reason = Stay::kNotChosen;
};

struct MoverSetup {
    uint32_t fast = 0, slow = 0;  // nodes
    uint64_t page_bytes = 4096;
    tier::Budget budget{};             // pages of the processes on the fast node
    uint64_t fast_percent = 100;       // share of the fast node that their pages may use
    uint64_t most_moves = UINT64_MAX;  // pages to move in an interval
    bool demotes = true;               // false: pages are promoted into free memory only
    bool dry_run = false;              // reports moves, and makes none
    std::string proc_root = "/proc", sys_root = "/sys";
    tier::MovePages move_pages = tier::system_move_pages;
    std::function<void(const PageMove &)> report = [](const PageMove &) {};
    // Called for a hot page that stays, but only if the reason is another one than the last time.
    std::function<void(const PageStay &)> report_stay = [](const PageStay &) {};
};

// What an interval found and did, in base pages, except where a comment says otherwise.
struct Interval {
    uint64_t processes = 0;          // number of processes
    uint64_t refused_processes = 0;  // number of those whose cpuset lacks the node
    uint64_t pages = 0;              // pages that only one process maps
    uint64_t fast_pages = 0, budget_pages = 0;
    // Hot pages on other nodes, and why some of them are not promoted. A huge page counts once.
    uint64_t hot = 0;
    uint64_t stay = 0;           // locked in memory or unevictable
    uint64_t not_allowed = 0;    // the memory policy of the mapping forbids the fast node
    uint64_t backing_off = 0;    // demoted or refused a short time ago
    uint64_t no_room = 0;        // the fast node, the budget or the limit of moves is exhausted
    uint64_t not_chosen = 0;     // by the policy
    uint64_t refused_pages = 0;  // of the refused processes
    uint64_t left_out = 0;       // limits::kHotPages
    tier::Moved promoted, demoted;
};

class Mover {
public:
    // Error: a file of the kernel is missing or cannot be read. The message says what is needed.
    static Result<std::unique_ptr<Mover>> create(MoverSetup setup,
                                                 std::unique_ptr<tier::Policy> policy);

    // Decides by the hot memory of the interval that ended, and moves pages. Processes that end
    // meanwhile are left out. Error: a privilege is missing, or a file cannot be read.
    Result<Interval> end_interval(std::vector<tier::HotRange> hot,
                                  std::span<const uint32_t> processes);

private:
    struct Process {
        uint32_t pid;
        tier::HeldProcess held;
        std::optional<MemoryPolicies> policies{};  // in this interval, if they were needed
    };
    // A page or huge page. The id has the serial number of the process and the number of the page.
    struct Page {
        uint64_t id = 0, frame = 0, pages = 1;
        double heat = 0;
    };
    struct Resident {
        uint64_t frame = 0;
        uint64_t accessed = 0;  // the last interval with an access, as far as it is known
    };
    struct History {
        uint64_t not_before = 0;     // the first interval in which it may be promoted
        uint32_t times = 0;          // it was demoted or refused
        std::optional<Stay> stay{};  // the reported reason
    };
    class Coldest;

    Mover(MoverSetup setup, std::unique_ptr<tier::Policy> policy, PageFlags flags,
          topology::MemoryMap map)
        : setup_(std::move(setup)),
          policy_(std::move(policy)),
          flags_(std::move(flags)),
          map_(std::move(map))
    {
    }

    std::string folder_of(uint32_t pid) const;
    uint32_t node_of(const Page &page) const;
    Result<void> find_processes(std::span<const uint32_t> pids);
    Result<void> scan(const tier::HeatMap &heat, Interval &interval);
    void visit(uint64_t id, uint64_t hpa, const tier::HeatMap &heat, Interval &interval);
    Result<void> join_huge_pages(Interval &interval);
    void drop_unmovable(Interval &interval);
    Result<void> check_idle();
    bool allows(uint64_t id, uint32_t node);
    void stays(const Page &page, Stay reason, uint64_t &count);
    void note_not_chosen(std::vector<uint64_t> chosen, bool places_are_used, Interval &interval);
    uint64_t free_pages(const Interval &interval) const;
    std::vector<Page> pages_of(const std::vector<uint64_t> &promote);
    Result<void> place(Interval &interval);
    Result<void> move(std::span<const Page> pages, bool is_promotion, Interval &interval);
    void note(const Page &page, bool is_promotion, tier::Fate fate, Interval &interval);
    void report(const Page &page, bool is_promotion, tier::Fate fate);

    MoverSetup setup_;
    std::unique_ptr<tier::Policy> policy_;
    PageFlags flags_;
    topology::MemoryMap map_;
    std::optional<IdlePages> idle_;
    uint64_t number_ = 0;  // of the interval
    uint64_t next_serial_ = 0;
    std::map<uint64_t, Process> processes_;  // by serial number
    std::vector<Page> hot_;
    AddressMap<Resident> residents_, before_;  // by id; of this interval and of the one before
    tier::RecentPages<History> history_{limits::kPolicy / (kNodeBytes + sizeof(History))};
};

}  // namespace pmukit::tierd
