// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cxl_hmu_checker.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>

namespace pmukit::checker {

namespace {

constexpr std::string_view kLogHead = "# pmukit access log 1";

std::string_view take_line(std::string_view &text)
{
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    return line;
}

// Reads and removes a number up to the next space or the end; also removes the space.
std::optional<uint64_t> take_number(std::string_view &text, int base)
{
    uint64_t value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (error != std::errc())
        return std::nullopt;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    if (!text.empty() && text[0] != ' ')
        return std::nullopt;
    text.remove_prefix(std::min<size_t>(text.size(), 1));
    return value;
}

Error damaged(std::string_view what, uint64_t line_number, std::string_view line)
{
    return Error{Errc::kDamaged, fmt::format("{}, line {}: '{}'", what, line_number, line)};
}

// Returns the number that follows " <name>=" in the line.
std::optional<uint64_t> named_number(std::string_view line, std::string_view name)
{
    size_t at = line.find(fmt::format(" {}=", name));
    if (at == std::string_view::npos)
        return std::nullopt;
    std::string_view rest = line.substr(at + name.size() + 2);
    return take_number(rest, 10);
}

}  // namespace

Result<Truth> read_access_log(std::string_view text, uint64_t unit_bytes)
{
    if (unit_bytes == 0)
        return Error{Errc::kUsage, "units of 0 bytes"};
    if (std::string_view head = take_line(text); head != kLogHead)
        return damaged("access log", 1, head);
    Truth truth;
    for (uint64_t number = 2; !text.empty(); number++) {
        std::string_view line = take_line(text), rest = line;
        if (!line.starts_with("R 0x") && !line.starts_with("W 0x"))
            return damaged("access log", number, line);
        rest.remove_prefix(4);
        auto dpa = take_number(rest, 16), width = take_number(rest, 10);
        if (!dpa || !width || !rest.empty())
            return damaged("access log", number, line);
        UnitAccesses &unit = truth[*dpa / unit_bytes];
        (line[0] == 'R' ? unit.loads : unit.stores)++;
    }
    return truth;
}

Result<Truth> read_tally(std::string_view text)
{
    Truth truth;
    for (uint64_t number = 1; !text.empty(); number++) {
        std::string_view line = take_line(text), rest = line;
        auto unit = take_number(rest, 10), loads = take_number(rest, 10),
             stores = take_number(rest, 10);
        if (!unit || !loads || !stores || !rest.empty())
            return damaged("tally", number, line);
        if (!truth.emplace(*unit, UnitAccesses{*loads, *stores}).second)
            return damaged("tally (unit twice)", number, line);
    }
    return truth;
}

uint64_t sum_of(const Truth &truth)
{
    uint64_t sum = 0;
    for (const auto &[unit, accesses] : truth)
        sum += accesses.sum();
    return sum;
}

std::set<uint64_t> hottest(const Truth &truth, size_t rank)
{
    std::vector<uint64_t> counts;
    for (const auto &[unit, accesses] : truth)
        counts.push_back(accesses.sum());
    std::sort(counts.begin(), counts.end(), std::greater<>());
    uint64_t least = counts.empty() || rank == 0 ? 0 : counts[std::min(rank, counts.size()) - 1];
    std::set<uint64_t> units;
    for (const auto &[unit, accesses] : truth)
        if (rank != 0 && accesses.sum() >= least)
            units.insert(unit);
    return units;
}

Result<Report> read_report(std::string_view json)
{
    try {
        nlohmann::json root = nlohmann::json::parse(json);
        const nlohmann::json *ours = nullptr;
        for (const nlohmann::json &pmu : root.at("pmus")) {
            if (pmu.at("driver") != "cxl_hmu")
                continue;
            if (ours)
                return Error{Errc::kDamaged, "report: more than one cxl_hmu PMU"};
            ours = &pmu;
        }
        if (!ours)
            return Error{Errc::kNotFound, "report: no cxl_hmu PMU"};
        Report report;
        report.unit_bytes = ours->at("unit_bytes").get<uint64_t>();
        report.entries = ours->at("entries").get<uint64_t>();
        report.lost = ours->at("lost").get<uint64_t>();
        if (report.unit_bytes == 0)
            return Error{Errc::kDamaged, "report: units of 0 bytes"};
        for (const nlohmann::json &hot : ours->at("hot"))
            report.hot.push_back(hot.at("dpa").get<uint64_t>() / report.unit_bytes);
        return report;
    } catch (const nlohmann::json::exception &error) {
        return Error{Errc::kDamaged, fmt::format("report: {}", error.what())};
    }
}

Result<ModelSummary> read_model_summary(std::string_view text)
{
    std::string_view last;
    while (!text.empty())
        if (std::string_view line = take_line(text); line.starts_with("model: device=cxl_hmu "))
            last = line;
    auto accesses = named_number(last, "accesses"), entries = named_number(last, "entries"),
         dropped = named_number(last, "dropped");
    if (!accesses || !entries || !dropped)
        return Error{Errc::kDamaged, "the model left no summary: did it end by itself?"};
    return ModelSummary{*accesses, *entries, *dropped};
}

Score score(const std::set<uint64_t> &truly_hot, const std::vector<uint64_t> &reported, size_t rank)
{
    size_t looked_at = std::min(rank, reported.size());
    std::set<uint64_t> distinct(reported.begin(),
                                reported.begin() + static_cast<std::ptrdiff_t>(looked_at));
    size_t hits = 0;
    for (uint64_t unit : distinct)
        hits += truly_hot.contains(unit);
    size_t wanted = std::min(rank, truly_hot.size());
    Score result;
    result.recall = wanted == 0 ? 0 : static_cast<double>(hits) / static_cast<double>(wanted);
    result.precision =
        looked_at == 0 ? 0 : static_cast<double>(hits) / static_cast<double>(looked_at);
    return result;
}

}  // namespace pmukit::checker
