// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Logs of the instances, with which a test compares what software delivered with what the device
// produced. Each log is a separate text file; its first line names it, and lines that start with #
// are separators. A log that is not open costs nothing.
//
//   # pmukit entries log 1
//   # <instance> enabled
//   <instance> <epoch> <raw entry, 16 hex digits>             inserted into the hot list
//   <instance> <epoch> <raw entry, 16 hex digits> dropped     hot, but not inserted
//
//   # pmukit source log 1
//   # <instance> <epoch>
//   R|W 0x<dpa> 64 [T]                                        a trace line, for replay
//
//   # pmukit stats log 1
//   <instance> head <entries drained> <reads> <writes>        at each write of the head register
//   <instance> enabled|disabled 0 <reads> <writes>            at the end of the operation
//   <chmu> dead 0 <reads> 0                                   after the CHMU died during a drain
//
// <reads> and <writes> count register accesses since the previous line. In a line "head", <writes>
// includes the write of the head register. In a line "dead", <reads> counts from the first entry of
// the drain.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "models/cxl_hmu/request.hpp"
#include "models/line_file.hpp"

namespace pmukit::models::cxl_hmu {

class RunLogs {
public:
    Result<void> open_entries(const std::string &path);
    Result<void> open_source(const std::string &path);
    Result<void> open_stats(const std::string &path);
    // Returns the first error of any log.
    Result<void> close();

    void enabled(std::string_view instance);
    void entry(std::string_view instance, uint64_t epoch, uint64_t raw, bool dropped = false);

    void source_epoch(std::string_view instance, uint64_t epoch);
    void source_access(const Request &request);

    void accesses(std::string_view instance, std::string_view event, unsigned entries,
                  uint64_t reads, uint64_t writes);

private:
    LineFile entries_;
    LineFile source_;
    LineFile stats_;
};

}  // namespace pmukit::models::cxl_hmu
