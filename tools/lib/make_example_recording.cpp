// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// make_example_recording FILE: one AUX buffer of cxl_hmu in which pages 3, 1 and 2 are hot, in this
// order.
#include <pmukit/cxl_hmu.h>

#include <cstdio>

#include "perfdata/format.hpp"
#include "perfdata/writer.hpp"

using namespace pmukit;

namespace {

constexpr uint64_t kId = 7, kCounterWidth = 16, kPageLog2 = 12;

std::vector<std::byte> hot_list()
{
    const uint64_t entries[] = {3 << kCounterWidth | 900, 1 << kCounterWidth | 500,
                                2 << kCounterWidth | 100};
    const uint64_t head[] = {PMUKIT_CXL_HMU_W0(std::size(entries), kCounterWidth),
                             PMUKIT_CXL_HMU_MARK,
                             /* time */ 1000,
                             kPageLog2,
                             /* flags */ 0,
                             /* sequence */ 0,
                             /* lost */ 0};
    std::vector<std::byte> bytes;
    for (std::span<const uint64_t> words : {std::span<const uint64_t>(head), {entries}})
        for (uint64_t word : words) {
            bytes.resize(bytes.size() + 8);
            store_le(bytes.data() + bytes.size() - 8, word);
        }
    return bytes;
}

}  // namespace

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    perfdata::WriterEvent event{std::vector<std::byte>(128), {kId}, "cxl_hmu_mem0.0.0//"};
    store<uint32_t>(event.attr.data() + perfdata::kAttrType, 24, std::endian::native);
    store<uint32_t>(event.attr.data() + perfdata::kAttrSize, 128, std::endian::native);
    perfdata::HostInfo host;
    host.pmus = {{24, "cxl_hmu_mem0.0.0"}};
    auto writer = perfdata::Writer::create(argv[1], {event}, host);
    perfdata::AuxtraceRecord trace;
    trace.reference = kId;
    bool good = writer && writer->auxtrace(trace, hot_list(), {}) && writer->finish();
    return good ? 0 : 1;
}
