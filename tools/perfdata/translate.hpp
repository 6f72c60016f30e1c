// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Numbers in a record that are only valid in its own machine and recording: event ids, threads,
// CPUs, rings, times. A merge replaces them in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/hash.hpp"
#include "perfdata/attr.hpp"

namespace pmukit::perfdata {

struct Translation {
    FlatMap<uint64_t> ids;      // old id -> new id, only for ids that change
    uint32_t thread_shift = 0;  // added to every thread id except 0 (idle) and -1 (none)
    uint32_t cpu_shift = 0;     // added to every CPU number except -1 (any)
    uint32_t ring_shift = 0;
    uint64_t time_shift_ns = 0;  // added modulo 2^64 to every time except 0 and -1 (no time)
};

// attr: of the record's event. Fields past the end of the body are ignored.
void translate(uint32_t type, std::span<std::byte> body, const Attr &attr, std::endian order,
               const Translation &translation);

}  // namespace pmukit::perfdata
