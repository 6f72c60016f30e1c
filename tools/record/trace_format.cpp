// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Parses descriptions of trace events (Documentation/trace/events.rst of Linux, "Event formats"):
//
//     name: cxl_hmu_record
//     ID: 1405
//     format:
//     <tab>field:char pmu[32];<tab>offset:8;<tab>size:32;<tab>signed:0;
//     <tab>field:__data_loc u64[] words;<tab>offset:88;<tab>size:4;<tab>signed:0;
#include "record/trace_format.hpp"

#include <bit>

#include "base/file.hpp"
#include "base/number.hpp"

namespace pmukit::record {
namespace {

constexpr size_t kMostBytes = 8192;  // PERF_MAX_TRACE_SIZE, the limit of a record

// Returns the number between "key:" and the next semicolon.
std::optional<size_t> number_of(std::string_view line, std::string_view key)
{
    const size_t at = line.find(key);
    if (at == line.npos)
        return std::nullopt;
    const std::string_view rest = line.substr(at + key.size());
    const Result<uint64_t> number = parse_u64(trim(rest.substr(0, rest.find(';'))));
    return number && *number <= kMostBytes ? std::optional(static_cast<size_t>(*number))
                                           : std::nullopt;
}

// Returns the name in a declaration such as "char pmu[32]" or "__data_loc u64[] words": the last
// word without brackets.
std::string_view name_of(std::string_view declaration)
{
    std::string_view name = declaration.substr(declaration.find_last_of(" *") + 1);
    return name.substr(0, name.find('['));
}

bool add_field(std::string_view line, TraceFormat &format)
{
    constexpr std::string_view kKey = "field:";
    const std::string_view declaration =
        trim(line.substr(kKey.size(), line.find(';') - kKey.size()));
    const std::optional<size_t> offset = number_of(line, "offset:"),
                                bytes = number_of(line, "size:");
    if (declaration.empty() || !offset || !bytes || *offset + *bytes > kMostBytes)
        return false;
    const bool located = declaration.starts_with("__data_loc");
    format.fields[std::string(name_of(declaration))] = {*offset, *bytes, located};
    format.fixed_bytes = std::max(format.fixed_bytes, *offset + *bytes);
    return !located || *bytes == sizeof(uint32_t);
}

std::optional<Bytes> bytes_of(const TraceFormat &format, Bytes record, std::string_view name)
{
    const auto field = format.fields.find(name);
    if (field == format.fields.end() || field->second.bytes > record.size() ||
        field->second.offset > record.size() - field->second.bytes)
        return std::nullopt;
    return record.subspan(field->second.offset, field->second.bytes);
}

}  // namespace

Result<TraceFormat> parse_trace_format(std::string_view text)
{
    TraceFormat format;
    bool numbered = false;
    for (std::string_view part : split(text, '\n')) {
        const std::string_view line = trim(part);
        if (line.starts_with("ID:")) {
            const Result<uint64_t> id = parse_u64(trim(line.substr(3)));
            if (!id || *id > UINT32_MAX)
                return wrong_text(Errc::kDamaged, line, "is not a number of a trace event");
            format.id = static_cast<uint32_t>(*id);
            numbered = true;
        } else if (line.starts_with("field:") && !add_field(line, format)) {
            return wrong_text(Errc::kDamaged, line, "is not a field of a trace event");
        }
    }
    if (!numbered || format.fields.empty())
        return Error{Errc::kDamaged, "no description of a trace event"};
    return format;
}

Result<TraceFormat> read_trace_format(const std::string &tracefs, const std::string &name)
{
    const Result<std::string> text = read_small_file(tracefs + "/events/" + name + "/format");
    if (!text)
        return text.error();
    Result<TraceFormat> format = parse_trace_format(*text);
    if (!format)
        return Error{format.error().code, name + ": " + format.error().message};
    return format;
}

std::optional<uint64_t> trace_number(const TraceFormat &format, Bytes record,
                                     std::string_view field)
{
    const std::optional<Bytes> bytes = bytes_of(format, record, field);
    if (!bytes)
        return std::nullopt;
    switch (bytes->size()) {
        case 1:
            return std::to_integer<uint64_t>(bytes->front());
        case 2:
            return load<uint16_t>(bytes->data(), std::endian::native);
        case 4:
            return load<uint32_t>(bytes->data(), std::endian::native);
        case 8:
            return load<uint64_t>(bytes->data(), std::endian::native);
        default:
            return std::nullopt;
    }
}

std::optional<std::string_view> trace_text(const TraceFormat &format, Bytes record,
                                           std::string_view field)
{
    const std::optional<Bytes> bytes = bytes_of(format, record, field);
    if (!bytes)
        return std::nullopt;
    const std::string_view text(reinterpret_cast<const char *>(bytes->data()), bytes->size());
    return text.substr(0, text.find('\0'));
}

std::optional<Bytes> trace_array(const TraceFormat &format, Bytes record, std::string_view field)
{
    const auto known = format.fields.find(field);
    const std::optional<uint64_t> location = trace_number(format, record, field);
    if (!location || !known->second.located)
        return std::nullopt;
    const size_t offset = *location & 0xffff, bytes = *location >> 16;
    if (bytes > record.size() || offset > record.size() - bytes)
        return std::nullopt;
    return record.subspan(offset, bytes);
}

}  // namespace pmukit::record
