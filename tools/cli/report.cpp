// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// pmukit report: results of the PMUs of a recording as text, JSON or HTML, and every known loss.
// Each driver's part is in its own folder.
#include <bit>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/clocks.hpp"
#include "base/escape.hpp"
#include "base/file.hpp"
#include "base/sentences.hpp"
#include "cli/drivers.hpp"
#include "cli/drivers/hisi_ptt/layout.hpp"
#include "cli/figures.hpp"
#include "cli/join.hpp"
#include "cli/report_events.hpp"
#include "cli/report_html.hpp"
#include "cli/report_join.hpp"
#include "console/temp_file.hpp"
#include "perfdata/generic_events.hpp"

namespace pmukit::cli {
namespace {

using Reports = DriverRouter<DriverReport>;

Result<Reports> make_reports(const Recording &recording, const ReportOptions &options)
{
    Reports reports;
    for (const DriverDescription *driver : drivers()) {
        if (!driver->report)
            continue;
        ReportResult report = driver->report(recording, options);
        if (!report)
            return report.error();
        reports.add(*driver->recorded, std::move(*report));
    }
    return reports;
}

// The join for --join, and the topology that it uses.
struct Joining {
    Joining(Placer where, unsigned range_log2) : placer(std::move(where)), join(placer, range_log2)
    {
    }
    Joining(const Joining &) = delete;
    Joining &operator=(const Joining &) = delete;

