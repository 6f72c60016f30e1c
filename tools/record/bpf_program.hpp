// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Builds the BPF program that copies the records of one trace event into a ring. Makes no system
// calls.
#pragma once

#include <linux/bpf.h>

#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "record/trace_format.hpp"

namespace pmukit::record {

// An entry of the ring has 32 bits for the index of the event, 32 bits for the size in bytes, and
// then the record without its first eight bytes. These eight bytes are internal to the kernel, and
// a BPF program may not read them.
constexpr size_t kTapHeaderBytes = 8;
constexpr size_t kRecordHeadBytes = 8;
// The program reserves this size for each ring entry. The longest record of pmukit's drivers has
// 3208 bytes (hisi_ptt).
constexpr uint32_t kTapMostBytes = 4096;

struct TapMaps {
    int ring;  // BPF_MAP_TYPE_RINGBUF
    int lost;  // BPF_MAP_TYPE_ARRAY of one 64-bit number
};

// Returns an Error if the record is too short or too long, or has more than one located field.
Result<std::vector<bpf_insn>> tap_program(const TraceFormat &format, uint32_t event, TapMaps maps);

}  // namespace pmukit::record
