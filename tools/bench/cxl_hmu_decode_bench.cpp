// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Measures the decode rate of cxl_hmu records, and compares it with a plain sum of the same words
// (memory bandwidth). Prints lines `bench <name> <value> <unit>`. Each rate is the best of several
// rounds; both rates of a ratio are from the same run.
#include <pmukit/cxl_hmu.h>

#include <cstdio>
#include <vector>

#include "bench/bench.hpp"
#include "decode/cxl_hmu/cxl_hmu_decode.hpp"
#include "decode/cxl_hmu/cxl_hmu_hot.hpp"

namespace {

using namespace pmukit;
namespace hmu = decode::cxl_hmu;

constexpr size_t kBytes = size_t{256} << 20;
constexpr size_t kEntriesPerRecord = 57;  // hotlist entries in a full record
constexpr size_t kHeaderWords = 2 + PMUKIT_CXL_HMU_EXTRA_WORDS;
constexpr size_t kUnits = 4096;
constexpr unsigned kCounterWidth = 16;

std::vector<std::byte> make_stream()
{
    std::vector<std::byte> stream(kBytes / 8 * 8);
    size_t word = 0;
    const size_t words = stream.size() / 8;
    auto put = [&](uint64_t value) { store_le(stream.data() + 8 * word++, value); };
    uint64_t random = 1, sequence = 0;
    while (words - word >= kHeaderWords + kEntriesPerRecord) {
        put(PMUKIT_CXL_HMU_W0(kEntriesPerRecord, kCounterWidth));
        put(PMUKIT_CXL_HMU_MARK);
        put(sequence * 1000);
        put(12);
        put(0);
        put(sequence++);
        put(0);
        for (size_t i = 0; i < kEntriesPerRecord; i++) {
            random = random * 6364136223846793005U + 1442695040888963407U;
            put((random >> 33) % kUnits << kCounterWidth | (random >> 20 & 0xff));
        }
    }
    stream.resize(word * 8);
    return stream;
}

// A sink that does the least work of a reader: it splits each entry into unit and count.
class Summing final : public hmu::Sink {
public:
    void record(const hmu::Record &record) override
    {
        uint64_t units = 0, counts = 0;
        for (size_t i = 0; i < record.entries.size(); i++) {
            const uint64_t entry = record.entries[i];
            units += record.unit_of(entry);
            counts += record.count_of(entry);
        }
        sum += units ^ counts;
    }
    void skipped(uint64_t, uint64_t bytes) override { sum += bytes; }
    uint64_t sum = 0;
};

template <typename SinkType>
uint64_t decode_into(SinkType &sink, Bytes stream)
{
    hmu::StreamDecoder decoder(sink);
    decoder.start(0);
    decoder.data(stream);
    decoder.end();
    return stream.size();
}

}  // namespace

int main()
{
    const std::vector<std::byte> stream = make_stream();
    const Bytes bytes(stream);

    const double memory = bench::best_rate(bytes.size(), [&] { return bench::memory_sum(bytes); });
    const double decoded = bench::best_rate(bytes.size(), [&] {
        Summing sink;
        decode_into(sink, bytes);
        return sink.sum;
    });
    const double aggregated = bench::best_rate(bytes.size(), [&] {
        hmu::HotList hot;
        decode_into(hot, bytes);
        return hot.totals().accesses;
    });

    std::printf("bench memsum %.2f GB/s\n", memory);
    std::printf("bench decode.cxl_hmu %.2f GB/s\n", decoded);
    std::printf("bench decode.cxl_hmu_vs_memsum %.2f ratio\n", decoded / memory);
    std::printf("bench decode.cxl_hmu_hot_list %.2f GB/s\n", aggregated);
    return 0;
}
