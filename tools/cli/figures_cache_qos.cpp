// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Figures of caches and memory bandwidth by monitor.
#include <fmt/core.h>

#include <algorithm>

#include "cli/figures.hpp"

namespace pmukit::cli {
namespace {

namespace cache_qos = decode::cache_qos;
using cache_qos::Series;
using cache_qos::SeriesKey;
using cache_qos::SeriesTable;

constexpr size_t kPoints = 96;  // of a line

struct Span {
    uint64_t first = UINT64_MAX, last = 0;
    double at(uint64_t time_ns) const
    {
        return time_ns > first ? part_of(time_ns - first, last - first) : 0;
    }
};

struct Event {
    bool is_count;
    const char *title, *unit, *words;
};
constexpr Event kEvents[] = {
    {false, "Cache occupancy", "bytes",
     "What each monitor had of an L3; the table's bound is what an earlier owner may still have of "
     "it."},
    {true, "Memory bandwidth", "bytes/s", "What each monitor moved a second between two readings."},
};

std::string label_of(const SeriesKey &key, const Series &series)
{
    const std::string who =
        series.kind() == PMUKIT_CACHE_QOS_KIND_MACHINE
            ? std::string(cache_qos::kind_name(series.kind()))
            : fmt::format("{} {}", cache_qos::kind_name(series.kind()), key.monitor);
    return fmt::format("{} L3 {}", who, key.domain);
}

// The largest of as many levels as one point stands for.
html::Timelines::Line line_of(const SeriesKey &key, const Series &series, const Span &span,
                              uint64_t highest, const Event &event)
{
    html::Timelines::Line line;
    line.label = label_of(key, series);
    line.highest =
        event.is_count ? std::string(cache_qos::event_name(key.event)) : bytes_text(highest);
    const std::vector<uint64_t> levels = series.levels();
    const size_t step = (levels.size() + kPoints - 1) / kPoints;
    for (size_t i = 0; i < levels.size(); i += step) {
        size_t most = i;
        for (size_t next = i; next < std::min(i + step, levels.size()); next++)
            if (levels[next] > levels[most])
                most = next;
        const uint64_t time_ns = series.time_ns_of(most);
        line.points.push_back(
            {fmt::format("at {}: {} {}", seconds_text(time_ns), levels[most], event.unit),
             span.at(time_ns), part_of(levels[most], highest)});
    }
    return line;
}

std::vector<std::string> row_of(const SeriesKey &key, const Series &series)
{
    const cache_qos::Summary summary = series.summary();
    return {std::to_string(key.monitor),
            std::string(cache_qos::kind_name(series.kind())),
            std::to_string(key.domain),
            std::string(cache_qos::event_name(key.event)),
            std::to_string(series.points().size()),
            std::to_string(summary.min),
            std::to_string(summary.median),
            std::to_string(summary.max),
            std::to_string(series.last_bytes()),
            std::to_string(series.max_bound())};
}

std::optional<html::Figure> figure_for(const FigureHead &head, const SeriesTable &series,
                                       const Event &event)
{
    Span span;
    uint64_t highest = 0, readings = 0;
    for (const auto &[key, one] : series) {
        if (one.is_count() != event.is_count || one.points().empty())
            continue;
        span.first = std::min(span.first, one.points().front().time_ns);
        span.last = std::max(span.last, one.points().back().time_ns);
        highest = std::max(highest, one.summary().max);
        readings += one.points().size();
    }
    if (!readings)
        return std::nullopt;
    html::Figure figure = figure_of(head, event.title);
    figure.words = {event.words, fmt::format("All lines have one scale: the full height is {} {}.",
                                             highest, event.unit)};
    figure.table.columns = {{"monitor", true},    {"kind"},
                            {"L3", true},         {"event"},
                            {"readings", true},   {fmt::format("min, {}", event.unit), true},
                            {"median", true},     {"max", true},
                            {"last bytes", true}, {"bound", true}};
    html::Timelines lines;
    for (const auto &[key, one] : series)
        if (one.is_count() == event.is_count && !one.points().empty()) {
            lines.lines.push_back(line_of(key, one, span, highest, event));
            figure.table.rows.push_back(row_of(key, one));
        }
    figure.table.total = {"all", "", "", "", std::to_string(readings)};
    lines.first = seconds_text(span.first);
    lines.last = seconds_text(span.last);
    figure.picture = std::move(lines);
    return figure;
}

}  // namespace

std::vector<html::Figure> cache_figures(const FigureHead &head, const SeriesTable &series)
{
    std::vector<html::Figure> figures;
    for (const Event &event : kEvents)
        if (std::optional<html::Figure> figure = figure_for(head, series, event))
            figures.push_back(std::move(*figure));
    if (figures.empty()) {
        figures.push_back(figure_of(head, "Caches"));
        figures.back().words = {"Nothing was read."};
        figures.back().picture = html::Bars{};
    }
    return figures;
}

}  // namespace pmukit::cli
