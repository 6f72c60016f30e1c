// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// pmukit dump: the raw records of a recording, in the text format that users of each driver know.
// Lines that begin with # are additions of pmukit: the position of the data, and losses.
#include "base/clocks.hpp"
#include "base/sentences.hpp"
#include "cli/drivers.hpp"
#include "cli/drivers/hisi_ptt/layout.hpp"

namespace pmukit::cli {
namespace {

void print_clocks(const Recording &recording, Output &out)
{
    const std::vector<perfdata::Event> &events = recording.reader().events();
    for (size_t i = 0; i < events.size(); i++)
        if (events[i].attr.use_clockid && recording.driver(i))
            out.print("# {}: recorded with {}\n", recording.pmu_name(i),
                      clock_name(events[i].attr.clock_id));
}

void print_sources(const Recording &recording, Output &out)
{
    if (const std::optional<std::string> source = recording.common_source()) {
        out.print("# source={}: the device was emulated\n", *source);
        return;
    }
    for (size_t event = 0; event < recording.reader().events().size(); event++)
        if (const std::optional<std::string> source = recording.source(event))
            out.print("# {}: source={}: the device was emulated\n", recording.pmu_name(event),
                      *source);
}

}  // namespace

void print_piece(const Recording &recording, const Stream &stream, const std::string &kind,
                 uint64_t file_offset, Output &out)
{
    out.print("# {}", recording.pmu_name(stream.event));
    if (stream.cpu != UINT32_MAX)
        out.print(" cpu {}", stream.cpu);
    out.print(": {}file offset {:#x}\n", kind, file_offset);
}

void print_unknown_loss(const Recording &recording, const Stream &stream, uint64_t offset,
                        Output &out)
{
    out.print("# {}: a loss of unknown size at AUX offset {:#x}\n",
              recording.pmu_name(stream.event), offset);
}

void print_loss(const Recording &recording, const Stream &stream, uint64_t offset, uint64_t bytes,
                Output &out)
{
    const std::string size = bytes ? fmt::format("{} bytes", bytes) : "an unknown number of bytes";
    out.print("# {}: lost {} at AUX offset {:#x}\n", recording.pmu_name(stream.event), size,
              offset);
}

Result<int> run_dump(const DumpOptions &options, Output &out)
{
    Result<Recording> recording = Recording::open(options.input, recorded_drivers());
    if (!recording)
        return recording.error();
    if (Result<void> front = recording->read_front(); !front)
        return front.error();
    claim_headers(*recording, options.headers);
    print_sources(*recording, out);
    print_clocks(*recording, out);
    DriverRouter<DriverDump> dumps;
    add_handlers(dumps, &DriverDescription::dump, *recording, options, out);
    Result<RecordingTotals> totals = recording->walk(dumps);
    uint64_t skipped = 0;
    for (const auto &[driver, dump] : dumps.all())
        skipped += dump->finish();
    if (!totals)
        return totals.error();
    if (totals->lost_samples)
        out.print("# {}\n", counted_text(totals->lost_samples, false, sentences::kLostSamples));
    if (const uint64_t times = totals->throttled())
        out.print("# {}\n", counted_text(times, false, sentences::kThrottled));

    say_nothing_recorded(*recording, *totals);
    return say_troubles({recording->missing(*totals), recording->not_decoded(*totals),
                         recording->damage(), skipped_text(recording->path(), skipped)});
}

}  // namespace pmukit::cli
