// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The fields of PERF_RECORD_SAMPLE up to the raw payload, and the identity that ends every other
// kernel record when sample_id_all is set. Layout: perf_event_open(2).
#pragma once

#include <bit>
#include <cstdint>
#include <optional>

#include "base/bytes.hpp"
#include "perfdata/attr.hpp"

namespace pmukit::perfdata {

struct SampleId {
    std::optional<uint64_t> id;
    std::optional<uint64_t> time_ns;
    std::optional<uint32_t> pid, tid;
    std::optional<uint32_t> cpu;
};

struct Sample {
    SampleId who;
    std::optional<uint64_t> ip;
    std::optional<uint64_t> period;
    std::optional<Bytes> raw;  // empty without PERF_SAMPLE_RAW
};

// nullopt: the body is too short for what its attribute promises.
std::optional<Sample> parse_sample(Bytes body, const Attr &attr, std::endian order);
std::optional<SampleId> parse_sample_id(Bytes body, const Attr &attr, std::endian order);

// Where a sample (from its start) or another record (from its end) keeps the event id, in bytes.
// nullopt: it keeps none.
std::optional<size_t> sample_id_position(uint64_t sample_type);
std::optional<size_t> trailer_id_position(uint64_t sample_type);

}  // namespace pmukit::perfdata
