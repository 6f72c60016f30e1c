// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// A trace event as tracefs describes it: its number, and where in its record which field is.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.hpp"
#include "base/result.hpp"

namespace pmukit::record {

constexpr const char *kTracefs = "/sys/kernel/tracing";

struct TraceField {
    size_t offset = 0, bytes = 0;
    bool located = false;  // __data_loc: bytes << 16 | offset of what is behind the fixed part
};

struct TraceFormat {
    uint32_t id = 0;
    std::map<std::string, TraceField, std::less<>> fields;
    size_t fixed_bytes = 0;  // behind them stands what is located
};

// Pure: the text of events/SYSTEM/NAME/format.
Result<TraceFormat> parse_trace_format(std::string_view text);
// name: "cxl_hmu/cxl_hmu_record"
Result<TraceFormat> read_trace_format(const std::string &tracefs, const std::string &name);

// Fields of a record, each checked against its end. Absent: the format has no such field, or the
// record ends before it.
std::optional<uint64_t> trace_number(const TraceFormat &format, Bytes record,
                                     std::string_view field);
std::optional<std::string_view> trace_text(const TraceFormat &format, Bytes record,
                                           std::string_view field);
std::optional<Bytes> trace_array(const TraceFormat &format, Bytes record, std::string_view field);

}  // namespace pmukit::record
