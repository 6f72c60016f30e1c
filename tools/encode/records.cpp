// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// perf_event_open(2) describes the layout of the records.
#include "encode/records.hpp"

#include <algorithm>

#include "perfdata/format.hpp"
#include "perfdata/packer.hpp"

namespace pmukit::encode {
namespace {

using perfdata::Packer;

constexpr size_t kAttrBytes = 128;

Error usage(const char *text)
{
    return Error{Errc::kUsage, text};
}

// Lines

constexpr std::pair<std::string_view, uint16_t> kModes[] = {
    {"kernel", PERF_RECORD_MISC_KERNEL},
    {"user", PERF_RECORD_MISC_USER},
    {"guest-kernel", PERF_RECORD_MISC_GUEST_KERNEL},
    {"guest-user", PERF_RECORD_MISC_GUEST_USER},
};

bool read_mode(Buffer &into, std::string_view word)
{
    for (const auto &[name, misc] : kModes)
        if (name == word) {
            into.misc = misc;
            return true;
        }
    return false;
}

// Parses the numbers at the start of a line. The rest of the line must be pairs of a word and a
// number for read_sample_id().
Result<std::vector<uint64_t>> numbers(Words words, size_t count, const char *help)
{
    std::vector<uint64_t> values;
    for (size_t i = 0; i < count; i++) {
        Result<uint64_t> value = i < words.size() ? number_of(words[i]) : usage(help);
        if (!value)
            return usage(help);
        values.push_back(*value);
    }
    return values;
}

Result<void> read_pairs(Buffer &into, Words words, const char *help)
{
    for (size_t i = 0; i < words.size(); i += 2) {
        Result<uint64_t> value = i + 1 < words.size() ? number_of(words[i + 1]) : usage(help);
        if (!value || !read_sample_id(into, words[i], *value))
            return usage(help);
    }
    return {};
}

// Adds a kernel record, which belongs to the first event.
Result<void> add(Case &into, Buffer buffer)
{
    if (into.events.empty())
        return usage("a record without an event: event must come first");
    buffer.event_id = into.events.front().id;
    into.buffers.push_back(std::move(buffer));
    return {};
}

void put_text(Packer &to, std::string_view text)
{
    const size_t room = text.size() / 8 * 8 + 8;
    const size_t end = to.bytes().size() + room;
    to.put(as_bytes(text)).pad_to(end);
}

// Records

constexpr uint64_t kWho = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_CPU;
constexpr uint64_t kSampling =
    kWho | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD;

const Event *event_of(const Case &what, const Buffer &buffer)
{
    const auto found = std::ranges::find(what.events, buffer.event_id, &Event::id);
    return found == what.events.end() ? nullptr : &*found;
}

// Appends the sample_id fields at the end of a record, as all records except samples have them. The
// sample_type of the event selects the fields.
void put_trailer(Packer &to, const Event *event, const Buffer &buffer)
{
    if (event && event->period)
        to.put(buffer.pid).put(buffer.tid).put(buffer.time_ns);
    to.put(buffer.cpu).put(uint32_t{0}).put(buffer.event_id);
}

void put_sample(Packer &to, const Event *event, const Buffer &buffer)
{
    to.put(buffer.event_id).put(buffer.ip).put(buffer.pid).put(buffer.tid).put(buffer.time_ns);
    to.put(buffer.cpu).put(uint32_t{0});
    to.put(buffer.period || !event ? buffer.period : event->period);
    if (event && event->raw)
        to.put(static_cast<uint32_t>(buffer.bytes.size())).put(Bytes(buffer.bytes));
}

std::vector<std::byte> with_header(const Case &what, const Buffer &buffer, const Packer &body)
{
    const size_t size = perfdata::kRecordHeaderBytes + body.bytes().size();
    return Packer(what.order)
        .record_header(buffer.type, buffer.misc, size)
        .put(Bytes(body.bytes()))
        .take();
}

}  // namespace

bool read_sample_id(Buffer &into, std::string_view word, uint64_t value)
{
    constexpr uint64_t kMaxCpu = 65535;
    if (word == "time")
        into.time_ns = value;
    else if (value > UINT32_MAX || (word == "cpu" && value > kMaxCpu))
        return false;
    else if (word == "cpu")
        into.cpu = static_cast<uint32_t>(value);
    else if (word == "pid")
        into.pid = static_cast<uint32_t>(value);
    else if (word == "tid")
        into.tid = static_cast<uint32_t>(value);
    else
        return false;
    return true;
}

bool takes_bytes(const Buffer &buffer)
{
    return buffer.type == PERF_RECORD_AUX || buffer.type == PERF_RECORD_SAMPLE;
}

Result<void> read_sample(Case &into, Words words)
{
    constexpr const char *kHelp =
        "sample ID MODE IP [cpu N] [pid N] [tid N] [time NS], of an event with a period";
    Buffer buffer;
    buffer.type = PERF_RECORD_SAMPLE;
    Result<uint64_t> id = words.size() >= 3 ? number_of(words[0]) : usage(kHelp);
    Result<uint64_t> ip = words.size() >= 3 ? number_of(words[2]) : usage(kHelp);
    if (!id || !ip || !read_mode(buffer, words[1]))
        return usage(kHelp);
    buffer.event_id = *id;
    buffer.ip = *ip;
    const Event *event = event_of(into, buffer);
    if (!event || !event->period)
        return usage(kHelp);
    if (Result<void> read = read_pairs(buffer, words.subspan(3), kHelp); !read)
        return read;
    into.buffers.push_back(std::move(buffer));
    return {};
}

Result<void> read_comm(Case &into, Words words)
{
    constexpr const char *kHelp = "comm PID TID NAME [exec] [time NS]";
    Result<std::vector<uint64_t>> ids = numbers(words, 2, kHelp);
    if (!ids || words.size() < 3)
        return usage(kHelp);
    const bool exec = words.size() > 3 && words[3] == "exec";
    Buffer buffer;
    buffer.type = PERF_RECORD_COMM;
    buffer.misc = exec ? PERF_RECORD_MISC_COMM_EXEC : 0;
    buffer.pid = static_cast<uint32_t>((*ids)[0]);
    buffer.tid = static_cast<uint32_t>((*ids)[1]);
    if (Result<void> read = read_pairs(buffer, words.subspan(exec ? 4 : 3), kHelp); !read)
        return read;
    Packer body(into.order);
    body.put(buffer.pid).put(buffer.tid);
    put_text(body, words[2]);
    buffer.bytes = body.take();
    return add(into, std::move(buffer));
}

Result<void> read_mmap(Case &into, Words words)
{
    constexpr const char *kHelp = "mmap PID|kernel ADDRESS BYTES OFFSET PATH [build HEX] [time NS]";
    const bool kernel = !words.empty() && words[0] == "kernel";
    Result<uint64_t> pid = kernel          ? Result<uint64_t>(UINT32_MAX)
                           : words.empty() ? usage(kHelp)
                                           : number_of(words[0]);
    Result<std::vector<uint64_t>> place =
        numbers(words.empty() ? words : words.subspan(1), 3, kHelp);
    if (!pid || *pid > UINT32_MAX || !place || words.size() < 5)
        return usage(kHelp);
    Buffer buffer;
    buffer.type = PERF_RECORD_MMAP2;
    buffer.misc = kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER;
    buffer.pid = buffer.tid = static_cast<uint32_t>(*pid);
    std::byte build_id[20]{};
    uint8_t build_bytes = 0;
    size_t used = 5;
    if (words.size() > used && words[used] == "build") {
        const std::string_view hex = words.size() > used + 1 ? words[used + 1] : "";
        if (hex.empty() || hex.size() % 2 || hex.size() > 2 * sizeof build_id)
            return usage(kHelp);
        for (; 2 * build_bytes < hex.size(); build_bytes++) {
            Result<uint64_t> value = number_of(hex.substr(2 * build_bytes, 2), 16);
            if (!value)
                return value.error();
            build_id[build_bytes] = static_cast<std::byte>(*value);
        }
        buffer.misc |= PERF_RECORD_MISC_MMAP_BUILD_ID;
        used += 2;
    }
    if (Result<void> read = read_pairs(buffer, words.subspan(used), kHelp); !read)
        return read;
    Packer body(into.order);
    body.put(buffer.pid).put(buffer.tid).put((*place)[0]).put((*place)[1]).put((*place)[2]);
    // Instead of device and inode there is a build id: its length, padding, the id.
    body.put(build_bytes).put(uint8_t{0}).put(uint16_t{0}).put(Bytes(build_id));
    constexpr uint32_t kReadExecute = 5, kPrivate = 2;
    body.put(kReadExecute).put(kPrivate);
    put_text(body, words[4]);
    buffer.bytes = body.take();
    return add(into, std::move(buffer));
}

Result<void> read_fork(Case &into, Words words)
{
    constexpr const char *kHelp = "fork PID PARENT_PID TID PARENT_TID TIME_NS";
    Result<std::vector<uint64_t>> ids = numbers(words, 5, kHelp);
    if (!ids || words.size() != 5)
        return usage(kHelp);
    Buffer buffer;
    buffer.type = PERF_RECORD_FORK;
    buffer.time_ns = (*ids)[4];
    Packer body(into.order);
    for (size_t i = 0; i < 4; i++)
        body.put(static_cast<uint32_t>((*ids)[i]));
    body.put(buffer.time_ns);
    buffer.pid = static_cast<uint32_t>((*ids)[1]);
    buffer.tid = static_cast<uint32_t>((*ids)[3]);
    buffer.bytes = body.take();
    return add(into, std::move(buffer));
}

namespace {

// In a LOST record, the event id precedes the count.
Result<void> read_loss(Case &into, Words words, uint32_t type, const char *help)
{
    Result<std::vector<uint64_t>> lost = numbers(words, 2, help);
    if (!lost)
        return usage(help);
    Buffer buffer;
    buffer.type = type;
    buffer.event_id = (*lost)[0];
    Packer body(into.order);
    if (type == PERF_RECORD_LOST)
        body.put((*lost)[0]);
    buffer.bytes = body.put((*lost)[1]).take();
    Result<void> read = read_pairs(buffer, words.subspan(2), help);
    into.buffers.push_back(std::move(buffer));
    return read;
}

}  // namespace

Result<void> read_lost(Case &into, Words words)
{
    return read_loss(into, words, PERF_RECORD_LOST, "lost ID RECORDS [cpu N] [time NS]");
}

Result<void> read_lost_samples(Case &into, Words words)
{
    return read_loss(into, words, PERF_RECORD_LOST_SAMPLES,
                     "lost-samples ID COUNT [cpu N] [time NS]");
}

Result<void> read_throttle(Case &into, Words words)
{
    constexpr const char *kHelp = "throttle ID NS [cpu N]";
    Result<std::vector<uint64_t>> known = numbers(words, 2, kHelp);
    if (!known)
        return usage(kHelp);
    Buffer buffer;
    buffer.type = PERF_RECORD_THROTTLE;
    buffer.event_id = (*known)[0];
    buffer.time_ns = (*known)[1];
    buffer.bytes =
        Packer(into.order).put(buffer.time_ns).put(buffer.event_id).put(buffer.event_id).take();
    Result<void> read = read_pairs(buffer, words.subspan(2), kHelp);
    into.buffers.push_back(std::move(buffer));
    return read;
}

perfdata::WriterEvent writer_event(const Event &event, std::endian order)
{
    perfdata::WriterEvent made{std::vector<std::byte>(kAttrBytes), {event.id}, event.name};
    std::byte *attr = made.attr.data();
    const uint64_t type = event.period ? kSampling | (event.raw ? PERF_SAMPLE_RAW : 0) : kWho;
    // On a big-endian machine the first bit field of perf_event_attr is the most significant bit.
    const auto bit = [order](unsigned number) {
        return uint64_t{1} << (order == std::endian::little ? number : 63 - number);
    };
    const uint64_t flags = bit(perfdata::kAttrFlagSampleIdAll) |
                           (event.clock_id ? bit(perfdata::kAttrFlagUseClockId) : 0);
    store<uint32_t>(attr + perfdata::kAttrType, event.type, order);
    store<uint32_t>(attr + perfdata::kAttrSize, kAttrBytes, order);
    store<uint64_t>(attr + perfdata::kAttrConfig, event.config, order);
    store<uint64_t>(attr + perfdata::kAttrSamplePeriod, event.period, order);
    store<uint64_t>(attr + perfdata::kAttrSampleType, type, order);
    store<uint64_t>(attr + perfdata::kAttrFlags, flags, order);
    store<uint32_t>(attr + perfdata::kAttrClockId,
                    static_cast<uint32_t>(event.clock_id.value_or(0)), order);
    return made;
}

std::vector<std::byte> record_of(const Case &what, const Buffer &buffer)
{
    Packer body(what.order);
    const Event *event = event_of(what, buffer);
    if (buffer.type == PERF_RECORD_SAMPLE) {
        put_sample(body, event, buffer);
    } else {
        body.put(Bytes(buffer.bytes));
        put_trailer(body, event, buffer);
    }
    return with_header(what, buffer, body);
}

// Body of PERF_RECORD_AUX: offset, size and flags.
std::vector<std::byte> aux_record(const Case &what, const Buffer &buffer, uint64_t offset)
{
    Packer body(what.order);
    body.put(offset).put(buffer.bytes.size() + buffer.missing_bytes).put(buffer.flags);
    put_trailer(body, event_of(what, buffer), buffer);
    return with_header(what, buffer, body);
}

}  // namespace pmukit::encode
