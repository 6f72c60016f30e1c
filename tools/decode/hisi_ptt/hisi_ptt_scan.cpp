// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Layout: the counters of a requester are adjacent, 160 bytes. A trace has few requesters, so their
// counters stay in the L1 cache while the packets stream past. If the size were a power of two, the
// counters of many requesters would share few cache sets. Memory pages of requesters that do not
// occur in the trace are never accessed.
#include "decode/hisi_ptt/hisi_ptt_scan.hpp"

#include <array>
#include <cstdlib>
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

struct __attribute__((visibility("hidden"))) Scan::State {
    // Number of counters of a requester.
    static constexpr size_t kSlots = kTlpTypes;
    static constexpr size_t kRequesters = 65536;

    struct Free {
        void operator()(uint64_t *counters) const { std::free(counters); }
    };

    State();

    std::unique_ptr<uint64_t[], Free> counters_;
    uint64_t packets_ = 0, skipped_bytes_ = 0, losses_ = 0;
};

// Memory from calloc() is zero, and the kernel allocates a page of it only at the first write.
Scan::State::State()
    : counters_(static_cast<uint64_t *>(std::calloc(kRequesters * kSlots, sizeof(uint64_t))))
{
    if (!counters_)
        throw std::bad_alloc();
}

Scan::Scan() : state_(std::make_unique<State>()) {}
Scan::Scan(Scan &&) noexcept = default;
Scan &Scan::operator=(Scan &&) noexcept = default;
Scan::~Scan() = default;

void Scan::run(Format format, uint64_t, Bytes packets)
{
    const bool wide = format == Format::k8dw;
    const Briefs &briefs = wide ? k8dwBriefs : k4dwBriefs;
    const size_t bytes = packet_bytes(format), header_at = wide ? k8dwHeaderAt : 0;
    uint64_t *const counters = state_->counters_.get();
    for (size_t at = header_at; at < packets.size(); at += bytes) {
        const Place place = place_of(packets.data() + at, briefs);
        counters[place.requester * State::kSlots + place.slot]++;
    }
    state_->packets_ += packets.size() / bytes;
}

void Scan::skipped(uint64_t, uint64_t bytes)
{
    state_->skipped_bytes_ += bytes;
}

void Scan::lost(uint64_t, uint64_t)
{
    state_->losses_++;
}

uint64_t Scan::count(uint16_t requester, TlpType type) const
{
    return state_->counters_[requester * State::kSlots + static_cast<size_t>(type)];
}

uint64_t Scan::packets() const
{
    return state_->packets_;
}

uint64_t Scan::skipped_bytes() const
{
    return state_->skipped_bytes_;
}

uint64_t Scan::losses() const
{
    return state_->losses_;
}

}  // namespace pmukit::decode::hisi_ptt
