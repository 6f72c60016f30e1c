// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "encode/encode.hpp"

#include <linux/perf_event.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/clocks.hpp"
#include "encode/lines.hpp"
#include "encode/records.hpp"
#include "perfdata/format.hpp"
#include "perfdata/packer.hpp"
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
    const Error form = usage("pmu TYPE NAME [CAP=VALUE ...]");
    Result<uint64_t> type = words.size() >= 2 ? number_of(words[0]) : form;
    if (!type || *type > UINT32_MAX)
        return form;
    Pmu pmu{static_cast<uint32_t>(*type), std::string(words[1])};
    for (std::string_view word : words.subspan(2)) {
        const size_t sign = word.find('=');
        if (sign == word.npos)
            return form;
        pmu.caps.emplace_back(word.substr(0, sign), word.substr(sign + 1));
    }
    into.pmus.push_back(std::move(pmu));
    return {};
}

Result<void> read_event(Case &into, Words words)
{
    const Error form = usage("event ID PMU/TERMS/ [config N] [period N [raw]] [clock NAME]");
    Result<uint64_t> id = words.size() >= 2 ? number_of(words[0]) : form;
    if (!id)
        return form;
    Event event;
    event.id = *id;
    event.name = words[1];
    Words rest = words.subspan(2);
    if (rest.size() >= 2 && rest[0] == "config") {
        Result<uint64_t> config = number_of(rest[1]);
        if (!config)
            return form;
        event.config = *config;
        rest = rest.subspan(2);
    }
    if (rest.size() >= 2 && rest[0] == "period") {
        Result<uint64_t> period = number_of(rest[1]);
        if (!period || *period == 0)
            return form;
        event.period = *period;
        event.raw = rest.size() > 2 && rest[2] == "raw";
        rest = rest.subspan(2 + event.raw);
    }
    if (rest.size() == 2 && rest[0] == "clock") {
        event.clock_id = clock_of_word(rest[1]);
        if (event.clock_id)
            rest = {};
    }
    if (!rest.empty())
        return form;
    const std::string_view pmu = words[1].substr(0, words[1].find('/'));
    for (const Pmu &known : into.pmus)
        if (known.name == pmu) {
            event.type = known.type;
            into.events.push_back(std::move(event));
            return {};
        }
    return usage("an event of an undefined pmu");
}

Result<void> read_order(Case &into, Words words)
{
    if (words.size() != 1 || (words[0] != "little" && words[0] != "big") || !into.buffers.empty())
        return usage("order little|big, before any record");
    into.order = words[0] == "big" ? std::endian::big : std::endian::little;
    return {};
}

Result<void> read_host(Case &into, Words words)
{
    if (words.empty())
        return usage("host ARCHITECTURE [PROCESSOR]");
    into.arch = words[0];
    into.processor.clear();
    for (std::string_view word : words.subspan(1))
        into.processor += (into.processor.empty() ? "" : " ") + std::string(word);
    return {};
}

Result<void> read_wall(Case &into, Words words)
{
    const Error form = usage("wall CLOCK CLOCK_NS WALL_NS");
    if (words.size() != 3)
        return form;
    const std::optional<int32_t> clock = clock_of_word(words[0]);
    const Result<uint64_t> clock_ns = number_of(words[1]), wall_ns = number_of(words[2]);
    if (!clock || !clock_ns || !wall_ns)
        return form;
    into.clock = {1, static_cast<uint32_t>(*clock), *wall_ns, *clock_ns};
    return {};
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
        return usage(
            "aux ID [cpu N] [pid N] [tid N] [time NS] [of-thread] [missing BYTES] "
            "[truncated|overwrite|partial|collision ...]");
    buffer.event_id = *id;
    for (size_t i = 1; i < words.size(); i++) {
        if (words[i] == "of-thread") {
            buffer.of_thread = true;
            continue;
        }
        const auto *flag = std::find_if(std::begin(flags), std::end(flags),
                                        [&](const auto &row) { return row.first == words[i]; });
        if (flag != std::end(flags)) {
            buffer.flags |= flag->second;
            continue;
        }
        Result<uint64_t> value = i + 1 < words.size() ? number_of(words[i + 1]) : usage("");
        if (value && words[i] == "missing")
            buffer.missing_bytes = *value;
        else if (!value || !read_sample_id(buffer, words[i], *value))
            return usage("aux knows cpu N, missing BYTES and the names of flags");
        i++;
    }
    into.buffers.push_back(std::move(buffer));
    return {};
}

