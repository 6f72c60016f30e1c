// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "decode/hisi_ptt/hisi_ptt_scan.hpp"

#include <array>
#include <new>

namespace pmukit::decode::hisi_ptt {
namespace {

constexpr size_t k8dwHeaderAt = 8;

// The parts of TlpKind that are needed for counting. Index: the byte that contains Fmt and Type.
struct Briefs {
    std::array<uint8_t, 256> slot;          // index of the type in a requester's counters
    std::array<uint8_t, 256> requester_at;  // offset of the requester in the header
};

// low_bits: number of bits that this byte has below Fmt and Type.
Briefs make_briefs(unsigned low_bits)
{
    Briefs briefs{};
    for (unsigned i = 0; i < briefs.slot.size(); i++) {
        const TlpKind &kind = kind_of(static_cast<uint8_t>(i >> low_bits));
        briefs.slot[i] = static_cast<uint8_t>(kind.type);
        briefs.requester_at[i] = kind.shape == TlpShape::kCompletion ? 10 : 6;
    }
    return briefs;
}

const Briefs k4dwBriefs = make_briefs(1), k8dwBriefs = make_briefs(0);

// Identifies the counter of a packet.
struct Place {
    size_t requester;
    uint8_t slot;
};

Place place_of(const std::byte *header, const Briefs &briefs)
{
    const auto type = std::to_integer<uint8_t>(header[3]);
    return {load_le<uint16_t>(header + briefs.requester_at[type]), briefs.slot[type]};
}

}  // namespace

// Memory from calloc() is zero, and the kernel allocates a page of it only at the first write.
Scan::Scan()
    : counters_(static_cast<uint64_t *>(std::calloc(kRequesters * kSlots, sizeof(uint64_t))))
{
    if (!counters_)
        throw std::bad_alloc();
}

void Scan::run(Format format, uint64_t, Bytes packets)
{
    const bool wide = format == Format::k8dw;
    const Briefs &briefs = wide ? k8dwBriefs : k4dwBriefs;
    const size_t bytes = packet_bytes(format), header_at = wide ? k8dwHeaderAt : 0;
    uint64_t *const counters = counters_.get();
    for (size_t at = header_at; at < packets.size(); at += bytes) {
        const Place place = place_of(packets.data() + at, briefs);
        counters[place.requester * kSlots + place.slot]++;
    }
    packets_ += packets.size() / bytes;
}

void Scan::skipped(uint64_t, uint64_t bytes)
{
    skipped_bytes_ += bytes;
}

void Scan::lost(uint64_t, uint64_t)
{
    losses_++;
}

uint64_t Scan::count(uint16_t requester, TlpType type) const
{
    return counters_[requester * kSlots + static_cast<size_t>(type)];
}

}  // namespace pmukit::decode::hisi_ptt
