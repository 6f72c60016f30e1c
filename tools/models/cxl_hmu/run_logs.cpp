// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "models/cxl_hmu/run_logs.hpp"

#include <fmt/core.h>

#include <utility>

namespace pmukit::models::cxl_hmu {

namespace {

constexpr unsigned kWidth = 64;  // bytes: an M2S request transfers one cache line

Result<void> open(LineFile &file, std::string_view kind, const std::string &path)
{
    Result<LineFile> created = LineFile::create(fmt::format("{} log", kind), path);
    if (!created)
        return created.error();
    file = std::move(created).value();
    file.append(fmt::format("# pmukit {} log 1\n", kind));
    return {};
}

}  // namespace

Result<void> RunLogs::open_entries(const std::string &path)
{
    return open(entries_, "entries", path);
}

Result<void> RunLogs::open_source(const std::string &path)
{
    return open(source_, "source", path);
}

Result<void> RunLogs::open_stats(const std::string &path)
{
    return open(stats_, "stats", path);
}

Result<void> RunLogs::close()
{
    Result<void> closed;
    for (LineFile *file : {&entries_, &source_, &stats_}) {
        if (const Result<void> own = file->close(); !own && closed)
            closed = own;
    }
    return closed;
}

void RunLogs::enabled(std::string_view instance)
{
    if (entries_.is_open())
        entries_.append(fmt::format("# {} enabled\n", instance));
}

void RunLogs::entry(std::string_view instance, uint64_t epoch, uint64_t raw, bool dropped)
{
    if (entries_.is_open())
        entries_.append(
            fmt::format("{} {} {:016x}{}\n", instance, epoch, raw, dropped ? " dropped" : ""));
}

void RunLogs::source_epoch(std::string_view instance, uint64_t epoch)
{
    if (source_.is_open())
        source_.append(fmt::format("# {} {}\n", instance, epoch));
}

void RunLogs::source_access(const Request &request)
{
    if (source_.is_open())
        source_.append(fmt::format("{} {:#x} {}{}\n", request.write ? 'W' : 'R', request.dpa,
                                   kWidth, request.tee ? " T" : ""));
}

void RunLogs::accesses(std::string_view instance, std::string_view event, unsigned entries,
                       uint64_t reads, uint64_t writes)
{
    if (stats_.is_open())
        stats_.append(fmt::format("{} {} {} {} {}\n", instance, event, entries, reads, writes));
}

}  // namespace pmukit::models::cxl_hmu
