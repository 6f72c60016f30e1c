// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Reads the list of online CPUs, and selects CPUs from it.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "base/number.hpp"
#include "base/result.hpp"

namespace pmukit::record {

constexpr const char *kOnlineCpus = "/sys/devices/system/cpu/online";

inline Result<std::vector<int>> online_cpus(const std::string &path = kOnlineCpus)
{
    const Result<std::string> text = read_small_file(path);
    if (!text)
        return text.error();
    return parse_cpulist(*text);
}

// Returns those of the given CPUs that are online, in the given order.
inline std::vector<int> those_online(std::vector<int> cpus, const std::vector<int> &online)
{
    std::erase_if(cpus,
                  [&online](int cpu) { return std::ranges::find(online, cpu) == online.end(); });
    return cpus;
}

}  // namespace pmukit::record
