// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The mailbox as a driver uses it, through the device registers, in the order of a probe.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "models/cxl_hmu/device_registers.hpp"
#include "models/fake_machine.hpp"

namespace pmukit::models::cxl_hmu {
namespace {

constexpr uint64_t kCapacity = uint64_t{512} << 20;
constexpr uint16_t kSuccess = 0, kInvalidInput = 2, kUnsupported = 3, kInvalidLength = 0x16;

class DeviceRegisterBlock : public testing::Test {
protected:
    DeviceRegisterBlock()
    {
        const uint64_t count = regs_.read(0, 8) >> 32 & 0xffff;
        for (uint64_t i = 1; i <= count; i++)
            found_[static_cast<uint16_t>(regs_.read(0x10 * i, 4))] = {regs_.read(0x10 * i + 4, 4),
                                                                      regs_.read(0x10 * i + 8, 4)};
        mailbox_ = found_[2].offset;
    }

    uint16_t execute(uint16_t opcode, const std::vector<uint8_t> &input = {})
    {
        for (size_t i = 0; i < input.size(); i++)
            regs_.write(mailbox_ + 0x20 + i, 1, input[i]);
        regs_.write(mailbox_ + 0x08, 8, opcode | uint64_t{input.size()} << 16);
        regs_.write(mailbox_ + 0x04, 4, 1);
        EXPECT_EQ(regs_.read(mailbox_ + 0x04, 4) & 1, 0u) << "doorbell";
        output_.resize(regs_.read(mailbox_ + 0x08, 8) >> 16 & 0x1fffff);
        for (size_t i = 0; i < output_.size(); i++)
            output_[i] = static_cast<uint8_t>(regs_.read(mailbox_ + 0x20 + i, 1));
        return static_cast<uint16_t>(regs_.read(mailbox_ + 0x10, 8) >> 32);
    }
    uint64_t output_le(size_t offset, unsigned width) const
    {
        uint64_t value = 0;
        std::memcpy(&value, output_.data() + offset, width);
        return value;
    }

