// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// One target (FUZZ_TARGET) for libFuzzer, which brings main().
#include "fuzz/targets.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pmukit::fuzz::FUZZ_TARGET(std::as_bytes(std::span(data, size)));
    return 0;
}
