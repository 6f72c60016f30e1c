// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/qualify/check.hpp"

#include <time.h>

#include <array>

#include "cli/qualify/tables.hpp"

namespace pmukit::cli::qualify {

std::string_view name_of(Verdict verdict)
{
    constexpr std::array<std::string_view, 3> kNames = {"PASS", "FAIL", "NOT TESTED"};
    return kNames[static_cast<size_t>(verdict)];
}

std::string_view name_of(Kind kind)
{
    constexpr std::array<std::string_view, 4> kNames = {"read", "write", "event", "outside"};
    return kNames[static_cast<size_t>(kind)];
}

std::span<const Driver> drivers()
{
    static const Driver kDrivers[] = {kCacheQosDriver, kCxlHmuDriver, kHisiPttDriver, kImcDriver,
                                      kUncorePmonDriver};
    return kDrivers;
}

int64_t now_us()
{
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * int64_t{1000000} + now.tv_nsec / 1000;
}

void sleep_us(int64_t us)
{
    const timespec time{us / 1000000, us % 1000000 * 1000};
    nanosleep(&time, nullptr);
}

}  // namespace pmukit::cli::qualify
