// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "decode/hisi_ptt/hisi_ptt_latency_matcher.hpp"

namespace pmukit::decode::hisi_ptt {

LatencyMatcher::Pending *LatencyMatcher::find(const Tlp &tlp) const
{
    const Bus *const bus = buses_[tlp.requester >> 8].get();
    const Pages *const pages = bus ? (*bus)[tlp.requester & 0xff].get() : nullptr;
    Page *const page = pages ? (*pages)[tlp.tag >> kPageLog2].get() : nullptr;
    return page ? &(*page)[tlp.tag % page->size()] : nullptr;
}

// Returns nullptr if the memory budget is used up.
template <typename Table>
Table *LatencyMatcher::made(std::unique_ptr<Table> &at)
{
    if (!at && budget_->take(sizeof(Table)))
        at = std::make_unique<Table>();
    return at.get();
}

LatencyMatcher::Pending *LatencyMatcher::make(const Tlp &tlp)
{
    if (Pending *const pending = find(tlp))
        return pending;
    Bus *const bus = made(buses_[tlp.requester >> 8]);
    Pages *const pages = bus ? made((*bus)[tlp.requester & 0xff]) : nullptr;
    Page *const page = pages ? made((*pages)[tlp.tag >> kPageLog2]) : nullptr;
    return page ? &(*page)[tlp.tag % page->size()] : nullptr;
}

void LatencyMatcher::request(const Tlp &tlp, uint64_t time)
{
    totals_.requests++;
    Pending *const pending = make(tlp);
    if (!pending) {
        totals_.untracked++;
        return;
    }
    if (pending->era == era_)
        totals_.reused++;
    else
        outstanding_++;
    *pending = {time, era_};
}

std::optional<uint64_t> LatencyMatcher::completion(const Tlp &tlp, uint64_t time)
{
    Pending *const pending = find(tlp);
    if (!pending || pending->era != era_) {
        totals_.unmatched++;
        return std::nullopt;
    }
    const bool failed = tlp.status != static_cast<uint8_t>(CompletionStatus::kSuccess);
    const bool last = failed || !tlp.kind.data || tlp.byte_count <= data_bytes(tlp);
    if (!last)
        return std::nullopt;
    pending->era = 0;
    outstanding_--;
    totals_.answered++;
    totals_.failed += failed;
    return time > pending->since ? time - pending->since : 0;
}

std::optional<uint64_t> LatencyMatcher::note(const Tlp &tlp, uint64_t time)
{
    if (tlp.kind.queue == TlpClass::kCompletion)
        return completion(tlp, time);
    if (tlp.kind.queue == TlpClass::kNonPosted)
        request(tlp, time);
    return std::nullopt;
}

void LatencyMatcher::forget()
{
    era_++;
    totals_.forgotten += outstanding_;
    outstanding_ = 0;
}

}  // namespace pmukit::decode::hisi_ptt
