// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/top/live_frame.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/sentences.hpp"

namespace pmukit::cli {
namespace {

using nlohmann::ordered_json;

constexpr size_t kColumnsBeforeBar = 107, kBarWidth = 24;

std::string head_of(const Frame &frame)
{
    std::string head =
        fmt::format("pmukit top: {:.1f} s{}, from {}", static_cast<double>(frame.span_ms) / 1000,
                    frame.span == Span::kAll ? " in all" : "", frame.feed.name());
    if (frame.source)
        head += fmt::format("  source={}", *frame.source);
    return head;
}

std::string share_text(const LiveDriver &live, Span span, const LiveRow &row)
{
    const uint64_t sum = live.sum(span);
    if (!live.view().has_shares || !row.has_value || sum == 0)
        return "-";
    return fmt::format("{:.1f}%", 100 * static_cast<double>(row.value) / static_cast<double>(sum));
}

// Returns the width of the longest bar, with which the bar ends before the end of the line. If the
// end of the line cut bars off, they would have the same length.
size_t bar_width(const Frame &frame)
{
    if (frame.columns == 0)
        return kBarWidth;
    return std::min(kBarWidth, frame.columns - std::min(frame.columns, kColumnsBeforeBar));
}

std::string bar(uint64_t value, uint64_t largest, size_t width)
{
    const double part = largest ? static_cast<double>(value) / static_cast<double>(largest) : 0;
    return std::string(static_cast<size_t>(std::lround(part * static_cast<double>(width))), '#');
}

void add_list(const Frame &frame, const LiveDriver &live, const LiveList &list,
              std::span<const LiveRow> rows, std::vector<std::string> &lines)
{
    lines.emplace_back();
    lines.push_back(fmt::format("  {:>4}  {:<18}  {:<37}  {:>14}  {:>6}  {:>14}", "rank", "PMU",
                                list.what, frame.span == Span::kNow ? list.now : list.all, "share",
                                list.more));
    for (size_t i = 0; i < rows.size(); i++)
        lines.push_back(fmt::format("  {:>4}  {:<18}  {:<37}  {:>14}  {:>6}  {:>14}  {}", i + 1,
                                    rows[i].pmu, rows[i].name,
                                    rows[i].has_value ? std::to_string(rows[i].value) : "-",
                                    share_text(live, frame.span, rows[i]),
                                    list.more.empty() ? "" : std::to_string(rows[i].more),
                                    bar(rows[i].value, rows.front().value, bar_width(frame))));
    if (rows.empty())
        lines.emplace_back("  nothing yet");
}

// Shows the lists that have rows; the first list if none has.
void add_view(const Frame &frame, const LiveDriver &live, std::vector<std::string> &lines)
{
    const std::span<const LiveList> lists = live.view().lists;
    const std::vector<LiveRow> all = live.rows(frame.span, frame.rows);
    if (all.empty() && frame.view.empty())
        return;
    for (size_t i = 0; i < lists.size(); i++) {
        const std::span<const LiveRow> rows(std::ranges::lower_bound(all, i, {}, &LiveRow::list),
                                            std::ranges::upper_bound(all, i, {}, &LiveRow::list));
        if (!rows.empty() || (all.empty() && i == 0))
            add_list(frame, live, lists[i], rows, lines);
    }
    if (!live.note().empty())
        lines.push_back(fmt::format("  {}", live.note()));
}

bool is_shown(const Frame &frame, const LiveDriver &live)
{
    return frame.view.empty() || frame.view == live.view().name;
}

std::vector<LiveLoss> losses_of(const Frame &frame)
{
    std::vector<LiveLoss> losses = frame.feed.losses();
    for (const auto &[driver, live] : frame.all.router().all())
        for (const LiveLoss &loss : live->losses())
            losses.push_back(loss);
    std::erase_if(losses, [](const LiveLoss &loss) { return loss.count == 0 && !loss.at_least; });
    return losses;
}

ordered_json rows_of(const Frame &frame, const LiveDriver &live)
{
    const LiveView &view = live.view();
    ordered_json rows = ordered_json::array();
    for (const LiveRow &row : live.rows(frame.span, frame.rows)) {
        rows.push_back({{"pmu", row.pmu},
                        {"name", row.name},
                        {std::string(view.id_key), row.id},
                        {std::string(view.value_key),
                         row.has_value ? ordered_json(row.value) : ordered_json(nullptr)},
                        {std::string(view.more_key), row.more}});
        if (view.lists.size() > 1)
            rows.back()["list"] = view.lists[row.list].name;
    }
    return rows;
}

}  // namespace

std::string default_view(const LiveDrivers &all)
{
    for (const auto &[driver, live] : all.router().all())
        if (!live->rows(Span::kAll, 1).empty())
            return std::string(live->view().name);
    return view_names(all).front();
}

size_t lists_of(const LiveDrivers &all, std::string_view view)
{
    for (const auto &[driver, live] : all.router().all())
        if (live->view().name == view)
            return live->view().lists.size();
    return 1;
}

std::vector<std::string> view_names(const LiveDrivers &all)
{
    std::vector<std::string> names;
    for (const auto &[driver, live] : all.router().all())
        names.emplace_back(live->view().name);
    return names;
}

std::vector<std::string> lines_of(const Frame &frame)
{
    std::vector<std::string> lines = {head_of(frame)};
    for (const auto &[driver, live] : frame.all.router().all())
        if (is_shown(frame, *live))
            add_view(frame, *live, lines);
    if (lines.size() == 1)
        lines.insert(lines.end(), {"", "  nothing yet"});
    lines.emplace_back();
    const std::vector<LiveLoss> losses = losses_of(frame);
    for (const LiveLoss &loss : losses)
        lines.push_back("  " + counted_text(loss.count, loss.at_least, loss.text));
    if (losses.empty())
        lines.emplace_back(std::string("  ") + (frame.feed.marks_losses()
                                                    ? sentences::kNothingLost
                                                    : sentences::kNoLossMarked));
    return lines;
}

ordered_json json_of(const Frame &frame)
{
    using namespace std::chrono;
    const auto now = duration_cast<milliseconds>(system_clock::now().time_since_epoch());
    ordered_json json = {{"time_ms", now.count()},
                         {"span", frame.span == Span::kAll ? "all" : "interval"},
                         {"span_ms", frame.span_ms},
                         {"feed", frame.feed.name()},
                         {"source", nullptr}};
    if (frame.source)
        json["source"] = *frame.source;
    for (const auto &[driver, live] : frame.all.router().all())
        if (is_shown(frame, *live))
            json[std::string(live->view().name)] = rows_of(frame, *live);
    json["lost"] = ordered_json::array();
    for (const LiveLoss &loss : losses_of(frame))
        json["lost"].push_back(
            {{"count", loss.count}, {"at_least", loss.at_least}, {"what", loss.text}});
    return json;
}

}  // namespace pmukit::cli
