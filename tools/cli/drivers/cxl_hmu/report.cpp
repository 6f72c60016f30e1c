// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The hottest units of device memory in a recording.
#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "base/saturate.hpp"
#include "base/sentences.hpp"
#include "cli/drivers/cxl_hmu/figures.hpp"
#include "cli/drivers/cxl_hmu/handlers.hpp"
#include "cli/drivers/cxl_hmu/hot_lists.hpp"
#include "cli/join.hpp"
#include "decode/cxl_hmu/cxl_hmu_decode.hpp"
#include "decode/cxl_hmu/cxl_hmu_hot.hpp"
#include "session/placement.hpp"
#include "session/stream_map.hpp"

namespace pmukit::cli {
namespace {

using decode::cxl_hmu::HotList;
using decode::cxl_hmu::HotTotals;
using decode::cxl_hmu::HotUnit;

constexpr size_t kBarWidth = 24;
constexpr size_t kStripWidth = 64;

uint64_t power(std::optional<unsigned> log2)
{
    return log2 ? uint64_t{1} << *log2 : 0;
}

// In always-on mode the device counts no accesses; nullopt then.
std::optional<uint64_t> accesses_of(const HotTotals &totals, uint64_t accesses)
{
    return totals.always_on && accesses == 0 ? std::nullopt : std::optional(accesses);
}

std::optional<uint64_t> accesses_of(const HotPlace &place)
{
    return place.has_accesses ? std::optional(place.accesses) : std::nullopt;
}

// Text output

// The range from the first to the last hot unit in one line; darker is hotter.
std::string heat_strip(const std::vector<HotUnit> &units, uint64_t first, uint64_t column_bytes,
                       bool always_on)
{
    std::vector<uint64_t> heat(kStripWidth);
    for (const HotUnit &unit : units)
        heat[std::min<uint64_t>((unit.dpa - first) / column_bytes, kStripWidth - 1)] +=
            always_on ? unit.epochs : unit.accesses;
    const uint64_t hottest = *std::ranges::max_element(heat);
    std::string strip;
    for (const uint64_t column : heat)
        strip += shade_of(column, hottest);
    return strip;
}

void print_strip(const HotList &list, Output &out)
{
    const std::vector<HotUnit> &units = list.all();
    auto [low, high] = std::ranges::minmax_element(units, {}, &HotUnit::dpa);
    const uint64_t unit_bytes = power(list.totals().unit_log2);
    const uint64_t span = high->dpa - low->dpa;
    const uint64_t column_bytes = std::max(unit_bytes, std::bit_ceil(span / kStripWidth + 1));
    out.print("\n  heat of {:#x} .. {:#x}, one column is {}:\n  |{}|\n", low->dpa,
              high->dpa + (unit_bytes - 1), bytes_text(column_bytes),
              heat_strip(units, low->dpa, column_bytes, list.totals().always_on));
}

// Columns that need a topology.
std::string place_columns(const Placement &at)
{
    return fmt::format("  {:<37}  {:>6}  {:>4}  {:>4}", range_or_dash(at.hpa),
                       at.hpa ? std::to_string(at.hpa->pieces) : "-", or_dash(at.node),
                       or_dash(at.tier));
}

void print_table(const std::string &pmu, const HotList &list, size_t top, const Placer *placer,
                 Output &out)
{
    const HotTotals &totals = list.totals();
    const uint64_t unit_bytes = power(totals.unit_log2);
    std::vector<HotUnit> hot = list.hottest(top);
    auto weight = [&totals](const HotUnit &unit) {
        return totals.always_on ? unit.epochs : unit.accesses;
    };
    const uint64_t all = std::max<uint64_t>(1, totals.always_on ? totals.entries : totals.accesses);
    const uint64_t hottest = std::max<uint64_t>(1, weight(hot.front()));

    out.print("\n  {:>5}  {:<37}  {:>12}  {:>6}  {:>6}  {:>7}", "rank", "DPA range", "accesses",
              "share", "sum", "epochs");
    if (placer)
        out.print("  {:<37}  {:>6}  {:>4}  {:>4}", "HPA range", "pieces", "node", "tier");
    out.text("\n");
    uint64_t sum = 0;
    for (size_t i = 0; i < hot.size(); i++) {
        const HotUnit &unit = hot[i];
        add_to(sum, weight(unit));
        double bar = static_cast<double>(weight(unit)) / static_cast<double>(hottest) * kBarWidth;
        out.print("  {:>5}  {:#018x}-{:#018x}  {:>12}  {:>6}  {:>6}  {:>7}{}  {}\n", i + 1,
                  unit.dpa, unit.dpa + (unit_bytes - 1),
                  or_dash(accesses_of(totals, unit.accesses)), share_text(weight(unit), all),
                  share_text(sum, all), unit.epochs,
                  placer ? place_columns(placer->place(pmu, unit.dpa, unit_bytes)) : "",
                  std::string(static_cast<size_t>(std::lround(bar)), '#'));
    }
    if (hot.size() < list.units())
        out.print("  {:>5}  {}\n", "...",
                  counted(list.units() - hot.size(), "more units; --top 0 shows all"));
    out.print("  {}\n", kShareOfHot);
}

// Lines about losses, with advice. Each begins with a count.
std::vector<Remark> remarks_of(const HotTotals &totals)
{
    return {
        {totals.lost, sentences::kLostEntries},
        {totals.truncated, "records follow a driver loss"},
        {totals.sequence_gaps, sentences::kMissingRecords},
        {totals.overflows, sentences::kListFull},
        {totals.resets, "times the device lost its configuration, or could not be enabled"},
        {totals.saturated,
         "counts are the largest the counter can hold; raise downsampling_factor or shorten the "
         "epoch"},
        {totals.duplicates, sentences::kDuplicates},
        {totals.invalid, "entries had an invalid address and were skipped"},
        {totals.without_unit, sentences::kWithoutUnit},
        {totals.skipped_bytes, sentences::kSkippedBytes},
    };
}

void print_remarks(size_t event, const HotList &list, const Verdict &verdict, Output &out)
{
    const HotTotals &totals = list.totals();
    const std::vector<Remark> remarks = remarks_of(totals);
    out.text(verdict.line(event, std::ranges::any_of(remarks, &Remark::count)));
    for (const Remark &remark : remarks)
        if (remark.count)
            out.print("  {}\n", counted_text(remark.count, remark.at_least, remark.text));
    if (const std::string text = left_out_text(list); !text.empty())
        out.print("  {}\n", text);
    if (totals.always_on)
        out.text(
            "  always-on mode: counts only reflect the threshold; units are ranked by times "
            "seen\n");
}

std::string accesses_text(const HotTotals &totals, std::optional<uint64_t> duration_ns)
{
    if (totals.always_on)
        return "accesses not counted";
    const std::string rate = rate_text(totals.accesses, duration_ns, "accesses");
    return counted(totals.accesses, "accesses") + (rate.empty() ? "" : " (" + rate + ")");
}

void print_pmu(const Recording &recording, size_t event, const HotList &list,
               const ReportOptions &options, const Placer *placer, const Verdict &verdict,
               Output &out)
{
    const HotTotals &totals = list.totals();
    const std::string pmu = recording.pmu_name(event);
    out.print("{}", pmu);
    if (totals.unit_log2)
        out.print("  unit {}  downsampling {}", bytes_text(power(totals.unit_log2)),
                  power(totals.downsampling_log2));
    if (const std::optional<std::string> source = recording.source(event))
        out.print("  source={}", *source);
    out.print("\n  {}\n  {}, {}, {}, {}\n",
              event_line(recording, event, terms_of(recording, event)),
              counted(totals.records, "records"), counted(totals.entries, "entries"),
              counted(list.units(), "units"), accesses_text(totals, recording.duration_ns()));
    if (list.units() && options.by == "dpa") {
        print_table(pmu, list, options.top, placer, out);
        print_strip(list, out);
    }
    print_remarks(event, list, verdict, out);
}

PlaceHeat place_heat(const Recording &recording, const std::map<size_t, HotList> &lists,
                     const std::string &by, const Placer &placer)
{
    PlaceHeat heat(placer, by == "node" ? PlaceKey::kNode : PlaceKey::kHpa);
    for (const auto &[event, list] : lists)
        heat.add(recording.pmu_name(event), list);
    return heat;
}

void print_places(const std::vector<HotPlace> &hot, size_t top, Output &out)
{
    uint64_t accesses = 0, epochs = 0;
    for (const HotPlace &place : hot) {
        add_to(accesses, place.accesses);
        add_to(epochs, place.epochs);
    }
    out.print("\n  {:>5}  {:<37}  {:>4}  {:>4}  {:>7}  {:>12}  {:>6}  {:>7}\n", "rank", "HPA range",
              "node", "tier", "units", "accesses", "share", "epochs");
    for (size_t i = 0; i < hot.size() && (top == 0 || i < top); i++) {
        const HotPlace &place = hot[i];
        // In always-on mode the device counts no accesses. The column then shows the share of the
        // epochs.
        const double share =
            accesses ? static_cast<double>(place.accesses) / static_cast<double>(accesses)
                     : static_cast<double>(place.epochs) / static_cast<double>(epochs);
        out.print("  {:>5}  {:<37}  {:>4}  {:>4}  {:>7}  {:>12}  {:>5.1f}%  {:>7}\n", i + 1,
                  range_or_dash(place.at.hpa), or_dash(place.at.node), or_dash(place.at.tier),
                  place.units, or_dash(accesses_of(place)), share * 100, place.epochs);
    }
    if (top && hot.size() > top)
        out.print("  {:>5}  {} more places; --top 0 shows all\n", "...", hot.size() - top);
}

void print_placement(const Recording &recording, const std::map<size_t, HotList> &lists,
                     const ReportOptions &options, const Placer &placer, Output &out)
{
    const PlaceHeat heat = place_heat(recording, lists, options.by, placer);
    if (const std::vector<HotPlace> hot = heat.hottest(); !hot.empty() && options.by != "dpa")
        print_places(hot, options.top, out);
    if (heat.lost_units())
        out.print("{}; first reason: {}\n",
                  counted(heat.lost_units(), "units have no host address"), heat.first_reason());
    for (const std::string &assumption : placer.assumptions())
        out.print("{}\n", assumption);
}

// JSON output

void write_left_out(JsonWriter &report, const HotList &list)
{
    const decode::cxl_hmu::LeftOut &left_out = list.left_out();
    report.begin("left_out", JsonWriter::kObject);
    report.members(
        {{"units", left_out.units},
         {"accesses", accesses_of(list.totals(), left_out.accesses)},
         {"epochs", left_out.epochs},
         {"most_short_accesses", accesses_of(list.totals(), left_out.most_short_accesses)},
         {"most_short_epochs", left_out.most_short_epochs}});
    report.end();
}

void write_placement(JsonWriter &report, const Placement &at)
{
    report.member("hpa", at.hpa ? JsonValue(at.hpa->start) : JsonValue(nullptr));
    if (at.hpa && at.hpa->alias)
        report.member("hpa_alias", *at.hpa->alias);
    report.members({{"hpa_bytes", at.hpa ? at.hpa->bytes : 0},
                    {"hpa_pieces", at.hpa ? at.hpa->pieces : 0},
                    {"node", at.node},
                    {"tier", at.tier}});
}

void write_place(JsonWriter &report, const HotPlace &place, bool by_node)
{
    report.begin_element();
    if (by_node)
        report.members({{"node", place.at.node}, {"tier", place.at.tier}});
    else
        write_placement(report, place.at);
    report.members(
        {{"units", place.units}, {"accesses", accesses_of(place)}, {"epochs", place.epochs}});
    report.end();
}

// Members of a report with a topology.
void write_places(JsonWriter &report, const PlaceHeat &heat, const ReportOptions &options)
{
    report.member("units_without_hpa", heat.lost_units());
    if (options.by == "dpa")
        return;
    report.begin("by_" + options.by, JsonWriter::kArray);
    size_t shown = 0;
    for (const HotPlace &place : heat.hottest())
        if (options.top == 0 || shown++ < options.top)
            write_place(report, place, options.by == "node");
    report.end();
}

void write_totals(JsonWriter &report, const HotList &list)
{
    const HotTotals &totals = list.totals();
    report.members({{"unit_bytes", known_power(totals.unit_log2)},
                    {"downsampling", known_power(totals.downsampling_log2)},
                    {"always_on", totals.always_on},
                    {"records", totals.records},
                    {"entries", totals.entries},
                    {"units", list.units()},
                    {"accesses", accesses_of(totals, totals.accesses)},
                    {"lost", totals.lost},
                    {"truncated", totals.truncated},
                    {"overflows", totals.overflows},
                    {"resets", totals.resets},
                    {"sequence_gaps", totals.sequence_gaps},
                    {"duplicates", totals.duplicates},
                    {"saturated", totals.saturated},
                    {"invalid", totals.invalid},
                    {"without_unit", totals.without_unit},
                    {"skipped_bytes", totals.skipped_bytes}});
    write_left_out(report, list);
}

void write_hot(JsonWriter &report, const std::string &pmu, const HotList &list, size_t top,
               const Placer *placer)
{
    const HotTotals &totals = list.totals();
    const uint64_t all = totals.always_on ? totals.entries : totals.accesses;
    uint64_t sum = 0;
    report.begin("hot", JsonWriter::kArray);
    for (const HotUnit &unit : list.hottest(top)) {
        const uint64_t weight = totals.always_on ? unit.epochs : unit.accesses;
        add_to(sum, weight);
        report.begin_element();
        report.members({{"dpa", unit.dpa},
                        {"accesses", accesses_of(totals, unit.accesses)},
                        {"epochs", unit.epochs},
                        {"share", part_of(weight, all)},
                        {"share_sum", part_of(sum, all)}});
        if (placer)
            write_placement(report, placer->place(pmu, unit.dpa, power(list.totals().unit_log2)));
        report.end();
    }
    report.end();
}

Result<std::optional<unsigned>> unit_log2_of(const ReportOptions &options)
{
    if (!options.unit_bytes)
        return std::optional<unsigned>();
    if (!std::has_single_bit(*options.unit_bytes))
        return Error{Errc::kUsage,
                     fmt::format("--unit-bytes {}: not a power of two", *options.unit_bytes)};
    return std::optional<unsigned>(static_cast<unsigned>(std::countr_zero(*options.unit_bytes)));
}

// The topology is read only if it was requested.
Result<std::optional<Placer>> placer_of(const Recording &recording, const ReportOptions &options)
{
    if (!options.cxl_topology && options.by != "dpa")
        return Error{Errc::kUsage,
                     fmt::format("--by {}: host addresses need --cxl-topology DIR, such as /sys",
                                 options.by)};
    if (!options.cxl_topology)
        return std::optional<Placer>();
    Result<Placer> placer = Placer::open_for(recording, *options.cxl_topology, options.host);
    if (!placer)
        return placer.error();
    return std::optional<Placer>(std::move(*placer));
}

class CxlHmuReport final : public DriverReport {
public:
    CxlHmuReport(const Recording &recording, ReportOptions options,
                 std::optional<unsigned> unit_log2, std::optional<Placer> placer)
        : recording_(recording),
          options_(std::move(options)),
          unit_log2_(unit_log2),
          placer_(std::move(placer))
    {
    }

