// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The BPF program that copies the record of one trace event into a ring. Pure: instructions from
// numbers.
#pragma once

#include <linux/bpf.h>

#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "record/trace_format.hpp"

namespace pmukit::record {

// What stands in the ring: 32 bits of which event, 32 bits of how many bytes, then the record from
// its eighth byte on. The first eight are the kernel's; a program may not read them.
constexpr size_t kTapHeaderBytes = 8;
constexpr size_t kRecordHeadBytes = 8;
// The longest record of the suite is hisi_ptt's, 3208 bytes; an entry of the ring is reserved
// whole.
constexpr uint32_t kTapMostBytes = 4096;

struct TapMaps {
    int ring;  // BPF_MAP_TYPE_RINGBUF
    int lost;  // BPF_MAP_TYPE_ARRAY of one 64-bit number
};

// located: the field that says where the record's words are; empty: it has none.
Result<std::vector<bpf_insn>> tap_program(const TraceFormat &format, uint32_t event, TapMaps maps);

}  // namespace pmukit::record
