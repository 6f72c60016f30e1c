// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "perfdata/recover.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "base/fd.hpp"
#include "base/file.hpp"
#include "perfdata/features.hpp"
#include "perfdata/format.hpp"

namespace pmukit::perfdata {
namespace {

// Records begin at multiples of 8 from the first one.
constexpr uint64_t kStep = 8;
// So many records in a row are no accident: each must have a known type and a size that fits.
constexpr int kProof = 4;
constexpr size_t kMaxRanges = 65536;  // against files that alternate

class Finder {
public:
    Finder(Bytes file, const Reader &reader)
        : file_(file), reader_(reader), order_(reader.order()), begin_(reader.data_begin())
    {
    }

    Recovery find(uint64_t end);

private:
    // Size of the record at offset with its payload; 0: there is none that makes sense.
    uint64_t record_at(uint64_t offset) const;
    bool makes_sense(uint32_t type, Bytes body) const;
    uint64_t next_proof(uint64_t offset, uint64_t until) const;
    bool proof_at(uint64_t offset) const;

    Bytes file_;
    const Reader &reader_;
    std::endian order_;
    uint64_t begin_, end_ = 0;
};

bool Finder::makes_sense(uint32_t type, Bytes body) const
{
    if (record_name(type).empty())
        return false;
    if (type != PERF_RECORD_SAMPLE || reader_.events().empty())
        return true;
    Record record;
    record.type = type;
    record.body = body;
    std::optional<size_t> event = reader_.event_of(record);
    return event && parse_sample(body, reader_.events()[*event].attr, order_);
}

uint64_t Finder::record_at(uint64_t offset) const
{
    const uint64_t left = end_ - offset;
    if (left < kRecordHeaderBytes)
        return 0;
    const std::byte *at = file_.data() + offset;
    const uint32_t type = load<uint32_t>(at, order_);
    const uint64_t size = load<uint16_t>(at + 6, order_);
    if (size < kRecordHeaderBytes || size > left)
        return 0;
    const Bytes body(at + kRecordHeaderBytes, size - kRecordHeaderBytes);
    if (!makes_sense(type, body))
        return 0;
    uint64_t payload = 0;
    if (type == kAuxtrace) {
        std::optional<AuxtraceRecord> trace = parse_auxtrace(body, order_);
        if (!trace)
            return 0;
        payload = trace->size;
    } else if (type == kHeaderTracingData) {
        std::optional<uint32_t> bytes = ByteReader(body, order_).u32();
        if (!bytes)
            return 0;
        payload = (uint64_t{*bytes} + 7) & ~uint64_t{7};
    }
    return payload > left - size ? 0 : size + payload;
}

bool Finder::proof_at(uint64_t offset) const
{
    for (int i = 0; i < kProof && offset != end_; i++) {
        const uint64_t size = record_at(offset);
        if (size == 0)
            return false;
        offset += size;
    }
    return true;
}

uint64_t Finder::next_proof(uint64_t offset, uint64_t until) const
{
    for (; offset < until && until - offset >= kRecordHeaderBytes; offset += kStep)
        if (proof_at(offset))
            return offset;
    return until;
}

void extend(std::vector<ByteRange> &ranges, uint64_t begin, uint64_t end)
{
    if (!ranges.empty() && ranges.back().end == begin)
        ranges.back().end = end;
    else
        ranges.push_back({begin, end});
}

Recovery Finder::find(uint64_t end)
{
    Recovery found;
    end_ = end;
    for (uint64_t at = begin_; at < end_;) {
        const uint64_t size = record_at(at);
        // A size that lies is seen by what stands behind it: that must make sense, or be the end.
        const bool good = size != 0 && (at + size == end_ || record_at(at + size) != 0 ||
                                        next_proof(at + kStep, at + size) == at + size);
        if (good) {
            found.records++;
            const uint32_t type = load<uint32_t>(file_.data() + at, order_);
            found.aux_buffers += type == kAuxtrace;
            found.packed += type == kCompressed || type == kCompressed2;
            extend(found.kept, at, at + size);
            at += size;
            continue;
        }
        const uint64_t again = found.lost.size() < kMaxRanges ? next_proof(at + kStep, end_) : end_;
        found.lost.push_back({at, again});
        at = again;
    }
    return found;
}

// Writing

// A file that goes away unless it gets its name.
class NewFile {
public:
    static Result<NewFile> create(const std::string &path)
    {
        NewFile file;
        file.path_ = path;
        file.part_ = path + ".part-" + std::to_string(::getpid());
        file.fd_ = Fd(::open(file.part_.c_str(), O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600));
        if (!file.fd_)
            return system_error(file.part_, errno);
        return file;
    }
    NewFile(NewFile &&) = default;
    NewFile &operator=(NewFile &&) = delete;
    ~NewFile()
    {
        if (fd_)
            ::unlink(part_.c_str());
    }

    uint64_t offset() const { return offset_; }
    Result<void> put(Bytes bytes)
    {
        offset_ += bytes.size();
        return write_all(fd_.get(), bytes, part_);
    }
    Result<void> patch(uint64_t at, Bytes bytes)
    {
        if (::pwrite(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(at)) !=
            static_cast<ssize_t>(bytes.size()))
            return system_error(part_, errno);
        return {};
    }
    Result<void> finish()
    {
        if (::close(fd_.release()) == 0 && ::rename(part_.c_str(), path_.c_str()) == 0)
            return {};
        Error error = system_error(path_, errno);
        ::unlink(part_.c_str());
        return error;
    }

private:
    NewFile() = default;

