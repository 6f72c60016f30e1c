// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Counts TLPs by type and requester only, at about the speed of memory.
//
// Layout: the counters of a requester are adjacent, 160 bytes. A trace has few requesters, so their
// counters stay in the L1 cache while the packets stream past. If the
// size were a power of two, the counters of many requesters would share few cache sets. Memory
// pages of requesters that do not occur in the trace are never accessed.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>

#include "decode/hisi_ptt/hisi_ptt_decode.hpp"

namespace pmukit::decode::hisi_ptt {

class Scan final : public RunSink {
public:
    Scan();

    void run(Format format, uint64_t offset, Bytes packets) override;
    void skipped(uint64_t offset, uint64_t bytes) override;
    void lost(uint64_t offset, uint64_t bytes) override;

    // A TLP of unknown type is counted for the requester ID that is found at the offset where a
    // request has it.
    uint64_t count(uint16_t requester, TlpType type) const;
    uint64_t packets() const { return packets_; }
    uint64_t skipped_bytes() const { return skipped_bytes_; }
    uint64_t losses() const { return losses_; }

private:
    // Number of counters of a requester.
    static constexpr size_t kSlots = kTlpTypes;
    static constexpr size_t kRequesters = 65536;

    struct Free {
        void operator()(uint64_t *counters) const { std::free(counters); }
    };

    std::unique_ptr<uint64_t[], Free> counters_;
    uint64_t packets_ = 0, skipped_bytes_ = 0, losses_ = 0;
};

}  // namespace pmukit::decode::hisi_ptt
