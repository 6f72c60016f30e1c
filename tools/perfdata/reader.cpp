// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Walks the records of a file or stream, the records inside compressed records, and the files of a
// directory one after another.
#include <algorithm>
#include <utility>

#include "perfdata/format.hpp"
#include "perfdata/reader_state.hpp"

namespace pmukit::perfdata {
namespace {

// Sizes of the pieces in which a long payload is returned. After each piece of a mapped file, its
// pages can be dropped.
constexpr size_t kMappedPieceBytes = size_t{4} << 20;
constexpr size_t kStreamPieceBytes = Input::kWindowBytes / 2;
constexpr size_t kForgetStepBytes = size_t{8} << 20;

bool is_packed(uint32_t type)
{
    return type == kCompressed || type == kCompressed2;
}

// Recorders compress only data of the kernel's rings, which has none of the records refused here.
// The reader stores the content of some of these records, and a few compressed bytes could expand
// to any number of them.
bool may_be_packed(uint32_t type)
{
    return !is_packed(type) && !is_pipe_header(type) && type != kAuxtrace &&
           type != kHeaderTracingData;
}

void fill(Record &into, const std::byte *at, size_t size, uint64_t offset, std::endian order)
{
    into.type = load<uint32_t>(at, order);
    into.misc = load<uint16_t>(at + 4, order);
    into.offset = offset;
    into.body = {at + kRecordHeaderBytes, size - kRecordHeaderBytes};
    into.payload = {};
    into.payload_at = into.payload_bytes = 0;
}

}  // namespace

// Steps

Result<void> Reader::State::read_front()
{
    std::deque<Kept> passed;
    size_t passed_bytes = 0;
    while (pipe_ && !ahead_) {
        Record record;
        if (!next(record)) {
            if (error_)
                return *error_;
            break;
        }
        if (!is_pipe_header(record.type))
            ahead_ = record;
        else if (!is_in_file_header(record, order_) && passed_bytes <= limits::kFront) {
            passed_bytes += sizeof(Kept) + record.body.size();
            passed.push_back({record, {record.body.begin(), record.body.end()}});
        }
    }
    if (passed_bytes > limits::kFront)
        warn({Errc::kUnsupported,
              "more than 8 MiB of records before the first kernel record: the rest is ignored"});
    front_ = std::move(passed);
    return {};
}

bool Reader::State::next(Record &into)
{
    if (error_)
        return false;
    const Result<Step> found = step(into);
    if (!found)
        error_ = found.error();
    return found && *found == Step::kRecord;
}

Result<Reader::Step> Reader::State::step(Record &into)
{
    if (!begun_) {
        Result<Step> begun = begin();
        if (!begun || *begun != Step::kRecord)
            return begun;
    }
    if (!front_.empty()) {
        given_ = std::move(front_.front());
        front_.pop_front();
        into = given_.record;
        into.body = given_.body;
        return Step::kRecord;
    }
    if (ahead_) {
        into = *std::exchange(ahead_, std::nullopt);
        return Step::kRecord;
    }
    for (;;) {
        if (unpacker_ && unpacker_->busy()) {
            if (unpacked_record(into)) {
                note(into);
                return Step::kRecord;
            }
            continue;
        }
        Result<Step> found = piece_left_ ? next_piece(into) : outer_record(into);
        if (!found || *found == Step::kMore)
            return found;
        if (*found == Step::kEnd) {
            Result<bool> more = next_part();
            if (!more)
                return more.error();
            if (!*more)
                return Step::kEnd;
        } else if (is_packed(into.type)) {
            if (Result<void> begun = begin_packed(into); !begun)
                return begun.error();
        } else {
            note(into);
            return Step::kRecord;
        }
    }
}

void Reader::State::note(const Record &record)
{
    if (record.type < kHeaderAttr)
        return;
    if (record.type == kHeaderAttr)
        read_header_attr(record);
    else if (record.type == kHeaderFeature)
        read_header_feature(record);
    else if (record.type == kEventUpdate)
        read_event_update(record);
}

// Available bytes

// Returns false if fewer bytes are available (yet).
Result<bool> Reader::State::have(size_t wanted)
{
    if (ready_ >= wanted)
        return true;
    Result<Bytes> bytes = input_.at(position_, wanted);
    if (!bytes)
        return bytes.error();
    at_ = bytes->data();
    ready_ = static_cast<size_t>(std::min<uint64_t>(bytes->size(), end_ - position_));
    return ready_ >= wanted;
}

// Moves past these bytes. They belong to the record that is returned next, so only pages before
// them can be dropped.
void Reader::State::pass(size_t bytes)
{
    if (position_ >= forget_at_) {
        input_.forget_before(position_);
        forget_at_ = position_ + kForgetStepBytes;
    }
    at_ += bytes;
    ready_ -= bytes;
    position_ += bytes;
}

// Handles data that ends inside a record: a reader from pushed() waits for more data, other readers
// report damage.
Result<Reader::Step> Reader::State::cut_short(const char *reason, uint32_t type)
{
    if (!input_.ended())
        return Step::kMore;
    if (Result<void> broken = break_off(reason, type); !broken)
        return broken.error();
    return Step::kEnd;
}

void Reader::State::lose(uint64_t offset, uint64_t bytes, std::string reason, uint32_t type)
{
    if (damage_) {
        damage_->lost_bytes += bytes;
        return;
    }
    if (!more_parts_.empty() || is_directory_)
        reason = part_ + ": " + reason;
    damage_ = Damage{offset, bytes, std::move(reason), type};
}

// Ends the walk at damage. Reads a stream to its end, to report how many bytes are lost.
Result<void> Reader::State::break_off(std::string reason, uint32_t type)
{
    const uint64_t offset = position_;
    while (!input_.whole()) {
        Result<bool> more = have(1);
        if (!more)
            return more.error();
        if (!*more)
            break;
        pass(ready_);
    }
    uint64_t end = input_.whole() ? end_ : position_;
    lose(offset, end - offset, std::move(reason), type);
    position_ = end_ = end;
    ready_ = 0;
    piece_left_ = 0;
    return {};
}

// Records of the file itself

Result<Reader::Step> Reader::State::outer_record(Record &into)
{
    Result<bool> there = have(kRecordHeaderBytes);
    if (!there)
        return there.error();
    // After break_off(), position_ is end_ even if more bytes are fed.
    if (!*there && ready_ == 0 && (input_.ended() || position_ == end_))
        return Step::kEnd;
    if (!*there)
        return cut_short("the data ends inside a record header", 0);
    const uint32_t type = load<uint32_t>(at_, order_);
    const size_t size = load<uint16_t>(at_ + 6, order_);
    if (size < kRecordHeaderBytes) {
        Result<void> broken =
            break_off("a record claims a size of " + std::to_string(size) + " bytes", type);
        if (!broken)
            return broken.error();
        return Step::kEnd;
    }
    there = have(size);
    if (!there)
        return there.error();
    if (!*there)
        return cut_short("the data ends inside a record", type);
    fill(into, at_, size, position_, order_);
    if (type == kAuxtrace || type == kHeaderTracingData)
        return begin_payload(into, size);
    pass(size);
    return Step::kRecord;
}

Result<Reader::Step> Reader::State::begin_payload(Record &into, size_t size)
{
    std::optional<uint64_t> payload = payload_size(into.type, into.body, order_);
    const char *wrong = nullptr;
    if (!payload)
        wrong = "an AUXTRACE or tracing data record is too short";
    else if (input_.whole() && *payload > ready_ - size)
        wrong = "the data ends inside a record's payload";
    if (wrong) {
        if (Result<void> broken = break_off(wrong, into.type); !broken)
            return broken.error();
        return Step::kEnd;
    }
    into.payload_bytes = *payload;
    const bool whole = input_.whole() && (!pieces_ || *payload <= kMappedPieceBytes);
    if (whole || *payload == 0) {
        into.payload = {at_ + size, static_cast<size_t>(*payload)};
        pass(size + into.payload.size());
        return Step::kRecord;
    }
    // The window may move while the payload is read, so the body is copied.
    size_t kept = std::min(into.body.size(), piece_body_.size());
    std::copy_n(into.body.begin(), kept, piece_body_.begin());
    piece_ = into;
    piece_left_ = *payload;
    piece_body_bytes_ = kept;
    pass(size);
    return next_piece(into);
}

Result<Reader::Step> Reader::State::next_piece(Record &into)
{
    size_t size = input_.whole() ? kMappedPieceBytes : kStreamPieceBytes;
    size = static_cast<size_t>(std::min<uint64_t>(size, piece_left_));
    Result<bool> there = have(size);
    if (!there)
        return there.error();
    if (!*there && (ready_ == 0 || !input_.ended()))
        return cut_short("the data ends inside a record's payload", piece_.type);
    into = piece_;
    into.body = Bytes(piece_body_).first(piece_body_bytes_);
    into.payload = {at_, std::min(size, ready_)};
    into.payload_at = piece_.payload_bytes - piece_left_;
    piece_left_ -= into.payload.size();
    pass(into.payload.size());
    return Step::kRecord;
}

// Compressed records

Result<void> Reader::State::begin_packed(const Record &record)
{
    packed_offset_ = record.offset;
    Bytes packed = record.body;
    // The body of COMPRESSED2 is padded to whole words, so it begins with the exact size of the
    // data.
    if (record.type == kCompressed2) {
        ByteReader in(record.body, order_);
        std::optional<uint64_t> size = in.u64();
        std::optional<Bytes> exact =
            size && *size <= in.left() ? in.take(static_cast<size_t>(*size)) : std::nullopt;
        if (!exact) {
            lose(record.offset, record.body.size(),
                 "a compressed record is shorter than its size field", record.type);
            unpacking_failed_ = true;
            return {};
        }
        packed = *exact;
    }
    if (unpacking_failed_) {
        lose(record.offset, packed.size(), {}, record.type);
        return {};
    }
    if (!unpacker_)
        unpacker_ = Unpacker::make();
    if (!unpacker_)
        return Error{Errc::kUnsupported,
                     "compressed records cannot be read by this build (no libzstd); record "
                     "without -z",
                     record.offset};
    unpacker_->start(packed);
    return {};
}

// Returns false if the compressed data ends or is invalid.
bool Reader::State::unpacked_record(Record &into)
{
    Result<Bytes> bytes = unpacker_->next(order_);
    if (bytes && bytes->empty())
        return false;
    std::string wrong;
    if (!bytes) {
        wrong = bytes.error().message;
    } else {
        fill(into, bytes->data(), bytes->size(), packed_offset_, order_);
        if (may_be_packed(into.type))
            return true;
        wrong = "a header record inside a compressed record";
    }
    lose(packed_offset_, unpacker_->remainder(), std::move(wrong), kCompressed);
    unpacker_.reset();
    unpacking_failed_ = true;
    return false;
}

// Directories

Result<bool> Reader::State::next_part()
{
    if (unpacker_ && unpacker_->remainder() != 0)
        lose(packed_offset_, unpacker_->remainder(), "the compressed data ends inside a record",
             kCompressed);
    unpacker_.reset();
    unpacking_failed_ = false;
    if (more_parts_.empty())
        return false;
    part_ = std::move(more_parts_.back());
    more_parts_.pop_back();
    Result<Input> input = Input::open_part(part_);
    if (!input)
        return input.error();
    // Only the first file has header sections. They are copied before that file is unmapped.
    keep_features();
    input_ = std::move(*input);
    position_ = data_begin_ = 0;
    ready_ = 0;
    end_ = data_end_ = input_.whole() ? input_.all().size() : UINT64_MAX;
    forget_at_ = kForgetStepBytes;
    return true;
}

// Events

const std::string &Reader::State::pmu_name(uint32_t attr_type) const
{
    static const std::string kUnknown;
    const auto found = pmu_by_type_.find(attr_type);
    return found == pmu_by_type_.end() ? kUnknown : found->second;
}

std::optional<size_t> Reader::State::event_of_id(uint64_t id) const
{
    const uint32_t *const found = event_by_id_.find(id);
    return found ? std::optional<size_t>(*found) : std::nullopt;
}

std::optional<size_t> Reader::State::event_of(const Record &record) const
{
    if (events_.empty() || record.type >= kHeaderAttr)
        return std::nullopt;
    if (events_.size() == 1)
        return 0;
    // perf records several events together only if all have the id at the same offset.
    const bool sample = record.type == PERF_RECORD_SAMPLE;
    if (!sample && !events_.front().attr.sample_id_all)
        return std::nullopt;
    const Places &places = places_.front();
    std::optional<uint64_t> id = sample ? word_at(record.body, places.sample_id)
                                        : word_from_end(record.body, places.trailer_id);
    if (!id)
        return std::nullopt;
    // Records that perf synthesizes have id 0: they belong to the first event.
    if (*id == 0 && !sample && !event_by_id_.find(0))
        return 0;
    return event_of_id(*id);
}

std::optional<uint64_t> Reader::State::time_of(const Record &record) const
{
    std::optional<size_t> event = event_of(record);
    if (!event)
        return std::nullopt;
    const Places &places = places_[*event];
    if (record.type == PERF_RECORD_SAMPLE)
        return word_at(record.body, places.sample_time);
    if (!events_[*event].attr.sample_id_all)
        return std::nullopt;
    return word_from_end(record.body, places.trailer_time);
}

std::optional<uint64_t> Reader::State::word_at(Bytes body, size_t at) const
{
    if (at > body.size() || body.size() - at < sizeof(uint64_t))
        return std::nullopt;
    return load<uint64_t>(body.data() + at, order_);
}

std::optional<uint64_t> Reader::State::word_from_end(Bytes body, size_t from_end) const
{
    return from_end > body.size() ? std::nullopt : word_at(body, body.size() - from_end);
}

// The reader itself

Reader::Reader(std::unique_ptr<State> state) : state_(std::move(state)) {}
Reader::Reader(Reader &&) noexcept = default;
Reader &Reader::operator=(Reader &&) noexcept = default;
Reader::~Reader() = default;

bool Reader::next(Record &into)
{
    return state_->next(into);
}

const std::optional<Error> &Reader::error() const
{
    return state_->error_;
}

Result<Reader::Step> Reader::step(Record &into)
{
    return state_->step(into);
}

Result<void> Reader::read_front()
{
    return state_->read_front();
}

size_t Reader::feed(Bytes bytes)
{
    state_->ready_ = 0;  // feed() may move the window, and at_ points into it
    return state_->input_.feed(bytes);
}

void Reader::end_feed()
{
    state_->input_.end_feed();
}

std::endian Reader::order() const
{
    return state_->order_;
}

const std::vector<Event> &Reader::events() const
{
    return state_->events_;
}

const std::optional<Damage> &Reader::damage() const
{
    return state_->damage_;
}

const std::vector<Error> &Reader::warnings() const
{
    return state_->warnings_;
}

uint64_t Reader::position() const
{
    return state_->position_;
}

bool Reader::is_pipe() const
{
    return state_->pipe_;
}

bool Reader::is_directory() const
{
    return state_->is_directory_;
}

const std::string &Reader::part() const
{
    return state_->part_;
}

std::vector<std::string> Reader::later_parts() const
{
    return {state_->more_parts_.rbegin(), state_->more_parts_.rend()};
}

const std::optional<std::string> &Reader::missing_part() const
{
    return state_->missing_part_;
}

std::optional<uint64_t> Reader::missing_bytes() const
{
    return state_->missing_bytes_;
}

uint64_t Reader::data_begin() const
{
    return state_->data_begin_;
}

uint64_t Reader::data_end() const
{
    return state_->data_end_;
}

const std::vector<FeatureSection> &Reader::features() const
{
    return state_->features_;
}

std::optional<Bytes> Reader::feature(unsigned feature) const
{
    return state_->feature(feature);
}

const std::string &Reader::pmu_name(uint32_t attr_type) const
{
    return state_->pmu_name(attr_type);
}

const std::string &Reader::hostname() const
{
    return state_->hostname_;
}

const std::string &Reader::os_release() const
{
    return state_->os_release_;
}

std::optional<size_t> Reader::event_of_id(uint64_t id) const
{
    return state_->event_of_id(id);
}

std::optional<size_t> Reader::event_of(const Record &record) const
{
    return state_->event_of(record);
}

std::optional<uint64_t> Reader::time_of(const Record &record) const
{
    return state_->time_of(record);
}

}  // namespace pmukit::perfdata
