// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// How far long work is, for whoever shows it to a person.
#pragma once

#include <cstdint>
#include <functional>

namespace pmukit::perfdata {

// Called for each record, with how many bytes were read before it, or of a directory how many of
// its part. May be empty.
using Watch = std::function<void(uint64_t bytes)>;

inline void tell(const Watch &watch, uint64_t bytes)
{
    if (watch)
        watch(bytes);
}

}  // namespace pmukit::perfdata
