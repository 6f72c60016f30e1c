// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Measures the memory of this process, for tests.
#pragma once

#include <sys/resource.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>

#if defined(__SANITIZE_ADDRESS__)
#define PMUKIT_HAS_SHADOW 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PMUKIT_HAS_SHADOW 1
#endif
#endif

#ifdef PMUKIT_HAS_SHADOW
extern "C" void __asan_get_shadow_mapping(size_t *scale, size_t *offset);
#endif

namespace pmukit {

// Returns the resident shadow memory of AddressSanitizer in KiB, which has one byte for eight bytes
// of the program. Returns 0 in other builds. Some kernels count a shadow page as soon as it is
// read, even if the memory that it describes is already freed.
inline long shadow_kib()
{
    long kib = 0;
#ifdef PMUKIT_HAS_SHADOW
    constexpr unsigned kAddressBits = 47;
    size_t scale = 0, begin = 0;
    __asan_get_shadow_mapping(&scale, &begin);
    const uint64_t end = begin + (uint64_t{1} << (kAddressBits - scale));
    std::ifstream mappings("/proc/self/smaps");
    bool inside = false;
    for (std::string line; std::getline(mappings, line);) {
        uint64_t from = 0, to = 0;
        long rss = 0;
        if (std::sscanf(line.c_str(), "%lx-%lx ", &from, &to) == 2)
            inside = from >= begin && to <= end;
        else if (inside && std::sscanf(line.c_str(), "Rss: %ld kB", &rss) == 1)
            kib += rss;
    }
#endif
    return kib;
}

// Returns the peak resident memory in KiB without the shadow memory, whose size is measured only
// now. If the shadow memory has grown since the peak, the result is too low by that growth, which
// is at most an eighth of the memory accessed since the peak.
inline long peak_kib()
{
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss - shadow_kib();
}

}  // namespace pmukit
