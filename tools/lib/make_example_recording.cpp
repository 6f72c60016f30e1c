// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// make_example_recording FILE: writes a recording with AUX data of two cxl_hmu devices. On the
// first device, pages 3, 1 and 2 are hot, in this order; on the second, pages 3 and 9. On both, a
// record is split across two AUX buffers.
#include <pmukit/cxl_hmu.h>

#include <cstdio>

#include "perfdata/format.hpp"
#include "perfdata/writer.hpp"

using namespace pmukit;

namespace {

constexpr uint64_t kCounterWidth = 16, kPageLog2 = 12;

struct Entry {
    uint64_t page, accesses;
};

std::vector<std::byte> hot_list(uint64_t sequence, std::initializer_list<Entry> entries)
{
    std::vector<uint64_t> words = {PMUKIT_CXL_HMU_W0(entries.size(), kCounterWidth),
                                   PMUKIT_CXL_HMU_MARK,
                                   /* time */ 1000 + sequence,
                                   kPageLog2,
                                   /* flags */ 0,
                                   sequence,
                                   /* lost */ 0};
    for (const Entry &entry : entries)
        words.push_back(entry.page << kCounterWidth | entry.accesses);
    std::vector<std::byte> bytes(words.size() * 8);
    for (size_t i = 0; i < words.size(); i++)
        store_le(bytes.data() + i * 8, words[i]);
    return bytes;
}

perfdata::WriterEvent event_of(uint32_t type, uint64_t id, std::string name)
{
    perfdata::WriterEvent event{std::vector<std::byte>(128), {id}, std::move(name)};
    store<uint32_t>(event.attr.data() + perfdata::kAttrType, type, std::endian::native);
    store<uint32_t>(event.attr.data() + perfdata::kAttrSize, 128, std::endian::native);
    return event;
}

// Writes the data of each device in two AUX buffers. The buffers of the two devices alternate, as
// in a recording of several rings.
bool write_cut(perfdata::Writer &writer, Bytes first, Bytes second)
{
    // The first buffer of a device ends at this offset, which is inside its first record.
    constexpr size_t kCut = 40;
    const auto put = [&writer](uint64_t id, size_t offset, Bytes data) {
        perfdata::AuxtraceRecord trace;
        trace.offset = offset;
        trace.reference = id;
        trace.index = static_cast<uint32_t>(id);
        return static_cast<bool>(writer.auxtrace(trace, data, {}));
    };
    return put(7, 0, first.first(kCut)) && put(8, 0, second.first(kCut)) &&
           put(7, kCut, first.subspan(kCut)) && put(8, kCut, second.subspan(kCut));
}

}  // namespace

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    perfdata::HostInfo host;
    host.pmus = {{24, "cxl_hmu_mem0.0.0"}, {25, "cxl_hmu_mem1.0.0"}};
    auto writer = perfdata::Writer::create(
        argv[1], {event_of(24, 7, "cxl_hmu_mem0.0.0//"), event_of(25, 8, "cxl_hmu_mem1.0.0//")},
        host);
    std::vector<std::byte> first = hot_list(0, {{3, 400}, {1, 500}, {2, 100}});
    append(first, hot_list(1, {{3, 500}}));
    const std::vector<std::byte> second = hot_list(0, {{3, 7}, {9, 5}});
    const bool good = writer && write_cut(*writer, first, second) && writer->finish();
    return good ? 0 : 1;
}
