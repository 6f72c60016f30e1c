// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// File layout, in this order: header, ids, attributes, records, table of features, features.
#include "perfdata/writer.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "perfdata/format.hpp"
#include "perfdata/output/new_file.hpp"
#include "perfdata/packer.hpp"

namespace pmukit::perfdata {
namespace {

constexpr unsigned kFeatEnd = kFeatClnSize + 1;  // HEADER_LAST_FEATURE of Linux 7.2

std::vector<std::byte> packed_string(const std::string &text, std::endian order)
{
    return Packer(order).string(text).take();
}

std::vector<std::byte> packed_cmdline(const std::vector<std::string> &words, std::endian order)
{
    Packer packer(order);
    packer.put(static_cast<uint32_t>(words.size()));
    for (const std::string &word : words)
        packer.string(word);
    return packer.take();
}

std::vector<std::byte> packed_pmus(const std::vector<std::pair<uint32_t, std::string>> &pmus,
                                   std::endian order)
{
    Packer packer(order);
    packer.put(static_cast<uint32_t>(pmus.size()));
    for (const auto &[type, name] : pmus)
        packer.put(type).string(name);
    return packer.take();
}

// perf 6.1 refuses a file whose attributes are larger than its own, even if the rest is zero.
size_t needed_bytes(Bytes attr)
{
    constexpr size_t kOldBytes = 128;  // PERF_ATTR_SIZE_VER7
    if (attr.size() <= kOldBytes)
        return attr.size();
    const Bytes young = attr.subspan(kOldBytes);
    bool used = std::ranges::any_of(young, [](std::byte value) { return value != std::byte{0}; });
    return used ? attr.size() : kOldBytes;
}

}  // namespace

std::vector<std::byte> packed_caps(const std::vector<std::pair<std::string, HostInfo::Caps>> &pmus,
                                   std::endian order)
{
    Packer packer(order);
    packer.put(static_cast<uint32_t>(pmus.size()));
    for (const auto &[pmu, caps] : pmus) {
        packer.put(static_cast<uint32_t>(caps.size()));
        for (const auto &[name, value] : caps)
            packer.string(name).string(value);
        packer.string(pmu);
    }
    return packer.take();
}

struct __attribute__((visibility("hidden"))) Writer::State {
    State(NewFile file, std::endian order, std::vector<WriterEvent> events);

    void section(unsigned feature, std::vector<std::byte> content);
    Result<void> auxtrace_info(uint32_t type, const std::vector<uint64_t> &priv);
    Result<void> copy(const Record &record);
    Result<void> auxtrace(const AuxtraceRecord &record, Bytes first, Bytes second);
    Result<void> finished_round();
    Result<void> complete();
    std::string keep();

    void host_sections(const HostInfo &host);
    Result<void> write_front();
    Result<void> write_pipe_front();
    Result<void> write_pipe_event(const WriterEvent &event);
    Result<void> write_features();
    Packer packer() const { return Packer(order_); }
    std::vector<std::byte> file_header() const;
    std::vector<std::byte> event_desc() const;
    std::vector<std::byte> auxtrace_index() const;

