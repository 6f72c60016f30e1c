// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// What passes over the PCIe links of a chassis, for a model that watches links for a living. Every
// access to a served function's registers and configuration space, its DMA, its message-signalled
// interrupts and all their completions are shown as transaction-layer packets, in the order in
// which they happen (PCI Express Base Specification 6.0, chapter 2).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace pmukit::vfu {

// Requester id of the CPUs' accesses: the root complex itself, 00:00.0.
inline constexpr uint16_t kRootComplex = 0;

// Where a function sits. The vfio-user protocol does not say it, so the command line does; ids are
// bus << 8 | device << 3 | function.
struct LinkPlace {
    uint16_t function = 0;
    uint16_t root_port = 0;
};

// What a link takes beside the time that the guest and the model really need: rules of our own, for
// no device was measured. One packet after the other passes, whatever its link.
struct LinkTiming {
    uint64_t answer_ns = 0;     // from a read that reaches the function to its first completion
    uint64_t bytes_per_us = 0;  // of packets, kPacketOverheadBytes included; 0: they take no time

    constexpr uint64_t passing_ns(uint32_t payload_bytes) const;
};

// A header of three dwords, and eight bytes of framing, number and LCRC (3.6, 4.2.2).
inline constexpr uint32_t kPacketOverheadBytes = 20;

constexpr uint64_t LinkTiming::passing_ns(uint32_t payload_bytes) const
{
    return bytes_per_us ? (uint64_t{payload_bytes} + kPacketOverheadBytes) * 1000 / bytes_per_us
                        : 0;
}

enum class PacketKind : uint8_t {
    kMemoryRead,
    kMemoryWrite,
    kConfigRead,
    kConfigWrite,
    kCompletion,  // with data when bytes > 0
};

enum class PacketDirection : uint8_t {
    kOutbound,  // from the root complex to the function
    kInbound,   // from the function
};

// Which of a link's protocols it is. CXL.mem has no transaction-layer packets of its own here: a
// request and its answer are shown as the read, the write and the completion that QEMU makes of it.
enum class LinkProtocol : uint8_t {
    kIo,      // PCIe, CXL.io
    kCxlMem,  // a memory request to a CXL device, one cache line whatever its bytes; its answer
};

enum class CompletionStatus : uint8_t {
    kSuccessful = 0,
    kUnsupportedRequest = 1,
};

struct Packet {
    PacketKind kind = PacketKind::kMemoryRead;
    PacketDirection direction = PacketDirection::kOutbound;
    LinkProtocol protocol = LinkProtocol::kIo;
    uint16_t root_port = 0;
    uint16_t function = 0;   // at the far end of the link
    uint16_t requester = 0;  // of a completion: the sender of the request
    uint16_t completer = 0;  // of completions, and of requests to a function; else 0
    uint16_t tag = 0;        // 0..255; one sequence a requester, of reads and configuration writes

    // Of the first byte; in a configuration request the register's offset, in the completion of a
    // read the address of the first byte that it answers, in that of a configuration request 0. An
    // MSI-X message has the address of its table entry, which is 0 under QEMU: it keeps the table
    // to itself.
    uint64_t address = 0;
    uint32_t bytes = 0;       // payload, or what is asked for; never across a 4 KiB boundary
    uint32_t bytes_left = 0;  // of a completion: its Byte Count, that is these and those to come
    CompletionStatus status = CompletionStatus::kSuccessful;
    bool interrupt = false;  // this memory write is an MSI or MSI-X message
    uint64_t time_ns = 0;    // of Host::now_ns(), and what LinkTiming adds; never goes back
};

class TrafficObserver {
public:
    virtual ~TrafficObserver() = default;
    // Called while another device's access is under way: note the packet and return. What an
    // observer causes from in here (DMA of a function with a link of its own) is not shown.
    virtual void on_packet(const Packet &packet) = 0;
};

// Passes packets on to all observers. An observer must outlive the last packet.
class Traffic {
public:
    void add(TrafficObserver &observer) { observers_.push_back(&observer); }
    bool watched() const { return !observers_.empty() && !showing_; }

    // Has passed so much later than its own time and the packet before it.
    void show(Packet packet, uint64_t delay_ns = 0)
    {
        if (!watched())
            return;
        packet.time_ns = last_ns_ = std::max(packet.time_ns, last_ns_) + delay_ns;
        showing_ = true;
        for (TrafficObserver *observer : observers_)
            observer->on_packet(packet);
        showing_ = false;
    }

    // The tag of the root complex's next request.
    uint16_t next_tag() { return next_tag_++; }

private:
    std::vector<TrafficObserver *> observers_;
    bool showing_ = false;
    uint64_t last_ns_ = 0;
    uint8_t next_tag_ = 0;
};

}  // namespace pmukit::vfu
