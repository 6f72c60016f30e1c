// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// pmukit export: writes a recording as tables for other programs. Each driver's folder defines its
// rows; tools/export has the formats.
#include "cli/export/export.hpp"

#include <linux/perf_event.h>

#include <ctime>

#include "cli/drivers.hpp"
#include "cli/drivers/hisi_ptt/layout.hpp"
#include "cli/export/samples.hpp"
#include "cli/export/stacks.hpp"
#include "console/temp_file.hpp"
#include "export/folder.hpp"
#include "export/writer.hpp"
#include "perfdata/generic_events.hpp"
#include "session/event_choice.hpp"

namespace pmukit::cli {
namespace {

// Writes a loss of an event on this CPU.
void lose_of(size_t event, uint32_t cpu, Loss loss, RowsOut &out)
{
    const Driver *driver = out.recording().driver(event);
    loss.driver = driver ? driver->name : std::string_view("samples");
    out.lose({event, cpu, driver}, loss);
}

// True if rows of AUX data have or may have names of tasks: these rows are not in the order of
// time.
bool has_tasks_in_aux(const RowsOut &out)
{
    const Recording &recording = out.recording();
    const bool is_aux_known = !recording.is_read_once();
    for (size_t event = 0; event < recording.reader().events().size(); event++) {
        const Driver *driver = recording.driver(event);
        if (driver && driver->bare_samples && (!is_aux_known || out.aux_threads().knows(event)))
            return true;
    }
    return false;
}

// Passes data to the export of its driver, and collects threads, losses and ordinary samples.
class Everything final : public DriverSink {
public:
    // `wanted` says for each event number whether the event is exported. If it is empty, all events
    // are exported.
    Everything(RowsOut &out, std::vector<bool> wanted, Names &names)
        : out_(out), wanted_(std::move(wanted)), samples_(out, names)
    {
        add_handlers(drivers_, &DriverDescription::make_export, out);
        samples_.only([this](size_t event) { return wants(event); });
    }

    // Returns the bytes of AUX data and payloads in which no record was found.
    uint64_t finish()
    {
        samples_.finish();
        uint64_t skipped = 0;
        for (const auto &[driver, handler] : drivers_.all())
            skipped += handler->finish();
        return skipped;
    }

    void aux_begin(const Stream &stream, uint64_t offset, uint64_t file_offset,
                   uint64_t size) override
    {
        if (wants(stream.event))
            drivers_.aux_begin(stream, offset, file_offset, size);
    }
    void aux(const Stream &stream, Bytes data) override
    {
        if (wants(stream.event))
            drivers_.aux(stream, data);
    }
    void aux_entries(const Stream &stream, std::optional<uint64_t> base) override
    {
        if (wants(stream.event))
            drivers_.aux_entries(stream, base);
    }
    void aux_loss(const Stream &stream, uint64_t offset, uint64_t bytes) override
    {
        if (!wants(stream.event))
            return;
        const std::string_view driver = stream.driver ? stream.driver->name : std::string_view();
        if (bytes)
            out_.lose(stream, {driver, "aux-lost", "bytes", bytes, offset});
        else
            out_.lose(stream, {driver, "aux-truncated", {}, {}, offset});
        drivers_.aux_loss(stream, offset, bytes);
    }
    void aux_unknown_loss(const Stream &stream, uint64_t offset) override
    {
        if (!wants(stream.event))
            return;
        const std::string_view driver = stream.driver ? stream.driver->name : std::string_view();
        out_.lose(stream, {driver, "unknown-loss", {}, {}, offset});
        drivers_.aux_unknown_loss(stream, offset);
    }
    void entries_lost(const Stream &stream, const perfdata::LostEntries &lost) override
    {
        if (wants(stream.event))
            drivers_.entries_lost(stream, lost);
    }
    void sample(const Stream &stream, uint64_t file_offset, Bytes words) override
    {
        if (wants(stream.event))
            drivers_.sample(stream, file_offset, words);
    }
    void bare_sample(const Stream &stream, const perfdata::Record &record,
                     const perfdata::Sample &sample) override
    {
        if (wants(stream.event))
            drivers_.bare_sample(stream, record, sample);
    }
    void aux_said(const Stream &stream, const perfdata::AuxRecord &aux,
                  const perfdata::SampleId &sample_id) override
    {
        out_.aux_said(stream, aux, sample_id);
    }
    void record(const perfdata::Record &record) override
    {
        out_.note(record);
        const LostCount::Kind kind = lost_.note(record, out_.recording().reader());
        if (kind != LostCount::Kind::kNone && kind != LostCount::Kind::kRepeated)
            note_lost(record, kind);
    }
    // Call with every record, before its data is passed to a driver.
    void see(const perfdata::Record &record)
    {
        samples_.note(record);
        if (out_.should_forget() && !has_tasks_in_aux(out_))
            out_.forget_until(samples_.passed_ns());
    }

private:
    bool wants(size_t event) const
    {
        return wanted_.empty() || (event < wanted_.size() && wanted_[event]);
    }
    void note_lost(const perfdata::Record &record, LostCount::Kind kind);