    struct IndexEntry {
        uint64_t offset, size;
    };
    NewFile file_;
    std::endian order_;
    std::vector<WriterEvent> events_;
    bool pipe_ = false, complete_ = false;
    uint64_t attrs_offset_ = 0, data_offset_ = 0, data_end_ = 0;
    std::chrono::steady_clock::time_point flushed_;
    size_t attr_bytes_ = 0;  // size of the largest attribute
    std::vector<IndexEntry> index_;
    // Sorted by feature number: the table in the file has no other key.
    std::map<unsigned, std::vector<std::byte>> sections_;
};

Writer::State::State(NewFile file, std::endian order, std::vector<WriterEvent> events)
    : file_(std::move(file)), order_(order), events_(std::move(events))
{
    attr_bytes_ = kAttrMinBytes;
    for (const WriterEvent &event : events_)
        attr_bytes_ = std::max(attr_bytes_, needed_bytes(event.attr));
    // perf takes the length of an attribute from its size field and expects the ids behind it. So
    // every size field is set to the common length.
    for (WriterEvent &event : events_) {
        event.attr.resize(attr_bytes_);
        store(event.attr.data() + kAttrSize, static_cast<uint32_t>(attr_bytes_), order_);
    }
    const auto named = [](const WriterEvent &event) { return !event.name.empty(); };
    if (std::ranges::any_of(events_, named))
        sections_[kFeatEventDesc] = event_desc();
}

// Creation

Writer::Writer(std::unique_ptr<State> state) : state_(std::move(state)) {}
Writer::Writer(Writer &&) noexcept = default;
Writer &Writer::operator=(Writer &&) noexcept = default;
Writer::~Writer() = default;

Result<Writer> Writer::create(const std::string &path, std::vector<WriterEvent> events,
                              const HostInfo &host, int stop_fd)
{
    return create(path, std::move(events), host, std::endian::native, stop_fd);
}

Result<Writer> Writer::create(const std::string &path, std::vector<WriterEvent> events,
                              const HostInfo &host, std::endian order, int stop_fd)
{
    Result<NewFile> file = NewFile::create(path);
    if (!file)
        return file.error();
    file->give_up_when(stop_fd);
    const bool pipe = !file->can_patch();
    auto state = std::make_unique<State>(std::move(*file), order, std::move(events));
    if (pipe)
        return in_pipe(std::move(state), host);
    Result<Writer> writer = in_file(std::move(state));
    if (writer)
        writer->state_->host_sections(host);
    return writer;
}

Result<Writer> Writer::create_copy(const std::string &path, std::endian order,
                                   std::vector<WriterEvent> events)
{
    Result<NewFile> file = NewFile::create(path);
    if (!file)
        return file.error();
    if (!file->can_patch())
        return Error{Errc::kUsage, path + kNeedsFile};
    return in_file(std::make_unique<State>(std::move(*file), order, std::move(events)));
}

Result<Writer> Writer::create_pipe(Fd fd, std::vector<WriterEvent> events, const HostInfo &host,
                                   int stop_fd)
{
    NewFile file = NewFile::into(std::move(fd), "the pipe");
    file.give_up_when(stop_fd);
    return in_pipe(std::make_unique<State>(std::move(file), std::endian::native, std::move(events)),
                   host);
}

Result<Writer> Writer::create_pipe(const std::string &path, std::vector<WriterEvent> events,
                                   const HostInfo &host)
{
    Result<NewFile> file = NewFile::create(path);
    if (!file)
        return file.error();
    return in_pipe(
        std::make_unique<State>(std::move(*file), std::endian::native, std::move(events)), host);
}

Result<Writer> Writer::in_file(std::unique_ptr<State> state)
{
    if (Result<void> front = state->write_front(); !front)
        return front.error();
    return Writer(std::move(state));
}

Result<Writer> Writer::in_pipe(std::unique_ptr<State> state, const HostInfo &host)
{
    state->pipe_ = true;
    state->host_sections(host);
    if (Result<void> front = state->write_pipe_front(); !front)
        return front.error();
    return Writer(std::move(state));
}

// Calls of the interface

void Writer::section(unsigned feature, std::vector<std::byte> content)
{
    state_->section(feature, std::move(content));
}

void Writer::sample_times(const TimeSpan &times)
{
    section(kFeatSampleTime, state_->packer().put(times.first_ns).put(times.last_ns).take());
}

Result<void> Writer::auxtrace_info(uint32_t type, const std::vector<uint64_t> &priv)
{
    return state_->auxtrace_info(type, priv);
}

Result<void> Writer::records(Bytes bytes)
{
    return state_->file_.put(bytes);
}

Result<void> Writer::copy(const Record &record)
{
    return state_->copy(record);
}

Result<void> Writer::auxtrace(AuxtraceRecord record, Bytes first, Bytes second)
{
    return state_->auxtrace(record, first, second);
}

Result<void> Writer::finished_round()
{
    return state_->finished_round();
}

Result<void> Writer::complete()
{
    return state_->complete();
}

Result<void> Writer::finish()
{
    Result<void> done = complete();
    return done ? state_->file_.finish() : done;
}

void Writer::make_durable()
{
    state_->file_.make_durable();
}

std::string Writer::keep()
{
    return state_->keep();
}

std::endian Writer::order() const
{
    return state_->order_;
}

uint64_t Writer::data_bytes() const
{
    return state_->file_.offset() - state_->data_offset_;
}

// Front and sections

void Writer::State::section(unsigned feature, std::vector<std::byte> content)
{
    if (feature != kFeatEventDesc && feature != kFeatAuxtrace)
        sections_[feature] = std::move(content);
}

void Writer::State::host_sections(const HostInfo &host)
{
    sections_[kFeatHostname] = packed_string(host.hostname, order_);
    sections_[kFeatOsRelease] = packed_string(host.os_release, order_);
    sections_[kFeatVersion] = packed_string(host.version, order_);
    sections_[kFeatArch] = packed_string(host.arch, order_);
    sections_[kFeatNrCpus] = packer().put(host.cpus_available).put(host.cpus_online).take();
    sections_[kFeatCmdline] = packed_cmdline(host.cmdline, order_);
    sections_[kFeatPmuMappings] = packed_pmus(host.pmus, order_);
    if (!host.caps.empty())
        sections_[kFeatPmuCaps] = packed_caps(host.caps, order_);
    if (host.clock_resolution_ns)
        sections_[kFeatClockId] = packer().put(host.clock_resolution_ns).take();
    if (host.clock)
        sections_[kFeatClockData] = packer()
                                        .put(host.clock->version)
                                        .put(host.clock->clock_id)
                                        .put(host.clock->wall_ns)
                                        .put(host.clock->clock_ns)
                                        .take();
}

// The header is written twice: now, and at the end with all sizes. Until then it is the header of a
// killed recorder: the events can be read, so the records can be recovered.
Result<void> Writer::State::write_front()
{
    uint64_t ids_at = kFileHeaderBytes;
    Packer attrs = packer();
    for (const WriterEvent &event : events_) {
        attrs.put(Bytes(event.attr)).put(ids_at).put(uint64_t{event.ids.size() * sizeof(uint64_t)});
        ids_at += event.ids.size() * sizeof(uint64_t);
    }
    attrs_offset_ = ids_at;
    data_offset_ = attrs_offset_ + attrs.bytes().size();
    Result<void> done = file_.put(file_header());
    for (const WriterEvent &event : events_)
        for (size_t i = 0; done && i < event.ids.size(); i++) {
            std::byte id[sizeof(uint64_t)];
            store(id, event.ids[i], order_);
            done = file_.put(id);
        }
    return done ? file_.put(attrs.bytes()) : done;
}

Result<void> Writer::State::auxtrace_info(uint32_t type, const std::vector<uint64_t> &priv)
{
    constexpr size_t kInfoBodyBytes = 8;  // the type and 32 reserved bits
    constexpr size_t kFrontBytes = kRecordHeaderBytes + kInfoBodyBytes;
    if (priv.size() > (kMaxRecordBytes - kFrontBytes) / sizeof(uint64_t))
        return Error{Errc::kUnsupported, "more words about AUX data than a record can hold"};
    Packer record = packer();
    record.record_header(kAuxtraceInfo, 0, kFrontBytes + priv.size() * sizeof(uint64_t));
    record.put(type).put(uint32_t{0});
    for (uint64_t word : priv)
        record.put(word);
    return file_.put(record.bytes());
}

// Attributes, names and features as records; an empty feature ends the header.
Result<void> Writer::State::write_pipe_front()
{
    Packer front = packer();
    front.put(kMagic).put(uint64_t{kPipeHeaderBytes});
    if (Result<void> done = file_.put(front.bytes()); !done)
        return done;
    for (const WriterEvent &event : events_)
        if (Result<void> done = write_pipe_event(event); !done)
            return done;
    sections_[kFeatEnd] = {};
    for (const auto &[feature, content] : sections_) {
        size_t size = kRecordHeaderBytes + sizeof(uint64_t) + content.size();
        const size_t padding = (8 - size % 8) % 8;
        if (size + padding > UINT16_MAX)
            continue;  // too long for a record
        Packer record = packer();
        record.record_header(kHeaderFeature, 0, size + padding)
            .put(uint64_t{feature})
            .put(Bytes(content))
            .pad_to(size + padding);
        if (Result<void> done = file_.put(record.bytes()); !done)
            return done;
    }
    data_offset_ = file_.offset();
    return {};
}

Result<void> Writer::State::write_pipe_event(const WriterEvent &event)
{
    size_t size = kRecordHeaderBytes + event.attr.size() + event.ids.size() * sizeof(uint64_t);
    if (size > UINT16_MAX)
        return Error{Errc::kUnsupported, "an event with more ids than a pipe's record can hold"};
    Packer attr = packer();
    attr.record_header(kHeaderAttr, 0, size).put(Bytes(event.attr));
    for (uint64_t id : event.ids)
        attr.put(id);
    if (Result<void> done = file_.put(attr.bytes()); !done || event.ids.empty())
        return done;
    constexpr uint64_t kUpdateName = 2;
    size = kRecordHeaderBytes + 2 * sizeof(uint64_t) + (event.name.size() + 8) / 8 * 8;
    Packer name = packer();
    name.record_header(kEventUpdate, 0, size)
        .put(kUpdateName)
        .put(event.ids.front())
        .put(as_bytes(event.name))
        .pad_to(size);
    return file_.put(name.bytes());
}

Result<void> Writer::State::copy(const Record &record)
{
    if (record.payload_at != 0)
        return file_.put(record.payload);
    const size_t size = kRecordHeaderBytes + record.body.size();
    if (record.type == kAuxtrace)
        index_.push_back({file_.offset(), size + record.payload_bytes});
    std::byte header[kRecordHeaderBytes];
    store(header, record.type, order_);
    store(header + 4, record.misc, order_);
    store(header + 6, static_cast<uint16_t>(size), order_);
    for (Bytes part : {Bytes(header), record.body, record.payload})
        if (Result<void> done = file_.put(part); !done)
            return done;
    return {};
}

Result<void> Writer::State::auxtrace(const AuxtraceRecord &record, Bytes first, Bytes second)
{
    constexpr size_t kBytes = kRecordHeaderBytes + kAuxtraceBodyBytes;
    const size_t size = first.size() + second.size();
    const size_t padding = (8 - size % 8) % 8;  // the next record is 8-byte aligned
    index_.push_back({file_.offset(), kBytes + size + padding});
    Packer head = packer();
    head.record_header(kAuxtrace, 0, kBytes)
        .put(uint64_t{size + padding})
        .put(record.offset)
        .put(record.reference)
        .put(record.index)
        .put(record.tid)
        .put(record.cpu)
        .put(uint32_t{0});
    const std::byte zeros[8]{};
    for (Bytes part : {Bytes(head.bytes()), first, second, Bytes(zeros, padding)})
        if (Result<void> done = file_.put(part); !done)
            return done;
    return {};
}

Result<void> Writer::State::finished_round()
{
    constexpr auto kMostLost = std::chrono::seconds(1);
    Packer record = packer();
    Result<void> done =
        file_.put(record.record_header(kFinishedRound, 0, kRecordHeaderBytes).bytes());
    const auto now = std::chrono::steady_clock::now();
    if (!done || (!pipe_ && now - flushed_ < kMostLost))
        return done;
    flushed_ = now;
    return file_.flush();
}

std::vector<std::byte> Writer::State::event_desc() const
{
    constexpr size_t kMostBesides = 128;  // numbers, and the padding of the name
    size_t bytes = kMostBesides;
    for (const WriterEvent &event : events_)
        bytes += event.attr.size() + event.name.size() + event.ids.size() * sizeof(uint64_t) +
                 kMostBesides;
    Packer desc = packer();
    desc.reserve(bytes);
    desc.put(static_cast<uint32_t>(events_.size())).put(static_cast<uint32_t>(attr_bytes_));
    for (const WriterEvent &event : events_) {
        desc.put(Bytes(event.attr)).put(static_cast<uint32_t>(event.ids.size())).string(event.name);
        for (uint64_t id : event.ids)
            desc.put(id);
    }
    return desc.take();
}

std::vector<std::byte> Writer::State::auxtrace_index() const
{
    Packer index = packer();
    index.put(uint64_t{index_.size()});
    for (const IndexEntry &entry : index_)
        index.put(entry.offset).put(entry.size);
    return index.take();
}

Result<void> Writer::State::write_features()
{
    if (!index_.empty())
        sections_[kFeatAuxtrace] = auxtrace_index();
    Packer table = packer();
    uint64_t at = file_.offset() + sections_.size() * kSectionBytes;
    for (const auto &[feature, content] : sections_) {
        table.put(at).put(uint64_t{content.size()});
        at += content.size();
    }
    if (Result<void> done = file_.put(table.bytes()); !done)
        return done;
    for (const auto &[feature, content] : sections_)
        if (Result<void> done = file_.put(content); !done)
            return done;
    return {};
}

// Until the end of the records is known, the header has no size and no sections: readers recognize
// that as the file of a killed recorder.
std::vector<std::byte> Writer::State::file_header() const
{
    const bool is_known = data_end_ != 0;
    uint64_t bitmap[kFeatureBits / 64] = {};
    for (const auto &[feature, content] : sections_)
        bitmap[feature / 64] |= uint64_t{is_known} << (feature % 64);
    size_t entry_bytes = attr_bytes_ + kSectionBytes;
    Packer header = packer();
    header.put(kMagic).put(uint64_t{kFileHeaderBytes}).put(uint64_t{entry_bytes});
    header.put(attrs_offset_).put(uint64_t{entry_bytes * events_.size()});
    header.put(data_offset_).put(is_known ? data_end_ - data_offset_ : uint64_t{0});
    header.put(uint64_t{0}).put(uint64_t{0});  // event types, a section of old formats
    for (uint64_t word : bitmap)
        header.put(word);
    return header.take();
}

Result<void> Writer::State::complete()
{
    if (complete_)
        return {};
    data_end_ = file_.offset();
    if (!pipe_) {
        if (Result<void> features = write_features(); !features)
            return features;
        if (Result<void> header = file_.patch(0, file_header()); !header)
            return header;
    }
    Result<void> done = file_.complete();
    complete_ = static_cast<bool>(done);
    return done;
}

std::string Writer::State::keep()
{
    if (pipe_ || file_.bytes_there() <= data_offset_)
        return {};
    // Sections that the header does not list yet are removed.
    const bool has_half_sections = data_end_ != 0 && !complete_;
    return file_.keep(has_half_sections ? data_end_ : UINT64_MAX);
}

}  // namespace pmukit::perfdata
