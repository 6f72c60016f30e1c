// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The least work that a reader of packets does, for benchmarks.
#pragma once

#include "base/bytes.hpp"
#include "decode/hisi_ptt/hisi_ptt_decode.hpp"

namespace pmukit::decode::hisi_ptt {

// Decodes all fields of each packet, and adds them up.
class Summing final : public Sink {
public:
    void packet(const Packet &packet) override
    {
        const Tlp tlp = parse_tlp(packet);
        sum += packet.time ^ tlp.address ^ tlp.tag ^ tlp.byte_count ^ tlp.requester;
    }
    void skipped(uint64_t, uint64_t bytes) override { sum += bytes; }
    void lost(uint64_t, uint64_t bytes) override { sum += bytes; }
    uint64_t sum = 0;
};

inline uint64_t sum_of_packets(Bytes bytes, Format format)
{
    Summing sink;
    StreamDecoder decoder(sink, {format});
    decoder.start(0);
    decoder.data(bytes);
    decoder.end();
    return sink.sum;
}

}  // namespace pmukit::decode::hisi_ptt
