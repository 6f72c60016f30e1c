// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Counts TLPs by type and requester, and looks at nothing else: about as fast as memory is read.
//
// Layout. The counters of a requester lie together, 160 bytes of them: a trace has few requesters,
// so what is counted stays in the nearest cache while the packets stream past, and does not crowd
// into the same few sets of it as a power of two would. Pages of requesters that never come up are
// never touched.
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

    // Of an unknown type is taken for a requester what a request has there.
    uint64_t count(uint16_t requester, TlpType type) const;
    uint64_t packets() const { return packets_; }
    uint64_t skipped_bytes() const { return skipped_bytes_; }
    uint64_t losses() const { return losses_; }

private:
    static constexpr size_t kSlots = kTlpTypes;  // counters of a requester
    static constexpr size_t kRequesters = 65536;

    struct Free {
        void operator()(uint64_t *counters) const { std::free(counters); }
    };

    std::unique_ptr<uint64_t[], Free> counters_;
    uint64_t packets_ = 0, skipped_bytes_ = 0, losses_ = 0;
};

}  // namespace pmukit::decode::hisi_ptt
