// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Entries as text: the lines that `perf report -D` prints for them, byte for byte.
//
//     .  00000008: 60 00 00 01                                 Header DW0
//
// Offset in the buffer, the dword, its name. Of an 8DW entry the first and the seventh dword are
// not shown, because they say nothing; the first dword of a 4DW entry is shown with its fields.
//
//           a dword                              fields of a 4DW entry
//     6.12  as in memory: 01 00 00 60            counted from bit 0 up, which is not where they are
//     7.2   the most significant byte first      where they are
#pragma once

#include <string_view>
#include <vector>

#include "decode/hisi_ptt/hisi_ptt_decode.hpp"

namespace pmukit::decode::hisi_ptt {

// Whose text.
enum class PerfText : uint8_t { kLinux6_12, kLinux7_2 };

class DumpText {
public:
    static constexpr size_t kMaxPackets = 256;  // at once

    explicit DumpText(PerfText perf = PerfText::kLinux7_2);
    // Whole packets, at most kMaxPackets; offset: of the first in its buffer. The text is good
    // until the next call.
    std::string_view lines(Format format, uint32_t offset, Bytes packets);

private:
    PerfText perf_;
    std::vector<char> text_;
};

}  // namespace pmukit::decode::hisi_ptt
