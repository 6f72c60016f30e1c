// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Figures of hot device memory.
#include "cli/drivers/cxl_hmu/figures.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "cli/drivers/cxl_hmu/hot_lists.hpp"

namespace pmukit::cli {
namespace {

using decode::AddressGrid;
using decode::TimeGrid;
using decode::cxl_hmu::HotList;
using decode::cxl_hmu::HotTotals;
using decode::cxl_hmu::HotUnit;

constexpr size_t kHeatRows = 40;

uint64_t sum_of(const TimeGrid::Columns &columns)
{
    uint64_t sum = 0;
    for (uint64_t value : columns)
        sum += value;
    return sum;
}

std::string column_text(const TimeGrid &grid, size_t column)
{
    return "from " + seconds_text(grid.origin() + column * grid.column_width());
}

std::string value_name_of(const HotTotals &totals)
{
    return totals.always_on ? "times seen" : "accesses";
}

// First and last column with a value.
std::pair<size_t, size_t> ends_of(const TimeGrid::Columns &columns)
{
    const auto something = [](uint64_t value) { return value != 0; };
    const auto first = std::ranges::find_if(columns, something);
    const auto last = std::find_if(columns.rbegin(), columns.rend(), something);
    if (first == columns.end())
        return {0, 0};
    return {static_cast<size_t>(first - columns.begin()),
            static_cast<size_t>(columns.rend() - last) - 1};
}

void add_heat_rows(html::Figure &figure, html::HeatMap &map, const AddressGrid &heat, uint64_t all,
                   const std::string &value_name)
{
    const TimeGrid &grid = heat.grid();
    std::vector<uint64_t> numbers;
    for (const auto &[number, columns] : grid.all())
        numbers.push_back(number);
    std::ranges::sort(numbers);
    for (uint64_t number : numbers) {
        const TimeGrid::Columns &columns = grid.all().at(number);
        const uint64_t address = number << heat.row_log2(), sum = sum_of(columns);
        const auto [first, last] = ends_of(columns);
        html::HeatMap::Row row;
        row.label = fmt::format("{:#x}", address);
        row.values.assign(columns.begin(),
                          columns.begin() + static_cast<ptrdiff_t>(grid.columns()));
        row.value_name = value_name;
        map.rows.push_back(std::move(row));
        figure.table.rows.push_back({fmt::format("{:#018x}", address),
                                     fmt::format("{:#018x}", address + (heat.row_bytes() - 1)),
                                     std::to_string(sum), share_text(sum, all),
                                     column_text(grid, first), column_text(grid, last)});
    }
}

html::Figure heat_figure(const FigureHead &head, const HotList &list, const AddressGrid &fine)
{
    const HotTotals &totals = list.totals();
    const AddressGrid heat = fine.coarser(kHeatRows, totals.unit_log2.value_or(0));
    const TimeGrid &grid = heat.grid();
    const uint64_t all = totals.always_on ? totals.entries : totals.accesses;
    html::Figure figure = figure_of(head, "Hot memory over address and time");
    figure.words = {fmt::format(
        "A row is {} of device memory by its first address; rows without hot units are omitted. A "
        "column is {:.3f} ms. {} {} in {} units of {}.",
        bytes_text(heat.row_bytes()), static_cast<double>(grid.column_width()) / 1e6, all,
        value_name_of(totals), list.units(), bytes_text(uint64_t{1} << *totals.unit_log2))};
    if (totals.without_time)
        figure.words.push_back(fmt::format(
            "{} records have no time and are shown at the time of the preceding record.",
            totals.without_time));
    figure.table.columns = {{"from"},        {"to"},         {value_name_of(totals), true},
                            {"share", true}, {"first seen"}, {"last seen"}};
    html::HeatMap map;
    for (size_t i = 0; i < grid.columns(); i++)
        map.columns.push_back(column_text(grid, i));
    map.first = seconds_text(grid.origin());
    map.last = seconds_text(grid.origin() + grid.columns() * grid.column_width());
    add_heat_rows(figure, map, heat, all, value_name_of(totals));
    figure.table.total = {"all", "", std::to_string(all), share_text(all, all)};
    figure.picture = std::move(map);
    return figure;
}

std::string place_text(const Placement &at)
{
    std::string text;
    if (at.node)
        text += fmt::format("  node {}", *at.node);
    if (at.tier)
        text += fmt::format("  tier {}", *at.tier);
    return text;
}

html::Figure units_figure(const FigureHead &head, const HotList &list, size_t top,
                          const Placer *placer)
{
    const HotTotals &totals = list.totals();
    const uint64_t unit_bytes = uint64_t{1} << *totals.unit_log2;
    const uint64_t all = totals.always_on ? totals.entries : totals.accesses;
    const auto weight = [&totals](const HotUnit &unit) {
        return totals.always_on ? unit.epochs : unit.accesses;
    };
    const std::vector<HotUnit> hot = list.hottest(top);
    html::Figure figure = figure_of(head, "Hottest ranges");
    figure.table.columns = {
        {"rank", true},  {"from"},      {"to"},          {value_name_of(totals), true},
        {"share", true}, {"sum", true}, {"epochs", true}};
    if (placer)
        for (const char *name : {"host address", "pieces", "node", "tier"})
            figure.table.columns.push_back({name});
    html::Bars bars;
    uint64_t shown = 0;
    for (const HotUnit &unit : hot) {
        const Placement at = placer ? placer->place(head.pmu, unit.dpa, unit_bytes) : Placement{};
        shown += weight(unit);
        bars.bars.push_back({fmt::format("{:#x}{}", unit.dpa, place_text(at)),
                             fmt::format("{}  {}", weight(unit), share_text(weight(unit), all)),
                             part_of(weight(unit), weight(hot.front()))});
        std::vector<std::string> row = {std::to_string(bars.bars.size()),
                                        fmt::format("{:#018x}", unit.dpa),
                                        fmt::format("{:#018x}", unit.dpa + (unit_bytes - 1)),
                                        std::to_string(weight(unit)),
                                        share_text(weight(unit), all),
                                        share_text(shown, all),
                                        std::to_string(unit.epochs)};
        if (placer)
            row.insert(row.end(),
                       {range_or_dash(at.hpa), at.hpa ? std::to_string(at.hpa->pieces) : "-",
                        or_dash(at.node), or_dash(at.tier)});
        figure.table.rows.push_back(std::move(row));
    }
    if (hot.size() < list.units())
        figure.table.rows.push_back({"", fmt::format("{} more units", list.units() - hot.size()),
                                     "", std::to_string(all - shown),
                                     share_text(all - shown, all)});
    figure.table.total = {"", "all", "", std::to_string(all), share_text(all, all)};
    figure.words = {fmt::format("{} of {} of {}, by device address; {}.", hot.size(),
                                counted(list.units(), "units"), bytes_text(unit_bytes),
                                kShareOfHot)};
    if (std::string text = left_out_text(list); !text.empty())
        figure.words.push_back(std::move(text));
    figure.picture = std::move(bars);
    return figure;
}

}  // namespace

std::vector<html::Figure> hot_figures(const FigureHead &head, const HotList &list,
                                      const AddressGrid &heat, size_t top, const Placer *placer)
{
    if (!list.units()) {
        html::Figure nothing = figure_of(head, "Hot memory");
        nothing.words = {"Nothing was hot."};
        nothing.picture = html::Bars{};
        return {nothing};
    }
    return {heat_figure(head, list, heat), units_figure(head, list, top, placer)};
}

html::Figure node_figure(const FigureHead &head, const std::vector<HotPlace> &places,
                         bool always_on)
{
    const auto weight = [always_on](const HotPlace &place) {
        return always_on ? place.epochs : place.accesses;
    };
    uint64_t all = 0;
    for (const HotPlace &place : places)
        all += weight(place);
    html::Figure figure = figure_of(head, "Heat by NUMA node and memory tier");
    figure.table.columns = {{"node"},
                            {"tier"},
                            {"units", true},
                            {always_on ? "times seen" : "accesses", true},
                            {"share", true}};
    html::Bars bars;
    for (const HotPlace &place : places) {
        bars.bars.push_back(
            {place.at.node ? fmt::format("node {}  tier {}", *place.at.node, or_dash(place.at.tier))
                           : "no node known",
             fmt::format("{}  {}", weight(place), share_text(weight(place), all)),
             part_of(weight(place), weight(places.front()))});
        figure.table.rows.push_back({or_dash(place.at.node), or_dash(place.at.tier),
                                     std::to_string(place.units), std::to_string(weight(place)),
                                     share_text(weight(place), all)});
    }
    figure.table.total = {"all", "", "", std::to_string(all), share_text(all, all)};
    figure.picture = std::move(bars);
    return figure;
}

}  // namespace pmukit::cli