    void aux_begin(const Stream &stream, uint64_t offset, uint64_t, uint64_t) override
    {
        streams_.begin_at(stream, offset, list(stream.event));
    }
    void aux(const Stream &stream, Bytes data) override { streams_.data(stream, data); }
    void aux_loss(const Stream &stream, uint64_t, uint64_t bytes) override
    {
        streams_.loss(stream, bytes);
    }
    void sample(const Stream &stream, uint64_t, Bytes words) override
    {
        decode::cxl_hmu::StreamDecoder decoder(list(stream.event));
        decoder.start(0);
        decoder.data(words);
        decoder.end();
    }
    void join(Join &join) override { join_ = &join; }
    void expect(size_t event) override { list(event); }
    void finish() override { streams_.end(); }

    void print(const Recording &recording, const Verdict &verdict, Output &out) override
    {
        for (const auto &[event, list] : lists_)
            print_pmu(recording, event, list, options_, placer(), verdict, out);
        if (placer_)
            print_placement(recording, lists_, options_, *placer_, out);
    }
    void write_pmus(const Recording &recording, JsonWriter &pmus) override
    {
        for (const auto &[event, list] : lists_) {
            const std::string pmu = recording.pmu_name(event);
            begin_pmu(recording, event, "cxl_hmu", pmus);
            write_totals(pmus, list);
            write_hot(pmus, pmu, list, options_.top, placer());
            end_pmu(recording, event, pmus);
        }
    }
    void write_extras(const Recording &recording, JsonWriter &report) override
    {
        if (!placer_)
            return;
        write_places(report, place_heat(recording, lists_, options_.by, *placer_), options_);
        report.member("assumptions", nlohmann::ordered_json(placer_->assumptions()));
    }
    void add_figures(const Recording &recording, const Verdict &verdict, html::Page &page) override;
    std::vector<std::string> troubles(const Recording &recording) const override;

private:
    HotList &list(size_t event);
    void watch(size_t event, HotList &list);
    const Placer *placer() const { return placer_ ? &*placer_ : nullptr; }

