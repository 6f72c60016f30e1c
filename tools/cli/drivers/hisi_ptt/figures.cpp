// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Figures of PCIe traffic.
#include "cli/drivers/hisi_ptt/figures.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace pmukit::cli {
namespace {

namespace ptt = decode::hisi_ptt;

html::Figure time_figure(const FigureHead &head, const ptt::Traffic &traffic)
{
    const ptt::TimeStrip &time = traffic.time();
    uint64_t most = 0, bytes = 0;
    for (size_t i = 0; i < time.columns(); i++) {
        most = std::max(most, time.tlps(i));
        bytes += time.bytes(i);
    }
    html::Figure figure = figure_of(head, "PCIe traffic over time");
    figure.words = {fmt::format(
        "TLPs of {} ticks a column; the unit of ticks is the device's own. {} TLPs, {} bytes of "
        "payload.",
        time.column_ticks(), traffic.packets(), bytes)};
    figure.table.columns = {{"from tick", true}, {"TLPs", true}, {"bytes of payload", true}};
    html::Columns columns;
    for (size_t i = 0; i < time.columns(); i++) {
        const uint64_t from = time.first() + i * time.column_ticks();
        columns.columns.push_back({fmt::format("from tick {}: {} TLPs, {} bytes of payload", from,
                                               time.tlps(i), time.bytes(i)),
                                   part_of(time.tlps(i), most)});
        figure.table.rows.push_back(
            {std::to_string(from), std::to_string(time.tlps(i)), std::to_string(time.bytes(i))});
    }
    figure.table.total = {"all", std::to_string(traffic.packets()), std::to_string(bytes)};
    columns.highest = fmt::format("{} TLPs", most);
    columns.first = fmt::format("tick {}", time.first());
    columns.last = fmt::format("tick {}", time.last());
    figure.picture = std::move(columns);
    return figure;
}

std::string bucket_text(const ptt::Histogram::Bucket &bucket)
{
    return bucket.first == bucket.last ? std::to_string(bucket.first)
                                       : fmt::format("{} .. {}", bucket.first, bucket.last);
}

html::Figure latency_figure(const FigureHead &head, const ptt::Traffic &traffic)
{
    const ptt::Histogram &latency = traffic.latency();
    const ptt::LatencyTotals &totals = traffic.latency_totals();
    const std::vector<ptt::Histogram::Bucket> buckets = latency.buckets();
    uint64_t most = 0;
    for (const ptt::Histogram::Bucket &bucket : buckets)
        most = std::max(most, bucket.count);
    html::Figure figure = figure_of(head, "Latency of requests");
    figure.words = {
        fmt::format("Ticks from a request to its last completion, a column for each bucket that is "
                    "not empty: min {}, mean {:.1f}, median {}, 90% {}, 99% {}, max {}.",
                    latency.min(), latency.mean(), latency.quantile(0.5), latency.quantile(0.9),
                    latency.quantile(0.99), latency.max()),
        fmt::format("{} non-posted requests, {} answered, {} outstanding; {} completions without a "
                    "request.",
                    totals.requests, totals.answered, traffic.outstanding(), totals.unmatched)};
    if (traffic.packets_of(ptt::Format::k4dw))
        figure.words.push_back(
            "Stamps of 4DW have 11 bits: a latency of 2048 ticks or more shows as less.");
    figure.table.columns = {{"ticks", true}, {"requests", true}, {"share", true}};
    html::Columns columns;
    for (const ptt::Histogram::Bucket &bucket : buckets) {
        const std::string share = share_text(bucket.count, latency.count());
        columns.columns.push_back(
            {fmt::format("{} ticks: {} requests, {}", bucket_text(bucket), bucket.count, share),
             part_of(bucket.count, most)});
        figure.table.rows.push_back({bucket_text(bucket), std::to_string(bucket.count), share});
    }
    figure.table.total = {"all", std::to_string(latency.count()),
                          share_text(latency.count(), latency.count())};
    columns.highest = fmt::format("{} requests", most);
    columns.first = fmt::format("{} ticks", latency.min());
    columns.last = fmt::format("{} ticks", latency.max());
    figure.picture = std::move(columns);
    return figure;
}

std::vector<std::string> row_of(size_t rank, const ptt::RequesterTraffic &one, uint64_t sum,
                                uint64_t all)
{
    const bool answered = one.latency.requests != 0;
    return {std::to_string(rank),
            ptt::bdf_text(one.id),
            std::to_string(one.tlps()),
            share_text(one.tlps(), all),
            share_text(sum, all),
            std::to_string(one.posted.tlps),
            std::to_string(one.non_posted.tlps),
            std::to_string(one.completions.tlps),
            std::to_string(one.bytes()),
            answered ? fmt::format("{:.1f}", one.latency.mean()) : "-",
            answered ? std::to_string(one.latency.max) : "-"};
}

// The row "others" also counts TLPs of unknown types, which have no requester.
html::Figure requesters_figure(const FigureHead &head, const ptt::Traffic &traffic, size_t top)
{
    const std::vector<const ptt::RequesterTraffic *> all = traffic.requesters();
    const size_t shown = top ? std::min(top, all.size()) : all.size();
    html::Figure figure = figure_of(head, "Requesters");
    figure.words = {fmt::format("{} of {} requesters, by TLPs.", shown, all.size())};
    figure.table.columns = {{"rank", true},       {"requester"},         {"TLPs", true},
                            {"share", true},      {"sum", true},         {"posted", true},
                            {"non-posted", true}, {"completions", true}, {"bytes of payload", true},
                            {"mean ticks", true}, {"max ticks", true}};
    html::Bars bars;
    uint64_t counted = 0;
    for (size_t i = 0; i < shown; i++) {
        const ptt::RequesterTraffic &one = *all[i];
        counted += one.tlps();
        bars.bars.push_back(
            {ptt::bdf_text(one.id),
             fmt::format("{} TLPs  {}", one.tlps(), share_text(one.tlps(), traffic.packets())),
             part_of(one.tlps(), all.front()->tlps())});
        figure.table.rows.push_back(row_of(i + 1, one, counted, traffic.packets()));
    }
    if (counted < traffic.packets())
        figure.table.rows.push_back({"", "others", std::to_string(traffic.packets() - counted),
                                     share_text(traffic.packets() - counted, traffic.packets())});
    figure.table.total = {"", "all", std::to_string(traffic.packets()),
                          share_text(traffic.packets(), traffic.packets())};
    figure.picture = std::move(bars);
    return figure;
}

}  // namespace

std::vector<html::Figure> traffic_figures(const FigureHead &head, const ptt::Traffic &traffic,
                                          size_t top)
{
    if (!traffic.packets()) {
        html::Figure nothing = figure_of(head, "PCIe traffic");
        nothing.words = {"No TLP was recorded."};
        nothing.picture = html::Bars{};
        return {nothing};
    }
    std::vector<html::Figure> figures = {time_figure(head, traffic)};
    if (traffic.latency().count())
        figures.push_back(latency_figure(head, traffic));
    figures.push_back(requesters_figure(head, traffic, top));
    return figures;
}

}  // namespace pmukit::cli
