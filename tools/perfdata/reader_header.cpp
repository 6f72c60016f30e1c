// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Parses the header of perf.data (tools/perf/Documentation/perf.data-file-format.txt). Every offset
// and size in the file is checked before it is used.
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>
#include <utility>

#include "base/file.hpp"
#include "perfdata/features.hpp"
#include "perfdata/format.hpp"
#include "perfdata/reader_state.hpp"

namespace pmukit::perfdata {
namespace {

// Offsets in the file header (struct perf_file_header).
constexpr size_t kHeaderSizeAt = 8, kHeaderAttrSizeAt = 16, kHeaderAttrsAt = 24, kHeaderDataAt = 40,
                 kHeaderFeaturesAt = 72;

struct Section {
    uint64_t offset, size;
};

Section load_section(const std::byte *at, std::endian order)
{
    return {load<uint64_t>(at, order), load<uint64_t>(at + 8, order)};
}

// Limits far above what recorders write: perf opens one file per id, and systemd allows half a
// million open files. base/limits.hpp has the other limits.
constexpr size_t kMaxEvents = 65536, kMaxIds = limits::kIds / sizeof(uint64_t);
constexpr size_t kMaxWarnings = 256;

// The bitmap is an array of the recorder's longs, in the file's byte order.
template <typename Word>
bool is_set(Bytes bitmap, unsigned feature, std::endian order)
{
    constexpr unsigned kBits = 8 * sizeof(Word);
    const Word word = load<Word>(bitmap.data() + feature / kBits * sizeof(Word), order);
    return word >> (feature % kBits) & 1;
}

// Returns true if the bitmap has this feature. In big-endian files the place of its bit depends on
// the size of the recorder's longs. Every recorder sets HOSTNAME, whose bit shows the size.
bool feature_set(Bytes bitmap, unsigned feature, std::endian order)
{
    const bool is_short = !is_set<uint64_t>(bitmap, kFeatHostname, order) &&
                          is_set<uint32_t>(bitmap, kFeatHostname, order);
    return is_short ? is_set<uint32_t>(bitmap, feature, order)
                    : is_set<uint64_t>(bitmap, feature, order);
}

// The numbers N of the files "data.N" in the directory, as perf writes them.
Result<std::set<uint32_t>> part_numbers(const std::string &folder)
{
    std::set<uint32_t> numbers;
    std::error_code failure;
    for (std::filesystem::directory_iterator file(folder, failure), end; !failure && file != end;
         file.increment(failure)) {
        const std::string name = file->path().filename().string();
        constexpr std::string_view kFront = "data.";
        uint32_t number = 0;
        if (!name.starts_with(kFront))
            continue;
        std::from_chars(name.data() + kFront.size(), name.data() + name.size(), number);
        if (name == std::string(kFront) + std::to_string(number))
            numbers.insert(number);
    }
    if (failure)
        return system_error(folder, failure.value());
    return numbers;
}

// Returns why a section is left out; nullptr: it can be read. The size of all sections is limited,
// because a section needs no disk space in a sparse file, and several sections may claim the same
// bytes. room: bytes left for this section and later ones.
const char *why_left_out(unsigned feature, const std::optional<Bytes> &content, uint64_t room)
{
    if (!content)
        return " lies outside the file";
    if (content->size() > (feature == kFeatPmuCaps ? limits::kCaps : limits::kFeature))
        return " is too large";
    return content->size() > room ? " overlaps others, or all together are too large" : nullptr;
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

}  // namespace

// Opening

Result<Reader> Reader::begun(std::unique_ptr<State> state)
{
    Result<Step> begun = state->begin();
    if (!begun)
        return begun.error();
    if (*begun != Step::kRecord)
        return Error{Errc::kTruncated,
                     "too short for a perf.data header; is the recording complete?", 0};
    return Reader(std::move(state));
}

Result<Reader> Reader::open(Bytes file)
{
    auto state = std::make_unique<State>(Input::memory(file));
    state->pieces_ = false;
    return begun(std::move(state));
}

Result<Reader> Reader::open_fd(Fd fd, const std::string &name)
{
    Result<Input> input = Input::of_fd(std::move(fd), name);
    if (!input)
        return input.error();
    auto state = std::make_unique<State>(std::move(*input));
    state->part_ = name;
    return begun(std::move(state));
}

// `perf record --threads` writes a directory: `data` is a complete perf.data file; data.0, data.1
// ... have only records, one file per recording thread.
Result<Reader> Reader::open_path(const std::string &path)
{
    struct stat status {};
    const bool directory = ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
    const std::string first = directory ? path + "/data" : path;
    Result<Input> input = directory ? Input::open_part(first) : Input::open(first);
    if (!input)
        return input.error();
    auto state = std::make_unique<State>(std::move(*input));
    state->part_ = first;
    Result<Reader> opened = begun(std::move(state));
    if (!opened || !directory)
        return opened;
    opened->state_->is_directory_ = true;
    const Result<void> found = opened->state_->find_parts(path);
    if (!found)
        return found.error();
    return opened;
}

// Lists the directory: the header does not say how many files there are.
Result<void> Reader::State::find_parts(const std::string &folder)
{
    const Result<std::set<uint32_t>> numbers = part_numbers(folder);
    if (!numbers)
        return numbers.error();
    for (auto number = numbers->rbegin(); number != numbers->rend(); ++number)
        more_parts_.push_back(part_ + "." + std::to_string(*number));
    // perf numbers the files from 0 without gaps.
    uint32_t next = 0;
    while (numbers->contains(next))
        next++;
    if (next == numbers->size())
        return {};
    missing_part_ = part_ + "." + std::to_string(next);
    warn({Errc::kNotFound, *missing_part_ + " is missing", std::nullopt});
    return {};
}

Result<Reader> Reader::pushed()
{
    return Reader(std::make_unique<State>(Input::fed()));
}

// Reads the header. kRecord: the header was read, and records may follow.
Result<Reader::Step> Reader::State::begin()
{
    Result<Bytes> front = input_.at(0, kPipeHeaderBytes);
    if (!front)
        return front.error();
    if (front->size() < kPipeHeaderBytes)
        return input_.ended() ? Step::kEnd : Step::kMore;
    const std::byte *at = front->data();
    uint64_t magic = load<uint64_t>(at, std::endian::little);
    if (magic == byteswap(kMagic))
        order_ = std::endian::big;
    else if (std::equal(front->begin(), front->begin() + 8,
                        std::as_bytes(std::span("PERFFILE", 8)).begin()))
        return Error{Errc::kUnsupported,
                     "the first perf.data format (of perf before Linux 3.4) is not read", 0};
    else if (magic != kMagic)
        return Error{Errc::kDamaged, "not a perf.data file: it does not begin with PERFILE2", 0};

    begun_ = true;
    uint64_t header_bytes = load<uint64_t>(at + kHeaderSizeAt, order_);
    if (header_bytes == kPipeHeaderBytes) {
        pipe_ = true;
        position_ = data_begin_ = kPipeHeaderBytes;
        end_ = data_end_ = input_.whole() ? input_.all().size() : UINT64_MAX;
        return Step::kRecord;
    }
    if (header_bytes < kFileHeaderBytes)
        return Error{Errc::kDamaged,
                     "header size " + std::to_string(header_bytes) + " is neither 16 nor >= 104",
                     kHeaderSizeAt};
    if (!input_.whole())
        return Error{Errc::kUnsupported, std::string(kFileLayoutInPipe) + "; name the file", 0};
    if (input_.all().size() < kFileHeaderBytes)
        return Error{Errc::kTruncated, "the file ends inside its header", input_.all().size()};
    if (Result<void> read = read_file_header(input_.all()); !read)
        return read.error();
    return Step::kRecord;
}

void Reader::State::warn(Error warning)
{
    if (warnings_.size() < kMaxWarnings)
        warnings_.push_back(std::move(warning));
}

std::optional<Bytes> Reader::State::section(uint64_t offset, uint64_t size) const
{
    Bytes file = input_.all();
    if (offset > file.size() || size > file.size() - offset)
        return std::nullopt;
    return file.subspan(offset, size);
}

Result<void> Reader::State::read_file_header(Bytes file)
{
    uint64_t entry_bytes = load<uint64_t>(file.data() + kHeaderAttrSizeAt, order_);
    Section attrs = load_section(file.data() + kHeaderAttrsAt, order_);
    Section data = load_section(file.data() + kHeaderDataAt, order_);

    std::optional<Bytes> attr_bytes = section(attrs.offset, attrs.size);
    if (!attr_bytes)
        return Error{Errc::kDamaged, "the event attributes lie outside the file", kHeaderAttrsAt};
    if (entry_bytes < kAttrMinBytes + kSectionBytes || entry_bytes > kAttrMaxBytes + kSectionBytes)
        return Error{Errc::kDamaged,
                     "event attributes of " + std::to_string(entry_bytes) + " bytes",
                     kHeaderAttrSizeAt};
    if (data.offset > file.size())
        return Error{Errc::kDamaged, "the records lie outside the file", kHeaderDataAt};
    if (Result<void> read = read_attrs(*attr_bytes, attrs.offset, entry_bytes); !read)
        return read;

    position_ = data_begin_ = data.offset;
    end_ = data_end_ = file.size();
    const Bytes features = file.subspan(kHeaderFeaturesAt, kFeatureBits / 8);
    // A recorder that was killed has not written the size and the features.
    if (data.size == 0 && !is_feature_table(data.offset, features)) {
        missing_bytes_ = 0;
        warn({Errc::kTruncated, "the recorder did not finish this file", kHeaderDataAt});
        return {};
    }
    if (data.size > file.size() - data.offset) {
        missing_bytes_ = data.size - (file.size() - data.offset);
        warn({Errc::kTruncated,
              std::to_string(*missing_bytes_) +
                  " bytes of records and the PMU names are missing: the file is truncated",
              file.size()});
        return {};
    }
    end_ = data_end_ = data.offset + data.size;
    read_features(end_, features);
    return {};
}

Result<void> Reader::State::read_attrs(Bytes bytes, uint64_t section_offset, size_t entry_bytes)
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

Result<void> Reader::State::add_event(Bytes attr_bytes, Bytes ids, uint64_t offset)
{
    // Limited, because in pipe layout each attribute has its own size, and Writer pads all
    // attributes to the size of the largest.
    if (attr_bytes.size() > kAttrMaxBytes)
        return Error{Errc::kDamaged,
                     "event attributes of " + std::to_string(attr_bytes.size()) + " bytes", offset};
    Result<Attr> attr = parse_attr(attr_bytes, order_);
    if (!attr)
        return Error{attr.error().code, attr.error().message, offset};
    if (events_.size() >= kMaxEvents || event_by_id_.size() + ids.size() / 8 > kMaxIds ||
        !event_bytes_.take(sizeof(Event) + sizeof(Places) + attr_bytes.size()))
        return Error{Errc::kDamaged, "more events or event ids than any recorder makes", offset};

    Event event{*attr, {}, {}, {attr_bytes.begin(), attr_bytes.end()}};
    event.ids.reserve(ids.size() / sizeof(uint64_t));
    ByteReader in(ids, order_);
    while (std::optional<uint64_t> id = in.u64()) {
        if (event_by_id_.insert(*id, static_cast<uint32_t>(events_.size()))) {
            event.ids.push_back(*id);
            continue;
        }
        // The event is refused, so its ids are removed.
        for (size_t i = 0; i < event.ids.size(); i++)
            event_by_id_.pop_back();
        return Error{Errc::kDamaged, "event id " + std::to_string(*id) + " appears twice", offset};
    }
    events_.push_back(std::move(event));
    places_.push_back({sample_id_position(attr->sample_type).value_or(kNowhere),
                       trailer_id_position(attr->sample_type).value_or(kNowhere),
                       sample_time_position(attr->sample_type).value_or(kNowhere),
                       trailer_time_position(attr->sample_type).value_or(kNowhere)});
    return {};
}

// Features

// True if the table of the header sections is at this offset. If records are there, the size of the
// first one, which is never 0, makes the first section begin beyond the end of the file.
bool Reader::State::is_feature_table(uint64_t offset, Bytes bitmap) const
{
    const uint64_t begin = offset;
    for (unsigned feature = 0; feature < kFeatureBits; feature++) {
        if (!feature_set(bitmap, feature, order_))
            continue;
        const std::optional<Bytes> entry = section(offset, kSectionBytes);
        if (!entry)
            return false;
        const Section where = load_section(entry->data(), order_);
        if (!section(where.offset, where.size))
            return false;
        offset += kSectionBytes;
    }
    return offset != begin;
}

void Reader::State::read_features(uint64_t table_offset, Bytes bitmap)
{
    features_in_file_ = true;
    uint64_t at = table_offset, room = std::min(input_.all().size(), limits::kFeatures);
    for (unsigned feature = 0; feature < kFeatureBits; feature++) {
        if (!feature_set(bitmap, feature, order_))
            continue;
        std::optional<Bytes> entry = section(at, kSectionBytes);
        if (!entry) {
            warn({Errc::kTruncated, "the table of header features is cut off", at});
            return;
        }
        Section where = load_section(entry->data(), order_);
        std::optional<Bytes> content = section(where.offset, where.size);
        if (const char *why = why_left_out(feature, content, room)) {
            warn({Errc::kDamaged, "header feature " + std::to_string(feature) + why, at});
        } else {
            features_.push_back({feature, where.offset, where.size});
            room -= where.size;
            read_feature(feature, *content, where.offset);
        }
        at += kSectionBytes;
    }
}

void Reader::State::read_feature(unsigned feature, Bytes content, uint64_t offset)
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
    else if (feature == kFeatGroupDesc)
        good = read_groups(content);
    if (!good)
        warn({Errc::kDamaged, "header feature " + std::to_string(feature) + " is cut off", offset});
}

bool Reader::State::read_pmu_mappings(Bytes content)
{
    ByteReader in(content, order_);
    std::optional<uint32_t> count = in.u32();
    for (uint32_t i = 0; count && i < *count; i++) {
        std::optional<uint32_t> type = in.u32();
        std::optional<std::string> name = type ? read_string(in) : std::nullopt;
        if (!name)
            return false;
        if (!may_keep(sizeof *type + kNodeBytes + name->size()))
            break;
        pmu_by_type_[*type] = *name;
    }
    return count.has_value();
}

// Reads EVENT_DESC, which describes the events in the order of their attributes.
bool Reader::State::read_event_desc(Bytes content)
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
        if (i < events_.size() && may_keep(name->size()))
            events_[i].name = *name;
    }
    return attr_bytes.has_value();
}

