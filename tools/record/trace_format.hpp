// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// A trace event as tracefs describes it: its id, and the location of each field in its record.
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
    // True for __data_loc: the field is a word, bytes << 16 | offset, that locates the data after
    // the fixed part of the record.
    bool located = false;
};

struct TraceFormat {
    uint32_t id = 0;
    std::map<std::string, TraceField, std::less<>> fields;
    size_t fixed_bytes = 0;  // size of the fixed part; the data of __data_loc fields follows
};

// Parses the text of a file events/SYSTEM/NAME/format.
Result<TraceFormat> parse_trace_format(std::string_view text);
// name: for example "cxl_hmu/cxl_hmu_record"
Result<TraceFormat> read_trace_format(const std::string &tracefs, const std::string &name);

// These functions read a field of a record, and check that the field is within the record. nullopt:
// the format has no such field, or the field exceeds the record.
std::optional<uint64_t> trace_number(const TraceFormat &format, Bytes record,
                                     std::string_view field);
std::optional<std::string_view> trace_text(const TraceFormat &format, Bytes record,
                                           std::string_view field);
std::optional<Bytes> trace_array(const TraceFormat &format, Bytes record, std::string_view field);

}  // namespace pmukit::record
