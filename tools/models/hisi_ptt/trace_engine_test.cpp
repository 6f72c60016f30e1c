// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "models/hisi_ptt/trace_engine.hpp"

#include <gtest/gtest.h>

#include <array>
#include <utility>

#include "models/fake_machine.hpp"

namespace pmukit::models::hisi_ptt {
namespace {

constexpr uint64_t kBase = 0x8'0000'0000;
constexpr uint32_t kSize = 64;  // size of a buffer: two entries of 32 bytes

class TraceEngineTest : public testing::Test {
protected:
    TraceEngineTest()
    {
        for (unsigned i = 0; i < kBuffers; i++)
            engine.set_base(i, kBase + i * 0x100);
        engine.set_size(kSize);
    }

    void begin()
    {
        engine.set_mask(0);
        engine.start();
    }
    void put(unsigned count, size_t bytes = 32)
    {
        for (unsigned i = 0; i < count; i++) {
            std::array<std::byte, 32> entry;
            entry.fill(static_cast<std::byte>(++last));
            engine.put(Bytes(entry).first(bytes));
        }
    }
    std::byte at(size_t offset) const { return machine.memory[offset]; }

    FakeMachine machine{0x400, kBase};
    TraceEngine engine{machine};
    unsigned last = 0;
};

TEST_F(TraceEngineTest, FirstEntryIsWrittenToTheStartOfTheFirstBuffer)
{
    begin();
    put(1);
    EXPECT_EQ(engine.write_status(), 32u);
    EXPECT_EQ(at(0), std::byte{1});
    EXPECT_EQ(at(31), std::byte{1});
    EXPECT_EQ(at(32), std::byte{0});
    EXPECT_TRUE(machine.raised.empty());
}

TEST_F(TraceEngineTest, FullBufferRaisesAnInterruptAndStartsTheNext)
{
    begin();
    put(2);
    EXPECT_EQ(engine.status(), 1u);
    EXPECT_EQ(machine.raised, std::vector<unsigned>{0});
    EXPECT_EQ(engine.write_status(), 1u << 28);
    put(1);
    EXPECT_EQ(at(0x100), std::byte{3});
    EXPECT_EQ(engine.write_status(), 1u << 28 | 32);
}

TEST_F(TraceEngineTest, TheFourthBufferIsFollowedByTheFirst)
{
    begin();
    for (unsigned buffer = 0; buffer < kBuffers; buffer++) {
        put(2);
        EXPECT_EQ(engine.status(), 1u << buffer);
        engine.clear_status(1u << buffer);
    }
    EXPECT_EQ(engine.write_status(), 0u);
    EXPECT_EQ(engine.counts().overruns, 0u);
    put(1);
    EXPECT_EQ(at(0), std::byte{9});
}

TEST_F(TraceEngineTest, OverrunIsCountedWhenAnUnacknowledgedBufferIsOverwritten)
{
    begin();
    put(7);
    EXPECT_EQ(engine.status(), 7u);
    EXPECT_EQ(engine.counts().overruns, 0u);
    put(1);  // buffer 3 is full, but buffer 0 is not started again
    EXPECT_EQ(engine.counts().overruns, 0u);
    put(2);
    EXPECT_EQ(engine.counts().overruns, 1u);
    EXPECT_EQ(at(0), std::byte{9});
    EXPECT_EQ(machine.raised.size(), 5u);
    EXPECT_EQ(engine.counts().buffers, 5u);
}

TEST_F(TraceEngineTest, UnmaskingABufferSendsItsPendingMsi)
{
    begin();
    engine.set_mask(0x1);
    put(2);
    EXPECT_TRUE(machine.raised.empty());
    EXPECT_EQ(engine.status(), 1u);
    engine.set_mask(0);
    EXPECT_EQ(machine.raised.size(), 1u);
    // The mask does not change, so no further message is sent.
    engine.set_mask(0);
    EXPECT_EQ(machine.raised.size(), 1u);
}

TEST_F(TraceEngineTest, MaskBitsOfOtherBuffersDoNotBlockAnInterrupt)
{
    begin();
    engine.set_mask(0xe);
    put(2);
    EXPECT_EQ(machine.raised.size(), 1u);
}

TEST_F(TraceEngineTest, AllBuffersAreMaskedAtPowerOn)
{
    engine.start();
    put(2);
    EXPECT_EQ(engine.mask(), 0xfu);
    EXPECT_TRUE(machine.raised.empty());
}

TEST_F(TraceEngineTest, StatusBitsClearOnlyByWritingOne)
{
    begin();
    put(4);
    engine.clear_status(0);
    EXPECT_EQ(engine.status(), 3u);
    engine.clear_status(0xe);
    EXPECT_EQ(engine.status(), 1u);
}

TEST_F(TraceEngineTest, WritePositionIsKeptAfterAStopUntilTheReset)
{
    begin();
    put(3);
    engine.stop();
    EXPECT_EQ(engine.write_status(), 1u << 28 | 32);
    engine.start();
    put(1, 16);
    EXPECT_EQ(engine.write_status(), 1u << 28 | 48);
    engine.stop();
    engine.reset_pointer();
    EXPECT_EQ(engine.write_status(), 0u);
    engine.start();
    put(1);
    EXPECT_EQ(at(0), std::byte{5});
}

TEST_F(TraceEngineTest, EntryThatDoesNotFitContinuesInTheNextBuffer)
{
    engine.set_size(40);
    begin();
    put(2);
    EXPECT_EQ(at(39), std::byte{2});
    EXPECT_EQ(at(40), std::byte{0});
    EXPECT_EQ(at(0x100), std::byte{2});
    EXPECT_EQ(at(0x100 + 23), std::byte{2});
    EXPECT_EQ(engine.write_status(), 1u << 28 | 24);
}

TEST_F(TraceEngineTest, BufferAddressWrittenDuringAFillAppliesToTheNextFill)
{
    begin();
    put(1);
    engine.set_base(0, kBase + 0x80);
    put(1);
    EXPECT_EQ(at(32), std::byte{2});
    put(6);
    engine.clear_status(0xf);
    put(1);
    EXPECT_EQ(at(0x80), std::byte{9});
}

TEST_F(TraceEngineTest, BufferSizeOfZeroOrTooLargeForTheStatusFieldLosesAllEntries)
{
    for (const uint32_t size : {0u, 0x10000000u, 0xffffffffu}) {
        engine.set_size(size);
        begin();
        put(1);
        EXPECT_EQ(engine.write_status(), 0u);
    }
    EXPECT_EQ(engine.counts().lost, 3u);
    EXPECT_EQ(engine.counts().entries, 0u);
}

TEST_F(TraceEngineTest, EntryOutsideGuestMemoryIsLostButAdvancesThePosition)
{
    engine.set_base(0, kBase - 32);
    begin();
    put(2);
    EXPECT_EQ(engine.counts().lost, 1u);
    EXPECT_EQ(engine.counts().entries, 1u);
    EXPECT_EQ(at(0), std::byte{2});
    EXPECT_EQ(engine.status(), 1u);
}

// A host that shows its first DMA write as a packet, which is traced, too.
class EchoingMachine final : public vfu::Host {
public:
    bool dma_read(uint64_t address, std::span<std::byte> into) override
    {
        return machine.dma_read(address, into);
    }
    bool dma_write(uint64_t address, Bytes from) override
    {
        if (TraceEngine *const engine = std::exchange(echo_to, nullptr)) {
            std::array<std::byte, 32> entry;
            entry.fill(std::byte{0xee});
            engine->put(entry);
        }
        return machine.dma_write(address, from);
    }
    void raise(unsigned vector) override { machine.raise(vector); }
    uint64_t now_ns() const override { return machine.now_ns(); }
    void log(std::string_view line) override { machine.log(line); }

