// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "models/cxl_hmu/component_registers.hpp"

#include <gtest/gtest.h>

#include <map>

#include "models/fake_machine.hpp"

namespace pmukit::models::cxl_hmu {
namespace {

constexpr uint64_t kCachemem = 0x1000;
constexpr uint32_t kCommit = 1u << 9, kCommitted = 1u << 10, kError = 1u << 11, kLock = 1u << 8;

class Component : public testing::Test {
protected:
    Component()
    {
        const uint32_t header = read(kCachemem);
        for (uint32_t i = 1; i <= header >> 24; i++) {
            const uint32_t entry = read(kCachemem + uint64_t{4} * i);
            at_[entry & 0xffff] = kCachemem + (entry >> 20);
        }
    }
    uint32_t read(uint64_t offset) { return static_cast<uint32_t>(regs_.read(offset, 4)); }
    void write(uint64_t offset, uint32_t value) { regs_.write(offset, 4, value); }
    uint64_t decoder(unsigned i) { return at_[5] + 0x10 + uint64_t{0x20} * i; }
    uint32_t control(unsigned i) { return read(decoder(i) + 0x10); }
    void commit(unsigned i, uint32_t size_low = 0x10000000, uint32_t bits = 0)
    {
        write(decoder(i) + 0x08, size_low);
        write(decoder(i) + 0x10, kCommit | bits);
    }

    FakeMachine host_;
    ComponentRegisters regs_{host_};
    std::map<uint32_t, uint64_t> at_;
};

TEST_F(Component, OffersRasAndHdmDecoders)
{
    EXPECT_EQ(read(kCachemem) & 0xffff, 1u);
    EXPECT_EQ(at_.count(2), 1u);
    EXPECT_EQ(at_.count(5), 1u);
    EXPECT_LE(at_[2] + 0x58, at_[5]);
    // Code 1 means two decoders.
    EXPECT_EQ(read(at_[5]) & 0xf, 1u);
}

TEST_F(Component, CommittedBitOfADecoderFollowsItsCommitBit)
{
    commit(0);
    EXPECT_EQ(control(0) & (kCommitted | kError), kCommitted);
    write(decoder(0) + 0x10, 0);
    EXPECT_EQ(control(0), 0u);
    commit(0);
    EXPECT_EQ(control(0) & (kCommitted | kError), kCommitted);
}

TEST_F(Component, DecoderCommitsOnlyAfterThePreviousOneAndWithANonzeroSize)
{
    commit(1);
    EXPECT_EQ(control(1) & (kCommitted | kError), kError);
    commit(0, 0);
    EXPECT_EQ(control(0) & (kCommitted | kError), kError);
    commit(0);
    commit(1);
    EXPECT_EQ(control(1) & (kCommitted | kError), kCommitted);
}

TEST_F(Component, AddressesOfACommittedDecoderAreReadOnly)
{
    commit(0);
    write(decoder(0) + 0x08, 0x20000000);
    EXPECT_EQ(read(decoder(0) + 0x08), 0x10000000u);
    EXPECT_TRUE(host_.logged("committed decoder"));
}

TEST_F(Component, LockOnCommitLocksDecoderUntilReset)
{
    commit(0, 0x10000000, kLock);
    write(decoder(0) + 0x10, 0);
    EXPECT_NE(control(0) & kCommitted, 0u);
    regs_.reset();
    EXPECT_EQ(control(0), 0u);
    EXPECT_EQ(read(decoder(0) + 0x08), 0u);
}

TEST_F(Component, DecoderAddressesAreMultiplesOf256MiB)
{
    write(decoder(0) + 0x00, 0xffffffff);
    EXPECT_EQ(read(decoder(0) + 0x00), 0xf0000000u);
}

TEST_F(Component, EightByteAccessReadsAndWritesTwoRegisters)
{
    regs_.write(decoder(0), 8, 0x12345678'30000000);
    EXPECT_EQ(read(decoder(0)), 0x30000000u);
    EXPECT_EQ(read(decoder(0) + 4), 0x12345678u);
    EXPECT_EQ(regs_.read(decoder(0), 8), 0x12345678'30000000u);
}

TEST_F(Component, AccessesOfLessThanFourBytesAreRefused)
{
    EXPECT_EQ(regs_.read(kCachemem, 2), ~uint64_t{0});
    regs_.write(decoder(0), 1, 0xff);
    EXPECT_EQ(read(decoder(0)), 0u);
    EXPECT_EQ(host_.lines.size(), 2u);
}

TEST_F(Component, RasMasksAreWritableAndStatusIsZero)
{
    EXPECT_EQ(read(at_[2]), 0u);
    EXPECT_EQ(read(at_[2] + 0x0c), 0u);
    write(at_[2] + 0x04, 0);
    EXPECT_EQ(read(at_[2] + 0x04), 0u);
}

}  // namespace
}  // namespace pmukit::models::cxl_hmu
