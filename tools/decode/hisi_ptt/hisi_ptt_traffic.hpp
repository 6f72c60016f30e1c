// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Statistics of a PCIe link from a trace: TLPs and bytes by type, by requester, by address and by
// time; sizes and alignments; latencies of requests. Memory use grows with the number of requesters
// and address ranges, up to limits in bytes, but not with the length of the trace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/budget.hpp"
#include "base/limits.hpp"
#include "decode/hisi_ptt/hisi_ptt_decode.hpp"
#include "decode/hisi_ptt/hisi_ptt_latency.hpp"

namespace pmukit::decode::hisi_ptt {

struct TlpCount {
    uint64_t tlps = 0;
    // Bytes of payload.
    uint64_t bytes = 0;
    // Bytes that read requests ask for.
    uint64_t requested = 0;
};

struct LatencySummary {
    uint64_t requests = 0, total = 0, max = 0;  // total and max in ticks
    double mean() const
    {
        return requests ? static_cast<double>(total) / static_cast<double>(requests) : 0;
    }
};

struct RequesterTraffic {
    uint16_t id = 0;
    // Completions count for the requester whose requests they complete.
    TlpCount posted, non_posted, completions;
    // Latency of the requests of this requester.
    LatencySummary latency;
    uint64_t tlps() const { return posted.tlps + non_posted.tlps + completions.tlps; }
    uint64_t bytes() const { return posted.bytes + non_posted.bytes + completions.bytes; }
};

struct RangeTraffic {
    uint64_t address = 0;
    // Writes include atomics.
    TlpCount reads, writes;
    uint64_t tlps() const { return reads.tlps + writes.tlps; }
};

// TLPs and bytes over time, in a fixed number of columns. The width of a column doubles when the
// time exceeds the last column.
class TimeStrip {
public:
    static constexpr size_t kColumns = 64;

    TimeStrip();
    TimeStrip(TimeStrip &&) noexcept;
    TimeStrip &operator=(TimeStrip &&) noexcept;
    ~TimeStrip();

    void add(uint64_t time, uint64_t bytes);

    bool empty() const;
    uint64_t first() const;
    uint64_t last() const;
    uint64_t column_ticks() const;
    size_t columns() const;
    uint64_t tlps(size_t column) const;
    uint64_t bytes(size_t column) const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

// Memory budgets, which several Traffic objects can share.
struct TrafficRoom {
    std::shared_ptr<Budget> ranges = std::make_shared<Budget>(limits::kRanges);
    std::shared_ptr<Budget> requesters = std::make_shared<Budget>(limits::kRequesters);
};

class Traffic final : public Sink {
public:
    static constexpr unsigned kRangeLog2 = 21;  // 2 MiB
    // The last class of alignment: 4 KiB and more.
    static constexpr unsigned kMaxAlignmentLog2 = 12;

    explicit Traffic(unsigned range_log2 = kRangeLog2, const TrafficRoom &room = {});
    Traffic(Traffic &&) noexcept;
    Traffic &operator=(Traffic &&) noexcept;
    ~Traffic() override;

    // Called for each memory request. offset: offset of its entry in the stream. count: its bytes.
    using Watch = std::function<void(uint64_t offset, const Tlp &tlp, const TlpCount &count)>;
    void watch(Watch watch);

    void packet(const Packet &packet) override;
    void skipped(uint64_t offset, uint64_t bytes) override;
    void lost(uint64_t offset, uint64_t bytes) override;

    uint64_t packets() const;
    uint64_t packets_of(Format format) const;
    const TlpCount &of(TlpType type) const;
    const TlpCount &of(TlpClass queue) const;
    // Returns the requesters, that with the most TLPs first.
    std::vector<const RequesterTraffic *> requesters() const;
    std::vector<RangeTraffic> ranges() const;
    // Sums of the requesters, and of the address ranges, for which the memory budget was too small.
    const RequesterTraffic &other_requesters() const;
    const TlpCount &elsewhere() const;
    uint64_t range_bytes() const;
    // Histograms of payload sizes and of requested sizes, without TLPs that have none.
    const Histogram &payload() const;
    const Histogram &requested() const;
    // Number of memory requests whose first byte is aligned to 2^log2 bytes and no more.
    uint64_t aligned(unsigned log2) const;
    const TimeStrip &time() const;
    // Latencies of requests; how many requests and completions were matched; how many requests are
    // still pending.
    const Histogram &latency() const;
    const LatencyTotals &latency_totals() const;
    uint64_t outstanding() const;

    uint64_t with_pasid() const;
    uint64_t poisoned() const;
    uint64_t skipped_bytes() const;
    uint64_t losses() const;
    uint64_t lost_bytes() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace pmukit::decode::hisi_ptt
