// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The x86 instructions that the plugin intercepts.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pmukit::rdt {

inline constexpr size_t kLongestInstruction = 15;

// kMark does nothing on any processor: nopl 'r' 'd' 't' 'm' (%rax). EAX holds the mark's number.
enum class Instruction { kOther, kCpuid, kRdmsr, kWrmsr, kMark };

Instruction instruction_of(const uint8_t *bytes, size_t count);

}  // namespace pmukit::rdt
