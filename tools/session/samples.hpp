// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Samples of events that no driver of the suite decodes, as perf script has them: by time, with
// whole callchains, and once for each member of a group that has counted.
//
//   deferred chains   the user part comes in a later record and is joined (Linux 7.2)
//   branch stacks     the user part where the event asked for call stacks (--call-graph lbr)
//   copies of stacks  unwound (--call-graph dwarf); samples of which calls are missing are counted
//   :S groups         a sample brings the count of each member; each that went on has a sample, and
//                     its period is by how much
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
#include "session/recording.hpp"

namespace pmukit::cli {

class Unwinder;

// Where a program was, and through which calls it came there.
struct StackFrame {
    decode::imc::Mode mode;
    uint64_t ip;
    auto operator<=>(const StackFrame &) const = default;
};

struct EventSample {
    size_t event;                        // that has counted
    const perfdata::Sample &sample;      // of the event that made it
    uint16_t misc;                       // of its record
    uint64_t period;                     // events that it stands for
    std::optional<uint64_t> count;       // of the event since it began, where the sample says it
    std::span<const StackFrame> frames;  // the innermost first
    bool has_chain;                      // or where the program was, alone
};

class Samples {
public:
    using Each = std::function<void(const EventSample &)>;

    // What lives no longer than the call is borrowed by each sample.
    Samples(const Recording &recording, Each each) : recording_(recording), each_(std::move(each))
    {
    }

    // What reads copies of stacks; nullptr: nothing does.
    void unwind_by(Unwinder *unwinder) { unwinder_ = unwinder; }
    // Each record, in the order of the file.
    void note(const perfdata::Record &record);
    // No more. What waits is given.
    void finish();

    // After finish(): samples whose user part never came, or of which a copy of the stack does not
    // tell all calls.
    uint64_t chains_missing() const { return chains_missing_; }
    uint64_t stacks_not_unwound() const { return stacks_not_unwound_; }
    // Of counters of more threads than are kept.
    uint64_t counts_left_out() const { return counts_left_out_; }

private:
    // A sample that waits for the user part of its chain.
    struct Waiting {
        size_t event;
        uint16_t misc;
        std::vector<std::byte> body;
    };
    using Cookie = std::pair<uint32_t, uint64_t>;   // thread, and the kernel's number
    using Counter = std::pair<uint32_t, uint64_t>;  // thread if inherited, or 0; and id
    static size_t bytes_of(const Waiting &waiting);
    static constexpr size_t kCountBytes = sizeof(Counter) + sizeof(uint64_t) + kNodeBytes;

    void give_what_may();
    void take(const perfdata::Record &record);
    void take_sample(const perfdata::Record &record);
    void take_deferred(const perfdata::Record &record);
    void take_exit(const perfdata::Record &record);
    void give_waiting();
    // user: the part of the chain that came later.
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
    std::multimap<Cookie, Waiting> waiting_;
    Budget waiting_left_{limits::kWaiting};
    std::map<Counter, uint64_t> counted_;
    Budget counted_left_{limits::kCounts};
    std::vector<StackFrame> frames_;
    Unwinder *unwinder_ = nullptr;
    std::vector<uint64_t> calls_;
    uint64_t chains_missing_ = 0, stacks_not_unwound_ = 0, counts_left_out_ = 0;
};

// Of a record's misc.
decode::imc::Mode mode_of_misc(uint16_t misc);

}  // namespace pmukit::cli
