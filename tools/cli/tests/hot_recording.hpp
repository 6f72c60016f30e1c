// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Recordings of cxl_hmu for tests: hot pages of 4 KiB in the first device.
#pragma once

#include <linux/perf_event.h>
#include <pmukit/cxl_hmu.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "perfdata/format.hpp"
#include "perfdata/writer.hpp"

namespace pmukit::cli {

struct Hot {
    uint64_t page, accesses;  // page: number of a 4 KiB page of the device
};

// A hot list.
struct HotRecord {
    uint64_t time_ns = 0;
    std::vector<Hot> hot;
};

inline std::vector<std::byte> bytes_of(const HotRecord &record, uint64_t sequence)
{
    constexpr unsigned kWidth = 16;
    std::vector<uint64_t> words = {
        record.hot.size() | uint64_t{kWidth} << PMUKIT_CXL_HMU_W0_COUNTER_WIDTH_SHIFT |
            uint64_t{PMUKIT_CXL_HMU_EXTRA_WORDS} << PMUKIT_CXL_HMU_W0_EXTRA_WORDS_SHIFT,
        PMUKIT_CXL_HMU_MARK,
        record.time_ns,
        12,
        0,
        sequence,
        0};
    for (const Hot &unit : record.hot)
        words.push_back(unit.page << kWidth | unit.accesses);
    std::vector<std::byte> bytes(words.size() * 8);
    for (size_t i = 0; i < words.size(); i++)
        store_le(bytes.data() + 8 * i, words[i]);
    return bytes;
}

inline bool write_hot_recording(const std::string &path, const std::vector<HotRecord> &records)
{
    constexpr uint64_t kId = 7;
    perfdata::WriterEvent event{std::vector<std::byte>(128), {kId}, "cxl_hmu_mem0.0.0//"};
    store<uint32_t>(event.attr.data() + perfdata::kAttrType, 24, std::endian::native);
    store<uint32_t>(event.attr.data() + perfdata::kAttrSize, 128, std::endian::native);
    store<uint64_t>(event.attr.data() + perfdata::kAttrSampleType,
                    PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
                    std::endian::native);
    store<uint64_t>(event.attr.data() + perfdata::kAttrFlags,
                    uint64_t{1} << perfdata::kAttrFlagSampleIdAll, std::endian::native);
    perfdata::HostInfo host;
    host.pmus = {{24, "cxl_hmu_mem0.0.0"}};
    Result<perfdata::Writer> writer = perfdata::Writer::create(path, {event}, host);
    std::vector<std::byte> bytes;
    for (size_t i = 0; i < records.size(); i++) {
        const std::vector<std::byte> more = bytes_of(records[i], i);
        bytes.insert(bytes.end(), more.begin(), more.end());
    }
    perfdata::AuxtraceRecord trace;
    trace.reference = kId;
    return writer && writer->auxtrace(trace, bytes, {}) && writer->finish();
}

}  // namespace pmukit::cli
