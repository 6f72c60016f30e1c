// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The PCIe link of one function: converts accesses by CPUs and by the function to packets. A
// function without a place (a root-complex integrated endpoint) has no link, so observers see none
// of its packets.
#pragma once

#include <cstdint>
#include <optional>

#include "vfu/traffic.hpp"

namespace pmukit::vfu {

// The two limits a guest sets in Device Control (7.5.3.4), powers of two from 128 to 4096.
struct PacketLimits {
    uint32_t payload_bytes = 128;
    uint32_t read_request_bytes = 512;
};

class Link {
public:
    Link() = default;
    Link(Traffic &traffic, const LinkPlace &place, const LinkTiming &timing = {})
        : traffic_(&traffic), place_(place), timing_(timing)
    {
    }

    // Returns true if an observer sees the packets; packets of an unwatched link are dropped.
    bool watched() const { return traffic_ && traffic_->watched(); }

    // A non-posted request by a CPU. Pass it to complete() after the access to the function.
    // Observers then see packets that the function sends meanwhile between the request and its
    // completion.
    struct Request {
        PacketKind kind = PacketKind::kMemoryRead;
        uint64_t address = 0;
        uint32_t bytes = 0;
        uint8_t first_tag = 0;
        bool shown = false;
        LinkProtocol protocol = LinkProtocol::kIo;
    };
    [[nodiscard]] Request cpu_reads(uint64_t address, uint32_t bytes, uint64_t now_ns,
                                    LinkProtocol protocol = LinkProtocol::kIo);
    [[nodiscard]] Request cpu_reads_config(uint64_t offset, uint32_t bytes, uint64_t now_ns);
    [[nodiscard]] Request cpu_writes_config(uint64_t offset, uint32_t bytes, uint64_t now_ns);
    void complete(const Request &request, uint64_t now_ns);

    void cpu_writes(uint64_t address, uint32_t bytes, uint64_t now_ns,
                    LinkProtocol protocol = LinkProtocol::kIo);

    // good: true if the memory is mapped; otherwise each request completes with Unsupported
    // Request.
    void dma_reads(uint64_t address, uint64_t bytes, bool good, const PacketLimits &limits,
                   uint64_t now_ns);
    void dma_writes(uint64_t address, uint64_t bytes, const PacketLimits &limits, uint64_t now_ns);
    void interrupts(uint64_t address, uint64_t now_ns);

    // DMA to another function: requests and completions are shown on both links. Both functions
    // must have a link. If both are below one root port, a switch routes the packets, no root port
    // sees them, and none is shown.
    void peer_reads(uint64_t address, uint64_t bytes, const PacketLimits &limits, const Link &peer,
                    uint32_t peer_payload_bytes, uint64_t now_ns);
    void peer_writes(uint64_t address, uint64_t bytes, const PacketLimits &limits, const Link &peer,
                     uint64_t now_ns);
    bool has_place() const { return traffic_ != nullptr; }

private:
    // wait_ns: delay before the packet is sent.
    void show(const Packet &packet, uint64_t wait_ns = 0) const;
    // Show a request on the peer's link, and its completions on both links.
    void pass_down(const Packet &request, const Link &peer) const;
    void answer_peer(const Packet &request, const Link &peer, uint32_t payload_bytes) const;
    Packet outbound(PacketKind kind, uint64_t now_ns) const;
    Packet inbound(PacketKind kind, uint64_t now_ns) const;
    Packet answer(uint8_t tag, uint64_t now_ns) const;
    void complete_config(const Request &request, uint64_t now_ns);
    Request ask_config(PacketKind kind, uint64_t offset, uint32_t bytes, uint64_t now_ns);
    void complete_dma_read(const Packet &request, bool good, uint32_t payload_bytes);

    Traffic *traffic_ = nullptr;
    LinkPlace place_;
    LinkTiming timing_;
    uint8_t next_tag_ = 0;  // tag of the next request of the function
};

}  // namespace pmukit::vfu
