// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "decode/hisi_ptt/hisi_ptt_traffic.hpp"

#include <algorithm>
#include <bit>

namespace pmukit::decode::hisi_ptt {
namespace {

void add(TlpCount &to, const TlpCount &count)
{
    to.tlps += count.tlps;
    to.bytes += count.bytes;
    to.requested += count.requested;
}

// Returns the address of the first enabled byte.
uint64_t first_byte(const Tlp &tlp)
{
    const bool enables = tlp.first_be != 0 && has_byte_enables(tlp);
    return tlp.address + (enables ? static_cast<uint64_t>(std::countr_zero(tlp.first_be)) : 0);
}

}  // namespace

// Time

void TimeStrip::double_width()
{
    for (size_t i = 0; i < kColumns / 2; i++)
        columns_[i] = {columns_[2 * i].tlps + columns_[2 * i + 1].tlps,
                       columns_[2 * i].bytes + columns_[2 * i + 1].bytes};
    std::fill(columns_.begin() + kColumns / 2, columns_.end(), Column{});
    width_log2_++;
}

// Timestamps of the two directions may be slightly out of order. A time before the first timestamp
// is counted as the first.
void TimeStrip::add(uint64_t time, uint64_t bytes)
{
    if (!started_)
        first_ = last_ = time;
    started_ = true;
    const uint64_t since = time > first_ ? time - first_ : 0;
    while (since >> width_log2_ >= kColumns)
        double_width();
    last_ = std::max(last_, time);
    Column &column = columns_[since >> width_log2_];
    column.tlps++;
    column.bytes += bytes;
}

// Traffic

// References into a map remain valid while it grows.
RequesterTraffic &Traffic::requester(uint16_t id)
{
    if (last_requester_ && last_requester_->id == id)
        return *last_requester_;
    auto at = requesters_.find(id);
    if (at == requesters_.end() && !room_.requesters->take(sizeof(RequesterTraffic) + kNodeBytes))
        return other_requesters_;
    if (at == requesters_.end())
        at = requesters_.try_emplace(id).first;
    last_requester_ = &at->second;
    last_requester_->id = id;
    return *last_requester_;
}

void Traffic::note_requester(const Tlp &tlp, const TlpCount &count)
{
    RequesterTraffic &traffic = requester(tlp.requester);
    if (tlp.kind.queue == TlpClass::kPosted)
        add(traffic.posted, count);
    else if (tlp.kind.queue == TlpClass::kNonPosted)
        add(traffic.non_posted, count);
    else
        add(traffic.completions, count);
}

void Traffic::note_memory(const Tlp &tlp, const TlpCount &count)
{
    const auto alignment = static_cast<unsigned>(std::countr_zero(first_byte(tlp)));
    aligned_[std::min(alignment, kMaxAlignmentLog2)]++;

    const uint64_t key = tlp.address >> range_log2_;
    auto at = ranges_.find(key);
    if (at == ranges_.end() && !room_.ranges->take(sizeof(RangeTraffic) + kNodeBytes)) {
        add(elsewhere_, count);
        return;
    }
    if (at == ranges_.end())
        at = ranges_.emplace(key, RangeTraffic{key << range_log2_, {}, {}}).first;
    add(tlp.kind.data ? at->second.writes : at->second.reads, count);
}

void Traffic::note_latency(const Tlp &tlp, uint64_t time)
{
    const std::optional<uint64_t> ticks = matcher_.note(tlp, time);
    if (!ticks)
        return;
    latency_.add(*ticks);
    LatencySummary &of_requester = requester(tlp.requester).latency;
    of_requester.requests++;
    of_requester.total += *ticks;
    of_requester.max = std::max(of_requester.max, *ticks);
}

void Traffic::packet(const Packet &packet)
{
    const Tlp tlp = parse_tlp(packet);
    const TlpCount count{1, data_bytes(tlp), requested_bytes(tlp)};
    packets_++;
    by_format_[static_cast<size_t>(packet.format)]++;
    add(by_type_[static_cast<size_t>(tlp.kind.type)], count);
    add(by_class_[static_cast<size_t>(tlp.kind.queue)], count);
    with_pasid_ += tlp.pasid.has_value();
    time_.add(packet.time, count.bytes);
    if (tlp.kind.queue == TlpClass::kUnknown)
        return;
    poisoned_ += tlp.poisoned;
    if (count.bytes)
        payload_.add(count.bytes);
    if (count.requested)
        requested_.add(count.requested);
    note_requester(tlp, count);
    if (tlp.kind.shape == TlpShape::kMemory) {
        note_memory(tlp, count);
        if (watch_)
            watch_(packet.offset, tlp, count);
    }
    note_latency(tlp, packet.time);
}

void Traffic::skipped(uint64_t, uint64_t bytes)
{
    skipped_bytes_ += bytes;
    matcher_.forget();
}

void Traffic::lost(uint64_t, uint64_t bytes)
{
    losses_++;
    lost_bytes_ += bytes;
    matcher_.forget();
}

std::vector<const RequesterTraffic *> Traffic::requesters() const
{
    std::vector<const RequesterTraffic *> sorted;
    for (const auto &[id, traffic] : requesters_)
        sorted.push_back(&traffic);
    std::ranges::stable_sort(sorted, std::greater(), &RequesterTraffic::tlps);
    return sorted;
}

std::vector<RangeTraffic> Traffic::ranges() const
{
    std::vector<RangeTraffic> sorted;
    for (const auto &[key, range] : ranges_)
        sorted.push_back(range);
    std::ranges::sort(sorted, [](const RangeTraffic &a, const RangeTraffic &b) {
        return a.tlps() != b.tlps() ? a.tlps() > b.tlps() : a.address < b.address;
    });
    return sorted;
}

}  // namespace pmukit::decode::hisi_ptt
