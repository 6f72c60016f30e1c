// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "record/cgroups.hpp"

#include <fcntl.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <vector>

#include "base/number.hpp"

namespace pmukit::record {
namespace {

// Decodes the octal numbers by which the kernel writes blanks and backslashes in a path: \040.
std::string decoded(std::string_view path)
{
    constexpr size_t kDigits = 3;
    constexpr uint64_t kBase = 8;
    std::string text;
    while (!path.empty()) {
        const std::string_view digits = path.substr(1, kDigits);
        const bool is_number = path.front() == '\\' && digits.size() == kDigits &&
                               digits.find_first_not_of("01234567") == digits.npos;
        uint64_t value = 0;
        for (const char digit : is_number ? digits : std::string_view())
            value = value * kBase + static_cast<uint64_t>(digit - '0');
        text += is_number ? static_cast<char>(value) : path.front();
        path.remove_prefix(is_number ? 1 + kDigits : 1);
    }
    return text;
}

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
            return decoded(words[kPath]);
        if (words[kType] == "cgroup2" && !unified)
            unified = decoded(words[kPath]);
    }
    return unified;
}

Result<Fd> open_cgroup(const std::string &name, const std::string &mounts_path)
{
    std::ifstream mounts(mounts_path);  // can be long on a machine with containers
    std::ostringstream text;
    text << mounts.rdbuf();
    const std::optional<std::string> root = cgroup_root(text.str());
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
