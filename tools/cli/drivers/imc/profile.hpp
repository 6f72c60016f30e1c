// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Samples of trace_imc by function, thread and stack.
//
// Samples are counted by thread, mode and address. They are symbolized when there are kMostSpots
// addresses, and at the end, because in a pipe maps can follow the samples that need them. Memory
// grows with the number of threads and of named functions; other counts have limits.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <string>

#include "cli/drivers/imc/figures.hpp"
#include "decode/imc/imc_decode.hpp"
#include "session/functions.hpp"
#include "session/threads.hpp"

namespace pmukit::cli {

class ImcProfile {
public:
    // Limits. Above kMostNameless, addresses without a symbol are counted per program. Above
    // kMostStacks, stacks are counted per thread.
    static constexpr size_t kMostSpots = 65536;     // addresses not yet symbolized
    static constexpr size_t kMostNameless = 32768;  // addresses without a symbol
    static constexpr size_t kMostStacks = 65536;    // pairs of a thread and a function
    static constexpr size_t kModes = 4;
    static constexpr const char *kOthers = "[others]";

    struct Spot {
        uint32_t pid, tid;
        decode::imc::Mode mode;
        uint64_t ip;
        auto operator<=>(const Spot &) const = default;
    };
    struct Task {
        std::string command;
        uint32_t pid, tid;
        auto operator<=>(const Task &) const = default;
    };

    // If with_stacks is true, stacks are counted, too. `names` and `threads` must outlive this
    // object.
    ImcProfile(Names &names, const Threads &threads, bool with_stacks)
        : names_(names), threads_(threads), with_stacks_(with_stacks)
    {
    }

    void add(const Spot &spot, uint64_t time_ns);
    // Call after the last sample: symbolizes the remaining samples.
    void finish() { name_spots(); }

    uint64_t samples() const { return samples_; }
    uint64_t of_mode(size_t mode) const { return by_mode_[mode]; }
    // Valid after finish():
    const std::map<Function, uint64_t> &functions() const { return functions_; }
    const std::map<Task, uint64_t> &tasks() const { return tasks_; }
    const std::map<ImcStack, uint64_t> &stacks() const { return stacks_; }
    // Number of samples without a symbol.
    uint64_t without_symbol() const { return without_symbol_; }
    // Number of samples without a symbol that are counted as kOthers.
    uint64_t undivided() const { return undivided_; }
    // Number of samples whose address belonged to one function first and to another one later. They
    // are counted for the first function.
    uint64_t two_meanings() const { return two_meanings_; }

private:
    struct Seen {
        uint64_t samples = 0;
        uint64_t first_ns = UINT64_MAX, last_ns = 0;
    };

    void name_spots();
    void name_spot(const Spot &spot, const Seen &seen, Explainer &explainer);
    void note_function(Function &function, uint64_t samples);
    void note_stack(const Task &task, const Function &function, uint64_t samples);

    Names &names_;
    const Threads &threads_;
    bool with_stacks_;
    // The first element is the time at which the thread got its name and program.
    using Key = std::pair<uint64_t, Spot>;
    std::map<Key, Seen> spots_;
    uint64_t samples_ = 0, without_symbol_ = 0, undivided_ = 0, two_meanings_ = 0;
    std::array<uint64_t, kModes> by_mode_{};
    std::map<Function, uint64_t> functions_;
    size_t nameless_ = 0;  // number of functions_ without a symbol
    std::map<Task, uint64_t> tasks_;
    std::map<ImcStack, uint64_t> stacks_;
};

}  // namespace pmukit::cli
