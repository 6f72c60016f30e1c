// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The fuzz targets: each is a function of arbitrary bytes that returns normally. If the code it
// calls breaks a promise, the program is aborted.
#pragma once

#include <string_view>

#include "base/bytes.hpp"

namespace pmukit::fuzz {

#define FUZZ_TARGET(name) void name(Bytes bytes);
#include "fuzz/targets.def"
#undef FUZZ_TARGET

struct Target {
    std::string_view name;  // also the directory of its seeds
    void (*run)(Bytes);
};
constexpr Target kTargets[] = {
#define FUZZ_TARGET(name) {#name, name},
#include "fuzz/targets.def"
#undef FUZZ_TARGET
};

// Checks a promise that must hold for every input.
inline void hold(bool promise)
{
    if (!promise)
        __builtin_trap();
}

}  // namespace pmukit::fuzz
