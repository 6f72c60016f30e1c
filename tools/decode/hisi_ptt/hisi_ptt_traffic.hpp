// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Statistics of a PCIe link from a trace: TLPs and bytes by type, by requester, by address and by
// time; sizes and alignments; latencies of requests. Memory use grows with the number of requesters
// and address ranges, up to limits in bytes, but not with the length of the trace.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "base/hash.hpp"
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

    void add(uint64_t time, uint64_t bytes);

    bool empty() const { return !started_; }
    uint64_t first() const { return first_; }
    uint64_t last() const { return last_; }
    uint64_t column_ticks() const { return uint64_t{1} << width_log2_; }
    size_t columns() const { return started_ ? ((last_ - first_) >> width_log2_) + 1 : 0; }
    uint64_t tlps(size_t column) const { return columns_[column].tlps; }
    uint64_t bytes(size_t column) const { return columns_[column].bytes; }

private:
    struct Column {
        uint64_t tlps = 0, bytes = 0;
    };
    void double_width();

    bool started_ = false;
    unsigned width_log2_ = 0;
    uint64_t first_ = 0, last_ = 0;
    std::array<Column, kColumns> columns_{};
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

    explicit Traffic(unsigned range_log2 = kRangeLog2, const TrafficRoom &room = {})
        : range_log2_(range_log2), room_(room), matcher_(room.requesters)
    {
    }

    // Called for each memory request. offset: offset of its entry in the stream. count: its bytes.
    using Watch = std::function<void(uint64_t offset, const Tlp &tlp, const TlpCount &count)>;
    void watch(Watch watch) { watch_ = std::move(watch); }

    void packet(const Packet &packet) override;
    void skipped(uint64_t offset, uint64_t bytes) override;
    void lost(uint64_t offset, uint64_t bytes) override;

    uint64_t packets() const { return packets_; }
    uint64_t packets_of(Format format) const { return by_format_[static_cast<size_t>(format)]; }
    const TlpCount &of(TlpType type) const { return by_type_[static_cast<size_t>(type)]; }
    const TlpCount &of(TlpClass queue) const { return by_class_[static_cast<size_t>(queue)]; }
    // Returns the requesters, that with the most TLPs first.
    std::vector<const RequesterTraffic *> requesters() const;
    std::vector<RangeTraffic> ranges() const;
    // Sums of the requesters, and of the address ranges, for which the memory budget was too small.
    const RequesterTraffic &other_requesters() const { return other_requesters_; }
    const TlpCount &elsewhere() const { return elsewhere_; }
    uint64_t range_bytes() const { return uint64_t{1} << range_log2_; }
    // Histograms of payload sizes and of requested sizes, without TLPs that have none.
    const Histogram &payload() const { return payload_; }
    const Histogram &requested() const { return requested_; }
    // Number of memory requests whose first byte is aligned to 2^log2 bytes and no more.
    uint64_t aligned(unsigned log2) const { return aligned_[log2]; }
    const TimeStrip &time() const { return time_; }
    const Histogram &latency() const { return latency_; }
    const LatencyMatcher &matcher() const { return matcher_; }

    uint64_t with_pasid() const { return with_pasid_; }
    uint64_t poisoned() const { return poisoned_; }
    uint64_t skipped_bytes() const { return skipped_bytes_; }
    uint64_t losses() const { return losses_; }
    uint64_t lost_bytes() const { return lost_bytes_; }

private:
    RequesterTraffic &requester(uint16_t id);
    void note_requester(const Tlp &tlp, const TlpCount &count);
    void note_memory(const Tlp &tlp, const TlpCount &count);
    void note_latency(const Tlp &tlp, uint64_t time);

    unsigned range_log2_;
    TrafficRoom room_;
    uint64_t packets_ = 0, with_pasid_ = 0, poisoned_ = 0;
    uint64_t skipped_bytes_ = 0, losses_ = 0, lost_bytes_ = 0;
    std::array<uint64_t, 2> by_format_{};
    std::array<TlpCount, kTlpTypes> by_type_{};
    std::array<TlpCount, static_cast<size_t>(TlpClass::kCount)> by_class_{};
    std::map<uint16_t, RequesterTraffic> requesters_;
    RequesterTraffic other_requesters_;
    // Points into requesters_.
    RequesterTraffic *last_requester_ = nullptr;
    // Key: the address divided by the size of a range.
    AddressMap<RangeTraffic> ranges_;
    TlpCount elsewhere_;
    Histogram payload_, requested_, latency_;
    std::array<uint64_t, kMaxAlignmentLog2 + 1> aligned_{};
    TimeStrip time_;
    LatencyMatcher matcher_;
    Watch watch_;
};

}  // namespace pmukit::decode::hisi_ptt
