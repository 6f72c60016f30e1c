// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Entries as text: the lines that `perf report -D` of Linux 7.2 prints for them, byte for byte.
//
//     .  00000008: 60 00 00 01                                 Header DW0
//
// Offset in the buffer, the dword with its most significant byte first, its name. Of an 8DW entry
// the first and the seventh dword are not shown, because they say nothing; the first dword of a 4DW
// entry is shown with its fields.
#pragma once

#include <string_view>
#include <vector>

#include "decode/hisi_ptt/hisi_ptt_decode.hpp"

namespace pmukit::decode::hisi_ptt {

class DumpText {
public:
    static constexpr size_t kMaxPackets = 256;  // at once

    DumpText();
    // Whole packets, at most kMaxPackets; offset: of the first in its buffer. The text is good
    // until the next call.
    std::string_view lines(Format format, uint32_t offset, Bytes packets);

private:
    std::vector<char> text_;
};

}  // namespace pmukit::decode::hisi_ptt