    Placer placer;
    Join join;
    Joined joined;
};

std::string clock_of(const perfdata::Event &event, const Driver &recorded)
{
    const DriverDescription *driver = driver_of_name(recorded.name);
    if (driver && driver->record_clock)
        return clock_name(*driver->record_clock);
    return event.attr.use_clockid ? clock_name(event.attr.clock_id) : "perf's own";
}

Result<std::unique_ptr<Joining>> joining_of(const Recording &recording, const Reports &reports,
                                            const ReportOptions &options)
{
    std::unique_ptr<Joining> joining;
    if (!options.join)
        return joining;
    if (recording.reader().hostname().find('+') != std::string::npos)
        return Error{Errc::kUsage, "--join: " + recording.path() + " is of several hosts (" +
                                       recording.reader().hostname() +
                                       "); only what one host saw can be joined"};
    if (!options.cxl_topology)
        return Error{Errc::kUsage, "--join: host addresses need --cxl-topology DIR, such as /sys"};
    Result<Placer> placer = Placer::open_for(recording, *options.cxl_topology, options.host);
    if (!placer)
        return placer.error();
    joining = std::make_unique<Joining>(
        std::move(*placer), static_cast<unsigned>(std::countr_zero(options.range_bytes)));
    for (size_t i = 0; i < recording.reader().events().size(); i++)
        if (const Driver *driver = recording.driver(i); driver && !driver->bare_samples)
            joining->join.clock(recording.pmu_name(i),
                                clock_of(recording.reader().events()[i], *driver));
    for (const auto &[driver, report] : reports.all())
        report->join(joining->join);
    return joining;
}

void finish(const Recording &recording, const RecordingTotals &totals, Reports &reports)
{
    for (const auto &[driver, report] : reports.all())
        report->finish();
    if (!recording.missing(totals).empty())
        return;
    for (size_t event = 0; event < recording.reader().events().size(); event++)
        if (DriverReport *report = reports.of(recording.driver(event)))
            report->expect(event);
}

std::vector<Remark> remarks_of(const RecordingTotals &totals)
{
    return {
        {totals.lost_samples, sentences::kLostSamples},
        {totals.lost_aux_bytes, sentences::kLostAux},
        {totals.aux_truncations, sentences::kTruncatedAux},
        {totals.aux_unknown_losses, sentences::kUnknownAux},
        {totals.throttled(), sentences::kThrottled},
        {totals.unknown_records, "records of unknown types were skipped"},
        {totals.unreadable_records, sentences::kUnreadable},
    };
}

// Prints the events of a recording in which no driver of pmukit decodes anything.
void print_ordinary(const Recording &recording, const RecordingTotals &totals,
                    const OrdinaryEvents &ordinary, Output &out)
{
    if (recording.not_decoded(totals).empty())
        return;
    for (const std::string &line : ordinary.lines())
        out.print("{}\n", line);
    if (lines_of(remarks_of(totals)).empty() && recording.damage().empty())
        out.print("{}\n", sentences::kNothingLost);
}

void print_human(const Recording &recording, const RecordingTotals &totals, const Reports &reports,
                 const OrdinaryEvents &ordinary, const Joining *joining,
                 const ReportOptions &options, Output &out)
{
    if (joining)
        print_join(joining->joined, options, out);
    for (const auto &[driver, report] : reports.all())
        if (!joining)
            report->print(recording, Verdict(recording, totals, driver), out);
    print_ordinary(recording, totals, ordinary, out);
    for (const std::string &line : lines_of(remarks_of(totals)))
        out.print("{}\n", line);
}

void print_json(const Recording &recording, const RecordingTotals &totals, const Reports &reports,
                const OrdinaryEvents &ordinary, const Joining *joining,
                const ReportOptions &options, Output &out)
{
    JsonWriter json(out);
    json.member("source", options.source);
    json.begin("pmus", JsonWriter::kArray);
    for (const auto &[driver, report] : reports.all())
        report->write_pmus(recording, json);
    json.end();
    ordinary.write(json);
    const std::string damage = recording.damage();
    json.members({{"lost_samples", totals.lost_samples},
                  {"lost_aux_bytes", totals.lost_aux_bytes},
                  {"aux_truncations", totals.aux_truncations},
                  {"aux_unknown_losses", totals.aux_unknown_losses},
                  {"throttled", totals.throttled()},
                  {"unknown_records", totals.unknown_records},
                  {"unreadable_records", totals.unreadable_records},
                  {"damage", damage.empty() ? JsonValue(nullptr) : JsonValue(damage)}});
    for (const auto &[driver, report] : reports.all())
        report->write_extras(recording, json);
    if (joining) {
        json.begin("join", JsonWriter::kObject);
        write_join(joining->joined, options, json);
        json.end();
    }
    json.finish();
}

// Writes the page to a file without a name, which the caller names after all other output.
Result<perfdata::NewFile> write_page(const Recording &recording, const RecordingTotals &totals,
                                     const Reports &reports, const OrdinaryEvents &ordinary,
                                     const Joining *joining, const ReportOptions &options)
{
    html::Page page = page_of(recording, totals);
    if (!recording.not_decoded(totals).empty())
        for (const std::string &line : ordinary.lines())
            page.facts.push_back(line);
    page.losses = lines_of(remarks_of(totals));
    for (const std::string &trouble :
         {recording.nothing_recorded(totals), recording.missing(totals), recording.damage()})
        if (!trouble.empty())
            page.losses.push_back(trouble);
    if (joining)
        for (const html::Figure &figure : join_figures(joining->joined, options))
            page.add(figure);
    for (const auto &[driver, report] : reports.all())
        report->add_figures(recording, Verdict(recording, totals, driver), page);
    const std::vector<std::string> text = page.take_text();
    std::vector<Bytes> pieces;
    for (const std::string &piece : text)
        pieces.push_back(as_bytes(piece));
    return unnamed_file(options.html, pieces);
}

// Messages about problems. Each message is printed once; the exit status is then 1.
std::vector<std::string> troubles_of(const Recording &recording, const RecordingTotals &totals,
                                     const Reports &reports)
{
    std::vector<std::string> troubles = {recording.missing(totals), recording.damage()};
    for (const auto &[driver, report] : reports.all())
        for (const std::string &trouble : report->troubles(recording))
            troubles.push_back(trouble);
    return troubles;
}

Result<int> say(const Recording &recording, const RecordingTotals &totals, const Reports &reports,
                const OrdinaryEvents &ordinary, const Joining *joining,
                const ReportOptions &options, Output &out)
{
    std::optional<perfdata::NewFile> page;
    if (!options.html.empty()) {
        Result<perfdata::NewFile> written =
            write_page(recording, totals, reports, ordinary, joining, options);
        if (!written)
            return written.error();
        page.emplace(std::move(*written));
    }
    if (options.json)
        print_json(recording, totals, reports, ordinary, joining, options, out);
    else if (options.html.empty())
        print_human(recording, totals, reports, ordinary, joining, options, out);
    say_nothing_recorded(recording, totals);
    if (const std::string text = recording.not_decoded(totals); !text.empty())
        warn(text);
    for (const auto &[driver, report] : reports.all())
        for (const std::string &warning : report->warnings(recording))
            warn(warning);
    const int status = say_troubles(troubles_of(recording, totals, reports));
    return page ? named_last(*page, status) : status;
}

// nullptr: the file does not name the PMU of the event.
const DriverDescription *description_of(const Recording &recording, size_t event)
{
    const Driver *const driver = recording.driver(event);
    const bool is_known = event < recording.reader().events().size();
    return driver && is_known ? driver_of_name(driver->name) : nullptr;
}

std::string event_name(const Recording &recording, size_t event)
{
    const perfdata::Reader &reader = recording.reader();
    return event < reader.events().size()
               ? escape(perfdata::name_of(reader, reader.events()[event]))
               : "unknown";
}

}  // namespace

std::string terms_of(const Recording &recording, size_t event)
{
    const DriverDescription *const driver = description_of(recording, event);
    return driver ? terms_text(driver->terms, recording.reader().events()[event].attr) : "";
}

std::string event_line(const Recording &recording, size_t event, std::string_view terms)
{
    const std::string name = event_name(recording, event);
    // A name such as PMU/period_ms=10/ only repeats the terms.
    const bool repeats = !terms.empty() && name.find('=') != std::string::npos;
    std::string line = "event " + (repeats ? std::string(terms) : name);
    if (!terms.empty() && !repeats)
        line.append("  ").append(terms);
    if (const std::optional<uint64_t> duration_ns = recording.duration_ns())
        line += "  over " + seconds_text(*duration_ns);
    return line;
}

void begin_pmu(const Recording &recording, size_t event, std::string_view driver, JsonWriter &pmus)
{
    pmus.begin_element();
    pmus.members({{"pmu", recording.pmu_name(event)},
                  {"driver", driver},
                  {"event", event_name(recording, event)}});
    pmus.begin("terms", JsonWriter::kObject);
    if (const DriverDescription *const known = description_of(recording, event))
        for (const Term &term : known->terms)
            pmus.member(term.name, term.of(recording.reader().events()[event].attr));
    pmus.end();
    pmus.member("duration_ns", recording.duration_ns());
}

void end_pmu(const Recording &recording, size_t event, JsonWriter &pmu)
{
    pmu.member("source", recording.source(event));
    pmu.end();
}

Result<int> run_report(const ReportOptions &given, Output &out)
{
    if (Result<void> begun = begin_output(given.html, {given.input, given.kallsyms},
                                          {"a page of pmukit", html::is_page}, given.force,
                                          {given.symfs, given.cxl_topology.value_or("")});
        !begun)
        return begun.error();
    Result<Recording> recording = Recording::open(given.input, recorded_drivers());
    if (!recording)
        return recording.error();
    recording->measure_duration();
    if (Result<void> front = recording->read_front(); !front)
        return front.error();
    recording->claim_source(given.source);
    claim_headers(*recording, given.headers);
    ReportOptions options = given;
    options.source = recording->source();
    Result<Reports> reports = make_reports(*recording, options);
    if (!reports)
        return reports.error();
    Result<std::unique_ptr<Joining>> joining = joining_of(*recording, *reports, options);
    if (!joining)
        return joining.error();
    OrdinaryEvents ordinary(*recording);
    Result<RecordingTotals> totals =
        recording->walk(*reports, [&](const perfdata::Record &record) -> Result<void> {
            ordinary.note(record);
            return {};
        });
    if (!totals)
        return totals.error();
    ordinary.finish();
    finish(*recording, *totals, *reports);
    if (*joining)
        (*joining)->joined = (*joining)->join.finish();
    return say(*recording, *totals, *reports, ordinary, joining->get(), options, out);
}

}  // namespace pmukit::cli
