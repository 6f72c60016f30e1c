// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Output of pmukit what-if: text, JSON and HTML.
#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/file.hpp"
#include "base/text.hpp"
#include "cli/figures.hpp"
#include "cli/version.hpp"
#include "cli/what_if.hpp"
#include "console/json_writer.hpp"
#include "html/page.hpp"

namespace pmukit::cli {
namespace {

using decode::AddressGrid;
using decode::TimeGrid;
using whatif::Combination;
using whatif::Outcome;

constexpr size_t kTextRows = 16, kPageRows = 40;

// The combinations

uint64_t moves_of(const Outcome &outcome)
{
    return outcome.placement.promotions + outcome.placement.demotions;
}

uint64_t accesses_of(const Outcome &outcome)
{
    return outcome.placement.fast + outcome.placement.slow;
}

// A result of each combination: a count, or the share of a count in another one.
struct Figure {
    const char *name;
    bool of_recordings;
    uint64_t (*count)(const Outcome &outcome);
    uint64_t (*all)(const Outcome &outcome);  // nullptr: not a share
};
constexpr Figure kFigures[] = {
    {"recall", false, [](const Outcome &o) { return o.accuracy->found; },
     [](const Outcome &o) { return o.accuracy->hot; }},
    {"precision", false, [](const Outcome &o) { return o.accuracy->listed_right; },
     [](const Outcome &o) { return o.accuracy->listed; }},
    {"dropped", false, [](const Outcome &o) { return o.accuracy->dropped; }, nullptr},
    {"slow", true, [](const Outcome &o) { return o.placement.slow; }, accesses_of},
    {"static", true, [](const Outcome &o) { return o.slow_static; }, accesses_of},
    {"migrations", true, moves_of, nullptr},
    {"useless", true, [](const Outcome &o) { return o.placement.useless; }, nullptr},
};

std::string text_of(const Figure &figure, const Outcome &outcome)
{
    return figure.all ? share_text(figure.count(outcome), figure.all(outcome))
                      : std::to_string(figure.count(outcome));
}

std::vector<const Figure *> figures_of(const WhatIf &result)
{
    std::vector<const Figure *> figures;
    for (const Figure &figure : kFigures)
        if (figure.of_recordings || result.input == whatif::kLog)
            figures.push_back(&figure);
    return figures;
}

// The dimensions of this input: those with several values, or those with one.
std::vector<size_t> dimensions_of(const WhatIf &result, bool several)
{
    std::vector<size_t> found;
    for (size_t i = 0; i < whatif::dimensions().size(); i++) {
        std::set<std::string> values;
        for (const Combination &combination : result.combinations)
            values.insert(combination.words[i]);
        if ((whatif::dimensions()[i].inputs & result.input) && (values.size() > 1) == several)
            found.push_back(i);
    }
    return found;
}

std::string text_of(const Combination &combination, const std::vector<size_t> &dimensions)
{
    std::string text;
    for (const size_t i : dimensions)
        text += fmt::format("{}{} {}", text.empty() ? "" : "  ", whatif::dimensions()[i].name,
                            combination.words[i]);
    return text;
}

std::string head_text(const WhatIf &result)
{
    std::string pages = result.common.pages
                            ? fmt::format(", {} pages of {}", result.common.pages,
                                          bytes_text(uint64_t{1} << result.common.page_log2))
                            : "";
    if (result.input == whatif::kLog)
        return fmt::format("{}: {} accesses{}", result.name, result.accesses, pages);
    return fmt::format("{}: {}, {} {}{}", result.name, result.pmu, result.accesses,
                       result.always_on ? "reports of hot units" : "reported accesses", pages);
}

std::vector<std::string> header_of(const WhatIf &result, const std::vector<size_t> &varied)
{
    std::vector<std::string> cells;
    for (const size_t i : varied)
        cells.emplace_back(whatif::dimensions()[i].name);
    for (const Figure *figure : figures_of(result))
        cells.emplace_back(figure->name);
    return cells;
}

std::vector<std::string> row_of(const WhatIf &result, size_t row, const std::vector<size_t> &varied)
{
    std::vector<std::string> cells;
    for (const size_t i : varied)
        cells.push_back(result.combinations[row].words[i]);
    for (const Figure *figure : figures_of(result))
        cells.push_back(text_of(*figure, result.outcomes[row]));
    return cells;
}

// Text output

void print_table(const WhatIf &result, Output &out)
{
    const std::vector<size_t> varied = dimensions_of(result, true);
    std::vector<std::vector<std::string>> lines = {header_of(result, varied)};
    for (size_t row = 0; row < result.combinations.size(); row++)
        lines.push_back(row_of(result, row, varied));
    std::vector<size_t> widths(lines.front().size());
    for (const std::vector<std::string> &line : lines)
        for (size_t i = 0; i < line.size(); i++)
            widths[i] = std::max(widths[i], line[i].size());
    out.text("\n");
    for (const std::vector<std::string> &line : lines) {
        for (size_t i = 0; i < line.size(); i++)
            out.print("  {:>{}}", line[i], widths[i]);
        out.text("\n");
    }
}

std::vector<uint64_t> sorted_rows(const TimeGrid &grid)
{
    std::vector<uint64_t> rows;
    for (const auto &[row, columns] : grid.all())
        rows.push_back(row);
    std::ranges::sort(rows);
    return rows;
}

std::string column_width_text(const WhatIf &result, const TimeGrid &grid)
{
    if (result.input == whatif::kRecording)
        return fmt::format("{:.3f} ms", static_cast<double>(grid.column_width()) / 1e6);
    return fmt::format("{} accesses", grid.column_width() * result.combinations.front().chmu.epoch);
}

void print_heat(const WhatIf &result, Output &out)
{
    const AddressGrid heat = result.heat.coarser(kTextRows, result.unit_log2);
    const TimeGrid &grid = heat.grid();
    uint64_t hottest = 0;
    for (const auto &[row, columns] : grid.all())
        hottest = std::max(hottest, *std::ranges::max_element(columns));
    out.print("\n  heat by address and time: a row is {}, a column is {}\n",
              bytes_text(heat.row_bytes()), column_width_text(result, grid));
    for (const uint64_t row : sorted_rows(grid)) {
        std::string shades;
        for (size_t i = 0; i < grid.columns(); i++)
            shades += shade_of(grid.all().at(row)[i], hottest);
        out.print("  {:#018x} |{}|\n", row << heat.row_log2(), shades);
    }
}

// JSON output

nlohmann::ordered_json word_of(const Combination &combination, std::string_view name)
{
    for (size_t i = 0; i < whatif::dimensions().size(); i++)
        if (whatif::dimensions()[i].name == name)
            return combination.words[i];
    return nullptr;
}

void write_unit(JsonWriter &json, const Combination &combination)
{
    const whatif::ChmuSetup &chmu = combination.chmu;
    json.members({{"unit_bytes", uint64_t{1} << chmu.tracker.unit_log2},
                  {"counters", chmu.counters.number},
                  {"ways", chmu.counters.ways},
                  {"replacement", word_of(combination, "replacement")},
                  {"counter_width", chmu.tracker.counter_width},
                  {"hot_list", chmu.hot_list_entries},
                  {"mode", word_of(combination, "mode")},
                  {"downsampling", uint64_t{1} << chmu.tracker.downsampling_log2},
                  {"epoch", chmu.epoch},
                  {"threshold", chmu.tracker.threshold}});
}

std::optional<double> share_of(uint64_t part, uint64_t all)
{
    return all ? std::optional(part_of(part, all)) : std::nullopt;
}

void write_accuracy(JsonWriter &json, const whatif::AccuracyTotals &accuracy)
{
    json.members({{"epochs", accuracy.epochs},
                  {"hot", accuracy.hot},
                  {"listed", accuracy.listed},
                  {"found", accuracy.found},
                  {"listed_right", accuracy.listed_right},
                  {"recall", share_of(accuracy.found, accuracy.hot)},
                  {"precision", share_of(accuracy.listed_right, accuracy.listed)},
                  {"dropped", accuracy.dropped}});
}

void write_combination(JsonWriter &json, const WhatIf &result, size_t row)
{
    const Combination &combination = result.combinations[row];
    const Outcome &outcome = result.outcomes[row];
    json.begin_element();
    if (result.input == whatif::kLog)
        write_unit(json, combination);
    else
        json.member("interval_ms", combination.interval_ms);
    json.members({{"fast", word_of(combination, "fast")},
                  {"fast_bytes", outcome.fast_bytes},
                  {"policy", combination.policy->name}});
    if (outcome.accuracy)
        write_accuracy(json, *outcome.accuracy);
    json.members({{"fast_accesses", outcome.placement.fast},
                  {"slow_accesses", outcome.placement.slow},
                  {"slow_share", share_of(outcome.placement.slow, accesses_of(outcome))},
                  {"slow_share_static", share_of(outcome.slow_static, accesses_of(outcome))},
                  {"promotions", outcome.placement.promotions},
                  {"demotions", outcome.placement.demotions},
                  {"migrations", moves_of(outcome)},
                  {"useless", outcome.placement.useless}});
    json.end();
}

void write_lines(JsonWriter &json, const std::vector<std::string> &lines)
{
    for (const std::string &line : lines)
        json.element(nlohmann::ordered_json(line));
    json.end();
}

void write_heat(JsonWriter &json, const WhatIf &result)
{
    const AddressGrid heat = result.heat.coarser(kTextRows, result.unit_log2);
    const TimeGrid &grid = heat.grid();
    json.begin("heat", JsonWriter::kObject);
    json.members({{"row_bytes", heat.row_bytes()},
                  {"first_column", grid.origin()},
                  {"column_width", grid.column_width()}});
    json.begin("rows", JsonWriter::kArray);
    for (const uint64_t row : sorted_rows(grid)) {
        const TimeGrid::Columns &columns = grid.all().at(row);
        const nlohmann::ordered_json values(std::vector<uint64_t>(
            columns.begin(), columns.begin() + static_cast<ptrdiff_t>(grid.columns())));
        json.element({{"dpa", row << heat.row_log2()}, {"values", values}});
    }
    json.end();
    json.end();
}

// HTML output

html::Figure combinations_figure(const FigureHead &head, const WhatIf &result)
{
    // 10,000 parts: shades are whole numbers.
    constexpr double kParts = 10'000;
    const std::vector<size_t> varied = dimensions_of(result, true);
    html::Figure figure = figure_of(head, "Combinations");
    figure.words = {
        "A column of the picture is a combination, a row one of its results; darker is more, each "
        "row by itself.",
        text_of(result.combinations.front(), dimensions_of(result, false))};
    for (const std::string &name : header_of(result, varied))
        figure.table.columns.push_back({name, true});
    html::HeatMap map;
    for (size_t row = 0; row < result.combinations.size(); row++) {
        figure.table.rows.push_back(row_of(result, row, varied));
        map.columns.push_back(text_of(result.combinations[row], varied));
    }
    for (const Figure *each : figures_of(result)) {
        html::HeatMap::Row row{each->name, {}, each->all ? "of 10000" : each->name, true};
        for (const Outcome &outcome : result.outcomes)
            row.values.push_back(
                each->all ? static_cast<uint64_t>(
                                part_of(each->count(outcome), each->all(outcome)) * kParts)
                          : each->count(outcome));
        map.rows.push_back(std::move(row));
    }
    map.first = map.columns.front();
    map.last = map.columns.back();
    figure.picture = std::move(map);
    return figure;
}

std::string column_text(const WhatIf &result, const TimeGrid &grid, size_t column)
{
    const uint64_t from = grid.origin() + column * grid.column_width();
    return result.input == whatif::kRecording
               ? "from " + seconds_text(from)
               : fmt::format("from access {}", from * result.combinations.front().chmu.epoch);
}

html::Figure heat_figure(const FigureHead &head, const WhatIf &result)
{
    const AddressGrid heat = result.heat.coarser(kPageRows, result.unit_log2);
    const TimeGrid &grid = heat.grid();
    html::Figure figure = figure_of(head, "Accesses over address and time");
    figure.words = {
        fmt::format("A row is {} of device memory by its first address. A column is {}.",
                    bytes_text(heat.row_bytes()), column_width_text(result, grid))};
    figure.table.columns = {{"from"}, {"to"}, {"accesses", true}};
    html::HeatMap map;
    for (size_t i = 0; i < grid.columns(); i++)
        map.columns.push_back(column_text(result, grid, i));
    for (const uint64_t number : sorted_rows(grid)) {
        const TimeGrid::Columns &columns = grid.all().at(number);
        const uint64_t address = number << heat.row_log2();
        uint64_t sum = 0;
        for (const uint64_t value : columns)
            sum += value;
        html::HeatMap::Row row{fmt::format("{:#x}", address), {}, "accesses", false};
        row.values.assign(columns.begin(),
                          columns.begin() + static_cast<ptrdiff_t>(grid.columns()));
        map.rows.push_back(std::move(row));
        figure.table.rows.push_back({fmt::format("{:#018x}", address),
                                     fmt::format("{:#018x}", address + (heat.row_bytes() - 1)),
                                     std::to_string(sum)});
    }
    map.first = map.columns.front();
    map.last = map.columns.back();
    figure.picture = std::move(map);
    return figure;
}

}  // namespace

void print_what_if(const WhatIf &result, Output &out)
{
    out.print("{}{}\n", head_text(result), result.source ? "  source=" + *result.source : "");
    out.print("{}\n", text_of(result.combinations.front(), dimensions_of(result, false)));
    print_table(result, out);
    print_heat(result, out);
    out.text("\n");
    for (const std::vector<std::string> &lines : {result.losses, result.notes})
        for (const std::string &line : lines)
            out.print("{}\n", line);
}

void write_what_if_json(const WhatIf &result, const WhatIfOptions &options, Output &out)
{
    JsonWriter json(out);
    json.members({{"source", result.source},
                  {"input", result.input == whatif::kLog ? "log" : "recording"},
                  {"pmu", result.pmu.empty() ? JsonValue(nullptr) : JsonValue(result.pmu)},
                  {"accesses", result.accesses},
                  {"always_on", result.always_on},
                  {"pages", result.common.pages ? JsonValue(result.common.pages) : nullptr},
                  {"page_bytes", uint64_t{1} << result.common.page_log2},
                  {"hot_units", result.common.hot_units},
                  {"move_cost", result.common.move_cost},
                  {"randomized", options.randomized}});
    json.begin("combinations", JsonWriter::kArray);
    for (size_t row = 0; row < result.combinations.size(); row++)
        write_combination(json, result, row);
    json.end();
    write_heat(json, result);
    json.begin("losses", JsonWriter::kArray);
    write_lines(json, result.losses);
    json.begin("notes", JsonWriter::kArray);
    write_lines(json, result.notes);
    json.finish();
}

Result<perfdata::NewFile> write_what_if_page(const WhatIf &result, const std::string &path)
{
    html::Page page;
    page.title = "pmukit what-if of " + result.name;
    page.program = fmt::format("made by pmukit {}", kVersion);
    page.source = result.source.value_or("");
    page.facts = {head_text(result)};
    page.facts.insert(page.facts.end(), result.notes.begin(), result.notes.end());
    page.losses = result.losses;
    const FigureHead head{result.pmu.empty() ? "access log" : result.pmu, page.source,
                          result.losses};
    page.add(combinations_figure(head, result));
    page.add(heat_figure(head, result));
    const std::vector<std::string> text = page.take_text();
    std::vector<Bytes> pieces;
    for (const std::string &piece : text)
        pieces.push_back(as_bytes(piece));
    return unnamed_file(path, pieces);
}

}  // namespace pmukit::cli
