// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// For tests of recordings: a program that spends its time in one function, in a separate thread.
#include <chrono>
#include <cstdint>
#include <thread>

#include "base/number.hpp"

extern "C" [[gnu::noinline]] void spin_here(std::chrono::steady_clock::time_point until)
{
    while (std::chrono::steady_clock::now() < until)
        for (unsigned i = 0; i < 100000; i++)
            asm volatile("" : "+r"(i));  // keeps the loop from being optimized away
}

int main(int count, char **words)
{
    const pmukit::Result<uint64_t> time_ms =
        count == 2 ? pmukit::parse_u64(words[1]) : pmukit::Error{pmukit::Errc::kUsage, ""};
    if (!time_ms || *time_ms > 10000)
        return 2;
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(*time_ms);
    std::thread([until] { spin_here(until); }).join();
    return 0;
}
