// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "vfu/link.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "vfu/bdf.hpp"

namespace pmukit::vfu {
namespace {

constexpr LinkPlace kPlace{0x0100, 0x0080};
constexpr uint64_t kNow = 12345;
constexpr PacketLimits kLimits{128, 512};

class Watcher final : public TrafficObserver {
public:
    void on_packet(const Packet &packet) override { packets.push_back(packet); }
    std::vector<Packet> packets;
};

class LinkTest : public testing::Test {
protected:
    LinkTest() { traffic.add(watcher); }

    Traffic traffic;
    Watcher watcher;
    Link link{traffic, kPlace};
    const std::vector<Packet> &packets = watcher.packets;
};

TEST_F(LinkTest, CpuReadIsReportedAsRequestAndCompletion)
{
    const Link::Request request = link.cpu_reads(0xfe000010, 8, kNow);
    ASSERT_EQ(packets.size(), 1u);
    EXPECT_EQ(packets[0].kind, PacketKind::kMemoryRead);
    EXPECT_EQ(packets[0].direction, PacketDirection::kOutbound);
    EXPECT_EQ(packets[0].root_port, kPlace.root_port);
    EXPECT_EQ(packets[0].function, kPlace.function);
    EXPECT_EQ(packets[0].requester, kRootComplex);
    EXPECT_EQ(packets[0].address, 0xfe000010u);
    EXPECT_EQ(packets[0].bytes, 8u);
    EXPECT_EQ(packets[0].time_ns, kNow);

    link.complete(request, kNow + 1);
    ASSERT_EQ(packets.size(), 2u);
    EXPECT_EQ(packets[1].kind, PacketKind::kCompletion);
    EXPECT_EQ(packets[1].direction, PacketDirection::kInbound);
    EXPECT_EQ(packets[1].requester, kRootComplex);
    EXPECT_EQ(packets[1].completer, kPlace.function);
    EXPECT_EQ(packets[1].tag, packets[0].tag);
    EXPECT_EQ(packets[1].bytes, 8u);
    EXPECT_EQ(packets[1].bytes_left, 8u);
    EXPECT_EQ(packets[1].time_ns, kNow + 1);
}

TEST_F(LinkTest, PeerAnswerTimeDelaysTheCompletion)
{
    // At 128 MB/s a completion of 108 + 20 bytes takes 1 us, and a request of 20 bytes 156 ns.
    const Link fast(traffic, {0x0200, 0x0088}, {.answer_ns = 5000});
    Link slow(traffic, kPlace, {.answer_ns = 77, .bytes_per_us = 128});
    slow.peer_reads(0, 108, kLimits, fast, 128, kNow);
    ASSERT_EQ(packets.size(), 4u);
    EXPECT_EQ(packets[0].time_ns, kNow + 156) << "request, on the link of the requester";
    EXPECT_EQ(packets[1].time_ns, kNow + 156) << "request, on the other's";
    EXPECT_EQ(packets[2].time_ns, kNow + 156 + 5000);
    EXPECT_EQ(packets[3].time_ns, kNow + 156 + 5000 + 1000);
}

TEST_F(LinkTest, AnswerTimeDelaysFirstCompletionOnly)
{
    const Link peer(traffic, {0x0200, 0x0088}, {.answer_ns = 5000});
    link.peer_reads(0, 256, kLimits, peer, 128, kNow);
    ASSERT_EQ(packets.size(), 6u);
    EXPECT_EQ(packets[2].time_ns, kNow + 5000);
    EXPECT_EQ(packets[5].time_ns, kNow + 5000);
}

TEST_F(LinkTest, AnswerTimeDelaysCpuReads)
{
    Link slow(traffic, kPlace, {.answer_ns = 700});
    slow.complete(slow.cpu_reads(0, 4, kNow), kNow + 1);
    slow.complete(slow.cpu_reads_config(0, 4, kNow + 2), kNow + 3);
    ASSERT_EQ(packets.size(), 4u);
    EXPECT_EQ(packets[1].time_ns, kNow + 701);
    EXPECT_EQ(packets[2].time_ns, kNow + 701) << "nothing passes earlier than what passed before";
    EXPECT_EQ(packets[3].time_ns, kNow + 1401);
}

TEST_F(LinkTest, CpuWriteIsReportedWithoutACompletion)
{
    link.cpu_writes(0xfe000010, 4, kNow);
    ASSERT_EQ(packets.size(), 1u);
    EXPECT_EQ(packets[0].kind, PacketKind::kMemoryWrite);
    EXPECT_EQ(packets[0].direction, PacketDirection::kOutbound);
    EXPECT_EQ(packets[0].completer, kPlace.function);
}

TEST_F(LinkTest, TagsOfTheRootComplexAreOneSequenceOverAllLinks)
{
    Link other(traffic, {0x0200, 0x0088});
    link.complete(link.cpu_reads(0, 4, kNow), kNow);
    other.complete(other.cpu_reads(0, 4, kNow), kNow);
    link.complete(link.cpu_reads_config(0, 4, kNow), kNow);
    EXPECT_EQ(packets[0].tag, 0);
    EXPECT_EQ(packets[2].tag, 1);
    EXPECT_EQ(packets[4].tag, 2);
    EXPECT_EQ(packets[5].tag, 2);
}

TEST_F(LinkTest, AConfigurationWriteIsCompletedWithoutData)
{
    link.complete(link.cpu_writes_config(0x42, 2, kNow), kNow);
    ASSERT_EQ(packets.size(), 2u);
    EXPECT_EQ(packets[0].kind, PacketKind::kConfigWrite);
    EXPECT_EQ(packets[0].address, 0x42u);
    EXPECT_EQ(packets[1].kind, PacketKind::kCompletion);
    EXPECT_EQ(packets[1].bytes, 0u);
    EXPECT_EQ(packets[1].bytes_left, 4u);
    EXPECT_EQ(packets[1].address, 0u);
}

TEST_F(LinkTest, AConfigurationReadIsAnsweredWithAWholeDword)
{
    link.complete(link.cpu_reads_config(0x42, 2, kNow), kNow);
    ASSERT_EQ(packets.size(), 2u);
    EXPECT_EQ(packets[0].address, 0x42u);
    EXPECT_EQ(packets[0].bytes, 2u);
    EXPECT_EQ(packets[1].bytes, 4u);
    EXPECT_EQ(packets[1].bytes_left, 4u);
    EXPECT_EQ(packets[1].address, 0u);
}

TEST_F(LinkTest, ConfigAccessesBeyondOneDwordAreNotReported)
{
    link.complete(link.cpu_reads_config(0, 4096, kNow), kNow);
    link.complete(link.cpu_reads_config(2, 4, kNow), kNow);
    EXPECT_TRUE(packets.empty());
}

TEST_F(LinkTest, DmaWritesAreSplitAtMultiplesOfThePayloadLimit)
{
    link.dma_writes(0x1040, 300, kLimits, kNow);
    ASSERT_EQ(packets.size(), 3u);
    EXPECT_EQ(packets[0].address, 0x1040u);
    EXPECT_EQ(packets[0].bytes, 64u);
    EXPECT_EQ(packets[1].address, 0x1080u);
    EXPECT_EQ(packets[1].bytes, 128u);
    EXPECT_EQ(packets[2].bytes, 108u);
    for (const Packet &packet : packets) {
        EXPECT_EQ(packet.kind, PacketKind::kMemoryWrite);
        EXPECT_EQ(packet.direction, PacketDirection::kInbound);
        EXPECT_EQ(packet.requester, kPlace.function);
        EXPECT_FALSE(packet.interrupt);
    }
}

TEST_F(LinkTest, NoPacketCrosses4KiB)
{
    link.dma_writes(0x1fff, 8192, {4096, 4096}, kNow);
    for (const Packet &packet : packets)
        EXPECT_EQ(packet.address / 4096, (packet.address + packet.bytes - 1) / 4096);
    EXPECT_EQ(packets.size(), 3u);
    watcher.packets.clear();
    link.complete(link.cpu_reads(0x1ffc, 8, kNow), kNow);
    ASSERT_EQ(packets.size(), 4u);
    EXPECT_EQ(packets[3].tag, packets[1].tag);
    EXPECT_EQ(packets[3].address, 0x2000u);
}

TEST_F(LinkTest, ADmaReadIsAnsweredInPayloadSizedPieces)
{
    link.dma_reads(0x1000, 600, true, kLimits, kNow);
    ASSERT_EQ(packets.size(), 2u + 4 + 1);
    EXPECT_EQ(packets[0].kind, PacketKind::kMemoryRead);
    EXPECT_EQ(packets[0].direction, PacketDirection::kInbound);
    EXPECT_EQ(packets[0].bytes, 512u);
    for (unsigned i = 1; i <= 4; i++) {
        EXPECT_EQ(packets[i].kind, PacketKind::kCompletion);
        EXPECT_EQ(packets[i].direction, PacketDirection::kOutbound);
        EXPECT_EQ(packets[i].requester, kPlace.function);
        EXPECT_EQ(packets[i].completer, kRootComplex);
        EXPECT_EQ(packets[i].tag, packets[0].tag);
        EXPECT_EQ(packets[i].bytes_left, 512u - 128 * (i - 1));
    }
    EXPECT_EQ(packets[5].bytes, 88u);
    EXPECT_NE(packets[5].tag, packets[0].tag);
}

TEST_F(LinkTest, DmaReadOfUnmappedMemoryIsUnsupported)
{
    link.dma_reads(0x1000, 64, false, kLimits, kNow);
    ASSERT_EQ(packets.size(), 2u);
    EXPECT_EQ(packets[1].status, CompletionStatus::kUnsupportedRequest);
    EXPECT_EQ(packets[1].bytes, 0u);
}

TEST_F(LinkTest, ADmaReadFromAPeerPassesBothLinks)
{
    Link peer(traffic, {0x0200, 0x0088});
    link.peer_reads(0x1040, 100, kLimits, peer, 128, kNow);
    ASSERT_EQ(packets.size(), 6u);
    const auto expect = [this](size_t i, PacketKind kind, PacketDirection direction, uint16_t port,
                               uint32_t bytes, uint32_t left) {
        EXPECT_EQ(packets[i].kind, kind) << i;
        EXPECT_EQ(packets[i].direction, direction) << i;
        EXPECT_EQ(packets[i].root_port, port) << i;
        EXPECT_EQ(packets[i].requester, kPlace.function) << i;
        EXPECT_EQ(packets[i].tag, packets[0].tag) << i;
        EXPECT_EQ(packets[i].bytes, bytes) << i;
        EXPECT_EQ(packets[i].bytes_left, left) << i;
    };
    expect(0, PacketKind::kMemoryRead, PacketDirection::kInbound, 0x0080, 100, 0);
    expect(1, PacketKind::kMemoryRead, PacketDirection::kOutbound, 0x0088, 100, 0);
    expect(2, PacketKind::kCompletion, PacketDirection::kInbound, 0x0088, 64, 100);
    expect(3, PacketKind::kCompletion, PacketDirection::kOutbound, 0x0080, 64, 100);
    expect(4, PacketKind::kCompletion, PacketDirection::kInbound, 0x0088, 36, 36);
    expect(5, PacketKind::kCompletion, PacketDirection::kOutbound, 0x0080, 36, 36);
    for (size_t i = 1; i < packets.size(); i++)
        EXPECT_EQ(packets[i].completer, 0x0200) << i;
    EXPECT_EQ(packets[1].function, 0x0200);
    EXPECT_EQ(packets[3].function, kPlace.function);
}

TEST_F(LinkTest, ADmaWriteToAPeerPassesBothLinks)
{
    Link peer(traffic, {0x0200, 0x0088});
    link.peer_writes(0x1000, 130, kLimits, peer, kNow);
    ASSERT_EQ(packets.size(), 4u);
    EXPECT_EQ(packets[0].direction, PacketDirection::kInbound);
    EXPECT_EQ(packets[0].root_port, 0x0080);
    EXPECT_EQ(packets[1].direction, PacketDirection::kOutbound);
    EXPECT_EQ(packets[1].root_port, 0x0088);
    EXPECT_EQ(packets[1].requester, kPlace.function);
    EXPECT_EQ(packets[3].bytes, 2u);
}

TEST_F(LinkTest, PacketsBetweenPeersBelowOneRootPortAreNotReported)
{
    Link peer(traffic, {0x0300, kPlace.root_port});
    link.peer_reads(0x1000, 4, kLimits, peer, 128, kNow);
    link.peer_writes(0x1000, 4, kLimits, peer, kNow);
    EXPECT_TRUE(packets.empty());
}

TEST_F(LinkTest, InterruptIsReportedAsADwordWriteWithTheInterruptFlag)
{
    link.interrupts(0xfee00000, kNow);
    ASSERT_EQ(packets.size(), 1u);
    EXPECT_EQ(packets[0].kind, PacketKind::kMemoryWrite);
    EXPECT_EQ(packets[0].direction, PacketDirection::kInbound);
    EXPECT_EQ(packets[0].bytes, 4u);
    EXPECT_TRUE(packets[0].interrupt);
}

TEST_F(LinkTest, PacketsOfAFunctionWithoutLinkAreNotReported)
{
    Link none;
    none.complete(none.cpu_reads(0, 4, kNow), kNow);
    none.dma_writes(0, 4, kLimits, kNow);
    none.interrupts(0, kNow);
    EXPECT_TRUE(packets.empty());
}

// An observer that, like a trace engine, does DMA over a watched link.
class Echo final : public TrafficObserver {
public:
    explicit Echo(Link &link) : link_(link) {}
    void on_packet(const Packet &) override
    {
        seen++;
        link_.dma_writes(0, 4, kLimits, kNow);
    }
    unsigned seen = 0;

private:
    Link &link_;
};

TEST_F(LinkTest, PacketsCausedByAnObserverAreNotReported)
{
    Echo echo(link);
    traffic.add(echo);
    link.cpu_writes(0, 4, kNow);
    EXPECT_EQ(echo.seen, 1u);
    EXPECT_EQ(packets.size(), 1u);
}

TEST(Bdf, ParsesBusDeviceFunction)
{
    EXPECT_EQ(parse_bdf("00:10.0"), 0x0080);
    EXPECT_EQ(parse_bdf("01:00.1"), 0x0101);
    EXPECT_EQ(parse_bdf("ff:1f.7"), 0xffff);
    for (const char *text : {"", "00:10", "0:10.0", "00:20.0", "00:10.8", "00:1g.0", "00.10:0",
                             "0000:00:10.0", "00:10.0 ", "-1:10.0"})
        EXPECT_FALSE(parse_bdf(text)) << text;
}

}  // namespace
}  // namespace pmukit::vfu
