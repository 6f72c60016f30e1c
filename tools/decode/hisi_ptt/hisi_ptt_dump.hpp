// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Entries as text: the lines that `perf report -D` prints for them, byte for byte.
//
//     .  00000008: 60 00 00 01                                 Header DW0
//
// A line has an offset in the buffer, the dword and its name. The first and the seventh dword of an
// 8DW entry are constant and not printed; the first dword of a 4DW entry is printed as fields.
//
//     perf  bytes of a dword                     fields of a 4DW entry
//     6.12  in memory order: 01 00 00 60         wrong: perf counts the bits from bit 0 up
//     7.2   most significant byte first          correct
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "decode/hisi_ptt/hisi_ptt_decode.hpp"

namespace pmukit::decode::hisi_ptt {

// Version of perf whose text is printed.
enum class PerfText : uint8_t { kLinux6_12, kLinux7_2 };

class DumpText {
public:
    // Maximum number of packets per call of lines().
    static constexpr size_t kMaxPackets = 256;

    explicit DumpText(PerfText perf = PerfText::kLinux7_2);
    DumpText(DumpText &&) noexcept;
    DumpText &operator=(DumpText &&) noexcept;
    ~DumpText();

    // packets: at most kMaxPackets whole entries. offset: offset of the first entry in its buffer.
    // The returned text is valid until the next call.
    std::string_view lines(Format format, uint32_t offset, Bytes packets);

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace pmukit::decode::hisi_ptt
