// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Measures how long non-posted requests wait for their completions. A completion names its request
// by requester and tag (14 bits if both have wide tags). A read may have several completions; the
// one with the last byte ends it. The matcher allocates nothing per packet: pending requests are in
// pages. A page has 256 tags of one requester, which differ only in their lower eight bits. This
// header is not installed.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "base/budget.hpp"
#include "base/limits.hpp"
#include "decode/hisi_ptt/hisi_ptt_latency.hpp"
#include "decode/hisi_ptt/hisi_ptt_tlp.hpp"

namespace pmukit::decode::hisi_ptt {

class __attribute__((visibility("hidden"))) LatencyMatcher {
public:
    explicit LatencyMatcher(
        std::shared_ptr<Budget> budget = std::make_shared<Budget>(limits::kRequesters))
        : budget_(std::move(budget))
    {
    }
    // If this TLP is the last completion of a request, returns the latency of the request in ticks.
    std::optional<uint64_t> note(const Tlp &tlp, uint64_t time);
    // Forgets all pending requests. Call this when data was lost, because the lost data may contain
    // their completions.
    void forget();

    const LatencyTotals &totals() const { return totals_; }
    uint64_t outstanding() const { return outstanding_; }

private:
    struct Pending {
        uint64_t since = 0;
        // The request is pending as long as this equals LatencyMatcher::era_.
        uint64_t era = 0;
    };
    // log2 of the number of tags in a page.
    static constexpr unsigned kPageLog2 = 8;
    using Page = std::array<Pending, 1U << kPageLog2>;
    // Index: the upper bits of the tag.
    using Pages = std::array<std::unique_ptr<Page>, 64>;
    // Index: the lower 8 bits of the requester ID.
    using Bus = std::array<std::unique_ptr<Pages>, 256>;

    template <typename Table>
    Table *made(std::unique_ptr<Table> &at);
    Pending *find(const Tlp &tlp) const;
    Pending *make(const Tlp &tlp);
    void request(const Tlp &tlp, uint64_t time);
    std::optional<uint64_t> completion(const Tlp &tlp, uint64_t time);

    std::shared_ptr<Budget> budget_;
    std::array<std::unique_ptr<Bus>, 256> buses_;
    uint64_t era_ = 1;  // incremented by a loss
    uint64_t outstanding_ = 0;
    LatencyTotals totals_;
};

}  // namespace pmukit::decode::hisi_ptt
