// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Measures the rates at which hisi_ptt entries are counted, decoded and printed, and compares them
// with a plain sum of the same words (memory bandwidth). Prints lines `bench <name> <value>
// <unit>`. Each rate is the best of several rounds; both rates of a ratio are from the same run.
#include <cstdio>
#include <vector>

#include "bench/bench.hpp"
#include "bench/hisi_ptt_bench_work.hpp"
#include "decode/hisi_ptt/hisi_ptt_decode.hpp"
#include "decode/hisi_ptt/hisi_ptt_dump.hpp"
#include "decode/hisi_ptt/hisi_ptt_scan.hpp"

namespace {

using namespace pmukit;
namespace ptt = decode::hisi_ptt;

constexpr size_t kBytes = size_t{256} << 20;
constexpr uint16_t kRequesters = 24;

// Returns entries of memory writes, reads and completions by a few functions, at random addresses.
std::vector<std::byte> make_8dw()
{
    std::vector<std::byte> stream(kBytes);
    uint64_t random = 1;
    uint32_t time = 0;
    for (size_t at = 0; at < stream.size(); at += ptt::k8dwBytes) {
        random = random * 6364136223846793005U + 1442695040888963407U;
        const auto draw = static_cast<uint32_t>(random >> 33);
        const uint32_t requester = (0x100 + draw % kRequesters) << 16;
        time += draw % 64;
        constexpr uint32_t kHeaders[] = {0x60000010, 0x20000010, 0x4a000010, 0x60000040};
        const uint32_t header = kHeaders[draw >> 8 & 3];
        const bool completion = header >> 24 == 0x4a;
        const uint32_t words[] = {UINT32_MAX,
                                  0,
                                  header,
                                  completion ? 64 : requester | (draw & 0xff00) | 0xff,
                                  completion ? requester : 4,
                                  completion ? 0 : draw & ~63U,
                                  0,
                                  time};
        for (size_t i = 0; i < std::size(words); i++)
            store_le(stream.data() + at + 4 * i, words[i]);
    }
    return stream;
}

// Returns the same packets in the 4DW format.
std::vector<std::byte> make_4dw(Bytes wide)
{
    std::vector<std::byte> stream(wide.size() / 2);
    for (size_t i = 0; i < wide.size() / ptt::k8dwBytes; i++) {
        const std::byte *from = wide.data() + i * ptt::k8dwBytes;
        std::byte *to = stream.data() + i * ptt::k4dwBytes;
        const auto dw0 = load_le<uint32_t>(from + 8);
        const uint32_t time = load_le<uint32_t>(from + 28) & 0x7ff;
        store_le(to, (dw0 >> 24) << 25 | (dw0 & 0x3ff) << 11 | time);
        std::copy_n(from + 12, 12, to + 4);
    }
    return stream;
}

uint64_t scan(Bytes bytes, ptt::Format format)
{
    ptt::Scan scan;
    ptt::Framer framer(scan, format);
    framer.start(0);
    framer.data(bytes);
    framer.end();
    return scan.packets() + scan.skipped_bytes() + scan.count(0x100, ptt::TlpType::kMWr);
}

class Printing final : public ptt::RunSink {
public:
    void run(ptt::Format format, uint64_t offset, Bytes packets) override
    {
        const size_t most = ptt::DumpText::kMaxPackets * packet_bytes(format);
        for (; !packets.empty(); packets = packets.subspan(std::min(most, packets.size())))
            sum += static_cast<unsigned char>(
                dump.lines(format, static_cast<uint32_t>(offset),
                           packets.first(std::min(most, packets.size())))[20]);
    }
    void skipped(uint64_t, uint64_t bytes) override { sum += bytes; }
    void lost(uint64_t, uint64_t bytes) override { sum += bytes; }
    ptt::DumpText dump;
    uint64_t sum = 0;
};

uint64_t print_all(Bytes bytes, ptt::Format format)
{
    Printing sink;
    ptt::Framer framer(sink, format);
    framer.start(0);
    framer.data(bytes);
    framer.end();
    return sink.sum;
}

void measure(ptt::Format format, Bytes bytes)
{
    const char *const name = format == ptt::Format::k8dw ? "" : "_4dw";
    const double memory = bench::best_rate(bytes.size(), [&] { return bench::memory_sum(bytes); });
    const double scanned = bench::best_rate(bytes.size(), [&] { return scan(bytes, format); });
    const double decoded =
        bench::best_rate(bytes.size(), [&] { return ptt::sum_of_packets(bytes, format); });
    const double printed = bench::best_rate(bytes.size(), [&] { return print_all(bytes, format); });
    std::printf("bench memsum.%s %.2f GB/s\n", format == ptt::Format::k8dw ? "8dw" : "4dw", memory);
    std::printf("bench decode.hisi_ptt.scan%s %.2f GB/s\n", name, scanned);
    std::printf("bench decode.hisi_ptt.scan%s_vs_memsum %.2f ratio\n", name, scanned / memory);
    std::printf("bench decode.hisi_ptt.packets%s %.2f GB/s\n", name, decoded);
    std::printf("bench decode.hisi_ptt.text%s %.2f GB/s\n", name, printed);
}

// Measures how fast the decoder skips data that has no entry.
void measure_resync()
{
    const std::vector<std::byte> damage(kBytes, std::byte{0x7e});
    const double rate = bench::best_rate(kBytes, [&] { return scan(damage, ptt::Format::k8dw); });
    std::printf("bench decode.hisi_ptt.resync %.2f GB/s\n", rate);
}

}  // namespace

int main()
{
    const std::vector<std::byte> wide = make_8dw();
    measure(ptt::Format::k8dw, wide);
    measure(ptt::Format::k4dw, make_4dw(wide));
    measure_resync();
    return 0;
}
