// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// pmukit merge: combines recordings of one host or of several hosts into one.
#include "perfdata/merge.hpp"

#include <algorithm>

#include "base/counted.hpp"
#include "cli/commands.hpp"
#include "console/temp_file.hpp"
#include "console/terminal.hpp"
#include "session/recording.hpp"

namespace pmukit::cli {
namespace {

std::string clock_text(const perfdata::MergedInput &input)
{
    switch (input.clock) {
        case perfdata::ClockRelation::kReference:
            return "its clock is that of the result";
        case perfdata::ClockRelation::kSame:
            return "same host and clock: times as they are";
        case perfdata::ClockRelation::kSameHost:
            return "same host: times as they are, right unless it was restarted in between (record "
                   "with -k CLOCK_BOOTTIME to be sure)";
        case perfdata::ClockRelation::kAligned:
            return fmt::format("aligned by the wall clock: {:+} ns", input.shift_ns);
        case perfdata::ClockRelation::kUnknown:
            break;
    }
    return "NOT aligned: the files do not say how the clocks relate (record with -k "
           "CLOCK_MONOTONIC or another clock); times as they are";
}

Result<perfdata::Merged> merge(std::vector<perfdata::Reader> &readers, const std::string &output)
{
    uint64_t all = 0;
    for (const perfdata::Reader &reader : readers)
        all += reader.data_end();
    // A pipe has no known size.
    const bool known = std::ranges::none_of(readers, &perfdata::Reader::is_pipe);
    Progress progress("merging", known ? all : 0);
    return perfdata::merge_recordings(readers, output, [&](uint64_t bytes) { progress.at(bytes); });
}

}  // namespace

Result<int> run_merge(const MergeOptions &options, Output &out)
{
    if (Result<void> begun =
            begin_output(options.output, options.inputs, kRecordings, options.force);
        !begun)
        return begun.error();
    if (options.inputs.size() < 2)
        return Error{Errc::kUsage, "merge needs two recordings or more"};
    if (std::ranges::count(options.inputs, "-") > 1)
        return Error{Errc::kUsage, "standard input can be one recording only"};
    std::vector<perfdata::Reader> readers;
    for (const std::string &path : options.inputs) {
        Result<perfdata::Reader> reader = open_recording(path);
        if (!reader)
            return reader.error();
        readers.push_back(std::move(*reader));
    }
    Result<perfdata::Merged> merged = merge(readers, options.output);
    if (!merged)
        return merged.error();
    std::vector<std::string> troubles;
    for (size_t i = 0; i < readers.size(); i++) {
        const perfdata::MergedInput &input = merged->inputs[i];
        out.print("{}: host {}, {}\n", recording_name(options.inputs[i]), input.host,
                  clock_text(input));
        if (input.late_records)
            troubles.push_back(
                recording_name(options.inputs[i]) + ": " +
                counted(input.late_records, "records came too late to be put in order"));
        if (input.foreign_records)
            troubles.push_back(
                fmt::format("{}: {} records were left out: a thread, CPU, ring or "
                            "event id in them is not one of host {}",
                            recording_name(options.inputs[i]), input.foreign_records, input.host));
        troubles.push_back(damage_of(readers[i], recording_name(options.inputs[i])));
    }
    return named_last(merged->file, say_troubles(troubles));
}

}  // namespace pmukit::cli
