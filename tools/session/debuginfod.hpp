// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Asks the servers in DEBUGINFOD_URLS for programs and debug information, by build id, as perf and
// gdb do: with elfutils' libdebuginfod, which is loaded when it is needed, and which keeps the
// files in the cache of the user.
//
// A server may be unreachable or slow. A child process waits for it, because neither name lookup
// nor libcurl promise to end in time. All requests of a command together get DEBUGINFOD_TIMEOUT
// seconds (20 if it is not set); then the child is killed, and no further file is asked for.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/bytes.hpp"

namespace pmukit::cli {

class Debuginfod {
public:
    enum class Kind { kProgram, kDebugInformation };

    Debuginfod();

    // Path of the file in the cache. nullopt: no server is set or has the file, or the time is up.
    // The caller checks the build id.
    std::optional<std::string> find(Kind kind, Bytes build_id);
    // Message about files that were not asked for, or not received; empty: there are none.
    std::string trouble() const;

private:
    bool is_set_ = false;
    bool has_library_ = true;
    std::chrono::milliseconds all_, left_;
    uint64_t left_out_ = 0;  // files
};

}  // namespace pmukit::cli
