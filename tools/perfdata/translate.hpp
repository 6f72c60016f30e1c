// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The numbers in a record that mean something only among the records of its machine and recording:
// event ids, threads, CPUs, rings, times. Merging gives them other values, in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/hash.hpp"
#include "perfdata/attr.hpp"

namespace pmukit::perfdata {

struct Translation {
    FlatMap<uint64_t> ids;      // those that change
    uint32_t thread_shift = 0;  // not of 0 (idle) and -1 (none)
    uint32_t cpu_shift = 0;     // not of -1 (any)
    uint32_t ring_shift = 0;
    uint64_t time_shift_ns = 0;  // modulo 2^64; not of 0 and -1, which are no times
};

// attr: of the record's event. What the body is too short for stays.
void translate(uint32_t type, std::span<std::byte> body, const Attr &attr, std::endian order,
               const Translation &translation);

}  // namespace pmukit::perfdata
