// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Progress of long operations, for a progress line.
#pragma once

#include <cstdint>
#include <functional>

namespace pmukit::perfdata {

// Called for each record with the number of bytes that were read before it (for a directory, from
// the current file). The function may be empty.
using ProgressCallback = std::function<void(uint64_t bytes)>;

inline void report(const ProgressCallback &progress, uint64_t bytes)
{
    if (progress)
        progress(bytes);
}

}  // namespace pmukit::perfdata
