// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Numbers in a record that are only valid in its own machine and recording: event ids, threads,
// CPUs, rings, cgroups, times. A merge replaces them in place. This header is not installed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <variant>

#include "base/hash.hpp"
#include "perfdata/attr.hpp"

namespace pmukit::perfdata {

struct Translation {
    // Numbers 0 to size - 1 become shift to shift + size - 1.
    struct Range {
        uint64_t shift = 0;
        uint64_t size = UINT64_MAX;
    };
    FlatMap<uint64_t>
        ids;  // old id -> new id, for those ids in the header of the input that change
    // Returns true for every id in the header of the input, also if it does not change.
    std::function<bool(uint64_t)> is_own = {};
    // Every new id of every input; nullptr: a single input.
    const FlatMap<std::monostate> *all_ids = nullptr;
    Range threads;  // threads 0 (idle) and -1 (none) stay as they are
    Range cpus;     // CPU -1 (any) stays -1
    Range rings;
    Range cgroups;               // id 0 (none) stays 0
    uint64_t time_shift_ns = 0;  // added modulo 2^64 to every time except 0 and -1 (no time)
};

// attr: of the record's event. Fields past the end of the body are ignored. Returns false if a
// number is outside of its range, or an id that only another input has: the record is damaged, and
// the new number may be one of another host.
[[nodiscard]] __attribute__((visibility("hidden"))) bool translate(uint32_t type,
                                                                   std::span<std::byte> body,
                                                                   const Attr &attr,
                                                                   std::endian order,
                                                                   const Translation &translation);

}  // namespace pmukit::perfdata
