// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "decode/hisi_ptt/hisi_ptt_traffic.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <utility>

#include "base/hash.hpp"
#include "decode/hisi_ptt/hisi_ptt_latency_matcher.hpp"

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

struct __attribute__((visibility("hidden"))) TimeStrip::State {
    struct Column {
        uint64_t tlps = 0, bytes = 0;
    };

    void add(uint64_t time, uint64_t bytes);
    void double_width();

    bool started_ = false;
    unsigned width_log2_ = 0;
    uint64_t first_ = 0, last_ = 0;
    std::array<Column, kColumns> columns_{};
};

void TimeStrip::State::double_width()
{
    for (size_t i = 0; i < kColumns / 2; i++)
        columns_[i] = {columns_[2 * i].tlps + columns_[2 * i + 1].tlps,
                       columns_[2 * i].bytes + columns_[2 * i + 1].bytes};
    std::fill(columns_.begin() + kColumns / 2, columns_.end(), Column{});
    width_log2_++;
}

// Timestamps of the two directions may be slightly out of order. A time before the first timestamp
// is counted as the first.
void TimeStrip::State::add(uint64_t time, uint64_t bytes)
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

TimeStrip::TimeStrip() : state_(std::make_unique<State>()) {}
TimeStrip::TimeStrip(TimeStrip &&) noexcept = default;
TimeStrip &TimeStrip::operator=(TimeStrip &&) noexcept = default;
TimeStrip::~TimeStrip() = default;

void TimeStrip::add(uint64_t time, uint64_t bytes)
{
    state_->add(time, bytes);
}

bool TimeStrip::empty() const
{
    return !state_->started_;
}

uint64_t TimeStrip::first() const
{
    return state_->first_;
}

uint64_t TimeStrip::last() const
{
    return state_->last_;
}

uint64_t TimeStrip::column_ticks() const
{
    return uint64_t{1} << state_->width_log2_;
}

size_t TimeStrip::columns() const
{
    return empty() ? 0 : ((last() - first()) >> state_->width_log2_) + 1;
}

uint64_t TimeStrip::tlps(size_t column) const
{
    return state_->columns_[column].tlps;
}

uint64_t TimeStrip::bytes(size_t column) const
{
    return state_->columns_[column].bytes;
}

// Traffic

struct __attribute__((visibility("hidden"))) Traffic::State {
    State(unsigned range_log2, const TrafficRoom &room)
        : range_log2_(range_log2), room_(room), matcher_(room.requesters)
    {
    }

    void packet(const Packet &packet);
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

// References into a map remain valid while it grows.
RequesterTraffic &Traffic::State::requester(uint16_t id)
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

void Traffic::State::note_requester(const Tlp &tlp, const TlpCount &count)
{
    RequesterTraffic &traffic = requester(tlp.requester);
    if (tlp.kind.queue == TlpClass::kPosted)
        add(traffic.posted, count);
    else if (tlp.kind.queue == TlpClass::kNonPosted)
        add(traffic.non_posted, count);
    else
        add(traffic.completions, count);
}

void Traffic::State::note_memory(const Tlp &tlp, const TlpCount &count)
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

void Traffic::State::note_latency(const Tlp &tlp, uint64_t time)
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

void Traffic::State::packet(const Packet &packet)
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

Traffic::Traffic(unsigned range_log2, const TrafficRoom &room)
    : state_(std::make_unique<State>(range_log2, room))
{
}
Traffic::Traffic(Traffic &&) noexcept = default;
Traffic &Traffic::operator=(Traffic &&) noexcept = default;
Traffic::~Traffic() = default;

void Traffic::watch(Watch watch)
{
    state_->watch_ = std::move(watch);
}

void Traffic::packet(const Packet &packet)
{
    state_->packet(packet);
}

void Traffic::skipped(uint64_t, uint64_t bytes)
{
    state_->skipped_bytes_ += bytes;
    state_->matcher_.forget();
}

void Traffic::lost(uint64_t, uint64_t bytes)
{
    state_->losses_++;
    state_->lost_bytes_ += bytes;
    state_->matcher_.forget();
}

std::vector<const RequesterTraffic *> Traffic::requesters() const
{
    std::vector<const RequesterTraffic *> sorted;
    for (const auto &[id, traffic] : state_->requesters_)
        sorted.push_back(&traffic);
    std::ranges::stable_sort(sorted, std::greater(), &RequesterTraffic::tlps);
    return sorted;
}

std::vector<RangeTraffic> Traffic::ranges() const
{
    std::vector<RangeTraffic> sorted;
    for (const auto &[key, range] : state_->ranges_)
        sorted.push_back(range);
    std::ranges::sort(sorted, [](const RangeTraffic &a, const RangeTraffic &b) {
        return a.tlps() != b.tlps() ? a.tlps() > b.tlps() : a.address < b.address;
    });
    return sorted;
}

uint64_t Traffic::packets() const
{
    return state_->packets_;
}

uint64_t Traffic::packets_of(Format format) const
{
    return state_->by_format_[static_cast<size_t>(format)];
}

const TlpCount &Traffic::of(TlpType type) const
{
    return state_->by_type_[static_cast<size_t>(type)];
}

const TlpCount &Traffic::of(TlpClass queue) const
{
    return state_->by_class_[static_cast<size_t>(queue)];
}

const RequesterTraffic &Traffic::other_requesters() const
{
    return state_->other_requesters_;
}

const TlpCount &Traffic::elsewhere() const
{
    return state_->elsewhere_;
}

uint64_t Traffic::range_bytes() const
{
    return uint64_t{1} << state_->range_log2_;
}

const Histogram &Traffic::payload() const
{
    return state_->payload_;
}

const Histogram &Traffic::requested() const
{
    return state_->requested_;
}

uint64_t Traffic::aligned(unsigned log2) const
{
    return state_->aligned_[log2];
}

const TimeStrip &Traffic::time() const
{
    return state_->time_;
}

const Histogram &Traffic::latency() const
{
    return state_->latency_;
}

const LatencyTotals &Traffic::latency_totals() const
{
    return state_->matcher_.totals();
}

uint64_t Traffic::outstanding() const
{
    return state_->matcher_.outstanding();
}

uint64_t Traffic::with_pasid() const
{
    return state_->with_pasid_;
}

uint64_t Traffic::poisoned() const
{
    return state_->poisoned_;
}

uint64_t Traffic::skipped_bytes() const
{
    return state_->skipped_bytes_;
}

uint64_t Traffic::losses() const
{
    return state_->losses_;
}

uint64_t Traffic::lost_bytes() const
{
    return state_->lost_bytes_;
}

}  // namespace pmukit::decode::hisi_ptt