    FakeMachine machine{0x400, kBase};
    TraceEngine *echo_to = nullptr;
};

TEST(TraceEngine, EntryThatArrivesDuringADmaWriteIsStoredAfterTheFirst)
{
    for (const uint32_t before : {0u, 32u}) {
        EchoingMachine echoing;
        TraceEngine engine(echoing);
        engine.set_size(kSize);
        engine.set_base(0, kBase);
        engine.set_base(1, kBase + kSize);
        engine.set_mask(0);
        engine.start();
        std::array<std::byte, 32> entry;
        entry.fill(std::byte{1});
        if (before != 0)
            engine.put(entry);
        echoing.echo_to = &engine;
        engine.put(entry);
        EXPECT_EQ(echoing.machine.memory[before], std::byte{1});
        EXPECT_EQ(echoing.machine.memory[before + 32], std::byte{0xee});
        EXPECT_EQ(engine.status(), 1u);
        EXPECT_EQ(engine.write_status(), 1u << 28 | before);
        EXPECT_EQ(engine.counts().entries, before / 32 + 2);
    }
}

TEST_F(TraceEngineTest, PowerOnClearsTheRegistersButKeepsTheCountsOfEntries)
{
    begin();
    put(3);
    engine.power_on();
    EXPECT_FALSE(engine.running());
    EXPECT_EQ(engine.write_status(), 0u);
    EXPECT_EQ(engine.status(), 0u);
    EXPECT_EQ(engine.mask(), 0xfu);
    EXPECT_EQ(engine.size_bytes(), 0u);
    EXPECT_EQ(engine.counts().entries, 3u);
}

}  // namespace
}  // namespace pmukit::models::hisi_ptt