// If one member of a group requests branch counters, the kernel appends them to the samples of all
// members.
bool Reader::State::read_groups(Bytes content)
{
    const auto groups = parse_groups(content, order_);
    size_t next = 0;  // groups are accepted in ascending order only: no event is visited twice
    for (const GroupDescription &group : groups.value_or(std::vector<GroupDescription>())) {
        if (group.leader < next || group.leader >= events_.size())
            continue;
        const auto members = std::span(events_).subspan(
            group.leader, std::min<size_t>(group.members, events_.size() - group.leader));
        next = group.leader + members.size();
        uint64_t counters = 0;
        for (const Event &event : members)
            counters |= event.attr.branch_sample_type & kBranchCounters;
        for (Event &event : members)
            event.attr.branch_sample_type |= counters;
    }
    return groups.has_value();
}

// Pipe layout: the sections of a file arrive as records.

void Reader::State::read_header_attr(const Record &record)
{
    size_t attr_bytes = kAttrMinBytes;
    if (record.body.size() >= kAttrMinBytes)
        attr_bytes =
            std::max<size_t>(load<uint32_t>(record.body.data() + kAttrSize, order_), kAttrMinBytes);
    attr_bytes = std::min(attr_bytes, record.body.size());
    Result<void> added =
        add_event(record.body.first(attr_bytes), record.body.subspan(attr_bytes), record.offset);
    if (!added)
        warn(added.error());
}

