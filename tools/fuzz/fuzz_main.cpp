// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Runs the target whose name is the macro FUZZED under libFuzzer, which provides main().
#include "fuzz/targets.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pmukit::fuzz::FUZZED(std::as_bytes(std::span(data, size)));
    return 0;
}
