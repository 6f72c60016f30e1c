// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// A library that calls a function of unwound_main.cpp. It is built without frame pointers and has
// one inlined function.
#include <cstdint>

using Back = uint64_t (*)(uint64_t);

namespace {

[[gnu::always_inline]] inline uint64_t library_inlined(Back back, uint64_t turns)
{
    return back(turns) + 1;
}

[[gnu::noinline]] uint64_t library_inner(Back back, uint64_t turns)
{
    return library_inlined(back, turns) + 1;
}

}  // namespace

extern "C" uint64_t library_outer(Back back, uint64_t turns)
{
    return library_inner(back, turns) + 1;
}
