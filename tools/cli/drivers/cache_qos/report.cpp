// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Cache use and memory traffic of each monitor in a recording, over time.
#include <algorithm>
#include <map>
#include <set>

#include "base/saturate.hpp"
#include "base/sentences.hpp"
#include "cli/drivers/cache_qos/figures.hpp"
#include "cli/drivers/cache_qos/handlers.hpp"
#include "cli/drivers/cache_qos/missing.hpp"
#include "cli/drivers/cache_qos/resctrl_tree.hpp"
#include "cli/join.hpp"
#include "decode/cache_qos/cache_qos_decode.hpp"
#include "decode/cache_qos/cache_qos_series.hpp"
#include "session/stream_map.hpp"

namespace pmukit::cli {
namespace {

namespace cache_qos = decode::cache_qos;
using cache_qos::kMachine;
using cache_qos::Series;
using cache_qos::SeriesKey;
using cache_qos::SeriesTable;

// Readings of one event, from all its streams
struct EventReadings {
    explicit EventReadings(const std::shared_ptr<Budget> &room) : left(room), series(room) {}

    std::shared_ptr<Budget> left;
    SeriesTable series;
    std::map<uint16_t, cache_qos::Header> headers;  // newest header, by L3
    CacheValues values() const { return {series, headers}; }
    uint64_t readings = 0, lost = 0, missing = 0, duplicates = 0, skipped_bytes = 0;
    uint64_t not_kept = 0;  // readings of series beyond the memory budget
    uint64_t yielded = 0;   // readings while other software had the registers
    MissingCounts values_missing{};
};

uint64_t of(const EventReadings &event, Missing what)
{
    return event.values_missing[static_cast<size_t>(what)];
}

// Collects the readings of one stream. The event of each CPU numbers its records separately.
class StreamReadings final : public cache_qos::Sink {
public:
    explicit StreamReadings(EventReadings &event) : event_(event), decoder_(*this) {}
    StreamReadings(const StreamReadings &) = delete;
    StreamReadings &operator=(const StreamReadings &) = delete;

    cache_qos::StreamDecoder &decoder() { return decoder_; }