    struct Capability {
        uint64_t offset = 0;
        uint64_t bytes = 0;
    };
    FakeMachine host_;
    DeviceRegisters regs_{kCapacity, 16, host_};
    std::map<uint16_t, Capability> found_;
    uint64_t mailbox_ = 0;
    std::vector<uint8_t> output_;
};

std::vector<uint8_t> log_request(uint32_t offset, uint32_t length)
{
    std::vector<uint8_t> input = {0x0d, 0xa9, 0xc0, 0xb5, 0xbf, 0x41, 0x4b, 0x78,
                                  0x8f, 0x79, 0x96, 0xb1, 0x62, 0x3b, 0x3f, 0x17};
    for (uint32_t word : {offset, length}) {
        for (unsigned i = 0; i < 4; i++)
            input.push_back(static_cast<uint8_t>(word >> (8 * i)));
    }
    return input;
}

TEST_F(DeviceRegisterBlock, HasThreeMandatoryCapabilitiesWithoutOverlap)
{
    ASSERT_EQ(found_.size(), 3u);
    uint64_t end = 0x10 * (found_.size() + 1);
    std::map<uint64_t, uint64_t> ranges;
    for (const auto &[id, capability] : found_)
        ranges[capability.offset] = capability.bytes;
    for (const auto &[offset, bytes] : ranges) {
        EXPECT_GE(offset, end);
        end = offset + bytes;
    }
    EXPECT_LE(end, regs_.bytes());
    EXPECT_EQ(found_.count(0x0001) + found_.count(0x0002) + found_.count(0x4000), 3u);
}

TEST_F(DeviceRegisterBlock, MediaAndMailboxAreReady)
{
    const uint64_t status = regs_.read(found_[0x4000].offset, 8);
    EXPECT_EQ(status >> 2 & 3, 1u);
    EXPECT_EQ(status >> 4 & 1, 1u);
    EXPECT_EQ(status & 0xe3, 0u);
}

TEST_F(DeviceRegisterBlock, PayloadSizeMatchesTheCapability)
{
    const uint64_t log2 = regs_.read(mailbox_, 4) & 0x1f;
    EXPECT_GE(log2, 8u);
    EXPECT_EQ(found_[2].bytes, 0x20 + (uint64_t{1} << log2));
}

TEST_F(DeviceRegisterBlock, StatusRegistersAreReadOnly)
{
    regs_.write(found_[0x4000].offset, 8, 0);
    regs_.write(mailbox_ + 0x10, 8, ~uint64_t{0});
    regs_.write(0, 8, 0);
    EXPECT_NE(regs_.read(found_[0x4000].offset, 8), 0u);
    EXPECT_EQ(regs_.read(mailbox_ + 0x10, 8), 0u);
    EXPECT_NE(regs_.read(0, 8), 0u);
}

TEST_F(DeviceRegisterBlock, EffectsLogListsSupportedCommands)
{
    ASSERT_EQ(execute(0x0400), kSuccess);
    ASSERT_EQ(output_.size(), 28u);
    EXPECT_EQ(output_le(0, 2), 1u);
    const auto size = static_cast<uint32_t>(output_le(24, 4));

    ASSERT_EQ(execute(0x0401, log_request(0, size)), kSuccess);
    ASSERT_EQ(output_.size(), size);
    std::vector<uint16_t> opcodes;
    for (size_t at = 0; at < size; at += 4)
        opcodes.push_back(static_cast<uint16_t>(output_le(at, 2)));
    for (int needed : {0x0100, 0x0101, 0x0102, 0x0103, 0x0301, 0x0400, 0x0401, 0x4000, 0x4100})
        EXPECT_EQ(std::count(opcodes.begin(), opcodes.end(), needed), 1) << needed;
}

TEST_F(DeviceRegisterBlock, ReadBeyondTheEndOfTheEffectsLogIsRejected)
{
    ASSERT_EQ(execute(0x0400), kSuccess);
    const auto size = static_cast<uint32_t>(output_le(24, 4));
    EXPECT_EQ(execute(0x0401, log_request(size, 0)), kSuccess);
    EXPECT_EQ(execute(0x0401, log_request(size, 1)), kInvalidInput);
    EXPECT_EQ(execute(0x0401, log_request(0xffffffff, 0xffffffff)), kInvalidInput);
    std::vector<uint8_t> unknown_log = log_request(0, size);
    unknown_log[0] ^= 1;
    EXPECT_EQ(execute(0x0401, unknown_log), kInvalidInput);
}

TEST_F(DeviceRegisterBlock, IdentifyReportsTheCapacityInUnitsOf256MiB)
{
    ASSERT_EQ(execute(0x4000), kSuccess);
    ASSERT_EQ(output_.size(), 0x43u);
    EXPECT_EQ(output_le(0x10, 8), 2u);
    EXPECT_EQ(output_le(0x18, 8), 2u);
    EXPECT_EQ(output_le(0x20, 8), 0u);
    EXPECT_EQ(output_le(0x28, 8), 0u);
    ASSERT_EQ(execute(0x4100), kSuccess);
    EXPECT_EQ(output_le(0, 8), 2u);
}

TEST_F(DeviceRegisterBlock, EventCommandsSucceedInTheOrderOfAProbe)
{
    ASSERT_EQ(execute(0x0102), kSuccess);
    EXPECT_EQ(output_, (std::vector<uint8_t>{0, 0, 0, 0}));
    ASSERT_EQ(execute(0x0103, {1, 1, 1, 1}), kSuccess);
    ASSERT_EQ(execute(0x0102), kSuccess);
    EXPECT_EQ(output_, (std::vector<uint8_t>{1, 1, 1, 1}));  // vector 0, MSI
    for (uint8_t log = 0; log < 4; log++) {
        ASSERT_EQ(execute(0x0100, {log}), kSuccess);
        ASSERT_EQ(output_.size(), 32u);
        EXPECT_EQ(output_le(0x14, 2), 0u);
    }
    EXPECT_EQ(execute(0x0101, {0, 0, 0, 0, 0, 0}), kSuccess);
    EXPECT_EQ(execute(0x0100, {4}), kInvalidInput);
    EXPECT_EQ(execute(0x0103, {2, 1, 1, 1}),
              kInvalidInput);  // firmware interrupts are not supported
}

TEST_F(DeviceRegisterBlock, TimestampAdvancesFromTheValueSet)
{
    ASSERT_EQ(execute(0x0300), kSuccess);
    EXPECT_EQ(output_le(0, 8), 0u);
    ASSERT_EQ(execute(0x0301, {0, 0, 0, 0, 0, 1, 0, 0}), kSuccess);
    host_.now += 5;
    ASSERT_EQ(execute(0x0300), kSuccess);
    EXPECT_EQ(output_le(0, 8), (uint64_t{1} << 40) + 5);
}

TEST_F(DeviceRegisterBlock, RefusesUnknownCommandsAndWrongLengths)
{
    EXPECT_EQ(execute(0x0200), kUnsupported);
    EXPECT_EQ(execute(0xffff), kUnsupported);
    EXPECT_EQ(execute(0x0301, {1, 2, 3}), kInvalidLength);
    EXPECT_EQ(execute(0x4000, {1}), kInvalidLength);
    EXPECT_EQ(execute(0x0401), kInvalidLength);
    // A length beyond the payload must be rejected.
    regs_.write(mailbox_ + 0x08, 8, 0x0101 | uint64_t{0x1fffff} << 16);
    regs_.write(mailbox_ + 0x04, 4, 1);
    EXPECT_EQ(regs_.read(mailbox_ + 0x10, 8) >> 32, kInvalidLength);
}

}  // namespace
}  // namespace pmukit::models::cxl_hmu
