// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "decode/hisi_ptt/hisi_ptt_scan.hpp"

#include <array>
#include <new>

namespace pmukit::decode::hisi_ptt {
namespace {

// What counting needs of a TlpKind, by Fmt and Type.
struct Briefs {
    std::array<uint8_t, 256> slot;          // of the type, in the counters of a requester
    std::array<uint8_t, 256> requester_at;  // bytes behind the first dword of the header: of the
                                            // dword whose upper half is the requester
};

Briefs make_briefs()
{
    Briefs briefs{};
    for (unsigned i = 0; i < briefs.slot.size(); i++) {
        const TlpKind &kind = kind_of(static_cast<uint8_t>(i));
        briefs.slot[i] = static_cast<uint8_t>(kind.type);
        briefs.requester_at[i] = kind.shape == TlpShape::kCompletion ? 8 : 4;
    }
    return briefs;
}

const Briefs kBriefs = make_briefs();

constexpr size_t k8dwHeaderAt = 8;

}  // namespace

// calloc() gives zeros that take no memory before they are written.
Scan::Scan()
    : counters_(static_cast<uint64_t *>(std::calloc(kRequesters * kSlots, sizeof(uint64_t))))
{
    if (!counters_)
        throw std::bad_alloc();
}

// fmt_type_shift: where Fmt and Type stand in the dword at header_at; the other dwords of the
// header follow it in both formats.
template <size_t bytes, size_t header_at, unsigned fmt_type_shift>
void Scan::count_all(Bytes packets)
{
    uint64_t *const counters = counters_.get();
    const std::byte *const end = packets.data() + packets.size();
    for (const std::byte *at = packets.data(); at != end; at += bytes) {
        const std::byte *header = at + header_at;
        const uint32_t fmt_type = load_le<uint32_t>(header) >> fmt_type_shift;
        const std::byte *dword = header + kBriefs.requester_at[fmt_type];
        const size_t requester = load_le<uint32_t>(dword) >> 16;
        counters[requester * kSlots + kBriefs.slot[fmt_type]]++;
    }
}

void Scan::run(Format format, uint64_t, Bytes packets)
{
    packets_ += packets.size() / packet_bytes(format);
    if (format == Format::k8dw)
        count_all<k8dwBytes, k8dwHeaderAt, 24>(packets);
    else
        count_all<k4dwBytes, 0, 25>(packets);
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
