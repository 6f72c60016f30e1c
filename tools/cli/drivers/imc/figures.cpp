// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// A flame graph of instruction samples. trace_imc has no call chains: the levels are the thread,
// the program or library, and the function.
#include "cli/drivers/imc/figures.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "cli/drivers/imc/mode.hpp"

namespace pmukit::cli {
namespace {

using decode::imc::Mode;

constexpr size_t kLevels = 3;
constexpr unsigned kAllHue = 0, kThreadHue = 5;
using Path = std::array<std::string, kLevels>;

unsigned hue_of(Mode mode)
{
    constexpr unsigned kHues[] = {4, 2, 3, 1};  // by mode: guest kernel, guest user, kernel, user
    return kHues[static_cast<size_t>(mode)];
}

std::string thread_text(const ImcStack &stack)
{
    const std::string name = stack.command.empty() ? "-" : stack.command;
    return fmt::format("{} {}/{}", name, static_cast<int32_t>(stack.pid),
                       static_cast<int32_t>(stack.tid));
}

Path path_of(const ImcStack &stack)
{
    return {thread_text(stack), fmt::format("{} ({})", stack.object, imc_mode_name(stack.mode)),
            stack.function};
}

// A frame of the last level. Leaves are sorted so that at every level the widest frames come first,
// and equal frames are adjacent.
struct Leaf {
    const ImcStack *stack;
    Path path;
    // Number of samples of the frame at each level that contains this leaf; the last is its own.
    std::array<uint64_t, kLevels> samples;
};

std::vector<Leaf> leaves_of(const std::map<ImcStack, uint64_t> &stacks)
{
    std::map<std::vector<std::string>, uint64_t> sums;
    std::vector<Leaf> leaves;
    for (const auto &[stack, samples] : stacks) {
        const Path path = path_of(stack);
        for (size_t level = 0; level < kLevels; level++)
            sums[{path.begin(), path.begin() + static_cast<ptrdiff_t>(level) + 1}] += samples;
        if (!leaves.empty() && leaves.back().path == path)
            continue;
        leaves.push_back({&stack, path, {}});
    }
    for (Leaf &leaf : leaves)
        for (size_t level = 0; level < kLevels; level++)
            leaf.samples[level] =
                sums[{leaf.path.begin(), leaf.path.begin() + static_cast<ptrdiff_t>(level) + 1}];
    std::ranges::stable_sort(leaves, [](const Leaf &a, const Leaf &b) {
        for (size_t level = 0; level < kLevels; level++)
            if (a.path[level] != b.path[level])
                return a.samples[level] != b.samples[level] ? a.samples[level] > b.samples[level]
                                                            : a.path[level] < b.path[level];
        return false;
    });
    return leaves;
}

html::Flame::Frame frame_of(const Leaf &leaf, size_t level, double left, uint64_t all)
{
    return {leaf.path[level],
            fmt::format("{}: {} samples, {}", leaf.path[level], leaf.samples[level],
                        share_text(leaf.samples[level], all)),
            left,
            part_of(leaf.samples[level], all),
            static_cast<unsigned>(level) + 1,
            level == 0 ? kThreadHue : hue_of(leaf.stack->mode)};
}

html::Flame flame_of(const std::vector<Leaf> &leaves, uint64_t all)
{
    html::Flame flame;
    flame.hues = {"all", "user", "guest-user", "kernel", "guest-kernel", "thread"};
    flame.frames.push_back({"all", fmt::format("all: {} samples", all), 0, 1, 0, kAllHue});
    uint64_t before = 0;
    const Leaf *last = nullptr;
    for (const Leaf &leaf : leaves) {
        bool same = last != nullptr;
        for (size_t level = 0; level < kLevels; level++) {
            same = same && last->path[level] == leaf.path[level];
            if (!same)
                flame.frames.push_back(frame_of(leaf, level, part_of(before, all), all));
        }
        before += leaf.samples[kLevels - 1];
        last = &leaf;
    }
    return flame;
}

}  // namespace

html::Figure flame_figure(const FigureHead &head, const std::map<ImcStack, uint64_t> &stacks,
                          size_t top)
{
    uint64_t all = 0;
    for (const auto &[stack, samples] : stacks)
        all += samples;
    html::Figure figure = figure_of(head, "Where programs and the kernel ran");
    figure.words = {fmt::format(
        "{}: thread, then program or library, then function. trace_imc records no call chains.",
        counted(all, "samples"))};
    figure.table.columns = {{"samples", true}, {"share", true}, {"sum", true},
                            {"command"},       {"pid", true},   {"tid", true},
                            {"mode"},          {"object"},      {"function"}};
    std::vector<std::pair<const ImcStack *, uint64_t>> ranked;
    for (const auto &[stack, samples] : stacks)
        ranked.emplace_back(&stack, samples);
    std::ranges::stable_sort(ranked,
                             [](const auto &a, const auto &b) { return a.second > b.second; });
    const size_t shown = top ? std::min(top, ranked.size()) : ranked.size();
    uint64_t rest = all;
    for (size_t i = 0; i < shown; i++) {
        const auto &[stack, samples] = ranked[i];
        rest -= samples;
        figure.table.rows.push_back(
            {std::to_string(samples), share_text(samples, all), share_text(all - rest, all),
             stack->command, std::to_string(static_cast<int32_t>(stack->pid)),
             std::to_string(static_cast<int32_t>(stack->tid)),
             std::string(imc_mode_name(stack->mode)), stack->object, stack->function});
    }
    if (shown < ranked.size())
        figure.table.rows.push_back({std::to_string(rest), share_text(rest, all), "",
                                     fmt::format("{} more", ranked.size() - shown)});
    figure.table.total = {std::to_string(all), share_text(all, all), "", "all"};
    figure.picture = flame_of(leaves_of(stacks), all);
    return figure;
}

}  // namespace pmukit::cli
