// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "rdt/instruction.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace pmukit::rdt {
namespace {

Instruction of(std::vector<uint8_t> bytes)
{
    return instruction_of(bytes.data(), bytes.size());
}

TEST(Instruction, DecodesOpcodes)
{
    EXPECT_EQ(of({0x0f, 0xa2}), Instruction::kCpuid);
    EXPECT_EQ(of({0x0f, 0x32}), Instruction::kRdmsr);
    EXPECT_EQ(of({0x0f, 0x30}), Instruction::kWrmsr);
    EXPECT_EQ(of({0x0f, 0x01, 0xc6}), Instruction::kWrmsr);
    EXPECT_EQ(of({0x0f, 0x1f, 0x80, 0x72, 0x64, 0x74, 0x6d}), Instruction::kMark);
}

TEST(Instruction, DecodesOpcodesAfterPaddingPrefixes)
{
    // Padded as in kernel code: ds wrmsr, and ds ds wrmsrns
    EXPECT_EQ(of({0x3e, 0x0f, 0x30}), Instruction::kWrmsr);
    EXPECT_EQ(of({0x3e, 0x3e, 0x0f, 0x01, 0xc6}), Instruction::kWrmsr);
    EXPECT_EQ(of({0x48, 0x0f, 0xa2}), Instruction::kCpuid);
}

TEST(Instruction, UnknownOpcodesAreOther)
{
    EXPECT_EQ(of({}), Instruction::kOther);
    EXPECT_EQ(of({0x3e}), Instruction::kOther);
    EXPECT_EQ(of({0x0f}), Instruction::kOther);
    EXPECT_EQ(of({0x0f, 0x31}), Instruction::kOther);        // rdtsc
    EXPECT_EQ(of({0x0f, 0x01}), Instruction::kOther);        // truncated
    EXPECT_EQ(of({0x0f, 0x01, 0xf9}), Instruction::kOther);  // rdtscp
    EXPECT_EQ(of({0x66, 0x0f, 0x30}), Instruction::kOther);  // not a padding prefix
    EXPECT_EQ(of({0x0f, 0x1f, 0x80, 'p', 'm', 'k', 1}), Instruction::kOther);  // marker of memtap
    EXPECT_EQ(of({0x90, 0x0f, 0xa2}), Instruction::kOther);
}

}  // namespace
}  // namespace pmukit::rdt