    const Recording &recording_;
    ReportOptions options_;
    std::optional<unsigned> unit_log2_;
    std::optional<Placer> placer_;
    std::map<size_t, HotList> lists_;
    std::shared_ptr<Budget> rows_left_ = std::make_shared<Budget>(limits::kLines);
    std::map<size_t, decode::AddressGrid> heat_;  // needed for figures only
    Join *join_ = nullptr;
    StreamMap<decode::cxl_hmu::StreamDecoder> streams_;
};

void CxlHmuReport::watch(size_t event, HotList &list)
{
    decode::AddressGrid *heat =
        options_.html.empty() ? nullptr : &heat_.try_emplace(event, rows_left_).first->second;
    if (!heat && !join_)
        return;
    const std::string pmu = recording_.pmu_name(event);
    list.watch([this, heat, pmu, &list](uint64_t dpa, uint64_t time_ns, uint64_t value) {
        if (heat)
            heat->add(dpa, time_ns, value);
        if (join_)
            join_->hot(pmu, power(list.totals().unit_log2), dpa, time_ns, value);
    });
}

HotList &CxlHmuReport::list(size_t event)
{
    auto [at, fresh] =
        lists_.try_emplace(event, unit_log2_ ? unit_log2_ : asked_unit_log2(recording_, event));
    if (fresh) {
        watch(event, at->second);
        if (recording_.continues())
            at->second.begins_later();
    }
    return at->second;
}

void CxlHmuReport::add_figures(const Recording &recording, const Verdict &verdict, html::Page &page)
{
    FigureHead all;
    bool always_on = false;
    for (const auto &[event, list] : lists_) {
        const FigureHead head{recording.pmu_name(event), recording.source(event).value_or(""),
                              lines_of(remarks_of(list.totals())), verdict.badge(event)};
        if (page.has_room())
            for (const html::Figure &figure :
                 hot_figures(head, list, heat_.at(event), options_.top, placer()))
                page.add(figure);
        if (!placer_)
            continue;
        all.pmu += (all.pmu.empty() ? "" : ", ") + head.pmu;
        if (all.source.empty())
            all.source = head.source;
        all.losses.insert(all.losses.end(), head.losses.begin(), head.losses.end());
        always_on |= list.totals().always_on;
    }
    if (!placer_)
        return;
    const PlaceHeat heat = place_heat(recording, lists_, "node", *placer_);
    html::Figure figure = node_figure(all, heat.hottest(), always_on);
    if (heat.lost_units())
        figure.words.push_back(fmt::format("{} units have no host address; first reason: {}",
                                           heat.lost_units(), heat.first_reason()));
    for (const std::string &assumption : placer_->assumptions())
        figure.words.push_back(assumption);
    page.add(figure);
}

std::vector<std::string> CxlHmuReport::troubles(const Recording &recording) const
{
    std::vector<std::string> troubles;
    for (const auto &[event, list] : lists_) {
        const HotTotals &hot = list.totals();
        if (hot.without_unit)
            troubles.push_back(fmt::format("{}: {}", where_of(recording, event),
                                           counted(hot.without_unit, sentences::kWithoutUnit)));
        troubles.push_back(skipped_text(where_of(recording, event), hot.skipped_bytes));
    }
    return troubles;
}

}  // namespace

ReportResult make_cxl_hmu_report(const Recording &recording, const ReportOptions &options)
{
    Result<std::optional<unsigned>> unit_log2 = unit_log2_of(options);
    if (!unit_log2)
        return unit_log2.error();
    Result<std::optional<Placer>> placer = placer_of(recording, options);
    if (!placer)
        return placer.error();
    std::unique_ptr<DriverReport> report =
        std::make_unique<CxlHmuReport>(recording, options, *unit_log2, std::move(*placer));
    return report;
}

}  // namespace pmukit::cli
