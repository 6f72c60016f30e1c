// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/figures.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace pmukit::cli {

std::vector<std::string> lines_of(std::span<const Remark> remarks)
{
    std::vector<std::string> lines;
    for (const Remark &remark : remarks)
        if (remark.is_shown())
            lines.push_back(counted_text(remark.count, remark.at_least, remark.text));
    return lines;
}

html::Figure figure_of(const FigureHead &head, std::string title)
{
    html::Figure figure;
    figure.title = std::move(title);
    figure.pmu = head.pmu;
    figure.source = head.source;
    figure.losses = head.losses;
    figure.whole = head.whole;
    return figure;
}

double part_of(uint64_t part, uint64_t all)
{
    return all ? static_cast<double>(part) / static_cast<double>(all) : 0;
}

char shade_of(uint64_t value, uint64_t largest)
{
    constexpr std::string_view kShades = " .:-=+*#%@";
    if (value == 0)
        return kShades.front();
    const double shade = std::sqrt(part_of(value, largest)) * (kShades.size() - 1);
    return kShades[std::clamp<size_t>(static_cast<size_t>(std::lround(shade)), 1,
                                      kShades.size() - 1)];
}

std::string share_text(uint64_t part, uint64_t all)
{
    return all ? fmt::format("{:.1f}%", part_of(part, all) * 100) : "-";
}

std::string rate_text(uint64_t count, std::optional<uint64_t> duration_ns, std::string_view unit)
{
    constexpr std::string_view kPrefixes[] = {" ", " k", " M", " G"};
    constexpr double kNsPerSecond = 1e9, kStep = 1000;
    if (!duration_ns)
        return {};
    double rate = static_cast<double>(count) / (static_cast<double>(*duration_ns) / kNsPerSecond);
    size_t prefix = 0;
    for (; rate >= kStep && prefix + 1 < std::size(kPrefixes); prefix++)
        rate /= kStep;
    return fmt::format("{:.1f}{}{}/s", rate, kPrefixes[prefix], unit);
}

std::string megabytes_text(uint64_t bytes)
{
    return fmt::format("{:.3f}", static_cast<double>(bytes) / 1e6);
}

std::string seconds_text(uint64_t time_ns)
{
    constexpr uint64_t kNsPerSecond = 1'000'000'000, kNsPerUs = 1000;
    return fmt::format("{}.{:06} s", time_ns / kNsPerSecond, time_ns % kNsPerSecond / kNsPerUs);
}

std::string bytes_text(uint64_t bytes)
{
    constexpr const char *kPrefixes[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    size_t unit = 0;
    while (bytes >= 1024 && bytes % 1024 == 0) {
        bytes /= 1024;
        unit++;
    }
    return fmt::format("{} {}", bytes, kPrefixes[unit]);
}

}  // namespace pmukit::cli
