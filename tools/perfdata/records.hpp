// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Bodies of the records that say what the AUX area held and what got lost. Layout:
// perf_event_open(2); AUXTRACE: perf.data-file-format.txt.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>

#include "base/bytes.hpp"

namespace pmukit::perfdata {

struct Record {
    uint32_t type = 0;
    uint16_t misc = 0;
    uint64_t offset = 0;  // of the record in the file, bytes
    Bytes body;           // behind the record header; borrowed from the file
    Bytes payload;        // what follows an AUXTRACE record, borrowed; else empty
};

// PERF_RECORD_AUX: the kernel says what it put into an AUX area.
struct AuxRecord {
    uint64_t offset = 0, size = 0;  // bytes since the event began
    uint64_t flags = 0;             // PERF_AUX_FLAG_*
};

// AUXTRACE: the recorder says what it took out of one.
struct AuxtraceRecord {
    uint64_t size = 0, offset = 0;
    uint64_t reference = 0;                // pmukit's writer: the event id; others: any number
    uint32_t index = 0, tid = 0, cpu = 0;  // UINT32_MAX: any
};
constexpr size_t kAuxtraceBodyBytes = 40;

struct LostRecord {
    uint64_t id = 0, lost = 0;
};

inline std::optional<AuxRecord> parse_aux(Bytes body, std::endian order)
{
    ByteReader in(body, order);
    std::optional<uint64_t> offset = in.u64(), size = in.u64(), flags = in.u64();
    if (!flags)
        return std::nullopt;
    return AuxRecord{*offset, *size, *flags};
}

inline std::optional<AuxtraceRecord> parse_auxtrace(Bytes body, std::endian order)
{
    if (body.size() < kAuxtraceBodyBytes)
        return std::nullopt;
    ByteReader in(body, order);
    AuxtraceRecord record;
    record.size = *in.u64();
    record.offset = *in.u64();
    record.reference = *in.u64();
    record.index = *in.u32();
    record.tid = *in.u32();
    record.cpu = *in.u32();
    return record;
}

inline std::optional<LostRecord> parse_lost(Bytes body, std::endian order)
{
    ByteReader in(body, order);
    std::optional<uint64_t> id = in.u64(), lost = in.u64();
    if (!lost)
        return std::nullopt;
    return LostRecord{*id, *lost};
}

inline std::optional<uint64_t> parse_lost_samples(Bytes body, std::endian order)
{
    return ByteReader(body, order).u64();
}

}  // namespace pmukit::perfdata
