// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Measures the decode rate of trace_imc records, and compares it with a plain sum of the same words
// (memory bandwidth). Prints lines `bench <name> <value> <unit>`. Each rate is the best of several
// rounds; both rates of a ratio are from the same run.
#include <cstdio>
#include <vector>

#include "bench/bench.hpp"
#include "decode/imc/imc_decode.hpp"

namespace {

using namespace pmukit;
namespace imc = decode::imc;

constexpr size_t kBytes = size_t{256} << 20;

std::vector<std::byte> make_stream()
{
    std::vector<std::byte> stream(kBytes);
    uint64_t random = 1, time = uint64_t{1} << 50;
    for (size_t at = 0; at < stream.size(); at += imc::kRecordBytes) {
        random = random * 6364136223846793005U + 1442695040888963407U;
        time += 1 + (random >> 60);
        const uint64_t words[] = {time,
                                  0x10000000 + (random >> 44 & ~uint64_t{3}),
                                  random >> 63 << 63,
                                  time / 3,
                                  time / 4,
                                  time / 5,
                                  time / 6,
                                  time & 0x3ffffffffff};
        for (size_t i = 0; i < std::size(words); i++)
            store(stream.data() + at + 8 * i, words[i], std::endian::big);
    }
    return stream;
}

// A sink that does the least work of a profiler: it uses the instruction pointer and the mode of
// each record.
class Summing final : public imc::Sink {
public:
    void records(uint64_t, imc::Records records) override
    {
        uint64_t ips = 0, modes = 0;
        for (size_t i = 0; i < records.size(); i++) {
            const imc::Record record = records[i];
            ips += record.ip;
            modes += static_cast<uint64_t>(mode_of(record, imc::ModeRule::kHvPr));
        }
        sum += ips ^ modes;
    }
    void skipped(uint64_t, uint64_t bytes) override { sum += bytes; }
    uint64_t sum = 0;
};

}  // namespace

int main()
{
    const std::vector<std::byte> stream = make_stream();
    const Bytes bytes(stream);

    const double memory = bench::best_rate(bytes.size(), [&] { return bench::memory_sum(bytes); });
    const double decoded = bench::best_rate(bytes.size(), [&] {
        Summing sink;
        imc::StreamDecoder decoder(sink);
        decoder.start(0);
        decoder.data(bytes);
        decoder.end();
        return sink.sum;
    });

    std::printf("bench memsum %.2f GB/s\n", memory);
    std::printf("bench decode.imc %.2f GB/s\n", decoded);
    std::printf("bench decode.imc_vs_memsum %.2f ratio\n", decoded / memory);
    return 0;
}
