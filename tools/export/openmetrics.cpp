// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Writes sums over a recording in the text format of OpenMetrics 1.0. The textfile collector of
// node_exporter reads such files, as Prometheus' exposition format 0.0.4. Only values that go on in
// the next recording are counters; sums over the recording are gauges.
#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/escape.hpp"
#include "base/file.hpp"
#include "base/saturate.hpp"
#include "export/text.hpp"
#include "export/text_file.hpp"
#include "export/writer.hpp"
#include "perfdata/output/new_file.hpp"

namespace pmukit::exporter {
namespace {

enum class How { kRows, kSum, kLast, kSpan };
enum class Type { kGauge, kCounter };

// Which rows of a table belong to a metric: those whose column has this text.
struct Where {
    std::string_view column, text;
};

struct Metric {
    std::string_view name, help, table;
    How how;
    // Column that is summed up, whose last value is the result, or whose range is.
    std::string_view value;
    // Columns that become labels, after the labels source, host and pmu.
    std::array<std::string_view, 5> labels{};
    // Columns that become labels with the values of the newest row. They do not distinguish series.
    std::array<std::string_view, 2> newest{};
    Where where{};
    Type type = Type::kGauge;
};
// There is a metric per kind of traffic, because totals include the local and remote traffic.
constexpr Metric traffic(std::string_view name, std::string_view help, std::string_view event)
{
    return {name,           help,
            "cache_qos",    How::kLast,
            "bytes",        {"kind", "monitor", "life", "domain"},
            {"name", "id"}, {"event", event},
            Type::kCounter};
}

constexpr Metric kMetrics[] = {
    {"pmukit_cache_qos_occupancy_bytes",
     "Newest L3 occupancy of a monitor",
     "cache_qos",
     How::kLast,
     "bytes",
     {"kind", "monitor", "life", "domain"},
     {"name", "id"},
     {"event", "llc_occupancy"}},
    traffic("pmukit_cache_qos_traffic_bytes", "Memory traffic of a monitor since it began",
            "total_bytes"),
    traffic("pmukit_cache_qos_local_traffic_bytes",
            "Memory traffic of a monitor with the memory of its node", "local_bytes"),
    traffic("pmukit_cache_qos_remote_traffic_bytes",
            "Memory traffic of a monitor with the memory of other nodes", "remote_bytes"),
    {"pmukit_cxl_hmu_accesses", "Accesses that hot-list entries represent", "cxl_hmu", How::kSum,
     "accesses"},
    {"pmukit_cxl_hmu_entries", "Hot-list entries", "cxl_hmu", How::kRows, ""},
    {"pmukit_hisi_ptt_bytes",
     "Bytes of payload, or that reads ask for",
     "hisi_ptt",
     How::kSum,
     "bytes",
     {"type"}},
    {"pmukit_hisi_ptt_tlps", "PCIe packets", "hisi_ptt", How::kRows, "", {"type"}},
    {"pmukit_imc_samples", "Samples of trace_imc", "imc", How::kRows, "", {"mode"}},
    {"pmukit_samples", "Ordinary samples", "samples", How::kRows, "", {"event"}},
    {"pmukit_lost",
     "Known losses, as far as their amount is known",
     "losses",
     How::kSum,
     "amount",
     {"driver", "kind", "measure", "at_least"}},
    {"pmukit_loss_reports",
     "Number of reported losses",
     "losses",
     How::kRows,
     "",
     {"driver", "kind"}},
};
// Has a series for every PMU with rows, so that 0 is not confused with an absent recording.
constexpr Metric kLossCount{"pmukit_losses",
                            "Number of reported losses of a PMU; 0: nothing is known to be lost",
                            "losses", How::kRows, ""};
// Rates are sums divided by this.
constexpr Metric kRecordedTime{"pmukit_recorded_seconds",
                               "Time from the first to the last row of a PMU", "", How::kSpan,
                               "time_ns"};
constexpr Origin kCommonLabels[] = {kSource, kHost, kPmu};

// Maximum number of series. Each series stays in memory, and no plausible machine has this many.
constexpr size_t kMostSeries = 100000;

// Escapes the value of a label as for JSON. Characters that a terminal must not get become blanks,
// because only for them the escapes of JSON differ from those of labels.
std::string label_text(std::string_view text)
{
    const std::string printable = replace_unsafe(text, ' ');
    std::string to(printable.size() * kMostEscaped, '\0');
    to.resize(static_cast<size_t>(put_json_escaped(to.data(), printable) - to.data()));
    return to;
}

bool belongs(const Where &where, const Table &table, Values row)
{
    if (where.column.empty())
        return true;
    const Value &value = row[column_of(table, where.column)];
    return value.known && value.text() == where.text;
}

class OpenMetrics final : public Writer {
public:
    explicit OpenMetrics(TextFile file) : file_(std::move(file)) {}

    void rows(const Table &table, Values common, Values rest) override;
    const Result<void> &state() const override { return state_; }
    Result<void> finish() override;

private:
    struct Series {
        uint64_t value = 0;
        uint64_t least = UINT64_MAX;  // of How::kSpan
        std::string newest;
    };

