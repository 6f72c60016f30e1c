// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "encode/encode.hpp"

#include <linux/perf_event.h>

#include <algorithm>
#include <map>

#include "encode/lines.hpp"
#include "perfdata/format.hpp"
#include "perfdata/writer.hpp"

namespace pmukit::encode {
namespace {

// Cases

std::vector<std::string_view> words_of(std::string_view line)
{
    std::vector<std::string_view> words;
    for (size_t at = line.find_first_not_of(" \t"); at != std::string_view::npos;) {
        const size_t end = std::min(line.find_first_of(" \t", at), line.size());
        words.push_back(line.substr(at, end - at));
        at = line.find_first_not_of(" \t", end);
    }
    return words;
}

Error usage(const char *text)
{
    return Error{Errc::kUsage, text};
}

Result<void> read_pmu(Case &into, Words words)
{
    Result<uint64_t> type = words.size() == 2 ? number_of(words[0]) : usage("");
    if (!type || *type > UINT32_MAX)
        return usage("pmu TYPE NAME");
    into.pmus.push_back({static_cast<uint32_t>(*type), std::string(words[1])});
    return {};
}

Result<void> read_event(Case &into, Words words)
{
    Result<uint64_t> id = words.size() == 2 ? number_of(words[0]) : usage("");
    if (!id)
        return usage("event ID PMU/TERMS/");
    const std::string_view pmu = words[1].substr(0, words[1].find('/'));
    for (const Pmu &known : into.pmus)
        if (known.name == pmu) {
            into.events.push_back({*id, known.type, std::string(words[1])});
            return {};
        }
    return usage("an event of a pmu that no line before names");
}

Result<void> read_layout(Case &into, Words words)
{
    if (words.size() != 1 || (words[0] != "file" && words[0] != "pipe"))
        return usage("layout file|pipe");
    into.pipe = words[0] == "pipe";
    return {};
}

Result<void> read_info(Case &into, Words words)
{
    for (std::string_view word : words) {
        Result<uint64_t> value = number_of(word);
        if (!value)
            return value.error();
        into.info.push_back(*value);
    }
    return into.info.empty() ? Result<void>(usage("info TYPE [WORD ...]")) : Result<void>();
}

Result<void> read_aux(Case &into, Words words)
{
    Buffer buffer;
    const std::pair<std::string_view, uint64_t> flags[] = {{"truncated", PERF_AUX_FLAG_TRUNCATED},
                                                           {"overwrite", PERF_AUX_FLAG_OVERWRITE},
                                                           {"partial", PERF_AUX_FLAG_PARTIAL},
                                                           {"collision", PERF_AUX_FLAG_COLLISION}};
    Result<uint64_t> id = words.empty() ? usage("") : number_of(words[0]);
    if (!id)
        return usage("aux ID [cpu N] [missing BYTES] [truncated|overwrite|partial|collision ...]");
    buffer.event_id = *id;
    for (size_t i = 1; i < words.size(); i++) {
        const auto *flag = std::find_if(std::begin(flags), std::end(flags),
                                        [&](const auto &row) { return row.first == words[i]; });
        if (flag != std::end(flags)) {
            buffer.flags |= flag->second;
            continue;
        }
        Result<uint64_t> value = i + 1 < words.size() ? number_of(words[i + 1]) : usage("");
        if (value && words[i] == "cpu" && *value < 65536)
            buffer.cpu = static_cast<uint32_t>(*value);
        else if (value && words[i] == "missing")
            buffer.missing_bytes = *value;
        else
            return usage("aux knows cpu N, missing BYTES and the names of flags");
        i++;
    }
    into.buffers.push_back(std::move(buffer));
    return {};
}

Result<void> read_line(Case &into, std::string_view line)
{
    static const std::map<std::string_view, Result<void> (*)(Case &, Words)> kStatements = {
        {"pmu", read_pmu},   {"event", read_event}, {"layout", read_layout},
        {"info", read_info}, {"aux", read_aux},
    };
    const std::vector<std::string_view> words = words_of(line);
    if (words.empty() || words[0].starts_with('#'))
        return {};
    const Words rest = Words(words).subspan(1);
    if (words[0] == "expect") {
        const size_t command = line.find_first_not_of(" \t", line.find("expect") + 6);
        if (command == std::string_view::npos)
            return usage("expect COMMAND");
        into.expected.push_back({std::string(line.substr(command)), {}});
        return {};
    }
    if (words[0].starts_with('|')) {
        if (into.expected.empty())
            return usage("a line of text that no expect is before");
        const std::string_view text = line.substr(line.find('|') + 1);
        into.expected.back().text += std::string(text.substr(text.starts_with(' '))) + "\n";
        return {};
    }
    if (auto statement = kStatements.find(words[0]); statement != kStatements.end())
        return statement->second(into, rest);
    const Line *bytes = line_of(words[0]);
    if (!bytes)
        return Error{Errc::kUsage, "unknown word '" + std::string(words[0]) + "'"};
    if (into.buffers.empty())
        return usage("bytes of no buffer: aux comes first");
    return bytes->append(rest, into.buffers.back().bytes);
}

// Recordings

constexpr uint64_t kSampleType = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_CPU;

perfdata::WriterEvent event_of(const Event &event)
{
    constexpr size_t kAttrBytes = 128;
    perfdata::WriterEvent made{std::vector<std::byte>(kAttrBytes), {event.id}, event.name};
    std::byte *attr = made.attr.data();
    store<uint32_t>(attr + perfdata::kAttrType, event.type, std::endian::native);
    store<uint32_t>(attr + perfdata::kAttrSize, kAttrBytes, std::endian::native);
    store<uint64_t>(attr + perfdata::kAttrSampleType, kSampleType, std::endian::native);
    store<uint64_t>(attr + perfdata::kAttrFlags, uint64_t{1} << perfdata::kAttrFlagSampleIdAll,
                    std::endian::native);
    return made;
}

// offset, size, flags; then cpu and id, as the event's sample_type says
std::vector<std::byte> aux_record(const Buffer &buffer, uint64_t offset)
{
    std::vector<std::byte> record(perfdata::kRecordHeaderBytes + 40);
    std::byte *at = record.data();
    store<uint32_t>(at, PERF_RECORD_AUX, std::endian::native);
    store<uint16_t>(at + 6, static_cast<uint16_t>(record.size()), std::endian::native);
    store<uint64_t>(at + 8, offset, std::endian::native);
    store<uint64_t>(at + 16, buffer.bytes.size() + buffer.missing_bytes, std::endian::native);
    store<uint64_t>(at + 24, buffer.flags, std::endian::native);
    store<uint32_t>(at + 32, buffer.cpu, std::endian::native);
    store<uint64_t>(at + 40, buffer.event_id, std::endian::native);
    return record;
}

Result<perfdata::Writer> open_writer(const Case &what, const std::string &path)
{
    std::vector<perfdata::WriterEvent> events;
    for (const Event &event : what.events)
        events.push_back(event_of(event));
    // A machine with as many CPUs as the case speaks of: stock perf believes in no others.
    uint32_t cpus = 1;
    for (const Buffer &buffer : what.buffers)
        cpus = std::max(cpus, buffer.cpu + 1);
    perfdata::HostInfo host{"encoded", "none", "pmukit-encode",   "none",
                            cpus,      cpus,   {"pmukit-encode"}, {}};
    for (const Pmu &pmu : what.pmus)
        host.pmus.emplace_back(pmu.type, pmu.name);
    if (!what.pipe)
        return perfdata::Writer::create(path, std::move(events), host);
    Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (!fd)
        return system_error(path, errno);
    return perfdata::Writer::create_pipe(std::move(fd), std::move(events), host);
}

}  // namespace

Result<Case> parse_case(std::string_view text)
{
    Case made;
    for (unsigned number = 1; !text.empty(); number++) {
        const size_t end = std::min(text.find('\n'), text.size());
        if (Result<void> read = read_line(made, text.substr(0, end)); !read)
            return Error{Errc::kUsage,
                         "line " + std::to_string(number) + ": " + read.error().message};
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    if (made.events.empty())
        return usage("a case has at least one pmu and one event");
    return made;
}

Result<void> write_recording(const Case &what, const std::string &path)
{
    Result<perfdata::Writer> writer = open_writer(what, path);
    if (!writer)
        return writer.error();
    if (!what.info.empty()) {
        const std::vector<uint64_t> words(what.info.begin() + 1, what.info.end());
        if (auto put = writer->auxtrace_info(static_cast<uint32_t>(what.info[0]), words); !put)
            return put;
    }
    // AUX areas are one for each event and CPU; offsets in them go on.
    std::map<std::pair<uint64_t, uint32_t>, uint64_t> offsets;
    for (const Buffer &buffer : what.buffers) {
        if (buffer.bytes.size() % sizeof(uint64_t) != 0)
            return Error{Errc::kUsage, "a buffer of " + std::to_string(buffer.bytes.size()) +
                                           " bytes: AUX data comes in multiples of 8"};
        uint64_t &offset = offsets[{buffer.event_id, buffer.cpu}];
        perfdata::AuxtraceRecord trace;
        trace.offset = offset;
        trace.reference = buffer.event_id;
        trace.cpu = buffer.cpu;
        trace.tid = UINT32_MAX;
        if (auto put = writer->records(aux_record(buffer, offset)); !put)
            return put;
        if (auto put = writer->auxtrace(trace, buffer.bytes, {}); !put)
            return put;
        offset += buffer.bytes.size() + buffer.missing_bytes;
    }
    if (auto put = writer->finished_round(); !put)
        return put;
    return writer->finish();
}

}  // namespace pmukit::encode