    void header(uint64_t, const cache_qos::Header &header) override
    {
        if (!account_.note(header.sequence))
            return;
        lost_ = header.lost;
        missing_.header(header);
        if (event_.headers.contains(header.domain) || event_.left->take(sizeof header + kNodeBytes))
            event_.headers[header.domain] = header;
    }
    void reading(uint64_t, const cache_qos::Reading &reading) override
    {
        if (!account_.note(reading.sequence))
            return;
        event_.readings++;
        missing_.reading(reading);
        event_.yielded += (reading.status & PMUKIT_CACHE_QOS_S_YIELDED) != 0;
        event_.not_kept += !event_.series.add(reading);
    }
    void name(uint64_t, const cache_qos::NamePart &part) override
    {
        if (!account_.note(part.sequence))
            return;
        missing_.name(part);
        event_.series.name(part);
    }
    void skipped(uint64_t, uint64_t bytes) override { event_.skipped_bytes += bytes; }
    void finish()
    {
        decoder_.end();
        add_to(event_.lost, lost_);
        add_to(event_.missing, account_.missing());
        event_.duplicates += account_.duplicates();
        for (size_t what = 0; what < kMissing.size(); what++)
            add_to(event_.values_missing[what], missing_.counts()[what]);
    }

private:
    EventReadings &event_;
    cache_qos::SequenceAccount account_;
    MissingValues missing_;
    uint64_t lost_ = 0;
    cache_qos::StreamDecoder decoder_;
};

std::string strip_of(const Series &series)
{
    constexpr std::string_view kShades = " .:-=+*#%@";
    const std::vector<uint64_t> columns = series.highest();
    const uint64_t top = columns.empty() ? 0 : *std::ranges::max_element(columns);
    std::string strip;
    for (uint64_t column : columns) {
        const double part = top ? static_cast<double>(column) / static_cast<double>(top) : 0;
        const size_t shade = static_cast<size_t>(part * static_cast<double>(kShades.size() - 1));
        // A column with any value is never blank.
        strip += kShades[column ? std::max<size_t>(1, shade) : 0];
    }
    return strip;
}

std::string words_of_status(uint32_t status, const char *between)
{
    std::string words;
    for (; status; status &= status - 1)
        words += fmt::format("{}{}", words.empty() ? "" : between, cache_qos::status_name(status));
    return words;
}

bool is_of_resctrl(const cache_qos::Header &header)
{
    return header.backend == PMUKIT_CACHE_QOS_BACKEND_RESCTRL;
}

std::string size_text(const cache_qos::Header &header)
{
    return header.cache_bytes ? fmt::format("{} bytes", header.cache_bytes) : "size unknown";
}

// resctrl may not state the number of RMIDs.
std::string rmids_text(const cache_qos::Header &header)
{
    return header.rmids ? std::to_string(header.rmids) : "-";
}

void print_machine(const EventReadings &event, Output &out)
{
    std::set<std::pair<uint32_t, uint32_t>> monitors;
    for (const auto &[key, series] : event.series.all())
        monitors.insert({key.monitor, key.life});
    out.print("\n  {} of {}\n", counted(event.readings, "readings"),
              counted(monitors.size(), "monitors"));
    for (const auto &[domain, header] : event.headers)
        if (is_of_resctrl(header))
            out.print("  L3 {}: {}, {} RMIDs, read by resctrl\n", domain, size_text(header),
                      rmids_text(header));
        else
            out.print("  L3 {}: {}, unit {} bytes, {} RMIDs, registers: {}\n", domain,
                      size_text(header), header.scale, rmids_text(header),
                      cache_qos::backend_name(header.backend));
}

// Width of the column of names. 0: no monitor has a name, so there is no such column.
size_t name_width(const SeriesTable &series)
{
    size_t width = std::string_view("name").size();
    for (const auto &[key, one] : series.all())
        width = std::max(width, one.named() ? one.named()->label().size() : 0);
    return series.has_names() ? width : 0;
}

std::string name_cell(std::string_view name, size_t width)
{
    return width ? fmt::format("  {:<{}}", name, width) : std::string();
}

// The line above a table
std::string words_of(const CacheValues &values, const CacheTable &table)
{
    std::string words = table.title;
    if (table.is_count)
        words += " in MB/s";
    else if (values.of_resctrl())
        words += " in bytes, with lines of an earlier RMID owner";
    else
        words += " in bytes, too high by up to bound: lines of an earlier RMID owner";
    return has_shares(values, table) ? words + "; " + table.share : words;
}

// Prints the cells that only an occupancy has: the last value and the bound.
void print_table(const CacheValues &values, const CacheTable &table, Output &out)
{
    const size_t width = name_width(values.series);
    const auto only_gauge = [&table](std::string_view text, size_t columns) {
        return table.is_count ? std::string() : fmt::format("  {:>{}}", text, columns);
    };
    bool is_first = true;
    for (const auto &[key, series] : values.series.all()) {
        if (series.is_count() != table.is_count)
            continue;
        if (is_first)
            out.print(
                "\n  {}\n\n  {:>7}  {:<7}{}  {:>3}  {:<13}  {:>8}  {:>14}  {:>14}  {:>14}{}  "
                "{:>6}{}  timeline\n",
                words_of(values, table), "monitor", "kind", name_cell("name", width), "L3", "event",
                "readings", "min", "median", "max", only_gauge("last", 14), "share",
                only_gauge("bound", 12));
        is_first = false;
        const cache_qos::Summary summary = series.summary();
        const std::optional<uint64_t> bound = bound_of(series, values.of_resctrl());
        const auto cell = [&series = series](uint64_t value) {
            return !series.has_value() ? std::string("-")
                   : series.is_count() ? megabytes_text(value)
                                       : std::to_string(value);
        };
        out.print(
            "  {:>7}  {:<7}{}  {:>3}  {:<13}  {:>8}  {:>14}  {:>14}  {:>14}{}  {:>6}{}  |{}|"
            "{}{}\n",
            cache_qos::monitor_name(key), cache_qos::kind_name(series.kind()),
            name_cell(series.named() ? series.named()->label() : "", width), key.domain,
            cache_qos::event_name(key.event), series.readings(), cell(summary.min),
            cell(summary.median), cell(summary.max), only_gauge(cell(series.last_bytes()), 14),
            share_text(share_of(values, key, series)),
            only_gauge(bound ? std::to_string(*bound) : "-", 12), strip_of(series),
            series.status() ? " " : "", words_of_status(series.status(), " "));
    }
}

void print_series(const CacheValues &values, Output &out)
{
    for (const CacheTable &table : kCacheTables)
        print_table(values, table, out);
    if (values.of_resctrl())
        out.print("\n  {}\n", resctrl::kMeaning);
}

std::vector<Remark> remarks_of(const EventReadings &event)
{
    std::vector<Remark> remarks = {
        {event.lost, sentences::kLostReadings},
        {event.missing, sentences::kMissingRecords},
        {event.duplicates, sentences::kDuplicates},
        {event.skipped_bytes, sentences::kSkippedBytes},
        {event.yielded, "readings are from before other software took the registers (yielded)"},
        {event.not_kept, "readings exceed the memory limit; export has them"},
    };
    for (size_t what = 0; what < kMissing.size(); what++)
        remarks.push_back({event.values_missing[what], kMissing[what].sentence});
    return remarks;
}

void print_remarks(size_t number, const EventReadings &event, const Verdict &verdict, Output &out)
{
    const std::vector<Remark> remarks = remarks_of(event);
    out.text(verdict.line(number, std::ranges::any_of(remarks, &Remark::count)));
    for (const Remark &remark : remarks)
        if (remark.count)
            out.print("  {}\n", counted_text(remark.count, remark.at_least, remark.text));
}

void write_timeline(JsonWriter &json, const Series &series, bool of_resctrl)
{
    json.begin("timeline", JsonWriter::kArray);
    for (const cache_qos::Column &column : series.columns())
        json.element({{"time_ns", column.number << series.width_log2()},
                      {"highest", column.levels ? JsonValue(column.highest) : JsonValue(nullptr)},
                      {"last_bytes", column.last_bytes},
                      {"bound", bound_of(series, of_resctrl) ? JsonValue(column.max_bound)
                                                             : JsonValue(nullptr)},
                      {"status", words_of_status(column.status, ",")}});
    json.end();
}

void write_series(JsonWriter &json, const EventReadings &event, const SeriesKey &key,
                  const Series &series)
{
    const cache_qos::Summary summary = series.summary();
    const std::optional<cache_qos::Name> &named = series.named();
    const std::optional<double> share = share_of(event.values(), key, series);
    const bool of_resctrl = event.values().of_resctrl();
    const auto value = [&series](uint64_t number) {
        return series.has_value() ? JsonValue(number) : JsonValue(nullptr);
    };
    json.begin_element();
    json.members({{"monitor", key.monitor},
                  {"life", key.life + 1},
                  {"kind", cache_qos::kind_name(series.kind())},
                  {"name", named ? JsonValue(named->text) : JsonValue(nullptr)},
                  {"id", named && named->id ? JsonValue(named->id) : JsonValue(nullptr)},
                  {"domain", key.domain},
                  {"event", cache_qos::event_name(key.event)},
                  {"unit", series.is_count() ? "bytes/s" : "bytes"},
                  {"readings", series.readings()},
                  {"min", value(summary.min)},
                  {"median", value(summary.median)},
                  {"max", value(summary.max)},
                  {"last_bytes", value(series.last_bytes())},
                  {"share", share},
                  {"share_of", share ? JsonValue(table_of(series).share_of) : JsonValue(nullptr)},
                  {"max_bound", bound_of(series, of_resctrl)},
                  {"max_age_ns", series.max_age_ns()},
                  {"generations", series.generations()},
                  {"status", words_of_status(series.status(), ",")},
                  {"column_ns", uint64_t{1} << series.width_log2()}});
    write_timeline(json, series, of_resctrl);
    json.end();
}

void write_domain(JsonWriter &json, const cache_qos::Header &header)
{
    json.element({{"domain", header.domain},
                  {"cache_bytes", header.cache_bytes},
                  {"scale", header.scale},
                  {"rmids", header.rmids ? JsonValue(header.rmids) : JsonValue(nullptr)},
                  {"width", header.width},
                  {"backend", cache_qos::backend_name(header.backend)}});
}

class CacheQosReport final : public DriverReport {
public:
    void aux_begin(const Stream &stream, uint64_t offset, uint64_t, uint64_t) override
    {
        streams_.begin_at(stream, offset, event_of(stream));
    }
    void aux(const Stream &stream, Bytes data) override { streams_.data(stream, data); }
    void aux_loss(const Stream &stream, uint64_t, uint64_t bytes) override
    {
        streams_.loss(stream, bytes);
    }
    void sample(const Stream &stream, uint64_t, Bytes words) override
    {
        StreamReadings &readings = streams_.of(stream, event_of(stream));
        const auto record = cache_qos::parse_record(words);
        if (!record)
            readings.skipped(0, words.size());
        else if (const auto *header = std::get_if<cache_qos::Header>(&*record))
            readings.header(0, *header);
        else if (const auto *part = std::get_if<cache_qos::NamePart>(&*record))
            readings.name(0, *part);
        else
            readings.reading(0, std::get<cache_qos::Reading>(*record));
    }
    void join(Join &join) override { join_ = &join; }
    void expect(size_t event) override { events_.try_emplace(event, left_); }
    void finish() override
    {
        for (auto &[stream, readings] : streams_.all())
            readings.finish();
        if (join_)
            for (const auto &[number, event] : events_)
                join_->groups(event.series);
    }

