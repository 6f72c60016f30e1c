// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/report_join.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/figures.hpp"

namespace pmukit::cli {
namespace {

namespace ptt = decode::hisi_ptt;
using nlohmann::ordered_json;

size_t shown_of(const Joined &joined, const ReportOptions &options)
{
    return options.top ? std::min(options.top, joined.ranges.size()) : joined.ranges.size();
}

uint64_t heat_of(const Joined &joined)
{
    uint64_t heat = 0;
    for (const JoinRange &range : joined.ranges)
        heat += range.heat;
    return heat;
}

// Returns the group whose activity over time is most similar to that of the range; nullopt if no
// group is active at the same time as the range.
std::optional<size_t> companion_of(const JoinRange &range)
{
    const auto most = std::ranges::max_element(range.together);
    if (most == range.together.end() || *most == 0)
        return std::nullopt;
    return static_cast<size_t>(most - range.together.begin());
}

std::string companion_text(const Joined &joined, const JoinRange &range)
{
    const std::optional<size_t> group = companion_of(range);
    return group
               ? fmt::format("{} {:.0f}%", joined.groups[*group].name, range.together[*group] * 100)
               : "-";
}

// Text output

void print_traffic(const std::string &name, const JoinTraffic &traffic, Output &out)
{
    out.print("  {:<9}  {:>10}  {:>15}  {:>10}  {:>15}", name, traffic.reads.tlps,
              traffic.reads.requested, traffic.writes.tlps, traffic.writes.bytes);
}

void print_ranges(const Joined &joined, const ReportOptions &options, Output &out)
{
    const uint64_t all = heat_of(joined);
    out.print(
        "\n  {:>5}  {:<37}  {:>4}  {:>4}  {:>12}  {:>6}  {:<9}  {:>10}  {:>15}  {:>10}  "
        "{:>15}  {}\n",
        "rank", "host range", "node", "tier", "accesses", "share", "requester", "reads",
        "bytes asked for", "writes", "bytes", "most together with");
    for (size_t i = 0; i < shown_of(joined, options); i++) {
        const JoinRange &range = joined.ranges[i];
        out.print("  {:>5}  {:<37}  {:>4}  {:>4}  {:>12}  {:>6}", i + 1,
                  range_or_dash(range.at.hpa), or_dash(range.at.node), or_dash(range.at.tier),
                  range.heat, share_text(range.heat, all));
        if (range.requesters.empty())
            print_traffic("-", {}, out);
        for (size_t j = 0; j < range.requesters.size(); j++) {
            const auto &[requester, traffic] = range.requesters[j];
            if (j)
                out.print("\n{:80}", "");
            print_traffic(ptt::bdf_text(requester), traffic, out);
            if (j == 0)
                out.print("  {}", companion_text(joined, range));
        }
        if (range.requesters.empty())
            out.print("  {}", companion_text(joined, range));
        out.text("\n");
    }
    if (shown_of(joined, options) < joined.ranges.size())
        out.print("  {:>5}  {} more ranges; --top 0 shows all\n", "...",
                  joined.ranges.size() - shown_of(joined, options));
}

void print_line(const std::string &name, const std::vector<uint64_t> &columns, Output &out)
{
    constexpr std::string_view kShades = " .:-=+*#%@";
    const uint64_t most = columns.empty() ? 0 : *std::ranges::max_element(columns);
    std::string strip;
    for (uint64_t column : columns) {
        // A column with any count is never blank.
        const double shade = part_of(column, most) * static_cast<double>(kShades.size() - 1);
        const auto index = static_cast<size_t>(std::lround(shade));
        strip += kShades[column ? std::max<size_t>(1, index) : 0];
    }
    out.print("  {:<34}  |{}|\n", name, strip);
}

void print_time(const Joined &joined, const ReportOptions &options, Output &out)
{
    out.print("\n  over time from {}, one column is {} ns; shades are scaled per line\n",
              seconds_text(joined.origin_ns), joined.column_ns);
    for (size_t i = 0; i < shown_of(joined, options); i++)
        print_line("accesses " + joined.ranges[i].line.name, joined.ranges[i].line.columns, out);
    for (const JoinLine &line : joined.requesters)
        print_line("requests of " + line.name, line.columns, out);
    for (const JoinLine &line : joined.groups)
        print_line(line.name, line.columns, out);
}

void print_nodes(const Joined &joined, Output &out)
{
    out.print("\n  {:>4}  {:>4}  {:>12}  {:>10}  {:>15}  {:>10}  {:>15}\n", "node", "tier",
              "accesses", "reads", "bytes asked for", "writes", "bytes");
    for (const JoinNode &node : joined.nodes)
        out.print("  {:>4}  {:>4}  {:>12}  {:>10}  {:>15}  {:>10}  {:>15}\n", or_dash(node.node),
                  or_dash(node.tier), node.heat, node.traffic.reads.tlps,
                  node.traffic.reads.requested, node.traffic.writes.tlps,
                  node.traffic.writes.bytes);
}

// JSON output

ordered_json json_of(const JoinTraffic &traffic)
{
    return {{"reads", traffic.reads.tlps},
            {"read_bytes", traffic.reads.requested},
            {"writes", traffic.writes.tlps},
            {"written_bytes", traffic.writes.bytes}};
}

ordered_json json_of(const JoinLine &line)
{
    return {{"name", line.name}, {"columns", line.columns}};
}

ordered_json json_of(const Joined &joined, const JoinRange &range)
{
    ordered_json json = {{"hpa", range.at.hpa->start},
                         {"node", json_or_null(range.at.node)},
                         {"tier", json_or_null(range.at.tier)},
                         {"accesses", range.heat},
                         {"units", range.units},
                         {"columns", range.line.columns}};
    ordered_json &requesters = json["requesters"] = ordered_json::array();
    for (const auto &[requester, traffic] : range.requesters) {
        ordered_json one = {{"requester", ptt::bdf_text(requester)}};
        one.update(json_of(traffic));
        requesters.push_back(std::move(one));
    }
    ordered_json &together = json["together"] = ordered_json::object();
    for (size_t i = 0; i < range.together.size(); i++)
        together[joined.groups[i].name] = range.together[i];
    return json;
}

ordered_json json_of(const JoinNode &node)
{
    ordered_json json = {{"node", json_or_null(node.node)},
                         {"tier", json_or_null(node.tier)},
                         {"accesses", node.heat}};
    json.update(json_of(node.traffic));
    return json;
}

template <typename Each>
void write_list(JsonWriter &json, const char *name, const std::vector<Each> &all)
{
    json.begin(name, JsonWriter::kArray);
    for (const Each &each : all)
        json.element(json_of(each));
    json.end();
}

// HTML figures

FigureHead head_of(const Joined &joined, const ReportOptions &options)
{
    return {"join", options.source.value_or(""), joined.not_joined};
}

html::Figure range_figure(const Joined &joined, const ReportOptions &options)
{
    const uint64_t all = heat_of(joined);
    html::Figure figure =
        figure_of(head_of(joined, options), "Hot ranges, and PCIe requesters that access them");
    figure.words = {
        fmt::format("Host ranges of {} with their NUMA node and memory tier, the PCIe requesters "
                    "that access them, and the cache group with the most similar activity.",
                    bytes_text(joined.range_bytes))};
    figure.table.columns = {{"rank", true},   {"host range"},     {"node"},
                            {"tier"},         {"accesses", true}, {"share", true},
                            {"requester"},    {"reads", true},    {"bytes asked for", true},
                            {"writes", true}, {"bytes", true},    {"most together with"}};
    html::Bars bars;
    uint64_t shown = 0;
    for (size_t i = 0; i < shown_of(joined, options); i++) {
        const JoinRange &range = joined.ranges[i];
        std::string requesters;
        for (const auto &[requester, traffic] : range.requesters)
            requesters += "  " + ptt::bdf_text(requester);
        bars.bars.push_back(
            {fmt::format("{}  node {}  tier {}{}", range.line.name, or_dash(range.at.node),
                         or_dash(range.at.tier), requesters),
             fmt::format("{}  {}", range.heat, share_text(range.heat, all)),
             part_of(range.heat, joined.ranges.front().heat)});
        std::vector<std::string> row = {std::to_string(i + 1),      range_or_dash(range.at.hpa),
                                        or_dash(range.at.node),     or_dash(range.at.tier),
                                        std::to_string(range.heat), share_text(range.heat, all)};
        std::vector<std::string> empty(row.size());
        for (const auto &[requester, traffic] : range.requesters) {
            row.insert(
                row.end(),
                {ptt::bdf_text(requester), std::to_string(traffic.reads.tlps),
                 std::to_string(traffic.reads.requested), std::to_string(traffic.writes.tlps),
                 std::to_string(traffic.writes.bytes), companion_text(joined, range)});
            figure.table.rows.push_back(std::exchange(row, empty));
        }
        if (range.requesters.empty()) {
            row.insert(row.end(), {"-", "", "", "", "", companion_text(joined, range)});
            figure.table.rows.push_back(std::move(row));
        }
        shown += range.heat;
    }
    if (shown < all)
        figure.table.rows.push_back({"", "further ranges", "", "", std::to_string(all - shown),
                                     share_text(all - shown, all)});
    figure.table.total = {"", "all", "", "", std::to_string(all), share_text(all, all)};
    figure.picture = std::move(bars);
    return figure;
}

html::HeatMap::Row map_row(const std::string &label, const JoinLine &line, const char *unit)
{
    return {label, line.columns, unit, true};
}

html::Figure axis_figure(const Joined &joined, const ReportOptions &options)
{
    html::Figure figure = figure_of(head_of(joined, options), "All of it over one time");
    figure.words = {
        fmt::format("Accesses to hot ranges, bytes of requests to them, and what groups moved or "
                    "had. A column is {:.3f} ms; shades are scaled per row.",
                    static_cast<double>(joined.column_ns) / 1e6)};
    figure.table.columns = {{"what"}, {"sum", true}, {"largest", true}, {"at"}};
    html::HeatMap map;
    for (size_t i = 0; i < joined.columns; i++)
        map.columns.push_back("from " + seconds_text(joined.origin_ns + i * joined.column_ns));
    for (size_t i = 0; i < shown_of(joined, options); i++)
        map.rows.push_back(map_row(joined.ranges[i].line.name, joined.ranges[i].line, "accesses"));
    for (const JoinLine &line : joined.requesters)
        map.rows.push_back(map_row(line.name, line, "bytes"));
    for (const JoinLine &line : joined.groups)
        map.rows.push_back(map_row(line.name, line, "bytes"));
    for (const html::HeatMap::Row &row : map.rows) {
        const auto most = std::ranges::max_element(row.values);
        uint64_t sum = 0;
        for (uint64_t value : row.values)
            sum += value;
        figure.table.rows.push_back(
            {row.label, std::to_string(sum), std::to_string(most == row.values.end() ? 0 : *most),
             most == row.values.end()
                 ? "-"
                 : map.columns[static_cast<size_t>(most - row.values.begin())]});
    }
    map.first = seconds_text(joined.origin_ns);
    map.last = seconds_text(joined.origin_ns + joined.columns * joined.column_ns);
    figure.picture = std::move(map);
    return figure;
}

}  // namespace

void print_join(const Joined &joined, const ReportOptions &options, Output &out)
{
    out.print("join by host address, ranges of {}, and by time", bytes_text(joined.range_bytes));
    if (options.source)
        out.print("  source={}", *options.source);
    out.text("\n");
    if (!joined.ranges.empty())
        print_ranges(joined, options, out);
    if (!joined.nodes.empty())
        print_nodes(joined, out);
    if (joined.columns)
        print_time(joined, options, out);
    out.text("\n");
    for (const std::string &line : joined.not_joined)
        out.print("  {}\n", line);
    if (joined.not_joined.empty())
        out.text("  all of it was joined\n");
}

void write_join(const Joined &joined, const ReportOptions &options, JsonWriter &json)
{
    json.members({{"origin_ns", joined.origin_ns},
                  {"column_ns", joined.column_ns},
                  {"range_bytes", joined.range_bytes}});
    json.begin("ranges", JsonWriter::kArray);
    for (size_t i = 0; i < shown_of(joined, options); i++)
        json.element(json_of(joined, joined.ranges[i]));
    json.end();
    write_list(json, "requesters", joined.requesters);
    write_list(json, "groups", joined.groups);
    write_list(json, "nodes", joined.nodes);
    json.member("not_joined", ordered_json(joined.not_joined));
}

std::vector<html::Figure> join_figures(const Joined &joined, const ReportOptions &options)
{
    std::vector<html::Figure> figures;
    if (!joined.ranges.empty())
        figures.push_back(range_figure(joined, options));
    if (joined.columns)
        figures.push_back(axis_figure(joined, options));
    return figures;
}

}  // namespace pmukit::cli
