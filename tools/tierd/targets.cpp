// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "tierd/targets.hpp"

#include <algorithm>
#include <filesystem>

#include "base/file.hpp"
#include "base/number.hpp"

namespace pmukit::tierd {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostProcsBytes = size_t{64} << 20;

void add_pid(std::string_view text, std::vector<uint32_t> &pids)
{
    const Result<uint64_t> pid = parse_u64(text);
    if (pid && *pid != 0 && *pid <= INT32_MAX)
        pids.push_back(static_cast<uint32_t>(*pid));
}

void add_all(const std::string &proc_root, std::vector<uint32_t> &pids)
{
    std::error_code ended;
    for (fs::directory_iterator entry(proc_root, ended), end; !ended && entry != end;
         entry.increment(ended))
        add_pid(entry->path().filename().string(), pids);
}

// A cgroup may be removed while it is read; it then has no processes.
void add_cgroup(const fs::path &folder, std::vector<uint32_t> &pids)
{
    const Result<std::string> procs = read_file(folder / "cgroup.procs", kMostProcsBytes);
    if (!procs)
        return;
    for (const std::string_view line : split(*procs, '\n'))
        add_pid(line, pids);
}

Result<void> add_cgroups(const std::string &folder, std::vector<uint32_t> &pids)
{
    if (!fs::exists(folder + "/cgroup.procs"))
        return Error{Errc::kNotFound, folder + ": the cgroup does not exist"};
    add_cgroup(folder, pids);
    std::error_code ended;
    for (fs::recursive_directory_iterator entry(folder, ended), end; !ended && entry != end;
         entry.increment(ended))
        if (entry->is_directory(ended))
            add_cgroup(entry->path(), pids);
    return {};
}

}  // namespace

Result<std::vector<uint32_t>> find_processes(const Targets &targets, const std::string &proc_root)
{
    std::vector<uint32_t> pids = targets.processes;
    if (targets.all)
        add_all(proc_root, pids);
    if (!targets.cgroup.empty())
        if (Result<void> added = add_cgroups(targets.cgroup, pids); !added)
            return added.error();
    std::ranges::sort(pids);
    pids.erase(std::unique(pids.begin(), pids.end()), pids.end());
    return pids;
}

}  // namespace pmukit::tierd
