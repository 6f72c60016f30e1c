// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Logs of the trace block, with which a test compares what software delivered with what happened.
// Each log is a separate text file; a log that is not open costs nothing.
//
//   seen     every packet on the links of the served root ports     tlp_log.hpp
//   traced   packets written to a buffer, with separator lines:     tlp_log.hpp
//              # start at=<ns> format=8dw direction=1 types=0x1 filter=port:0x0001 ...
//              # stop at=<ns>
//   stats    number of the guest's register accesses, by purpose:
//              # pmukit stats log 1
//              start|message|acknowledge|stop <reads> <writes>     since the previous line
//   buffers  which entries were written to which buffer, and when:
//              # pmukit buffers log 1
//              start at=<ns> size=<bytes>
//              fill|part <n> buffer=<n> address=<hex> first=<entry> entries=<n> bytes=<n>
//                        begin=<ns> end=<ns> [overwrites-unread]        part: not full at the stop
//              message at=<ns>                                          arrived
//              acknowledge at=<ns> bits=<hex>
//              stop at=<ns> entries=<n>
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "models/hisi_ptt/tlp_log.hpp"
#include "models/line_file.hpp"

namespace pmukit::models::hisi_ptt {

class RunLogs {
public:
    Result<void> open_seen(const std::string &path);
    Result<void> open_traced(const std::string &path);
    Result<void> open_stats(const std::string &path);
    Result<void> open_buffers(const std::string &path);
    // Returns the first error of any log.
    Result<void> close();

    TlpLog &seen() { return seen_; }
    TlpLog &traced() { return traced_; }

    void read() { reads_++; }
    void wrote() { writes_++; }
    void event(std::string_view what);

    // buffers() writes a line of the buffers log; `line` has no newline.
    bool wants_buffers() const { return buffers_.is_open(); }
    void buffers(const std::string &line);

private:
    TlpLog seen_;
    TlpLog traced_;
    LineFile stats_;
    LineFile buffers_;
    uint64_t reads_ = 0;
    uint64_t writes_ = 0;
};

}  // namespace pmukit::models::hisi_ptt
