// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Tests DMA from one function of a chassis to another.
#include <vector>

#include "vfu/session.hpp"
#include "vfu/test_support.hpp"

namespace pmukit::vfu {
namespace {

using namespace test;

constexpr uint64_t kAskedBar0 = 0xfe000000;
constexpr uint64_t kAskedBar2 = 0x40'0000'0000;

class Counter final : public TrafficObserver {
public:
    void on_packet(const Packet &) override { packets++; }
    unsigned packets = 0;
};

class PeerTest : public testing::Test {
protected:
    PeerTest()
    {
        traffic.add(counter);
        join(asker, asker_device, asker_client, {0x0100, 0x0080});
        join(asked, asked_device, asked_client, {0x0200, 0x0088});
        ConfigSpace &config = asked_device.config();
        config.write(0x10, 4, kAskedBar0);
        config.write(0x18, 4, static_cast<uint32_t>(kAskedBar2));
        config.write(0x1c, 4, kAskedBar2 >> 32);
        config.write(0x04, 2, 0x0002);
        asker_device.config().write(0x04, 2, 0x0004);
    }
    void join(Session &session, FakeDevice &device, TestClient &client, const LinkPlace &place)
    {
        session.bind(device);
        session.set_link(Link(traffic, place));
        session.set_peers(peers);
        peers.push_back(&session);
        session.attach(client.connect());
    }

    Traffic traffic;
    Counter counter;
    FakeDevice asker_device, asked_device;
    TestClient asker_client, asked_client;
    std::vector<Session *> peers;
    Session asker, asked;
    std::array<std::byte, 32> buffer{};
};

TEST_F(PeerTest, AWriteArrivesInAlignedPieces)
{
    buffer[0] = std::byte{0xaa};
    EXPECT_TRUE(asker.dma_write(kAskedBar2 + 0x103, Bytes(buffer).first(14)));
    const std::vector<DeviceCall> expected = {{true, 2, 0x103, 1, 0xaa},
                                              {true, 2, 0x104, 4, 0},
                                              {true, 2, 0x108, 8, 0},
                                              {true, 2, 0x110, 1, 0}};
    EXPECT_EQ(asked_device.calls, expected);
    EXPECT_EQ(counter.packets, 2u);
}

TEST_F(PeerTest, ReadReturnsBytesOfThePeer)
{
    EXPECT_TRUE(asker.dma_read(kAskedBar0 + 8, std::span(buffer).first(4)));
    EXPECT_EQ(buffer[0], std::byte{0x88});
    EXPECT_EQ(buffer[3], std::byte{0x55});
    EXPECT_EQ(asked_device.calls, (std::vector<DeviceCall>{{false, 0, 8, 4, 0}}));
    EXPECT_EQ(counter.packets, 4u);
}

TEST_F(PeerTest, DeviceDistinguishesPeerAndCpuAccesses)
{
    const auto ask = [this](wire::Command command, const std::vector<std::byte> &body) {
        asked_client.send_raw(TestClient::message(command, body));
        EXPECT_TRUE(asked.on_ready());
    };
    EXPECT_TRUE(asker.dma_write(kAskedBar2, Bytes(buffer).first(16)));
    EXPECT_TRUE(asker.dma_read(kAskedBar2, std::span(buffer).first(8)));
    EXPECT_EQ(asked_device.peer_accesses, 3u);
    ask(wire::Command::kVersion, version_body());
    ask(wire::Command::kRegionRead, access_body(2, 0, 8));
    ask(wire::Command::kRegionWrite, access_body(2, 0, 8, std::vector<std::byte>(8)));
    EXPECT_EQ(asked_device.calls.size(), 5u);
    EXPECT_EQ(asked_device.peer_accesses, 3u);
}

TEST_F(PeerTest, ARangeAcrossTheEndOfABarIsUnsupported)
{
    EXPECT_FALSE(asker.dma_read(kAskedBar0 + kBar0Bytes - 2, std::span(buffer).first(4)));
    EXPECT_FALSE(asker.dma_write(kAskedBar0 - 1, Bytes(buffer).first(2)));
    EXPECT_FALSE(asker.dma_write(~uint64_t{0}, Bytes(buffer).first(2)));
    EXPECT_TRUE(asked_device.calls.empty());
}

TEST_F(PeerTest, AFunctionThatDoesNotDecodeMemoryDoesNotAnswer)
{
    asked_device.config().write(0x04, 2, 0);
    EXPECT_FALSE(asker.dma_read(kAskedBar0, std::span(buffer).first(4)));
}

TEST_F(PeerTest, FunctionWithoutClientDoesNotAnswer)
{
    asked.detach();
    EXPECT_FALSE(asker.dma_read(kAskedBar0, std::span(buffer).first(4)));
}

TEST_F(PeerTest, DmaToTheFunctionsOwnBarIsRefused)
{
    asker_device.config().write(0x10, 4, 0xfd000000);
    asker_device.config().write(0x04, 2, 0x0006);
    EXPECT_FALSE(asker.dma_read(0xfd000000, std::span(buffer).first(4)));
}

TEST_F(PeerTest, BarWithoutAddressIsNotAccessedAtAddress0)
{
    asked_device.config().write(0x10, 4, 0);
    EXPECT_FALSE(asker.dma_read(0, std::span(buffer).first(4)));
}

TEST_F(PeerTest, GuestMemoryTakesPrecedenceOverAPeersBarAtTheSameAddress)
{
    const Fd memory = make_memory(0x1000);
    asker_client.send_raw(TestClient::message(wire::Command::kVersion, version_body()));
    asker_client.send_raw(
        TestClient::message(wire::Command::kDmaMap,
                            bytes_of(wire::DmaMap{sizeof(wire::DmaMap), wire::kDmaReadable, 0,
                                                  kAskedBar0, 0x1000})),
        {memory.get()});
    ASSERT_TRUE(asker.on_ready());
    EXPECT_TRUE(asker.dma_read(kAskedBar0, std::span(buffer).first(4)));
    EXPECT_EQ(buffer[0], std::byte{0});
    EXPECT_TRUE(asked_device.calls.empty());
}

// A device whose register reads do DMA from the other device's BAR.
class Echo final : public Device {
public:
    Echo() : config_({.vendor = 0x1234, .device = 0x5678})
    {
        config_.add_bar(0, BarKind::kMemory32, 0x1000);
        config_.add_pcie_endpoint();
    }
    ConfigSpace &config() override { return config_; }
    uint64_t bar_read(unsigned, uint64_t, unsigned) override
    {
        std::array<std::byte, 4> ignored;
        reads++;
        return host && host->dma_read(other_bar, ignored);
    }
    void bar_write(unsigned, uint64_t, unsigned, uint64_t) override {}
    void reset() override {}
    std::optional<uint64_t> next_deadline_ns() const override { return std::nullopt; }
    void advance(uint64_t) override {}