    void print(const Recording &recording, const Verdict &verdict, Output &out) override
    {
        for (const auto &[number, event] : events_) {
            out.print("{}", recording.pmu_name(number));
            if (const auto source = recording.source(number))
                out.print("  source={}", *source);
            out.print("\n  {}", event_line(recording, number, terms_of(recording, number)));
            print_machine(event, out);
            print_series(event.values(), out);
            print_remarks(number, event, verdict, out);
        }
    }
    void write_pmus(const Recording &recording, JsonWriter &pmus) override
    {
        for (const auto &[number, event] : events_) {
            begin_pmu(recording, number, "cache_qos", pmus);
            pmus.members({{"readings", event.readings},
                          {"lost", event.lost},
                          {"missing", event.missing},
                          {"duplicates", event.duplicates},
                          {"failed", of(event, Missing::kFailed)},
                          {"removed_groups", of(event, Missing::kRemoved)},
                          {"unmounts", of(event, Missing::kUnmounted)},
                          {"not_kept", event.not_kept},
                          {"skipped_bytes", event.skipped_bytes}});
            pmus.begin("domains", JsonWriter::kArray);
            for (const auto &[domain, header] : event.headers)
                write_domain(pmus, header);
            pmus.end();
            pmus.begin("monitors", JsonWriter::kArray);
            for (const auto &[key, series] : event.series.all())
                write_series(pmus, event, key, series);
            pmus.end();
            end_pmu(recording, number, pmus);
        }
    }
    void add_figures(const Recording &recording, const Verdict &verdict, html::Page &page) override
    {
        for (const auto &[number, event] : events_) {
            const FigureHead head{recording.pmu_name(number), recording.source(number).value_or(""),
                                  lines_of(remarks_of(event)), verdict.badge(number)};
            if (!page.has_room())
                continue;
            for (html::Figure &figure : cache_figures(head, event.values(), page.bytes_left())) {
                if (event.values().of_resctrl())
                    figure.words.emplace_back(resctrl::kMeaning);
                page.add(figure);
            }
        }
    }
    std::vector<std::string> troubles(const Recording &recording) const override
    {
        std::vector<std::string> troubles;
        for (const auto &[number, event] : events_)
            troubles.push_back(skipped_text(where_of(recording, number), event.skipped_bytes));
        return troubles;
    }

private:
    EventReadings &event_of(const Stream &stream)
    {
        return events_.try_emplace(stream.event, left_).first->second;
    }

    std::shared_ptr<Budget> left_ = std::make_shared<Budget>(limits::kMonitors);
    std::map<size_t, EventReadings> events_;
    StreamMap<StreamReadings> streams_;
    Join *join_ = nullptr;
};

}  // namespace

ReportResult make_cache_qos_report(const Recording &, const ReportOptions &)
{
    std::unique_ptr<DriverReport> report = std::make_unique<CacheQosReport>();
    return report;
}

}  // namespace pmukit::cli
