// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/export/samples.hpp"

#include <linux/perf_event.h>

#include <iterator>

#include "base/text.hpp"
#include "export/text.hpp"
#include "perfdata/generic_events.hpp"

namespace pmukit::cli {

using exporter::Value;

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

void SampleRows::put_callchain(std::span<const StackFrame> frames)
{
    constexpr size_t kMostBytes = 19;  // 0x, 16 digits, ;
    callchain_.resize(frames.size() * kMostBytes);
    char *at = callchain_.data();
    for (const StackFrame &frame : frames) {
        if (at != callchain_.data())
            *at++ = ';';
        at = exporter::put_address(at, frame.ip);
    }
    callchain_.resize(static_cast<size_t>(at - callchain_.data()));
}

void SampleRows::put(const EventSample &sample)
{
    static const exporter::Table &table = *exporter::find_table("samples");
    if (wanted_ && !wanted_(sample.event))
        return;
    const perfdata::SampleId &sample_id = sample.sample.sample_id;
    if (!sample.frames.empty())
        out_.stack(table, sample.event, sample_id, sample.frames);
    put_callchain(sample.sample.callchain.empty() ? std::span<const StackFrame>() : sample.frames);
    const std::string_view comm =
        sample_id.tid
            ? out_.threads().command(*sample_id.tid, sample_id.time_ns.value_or(UINT64_MAX))
            : std::string_view();
    const std::string_view mode = cpu_mode_name(sample.misc);
    const std::string &name = name_of(sample.event);
    std::array<Value, exporter::kOriginColumns> common;
    out_.origin({sample.event, sample_id.cpu.value_or(UINT32_MAX)}, sample_id.time_ns,
                common.data());
    const Value rest[] = {
        std::string_view(name),
        value_of(sample_id.pid),
        value_of(sample_id.tid),
        comm.empty() ? Value() : Value(comm),
        mode.empty() ? Value() : Value(mode),
        value_of(sample.sample.ip),
        value_of(sample.sample.addr),
        Value(sample.period),
        value_of(sample.count),
        callchain_.empty() ? Value() : Value(std::string_view(callchain_)),
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
