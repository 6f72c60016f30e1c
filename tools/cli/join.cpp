// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/join.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "cli/figures.hpp"

namespace pmukit::cli {
namespace {

namespace ptt = decode::hisi_ptt;
using decode::TimeGrid;

constexpr unsigned kRequesterBits = 16;
constexpr uint8_t kUntranslated = 0, kTranslationRequest = 1;  // values of the field AT

uint64_t row_of(uint64_t range, uint16_t requester)
{
    return range << kRequesterBits | requester;
}

void add(ptt::TlpCount &to, const ptt::TlpCount &count)
{
    to.tlps += count.tlps;
    to.bytes += count.bytes;
    to.requested += count.requested;
}

void add(JoinTraffic &to, const JoinTraffic &traffic)
{
    add(to.reads, traffic.reads);
    add(to.writes, traffic.writes);
}

uint64_t sum_of(const std::vector<uint64_t> &values)
{
    return std::accumulate(values.begin(), values.end(), uint64_t{0});
}

}  // namespace

double overlap_of(const std::vector<uint64_t> &a, const std::vector<uint64_t> &b)
{
    const auto all_a = static_cast<double>(sum_of(a)), all_b = static_cast<double>(sum_of(b));
    if (all_a == 0 || all_b == 0)
        return 0;
    double both = 0;
    for (size_t i = 0; i < std::min(a.size(), b.size()); i++)
        both += std::min(static_cast<double>(a[i]) / all_a, static_cast<double>(b[i]) / all_b);
    return both;
}

// Functions that are called while the recording is read

// Returns the range of a unit. A unit that is split into several pieces of host memory belongs to
// the range of its first piece.
std::optional<uint64_t> Join::range_of(const std::string &pmu, uint64_t unit_bytes, uint64_t dpa)
{
    // Memory of an entry in known_ and of an entry in units_.
    constexpr size_t kUnitBytes = 2 * (sizeof dpa + sizeof(uint64_t) + kNodeBytes);
    auto &known = known_[pmu];
    if (const auto at = known.find(dpa); at != known.end())
        return at->second;
    if (!left_.take(kUnitBytes))
        return std::nullopt;
    std::optional<uint64_t> &range = known[dpa];
    const Placement place = placer_.place(pmu, dpa, unit_bytes);
    if (!place.hpa) {
        if (units_without_host_++ == 0)
            why_not_ = placer_.why_not(pmu, dpa, unit_bytes).value_or("");
        return std::nullopt;
    }
    units_in_pieces_ += place.hpa->pieces > 1;
    range = place.hpa->start >> range_log2_;
    units_[*range]++;
    return range;
}

void Join::hot(const std::string &pmu, uint64_t unit_bytes, uint64_t dpa, uint64_t time_ns,
               uint64_t heat)
{
    const std::optional<uint64_t> range = range_of(pmu, unit_bytes, dpa);
    if (!range || !heat_.add(*range, time_ns, heat))
        heat_elsewhere_ += heat;
}

void Join::request(const ptt::Tlp &tlp, const ptt::TlpCount &count, std::optional<uint64_t> time_ns)
{
    if (tlp.address_type == kTranslationRequest) {
        translations_++;
        return;
    }
    untranslated_ += tlp.address_type == kUntranslated;
    const Pair pair{tlp.address >> range_log2_, tlp.requester};
    auto at = pairs_.find(pair);
    if (at == pairs_.end() && !left_.take(2 * (sizeof pair + sizeof(JoinTraffic)) + kNodeBytes)) {
        requests_elsewhere_++;
        return;
    }
    if (at == pairs_.end())
        at = pairs_.emplace(pair, JoinTraffic{}).first;
    add(tlp.kind.data ? at->second.writes : at->second.reads, count);
    const uint64_t row = row_of(pair.range, pair.requester);
    if (!time_ns || !requests_.add(row, *time_ns, count.bytes + count.requested))
        without_time_++;
}

void Join::groups(const decode::cache_qos::SeriesTable &series)
{
    namespace qos = decode::cache_qos;
    for (const auto &[key, one] : series.all()) {
        if (!one.has_value())
            continue;
        if (!left_.take(sizeof(Group) + 2 * sizeof(TimeGrid::Columns) +
                        (one.named() ? one.named()->text.size() : 0))) {
            groups_elsewhere_++;
            continue;
        }
        groups_.push_back(
            {fmt::format("{} {}{}{} L3 {} {}", qos::kind_name(one.kind()), qos::monitor_name(key),
                         one.named() ? " " : "", one.named() ? one.named()->label() : "",
                         key.domain, qos::event_name(key.event)),
             &one});
    }
}

// Functions that are called after the recording was read

// Drops groups until comparing each with all hot ranges fits the memory budget.
void Join::leave_groups_out()
{
    while (!left_.take(groups_.size() * heat_.rows() * sizeof(double))) {
        groups_.pop_back();
        groups_elsewhere_++;
    }
}

// Aligns heat, requests and readings on one time axis that covers all of them.
void Join::align()
{
    uint64_t first = UINT64_MAX, last = 0;
    unsigned width_log2 = 0;
    for (const TimeGrid *grid : {&heat_, &requests_})
        if (!grid->empty()) {
            first = std::min(first, grid->first());
            last = std::max(last, grid->last());
            width_log2 = std::max(width_log2, grid->width_log2());
        }
    for (const Group &group : groups_) {
        first = std::min(first, group.series->first_ns());
        last = std::max(last, group.series->last_ns());
        width_log2 = std::max(width_log2, group.series->width_log2());
    }
    if (first > last)
        return;
    while ((last >> width_log2) - (first >> width_log2) >= TimeGrid::kColumns)
        width_log2++;
    for (TimeGrid *grid : {&heat_, &requests_}) {
        grid->widen(width_log2, first);
        grid->widen(width_log2, last);
    }
}

std::vector<uint64_t> Join::shown(const TimeGrid::Columns &columns) const
{
    return {columns.begin(), columns.begin() + static_cast<ptrdiff_t>(heat_.columns())};
}

// Converts a series to the common time axis, whose columns are at least as wide. A count is shown
// as its growth, in the column in which it was read. A gauge is shown as its maximum; columns
// between two of its readings repeat the earlier value.
std::vector<uint64_t> Join::columns_of(const Group &group) const
{
    std::vector<uint64_t> columns(heat_.columns());
    const unsigned by = heat_.width_log2() - group.series->width_log2();
    const uint64_t base = heat_.origin() >> heat_.width_log2();
    const decode::cache_qos::Column *before = nullptr;
    size_t from = 0;
    for (const decode::cache_qos::Column &column : group.series->columns()) {
        const size_t at = (column.number >> by) - base;
        if (group.series->is_count())
            columns.at(at) += column.grown;
        else
            columns.at(at) = std::max(columns.at(at), column.highest);
        for (size_t i = from + 1; !group.series->is_count() && before && i < at; i++)
            columns[i] = before->last_bytes;
        before = &column;
        from = at;
    }
    return columns;
}

void Join::add_ranges(Joined &joined) const
{
    for (const auto &[range, columns] : heat_.all()) {
        JoinRange made;
        made.at = placer_.place_host(range << range_log2_, joined.range_bytes);
        made.units = units_.at(range);
        made.line = {fmt::format("{:#x}", range << range_log2_), shown(columns)};
        made.heat = sum_of(made.line.columns);
        for (auto at = pairs_.lower_bound({range, 0}); at != pairs_.end(); ++at) {
            if (at->first.range != range)
                break;
            made.requesters.emplace_back(at->first.requester, at->second);
        }
        std::ranges::stable_sort(made.requesters, [](const auto &a, const auto &b) {
            return a.second.bytes() > b.second.bytes();
        });
        for (const JoinLine &group : joined.groups)
            made.together.push_back(overlap_of(made.line.columns, group.columns));
        joined.ranges.push_back(std::move(made));
    }
    std::ranges::sort(joined.ranges, [](const JoinRange &a, const JoinRange &b) {
        return a.heat != b.heat ? a.heat > b.heat : a.at.hpa->start < b.at.hpa->start;
    });
}

void Join::add_requesters(Joined &joined) const
{
    std::map<uint16_t, std::vector<uint64_t>> lines;
    for (const auto &[row, columns] : requests_.all()) {
        if (!heat_.all().contains(row >> kRequesterBits))
            continue;
        std::vector<uint64_t> &line = lines[static_cast<uint16_t>(row)];
        line.resize(heat_.columns());
        for (size_t i = 0; i < line.size(); i++)
            line[i] += columns[i];
    }
    for (auto &[requester, line] : lines)
        joined.requesters.push_back({ptt::bdf_text(requester), std::move(line)});
}

void Join::add_groups(Joined &joined) const
{
    for (const Group &group : groups_)
        joined.groups.push_back({group.name, columns_of(group)});
}

void Join::add_nodes(Joined &joined) const
{
    std::map<std::pair<std::optional<uint32_t>, std::optional<uint32_t>>, JoinNode> nodes;
    const auto node_of = [&nodes](const Placement &at) -> JoinNode & {
        JoinNode &node = nodes[{at.node, at.tier}];
        node.node = at.node;
        node.tier = at.tier;
        return node;
    };
    for (const JoinRange &range : joined.ranges)
        node_of(range.at).heat += range.heat;
    for (const auto &[pair, traffic] : pairs_)
        add(node_of(placer_.place_host(pair.range << range_log2_, joined.range_bytes)).traffic,
            traffic);
    for (auto &[key, node] : nodes)
        joined.nodes.push_back(node);
}

void Join::add_rest(Joined &joined) const
{
    JoinTraffic cold;
    std::set<uint64_t> cold_ranges;
    for (const auto &[pair, traffic] : pairs_)
        if (!heat_.all().contains(pair.range)) {
            add(cold, traffic);
            cold_ranges.insert(pair.range);
        }
    const auto say = [&joined](uint64_t count, const std::string &text) {
        if (count)
            joined.not_joined.push_back(fmt::format("{} {}", count, text));
    };
    say(units_without_host_, "hot units have no host address; first reason: " + why_not_);
    say(units_in_pieces_, "hot units have several pieces and count at the first");
    say(heat_elsewhere_,
        "accesses are of units without a host address, or of too many units or ranges");
    say(cold.tlps(),
        fmt::format("memory requests, of {} bytes, went to {} ranges that were not hot",
                    cold.bytes(), cold_ranges.size()));
    say(untranslated_,
        "memory requests have untranslated addresses: host addresses only where no IOMMU "
        "translates them");
    say(translations_, "requests are translation requests (no memory access)");
    say(without_time_, "memory requests have no time, or were too many to have a line over time");
    say(requests_elsewhere_, "memory requests were of too many requesters and ranges");
    say(groups_elsewhere_, "series of groups exceed the limit");
    if (clocks_.size() < 2)
        return;
    std::string clocks;
    for (const auto &[name, pmus] : clocks_)
        for (const std::string &pmu : pmus)
            clocks += fmt::format("{}{}: {}", clocks.empty() ? "" : ", ", pmu, name);
    joined.not_joined.push_back(
        fmt::format("{} clocks were used and may differ ({}); record with -k CLOCK_MONOTONIC",
                    clocks_.size(), clocks));
}

Joined Join::finish()
{
    Joined joined;
    joined.range_bytes = uint64_t{1} << range_log2_;
    leave_groups_out();
    align();
    joined.origin_ns = heat_.empty() ? 0 : heat_.origin();
    joined.column_ns = heat_.column_width();
    joined.columns = heat_.columns();
    add_groups(joined);
    add_ranges(joined);
    add_requesters(joined);
    add_nodes(joined);
    add_rest(joined);
    return joined;
}

}  // namespace pmukit::cli
