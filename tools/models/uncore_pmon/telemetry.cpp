// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "models/uncore_pmon/telemetry.hpp"

namespace pmukit::models::uncore_pmon {

namespace {

constexpr uint32_t kAccessLocal = 3;
constexpr unsigned kSizeShift = 12;
constexpr uint32_t kGuid = 0x706d756b;  // not a layout of Intel
constexpr uint64_t kEntryBytes = kTelemetryEntryDwords * sizeof(uint32_t);

constexpr uint32_t kEntry[kTelemetryEntryDwords] = {
    kAccessLocal | static_cast<uint32_t>(kTelemetrySampleBytes / sizeof(uint32_t)) << kSizeShift,
    kGuid, static_cast<uint32_t>(kTelemetrySampleAt - kEntryBytes), 0};

uint8_t byte_at(uint64_t offset)
{
    if (offset < kTelemetryAt || offset >= kTelemetryEnd)
        return 0;
    const uint64_t at = offset - kTelemetryAt;
    if (at < kEntryBytes)
        return static_cast<uint8_t>(kEntry[at / 4] >> (8 * (at % 4)));
    if (at < kTelemetrySampleAt)
        return 0;
    const uint64_t sample = (at - kTelemetrySampleAt) / sizeof(uint64_t);
    return static_cast<uint8_t>(sample >> (8 * (at % sizeof(uint64_t))));
}

}  // namespace

uint64_t read_telemetry(uint64_t offset, unsigned width)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < width; i++)
        value |= uint64_t{byte_at(offset + i)} << (8 * i);
    return value;
}

}  // namespace pmukit::models::uncore_pmon