    RowsOut &out_;
    const std::vector<bool> wanted_;
    SampleRows samples_;
    DriverRouter<DriverExport> drivers_;
    LostCount lost_;
};

Loss loss_of(const perfdata::Record &record, LostCount::Kind kind, std::endian order)
{
    if (kind == LostCount::Kind::kThrottled)
        return {{}, "throttled", {}};
    if (kind == LostCount::Kind::kSamples)
        return {{}, "ring-full", "samples", perfdata::parse_lost_samples(record.body, order)};
    const auto lost = perfdata::parse_lost(record.body, order);
    return {{}, "ring-full", "records", lost ? std::optional(lost->lost) : std::nullopt};
}

void Everything::note_lost(const perfdata::Record &record, LostCount::Kind kind)
{
    const perfdata::Reader &reader = out_.recording().reader();
    Loss loss = loss_of(record, kind, reader.order());
    loss.time_ns = reader.time_of(record);
    const std::optional<size_t> event = event_of_loss(record, reader);
    if (!event)
        return out_.lose(loss);
    const auto sample_id =
        perfdata::parse_sample_id(record.body, reader.events()[*event].attr, reader.order());
    lose_of(*event, sample_id && sample_id->cpu ? *sample_id->cpu : UINT32_MAX, loss, out_);
}

// Writes what the header shows to be missing: the end of the file, or a file of a directory.
void lose_by_header(const perfdata::Reader &reader, RowsOut &out)
{
    if (const std::optional<uint64_t> bytes = reader.missing_bytes()) {
        const bool known = *bytes != 0;
        const std::optional<uint64_t> amount = known ? bytes : std::nullopt;
        out.lose({{}, "truncated", "bytes", amount, {}, {}, !known});
    }
    if (reader.missing_part())
        out.lose({{}, "missing-file", {}});
}

// Writes losses that are known only at the end of the recording.
void lose_at_end(const Recording &recording, const RecordingTotals &totals, RowsOut &out)
{
    for (const auto &[event, lost] : totals.lost_not_repeated) {
        const Loss loss{{}, "ring-full", "samples", lost};
        if (event == perfdata::kUnknownEvent)
            out.lose(loss);
        else
            lose_of(event, UINT32_MAX, loss, out);
    }
    if (totals.unknown_records)
        out.lose({{}, "unknown-type", "records", totals.unknown_records});
    if (totals.unreadable_records)
        out.lose({{}, "unreadable", "records", totals.unreadable_records});
    if (const auto &damage = recording.reader().damage())
        out.lose({{}, "damage", "bytes", damage->lost_bytes, damage->offset});
    lose_by_header(recording.reader(), out);
}

// Formats as YYYY-MM-DD, in UTC.
std::string date_of(uint64_t wall_ns)
{
    const time_t seconds = static_cast<time_t>(wall_ns / 1000000000);
    tm parts{};
    char text[16] = "";
    if (::gmtime_r(&seconds, &parts))
        std::strftime(text, sizeof text, "%Y-%m-%d", &parts);
    return text;
}

// A recording that is read from a pipe has no id: its name is the time at which it was exported.
std::string stream_name()
{
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    return fmt::format("stream-{}.{:09}", now.tv_sec, now.tv_nsec);
}

exporter::Output output_of(const ExportOptions &options, const Recording &recording,
                           const std::optional<std::string> &id)
{
    const std::optional<perfdata::ClockData> clock = clock_data(recording);
    return {options.output, exporter::find_table(options.driver),
            clock ? date_of(clock->wall_ns) : std::string(), id ? *id : stream_name()};
}

std::string nothing_text(const Recording &recording, const RecordingTotals &totals,
                         const RowsOut &out)
{
    if (const std::string missing = recording.missing(totals); !missing.empty())
        return missing;
    return out.counts().contains(exporter::find_table("samples")) ? std::string()
                                                                  : recording.not_decoded(totals);
}

// Returns a warning if the output has only one table, and losses are in the table "losses".
std::string hidden_losses(const ExportOptions &options, const RowsOut &out)
{
    const auto losses = out.counts().find(exporter::find_table("losses"));
    const bool all = options.driver.empty() && !find_stack_format(options.format);
    if (all || options.driver == "losses" || losses == out.counts().end())
        return {};
    return fmt::format("{}: data is missing: see the {} rows of --driver losses", options.input,
                       losses->second);
}

void print_counts(const ExportOptions &options, const RowsOut &out, const StackWriter *stacks,
                  Output &to)
{
    if (is_standard_output(options.output))
        return;
    if (stacks) {
        to.print("{}: {} of {}\n", options.output, counted(stacks->stacks(), "stacks"),
                 counted(stacks->samples(), "samples"));
        return;
    }
    for (const auto &table : exporter::tables())
        if (const auto count = out.counts().find(&table); count != out.counts().end())
            if (options.driver.empty() || options.driver == table.name)
                to.print("{}: {} of {}\n", options.output, counted(count->second, "rows"),
                         table.name);
}

// The writer of the format. If it is a format of stacks, `stacks` points to the same writer,
// because that writer also is the sink of stacks; if not, it is nullptr.
struct Target {
    std::unique_ptr<exporter::Writer> writer;
    StackWriter *stacks = nullptr;
};

Result<Target> make_target(const ExportOptions &options, const Recording &recording,
                           const std::optional<std::string> &id, Names &names)
{
    if (const StackFormat *format = find_stack_format(options.format)) {
        Result<std::unique_ptr<StackWriter>> stacks = format->make(options, recording, names);
        if (!stacks)
            return stacks.error();
        StackWriter *known = stacks->get();
        return Target{std::move(*stacks), known};
    }
    exporter::WriterResult writer =
        exporter::find_format(options.format)->make(output_of(options, recording, id));
    if (!writer)
        return writer.error();
    return Target{std::move(*writer)};
}

// Begins the tables of the recorded events.
void begin_tables(const Recording &recording, const std::vector<bool> &wanted,
                  exporter::Writer &writer)
{
    const std::vector<perfdata::Event> &events = recording.reader().events();
    for (size_t event = 0; event < events.size(); event++) {
        if ((!wanted.empty() && !wanted[event]) || perfdata::is_dummy(events[event].attr))
            continue;
        const Driver *driver = recording.driver(event);
        const std::string_view name =
            driver ? driver_of_name(driver->name)->export_table : std::string_view("samples");
        if (const exporter::Table *table = exporter::find_table(name))
            writer.begin_table(*table);
    }
}

// Returns an error if --format is missing, the format cannot use this output, or it is not
// writable.
Result<void> check_output(const ExportOptions &options)
{
    if (options.format.empty())
        return Error{Errc::kUsage, "--format is required"};
    const exporter::Format *format = exporter::find_format(options.format);
    if (options.output == "-" && format && !format->to_stream)
        return Error{Errc::kUsage, options.format + " does not go to standard output: name a file"};
    const StackFormat *stacks = find_stack_format(options.format);
    const Replaceable over = format ? Replaceable{format->name, format->is_one}
                                    : Replaceable{stacks->name, stacks->is_one};
    if (Result<void> begun = begin_output(options.output, {options.input, options.kallsyms}, over,
                                          options.force, {options.symfs});
        !begun)
        return begun;
    if (options.output != "-")
        remove_when_killed(exporter::Folder::name_of(options.output) +
                           (format && format->into_folder ? exporter::kStagedName : ""));
    return {};
}

// Returns a message about frames without a name; empty: there are none.
std::string nameless_text(const Recording &recording, const Names &names)
{
    const FrameCounts &counts = names.counts();
    if (counts.nameless == 0)
        return {};
    return fmt::format(
        "{}: {} of {} frames have no name, {} of them in the kernel{}; --symfs and "
        "--kallsyms say where symbols are",
        recording.path(), counts.nameless, counts.all, counts.nameless_kernel,
        names.kernel_is_hidden() ? " (/proc/kallsyms hides addresses from this user)" : "");
}

// Returns messages about programs of which only some symbols are used.
std::vector<std::string> names_texts(const Recording &recording, const Names &names)
{
    std::vector<std::string> texts;
    for (const std::string &path : names.too_large())
        texts.push_back(
            fmt::format("{}: {}: symbols or debug information exceed the limit; names are missing",
                        recording.path(), path));
    return texts;
}

// Returns a message about names of cgroups that the rows lack; empty: there are none.
std::string cgroups_text(const Recording &recording, const CgroupNames &cgroups)
{
    if (cgroups.dropped() == 0)
        return {};
    return fmt::format(
        "{}: {} names of cgroups dropped (memory limit); their rows have no cgroup: record fewer "
        "with perf record -G",
        recording.path(), cgroups.dropped());
}

bool has_times(const perfdata::Reader &reader)
{
    return std::ranges::any_of(reader.events(), [](const perfdata::Event &event) {
        return (event.attr.sample_type & PERF_SAMPLE_TIME) != 0;
    });
}

// names: all threads of the recording, unless it can be read only once. If they are too many, only
// those that exist at a time are stored. If the samples have no times, names count in the order of
// the records, as for perf.
void name_threads(const std::string &path, Threads &names, RowsOut &out)
{
    if (!has_times(out.recording().reader()) && !has_tasks_in_aux(out))
        return out.name_by_order();
    if (can_be_read_once_only(path))
        return;
    if (names.dropped() == 0 || has_tasks_in_aux(out))
        return out.name_by(names);
    names = Threads();
    Result<perfdata::Reader> again = open_recording(path);
    if (again)
        out.begin_with(untimed_threads(*again));
}

}  // namespace

Result<int> run_export(const ExportOptions &options, Output &to)
{
    if (Result<void> good = check_output(options); !good)
        return good.error();
    Result<Recording> recording = Recording::open(options.input, recorded_drivers());
    if (!recording)
        return recording.error();
    if (Result<void> front = recording->read_front(); !front)
        return front.error();
    Result<std::vector<bool>> wanted = choose_events(recording->reader(), options.events);
    if (!wanted)
        return wanted.error();
    recording->claim_source(options.source);
    claim_headers(*recording, options.headers);
    Threads names;  // all threads, if the input is a file: read in advance
    Result<std::optional<SymbolTable>> kernel = read_kallsyms(options.kallsyms);
    if (!kernel)
        return kernel.error();
    Names functions(recording->reader(), options.symfs, std::move(*kernel));
    const std::optional<std::string> id = recording_id(*recording);
    Result<Target> target = make_target(options, *recording, id, functions);
    if (!target)
        return target.error();
    exporter::Writer &writer = *target->writer;
    begin_tables(*recording, *wanted, writer);
    RowsOut out(*recording, id,
                AuxThreads::of_file(options.input, recorded_drivers(), nullptr, &names), writer);
    name_threads(options.input, names, out);
    out.only(exporter::find_table(options.driver));
    if (target->stacks) {
        target->stacks->name_by(out.threads());
        out.stacks_to(target->stacks);
    }
    out.describe_recording();
    Everything everything(out, std::move(*wanted), functions);
    Result<RecordingTotals> totals =
        recording->walk(everything, [&](const perfdata::Record &record) -> Result<void> {
            everything.see(record);
            return writer.state();
        });
    // Return the error of the writer first: it names the output, the error of walk() the recording.
    if (!writer.state())
        return writer.state().error();
    if (!totals)
        return totals.error();
    const uint64_t skipped = everything.finish();
    lose_at_end(*recording, *totals, out);
    if (Result<void> done = writer.finish(); !done)
        return done.error();
    print_counts(options, out, target->stacks, to);
    if (const std::string hidden = hidden_losses(options, out); !hidden.empty())
        warn(hidden);
    say_nothing_recorded(*recording, *totals);
    for (const std::string &remark :
         {nameless_text(*recording, functions), functions.debuginfod_trouble()})
        if (!remark.empty())
            warn(remark);
    for (const std::string &warning : functions.changed_warnings(recording->path()))
        warn(warning);
    std::vector<std::string> troubles = names_texts(*recording, functions);
    troubles.insert(troubles.end(), {names_not_kept(recording->path(), out.threads().dropped()),
                                     cgroups_text(*recording, out.cgroups()),
                                     nothing_text(*recording, *totals, out), recording->damage(),
                                     out.aux_threads().left_out(recording->path()),
                                     skipped_text(recording->path(), skipped)});
    return say_troubles(troubles);
}

}  // namespace pmukit::cli
