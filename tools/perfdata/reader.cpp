// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// perf.data by tools/perf/Documentation/perf.data-file-format.txt. Every offset and size comes from
// the file and is checked against what is there before it is used.
#include "perfdata/reader.hpp"

#include <algorithm>

#include "perfdata/format.hpp"

namespace pmukit::perfdata {
namespace {

// Where the file header keeps what (struct perf_file_header).
constexpr size_t kHeaderSizeAt = 8, kHeaderAttrSizeAt = 16, kHeaderAttrsAt = 24, kHeaderDataAt = 40,
                 kHeaderFeaturesAt = 72;

struct Section {
    uint64_t offset, size;
};

Section load_section(const std::byte *at, std::endian order)
{
    return {load<uint64_t>(at, order), load<uint64_t>(at + 8, order)};
}

// The bitmap is an array of words in the file's byte order.
bool feature_set(Bytes bitmap, unsigned feature, std::endian order)
{
    uint64_t word = load<uint64_t>(bitmap.data() + size_t{feature / 64} * 8, order);
    return (word >> (feature % 64)) & 1;
}

// A 32-bit length, then that many bytes, padded with NULs.
std::optional<std::string> read_string(ByteReader &in)
{
    std::optional<uint32_t> length = in.u32();
    std::optional<Bytes> bytes = length ? in.take(*length) : std::nullopt;
    if (!bytes)
        return std::nullopt;
    std::string text(reinterpret_cast<const char *>(bytes->data()), bytes->size());
    return text.substr(0, text.find('\0'));
}

// Bytes that follow a record outside its 16-bit size. nullopt: the body is too short to say.
std::optional<uint64_t> payload_bytes(uint32_t type, Bytes body, std::endian order)
{
    ByteReader in(body, order);
    if (type == kAuxtrace && body.size() < kAuxtraceBodyBytes)
        return std::nullopt;
    if (type == kAuxtrace)
        return in.u64();
    if (type != kHeaderTracingData)
        return 0;
    std::optional<uint32_t> size = in.u32();
    if (!size)
        return std::nullopt;
    return (uint64_t{*size} + 7) & ~uint64_t{7};
}

}  // namespace

// Opening

Result<Reader> Reader::open(Bytes file)
{
    if (file.size() < kPipeHeaderBytes)
        return Error{Errc::kTruncated,
                     "too short for a perf.data header; is the recording complete?", 0};
    Reader reader(file);
    uint64_t magic = load<uint64_t>(file.data(), std::endian::little);
    if (magic == byteswap(kMagic))
        reader.order_ = std::endian::big;
    else if (std::equal(file.begin(), file.begin() + 8,
                        std::as_bytes(std::span("PERFFILE", 8)).begin()))
        return Error{Errc::kUnsupported,
                     "the first perf.data format (before Linux 3.0) is not read", 0};
    else if (magic != kMagic)
        return Error{Errc::kDamaged, "not a perf.data file: it does not begin with PERFILE2", 0};

    uint64_t header_bytes = load<uint64_t>(file.data() + kHeaderSizeAt, reader.order_);
    if (header_bytes == kPipeHeaderBytes) {
        reader.position_ = kPipeHeaderBytes;
        reader.end_ = file.size();
        return reader;
    }
    if (header_bytes < kFileHeaderBytes)
        return Error{Errc::kDamaged,
                     "header size " + std::to_string(header_bytes) + " is neither 16 nor >= 104",
                     kHeaderSizeAt};
    if (file.size() < kFileHeaderBytes)
        return Error{Errc::kTruncated, "the file ends inside its header", file.size()};
    if (Result<void> read = reader.read_file_header(); !read)
        return read.error();
    return reader;
}

std::optional<Bytes> Reader::section(uint64_t offset, uint64_t size) const
{
    if (offset > file_.size() || size > file_.size() - offset)
        return std::nullopt;
    return file_.subspan(offset, size);
}

Result<void> Reader::read_file_header()
{
    uint64_t entry_bytes = load<uint64_t>(file_.data() + kHeaderAttrSizeAt, order_);
    Section attrs = load_section(file_.data() + kHeaderAttrsAt, order_);
    Section data = load_section(file_.data() + kHeaderDataAt, order_);

    std::optional<Bytes> attr_bytes = section(attrs.offset, attrs.size);
    if (!attr_bytes)
        return Error{Errc::kDamaged, "the event attributes lie outside the file", kHeaderAttrsAt};
    if (entry_bytes < kAttrMinBytes + kSectionBytes || entry_bytes > kAttrMaxBytes + kSectionBytes)
        return Error{Errc::kDamaged,
                     "event attributes of " + std::to_string(entry_bytes) + " bytes",
                     kHeaderAttrSizeAt};
    if (data.offset > file_.size())
        return Error{Errc::kDamaged, "the records lie outside the file", kHeaderDataAt};
    if (Result<void> read = read_attrs(*attr_bytes, attrs.offset, entry_bytes); !read)
        return read;

    position_ = data.offset;
    end_ = file_.size();
    if (data.size ==
        0) {  // the recorder was killed before it could write the size, and the features
        complaints_.push_back(
            {Errc::kTruncated, "the recorder did not finish this file", kHeaderDataAt});
        return {};
    }
    if (data.size > file_.size() - data.offset) {
        complaints_.push_back({Errc::kTruncated,
                               std::to_string(data.size - (file_.size() - data.offset)) +
                                   " bytes of records, and the names of PMUs, are cut off",
                               file_.size()});
        return {};
    }
    end_ = data.offset + data.size;
    read_features(end_, file_.subspan(kHeaderFeaturesAt, kFeatureBits / 8));
    return {};
}

Result<void> Reader::read_attrs(Bytes bytes, uint64_t section_offset, size_t entry_bytes)
{
    for (size_t at = 0; entry_bytes <= bytes.size() - at; at += entry_bytes) {
        Bytes entry = bytes.subspan(at, entry_bytes);
        Section ids = load_section(entry.data() + entry_bytes - kSectionBytes, order_);
        std::optional<Bytes> id_bytes = section(ids.offset, ids.size);
        if (!id_bytes)
            return Error{Errc::kDamaged, "event ids lie outside the file", section_offset + at};
        Result<void> added =
            add_event(entry.first(entry_bytes - kSectionBytes), *id_bytes, section_offset + at);
        if (!added)
            return added;
    }
    return {};
}

Result<void> Reader::add_event(Bytes attr_bytes, Bytes ids, uint64_t offset)
{
    Result<Attr> attr = parse_attr(attr_bytes, order_);
    if (!attr)
        return Error{attr.error().code, attr.error().message, offset};
    // Sections may overlap, so ids are bounded by the file as a whole: each is there only once.
    if (event_by_id_.size() + ids.size() / 8 > file_.size() / 8)
        return Error{Errc::kDamaged, "more event ids than the file has room for", offset};

    Event event{*attr, {}, {}};
    ByteReader in(ids, order_);
    while (std::optional<uint64_t> id = in.u64()) {
        if (!event_by_id_.emplace(*id, events_.size()).second)
            return Error{Errc::kDamaged, "event id " + std::to_string(*id) + " appears twice",
                         offset};
        event.ids.push_back(*id);
    }
    events_.push_back(std::move(event));
    return {};
}

// Features

void Reader::read_features(uint64_t table_offset, Bytes bitmap)
{
    uint64_t at = table_offset;
    for (unsigned feature = 0; feature < kFeatureBits; feature++) {
        if (!feature_set(bitmap, feature, order_))
            continue;
        std::optional<Bytes> entry = section(at, kSectionBytes);
        if (!entry) {
            complaints_.push_back(
                {Errc::kTruncated, "the table of header features is cut off", at});
            return;
        }
        Section where = load_section(entry->data(), order_);
        if (std::optional<Bytes> content = section(where.offset, where.size))
            read_feature(feature, *content, where.offset);
        else
            complaints_.push_back(
                {Errc::kDamaged,
                 "header feature " + std::to_string(feature) + " lies outside the file", at});
        at += kSectionBytes;
    }
}

void Reader::read_feature(unsigned feature, Bytes content, uint64_t offset)
{
    auto string_into = [&content, this](std::string &into) {
        ByteReader in(content, order_);
        std::optional<std::string> text = read_string(in);
        into = text.value_or("");
        return text.has_value();
    };
    bool good = true;
    if (feature == kFeatHostname)
        good = string_into(hostname_);
    else if (feature == kFeatOsRelease)
        good = string_into(os_release_);
    else if (feature == kFeatPmuMappings)
        good = read_pmu_mappings(content);
    else if (feature == kFeatEventDesc)
        good = read_event_desc(content);
    if (!good)
        complaints_.push_back(
            {Errc::kDamaged, "header feature " + std::to_string(feature) + " is cut off", offset});
}

bool Reader::read_pmu_mappings(Bytes content)
{
    ByteReader in(content, order_);
    std::optional<uint32_t> count = in.u32();
    for (uint32_t i = 0; count && i < *count; i++) {
        std::optional<uint32_t> type = in.u32();
        std::optional<std::string> name = type ? read_string(in) : std::nullopt;
        if (!name)
            return false;
        pmu_by_type_[*type] = *name;
    }
    return count.has_value();
}

// Events are described in the order of the attributes.
bool Reader::read_event_desc(Bytes content)
{
    ByteReader in(content, order_);
    std::optional<uint32_t> count = in.u32(), attr_bytes = in.u32();
    for (uint32_t i = 0; attr_bytes && i < *count; i++) {
        if (!in.skip(*attr_bytes))
            return false;
        std::optional<uint32_t> ids = in.u32();
        std::optional<std::string> name = ids ? read_string(in) : std::nullopt;
        if (!name || !in.skip(uint64_t{*ids} * 8))
            return false;
        if (i < events_.size())
            events_[i].name = *name;
    }
    return attr_bytes.has_value();
}

// Pipe layout: what a file keeps in sections arrives as records.

void Reader::read_header_attr(const Record &record)
{
    size_t attr_bytes = kAttrMinBytes;
    if (record.body.size() >= kAttrMinBytes)
        attr_bytes =
            std::max<size_t>(load<uint32_t>(record.body.data() + kAttrSize, order_), kAttrMinBytes);
    attr_bytes = std::min(attr_bytes, record.body.size());
    Result<void> added =
        add_event(record.body.first(attr_bytes), record.body.subspan(attr_bytes), record.offset);
    if (!added)
        complaints_.push_back(added.error());
}

void Reader::read_header_feature(const Record &record)
{
    ByteReader in(record.body, order_);
    std::optional<uint64_t> feature = in.u64();
    // An empty feature ends the header, whatever its number: that number means another feature to
    // later tools.
    if (feature && *feature < kFeatureBits && in.left() > 0)
        read_feature(static_cast<unsigned>(*feature), record.body.subspan(8), record.offset);
}

// Records

bool Reader::break_off(std::string reason)
{
    damage_ = Damage{position_, end_ - position_, std::move(reason)};
    position_ = end_;
    return false;
}

Result<bool> Reader::next(Record &into)
{
    uint64_t left = end_ - position_;
    if (left == 0)
        return false;
    if (left < kRecordHeaderBytes)
        return break_off("the data ends inside a record header");
    const std::byte *at = file_.data() + position_;
    into.type = load<uint32_t>(at, order_);
    into.misc = load<uint16_t>(at + 4, order_);
    into.offset = position_;
    uint64_t size = load<uint16_t>(at + 6, order_);
    if (size < kRecordHeaderBytes)
        return break_off("a record claims a size of " + std::to_string(size) + " bytes");
    if (size > left)
        return break_off("the data ends inside a record");
    into.body = {at + kRecordHeaderBytes, size - kRecordHeaderBytes};
    if (into.type == kCompressed || into.type == kCompressed2)
        return Error{Errc::kUnsupported, "compressed records are not read yet; record without -z",
                     position_};

    std::optional<uint64_t> payload = payload_bytes(into.type, into.body, order_);
    if (!payload)
        return break_off("an AUXTRACE or tracing data record is too short");
    if (*payload > left - size)
        return break_off("the data ends inside the " + std::to_string(*payload) +
                         " bytes that follow a record");
    into.payload = {at + size, *payload};
    position_ += size + *payload;

    if (into.type == kHeaderAttr)
        read_header_attr(into);
    else if (into.type == kHeaderFeature)
        read_header_feature(into);
    return true;
}

// Events

std::string Reader::pmu_name(uint32_t attr_type) const
{
    auto found = pmu_by_type_.find(attr_type);
    return found == pmu_by_type_.end() ? std::string() : found->second;
}

std::optional<size_t> Reader::event_of_id(uint64_t id) const
{
    auto found = event_by_id_.find(id);
    if (found == event_by_id_.end())
        return std::nullopt;
    return found->second;
}

std::optional<size_t> Reader::event_of(const Record &record) const
{
    if (events_.empty() || record.type >= kHeaderAttr)
        return std::nullopt;
    if (events_.size() == 1)
        return 0;
    // Several events are only recorded together when all keep the id at the same place.
    const Attr &attr = events_.front().attr;
    std::optional<size_t> at = sample_id_position(attr.sample_type);
    if (record.type != PERF_RECORD_SAMPLE) {
        at = attr.sample_id_all ? trailer_id_position(attr.sample_type) : std::nullopt;
        if (at && *at <= record.body.size())
            at = record.body.size() - *at;
    }
    if (!at || *at > record.body.size() || record.body.size() - *at < sizeof(uint64_t))
        return std::nullopt;
    return event_of_id(load<uint64_t>(record.body.data() + *at, order_));
}

}  // namespace pmukit::perfdata
