// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// A packet as the trace block writes it to memory: 4 or 8 little-endian dwords. The header inside
// is that of the PCI Express Base Specification 6.0, sections 2.2.1 to 2.2.10, most significant
// byte first within a dword.
//
//         31     29 28    24 23  22..20 19   18  17  16  15  14  13..12 11..10 9        0
//   DW0  |  Fmt    |  Type  |T9|  TC   |T8| A2 |   |TH| TD| EP| Attr  |  AT  |  Length  |
//   DW1  |  requester                    |   tag      | last BE | first BE |    request
//   DW1  |  completer                    | status | B |   byte count       |    completion
//   DW2  |  address 63:32, or 31:2 when it fits                            |    request
//   DW2  |  requester                    |   tag      |   lower address    |    completion
//   DW3  |  address 31:2, or 0                                             |
//
//   8 dwords:  mark, prefix, DW0, DW1, DW2, DW3, 0, time
//   4 dwords:  Fmt Type T9 T8 TH SO Length time, DW1, DW2, DW3
//
// 14-bit tags (PCI Express 6.0) do not fit a header; the block stores the upper bits in unused bits
// of the header, as Linux' tools/perf/util/hisi-ptt-decoder reads them:
//
//              31   30     23 22  21 20  19      16 15         0
//   64-bit DW2 | - | segment | - |TV| T |tag 13:10 | address 47:32 |
//   config DW3 | - | segment |DSV|TV| T |tag 13:10 | 0             |
//              31     24 23              15  14  6  5   4  3       0
//   32-bit DW3 | segment | -            | -  | -   |TV| T |tag 13:10 |
//   compl. DW3 | segment | segment      |DSV | -   |TV| T |tag 13:10 |
//
// TV: the tag is valid. DSV: the destination segment is valid. The model writes 0 to the segment,
// DSV and T fields.
#pragma once

#include <array>
#include <cstdint>

#include "models/hisi_ptt/tlp.hpp"

namespace pmukit::models::hisi_ptt {

// time is in ticks; each format stores as many of its low bits as fit.
std::array<uint32_t, 4> encode_4dw(const Tlp &tlp, uint64_t time, bool wide_tags = false);
std::array<uint32_t, 8> encode_8dw(const Tlp &tlp, uint64_t time, bool wide_tags = false);

}  // namespace pmukit::models::hisi_ptt
