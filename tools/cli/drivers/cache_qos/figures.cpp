// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Figures of caches and memory bandwidth by monitor.
#include "cli/drivers/cache_qos/figures.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace pmukit::cli {
namespace {

namespace cache_qos = decode::cache_qos;
using cache_qos::Series;
using cache_qos::SeriesKey;
using cache_qos::SeriesTable;

struct Span {
    uint64_t first = UINT64_MAX, last = 0;
    double at(uint64_t time_ns) const
    {
        return time_ns > first ? part_of(time_ns - first, last - first) : 0;
    }
};

std::string words_of(const CacheTable &table)
{
    return table.is_count ? "Bytes per second of each monitor between two readings."
                          : "L3 occupancy of each monitor; bound: lines that an earlier owner of "
                            "the RMID may still have.";
}

std::string label_of(const SeriesKey &key, const Series &series)
{
    const std::string monitor =
        series.kind() == PMUKIT_CACHE_QOS_KIND_MACHINE
            ? std::string(cache_qos::kind_name(series.kind()))
            : fmt::format("{} {}{}{}", cache_qos::kind_name(series.kind()), monitor_name(key),
                          series.named() ? " " : "", series.named() ? series.named()->label() : "");
    return fmt::format("{} L3 {}", monitor, key.domain);
}

// One line of the chart, for a monitor and an L3. Each point is the maximum of a time column.
html::Timelines::Line line_of(const SeriesKey &key, const Series &series, const Span &span,
                              uint64_t highest, const CacheTable &table)
{
    html::Timelines::Line line;
    line.label = label_of(key, series);
    line.highest =
        table.is_count ? std::string(cache_qos::event_name(key.event)) : bytes_text(highest);
    for (const cache_qos::Column &column : series.columns())
        if (column.levels)
            line.points.push_back({fmt::format("at {}: {} {}", seconds_text(column.highest_ns),
                                               column.highest, table.unit),
                                   span.at(column.highest_ns), part_of(column.highest, highest)});
    return line;
}

std::vector<std::string> row_of(const SeriesKey &key, const Series &series,
                                const CacheValues &values)
{
    const cache_qos::Summary summary = series.summary();
    const auto cell = [&series](uint64_t value) {
        return series.has_value() ? std::to_string(value) : std::string("-");
    };
    const std::optional<uint64_t> bound = bound_of(series, values.of_resctrl());
    return {monitor_name(key),
            std::string(cache_qos::kind_name(series.kind())),
            series.named() ? series.named()->label() : "",
            std::to_string(key.domain),
            std::string(cache_qos::event_name(key.event)),
            std::to_string(series.readings()),
            cell(summary.min),
            cell(summary.median),
            cell(summary.max),
            cell(series.last_bytes()),
            share_text(share_of(values, key, series)),
            bound ? std::to_string(*bound) : "-"};
}

// Approximate size of a line, its points and its table row on the page.
size_t bytes_of(const html::Timelines::Line &line)
{
    constexpr size_t kLineBytes = 800, kPointBytes = 250;
    return kLineBytes + kPointBytes * line.points.size();
}

// `left` is the number of bytes that the page may still grow by. It is reduced by the size of the
// added lines.
std::optional<html::Figure> figure_for(const FigureHead &head, const CacheValues &values,
                                       const CacheTable &table, size_t &left)
{
    Span span;
    uint64_t highest = 0, readings = 0;
    for (const auto &[key, one] : values.series.all()) {
        if (one.is_count() != table.is_count)
            continue;
        if (one.has_value()) {
            span.first = std::min(span.first, one.first_ns());
            span.last = std::max(span.last, one.last_ns());
        }
        highest = std::max(highest, one.summary().max);
        readings += one.readings();
    }
    if (!readings)
        return std::nullopt;
    html::Figure figure = figure_of(head, table.title);
    figure.words = {
        words_of(table),
        fmt::format("All lines have one scale: the full height is {} {}.", highest, table.unit)};
    if (has_shares(values, table))
        figure.words.emplace_back(table.share);
    figure.table.columns = {{"monitor", true},
                            {"kind"},
                            {"name"},
                            {"L3", true},
                            {"event"},
                            {"readings", true},
                            {fmt::format("min, {}", table.unit), true},
                            {"median", true},
                            {"max", true},
                            {"last bytes", true},
                            {"share", true},
                            {"bound", true}};
    html::Timelines lines;
    uint64_t left_out = 0, readings_left_out = 0;
    for (const auto &[key, one] : values.series.all()) {
        if (one.is_count() != table.is_count)
            continue;
        html::Timelines::Line line = line_of(key, one, span, highest, table);
        if (bytes_of(line) > left) {
            left_out++;
            readings_left_out += one.readings();
            continue;
        }
        left -= bytes_of(line);
        lines.lines.push_back(std::move(line));
        figure.table.rows.push_back(row_of(key, one, values));
    }
    if (left_out)
        figure.table.rows.push_back({"",
                                     fmt::format("{} more; pmukit report --json has all", left_out),
                                     "", "", "", std::to_string(readings_left_out)});
    figure.table.total = {"all", "", "", "", "", std::to_string(readings)};
    lines.first = seconds_text(span.first);
    lines.last = seconds_text(span.last);
    figure.picture = std::move(lines);
    return figure;
}

}  // namespace

std::optional<uint64_t> bound_of(const Series &series, bool of_resctrl)
{
    return series.is_count() || of_resctrl ? std::nullopt : std::optional(series.max_bound());
}

bool CacheValues::of_resctrl() const
{
    return !headers.empty() && headers.begin()->second.backend == PMUKIT_CACHE_QOS_BACKEND_RESCTRL;
}

const CacheTable &table_of(const Series &series)
{
    return kCacheTables[series.is_count()];
}

std::optional<double> share_of(const CacheValues &values, const SeriesKey &key,
                               const Series &series)
{
    uint64_t all = 0;
    if (!series.has_value())
        return std::nullopt;
    if (series.is_count())
        all = values.series.grown(cache_qos::kMachine, key.domain, key.event);
    else if (const auto header = values.headers.find(key.domain); header != values.headers.end())
        all = header->second.cache_bytes;
    if (!all)
        return std::nullopt;
    const uint64_t part = series.is_count() ? series.grown() : series.last_bytes();
    return static_cast<double>(part) / static_cast<double>(all);
}

bool has_shares(const CacheValues &values, const CacheTable &table)
{
    return std::ranges::any_of(values.series.all(), [&](const auto &one) {
        return one.second.is_count() == table.is_count && share_of(values, one.first, one.second);
    });
}

std::string share_text(const std::optional<double> &share)
{
    return share ? fmt::format("{:.1f}%", *share * 100) : std::string("-");
}

std::vector<html::Figure> cache_figures(const FigureHead &head, const CacheValues &values,
                                        size_t bytes)
{
    std::vector<html::Figure> figures;
    for (const CacheTable &table : kCacheTables)
        if (std::optional<html::Figure> figure = figure_for(head, values, table, bytes))
            figures.push_back(std::move(*figure));
    if (figures.empty()) {
        figures.push_back(figure_of(head, "Caches"));
        figures.back().words = {"Nothing was read."};
        figures.back().picture = html::Bars{};
    }
    return figures;
}

}  // namespace pmukit::cli
