// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// File layout, in this order: header, ids, attributes, records, table of features, features.
#include "perfdata/writer.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/file.hpp"
#include "perfdata/format.hpp"

namespace pmukit::perfdata {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;
constexpr size_t kStringAlign = 64;              // perf pads the strings of its header so
constexpr unsigned kFeatEnd = kFeatClnSize + 1;  // HEADER_LAST_FEATURE of Linux 7.2

// Bytes of this machine's order, one field after the other.
class Packer {
public:
    template <std::unsigned_integral T>
    Packer &put(T value)
    {
        bytes_.resize(bytes_.size() + sizeof value);
        store(bytes_.data() + bytes_.size() - sizeof value, value, std::endian::native);
        return *this;
    }
    Packer &put(Bytes bytes)
    {
        pmukit::append(bytes_, bytes);
        return *this;
    }
    Packer &string(const std::string &text)
    {
        size_t room = (text.size() + 1 + kStringAlign - 1) / kStringAlign * kStringAlign;
        put(static_cast<uint32_t>(room)).put(as_bytes(text));
        bytes_.resize(bytes_.size() + room - text.size());
        return *this;
    }
    Packer &pad_to(size_t size)
    {
        bytes_.resize(std::max(size, bytes_.size()));
        return *this;
    }
    std::vector<std::byte> take() { return std::move(bytes_); }

private:
    std::vector<std::byte> bytes_;
};

Packer record_header(uint32_t type, size_t record_bytes)
{
    Packer packer;
    packer.put(type).put(uint16_t{0}).put(static_cast<uint16_t>(record_bytes));
    return packer;
}

std::vector<std::byte> packed_string(const std::string &text)
{
    return Packer().string(text).take();
}

std::vector<std::byte> packed_cmdline(const std::vector<std::string> &words)
{
    Packer packer;
    packer.put(static_cast<uint32_t>(words.size()));
    for (const std::string &word : words)
        packer.string(word);
    return packer.take();
}

std::vector<std::byte> packed_pmus(const std::vector<std::pair<uint32_t, std::string>> &pmus)
{
    Packer packer;
    packer.put(static_cast<uint32_t>(pmus.size()));
    for (const auto &[type, name] : pmus)
        packer.put(type).string(name);
    return packer.take();
}

// perf 6.1 refuses a file whose attributes are larger than its own, even by zeros.
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

Writer::Writer(std::string path, std::vector<WriterEvent> events, HostInfo host)
    : path_(std::move(path)),
      part_(path_ + ".part-" + std::to_string(::getpid())),
      events_(std::move(events)),
      host_(std::move(host))
{
    attr_bytes_ = kAttrMinBytes;
    for (const WriterEvent &event : events_)
        attr_bytes_ = std::max(attr_bytes_, needed_bytes(event.attr));
    // perf looks for the ids behind as many bytes as each attribute says it has.
    for (WriterEvent &event : events_) {
        if (event.attr.size() == attr_bytes_)
            continue;
        event.attr.resize(attr_bytes_);
        store(event.attr.data() + kAttrSize, static_cast<uint32_t>(attr_bytes_),
              std::endian::native);
    }
    buffer_.reserve(kBufferBytes);
}

Result<Writer> Writer::create(const std::string &path, std::vector<WriterEvent> events,
                              HostInfo host)
{
    Writer writer(path, std::move(events), std::move(host));
    // Physical addresses are nobody else's business: the owner reads it, as perf does it.
    writer.fd_ = Fd(::open(writer.part_.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600));
    if (!writer.fd_)
        return system_error(writer.part_, errno);
    if (Result<void> front = writer.write_front(); !front)
        return front.error();
    return writer;
}

Result<Writer> Writer::create_pipe(Fd fd, std::vector<WriterEvent> events, HostInfo host)
{
    Writer writer("the pipe", std::move(events), std::move(host));
    writer.part_ = writer.path_;
    writer.pipe_ = true;
    writer.fd_ = std::move(fd);
    if (Result<void> front = writer.write_pipe_front(); !front)
        return front.error();
    return writer;
}

Writer::~Writer()
{
    if (fd_ && !pipe_)
        ::unlink(part_.c_str());
}

Result<void> Writer::flush()
{
    Result<void> done = write_all(fd_.get(), buffer_, part_);
    buffer_.clear();
    return done;
}

Result<void> Writer::append(Bytes bytes)
{
    offset_ += bytes.size();
    if (bytes.size() > kBufferBytes - buffer_.size())
        if (Result<void> done = flush(); !done)
            return done;
    if (bytes.size() > kBufferBytes)
        return write_all(fd_.get(), bytes, part_);
    pmukit::append(buffer_, bytes);
    return {};
}

// The header is written twice: now as room, at the end with what is known then.
Result<void> Writer::write_front()
{
    Packer front;
    front.pad_to(kFileHeaderBytes);
    for (const WriterEvent &event : events_)
        for (uint64_t id : event.ids)
            front.put(id);
    uint64_t ids_at = kFileHeaderBytes;
    Packer attrs;
    for (const WriterEvent &event : events_) {
        attrs.put(Bytes(event.attr)).put(ids_at).put(uint64_t{event.ids.size() * sizeof(uint64_t)});
        ids_at += event.ids.size() * sizeof(uint64_t);
    }
    attrs_offset_ = ids_at;
    if (Result<void> done = append(front.take()); !done)
        return done;
    Result<void> done = append(attrs.take());
    data_offset_ = offset_;
    return done;
}

Result<void> Writer::auxtrace_info(uint32_t type, const std::vector<uint64_t> &priv)
{
    constexpr size_t kInfoBodyBytes = 8;  // the type and 32 reserved bits
    Packer record = record_header(
        kAuxtraceInfo, kRecordHeaderBytes + kInfoBodyBytes + priv.size() * sizeof(uint64_t));
    record.put(type).put(uint32_t{0});
    for (uint64_t word : priv)
        record.put(word);
    return append(record.take());
}

// Attributes, names and features as records; an empty feature ends them.
Result<void> Writer::write_pipe_front()
{
    Packer front;
    front.put(kMagic).put(uint64_t{kPipeHeaderBytes});
    if (Result<void> done = append(front.take()); !done)
        return done;
    for (const WriterEvent &event : events_)
        if (Result<void> done = write_pipe_event(event); !done)
            return done;
    std::vector<FeatureBytes> features = host_features();
    features.emplace_back(kFeatEnd, std::vector<std::byte>());
    for (const auto &[feature, content] : features) {
        size_t size = kRecordHeaderBytes + sizeof(uint64_t) + content.size();
        const size_t padding = (8 - size % 8) % 8;
        if (size + padding > UINT16_MAX)
            continue;  // a description that fits no record
        Packer record = record_header(kHeaderFeature, size + padding);
        record.put(uint64_t{feature}).put(Bytes(content)).pad_to(size + padding);
        if (Result<void> done = append(record.take()); !done)
            return done;
    }
    data_offset_ = offset_;
    return {};
}

Result<void> Writer::write_pipe_event(const WriterEvent &event)
{
    size_t size = kRecordHeaderBytes + event.attr.size() + event.ids.size() * sizeof(uint64_t);
    if (size > UINT16_MAX)
        return Error{Errc::kUnsupported, "an event with more ids than a pipe's record can hold"};
    Packer attr = record_header(kHeaderAttr, size);
    attr.put(Bytes(event.attr));
    for (uint64_t id : event.ids)
        attr.put(id);
    if (Result<void> done = append(attr.take()); !done || event.ids.empty())
        return done;
    constexpr uint64_t kUpdateName = 2;
    size = kRecordHeaderBytes + 2 * sizeof(uint64_t) + (event.name.size() + 8) / 8 * 8;
    Packer name = record_header(kEventUpdate, size);
    name.put(kUpdateName).put(event.ids.front()).put(as_bytes(event.name)).pad_to(size);
    return append(name.take());
}

Result<void> Writer::records(Bytes bytes)
{
    return append(bytes);
}

Result<void> Writer::auxtrace(AuxtraceRecord record, Bytes first, Bytes second)
{
    size_t size = first.size() + second.size();
    size_t padding = (8 - size % 8) % 8;  // the next record is 8-byte aligned
    index_.push_back({offset_, kRecordHeaderBytes + kAuxtraceBodyBytes + size + padding});
    std::vector<std::byte> head = record_header(kAuxtrace, kRecordHeaderBytes + kAuxtraceBodyBytes)
                                      .put(uint64_t{size + padding})
                                      .put(record.offset)
                                      .put(record.reference)
                                      .put(record.index)
                                      .put(record.tid)
                                      .put(record.cpu)
                                      .put(uint32_t{0})
                                      .take();
    const std::byte zeros[8]{};
    for (Bytes part : {Bytes(head), first, second, Bytes(zeros, padding)})
        if (Result<void> done = append(part); !done)
            return done;
    return {};
}

Result<void> Writer::finished_round()
{
    return append(record_header(kFinishedRound, kRecordHeaderBytes).take());
}

std::vector<std::byte> Writer::event_desc() const
{
    Packer packer;
    packer.put(static_cast<uint32_t>(events_.size())).put(static_cast<uint32_t>(attr_bytes_));
    for (const WriterEvent &event : events_) {
        packer.put(Bytes(event.attr))
            .put(static_cast<uint32_t>(event.ids.size()))
            .string(event.name);
        for (uint64_t id : event.ids)
            packer.put(id);
    }
    return packer.take();
}

std::vector<std::byte> Writer::auxtrace_index() const
{
    Packer packer;
    packer.put(uint64_t{index_.size()});
    for (const IndexEntry &entry : index_)
        packer.put(entry.offset).put(entry.size);
    return packer.take();
}

std::vector<Writer::FeatureBytes> Writer::host_features() const
{
    return {
        {kFeatHostname, packed_string(host_.hostname)},
        {kFeatOsRelease, packed_string(host_.os_release)},
        {kFeatVersion, packed_string(host_.version)},
        {kFeatArch, packed_string(host_.arch)},
        {kFeatNrCpus, Packer().put(host_.cpus_available).put(host_.cpus_online).take()},
        {kFeatCmdline, packed_cmdline(host_.cmdline)},
        {kFeatEventDesc, event_desc()},
        {kFeatPmuMappings, packed_pmus(host_.pmus)},
    };
}

// In the order of their bits: the table has no other key.
Result<void> Writer::write_features()
{
    std::vector<FeatureBytes> sections = host_features();
    if (!index_.empty())
        sections.emplace_back(kFeatAuxtrace, auxtrace_index());

    Packer table;
    uint64_t at = offset_ + sections.size() * kSectionBytes;
    for (const auto &[feature, content] : sections) {
        table.put(at).put(uint64_t{content.size()});
        at += content.size();
        features_.push_back(feature);
    }
    if (Result<void> done = append(table.take()); !done)
        return done;
    for (const auto &[feature, content] : sections)
        if (Result<void> done = append(content); !done)
            return done;
    return {};
}

std::vector<std::byte> Writer::file_header() const
{
    uint64_t bitmap[kFeatureBits / 64] = {};
    for (unsigned feature : features_)
        bitmap[feature / 64] |= uint64_t{1} << (feature % 64);
    size_t entry_bytes = attr_bytes_ + kSectionBytes;
    Packer header;
    header.put(kMagic).put(uint64_t{kFileHeaderBytes}).put(uint64_t{entry_bytes});
    header.put(attrs_offset_).put(uint64_t{entry_bytes * events_.size()});
    header.put(data_offset_).put(data_end_ - data_offset_);
    header.put(uint64_t{0}).put(uint64_t{0});  // event types: a section of old
    for (uint64_t word : bitmap)
        header.put(word);
    return header.take();
}

Result<void> Writer::finish()
{
    data_end_ = offset_;
    if (pipe_)
        return flush();
    if (Result<void> done = write_features(); !done)
        return done;
    if (Result<void> done = flush(); !done)
        return done;
    if (::lseek(fd_.get(), 0, SEEK_SET) != 0)
        return system_error(part_, errno);
    if (Result<void> done = write_all(fd_.get(), file_header(), part_); !done)
        return done;
    // close() is where some file systems say that the disk is full.
    if (::close(fd_.release()) != 0 || ::rename(part_.c_str(), path_.c_str()) != 0) {
        Error error = system_error(path_, errno);
        ::unlink(part_.c_str());
        return error;
    }
    return {};
}

}  // namespace pmukit::perfdata
