// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "rdt/instruction.hpp"

#include <cstring>

namespace pmukit::rdt {

namespace {

struct Row {
    Instruction instruction;
    size_t count;
    uint8_t bytes[7];
};
constexpr Row kRows[] = {
    {Instruction::kCpuid, 2, {0x0f, 0xa2}},
    {Instruction::kRdmsr, 2, {0x0f, 0x32}},
    {Instruction::kWrmsr, 2, {0x0f, 0x30}},
    {Instruction::kWrmsr, 3, {0x0f, 0x01, 0xc6}},  // wrmsrns
    {Instruction::kMark, 7, {0x0f, 0x1f, 0x80, 'r', 'd', 't', 'm'}},
};

// Segment override and REX prefixes do not change these instructions; Linux pads instructions with
// such prefixes.
bool is_prefix(uint8_t byte)
{
    return byte == 0x2e || byte == 0x36 || byte == 0x3e || byte == 0x26 || (byte & 0xf0) == 0x40;
}

}  // namespace

Instruction instruction_of(const uint8_t *bytes, size_t count)
{
    while (count && is_prefix(*bytes)) {
        bytes++;
        count--;
    }
    for (const Row &row : kRows)
        if (count >= row.count && std::memcmp(bytes, row.bytes, row.count) == 0)
            return row.instruction;
    return Instruction::kOther;
}

}  // namespace pmukit::rdt
