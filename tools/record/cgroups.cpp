// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "record/cgroups.hpp"

#include <fcntl.h>

#include <algorithm>
#include <vector>

#include "base/file.hpp"
#include "base/number.hpp"
#include "base/text.hpp"

namespace pmukit::record {
namespace {

constexpr size_t kMostMounts = size_t{16} << 20;  // a machine with containers has many mounts

}  // namespace

std::optional<std::string> cgroup_root(std::string_view mounts)
{
    enum { kDevice, kPath, kType, kOptions, kWords };
    std::optional<std::string> unified;
    for (const std::string_view line : split(mounts, '\n')) {
        const std::vector<std::string_view> words = split(line, ' ');
        if (words.size() < kWords)
            continue;
        const std::vector<std::string_view> options = split(words[kOptions], ',');
        if (words[kType] == "cgroup" && std::ranges::find(options, "perf_event") != options.end())
            return without_octal(words[kPath]);
        if (words[kType] == "cgroup2" && !unified)
            unified = without_octal(words[kPath]);
    }
    return unified;
}

Result<Fd> open_cgroup(const std::string &name, const std::string &mounts_path)
{
    const Result<std::string> mounts = read_file(mounts_path, kMostMounts);
    if (!mounts)
        return mounts.error();
    const std::optional<std::string> root = cgroup_root(*mounts);
    if (!root)
        return Error{
            Errc::kNotFound,
            "-G " + name + ": no cgroups are mounted; mount -t cgroup2 none /sys/fs/cgroup"};
    Fd folder(::open((*root + "/" + name).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder)
        return Error{Errc::kNotFound, "-G " + name + ": there is no such cgroup in " + *root};
    return folder;
}

}  // namespace pmukit::record