Result<void> read_line(Case &into, std::string_view line)
{
    static const std::map<std::string_view, Result<void> (*)(Case &, Words)> kStatements = {
        {"pmu", read_pmu},           {"event", read_event},
        {"layout", read_layout},     {"info", read_info},
        {"aux", read_aux},           {"order", read_order},
        {"host", read_host},         {"wall", read_wall},
        {"sample", read_sample},     {"comm", read_comm},
        {"mmap", read_mmap},         {"fork", read_fork},
        {"lost", read_lost},         {"lost-samples", read_lost_samples},
        {"throttle", read_throttle},
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
            return usage("a text line without a preceding expect");
        const std::string_view text = line.substr(line.find('|') + 1);
        into.expected.back().text += std::string(text.substr(text.starts_with(' '))) + "\n";
        return {};
    }
    if (auto statement = kStatements.find(words[0]); statement != kStatements.end())
        return statement->second(into, rest);
    const Line *bytes = line_of(words[0]);
    if (!bytes)
        return Error{Errc::kUsage, "unknown word '" + std::string(words[0]) + "'"};
    if (into.buffers.empty() || !takes_bytes(into.buffers.back()))
        return usage("bytes outside a buffer: aux must come first");
    return bytes->append(rest, into.buffers.back().bytes);
}

// Recordings

Result<perfdata::Writer> open_writer(const Case &what, const std::string &path)
{
    std::vector<perfdata::WriterEvent> events;
    for (const Event &event : what.events)
        events.push_back(writer_event(event, what.order));
    // The recording states that the host has as many CPUs as the case uses, because stock perf
    // rejects CPU numbers above that.
    uint32_t cpus = 1;
    for (const Buffer &buffer : what.buffers)
        cpus = std::max(cpus, buffer.cpu + 1);
    perfdata::HostInfo host{"encoded", "none", "pmukit-encode",   what.arch,
                            cpus,      cpus,   {"pmukit-encode"}, {}};
    host.clock = what.clock;
    for (const Pmu &pmu : what.pmus) {
        host.pmus.emplace_back(pmu.type, pmu.name);
        if (!pmu.caps.empty())
            host.caps.emplace_back(pmu.name, pmu.caps);
    }
    if (!what.pipe) {
        auto writer = perfdata::Writer::create(path, std::move(events), host, what.order);
        if (writer && !what.processor.empty())
            writer->section(perfdata::kFeatCpuDesc,
                            perfdata::Packer(what.order).string(what.processor).take());
        return writer;
    }
    if (what.order != std::endian::native || !what.processor.empty())
        return Error{Errc::kUnsupported, "pipe layout has the order of this machine, no processor"};
    return perfdata::Writer::create_pipe(path, std::move(events), host);
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
    // Each event has an AUX area for each CPU or thread. The offset in an AUX area continues from
    // one buffer to the next.
    std::map<std::tuple<uint64_t, uint32_t, uint32_t>, uint64_t> offsets;
    for (const Buffer &buffer : what.buffers) {
        if (buffer.type != PERF_RECORD_AUX) {
            if (auto put = writer->records(record_of(what, buffer)); !put)
                return put;
            continue;
        }
        if (buffer.bytes.size() % sizeof(uint64_t) != 0)
            return Error{Errc::kUsage, "a buffer of " + std::to_string(buffer.bytes.size()) +
                                           " bytes: AUX data comes in multiples of 8"};
        perfdata::AuxtraceRecord trace;
        trace.cpu = buffer.of_thread ? UINT32_MAX : buffer.cpu;
        trace.tid = buffer.of_thread ? buffer.tid : UINT32_MAX;
        uint64_t &offset = offsets[{buffer.event_id, trace.cpu, trace.tid}];
        trace.offset = offset;
        trace.reference = buffer.event_id;
        if (auto put = writer->records(aux_record(what, buffer, offset)); !put)
            return put;
        // A buffer without bytes is a gap in the data. It has an AUX record but no AUXTRACE record.
        if (auto put =
                buffer.bytes.empty() ? Result<void>() : writer->auxtrace(trace, buffer.bytes, {});
            !put)
            return put;
        offset += buffer.bytes.size() + buffer.missing_bytes;
    }
    if (auto put = writer->finished_round(); !put)
        return put;
    return writer->finish();
}

}  // namespace pmukit::encode
