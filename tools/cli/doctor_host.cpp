// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/doctor_host.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/file.hpp"
#include "base/number.hpp"

namespace pmukit::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPerfEvent = "anon_inode:[perf_event]";  // link target in /proc/PID/fd

bool holds_perf_event(const Host &host, const std::string &process)
{
    const std::string folder = "proc/" + process + "/fd";
    return std::ranges::any_of(host.names(folder), [&](const std::string &fd) {
        return host.link(folder + "/" + fd) == kPerfEvent;
    });
}

}  // namespace

std::string Host::path(std::string_view name) const
{
    std::string path = root_;
    if (!path.ends_with('/'))
        path += '/';
    return path.append(name);
}

bool Host::has(std::string_view name) const
{
    std::error_code failure;
    return fs::exists(path(name), failure);
}

std::optional<std::string> Host::text(std::string_view name) const
{
    // The mounts of a machine with containers can be long.
    constexpr size_t kMostBytes = size_t{16} << 20;
    const Result<std::string> text = read_file(path(name), kMostBytes);
    return text ? std::optional(std::string(trim(*text))) : std::nullopt;
}

std::optional<int64_t> Host::number(std::string_view name) const
{
    const std::optional<std::string> digits = text(name);
    int64_t value = 0;
    if (!digits)
        return std::nullopt;
    const char *end = digits->data() + digits->size();
    const auto parsed = std::from_chars(digits->data(), end, value);
    return parsed.ec == std::errc() && parsed.ptr == end ? std::optional(value) : std::nullopt;
}

std::vector<std::string> Host::names(std::string_view folder) const
{
    std::vector<std::string> names;
    std::error_code failure;
    for (fs::directory_iterator entry(path(folder), failure), none; !failure && entry != none;
         entry.increment(failure))
        names.push_back(entry->path().filename().string());
    std::ranges::sort(names);
    return names;
}

std::optional<std::string> Host::link(std::string_view name) const
{
    std::error_code failure;
    const fs::path target = fs::read_symlink(path(name), failure);
    return failure ? std::nullopt : std::optional(target.string());
}

bool Host::has_module(std::string_view module) const
{
    return has("sys/module/" + std::string(module));
}

bool Host::can(unsigned capability) const
{
    constexpr std::string_view kKey = "CapEff:";
    const std::string status = text("proc/self/status").value_or("");
    for (std::string_view line : split(status, '\n')) {
        if (!line.starts_with(kKey))
            continue;
        const std::string_view digits = trim(line.substr(kKey.size()));
        uint64_t mask = 0;
        std::from_chars(digits.data(), digits.data() + digits.size(), mask, 16);
        return mask >> capability & 1;
    }
    return false;
}

std::vector<Holder> perf_event_holders(const Host &host)
{
    const std::string self = std::to_string(::getpid());
    std::vector<Holder> holders;
    for (const std::string &process : host.names("proc")) {
        const Result<uint64_t> pid = parse_u64(process);
        const bool ours = host.live() && process == self;
        if (!pid || *pid > INT32_MAX || ours || !holds_perf_event(host, process))
            continue;
        holders.push_back(
            {static_cast<uint32_t>(*pid), host.text("proc/" + process + "/comm").value_or("?")});
    }
    std::ranges::sort(holders, {}, &Holder::pid);
    return holders;
}

}  // namespace pmukit::cli
