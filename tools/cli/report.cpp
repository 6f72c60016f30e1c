// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// pmukit report: what the PMUs of a recording saw, for people and for programs, and everything that
// is known to be missing from the picture. What there is to say about a unit is in its own file.
#include "cli/unit_handlers.hpp"

namespace pmukit::cli {
namespace {

struct Row {
    std::string_view unit;
    ReportResult (*make)(const Recording &, const ReportOptions &);
};

constexpr Row kReports[] = {
    {"cache_qos", make_cache_qos_report},
    {"cxl_hmu", make_cxl_hmu_report},
    {"hisi_ptt", make_hisi_ptt_report},
    {"imc", make_imc_report},
};

using Reports = UnitRouter<UnitReport>;

Result<Reports> make_reports(const Recording &recording, const ReportOptions &options)
{
    Reports reports;
    for (const Row &row : kReports) {
        ReportResult report = row.make(recording, options);
        if (!report)
            return report.error();
        reports.add(*unit_of_name(row.unit), std::move(*report));
    }
    return reports;
}

void finish(const Recording &recording, const RecordingTotals &totals, Reports &reports)
{
    for (const auto &[unit, report] : reports.all())
        report->finish();
    if (!recording.missing(totals).empty())
        return;
    for (size_t event = 0; event < recording.reader().events().size(); event++)
        if (UnitReport *report = reports.of(recording.unit(event)))
            report->expect(event);
}

void print_human(const Recording &recording, const RecordingTotals &totals, const Reports &reports,
                 Output &out)
{
    for (const auto &[unit, report] : reports.all())
        report->print(recording, out);
    const Remark remarks[] = {
        {totals.lost_samples,
         "samples or records were lost between kernel and recorder; record with a larger -m"},
        {totals.lost_aux_bytes, "bytes of AUX data never reached the file"},
        {totals.aux_truncations,
         "times the kernel cut AUX data; record with a larger -m ,AUXPAGES"},
        {totals.unknown_records, "records of unknown types were passed over"},
        {totals.unreadable_records, "records could not be read"},
    };
    for (const Remark &remark : remarks)
        if (remark.count)
            out.print("{} {}\n", remark.count, remark.text);
}

void print_json(const Recording &recording, const RecordingTotals &totals, const Reports &reports,
                const ReportOptions &options, Output &out)
{
    nlohmann::ordered_json pmus = nlohmann::ordered_json::array();
    for (const auto &[unit, report] : reports.all())
        report->add_pmus(recording, pmus);
    nlohmann::ordered_json json = {
        {"source", nullptr},
        {"pmus", pmus},
        {"lost_samples", totals.lost_samples},
        {"lost_aux_bytes", totals.lost_aux_bytes},
        {"aux_truncations", totals.aux_truncations},
    };
    if (options.source)
        json["source"] = *options.source;
    for (const auto &[unit, report] : reports.all())
        report->add_extras(recording, json);
    // Names come from the file: what is not UTF-8 is replaced, not thrown.
    print_json(json, out);
}

// Troubles that make the exit status 1, each said once.
std::vector<std::string> troubles_of(const Recording &recording, const RecordingTotals &totals,
                                     const Reports &reports)
{
    std::vector<std::string> troubles = {recording.missing(totals), recording.damage()};
    for (const auto &[unit, report] : reports.all())
        for (const std::string &trouble : report->troubles(recording))
            troubles.push_back(trouble);
    return troubles;
}

}  // namespace

Result<int> run_report(const ReportOptions &given, Output &out)
{
    Result<Recording> recording = Recording::open(given.input);
    if (!recording)
        return recording.error();
    if (Result<void> front = recording->read_front(); !front)
        return front.error();
    ReportOptions options = given;
    if (!options.source)
        options.source = recording->source();
    Result<Reports> reports = make_reports(*recording, options);
    if (!reports)
        return reports.error();
    Result<RecordingTotals> totals = recording->walk(*reports);
    if (!totals)
        return totals.error();
    finish(*recording, *totals, *reports);

    if (options.json)
        print_json(*recording, *totals, *reports, options, out);
    else
        print_human(*recording, *totals, *reports, out);
    return say_troubles(troubles_of(*recording, *totals, *reports));
}

}  // namespace pmukit::cli
