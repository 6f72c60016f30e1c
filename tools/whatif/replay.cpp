// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "whatif/replay.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <numeric>

namespace pmukit::whatif {
namespace {

constexpr unsigned kMaxDpaLog2 = 52;  // physical addresses are not longer
constexpr uint64_t kNsPerMs = 1'000'000;

Error no_memory(const UnitIndex &index, size_t memory_bytes)
{
    return Error{Errc::kUnsupported,
                 fmt::format("more than {} units of {} bytes: the limit of {} MiB is reached; give "
                             "a larger --unit-bytes or fewer combinations",
                             index.units(), uint64_t{1} << index.unit_log2(), memory_bytes >> 20)};
}

// Pages of 2^page_log2 bytes in a page of the index.
uint64_t pages_of(const UnitIndex &index, const Common &common)
{
    return uint64_t{1} << (index.page_log2() - common.page_log2);
}

uint64_t capacity_of(const Combination &combination, const Common &common, const UnitIndex &index)
{
    return tier::pages_of(combination.fast, common.pages) / pages_of(index, common);
}

std::unique_ptr<tier::Policy> policy_of(const Combination &combination, uint64_t move_cost,
                                        size_t nodes)
{
    tier::PolicySettings settings;
    settings.move_cost = move_cost;
    settings.most_pages /= nodes;
    return combination.policy->make(settings);
}

Result<void> check_capacity(const Combination &combination, const Node &node,
                            const UnitIndex &index)
{
    if (node.capacity_pages != 0)
        return {};
    return Error{Errc::kUsage,
                 fmt::format("--fast {}{}: smaller than one {} of {} bytes", combination.fast.value,
                             combination.fast.percent ? "%" : "",
                             index.unit_log2() == index.page_log2() ? "unit" : "page",
                             uint64_t{1} << index.page_log2())};
}

uint64_t sum_of_largest(std::vector<uint64_t> values, uint64_t number)
{
    const auto end =
        values.begin() + static_cast<ptrdiff_t>(std::min<uint64_t>(number, values.size()));
    std::nth_element(values.begin(), end, values.end(), std::greater<>());
    return std::accumulate(values.begin(), end, uint64_t{0});
}

}  // namespace

Result<void> PageCount::add(uint64_t dpa)
{
    if (index_.count(dpa) == kNoNumber)
        return no_memory(index_, memory_bytes_);
    return {};
}

Node::Node(const Combination &combination, const Common &common, const UnitIndex &index,
           size_t nodes)
    : capacity_pages(capacity_of(combination, common, index)),
      memory(policy_of(combination, common.move_cost * pages_of(index, common), nodes),
             {.capacity_pages = capacity_pages,
              .move_cost = common.move_cost * pages_of(index, common)})
{
}

Outcome Node::outcome(const UnitIndex &index, const Common &common) const
{
    Outcome outcome;
    outcome.placement = memory.totals();
    const uint64_t pages = pages_of(index, common);
    outcome.placement.promotions *= pages;
    outcome.placement.demotions *= pages;
    outcome.placement.useless *= pages;
    outcome.fast_bytes = capacity_pages << index.page_log2();
    outcome.slow_static = outcome.placement.fast + outcome.placement.slow -
                          sum_of_largest(index.accesses(), capacity_pages);
    return outcome;
}

// Accesses of a log

Result<std::unique_ptr<LogReplay>> LogReplay::create(const std::vector<Combination> &combinations,
                                                     const Common &common)
{
    std::unique_ptr<LogReplay> replay(new LogReplay(combinations, common));
    if (Result<void> done = replay->prepare(); !done)
        return done.error();
    return replay;
}

Result<void> LogReplay::prepare()
{
    for (const Combination &combination : combinations_) {
        // Of the accuracy and of the placement.
        if (!left_.take(2 * Chmu::bytes_of(combination.chmu)))
            return Error{Errc::kUsage,
                         fmt::format("--counters {}: the limit of {} MiB is reached; give fewer "
                                     "counters or fewer combinations",
                                     combination.chmu.counters.number, common_.memory_bytes >> 20)};
        const size_t space = space_of(combination), accuracy = accuracy_of(combination);
        const UnitIndex &index = *spaces_[space].index;
        placements_.push_back({space, accuracy, Chmu(combination.chmu),
                               Node(combination, common_, index, combinations_.size()),
                               combination.chmu.epoch});
        if (Result<void> fits = check_capacity(combination, placements_.back().node, index); !fits)
            return fits.error();
    }
    return {};
}

// Memory of a unit and of a page depends on the number of users of the index.
size_t LogReplay::space_of(const Combination &combination)
{
    const auto unit_log2 = static_cast<unsigned>(combination.chmu.tracker.unit_log2);
    const auto known = std::ranges::find(
        spaces_, unit_log2, [](const Space &space) { return space.index->unit_log2(); });
    if (known != spaces_.end())
        return static_cast<size_t>(known - spaces_.begin());
    const auto users = static_cast<size_t>(
        std::ranges::count(combinations_, unit_log2,
                           [](const Combination &each) { return each.chmu.tracker.unit_log2; }));
    spaces_.push_back({std::make_unique<UnitIndex>(unit_log2, common_.page_log2, left_,
                                                   users * Accuracy::kUnitBytes,
                                                   users * FastMemory::kPageBytes)});
    return spaces_.size() - 1;
}

size_t LogReplay::accuracy_of(const Combination &combination)
{
    const auto known = std::ranges::find_if(
        accuracies_, [&](const OneAccuracy &each) { return *each.setup == combination.chmu; });
    if (known != accuracies_.end())
        return static_cast<size_t>(known - accuracies_.begin());
    const size_t space = space_of(combination);
    accuracies_.push_back({&combination.chmu, space,
                           Accuracy(combination.chmu, *spaces_[space].index, common_.hot_units)});
    return accuracies_.size() - 1;
}

Result<void> LogReplay::feed(std::span<const models::cxl_hmu::Request> accesses)
{
    for (const models::cxl_hmu::Request &access : accesses)
        if (access.dpa >> kMaxDpaLog2 != 0)
            return Error{Errc::kDamaged,
                         fmt::format("an access to {:#x}: no device has that address", access.dpa)};
    for (Space &space : spaces_) {
        space.units.clear();
        for (const models::cxl_hmu::Request &access : accesses) {
            const uint32_t unit = space.index->count(access.dpa);
            if (unit == kNoNumber)
                return no_memory(*space.index, common_.memory_bytes);
            space.units.push_back(unit);
        }
    }
    for (OneAccuracy &each : accuracies_)
        each.accuracy.feed(accesses, spaces_[each.space].units);
    for (Placement &placement : placements_)
        feed(placement, spaces_[placement.space], accesses);
    accesses_ += accesses.size();
    return {};
}

// An epoch ends before the next access, not after its last one: behind the last access of the log,
// nothing can profit from a move.
void LogReplay::feed(Placement &placement, const Space &space,
                     std::span<const models::cxl_hmu::Request> accesses)
{
    FastMemory &memory = placement.node.memory;
    memory.grow(space.index->pages());
    for (size_t i = 0; i < accesses.size(); i++) {
        if (placement.in_epoch == placement.epoch)
            end_epoch(placement, *space.index);
        placement.in_epoch++;
        if (!memory.access(space.index->page_of(space.units[i])))
            placement.chmu.access(accesses[i].dpa);
    }
}

void LogReplay::end_epoch(Placement &placement, const UnitIndex &index)
{
    for (const Chmu::Entry &entry : placement.chmu.end_epoch())
        placement.node.memory.report(index.page_of(index.find(entry.unit)), entry.heat);
    placement.node.memory.end_interval();
    placement.in_epoch = 0;
}

Result<void> LogReplay::finish()
{
    for (OneAccuracy &each : accuracies_) {
        each.accuracy.finish();
        if (each.accuracy.totals().epochs == 0)
            return Error{Errc::kUsage,
                         fmt::format("--epoch {}: the log has only {} accesses, and no epoch ends",
                                     each.setup->epoch, accesses_)};
    }
    for (Placement &placement : placements_)
        placement.node.memory.finish();
    return {};
}

std::vector<Outcome> LogReplay::outcomes() const
{
    std::vector<Outcome> all;
    for (const Placement &placement : placements_) {
        all.push_back(placement.node.outcome(*spaces_[placement.space].index, common_));
        all.back().accuracy = accuracies_[placement.accuracy].accuracy.totals();
    }
    return all;
}

// Hot units of a recording

RecordingReplay::RecordingReplay(const Common &common, unsigned unit_log2, size_t combinations)
    : common_(common),
      left_(common.memory_bytes),
      index_(unit_log2, common.page_log2, left_, 0, combinations * FastMemory::kPageBytes)
{
}

Result<std::unique_ptr<RecordingReplay>> RecordingReplay::create(
    const std::vector<Combination> &combinations, const Common &common, unsigned unit_log2)
{
    std::unique_ptr<RecordingReplay> replay(
        new RecordingReplay(common, unit_log2, combinations.size()));
    if (Result<void> done = replay->prepare(combinations); !done)
        return done.error();
    return replay;
}

Result<void> RecordingReplay::prepare(const std::vector<Combination> &combinations)
{
    for (const Combination &combination : combinations) {
        placements_.push_back({Node(combination, common_, index_, combinations.size()),
                               combination.interval_ms * kNsPerMs});
        if (Result<void> fits = check_capacity(combination, placements_.back().node, index_); !fits)
            return fits.error();
    }
    return {};
}

Result<void> RecordingReplay::add(uint64_t dpa, uint64_t time_ns, uint64_t accesses)
{
    const uint32_t unit = index_.count(dpa, accesses);
    if (unit == kNoNumber)
        return no_memory(index_, common_.memory_bytes);
    for (Placement &placement : placements_) {
        FastMemory &memory = placement.node.memory;
        memory.grow(index_.pages());
        if (!started_)
            placement.begin_ns = time_ns;
        if (time_ns > placement.begin_ns && time_ns - placement.begin_ns >= placement.interval_ns) {
            const uint64_t passed = (time_ns - placement.begin_ns) / placement.interval_ns;
            memory.end_interval(passed);
            placement.begin_ns += passed * placement.interval_ns;
        }
        const uint32_t page = index_.page_of(unit);
        if (!memory.access(page, accesses))
            memory.report(page, accesses);
    }
    started_ = true;
    return {};
}

void RecordingReplay::finish()
{
    for (Placement &placement : placements_)
        placement.node.memory.finish();
}

std::vector<Outcome> RecordingReplay::outcomes() const
{
    std::vector<Outcome> all;
    for (const Placement &placement : placements_)
        all.push_back(placement.node.outcome(index_, common_));
    return all;
}

}  // namespace pmukit::whatif
