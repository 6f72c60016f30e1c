// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// What else the function is for: platform monitoring (PMT). A DVSEC of id 2 leads to a table of
// entries of four dwords, each of which leads to a region of samples. Linux's intel_vsec and
// pmt_telemetry live on it; none of it counts anything here.
//
//          31:28  27:12          11:8  7:4   3:0
//   +0     -      dwords of data  -    type  access: 3 is local
//   +4     GUID: which layout the samples have
//   +8     where they begin: bytes behind the entry
//   +12    -
#pragma once

#include <cstdint>

namespace pmukit::models::uncore_pmon {

inline constexpr uint16_t kEntryTelemetry = 2;
inline constexpr unsigned kTelemetryEntries = 1;
inline constexpr unsigned kTelemetryEntryDwords = 4;

// Where the table lies in its BAR, and how far the samples reach.
inline constexpr uint64_t kTelemetryAt = 0x40000;
inline constexpr uint64_t kTelemetrySampleAt = 0x1000;
inline constexpr uint64_t kTelemetrySampleBytes = 0x100;
inline constexpr uint64_t kTelemetryEnd = kTelemetryAt + kTelemetrySampleAt + kTelemetrySampleBytes;

// Bytes of that BAR; where there is nothing they are zero. Sample n, a qword, reads as n.
uint64_t read_telemetry(uint64_t offset, unsigned width);

}  // namespace pmukit::models::uncore_pmon