    static void add_label(const Column &column, const Value &value, std::string &to);
    static void add_labels(std::span<const std::string_view> labels, const Table &table, Values row,
                           std::string &to);
    // Returns the series, and creates it with 0.
    Series &series_of(const Metric &metric, const std::string &labels);
    // labels: the labels source, host and pmu of the row
    void add(const Metric &metric, const Table &table, Values row, std::string labels);
    static std::string text_of(const Metric &metric, const Series &series);
    void write(const Metric &metric);

    TextFile file_;
    // Key of the inner map: the labels of the series.
    std::map<const Metric *, std::map<std::string, Series>> series_;
    size_t count_ = 0;
    std::vector<Value> row_;
    Result<void> state_;
};

void OpenMetrics::add_label(const Column &column, const Value &value, std::string &to)
{
    if (!value.known)
        return;
    char text[32];
    to += (to.empty() ? "" : ",") + std::string(column.name) + "=\"";
    if (is_text(column.kind))
        to += label_text(value.text());
    else
        to.append(text, put_plain(text, column.kind, value));
    to += '"';
}

void OpenMetrics::add_labels(std::span<const std::string_view> labels, const Table &table,
                             Values row, std::string &to)
{
    for (const std::string_view label : labels)
        if (!label.empty()) {
            const size_t column = column_of(table, label);
            add_label(table.columns[column], row[column], to);
        }
}

OpenMetrics::Series &OpenMetrics::series_of(const Metric &metric, const std::string &labels)
{
    const auto [at, fresh] = series_[&metric].try_emplace(labels);
    count_ += fresh;
    if (count_ > kMostSeries)
        state_ = Error{Errc::kDamaged, "more than 100000 series"};
    return at->second;
}

void OpenMetrics::add(const Metric &metric, const Table &table, Values row, std::string labels)
{
    if (!belongs(metric.where, table, row))
        return;
    add_labels(metric.labels, table, row, labels);
    const Value value =
        metric.how == How::kRows ? Value(uint64_t{1}) : row[column_of(table, metric.value)];
    if (!value.known)
        return;
    Series &series = series_of(metric, labels);
    const uint64_t number = value.number();
    if (metric.how == How::kLast)
        series.value = number;
    else if (metric.how == How::kSpan)
        series.value = std::max(series.value, number);
    else
        series.value = add_or_max(series.value, number);
    series.least = std::min(series.least, number);
    series.newest.clear();
    add_labels(metric.newest, table, row, series.newest);
}

void OpenMetrics::rows(const Table &table, Values common, Values rest)
{
    if (!common[kPmu].known && table.name != kLossCount.table)
        return;  // the row of the recording
    row_.resize(table.columns.size());
    std::ranges::copy(common, row_.begin());
    std::string origin;
    for (const Origin column : kCommonLabels)
        add_label(table.columns[column], row_[column], origin);
    add(kRecordedTime, table, row_, origin);
    const size_t width = row_.size() - common.size();
    series_of(kLossCount, origin).value += table.name == kLossCount.table ? rest.size() / width : 0;
    for (size_t at = 0; at < rest.size() && state_; at += width) {
        std::ranges::copy(rest.subspan(at, width),
                          row_.begin() + static_cast<ptrdiff_t>(common.size()));
        for (const Metric &metric : kMetrics)
            if (metric.table == table.name)
                add(metric, table, row_, origin);
    }
}

std::string OpenMetrics::text_of(const Metric &metric, const Series &series)
{
    if (metric.how != How::kSpan)
        return std::to_string(series.value);
    constexpr uint64_t kSecond_ns = 1000000000;
    const uint64_t span_ns = series.value - series.least;
    return fmt::format("{}.{:09}", span_ns / kSecond_ns, span_ns % kSecond_ns);
}

void OpenMetrics::write(const Metric &metric)
{
    const auto known = series_.find(&metric);
    if (known == series_.end())
        return;
    const std::string name(metric.name);
    const bool is_counter = metric.type == Type::kCounter;
    file_.text("# HELP " + name + " " + std::string(metric.help) + "\n# TYPE " + name +
               (is_counter ? " counter\n" : " gauge\n"));
    for (const std::string_view unit : {"bytes", "seconds"})
        if (name.ends_with("_" + std::string(unit)))
            file_.text("# UNIT " + name + " " + std::string(unit) + "\n");
    for (const auto &[labels, series] : known->second) {
        const char *between = labels.empty() || series.newest.empty() ? "" : ",";
        const std::string all = labels + between + series.newest;
        file_.text(name + (is_counter ? "_total" : "") + (all.empty() ? "" : "{" + all + "}") +
                   " " + text_of(metric, series) + "\n");
    }
}

Result<void> OpenMetrics::finish()
{
    if (series_.empty())
        series_of(kLossCount, "");
    for (const Metric &metric : kMetrics)
        write(metric);
    write(kRecordedTime);
    write(kLossCount);
    file_.text("# EOF\n");
    return file_.finish();
}

}  // namespace

// Makes the file readable for other users, such as the user of the collector. This is safe, because
// the file contains no addresses.
WriterResult make_openmetrics(const Output &output)
{
    Result<TextFile> file = TextFile::create(output.path);
    if (!file)
        return file.error();
    if (Result<void> readable = file->set_mode(0644); !readable)
        return readable.error();
    return WriterResult(std::make_unique<OpenMetrics>(std::move(*file)));
}

}  // namespace pmukit::exporter
