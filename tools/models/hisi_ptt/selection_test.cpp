// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "models/hisi_ptt/selection.hpp"

#include <gtest/gtest.h>

#include <string>

#include "models/hisi_ptt/hisi_ptt_regs.hpp"

namespace pmukit::models::hisi_ptt {
namespace {

using vfu::PacketDirection;
using vfu::PacketKind;

constexpr uint16_t kPort = 0x0080;      // 00:10.0
constexpr uint16_t kFunction = 0x0100;  // 01:00.0
constexpr uint16_t kPeer = 0x0200;

Tlp tlp_of(PacketKind kind, PacketDirection direction, uint16_t requester)
{
    Tlp tlp;
    tlp.packet.kind = kind;
    tlp.packet.direction = direction;
    tlp.packet.root_port = kPort;
    tlp.packet.function = kFunction;
    tlp.packet.requester = requester;
    return tlp;
}

// All packets of a link; capital letters are outbound, small ones inbound: P posted, N non-posted,
// C completion, G and H configuration accesses, a and b the two kinds of inbound completions.
struct Sort {
    char name;
    Tlp tlp;
};
const Sort kSorts[] = {
    {'P', tlp_of(PacketKind::kMemoryWrite, PacketDirection::kOutbound, 0)},
    {'N', tlp_of(PacketKind::kMemoryRead, PacketDirection::kOutbound, 0)},
    {'G', tlp_of(PacketKind::kConfigRead, PacketDirection::kOutbound, 0)},
    {'H', tlp_of(PacketKind::kConfigWrite, PacketDirection::kOutbound, 0)},
    {'C', tlp_of(PacketKind::kCompletion, PacketDirection::kOutbound, kFunction)},
    {'p', tlp_of(PacketKind::kMemoryWrite, PacketDirection::kInbound, kFunction)},
    {'n', tlp_of(PacketKind::kMemoryRead, PacketDirection::kInbound, kFunction)},
    {'a', tlp_of(PacketKind::kCompletion, PacketDirection::kInbound, 0)},
    {'b', tlp_of(PacketKind::kCompletion, PacketDirection::kInbound, kPeer)},
};

uint32_t ctrl_of(uint32_t format, uint32_t direction, uint32_t types)
{
    return kTraceCtrlFormat.put(format) | kTraceCtrlDirection.put(direction) |
           kTraceCtrlType.put(types) | kTraceCtrlTarget.put(1u << port_bit(kPort));
}

std::string taken(uint32_t ctrl)
{
    std::string names;
    for (const Sort &sort : kSorts)
        if (Selection(ctrl).takes(sort.tlp))
            names += sort.name;
    return names;
}

TEST(Selection, FourDwordFormatSelectsPacketsByDirection)
{
    EXPECT_EQ(taken(ctrl_of(0, 0, 7)), "pnab");
    EXPECT_EQ(taken(ctrl_of(0, 1, 7)), "PNGHC");
    EXPECT_EQ(taken(ctrl_of(0, 2, 7)), "PNGHCpnb");
    EXPECT_EQ(taken(ctrl_of(0, 3, 7)), "PNGHCa");
}

TEST(Selection, EightDwordFormatSelectsPacketsByDirection)
{
    EXPECT_EQ(taken(ctrl_of(1, 0, 7)), "");
    EXPECT_EQ(taken(ctrl_of(1, 1, 7)), "PNGHC");
    EXPECT_EQ(taken(ctrl_of(1, 2, 7)), "pnb");
    EXPECT_EQ(taken(ctrl_of(1, 3, 7)), "a");
}

TEST(Selection, EachTypeBitSelectsOneType)
{
    EXPECT_EQ(taken(ctrl_of(0, 2, kTypePosted)), "Pp");
    EXPECT_EQ(taken(ctrl_of(0, 2, kTypeNonPosted)), "NGHn");
    EXPECT_EQ(taken(ctrl_of(0, 2, kTypeCompletion)), "Cb");
    EXPECT_EQ(taken(ctrl_of(0, 2, 0)), "");
    EXPECT_EQ(taken(ctrl_of(0, 2, 8)), "");
}

TEST(Selection, PortFilterBitIsTwiceTheLowThreeBitsOfTheDeviceNumber)
{
    struct Case {
        uint16_t port;
        unsigned bit;
    };
    for (const Case &c : {Case{0x0080, 0}, Case{0x0088, 2}, Case{0x0007, 0}, Case{0x00b8, 14}}) {
        Tlp tlp = kSorts[0].tlp;
        tlp.packet.root_port = c.port;
        const uint32_t ctrl = kTraceCtrlDirection.put(1) | kTraceCtrlType.put(7);
        EXPECT_TRUE(Selection(ctrl | kTraceCtrlTarget.put(1u << c.bit)).takes(tlp)) << c.port;
        EXPECT_FALSE(Selection(ctrl | kTraceCtrlTarget.put(0xffff & ~(1u << c.bit))).takes(tlp));
    }
}

TEST(Selection, RequesterFilterComparesAllBits)
{
    const uint32_t both = ctrl_of(0, 2, 7) & ~kTraceCtrlTarget.mask();
    const uint32_t mode = kTraceCtrlFilterMode.put(1);
    EXPECT_EQ(taken(both | mode | kTraceCtrlTarget.put(kFunction)), "Cpn");
    EXPECT_EQ(taken(both | mode | kTraceCtrlTarget.put(kPeer)), "b");
    EXPECT_EQ(taken(both | mode | kTraceCtrlTarget.put(kFunction | 1)), "");
}

TEST(Selection, DetectsReservedCombinationsOfFormatDirectionAndType)
{
    EXPECT_TRUE(Selection(ctrl_of(1, 0, 1)).reserved());
    EXPECT_TRUE(Selection(ctrl_of(0, 1, 3)).reserved());
    EXPECT_TRUE(Selection(ctrl_of(0, 0, 0)).reserved());
    EXPECT_TRUE(Selection(ctrl_of(0, 0, 8)).reserved());
    EXPECT_FALSE(Selection(ctrl_of(0, 0, 7)).reserved());
    EXPECT_FALSE(Selection(ctrl_of(1, 2, 7)).reserved());
    EXPECT_FALSE(Selection(ctrl_of(0, 3, 4)).reserved());
}

}  // namespace
}  // namespace pmukit::models::hisi_ptt
