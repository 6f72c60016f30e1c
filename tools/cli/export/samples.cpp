// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/export/samples.hpp"

#include <linux/perf_event.h>

#include <algorithm>
#include <iterator>

#include "base/text.hpp"
#include "cli/drivers/imc/mode.hpp"
#include "export/text.hpp"
#include "perfdata/generic_events.hpp"

namespace pmukit::cli {
namespace {

using exporter::Value;

bool is_of_driver(const Recording &recording, size_t event, const perfdata::Sample &sample)
{
    for (const Driver *driver : recording.drivers())
        if (sample.raw && driver->words_of_raw(*sample.raw))
            return true;
    return recording.driver(event) != nullptr;
}

}  // namespace

const std::string &SampleRows::name_of(size_t event)
{
    const auto [at, fresh] = names_.try_emplace(event);
    if (fresh)
        at->second = valid_utf8(perfdata::name_of(out_.recording().reader().events()[event]));
    return at->second;
}

std::string_view cpu_mode_name(uint16_t misc)
{
    constexpr std::string_view kNames[] = {"",           "kernel",       "user",
                                           "hypervisor", "guest-kernel", "guest-user"};
    const size_t mode = misc & PERF_RECORD_MISC_CPUMODE_MASK;
    return mode < std::size(kNames) ? kNames[mode] : std::string_view();
}

// Marks among the addresses (PERF_CONTEXT_*) say whose the next ones are; they are no addresses.
void SampleRows::put_callchain(const perfdata::WordView &callchain)
{
    constexpr size_t kMostBytes = 19;  // 0x, 16 digits, ;
    callchain_.resize(callchain.size() * kMostBytes);
    char *at = callchain_.data();
    for (size_t i = 0; i < callchain.size(); i++) {
        if (callchain[i] >= static_cast<uint64_t>(PERF_CONTEXT_MAX))
            continue;
        if (at != callchain_.data())
            *at++ = ';';
        at = exporter::put_address(at, callchain[i]);
    }
    callchain_.resize(static_cast<size_t>(at - callchain_.data()));
}

// Without a callchain, the place alone.
void SampleRows::put_stack(const perfdata::Sample &sample, decode::imc::Mode mode)
{
    struct Mark {
        uint64_t word;
        decode::imc::Mode mode;
    };
    constexpr Mark kMarks[] = {
        {static_cast<uint64_t>(PERF_CONTEXT_KERNEL), decode::imc::Mode::kKernel},
        {static_cast<uint64_t>(PERF_CONTEXT_USER), decode::imc::Mode::kUser},
        {static_cast<uint64_t>(PERF_CONTEXT_GUEST_KERNEL), decode::imc::Mode::kGuestKernel},
        {static_cast<uint64_t>(PERF_CONTEXT_GUEST_USER), decode::imc::Mode::kGuestUser},
    };
    frames_.clear();
    for (size_t i = 0; i < sample.callchain.size(); i++) {
        const uint64_t word = sample.callchain[i];
        const Mark *mark = std::ranges::find(kMarks, word, &Mark::word);
        if (mark != std::end(kMarks))
            mode = mark->mode;
        else if (word < static_cast<uint64_t>(PERF_CONTEXT_MAX))
            frames_.push_back({mode, word});
    }
    if (frames_.empty() && sample.ip)
        frames_.push_back({mode, *sample.ip});
}

void SampleRows::note(const perfdata::Record &record)
{
    static const exporter::Table &table = *exporter::find_table("samples");
    const perfdata::Reader &reader = out_.recording().reader();
    const std::optional<size_t> index = reader.event_of(record);
    if (!index)
        return;
    const perfdata::Event &event = reader.events()[*index];
    const perfdata::Sample *sample = parser_.parse(record.body, event.attr, reader.order());
    if (!sample || is_of_driver(out_.recording(), *index, *sample))
        return;
    put_callchain(sample->callchain);
    put_stack(*sample, imc_mode_of_misc(record.misc));
    if (!frames_.empty())
        out_.stack(table, *index, sample->who, frames_);
    const perfdata::SampleId &who = sample->who;
    const std::string_view comm =
        who.tid ? out_.threads().command(*who.tid, who.time_ns.value_or(UINT64_MAX))
                : std::string_view();
    const std::string_view mode = cpu_mode_name(record.misc);
    const std::string &name = name_of(*index);
    std::array<Value, exporter::kOriginColumns> common;
    out_.origin({*index, who.cpu.value_or(UINT32_MAX)}, who.time_ns, common.data());
    const Value rest[] = {
        std::string_view(name),
        value_of(who.pid),
        value_of(who.tid),
        comm.empty() ? Value() : Value(comm),
        mode.empty() ? Value() : Value(mode),
        value_of(sample->ip),
        value_of(sample->addr),
        sample->period ? Value(*sample->period)
                       : Value(event.attr.freq ? uint64_t{1} : uint64_t{event.attr.sample_period}),
        callchain_.empty() ? Value() : Value(std::string_view(callchain_)),
    };
    out_.rows(table, common, rest);
}

}  // namespace pmukit::cli
