// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// How far long work is, for a progress line.
#pragma once

#include <cstdint>
#include <functional>

namespace pmukit::perfdata {

// Called for each record, with how many bytes were read before it, or of a directory how many of
// its part. May be empty.
using ProgressCallback = std::function<void(uint64_t bytes)>;

inline void report(const ProgressCallback &progress, uint64_t bytes)
{
    if (progress)
        progress(bytes);
}

}  // namespace pmukit::perfdata
