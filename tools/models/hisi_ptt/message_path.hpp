// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Delivers messages (MSI) from the trace engine to the host, and can delay, merge or lose them. The
// engine does not delay its memory writes: only the message is late.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string_view>

#include "vfu/device.hpp"

namespace pmukit::models::hisi_ptt {

struct MessageParams {
    // A message arrives after `late` later messages, or late_ns after it was sent, whichever comes
    // first. late_ns 0: no time limit.
    unsigned late = 0;
    uint64_t late_ns = 0;
    unsigned merge = 1;       // number of messages merged into one
    unsigned lose_every = 0;  // every n-th message is lost; 0: none
};

class MessagePath final : public vfu::Host {
public:
    MessagePath(vfu::Host &host, const MessageParams &params) : host_(host), params_(params) {}

    bool dma_read(uint64_t address, std::span<std::byte> into) override
    {
        return host_.dma_read(address, into);
    }
    bool dma_write(uint64_t address, Bytes from) override { return host_.dma_write(address, from); }
    void raise(unsigned vector) override;
    uint64_t now_ns() const override { return host_.now_ns(); }
    void log(std::string_view line) override { host_.log(line); }

    // Discards pending messages, which belong to the previous trace.
    void trace_begins();
    std::optional<uint64_t> next_deadline_ns() const;
    void advance(uint64_t now_ns);

    uint64_t arrived() const { return arrived_; }

private:
    void arrive();

    vfu::Host &host_;
    MessageParams params_;
    std::deque<uint64_t> under_way_;  // send times of pending messages
    unsigned merged_ = 0;
    uint64_t due_ = 0;  // messages of this trace that arrived or were lost
    uint64_t arrived_ = 0;
};

}  // namespace pmukit::models::hisi_ptt