    Host *host = nullptr;
    uint64_t other_bar = 0;
    unsigned reads = 0;

private:
    ConfigSpace config_;
};

TEST(Peers, MutualPeerDmaDoesNotRecurse)
{
    constexpr uint32_t kBars0[] = {0xfd000000, 0xfe000000};
    Traffic traffic;
    std::vector<Session *> peers;
    Echo devices[2];
    Session sessions[2];
    TestClient clients[2];
    for (unsigned i = 0; i < 2; i++) {
        sessions[i].bind(devices[i]);
        sessions[i].set_link(
            Link(traffic, {static_cast<uint16_t>(0x100 * (i + 1)), static_cast<uint16_t>(8 * i)}));
        sessions[i].set_peers(peers);
        peers.push_back(&sessions[i]);
        sessions[i].attach(clients[i].connect());
        devices[i].config().write(0x10, 4, kBars0[i]);
        devices[i].config().write(0x04, 2, 0x0006);
        devices[i].host = &sessions[i];
        devices[i].other_bar = kBars0[1 - i];
    }
    std::array<std::byte, 4> into;
    EXPECT_TRUE(sessions[0].dma_read(kBars0[1], into));
    EXPECT_EQ(devices[1].reads, 1u);
    EXPECT_EQ(devices[0].reads, 0u);
}

}  // namespace
}  // namespace pmukit::vfu
