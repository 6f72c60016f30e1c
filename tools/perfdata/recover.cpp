// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "perfdata/recover.hpp"

#include <linux/limits.h>
#include <linux/perf_event.h>
#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "base/file.hpp"
#include "perfdata/copy.hpp"
#include "perfdata/features.hpp"
#include "perfdata/format.hpp"
#include "perfdata/output/destination.hpp"
#include "perfdata/packer.hpp"
#include "perfdata/reader.hpp"

namespace pmukit::perfdata {
namespace {

// The search tries offsets at these distances, in bytes. Kernel records begin at multiples of 8
// from the first one. In pipe layout, feature records, whose size is a multiple of 4, precede them.
// Compressed records have any size: they are not padded.
constexpr uint64_t kStep = 8, kPipeStep = 4, kPackedStep = 1;
// A chain of this many records is no coincidence: each has a known type and a size that this type
// can have, which leads to the next.
constexpr int kProof = 4;
// Records of a newer kernel or of another recorder can be among them: such records count neither
// for nor against a chain. Damaged bytes seldom look like a type below 65536.
constexpr uint32_t kMostType = 65535;
constexpr int kMostUnknown = 16;               // in a chain of kProof records
constexpr uint64_t kAuxtraceRecordBytes = 48;  // without its payload
constexpr size_t kMaxRanges = 65536;           // limits memory for files with many small gaps

// The largest body of a record of the kernel (perf_event_open(2), "MMAP layout"): a record that
// claims more would hide the records behind it. Without the fields that sample_id_all adds.
struct MostBody {
    uint32_t type;
    size_t bytes;
};
constexpr size_t kSampleIdBytes = 48, kCommBytes = 64, kSymbolBytes = 512, kMostNamespaces = 16;
constexpr MostBody kMostBodies[] = {
    {PERF_RECORD_MMAP, 32 + PATH_MAX},
    {PERF_RECORD_LOST, 16},
    {PERF_RECORD_COMM, 8 + kCommBytes},
    {PERF_RECORD_EXIT, 24},
    {PERF_RECORD_THROTTLE, 24},
    {PERF_RECORD_UNTHROTTLE, 24},
    {PERF_RECORD_FORK, 24},
    {PERF_RECORD_MMAP2, 64 + PATH_MAX},
    {PERF_RECORD_AUX, 24},
    {PERF_RECORD_ITRACE_START, 8},
    {PERF_RECORD_LOST_SAMPLES, 8},
    {PERF_RECORD_SWITCH, 0},
    {PERF_RECORD_SWITCH_CPU_WIDE, 8},
    {PERF_RECORD_NAMESPACES, 16 + 16 * kMostNamespaces},
    {PERF_RECORD_KSYMBOL, 16 + kSymbolBytes},
    {PERF_RECORD_BPF_EVENT, 16},
    {PERF_RECORD_CGROUP, 8 + PATH_MAX},
    {PERF_RECORD_AUX_OUTPUT_HW_ID, 8},
};

bool is_too_large(uint32_t type, size_t body_bytes)
{
    const auto most = std::ranges::find(kMostBodies, type, &MostBody::type);
    return most != std::end(kMostBodies) && body_bytes > most->bytes + kSampleIdBytes;
}

// Drops the pages of a mapped file before an offset that only grows.
class Behind {
public:
    Behind(const MappedFile *file, uint64_t offset) : file_(file), from_(offset) {}
    void at(uint64_t offset)
    {
        constexpr uint64_t kEvery = uint64_t{8} << 20, kPageBytes = 65536;
        if (!file_ || offset - from_ < kEvery)
            return;
        file_->forget(from_, offset - from_);
        from_ = offset / kPageBytes * kPageBytes;
    }

private:
    const MappedFile *file_;
    uint64_t from_;
};

// A record with its header, body and payload.
struct Found {
    Record record;  // payload is not set, only payload_bytes
    uint64_t bytes = 0;
};

class Finder {
public:
    // file: nullptr if the bytes are not mapped.
    Finder(Bytes bytes, const MappedFile *file, const Reader &reader)
        : bytes_(bytes),
          file_(file),
          reader_(reader),
          order_(reader.order()),
          step_(reader.is_pipe() ? kPipeStep : kStep)
    {
        if (reader.feature(kFeatCompressed))
            step_ = kPackedStep;
    }

