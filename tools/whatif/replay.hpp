// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Replays the accesses of a log, or the hot units of a recording, for many combinations at once.
// The input is read once, in pieces; memory depends on the number of units and pages, not on the
// number of accesses, and has a limit (limits::kWhatIf).
//
//     accesses --> UnitIndex --+--> Accuracy: unit, exact counts        for each setup of the unit
//                              +--> Placement: unit, policy, fast node  for each combination
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/budget.hpp"
#include "base/limits.hpp"
#include "base/result.hpp"
#include "models/cxl_hmu/request.hpp"
#include "whatif/accuracy.hpp"
#include "whatif/combinations.hpp"
#include "whatif/fast_memory.hpp"
#include "whatif/unit_index.hpp"

namespace pmukit::whatif {

// Settings that all combinations share.
struct Common {
    unsigned page_log2 = 12;
    uint64_t hot_units = 64;  // N of Accuracy
    uint64_t move_cost = 64;  // of a page of 2^page_log2 bytes: see tier::PolicySettings
    // Pages in the input, for a budget in percent. See PageCount.
    uint64_t pages = 0;
    size_t memory_bytes = limits::kWhatIf;  // limit for all combinations
};

struct Outcome {
    std::optional<AccuracyTotals> accuracy;  // nullopt: a recording
    PlacementTotals placement;               // its moves are those of pages of 2^page_log2 bytes
    uint64_t fast_bytes = 0;
    // Slow accesses if the pages with the most accesses of the whole input were fast from the
    // start.
    uint64_t slow_static = 0;
};

// Counts the pages of an input, in a pass of its own.
class PageCount {
public:
    explicit PageCount(const Common &common)
        : memory_bytes_(common.memory_bytes),
          index_(common.page_log2, common.page_log2, left_, 0, 0)
    {
    }
    PageCount(const PageCount &) = delete;
    PageCount &operator=(const PageCount &) = delete;
    Result<void> add(uint64_t dpa);
    uint64_t pages() const { return index_.pages(); }

private:
    size_t memory_bytes_;
    Budget left_{memory_bytes_};
    UnitIndex index_;
};

// One fast node with its policy. Pages are those of an index.
struct Node {
    Node(const Combination &combination, const Common &common, const UnitIndex &index,
         size_t nodes);
    Outcome outcome(const UnitIndex &index, const Common &common) const;

    uint64_t capacity_pages;
    FastMemory memory;
};

class LogReplay {
public:
    // Error: a combination does not fit the input or the memory. Units larger than a page move as a
    // whole; so the fast memory must have room for one unit.
    static Result<std::unique_ptr<LogReplay>> create(const std::vector<Combination> &combinations,
                                                     const Common &common);

    // Called for the accesses to each unit in each epoch of the first combination.
    void watch(Accuracy::Watch watch) { accuracies_.front().accuracy.watch(std::move(watch)); }

    Result<void> feed(std::span<const models::cxl_hmu::Request> accesses);
    // Ends the log. Error: it was shorter than an epoch.
    Result<void> finish();
    // In the order of the combinations.
    std::vector<Outcome> outcomes() const;
    uint64_t accesses() const { return accesses_; }

private:
    // Numbers of the units and pages of a piece of the log.
    struct Space {
        std::unique_ptr<UnitIndex> index;
        std::vector<uint32_t> units{};
    };
    struct OneAccuracy {
        const ChmuSetup *setup;
        size_t space;
        Accuracy accuracy;
    };
    struct Placement {
        size_t space, accuracy;
        Chmu chmu;
        Node node;
        uint64_t epoch;
        uint64_t in_epoch = 0;
    };

    LogReplay(const std::vector<Combination> &combinations, const Common &common)
        : combinations_(combinations), common_(common), left_(common.memory_bytes)
    {
    }
    Result<void> prepare();
    size_t space_of(const Combination &combination);
    size_t accuracy_of(const Combination &combination);
    static void feed(Placement &placement, const Space &space,
                     std::span<const models::cxl_hmu::Request> accesses);
    static void end_epoch(Placement &placement, const UnitIndex &index);

    std::vector<Combination> combinations_;
    Common common_;
    Budget left_;
    std::vector<Space> spaces_;  // one for each unit size
    std::vector<OneAccuracy> accuracies_;
    std::vector<Placement> placements_;
    uint64_t accesses_ = 0;
};

class RecordingReplay {
public:
    // unit_log2: of the recording. Error: as of LogReplay.
    static Result<std::unique_ptr<RecordingReplay>> create(
        const std::vector<Combination> &combinations, const Common &common, unsigned unit_log2);

    // A unit that the device reported at this time with so many accesses. A time before that of the
    // previous unit counts as that.
    Result<void> add(uint64_t dpa, uint64_t time_ns, uint64_t accesses);
    void finish();
    std::vector<Outcome> outcomes() const;

private:
    struct Placement {
        Node node;
        uint64_t interval_ns;
        uint64_t begin_ns = 0;  // of the interval
    };

    RecordingReplay(const Common &common, unsigned unit_log2, size_t combinations);
    Result<void> prepare(const std::vector<Combination> &combinations);

    Common common_;
    Budget left_;
    UnitIndex index_;
    std::vector<Placement> placements_;
    bool started_ = false;
};

}  // namespace pmukit::whatif