    std::string path_, part_;
    Fd fd_;
    uint64_t offset_ = 0;
};

class Section {
public:
    explicit Section(std::endian order) : order_(order) {}
    Section &u32(uint32_t value) { return put(value); }
    Section &u64(uint64_t value) { return put(value); }
    const std::vector<std::byte> &bytes() const { return bytes_; }

private:
    template <std::unsigned_integral T>
    Section &put(T value)
    {
        bytes_.resize(bytes_.size() + sizeof value);
        store(bytes_.data() + bytes_.size() - sizeof value, value, order_);
        return *this;
    }

    std::vector<std::byte> bytes_;
    std::endian order_;
};

// Without this section perf does not unpack: version, zstd, level and ratio (only told), and the
// room for one record's content, which is the ring that it was drained from: 512 KiB unless -m said
// else.
std::vector<std::byte> compression_section(std::endian order)
{
    constexpr uint32_t kZstd = 1, kRoomBytes = (uint32_t{4} << 20) + 4096;
    return Section(order).u32(1).u32(kZstd).u32(1).u32(1).u32(kRoomBytes).bytes();
}

// Offsets of the header's fields.
constexpr uint64_t kDataSizeAt = 48, kFeatureBitsAt = 72;

// Where the AUXTRACE records came to lie, as the section of the index says it.
std::vector<std::byte> new_index(Bytes file, const Recovery &recovery, uint64_t data_begin,
                                 std::endian order)
{
    std::vector<std::pair<uint64_t, uint64_t>> entries;
    uint64_t to = data_begin;
    for (const ByteRange &range : recovery.kept)
        for (uint64_t at = range.begin; at < range.end;) {
            const Bytes record = file.subspan(at, range.end - at);
            uint64_t size = load<uint16_t>(record.data() + 6, order);
            const uint32_t type = load<uint32_t>(record.data(), order);
            const Bytes body = record.subspan(kRecordHeaderBytes, size - kRecordHeaderBytes);
            if (type == kAuxtrace) {
                size += parse_auxtrace(body, order)->size;
                entries.emplace_back(to, size);
            } else if (type == kHeaderTracingData) {
                size += (uint64_t{*ByteReader(body, order).u32()} + 7) & ~uint64_t{7};
            }
            at += size;
            to += size;
        }
    Section index(order);
    index.u64(entries.size());
    for (const auto &[offset, size] : entries)
        index.u64(offset).u64(size);
    return index.bytes();
}

Result<void> write_sections(NewFile &out, Bytes file, const Recovery &recovery,
                            const Reader &reader)
{
    const std::endian order = reader.order();
    const std::vector<std::byte> index = new_index(file, recovery, reader.data_begin(), order);
    std::vector<std::pair<unsigned, Bytes>> sections;
    for (const FeatureSection &section : reader.features())
        if (std::optional<Bytes> content = reader.feature(section.feature);
            content && section.feature != kFeatAuxtrace)
            sections.emplace_back(section.feature, *content);
    const std::vector<std::byte> compression = compression_section(order);
    if (recovery.packed != 0 && !reader.feature(kFeatCompressed))
        sections.emplace_back(kFeatCompressed, compression);
    if (recovery.aux_buffers != 0)
        sections.emplace_back(kFeatAuxtrace, index);
    std::ranges::sort(sections, {}, &std::pair<unsigned, Bytes>::first);

    Section table(order);
    uint64_t bits[kFeatureBits / 64] = {};
    uint64_t at = out.offset() + sections.size() * kSectionBytes;
    for (const auto &[feature, content] : sections) {
        table.u64(at).u64(content.size());
        at += content.size();
        bits[feature / 64] |= uint64_t{1} << (feature % 64);
    }
    if (Result<void> done = out.put(table.bytes()); !done)
        return done;
    for (const auto &[feature, content] : sections)
        if (Result<void> done = out.put(content); !done)
            return done;
    Section bitmap(order);
    for (uint64_t word : bits)
        bitmap.u64(word);
    return out.patch(kFeatureBitsAt, bitmap.bytes());
}

}  // namespace

Result<Recovery> find_records(Bytes file)
{
    Result<Reader> reader = Reader::open(file);
    if (!reader)
        return reader.error();
    const bool header_whole = reader->complaints().empty();
    // In pipe layout the events come with the records: read what can be read first.
    if (reader->is_pipe())
        for (Record record; *reader->next(record);)
            ;
    // A header that lies about the data lies about its end too.
    const uint64_t end = header_whole ? reader->data_end() : file.size();
    Recovery found = Finder(file, *reader).find(end);
    found.header_whole = header_whole;
    return found;
}

Result<void> write_recovered(Bytes file, const Recovery &recovery, const std::string &path)
{
    Result<Reader> reader = Reader::open(file);
    if (!reader)
        return reader.error();
    Result<NewFile> out = NewFile::create(path);
    if (!out)
        return out.error();
    // All that stands before the records stays where it is: header, ids, attributes.
    if (Result<void> done = out->put(file.first(reader->data_begin())); !done)
        return done;
    for (const ByteRange &range : recovery.kept)
        if (Result<void> done = out->put(file.subspan(range.begin, range.end - range.begin)); !done)
            return done;
    if (!reader->is_pipe()) {
        Section size(reader->order());
        size.u64(out->offset() - reader->data_begin());
        if (Result<void> done = out->patch(kDataSizeAt, size.bytes()); !done)
            return done;
        if (Result<void> done = write_sections(*out, file, recovery, *reader); !done)
            return done;
    }
    return out->finish();
}

}  // namespace pmukit::perfdata