    Recovery find(const ByteRange &range, const ProgressCallback &progress);

private:
    uint64_t size_at(uint64_t offset) const;
    uint64_t unknown_size_at(uint64_t offset) const;
    bool leads_on(uint64_t offset);
    uint64_t any_size_at(uint64_t offset);
    bool makes_sense(uint32_t type, Bytes body) const;
    bool good_at(uint64_t offset, uint64_t size);
    uint64_t next_proof(uint64_t offset, uint64_t until) const;
    bool proof_at(uint64_t offset) const;
    bool is_buffer(uint64_t offset) const;
    bool is_cut_off(uint64_t offset) const;

    Bytes bytes_;
    const MappedFile *file_;
    const Reader &reader_;
    std::endian order_;
    uint64_t step_;
    uint64_t end_ = 0;
    // Records before these offsets lead on, or do not: each chain is followed once only.
    uint64_t leads_until_ = 0, fails_until_ = 0;
};

// Parses a record at offset by its sizes only. nullopt: it extends past the end.
std::optional<Found> record_at(Bytes bytes, uint64_t offset, uint64_t end, std::endian order)
{
    const uint64_t left = end - offset;
    if (left < kRecordHeaderBytes)
        return std::nullopt;
    const std::byte *at = bytes.data() + offset;
    const uint64_t size = load<uint16_t>(at + 6, order);
    if (size < kRecordHeaderBytes || size > left)
        return std::nullopt;
    Found found;
    Record &record = found.record;
    record.type = load<uint32_t>(at, order);
    record.misc = load<uint16_t>(at + 4, order);
    record.offset = offset;
    record.body = {at + kRecordHeaderBytes, size - kRecordHeaderBytes};
    const std::optional<uint64_t> payload = payload_size(record.type, record.body, order);
    if (!payload || *payload > left - size)
        return std::nullopt;
    record.payload_bytes = *payload;
    found.bytes = size + *payload;
    return found;
}

bool Finder::makes_sense(uint32_t type, Bytes body) const
{
    if (record_name(type).empty() || is_too_large(type, body.size()))
        return false;
    if (type != PERF_RECORD_SAMPLE || reader_.events().empty())
        return true;
    Record record;
    record.type = type;
    record.body = body;
    std::optional<size_t> event = reader_.event_of(record);
    return event && parse_sample(body, reader_.events()[*event].attr, order_);
}

// Size of the record at offset with its payload; 0 if there is no valid record.
uint64_t Finder::size_at(uint64_t offset) const
{
    const std::optional<Found> found = record_at(bytes_, offset, end_, order_);
    return found && makes_sense(found->record.type, found->record.body) ? found->bytes : 0;
}

// The same for a record of a type that this version does not know.
uint64_t Finder::unknown_size_at(uint64_t offset) const
{
    const std::optional<Found> found = record_at(bytes_, offset, end_, order_);
    const uint32_t type = found ? found->record.type : 0;
    return type != 0 && type <= kMostType && record_name(type).empty() ? found->bytes : 0;
}

// Returns true if the sizes of records of unknown types from offset on lead to a record of a known
// type or to the end.
bool Finder::leads_on(uint64_t offset)
{
    if (offset < leads_until_ || offset < fails_until_)
        return offset < leads_until_;
    while (offset != end_ && size_at(offset) == 0) {
        const uint64_t size = unknown_size_at(offset);
        if (size == 0) {
            fails_until_ = offset;
            return false;
        }
        offset += size;
    }
    leads_until_ = offset;
    return true;
}

// Size of the record at offset with its payload; 0 if it is not valid, or is of an unknown type and
// does not lead to other records.
uint64_t Finder::any_size_at(uint64_t offset)
{
    if (const uint64_t size = size_at(offset))
        return size;
    const uint64_t size = unknown_size_at(offset);
    return size && leads_on(offset + size) ? size : 0;
}

// Returns true if the record at offset is an AUXTRACE record as recorders write it. The record must
// not extend past the end. More than 100 bits must be right (type, misc, size, the reserved word,
// and a payload that fits), which rules out a coincidence.
bool Finder::is_buffer(uint64_t offset) const
{
    constexpr uint64_t kReservedAt = kAuxtraceRecordBytes - sizeof(uint32_t);
    const std::byte *at = bytes_.data() + offset;
    return load<uint32_t>(at, order_) == kAuxtrace && load<uint16_t>(at + 4, order_) == 0 &&
           load<uint16_t>(at + 6, order_) == kAuxtraceRecordBytes &&
           load<uint64_t>(at + kRecordHeaderBytes, order_) != 0 &&
           load<uint32_t>(at + kReservedAt, order_) == 0;
}

// Returns true if a record begins at offset and extends past the end.
bool Finder::is_cut_off(uint64_t offset) const
{
    if (end_ - offset < kRecordHeaderBytes)
        return true;
    const std::byte *at = bytes_.data() + offset;
    return !record_name(load<uint32_t>(at, order_)).empty() &&
           load<uint16_t>(at + 6, order_) >= kRecordHeaderBytes &&
           !record_at(bytes_, offset, end_, order_);
}

// Returns true if kProof records follow each other, or fewer up to the end. Fewer records before
// damage suffice if one of them is an AUX buffer of a plausible size. The size is plausible if a
// record follows the buffer, either a complete record or one that extends past the end.
bool Finder::proof_at(uint64_t offset) const
{
    uint64_t buffer_end = 0;  // end of the last buffer; 0: no buffer
    for (int known = 0, unknown = 0; known < kProof && offset != end_;) {
        const uint64_t size = size_at(offset);
        const uint64_t other =
            size == 0 && known && unknown < kMostUnknown ? unknown_size_at(offset) : 0;
        if (other) {
            unknown++;
            offset += other;
            continue;
        }
        if (size == 0)
            return buffer_end != 0 && (buffer_end != offset || is_cut_off(offset));
        if (is_buffer(offset))
            buffer_end = offset + size;
        known++;
        offset += size;
    }
    return true;
}

uint64_t Finder::next_proof(uint64_t offset, uint64_t until) const
{
    Behind behind(file_, offset);
    for (; offset < until && until - offset >= kRecordHeaderBytes; offset += step_) {
        if (proof_at(offset))
            return offset;
        behind.at(offset);
    }
    return until;
}

// An invalid size shows in the bytes after the record: they must be a valid record or the end. If
// they are damaged, the record counts if no other records are found inside it.
bool Finder::good_at(uint64_t offset, uint64_t size)
{
    const uint64_t next = offset + size;
    return size != 0 &&
           (next == end_ || any_size_at(next) != 0 || next_proof(offset + step_, next) == next);
}

void extend(std::vector<ByteRange> &ranges, uint64_t begin, uint64_t end)
{
    if (!ranges.empty() && ranges.back().end == begin)
        ranges.back().end = end;
    else
        ranges.push_back({begin, end});
}

Recovery Finder::find(const ByteRange &range, const ProgressCallback &progress)
{
    Recovery found;
    end_ = range.end;
    Behind behind(file_, range.begin);
    for (uint64_t at = range.begin; at < end_;) {
        behind.at(at);
        report(progress, at);
        const uint64_t size = any_size_at(at);
        if (good_at(at, size)) {
            found.records++;
            const uint32_t type = load<uint32_t>(bytes_.data() + at, order_);
            found.aux_buffers += type == kAuxtrace;
            if (type == kCompressed || type == kCompressed2) {
                found.packed++;
                step_ = kPackedStep;
            }
            extend(found.kept, at, at + size);
            at += size;
            continue;
        }
        const uint64_t again = found.lost.size() < kMaxRanges ? next_proof(at + step_, end_) : end_;
        found.lost.push_back({at, again});
        at = again;
    }
    return found;
}

// perf does not decompress a file without this section. The fields are version, type (zstd), level
// and ratio (both unused), and the buffer size for the decompressed content of one record. The
// content is not larger than the recorder's ring: here 4 MiB and a control page (perf record
// without -m has 512 KiB).
std::vector<std::byte> compression_section(std::endian order)
{
    constexpr uint32_t kZstd = 1, kRoomBytes = (uint32_t{4} << 20) + 4096;
    return Packer(order)
        .put(uint32_t{1})
        .put(kZstd)
        .put(uint32_t{1})
        .put(uint32_t{1})
        .put(kRoomBytes)
        .take();
}

// payload: the whole payload, in the mapped file.
Result<void> copy_in_pieces(Record record, Bytes payload, RecordCopier &copier, Behind &behind)
{
    constexpr size_t kPieceBytes = size_t{4} << 20;
    do {
        record.payload =
            payload.subspan(record.payload_at)
                .first(std::min<uint64_t>(kPieceBytes, payload.size() - record.payload_at));
        if (Result<void> done = copier.record(record); !done)
            return done;
        record.payload_at += record.payload.size();
        behind.at(record.offset + record.payload_at);
    } while (record.payload_at < payload.size());
    return {};
}

}  // namespace

struct __attribute__((visibility("hidden"))) DamagedRecording::State {
    struct Content {
        Bytes bytes;
        std::unique_ptr<MappedFile> file;  // nullptr: the caller's bytes
    };

