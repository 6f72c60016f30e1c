// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/export/samples.hpp"

#include <linux/perf_event.h>

#include <algorithm>
#include <iterator>

#include "base/text.hpp"
#include "export/text.hpp"
#include "perfdata/generic_events.hpp"

namespace pmukit::cli {

using exporter::Value;

const std::string &SampleRows::name_of(size_t event)
{
    const auto [at, fresh] = event_names_.try_emplace(event);
    const perfdata::Reader &reader = out_.recording().reader();
    if (fresh)
        at->second =
            shortened(valid_utf8(perfdata::name_of(reader, reader.events()[event])), kMostRowName);
    return at->second;
}

std::string_view cpu_mode_name(uint16_t misc)
{
    constexpr std::string_view kNames[] = {"",           "kernel",       "user",
                                           "hypervisor", "guest-kernel", "guest-user"};
    const size_t mode = misc & PERF_RECORD_MISC_CPUMODE_MASK;
    return mode < std::size(kNames) ? kNames[mode] : std::string_view();
}

void SampleRows::put_callchain(const EventSample &sample)
{
    constexpr size_t kMostBytes = 19;  // "0x", 16 digits and ";"
    const std::span<const StackFrame> frames =
        sample.has_chain ? sample.frames : std::span<const StackFrame>();
    callchain_.resize(frames.size() * kMostBytes);
    char *at = callchain_.data();
    for (const StackFrame &frame : frames) {
        if (at != callchain_.data())
            *at++ = ';';
        at = exporter::put_address(at, frame.ip);
    }
    callchain_.resize(static_cast<size_t>(at - callchain_.data()));
}

// Writes what perf script prints after an address: "sym+0xoff (dso)".
void SampleRows::put_frames(const EventSample &sample)
{
    const perfdata::SampleId &sample_id = sample.sample.sample_id;
    frames_.clear();
    if (!sample.has_chain)
        return;
    const auto put = [this](std::string_view name) {
        const size_t begin = frames_.size();
        if (name.size() > kMostFrameName)
            frames_ += shortened(name, kMostFrameName);
        else
            frames_ += name;
        std::replace(frames_.begin() + static_cast<ptrdiff_t>(begin), frames_.end(), ';', ':');
    };
    for (const StackFrame &at : sample.frames) {
        const NamedFrames &found = explainer_.frames_at(
            sample_id.pid.value_or(UINT32_MAX), at.mode, at.ip,
            sample_id.time_ns.value_or(UINT64_MAX), is_in_kernel(sample.frames));
        names_.count(at.mode, found, 1);
        for (const NamedFrame &frame : found.frames) {
            frames_ += frames_.empty() ? "" : ";";
            put(frame.symbol.empty() ? "[unknown]" : frame.symbol);
            if (!frame.symbol.empty())
                append(frames_, "+{:#x}", frame.offset);
            frames_ += " (";
            if (frame.is_inlined)
                put("inlined");
            else
                put(found.object.empty() ? "[unknown]" : found.object);
            frames_ += ')';
        }
    }
}

void SampleRows::put(const EventSample &sample)
{
    static const exporter::Table &table = *exporter::find_table("samples");
    if (wanted_ && !wanted_(sample.event))
        return;
    const perfdata::SampleId &sample_id = sample.sample.sample_id;
    if (!sample.frames.empty())
        out_.stack(table, sample.event, sample_id, sample.frames, sample.period);
    if (!out_.wants(table))
        return out_.count(table);
    std::array<Value, exporter::kOriginColumns> common;
    out_.origin({sample.event, sample_id.cpu.value_or(UINT32_MAX)}, sample_id.time_ns,
                common.data());
    put_callchain(sample);
    put_frames(sample);
    const std::string_view comm =
        sample_id.tid
            ? out_.threads().command(*sample_id.tid, sample_id.time_ns.value_or(UINT64_MAX))
            : std::string_view();
    const std::string_view mode = cpu_mode_name(sample.misc);
    const std::string &name = name_of(sample.event);
    static const NamedFrames kNothing{{}, {{}}};
    const NamedFrames &at =
        sample.sample.ip
            ? explainer_.frames_at(sample_id.pid.value_or(UINT32_MAX), mode_of_misc(sample.misc),
                                   *sample.sample.ip, sample_id.time_ns.value_or(UINT64_MAX))
            : kNothing;
    if (sample.sample.ip && !sample.has_chain)
        names_.count(mode_of_misc(sample.misc), at, 1);
    const NamedFrame &function = at.frames.back();
    const std::string_view symbol = function.symbol, object = at.object;
    const Value rest[] = {
        std::string_view(name),
        task_value(sample_id.pid),
        task_value(sample_id.tid),
        comm.empty() ? Value() : Value(comm),
        mode.empty() ? Value() : Value(mode),
        value_of(sample.sample.ip),
        value_of(sample.sample.addr),
        Value(sample.period),
        value_of(sample.count),
        callchain_.empty() ? Value() : Value(std::string_view(callchain_)),
        symbol.empty() ? Value() : Value(symbol),
        symbol.empty() ? Value() : Value(function.offset),
        object.empty() ? Value() : Value(object),
        frames_.empty() ? Value() : Value(std::string_view(frames_)),
        sample.sample.cgroup ? value_of(out_.cgroups().path(*sample.sample.cgroup)) : Value(),
    };
    out_.rows(table, common, rest);
}

void SampleRows::finish()
{
    samples_.finish();
    if (const uint64_t missing = samples_.chains_missing())
        out_.lose({"samples", "callchain-cut", "samples", missing});
    if (const uint64_t copies = samples_.stacks_not_unwound())
        out_.lose({"samples", "not-unwound", "samples", copies});
    if (const uint64_t counts = samples_.counts_left_out())
        out_.lose({"samples", "counters-beyond", "samples", counts});
}

}  // namespace pmukit::cli
