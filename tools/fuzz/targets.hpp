// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// What is fuzzed: a function each from any bytes at all. It returns; a promise of the code it calls
// that turns out to be broken ends the program.
#pragma once

#include <string_view>

#include "base/bytes.hpp"

namespace pmukit::fuzz {

#define FUZZ_TARGET(name) void name(Bytes bytes);
#include "fuzz/targets.def"
#undef FUZZ_TARGET

struct Target {
    std::string_view name;  // also that of the folder of its seeds
    void (*run)(Bytes);
};
constexpr Target kTargets[] = {
#define FUZZ_TARGET(name) {#name, name},
#include "fuzz/targets.def"
#undef FUZZ_TARGET
};

// A promise that every input must keep.
inline void hold(bool promise)
{
    if (!promise)
        __builtin_trap();
}

}  // namespace pmukit::fuzz
