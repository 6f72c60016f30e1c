// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "models/hisi_ptt/selection.hpp"

#include <bit>

#include "models/hisi_ptt/hisi_ptt_regs.hpp"

namespace pmukit::models::hisi_ptt {

namespace {

// Inbound completions are for a CPU (A) or another device (B).
enum Part : unsigned {
    kOutbound = 1u << 0,
    kInboundRequest = 1u << 1,
    kInboundCompletionA = 1u << 2,
    kInboundCompletionB = 1u << 3,
};

// Indexed by format and direction, from Linux' Documentation/trace/hisi-ptt.rst.
constexpr unsigned kParts[2][4] = {
    {kInboundRequest | kInboundCompletionA | kInboundCompletionB, kOutbound,
     kOutbound | kInboundRequest | kInboundCompletionB, kOutbound | kInboundCompletionA},
    {0, kOutbound, kInboundRequest | kInboundCompletionB, kInboundCompletionA},
};

bool is_completion(const vfu::Packet &packet)
{
    return packet.kind == vfu::PacketKind::kCompletion;
}

Part part_of(const vfu::Packet &packet)
{
    if (packet.direction == vfu::PacketDirection::kOutbound)
        return kOutbound;
    if (!is_completion(packet))
        return kInboundRequest;
    return packet.requester == vfu::kRootComplex ? kInboundCompletionA : kInboundCompletionB;
}

uint32_t type_of(const vfu::Packet &packet)
{
    if (is_completion(packet))
        return kTypeCompletion;
    return packet.kind == vfu::PacketKind::kMemoryWrite ? kTypePosted : kTypeNonPosted;
}

unsigned parts_of(uint32_t ctrl)
{
    return kParts[kTraceCtrlFormat.get(ctrl)][kTraceCtrlDirection.get(ctrl)];
}

}  // namespace

bool Selection::direction_takes(const vfu::Packet &packet) const
{
    return (parts_of(ctrl_) & part_of(packet)) != 0;
}

bool Selection::type_takes(const vfu::Packet &packet) const
{
    return (kTraceCtrlType.get(ctrl_) & type_of(packet)) != 0;
}

bool Selection::filter_takes(const vfu::Packet &packet) const
{
    const uint32_t target = kTraceCtrlTarget.get(ctrl_);
    if (kTraceCtrlFilterMode.get(ctrl_) != 0)
        return packet.requester == target;
    return (target >> port_bit(packet.root_port) & 1) != 0;
}

bool Selection::takes(const Tlp &tlp) const
{
    return direction_takes(tlp.packet) && type_takes(tlp.packet) && filter_takes(tlp.packet);
}

bool Selection::reserved() const
{
    const unsigned parts = parts_of(ctrl_);
    const uint32_t types = kTraceCtrlType.get(ctrl_);
    return parts == 0 || types == 0 || types > (kTypePosted | kTypeNonPosted | kTypeCompletion) ||
           ((parts & kOutbound) != 0 && !std::has_single_bit(types));
}

}  // namespace pmukit::models::hisi_ptt
