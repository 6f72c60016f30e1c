// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Samples of events that no driver of pmukit decodes, as in perf script: sorted by time, with whole
// callchains, and one sample for each group member that has counted.
//
//   deferred chains   the user part is in a later record and is joined (Linux 7.2)
//   branch stacks     replace the user part if they are call stacks (--call-graph lbr)
//   stack dumps       are unwound (--call-graph dwarf); incomplete ones are counted
//   :S groups         a record has the counts of all members; each member that advanced yields a
//                     sample with the difference as its period
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/budget.hpp"
#include "base/limits.hpp"
#include "decode/imc/imc_decode.hpp"
#include "perfdata/ordered.hpp"
#include "perfdata/sample.hpp"
#include "perfdata/time_queue.hpp"
#include "session/recording.hpp"

namespace pmukit::cli {

class Unwinder;

// One frame of a call stack.
struct StackFrame {
    decode::imc::Mode mode;
    uint64_t ip;
    auto operator<=>(const StackFrame &) const = default;
};

// True if the innermost frame is in the kernel.
inline bool is_in_kernel(std::span<const StackFrame> frames)
{
    return !frames.empty() && frames.front().mode == decode::imc::Mode::kKernel;
}

struct EventSample {
    size_t event;                        // index of the event that counted
    const perfdata::Sample &sample;      // for a group: the sample of its leader
    uint16_t misc;                       // perf_event_header.misc
    uint64_t period;                     // events that the sample represents
    std::optional<uint64_t> count;       // total of the event, if the sample has it
    std::span<const StackFrame> frames;  // the innermost first
    bool has_chain;                      // false: frames has only the sampled ip
};

class Samples {
public:
    using Each = std::function<void(const EventSample &)>;

    // each: called for every sample. Its EventSample refers to data that is valid only during that
    // call.
    Samples(const Recording &recording, Each each) : recording_(recording), each_(std::move(each))
    {
    }

    // Sets the unwinder of stack dumps; nullptr: they are not unwound.
    void unwind_by(Unwinder *unwinder) { unwinder_ = unwinder; }
    // Call with each record, in the order of the file.
    void note(const perfdata::Record &record);
    // Time before which no further sample is delivered, except for records that come too late to be
    // sorted.
    uint64_t passed_ns() const;
    // Ends the input and delivers all pending samples.
    void finish();

    // After finish(): samples without their deferred user part; samples whose stack dump could not
    // be unwound completely.
    uint64_t chains_missing() const { return chains_missing_; }
    uint64_t stacks_not_unwound() const { return stacks_not_unwound_; }
    // Number of counts that were dropped because of limits::kCounts.
    uint64_t counts_left_out() const { return counts_left_out_; }

private:
    // A sample that waits for the user part of its chain.
    struct Waiting {
        size_t event;
        uint16_t misc;
        uint64_t time_ns;
        std::vector<std::byte> body;
    };
    using Cookie = std::pair<uint32_t, uint64_t>;  // tid, and the kernel's cookie
    using WaitingSamples = std::multimap<Cookie, Waiting>;
    using Counter = std::pair<uint32_t, uint64_t>;  // tid (0: not inherited), event id
    static size_t bytes_of(const Waiting &waiting);
    static constexpr size_t kCountBytes = sizeof(Counter) + sizeof(uint64_t) + kNodeBytes;

    // Processes the records that the time queue releases.
    void give_what_may();
    void take(const perfdata::Record &record);
    void take_sample(const perfdata::Record &record);
    void take_deferred(const perfdata::Record &record);
    void take_exit(const perfdata::Record &record);
    void give_waiting();
    void give_waiting(WaitingSamples::iterator begin, WaitingSamples::iterator end,
                      const perfdata::WordView &user);
    // Delivers a waiting sample. user: the deferred user part of its chain.
    void give_late(const Waiting &waiting, const perfdata::WordView &user);
    void give(size_t event, const perfdata::Sample &sample, uint16_t misc,
              const perfdata::WordView &user);
    void give_counts(EventSample sample);
    void put_frames(const perfdata::Event &event, const perfdata::Sample &sample, uint16_t misc);
    bool put_unwound(const perfdata::Sample &sample);
    void put_words(const perfdata::WordView &words, decode::imc::Mode mode);

    const Recording &recording_;
    Each each_;
    perfdata::TimeQueue queue_;
    perfdata::SampleParser parser_;
    WaitingSamples waiting_;
    Budget waiting_left_{limits::kWaiting};
    std::map<Counter, uint64_t> counted_;
    Budget counted_left_{limits::kCounts};
    std::vector<StackFrame> frames_;
    Unwinder *unwinder_ = nullptr;
    std::vector<uint64_t> calls_;  // instruction pointers of an unwound stack
    uint64_t chains_missing_ = 0, stacks_not_unwound_ = 0, counts_left_out_ = 0;
};

// CPU mode in perf_event_header.misc.
decode::imc::Mode mode_of_misc(uint16_t misc);

}  // namespace pmukit::cli
