// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Output and exit codes of pmukit-model. For an error, pmukit-model prints one line to stderr. The
// exit code depends on the kind of error.
#pragma once

#include <fmt/core.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/file.hpp"
#include "base/result.hpp"

namespace pmukit::cli {

inline constexpr int kExitGood = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitEnvironment = 69;

// Unlike fmt::print, does not throw if the stream cannot be written.
template <typename... Args>
void say(fmt::format_string<Args...> format, Args &&...args)
{
    std::fputs(fmt::format(format, std::forward<Args>(args)...).c_str(), stdout);
}

// Returns an error if any output was lost.
inline Result<void> flush_what_was_said()
{
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0)
        return {};
    return system_error("standard output", errno);
}

inline int give_up(const Error &error)
{
    std::fputs(fmt::format("pmukit-model: {}\n", error.message).c_str(), stderr);
    switch (error.code) {
        case Errc::kUsage:
            return kExitUsage;
        case Errc::kEnvironment:
        case Errc::kBusy:
            return kExitEnvironment;
        default:
            return kExitFailed;
    }
}

}  // namespace pmukit::cli
