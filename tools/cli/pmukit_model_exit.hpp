// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// How pmukit-model ends: one line on stderr and the exit code that the kind of error asks for.
#pragma once

#include <fmt/core.h>

#include <cstdio>

#include "base/result.hpp"

namespace pmukit::cli {

inline constexpr int kExitGood = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitMachinery = 69;

inline int give_up(const Error &error)
{
    fmt::print(stderr, "pmukit-model: {}\n", error.message);
    switch (error.code) {
        case Errc::kUsage:
            return kExitUsage;
        case Errc::kMachinery:
        case Errc::kBusy:
            return kExitMachinery;
        default:
            return kExitFailed;
    }
}

}  // namespace pmukit::cli
