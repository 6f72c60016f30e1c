// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "models/hisi_ptt/tlp_encoder.hpp"

#include <algorithm>

#include "models/hisi_ptt/hisi_ptt_regs.hpp"

namespace pmukit::models::hisi_ptt {

namespace {

using vfu::Packet;
using vfu::PacketKind;

// Section numbers are those of the PCI Express Base Specification 6.0.

// Header DW0 (2.2.1)
constexpr Field kFmt{29, 31};
constexpr Field kType{24, 28};
constexpr Field kTag9{23, 23};
constexpr Field kTag8{19, 19};
constexpr Field kRelaxedOrdering{13, 13};
constexpr Field kLength{0, 9};

constexpr uint32_t kFmt4Dwords = 1u << 0;
constexpr uint32_t kFmtData = 1u << 1;
constexpr uint32_t kTypeMemory = 0x00;
constexpr uint32_t kTypeConfig0 = 0x04;
constexpr uint32_t kTypeCpl = 0x0a;

// Header DW1, DW2
constexpr Field kRequester{16, 31};
constexpr Field kTag{8, 15};
constexpr Field kLastEnables{4, 7};
constexpr Field kFirstEnables{0, 3};
constexpr Field kStatus{13, 15};
constexpr Field kByteCount{0, 11};
constexpr Field kLowerAddress{0, 6};
constexpr uint32_t kRegisterNumber = 0xffc;

// The upper bits of a wide tag, in the upper or the lower half of a dword.
constexpr uint32_t kHighAddressMask = 0xffff;
constexpr Field kUpperTag{16, 19}, kUpperTagValid{21, 21};
constexpr Field kLowerTag{0, 3}, kLowerTagValid{5, 5};

// PASID TLP prefix (6.20.2.1): Fmt 100b, type 10001b
constexpr uint32_t kPasidPrefix = 0x91000000;
constexpr uint32_t kPasidMask = 0xfffff;

using Header = std::array<uint32_t, 4>;

bool has_data(const Packet &packet)
{
    switch (packet.kind) {
        case PacketKind::kMemoryWrite:
        case PacketKind::kConfigWrite:
            return true;
        case PacketKind::kCompletion:
            return packet.bytes > 0;
        case PacketKind::kMemoryRead:
        case PacketKind::kConfigRead:
            break;
    }
    return false;
}

uint32_t type_of(PacketKind kind)
{
    switch (kind) {
        case PacketKind::kMemoryRead:
        case PacketKind::kMemoryWrite:
            return kTypeMemory;
        case PacketKind::kConfigRead:
        case PacketKind::kConfigWrite:
            return kTypeConfig0;
        case PacketKind::kCompletion:
            break;
    }
    return kTypeCpl;
}

// A zero-length request has a length of one dword with no byte enabled (2.2.5).
uint32_t dwords_of(const Packet &packet)
{
    const auto from = static_cast<uint32_t>(packet.address & 3);
    if (packet.kind == PacketKind::kCompletion)
        return packet.bytes == 0 ? 0 : (from + packet.bytes + 3) / 4;
    return std::max(1u, (from + packet.bytes + 3) / 4);
}

bool wide_address(const Packet &packet)
{
    return type_of(packet.kind) == kTypeMemory && packet.address > 0xffffffff;
}

uint32_t enables_of(const Packet &packet)
{
    const auto from = static_cast<uint32_t>(packet.address & 3);
    const uint32_t dwords = dwords_of(packet);
    // End offset of the data in the last dword: 1..4.
    const uint32_t end = from + packet.bytes - 4 * (dwords - 1);
    const uint32_t first = 0xfu << from & 0xf, last = (1u << end) - 1;
    if (packet.bytes == 0)
        return 0;
    if (dwords == 1)
        return kFirstEnables.put(first & last);
    return kFirstEnables.put(first) | kLastEnables.put(last);
}

uint32_t first_dword(const Tlp &tlp)
{
    const Packet &packet = tlp.packet;
    const uint32_t fmt =
        (has_data(packet) ? kFmtData : 0) | (wide_address(packet) ? kFmt4Dwords : 0);
    return kFmt.put(fmt) | kType.put(type_of(packet.kind)) | kTag9.put(packet.tag >> 9 & 1) |
           kTag8.put(packet.tag >> 8 & 1) | kRelaxedOrdering.put(tlp.relaxed_ordering) |
           kLength.put(dwords_of(packet));
}

void put_completion(const Packet &packet, Header &header)
{
    // Without data Lower Address is 0 (2.2.9.1).
    const auto lower = static_cast<uint32_t>(packet.bytes == 0 ? 0 : packet.address & 0x7f);
    header[1] = kRequester.put(packet.completer) |
                kStatus.put(static_cast<uint32_t>(packet.status)) |
                kByteCount.put(packet.bytes_left);
    header[2] = kRequester.put(packet.requester) | kTag.put(packet.tag) | kLowerAddress.put(lower);
}

void put_request(const Packet &packet, Header &header)
{
    const auto low = static_cast<uint32_t>(packet.address & ~uint64_t{3});
    header[1] = kRequester.put(packet.requester) | kTag.put(packet.tag) | enables_of(packet);
    if (type_of(packet.kind) == kTypeConfig0) {
        header[2] = kRequester.put(packet.completer) | (low & kRegisterNumber);
    } else if (wide_address(packet)) {
        header[2] = static_cast<uint32_t>(packet.address >> 32);
        header[3] = low;
    } else {
        header[2] = low;
    }
}

void put_wide_tag(const Packet &packet, Header &header)
{
    const uint32_t tag = packet.tag >> 10 & 0xf;
    if (wide_address(packet))
        header[2] = (header[2] & kHighAddressMask) | kUpperTag.put(tag) | kUpperTagValid.put(1);
    else if (type_of(packet.kind) == kTypeConfig0)
        header[3] = kUpperTag.put(tag) | kUpperTagValid.put(1);
    else
        header[3] = kLowerTag.put(tag) | kLowerTagValid.put(1);
}

Header header_of(const Tlp &tlp, bool wide_tags)
{
    Header header{first_dword(tlp)};
    if (tlp.packet.kind == PacketKind::kCompletion)
        put_completion(tlp.packet, header);
    else
        put_request(tlp.packet, header);
    if (wide_tags)
        put_wide_tag(tlp.packet, header);
    return header;
}

}  // namespace

std::array<uint32_t, 4> encode_4dw(const Tlp &tlp, uint64_t time, bool wide_tags)
{
    const Header header = header_of(tlp, wide_tags);
    const uint32_t first =
        kEntry4Format.put(kFmt.get(header[0])) | kEntry4Type.put(kType.get(header[0])) |
        kEntry4Tag9.put(kTag9.get(header[0])) | kEntry4Tag8.put(kTag8.get(header[0])) |
        // The meaning of the bit is not published; its name suggests the opposite of relaxed
        // ordering.
        kEntry4StrongOrder.put(!tlp.relaxed_ordering) | kEntry4Length.put(kLength.get(header[0])) |
        kEntry4Time.put(static_cast<uint32_t>(time));
    return {first, header[1], header[2], header[3]};
}

std::array<uint32_t, 8> encode_8dw(const Tlp &tlp, uint64_t time, bool wide_tags)
{
    const Header header = header_of(tlp, wide_tags);
    const uint32_t prefix = tlp.pasid ? kPasidPrefix | (*tlp.pasid & kPasidMask) : 0;
    return {kEntry8Mark, prefix,    header[0], header[1],
            header[2],   header[3], 0,         static_cast<uint32_t>(time)};
}

}  // namespace pmukit::models::hisi_ptt
