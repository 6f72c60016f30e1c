// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Platform monitoring (PMT), another part of the PCIe function. A DVSEC with ID 2 locates a table
// of four-dword entries, each of which locates a region of samples. Linux' intel_vsec and
// pmt_telemetry use it. The model counts no accesses to it.
//
//          31:28  27:12          11:8  7:4   3:0
//   +0     -      dwords of data  -    type  access: 3 is local
//   +4     GUID: layout of the samples
//   +8     offset of the samples from the end of the entry
//   +12    -
#pragma once

#include <cstdint>

namespace pmukit::models::uncore_pmon {

inline constexpr uint16_t kEntryTelemetry = 2;
inline constexpr unsigned kTelemetryEntries = 1;
inline constexpr unsigned kTelemetryEntryDwords = 4;

// Offset of the table in its BAR, and end of the samples.
inline constexpr uint64_t kTelemetryAt = 0x40000;
inline constexpr uint64_t kTelemetrySampleAt = 0x1000;
inline constexpr uint64_t kTelemetrySampleBytes = 0x100;
inline constexpr uint64_t kTelemetryEnd = kTelemetryAt + kTelemetrySampleAt + kTelemetrySampleBytes;

// Reads bytes of the telemetry BAR; unused bytes are zero. Sample n, a qword, reads as n.
uint64_t read_telemetry(uint64_t offset, unsigned width);

}  // namespace pmukit::models::uncore_pmon
