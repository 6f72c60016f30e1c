// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The fuzz targets. Each is a function that gets arbitrary bytes and returns normally. If the code
// that a target calls breaks a rule that must hold for every input, the target aborts the program.
#pragma once

#include <string_view>

#include "base/bytes.hpp"

namespace pmukit::fuzz {

#define FUZZ_TARGET(name) void name(Bytes bytes);
#include "fuzz/targets.def"
#undef FUZZ_TARGET

struct Target {
    // Also the name of the folder with the seeds of the target.
    std::string_view name;
    void (*run)(Bytes);
};
constexpr Target kTargets[] = {
#define FUZZ_TARGET(name) {#name, name},
#include "fuzz/targets.def"
#undef FUZZ_TARGET
};

// Aborts the program if a condition that must hold for every input is false.
inline void hold(bool promise)
{
    if (!promise)
        __builtin_trap();
}

}  // namespace pmukit::fuzz
