// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "export/perfetto_tracks.hpp"

#include <algorithm>

namespace pmukit::exporter {
namespace {

struct Look {
    std::string_view table, name, sum, ticks;  // names of columns; empty: none
};
constexpr Look kLooks[] = {
    {"cache_qos", "event", "", ""},    {"cxl_hmu", "dpa", "accesses", ""},
    {"hisi_ptt", "type", "", "ticks"}, {"imc", "mode", "", ""},
    {"losses", "kind", "", ""},        {"recording", "recording", "", ""},
    {"samples", "event", "", ""},
};

std::string text_or_none(const Value &value)
{
    return value.known ? std::string(value.text()) : std::string();
}

std::string process_name(const std::string &host, const std::string &pmu, const Value &source)
{
    return (pmu.empty() ? "recording" : pmu) + (host.empty() ? "" : " on " + host) +
           (source.known ? " source=" + std::string(source.text()) : "");
}

}  // namespace

TraceColumns::TraceColumns(const Table &table)
{
    const Look &look = *std::ranges::find(kLooks, table.name, &Look::table);
    const auto place = [&](std::string_view column) {
        return column.empty() ? kNoColumn : column_of(table, column);
    };
    name = place(look.name);
    sum = place(look.sum);
    ticks = place(look.ticks);
}

Tracks::Found Tracks::find(Values origin)
{
    const std::string host = text_or_none(origin[kHost]), pmu = text_or_none(origin[kPmu]);
    const auto [process, is_new] = processes_.try_emplace({host, pmu}, processes_.size() + 1);
    const uint64_t thread = origin[kCpu].known ? origin[kCpu].number() + 1 : 0;
    const auto [at, begins] = tracks_.try_emplace({process->second, thread});
    at->second.process = process->second;
    at->second.thread = thread;
    Found found{at->second, {}, {}};
    if (is_new)
        found.process_name = process_name(host, pmu, origin[kSource]);
    if (begins)
        found.thread_name = thread ? "cpu " + std::to_string(thread - 1) : "all";
    return found;
}

uint64_t time_of(Track &track, Values row, const TraceColumns &columns)
{
    const uint64_t time_ns = row[kTime].known ? row[kTime].number() : 0;
    if (columns.ticks == kNoColumn)
        return time_ns;
    const uint64_t ticks = row[columns.ticks].number();
    if (!track.anchor)
        track.anchor = {time_ns, ticks};
    const auto [first_ns, first_ticks] = *track.anchor;
    return ticks >= first_ticks ? first_ns + (ticks - first_ticks) : first_ns;
}

}  // namespace pmukit::exporter