void Reader::State::read_header_feature(const Record &record)
{
    ByteReader in(record.body, order_);
    std::optional<uint64_t> feature = in.u64();
    // An empty feature ends the header, whatever its number: in later tools that number denotes
    // another feature.
    if (!feature || *feature >= kFeatureBits || in.left() == 0)
        return;
    const unsigned number = static_cast<unsigned>(*feature);
    const Bytes content = record.body.subspan(sizeof(uint64_t));
    auto [kept, fresh] = feature_bytes_.try_emplace(number);
    if (fresh)
        features_.push_back({number, record.offset + kRecordHeaderBytes + 8, content.size()});
    kept->second.assign(content.begin(), content.end());
    read_feature(number, content, record.offset);
}

// Returns true if `bytes` more bytes of names fit in the memory limit for events and their names;
// otherwise warns, once. The limit is needed because a recording from a pipe can contain any number
// of records with names.
bool Reader::State::may_keep(size_t bytes)
{
    const bool fits = event_bytes_.take(bytes);
    if (!fits && !std::exchange(events_warned_, true))
        warn({Errc::kUnsupported,
              "more than 16 MiB of events and their names: further names are ignored"});
    return fits;
}

void Reader::State::read_event_update(const Record &record)
{
    std::optional<EventUpdateRecord> update = parse_event_update(record.body, order_);
    std::optional<size_t> event = update ? event_of_id(update->id) : std::nullopt;
    if (event && update->type == EventUpdateRecord::kName && may_keep(update->text.size()))
        events_[*event].name = update->text;
}

// Copies the sections. Called before the file that contains them is closed.
void Reader::State::keep_features()
{
    for (const FeatureSection &known : features_)
        if (std::optional<Bytes> content = section(known.offset, known.bytes))
            feature_bytes_.try_emplace(known.feature, content->begin(), content->end());
    features_in_file_ = false;
}

std::optional<Bytes> Reader::State::feature(unsigned feature) const
{
    if (auto kept = feature_bytes_.find(feature); kept != feature_bytes_.end())
        return Bytes(kept->second);
    for (const FeatureSection &known : features_)
        if (known.feature == feature && features_in_file_)
            return section(known.offset, known.bytes);
    return std::nullopt;
}

}  // namespace pmukit::perfdata
