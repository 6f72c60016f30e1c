// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The BPF program that copies the records of one trace event into a ring. Pure: no system calls.
#pragma once

#include <linux/bpf.h>

#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "record/trace_format.hpp"

namespace pmukit::record {

// An entry of the ring: 32 bits for the event index, 32 bits for the size in bytes, then the record
// without its first eight bytes. These belong to the kernel; a BPF program may not read them.
constexpr size_t kTapHeaderBytes = 8;
constexpr size_t kRecordHeadBytes = 8;
// Each ring entry reserves this maximum. The longest record of the suite's drivers has 3208 bytes
// (hisi_ptt).
constexpr uint32_t kTapMostBytes = 4096;

struct TapMaps {
    int ring;  // BPF_MAP_TYPE_RINGBUF
    int lost;  // BPF_MAP_TYPE_ARRAY of one 64-bit number
};

// Error: the record is too short or too long, or has more than one located field.
Result<std::vector<bpf_insn>> tap_program(const TraceFormat &format, uint32_t event, TapMaps maps);

}  // namespace pmukit::record
