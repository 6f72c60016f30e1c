// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "vfu/link.hpp"

#include <algorithm>
#include <utility>

namespace pmukit::vfu {
namespace {

// No packet crosses a multiple of this size (PCIe Base Specification, 2.2.7).
constexpr uint32_t kBoundary = 4096;

// Calls pass(address, bytes) for each packet. Packets end at multiples of the limit, because
// devices split on natural boundaries. The limit is a power of two and at most 4096.
template <typename Pass>
void for_each_packet(uint64_t address, uint64_t bytes, uint32_t limit, Pass pass)
{
    while (bytes > 0) {
        const auto piece =
            static_cast<uint32_t>(std::min<uint64_t>(bytes, limit - address % limit));
        pass(address, piece);
        address += piece;
        bytes -= piece;
    }
}

// A configuration request is for one dword. Other accesses of a client (QEMU reads all 4096 bytes
// once) are not accesses of the guest.
bool is_config_request(uint64_t offset, uint32_t bytes)
{
    return bytes > 0 && offset % 4 + bytes <= 4;
}

bool carries_data(PacketKind kind)
{
    return kind != PacketKind::kMemoryRead && kind != PacketKind::kConfigRead;
}

}  // namespace

void Link::show(const Packet &packet, uint64_t wait_ns) const
{
    const uint32_t payload_bytes = carries_data(packet.kind) ? packet.bytes : 0;
    traffic_->show(packet, wait_ns + timing_.passing_ns(payload_bytes));
}

Packet Link::outbound(PacketKind kind, uint64_t now_ns) const
{
    Packet packet;
    packet.kind = kind;
    packet.direction = PacketDirection::kOutbound;
    packet.root_port = place_.root_port;
    packet.function = place_.function;
    packet.requester = kRootComplex;
    packet.completer = place_.function;
    packet.time_ns = now_ns;
    return packet;
}

Packet Link::inbound(PacketKind kind, uint64_t now_ns) const
{
    Packet packet = outbound(kind, now_ns);
    packet.direction = PacketDirection::kInbound;
    packet.requester = place_.function;
    packet.completer = 0;
    return packet;
}

Link::Request Link::cpu_reads(uint64_t address, uint32_t bytes, uint64_t now_ns,
                              LinkProtocol protocol)
{
    if (!watched())
        return {};
    std::optional<uint8_t> first_tag;
    for_each_packet(address, bytes, kBoundary, [&](uint64_t at, uint32_t piece) {
        Packet packet = outbound(PacketKind::kMemoryRead, now_ns);
        packet.protocol = protocol;
        packet.tag = traffic_->next_tag();
        packet.address = at;
        packet.bytes = piece;
        first_tag = first_tag.value_or(static_cast<uint8_t>(packet.tag));
        show(packet);
    });
    return {PacketKind::kMemoryRead, address, bytes, first_tag.value_or(0), true, protocol};
}

Link::Request Link::ask_config(PacketKind kind, uint64_t offset, uint32_t bytes, uint64_t now_ns)
{
    if (!watched() || !is_config_request(offset, bytes))
        return {};
    Packet packet = outbound(kind, now_ns);
    packet.tag = traffic_->next_tag();
    packet.address = offset;
    packet.bytes = bytes;
    show(packet);
    return {kind, offset, bytes, static_cast<uint8_t>(packet.tag), true};
}

Link::Request Link::cpu_reads_config(uint64_t offset, uint32_t bytes, uint64_t now_ns)
{
    return ask_config(PacketKind::kConfigRead, offset, bytes, now_ns);
}

Link::Request Link::cpu_writes_config(uint64_t offset, uint32_t bytes, uint64_t now_ns)
{
    return ask_config(PacketKind::kConfigWrite, offset, bytes, now_ns);
}

void Link::complete(const Request &request, uint64_t now_ns)
{
    if (!request.shown)
        return;
    if (request.kind != PacketKind::kMemoryRead)
        return complete_config(request, now_ns);
    uint8_t tag = request.first_tag;
    uint64_t wait_ns = timing_.answer_ns;
    for_each_packet(request.address, request.bytes, kBoundary, [&](uint64_t at, uint32_t piece) {
        Packet packet = answer(tag++, now_ns);
        packet.protocol = request.protocol;
        packet.address = at;
        packet.bytes = packet.bytes_left = piece;
        show(packet, std::exchange(wait_ns, 0));
    });
}

// The completion of any configuration request has Byte Count 4 and Lower Address 0 (2.2.9.1).
void Link::complete_config(const Request &request, uint64_t now_ns)
{
    Packet packet = answer(request.first_tag, now_ns);
    packet.bytes = request.kind == PacketKind::kConfigRead ? 4 : 0;
    packet.bytes_left = 4;
    show(packet, timing_.answer_ns);
}

Packet Link::answer(uint8_t tag, uint64_t now_ns) const
{
    Packet packet = inbound(PacketKind::kCompletion, now_ns);
    packet.requester = kRootComplex;
    packet.completer = place_.function;
    packet.tag = tag;
    return packet;
}

void Link::cpu_writes(uint64_t address, uint32_t bytes, uint64_t now_ns, LinkProtocol protocol)
{
    if (!watched())
        return;
    for_each_packet(address, bytes, kBoundary, [&](uint64_t at, uint32_t piece) {
        Packet packet = outbound(PacketKind::kMemoryWrite, now_ns);
        packet.protocol = protocol;
        packet.address = at;
        packet.bytes = piece;
        show(packet);
    });
}

void Link::complete_dma_read(const Packet &request, bool good, uint32_t payload_bytes)
{
    Packet answer = outbound(PacketKind::kCompletion, request.time_ns);
    answer.requester = place_.function;
    answer.completer = kRootComplex;
    answer.tag = request.tag;
    answer.address = request.address;
    answer.bytes_left = request.bytes;
    if (!good) {
        answer.status = CompletionStatus::kUnsupportedRequest;
        show(answer);
        return;
    }
    for_each_packet(request.address, request.bytes, payload_bytes,
                    [&](uint64_t at, uint32_t piece) {
                        answer.address = at;
                        answer.bytes = piece;
                        show(answer);
                        answer.bytes_left -= piece;
                    });
}

void Link::dma_reads(uint64_t address, uint64_t bytes, bool good, const PacketLimits &limits,
                     uint64_t now_ns)
{
    if (!watched())
        return;
    for_each_packet(address, bytes, limits.read_request_bytes, [&](uint64_t at, uint32_t piece) {
        Packet request = inbound(PacketKind::kMemoryRead, now_ns);
        request.tag = next_tag_++;
        request.address = at;
        request.bytes = piece;
        show(request);
        complete_dma_read(request, good, limits.payload_bytes);
    });
}

void Link::dma_writes(uint64_t address, uint64_t bytes, const PacketLimits &limits, uint64_t now_ns)
{
    if (!watched())
        return;
    for_each_packet(address, bytes, limits.payload_bytes, [&](uint64_t at, uint32_t piece) {
        Packet packet = inbound(PacketKind::kMemoryWrite, now_ns);
        packet.address = at;
        packet.bytes = piece;
        show(packet);
    });
}

void Link::pass_down(const Packet &request, const Link &peer) const
{
    Packet packet = request;
    packet.direction = PacketDirection::kOutbound;
    packet.root_port = peer.place_.root_port;
    packet.function = packet.completer = peer.place_.function;
    peer.show(packet);
}

void Link::answer_peer(const Packet &request, const Link &peer, uint32_t payload_bytes) const
{
    Packet answer = peer.inbound(PacketKind::kCompletion, request.time_ns);
    answer.requester = place_.function;
    answer.completer = peer.place_.function;
    answer.tag = request.tag;
    answer.bytes_left = request.bytes;
    uint64_t wait_ns = peer.timing_.answer_ns;
    for_each_packet(request.address, request.bytes, payload_bytes,
                    [&](uint64_t at, uint32_t piece) {
                        answer.address = at;
                        answer.bytes = piece;
                        peer.show(answer, std::exchange(wait_ns, 0));
                        Packet handed_up = answer;
                        handed_up.direction = PacketDirection::kOutbound;
                        handed_up.root_port = place_.root_port;
                        handed_up.function = place_.function;
                        show(handed_up);
                        answer.bytes_left -= piece;
                    });
}

void Link::peer_reads(uint64_t address, uint64_t bytes, const PacketLimits &limits,
                      const Link &peer, uint32_t peer_payload_bytes, uint64_t now_ns)
{
    if (!watched() || place_.root_port == peer.place_.root_port)
        return;
    for_each_packet(address, bytes, limits.read_request_bytes, [&](uint64_t at, uint32_t piece) {
        Packet request = inbound(PacketKind::kMemoryRead, now_ns);
        request.tag = next_tag_++;
        request.address = at;
        request.bytes = piece;
        show(request);
        pass_down(request, peer);
        answer_peer(request, peer, peer_payload_bytes);
    });
}

void Link::peer_writes(uint64_t address, uint64_t bytes, const PacketLimits &limits,
                       const Link &peer, uint64_t now_ns)
{
    if (!watched() || place_.root_port == peer.place_.root_port)
        return;
    for_each_packet(address, bytes, limits.payload_bytes, [&](uint64_t at, uint32_t piece) {
        Packet packet = inbound(PacketKind::kMemoryWrite, now_ns);
        packet.address = at;
        packet.bytes = piece;
        show(packet);
        pass_down(packet, peer);
    });
}

void Link::interrupts(uint64_t address, uint64_t now_ns)
{
    if (!watched())
        return;
    Packet packet = inbound(PacketKind::kMemoryWrite, now_ns);
    packet.address = address;
    packet.bytes = 4;
    packet.interrupt = true;
    show(packet);
}

}  // namespace pmukit::vfu
