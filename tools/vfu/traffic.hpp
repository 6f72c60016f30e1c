// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Packets on the PCIe links of a chassis, for models that observe links. CPU accesses to a served
// function's registers and configuration space, its DMA, its message-signaled interrupts and all
// their completions are shown as transaction-layer packets, in the order in which they happen (PCI
// Express Base Specification 6.0, chapter 2).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace pmukit::vfu {

// Requester ID of CPU accesses: the root complex, 00:00.0.
inline constexpr uint16_t kRootComplex = 0;

// PCI location of a function. It comes from the command line, because the vfio-user protocol does
// not transfer it. IDs are bus << 8 | device << 3 | function.
struct LinkPlace {
    uint16_t function = 0;
    uint16_t root_port = 0;
};

// Delays that a link adds to the real time of the guest and the model. The delays follow rules of
// this project, not measurements of a device. Packets of all links pass one after the other.
struct LinkTiming {
    uint64_t answer_ns = 0;     // time from the arrival of a read to its first completion
    uint64_t bytes_per_us = 0;  // rate, for payload and kPacketOverheadBytes; 0: no delay

    constexpr uint64_t passing_ns(uint32_t payload_bytes) const;
};

// A header of three dwords, and eight bytes of framing, sequence number and LCRC (3.6, 4.2.2).
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
    kCompletion,  // has data if bytes > 0
};

enum class PacketDirection : uint8_t {
    kOutbound,  // from the root complex to the function
    kInbound,   // from the function to the root complex
};

// The protocol of a packet. CXL.mem has no packet format here: a CXL.mem request or response is
// shown as the read, write or completion into which QEMU turns it.
enum class LinkProtocol : uint8_t {
    kIo,  // PCIe or CXL.io
    // A CXL.mem request or its response. A request is for one cache line, whatever `bytes` is.
    kCxlMem,
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
    uint16_t function = 0;   // function at the lower end of the link
    uint16_t requester = 0;  // in a completion: the sender of the request
    uint16_t completer = 0;  // in completions and in requests to a function; else 0
    // 0 to 255. Each requester has one sequence of tags, for reads and configuration writes.
    uint16_t tag = 0;

    // Depends on the packet:
    // - memory request: address of the first byte.
    // - configuration request: offset of the register.
    // - completion of a memory read: address of the first byte that it returns.
    // - completion of a configuration request: 0.
    // - MSI-X message: address in the table entry of the vector. Under QEMU, this is 0, because
    //   QEMU does not pass on writes to the table.
    uint64_t address = 0;
    // Size of the payload or of the requested data, which never crosses a 4 KiB boundary.
    uint32_t bytes = 0;
    uint32_t bytes_left = 0;  // in a completion: Byte Count, including this packet
    CompletionStatus status = CompletionStatus::kSuccessful;
    bool interrupt = false;  // this memory write is an MSI or MSI-X message
    uint64_t time_ns = 0;    // Host::now_ns() plus LinkTiming delays; never decreases
};

class TrafficObserver {
public:
    virtual ~TrafficObserver() = default;
    // Called while another device is accessed, so the observer must only record the packet and
    // return. Packets that an observer causes during the call (DMA of a function with a link) are
    // not shown.
    virtual void on_packet(const Packet &packet) = 0;
};

// Passes packets on to all observers. An observer must outlive the last packet.
class Traffic {
public:
    void add(TrafficObserver &observer) { observers_.push_back(&observer); }
    bool watched() const { return !observers_.empty() && !showing_; }

    // Shows the packet delay_ns after the later of its own time and the previous packet's time.
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
