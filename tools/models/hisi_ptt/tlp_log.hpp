// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The reference log: packets as text, one line each, in order. It is written from the packet itself
// and shares no code with the encoder, so a decoded trace can be compared with it.
//
//   # pmukit tlp log 1
//   <ns> in|out P|NP|CPL <kind> port=<bdf> req=<bdf> tag=<hex> <what>
//
//   kind                 what
//   MRd, MWr             addr=<hex of the first byte> bytes=<n> [msi]
//   CfgRd, CfgWr         target=<bdf> reg=<hex> bytes=<n>
//   Cpl, CplD            cpl=<bdf> status=SC|UR left=<n> bytes=<n> [addr=<hex>]
//
// A line ends with pasid=<hex> and ro if they apply, and with lost if the entry could not be
// written. Lines that start with # are separators.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "models/hisi_ptt/tlp.hpp"
#include "models/line_file.hpp"

namespace pmukit::models::hisi_ptt {

std::string bdf_text(uint16_t bdf);   // 01:00.0
std::string line_of(const Tlp &tlp);  // without the newline

class TlpLog {
public:
    // Without a file: writes nothing.
    TlpLog() = default;
    static Result<TlpLog> create(const std::string &path);

    void add(const Tlp &tlp, bool lost = false);
    void note(std::string_view text);  // writes a line that starts with #
    // See LineFile::close().
    Result<void> close() { return file_.close(); }

private:
    LineFile file_;
};

}  // namespace pmukit::models::hisi_ptt
