// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "decode/hisi_ptt/hisi_ptt_scan.hpp"

#include <array>
#include <new>

namespace pmukit::decode::hisi_ptt {
namespace {

// What counting needs of a TlpKind, in two bytes.
struct Brief {
    uint8_t type;
    uint8_t requester_at;  // bytes behind the first dword of the header: of the dword whose upper
                           // half is the requester
};

std::array<Brief, 256> make_briefs()
{
    std::array<Brief, 256> briefs{};
    for (unsigned i = 0; i < briefs.size(); i++) {
        const TlpKind &kind = kind_of(static_cast<uint8_t>(i));
        const bool completion = kind.shape == TlpShape::kCompletion;
        briefs[i] = {static_cast<uint8_t>(kind.type), static_cast<uint8_t>(completion ? 8 : 4)};
    }
    return briefs;
}

const std::array<Brief, 256> kBriefs = make_briefs();

constexpr size_t k8dwHeaderAt = 8;

}  // namespace

// calloc() gives zeros that take no memory before they are written.
Scan::Scan()
    : counters_(static_cast<uint64_t *>(std::calloc(kRequesters * kSlots, sizeof(uint64_t))))
{
    if (!counters_)
        throw std::bad_alloc();
}

void Scan::run_8dw(Bytes packets)
{
    uint64_t *counters = counters_.get();
    const std::byte *end = packets.data() + packets.size();
    for (const std::byte *at = packets.data(); at != end; at += k8dwBytes) {
        const std::byte *header = at + k8dwHeaderAt;
        const Brief brief = kBriefs[load_le<uint32_t>(header) >> 24];
        const uint32_t requester = load_le<uint32_t>(header + brief.requester_at) >> 16;
        counters[requester * kSlots + brief.type]++;
    }
}

// The first dword of the header is squeezed, the others are where they always are.
void Scan::run_4dw(Bytes packets)
{
    uint64_t *counters = counters_.get();
    const std::byte *end = packets.data() + packets.size();
    for (const std::byte *at = packets.data(); at != end; at += k4dwBytes) {
        const Brief brief = kBriefs[load_le<uint32_t>(at) >> 25];
        const uint32_t requester = load_le<uint32_t>(at + brief.requester_at) >> 16;
        counters[requester * kSlots + brief.type]++;
    }
}

void Scan::run(Format format, uint64_t, Bytes packets)
{
    packets_ += packets.size() / packet_bytes(format);
    if (format == Format::k8dw)
        run_8dw(packets);
    else
        run_4dw(packets);
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
