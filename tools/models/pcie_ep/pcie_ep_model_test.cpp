// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "models/pcie_ep/pcie_ep_model.hpp"

#include <gtest/gtest.h>

#include "models/fake_machine.hpp"
#include "models/pcie_ep/pcie_ep_regs.hpp"

namespace pmukit::models::pcie_ep {
namespace {

constexpr uint64_t kBase = 0x1'0000'0000;

class PcieEp : public testing::Test {
protected:
    void write(uint32_t offset, uint32_t value) { model.bar_write(kRegisterBar, offset, 4, value); }
    uint64_t read(uint32_t offset) { return model.bar_read(kRegisterBar, offset, 4); }
    void describe(uint64_t address, uint32_t offset, uint32_t length)
    {
        write(kAddressLow, static_cast<uint32_t>(address));
        write(kAddressHigh, static_cast<uint32_t>(address >> 32));
        write(kOffset, offset);
        write(kLength, length);
    }

    FakeMachine machine{0x1000, kBase};
    PcieEpModel model{{.memory_bytes = 0x1000}, machine};
};

TEST_F(PcieEp, DeviceMemoryCanBeAccessedWithDifferentWidths)
{
    model.bar_write(kMemoryBar, 0x10, 8, 0x1122334455667788);
    model.bar_write(kMemoryBar, 0x12, 2, 0xabcd);
    EXPECT_EQ(model.bar_read(kMemoryBar, 0x10, 8), 0x11223344abcd7788u);
    EXPECT_EQ(model.bar_read(kMemoryBar, 0xfff, 1), 0u);
}

TEST_F(PcieEp, StoreAndFetchCommandsTransferOnlyTheGivenBytes)
{
    model.bar_write(kMemoryBar, 0x20, 4, 0xdeadbeef);
    describe(kBase + 0x101, 0x20, 3);
    write(kCommand, kCommandStore);
    EXPECT_EQ(read(kStatus), kStatusGood);
    EXPECT_EQ(machine.memory[0x100], std::byte{0});
    EXPECT_EQ(machine.memory[0x101], std::byte{0xef});
    EXPECT_EQ(machine.memory[0x103], std::byte{0xad});
    EXPECT_EQ(machine.memory[0x104], std::byte{0});

    describe(kBase + 0x101, 0x40, 2);
    write(kCommand, kCommandFetch);
    EXPECT_EQ(model.bar_read(kMemoryBar, 0x40, 4), 0xbeefu);
    EXPECT_EQ(read(kTransfers), 2u);
}

TEST_F(PcieEp, TransferOutsideDeviceMemoryIsRejected)
{
    struct Case {
        uint32_t offset;
        uint32_t length;
    };
    for (const Case &wrong : {Case{0, 0}, Case{0, 0x1001}, Case{0xfff, 2}, Case{0x1001, 1},
                              Case{0xffffffff, 1}, Case{1, 0xffffffff}}) {
        describe(kBase, wrong.offset, wrong.length);
        write(kCommand, kCommandStore);
        EXPECT_EQ(read(kStatus), kStatusBadCommand) << wrong.offset << ' ' << wrong.length;
    }
    describe(kBase, 0, 4);
    write(kCommand, kCommandStore | kCommandFetch);
    EXPECT_EQ(read(kStatus), kStatusBadCommand);
    EXPECT_EQ(read(kTransfers), 0u);
}

TEST_F(PcieEp, MissingHostMemoryIsReported)
{
    describe(kBase + 0xffd, 0, 4);
    write(kCommand, kCommandFetch);
    EXPECT_EQ(read(kStatus), kStatusNoHostMemory);
}

TEST_F(PcieEp, DoorbellAndMessageBitOfACommandSendMsis)
{
    write(kDoorbell, 0);
    EXPECT_EQ(machine.raised.size(), 1u);
    describe(kBase, 0, 4);
    write(kCommand, kCommandStore);
    EXPECT_EQ(machine.raised.size(), 1u);
    write(kCommand, kCommandStore | kCommandMessage);
    EXPECT_EQ(machine.raised.size(), 2u);
}

TEST_F(PcieEp, RegistersAcceptOnlyFourByteAccesses)
{
    EXPECT_EQ(read(kIdentity), kIdentityValue);
    EXPECT_EQ(model.bar_read(kRegisterBar, kIdentity, 8), ~uint64_t{0});
    model.bar_write(kRegisterBar, kLength, 2, 7);
    EXPECT_EQ(read(kLength), 0u);
    EXPECT_TRUE(machine.logged("no register"));
}

TEST(PcieEpOptions, MemoryIsAPowerOfTwoWithinLimits)
{
    EXPECT_TRUE(check({.memory_bytes = 0x1000}));
    EXPECT_TRUE(check({.memory_bytes = uint64_t{1} << 26}));
    for (const uint64_t wrong : {uint64_t{0}, uint64_t{0x800}, uint64_t{0x1001}, uint64_t{1} << 27})
        EXPECT_FALSE(check({.memory_bytes = wrong})) << wrong;
}

}  // namespace
}  // namespace pmukit::models::pcie_ep
