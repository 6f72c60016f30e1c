// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/tierd/metrics.hpp"

#include <fmt/core.h>

#include "base/file.hpp"
#include "base/saturate.hpp"
#include "base/text.hpp"
#include "console/temp_file.hpp"
#include "perfdata/output/new_file.hpp"

namespace pmukit::cli {
namespace {

constexpr std::string_view kFront = "# HELP pmukit_tierd_";

struct Counter {
    std::string_view name, help;
    uint64_t TierdTotals::*value;
};
constexpr Counter kCounters[] = {
    {"intervals", "Intervals since the start", &TierdTotals::intervals},
    {"promoted_pages", "Pages moved to the fast node", &TierdTotals::promoted},
    {"demoted_pages", "Pages moved to the slow node", &TierdTotals::demoted},
    {"failed_pages", "Pages that the kernel did not move", &TierdTotals::failed},
    {"lost_entries", "Hot-list entries that were lost", &TierdTotals::lost},
    {"units_without_address", "Hot units without a host address", &TierdTotals::without_place},
};

struct Gauge {
    std::string_view name, help;
    uint64_t tierd::Interval::*value;
};
constexpr Gauge kGauges[] = {
    {"processes", "Processes whose pages may move", &tierd::Interval::processes},
    {"pages", "Pages of the processes", &tierd::Interval::pages},
    {"fast_pages", "Pages of the processes on the fast node before the interval's moves",
     &tierd::Interval::fast_pages},
    {"budget_pages", "Pages of the processes that may be on the fast node",
     &tierd::Interval::budget_pages},
    {"hot_pages", "Hot pages on other nodes than the fast one", &tierd::Interval::hot},
    {"locked_pages", "Hot pages that are locked in memory", &tierd::Interval::stay},
    {"mempolicy_pages", "Hot pages whose memory policy forbids the fast node",
     &tierd::Interval::not_allowed},
    {"cpuset_pages", "Hot pages of processes whose cpuset lacks the fast node",
     &tierd::Interval::refused_pages},
    {"back_off_pages", "Hot pages that were demoted or refused a short time before",
     &tierd::Interval::backing_off},
    {"no_room_pages", "Hot pages for which the fast node or a limit has no place",
     &tierd::Interval::no_room},
    {"not_chosen_pages", "Hot pages that the policy did not choose", &tierd::Interval::not_chosen},
};

void add_metric(std::string_view name, std::string_view help, std::string_view type,
                std::string_view suffix, const std::string &labels, uint64_t value,
                std::string &text)
{
    append(text, "# HELP pmukit_tierd_{0} {1}\n# TYPE pmukit_tierd_{0} {2}\n", name, help, type);
    append(text, "pmukit_tierd_{}{}{} {}\n", name, suffix, labels, value);
}

std::string labels_of(const TierdTotals &totals)
{
    std::string labels;
    if (totals.source == "model")  // the only known source
        labels = "source=\"model\"";
    if (totals.dry_run)
        labels += std::string(labels.empty() ? "" : ",") + "dry_run=\"true\"";
    return labels.empty() ? labels : "{" + labels + "}";
}

}  // namespace

void TierdTotals::add(const tierd::Interval &interval)
{
    intervals++;
    add_to(promoted, interval.promoted.moved);
    add_to(demoted, interval.demoted.moved);
    for (const tier::Moved &moved : {interval.promoted, interval.demoted})
        add_to(failed, moved.gone + moved.shared + moved.busy + moved.no_room);
}

std::string metrics_text(const TierdTotals &totals, const tierd::Interval &last)
{
    const std::string labels = labels_of(totals);
    std::string text;
    for (const Counter &counter : kCounters)
        add_metric(counter.name, counter.help, "counter", "_total", labels, totals.*counter.value,
                   text);
    for (const Gauge &gauge : kGauges)
        add_metric(gauge.name, gauge.help, "gauge", "", labels, last.*gauge.value, text);
    return text + "# EOF\n";
}

Result<void> begin_metrics(const std::string &path)
{
    constexpr Replaceable kMetrics{"a file with metrics of pmukit tierd",
                                   [](std::string_view front) { return front.starts_with(kFront); },
                                   false};
    return begin_output(path, {}, kMetrics, false);
}

Result<void> write_metrics(const std::string &path, const std::string &text)
{
    Result<perfdata::NewFile> file = perfdata::NewFile::create(path);
    if (!file)
        return file.error();
    if (Result<void> readable = file->set_mode(0644); !readable)
        return readable;
    if (Result<void> put = file->put(as_bytes(text)); !put)
        return put;
    return file->finish();
}

}  // namespace pmukit::cli
