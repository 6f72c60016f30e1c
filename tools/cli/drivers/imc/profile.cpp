// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/drivers/imc/profile.hpp"

#include <algorithm>
#include <vector>

namespace pmukit::cli {

void ImcProfile::add(const Spot &spot, uint64_t time_ns)
{
    Seen &seen = spots_[{threads_.since_ns(spot.pid, spot.tid, time_ns), spot}];
    seen.samples++;
    seen.first_ns = std::min(seen.first_ns, time_ns);
    seen.last_ns = std::max(seen.last_ns, time_ns);
    samples_++;
    by_mode_[static_cast<size_t>(spot.mode)]++;
    if (spots_.size() == kMostSpots)
        name_spots();
}

// Symbolizes the hottest addresses first, because only kMostNameless addresses without a symbol
// have separate entries.
void ImcProfile::name_spots()
{
    Explainer explainer = names_.explainer(threads_);
    std::vector<const std::pair<const Key, Seen> *> order;
    order.reserve(spots_.size());
    for (const auto &spot : spots_)
        order.push_back(&spot);
    std::ranges::stable_sort(order, std::ranges::greater(),
                             [](const auto *spot) { return spot->second.samples; });
    for (const auto *spot : order)
        name_spot(spot->first.second, spot->second, explainer);
    spots_.clear();
}

void ImcProfile::name_spot(const Spot &spot, const Seen &seen, Explainer &explainer)
{
    Function function = explainer.function_at(spot.pid, spot.mode, spot.ip, seen.first_ns);
    if (seen.last_ns != seen.first_ns &&
        explainer.function_at(spot.pid, spot.mode, spot.ip, seen.last_ns) != function)
        two_meanings_ += seen.samples;
    note_function(function, seen.samples);
    const Task task{std::string(threads_.command(spot.tid, seen.first_ns)), spot.pid, spot.tid};
    tasks_[task] += seen.samples;
    if (with_stacks_)
        note_stack(task, function, seen.samples);
}

void ImcProfile::note_function(Function &function, uint64_t samples)
{
    without_symbol_ += function.has_symbol ? 0 : samples;
    const bool is_new_nameless = !function.has_symbol && !functions_.contains(function);
    if (is_new_nameless && nameless_ == kMostNameless) {
        function.name = kOthers;
        undivided_ += samples;
    } else if (is_new_nameless) {
        nameless_++;
    }
    functions_[function] += samples;
}

void ImcProfile::note_stack(const Task &task, const Function &function, uint64_t samples)
{
    ImcStack stack{task.command, task.pid, task.tid, function.mode, function.object, function.name};
    if (stacks_.size() >= kMostStacks && !stacks_.contains(stack))
        stack.object = stack.function = kOthers;
    stacks_[stack] += samples;
}

}  // namespace pmukit::cli