    explicit State(Reader reader) : reader_(std::move(reader)) {}

    static Result<Content> map(const std::string &path);
    void find_first(Content content, const ProgressCallback &progress);
    void find(const std::string &path, Content content, ByteRange range,
              const ProgressCallback &progress);
    Result<Writer> write(const std::string &path, const ProgressCallback &progress) const;
    Result<void> write_records(size_t part, RecordCopier &copier,
                               const ProgressCallback &progress) const;

    Reader reader_;
    std::vector<Part> parts_;
    std::vector<Content> contents_;  // contents of parts_
};

void DamagedRecording::State::find(const std::string &path, Content content, ByteRange range,
                                   const ProgressCallback &progress)
{
    Finder finder(content.bytes, content.file.get(), reader_);
    parts_.push_back({path, finder.find(range, progress)});
    contents_.push_back(std::move(content));
}

// Searches the first file, which has the header.
void DamagedRecording::State::find_first(Content content, const ProgressCallback &progress)
{
    // Reads these values before the reader moves to another file of a directory. `content` is a
    // second mapping of the file, which may have become shorter in between.
    const std::string path = reader_.part();
    const uint64_t begin = reader_.data_begin(), size = content.bytes.size();
    const bool header_whole =
        std::ranges::all_of(reader_.warnings(),
                            [](const Error &it) { return it.code == Errc::kNotFound; }) &&
        reader_.data_end() <= size;
    // If the header is invalid, the end of the records that it states is not used either.
    const uint64_t end = header_whole ? reader_.data_end() : size;
    // In pipe layout the events arrive with the records, so the reader first reads as far as
    // possible.
    for (Record record; reader_.is_pipe();) {
        if (!reader_.next(record))
            break;
    }
    find(path, std::move(content), {begin, end}, progress);
    parts_.front().found.header_whole = header_whole;
}

Result<DamagedRecording::State::Content> DamagedRecording::State::map(const std::string &path)
{
    const Result<Fd> fd = open_untrusted("", path);
    if (!fd)
        return fd.error();
    Result<MappedFile> file = MappedFile::map(fd->get(), path);
    if (!file)
        return file.error();
    Content content;
    content.file = std::make_unique<MappedFile>(std::move(*file));
    content.bytes = content.file->bytes();
    return content;
}

Result<void> DamagedRecording::State::write_records(size_t part, RecordCopier &copier,
                                                    const ProgressCallback &progress) const
{
    const Content &content = contents_[part];
    for (const ByteRange &range : parts_[part].found.kept) {
        Behind behind(content.file.get(), range.begin);
        for (uint64_t at = range.begin; at < range.end;) {
            report(progress, at);
            const auto found = record_at(content.bytes, at, range.end, reader_.order());
            if (!found)  // the file has changed since the search
                return Error{Errc::kDamaged, "the file changed while it was read", at};
            const Bytes payload = content.bytes.subspan(
                at + found->bytes - found->record.payload_bytes, found->record.payload_bytes);
            if (Result<void> done = copy_in_pieces(found->record, payload, copier, behind); !done)
                return done;
            at += found->bytes;
        }
    }
    return {};
}

Result<Writer> DamagedRecording::State::write(const std::string &path,
                                              const ProgressCallback &progress) const
{
    if (std::ranges::none_of(parts_, [](const Part &part) { return part.found.records != 0; }))
        return Error{Errc::kDamaged, "no record was found, so nothing is written"};
    const bool packed =
        std::ranges::any_of(parts_, [](const Part &part) { return part.found.packed != 0; });
    if (packed && parts_.size() > 1)
        return Error{
            Errc::kUnsupported,
            "compressed records of several files cannot be stored in one; decompress them with "
            "pmukit cut"};
    Result<Writer> to = Writer::create_copy(path, reader_.order(), events_for_copy(reader_));
    if (!to)
        return to.error();
    RecordCopier copier(reader_, *to);
    for (size_t part = 0; part < parts_.size(); part++)
        if (Result<void> done = write_records(part, copier, progress); !done)
            return done.error();
    copier.finish();
    if (packed) {
        const std::optional<Bytes> compressed = reader_.feature(kFeatCompressed);
        to->section(kFeatCompressed,
                    compressed ? std::vector<std::byte>(compressed->begin(), compressed->end())
                               : compression_section(reader_.order()));
    }
    if (Result<void> done = to->complete(); !done)
        return done.error();
    return to;
}

// Calls of the interface

DamagedRecording::DamagedRecording(std::unique_ptr<State> state) : state_(std::move(state)) {}
DamagedRecording::DamagedRecording(DamagedRecording &&) noexcept = default;
DamagedRecording &DamagedRecording::operator=(DamagedRecording &&) noexcept = default;
DamagedRecording::~DamagedRecording() = default;

Result<DamagedRecording> DamagedRecording::of(Bytes file)
{
    Result<Reader> reader = Reader::open(file);
    if (!reader)
        return reader.error();
    auto state = std::make_unique<State>(std::move(*reader));
    state->find_first({file, nullptr}, {});
    return DamagedRecording(std::move(state));
}

Result<DamagedRecording> DamagedRecording::open(const std::string &path)
{
    return open(path, {});
}

Result<DamagedRecording> DamagedRecording::open(const std::string &path,
                                                const ProgressCallback &progress)
{
    Result<Reader> reader = Reader::open_path(path);
    if (!reader)
        return reader.error();
    const std::vector<std::string> later = reader->later_parts();
    auto state = std::make_unique<State>(std::move(*reader));
    Result<State::Content> first = State::map(state->reader_.part());
    if (!first)
        return first.error();
    state->find_first(std::move(*first), progress);
    for (const std::string &part : later) {
        Result<State::Content> content = State::map(part);
        if (!content)
            return content.error();
        const uint64_t end = content->bytes.size();
        state->find(part, std::move(*content), {0, end}, progress);
    }
    if (const std::optional<std::string> &missing = state->reader_.missing_part()) {
        state->parts_.push_back({*missing, {}});
        state->parts_.back().found.missing = true;
        state->contents_.emplace_back();
    }
    return DamagedRecording(std::move(state));
}

const std::vector<DamagedRecording::Part> &DamagedRecording::parts() const
{
    return state_->parts_;
}

bool DamagedRecording::clean() const
{
    return std::ranges::all_of(parts(), [](const Part &part) { return part.found.clean(); });
}

Result<Writer> DamagedRecording::write(const std::string &path) const
{
    return write(path, {});
}

Result<Writer> DamagedRecording::write(const std::string &path,
                                       const ProgressCallback &progress) const
{
    return state_->write(path, progress);
}

}  // namespace pmukit::perfdata
