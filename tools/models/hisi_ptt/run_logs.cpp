// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "models/hisi_ptt/run_logs.hpp"

#include <fmt/core.h>

#include <utility>

namespace pmukit::models::hisi_ptt {

namespace {

Result<void> open(TlpLog &log, const std::string &path)
{
    Result<TlpLog> created = TlpLog::create(path);
    if (!created)
        return created.error();
    log = std::move(created).value();
    return {};
}

}  // namespace

Result<void> RunLogs::open_seen(const std::string &path)
{
    return open(seen_, path);
}

Result<void> RunLogs::open_traced(const std::string &path)
{
    return open(traced_, path);
}

Result<void> RunLogs::open_stats(const std::string &path)
{
    Result<LineFile> created = LineFile::create("stats log", path);
    if (!created)
        return created.error();
    stats_ = std::move(created).value();
    stats_.append("# pmukit stats log 1\n");
    return {};
}

Result<void> RunLogs::open_buffers(const std::string &path)
{
    Result<LineFile> created = LineFile::create("buffers log", path);
    if (!created)
        return created.error();
    buffers_ = std::move(created).value();
    buffers_.append("# pmukit buffers log 1\n");
    return {};
}

Result<void> RunLogs::close()
{
    Result<void> closed = seen_.close();
    for (Result<void> own : {traced_.close(), stats_.close(), buffers_.close()}) {
        if (!own && closed)
            closed = own;
    }
    return closed;
}

void RunLogs::event(std::string_view what)
{
    if (stats_.is_open())
        stats_.append(fmt::format("{} {} {}\n", what, reads_, writes_));
    reads_ = writes_ = 0;
}

void RunLogs::buffers(const std::string &line)
{
    buffers_.append(line + "\n");
}

}  // namespace pmukit::models::hisi_ptt
