// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "session/samples.hpp"

#include <linux/perf_event.h>

#include <algorithm>
#include <iterator>

#include "perfdata/format.hpp"
#include "perfdata/records.hpp"
#include "session/unwind.hpp"

namespace pmukit::cli {
namespace {

using decode::imc::Mode;
using perfdata::Record;
using perfdata::WordView;

bool is_of_driver(const Recording &recording, size_t event, const perfdata::Sample &sample)
{
    for (const Driver *driver : recording.drivers())
        if (sample.raw && driver->words_of_raw(*sample.raw))
            return true;
    return recording.driver(event) != nullptr;
}

// Cookie of a deferred user callchain: the last word, after PERF_CONTEXT_USER_DEFERRED.
std::optional<uint64_t> deferred_cookie(const WordView &callchain)
{
    const size_t words = callchain.size();
    if (words < 2 || callchain[words - 2] != perfdata::kContextUserDeferred)
        return std::nullopt;
    return callchain[words - 1];
}

// Where the thread is in its program: for a sample in the kernel, the first user address of the
// call chain. The target of the newest branch is only the start of the function.
uint64_t place_in_program(const perfdata::Sample &sample, Mode mode, const WordView &user_chain)
{
    if (mode == Mode::kUser && sample.ip)
        return *sample.ip;
    const bool is_known =
        !user_chain.empty() && user_chain[0] < static_cast<uint64_t>(PERF_CONTEXT_MAX);
    return is_known ? user_chain[0] : sample.branches[0].to;
}

}  // namespace

Mode mode_of_misc(uint16_t misc)
{
    switch (misc & PERF_RECORD_MISC_CPUMODE_MASK) {
        case PERF_RECORD_MISC_KERNEL:
            return Mode::kKernel;
        case PERF_RECORD_MISC_GUEST_KERNEL:
            return Mode::kGuestKernel;
        case PERF_RECORD_MISC_GUEST_USER:
            return Mode::kGuestUser;
        default:
            return Mode::kUser;
    }
}

void Samples::note(const Record &record)
{
    const perfdata::Reader &reader = recording_.reader();
    switch (record.type) {
        case PERF_RECORD_SAMPLE: {
            const std::optional<size_t> event = reader.event_of(record);
            if (!event || recording_.driver(*event))
                return;
            break;
        }
        case PERF_RECORD_EXIT:
        case perfdata::kRecordCallchainDeferred:
            break;
        case perfdata::kFinishedRound:
            queue_.end_round();
            return give_what_may();
        default:
            return;
    }
    const std::optional<uint64_t> time_ns = perfdata::kernel_time_ns(record, reader);
    if (!time_ns)
        return take(record);
    queue_.keep(record, *time_ns);
    give_what_may();
}

void Samples::finish()
{
    queue_.end();
    give_what_may();
    give_waiting();
}

void Samples::give_what_may()
{
    for (Record record; queue_.give(record);)
        take(record);
}

void Samples::take(const Record &record)
{
    if (record.type == PERF_RECORD_SAMPLE)
        take_sample(record);
    else if (record.type == PERF_RECORD_EXIT)
        take_exit(record);
    else
        take_deferred(record);
}

size_t Samples::bytes_of(const Waiting &waiting)
{
    return sizeof(Cookie) + sizeof waiting + waiting.body.size() + kNodeBytes;
}

void Samples::take_sample(const Record &record)
{
    const perfdata::Reader &reader = recording_.reader();
    const std::optional<size_t> event = reader.event_of(record);
    const perfdata::Sample *sample =
        event ? parser_.parse(record.body, reader.events()[*event].attr, reader.order()) : nullptr;
    if (!sample)
        return;
    const std::optional<uint64_t> cookie = deferred_cookie(sample->callchain);
    if (!cookie)
        return give(*event, *sample, record.misc, {});
    const Cookie key(sample->sample_id.tid.value_or(0), *cookie);
    Waiting waiting{*event,
                    record.misc,
                    sample->sample_id.time_ns.value_or(0),
                    {record.body.begin(), record.body.end()}};
    if (!waiting_left_.take(bytes_of(waiting))) {
        give_waiting();
        waiting_left_.take(bytes_of(waiting));
    }
    waiting_.emplace(key, std::move(waiting));
}

void Samples::take_deferred(const Record &record)
{
    const perfdata::Reader &reader = recording_.reader();
    const auto deferred = perfdata::parse_callchain_deferred(record.body, reader.order());
    const std::optional<size_t> event = reader.event_of(record);
    if (!deferred || !event)
        return;
    const auto sample_id =
        perfdata::parse_sample_id(record.body, reader.events()[*event].attr, reader.order());
    const auto [begin, end] =
        waiting_.equal_range(Cookie(sample_id ? sample_id->tid.value_or(0) : 0, deferred->cookie));
    give_waiting(begin, end, deferred->callchain);
}

// Delivers these waiting samples. user: the deferred user part of their chains.
void Samples::give_waiting(WaitingSamples::iterator begin, WaitingSamples::iterator end,
                           const WordView &user)
{
    for (auto at = begin; at != end; ++at) {
        give_late(at->second, user);
        waiting_left_.give_back(bytes_of(at->second));
    }
    waiting_.erase(begin, end);
}

uint64_t Samples::passed_ns() const
{
    uint64_t passed_ns = queue_.given_ns();
    for (const auto &[cookie, waiting] : waiting_)
        passed_ns = std::min(passed_ns, waiting.time_ns);
    return passed_ns;
}

// Drops the inherited counts of a thread that exits; its tid may be reused.
void Samples::take_exit(const Record &record)
{
    const auto task = perfdata::parse_task(record.body, recording_.reader().order());
    if (!task || task->tid == 0)
        return;
    // No user part follows for the waiting samples of the thread.
    const auto begin = waiting_.lower_bound({task->tid, 0});
    const auto end = waiting_.upper_bound({task->tid, UINT64_MAX});
    chains_missing_ += static_cast<uint64_t>(std::distance(begin, end));
    give_waiting(begin, end, {});
    const size_t before = counted_.size();
    counted_.erase(counted_.lower_bound({task->tid, 0}),
                   counted_.upper_bound({task->tid, UINT64_MAX}));
    counted_left_.give_back((before - counted_.size()) * kCountBytes);
}

// Delivers all waiting samples without their deferred user part.
void Samples::give_waiting()
{
    chains_missing_ += waiting_.size();
    waiting_left_ = Budget(limits::kWaiting);
    for (const auto &[cookie, waiting] : std::exchange(waiting_, {}))
        give_late(waiting, {});
}

void Samples::give_late(const Waiting &waiting, const WordView &user)
{
    const perfdata::Reader &reader = recording_.reader();
    const perfdata::Attr &attr = reader.events()[waiting.event].attr;
    if (const perfdata::Sample *sample = parser_.parse(waiting.body, attr, reader.order()))
        give(waiting.event, *sample, waiting.misc, user);
}

void Samples::give(size_t index, const perfdata::Sample &sample, uint16_t misc,
                   const WordView &user)
{
    const perfdata::Event &event = recording_.reader().events()[index];
    if (is_of_driver(recording_, index, sample))
        return;
    frames_.clear();
    put_frames(event, sample, misc);
    put_words(user, Mode::kUser);
    stacks_not_unwound_ += !put_unwound(sample);
    const bool has_chain = !sample.callchain.empty() || !frames_.empty();
    if (frames_.empty() && sample.ip)
        frames_.push_back({mode_of_misc(misc), *sample.ip});
    const uint64_t period = sample.period.value_or(event.attr.freq ? 1 : event.attr.sample_period);
    const EventSample whole{index, sample, misc, period, std::nullopt, frames_, has_chain};
    if (event.attr.sample_type & PERF_SAMPLE_READ)
        give_counts(whole);
    else
        each_(whole);
}

// Since Linux 6.12 an inherited event counts separately for each thread.
void Samples::give_counts(EventSample sample)
{
    constexpr uint64_t kInherit = 1 << 1;
    const perfdata::Reader &reader = recording_.reader();
    const size_t leader = sample.event;
    for (size_t i = 0; i < sample.sample.counts.size(); i++) {
        const perfdata::CountView::Count count = sample.sample.counts[i];
        const uint64_t id = count.id.value_or(0);
        sample.event = count.id ? reader.event_of_id(id).value_or(leader) : leader;
        const bool by_thread = reader.events()[sample.event].attr.flags & kInherit;
        const Counter counter(by_thread ? sample.sample.sample_id.tid.value_or(0) : 0, id);
        if (!counted_.contains(counter) && !counted_left_.take(kCountBytes)) {
            counts_left_out_++;
            continue;
        }
        uint64_t &last = counted_[counter];
        sample.period = count.value - std::exchange(last, count.value);
        sample.count = count.value;
        if (sample.period != 0)
            each_(sample);
    }
}

// Converts an LBR call stack to frames: where the thread is in its program, then the source of
// every branch.
void Samples::put_frames(const perfdata::Event &event, const perfdata::Sample &sample,
                         uint16_t misc)
{
    WordView chain = sample.callchain;
    if (deferred_cookie(chain))
        chain = chain.first(chain.size() - 2);
    const bool calls = event.attr.branch_sample_type & PERF_SAMPLE_BRANCH_CALL_STACK;
    if (!calls || sample.branches.size() == 0)
        return put_words(chain, mode_of_misc(misc));
    size_t kernel = 0;
    while (kernel < chain.size() && chain[kernel] != static_cast<uint64_t>(PERF_CONTEXT_USER))
        kernel++;
    put_words(chain.first(kernel), mode_of_misc(misc));
    if (kernel == chain.size())
        return;
    frames_.push_back(
        {Mode::kUser, place_in_program(sample, mode_of_misc(misc), chain.from(kernel + 1))});
    for (size_t i = 0; i < sample.branches.size(); i++)
        frames_.push_back({Mode::kUser, sample.branches[i].from});
}

// Returns false if the stack dump could not be unwound completely.
bool Samples::put_unwound(const perfdata::Sample &sample)
{
    if (sample.user_stack.empty())
        return true;
    calls_.clear();
    const bool whole = unwinder_ && unwinder_->unwind(sample, calls_);
    for (const uint64_t ip : calls_)
        frames_.push_back({Mode::kUser, ip});
    return whole;
}

// PERF_CONTEXT_* markers set the mode of the addresses that follow.
void Samples::put_words(const WordView &words, Mode mode)
{
    struct Mark {
        uint64_t word;
        Mode mode;
    };
    constexpr Mark kMarks[] = {
        {static_cast<uint64_t>(PERF_CONTEXT_KERNEL), Mode::kKernel},
        {static_cast<uint64_t>(PERF_CONTEXT_USER), Mode::kUser},
        {static_cast<uint64_t>(PERF_CONTEXT_GUEST_KERNEL), Mode::kGuestKernel},
        {static_cast<uint64_t>(PERF_CONTEXT_GUEST_USER), Mode::kGuestUser},
    };
    for (size_t i = 0; i < words.size(); i++) {
        const Mark *mark = std::ranges::find(kMarks, words[i], &Mark::word);
        if (mark != std::end(kMarks))
            mode = mark->mode;
        else if (words[i] < static_cast<uint64_t>(PERF_CONTEXT_MAX))
            frames_.push_back({mode, words[i]});
    }
}

}  // namespace pmukit::cli
