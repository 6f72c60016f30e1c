// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "decode/cache_qos/cache_qos_decode.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

#include "decode/stream.hpp"

namespace pmukit::decode::cache_qos {
namespace {

constexpr std::string_view kEvents[] = {"?", "llc_occupancy", "total_bytes", "local_bytes",
                                        "remote_bytes"};
constexpr std::string_view kKinds[] = {"machine", "group", "task", "cpu", "cgroup"};
constexpr std::string_view kBackends[] = {"other", "msr", "sim", "resctrl"};
constexpr std::string_view kStatuses[] = {"partial", "dirty",    "unavailable", "error",
                                          "unread",  "yielded",  "uncertain",   "gap",
                                          "suspect", "unsettled"};

uint64_t word(Bytes bytes, size_t index)
{
    return load_le<uint64_t>(bytes.data() + index * sizeof(uint64_t));
}

template <typename T>
T field(uint64_t value, unsigned shift)
{
    return static_cast<T>(value >> shift);
}

template <size_t N>
std::string_view name_of(const std::string_view (&names)[N], size_t index)
{
    return index < N ? names[index] : "?";
}

std::optional<Record> parse_header(Bytes bytes)
{
    const uint64_t format = word(bytes, PMUKIT_CACHE_QOS_H_FORMAT);
    const uint64_t hardware = word(bytes, PMUKIT_CACHE_QOS_H_HARDWARE);
    if (field<uint16_t>(format, PMUKIT_CACHE_QOS_FORMAT_VERSION_SHIFT) !=
            PMUKIT_CACHE_QOS_VERSION ||
        field<uint16_t>(format, PMUKIT_CACHE_QOS_FORMAT_BYTES_SHIFT) != kRecordBytes)
        return std::nullopt;
    Header header;
    header.sequence = word(bytes, PMUKIT_CACHE_QOS_H_SEQUENCE);
    header.domain = field<uint16_t>(format, PMUKIT_CACHE_QOS_FORMAT_DOMAIN_SHIFT);
    header.backend = field<uint8_t>(format, PMUKIT_CACHE_QOS_FORMAT_BACKEND_SHIFT);
    header.scale = word(bytes, PMUKIT_CACHE_QOS_H_SCALE);
    header.start_ns = word(bytes, PMUKIT_CACHE_QOS_H_START);
    header.rmids = field<uint32_t>(hardware, PMUKIT_CACHE_QOS_HARDWARE_RMIDS_SHIFT);
    header.width = field<uint8_t>(hardware, PMUKIT_CACHE_QOS_HARDWARE_WIDTH_SHIFT);
    header.cache_bytes = word(bytes, PMUKIT_CACHE_QOS_H_CACHE_BYTES);
    header.lost = word(bytes, PMUKIT_CACHE_QOS_H_LOST);
    return header;
}

// Returns false for zeros and, in nearly all cases, for random bytes.
bool makes_sense(const Reading &reading)
{
    return reading.time_ns != 0 && reading.time_ns >> 63 == 0 && reading.event != 0 &&
           reading.event < std::size(kEvents) && reading.kind < std::size(kKinds) &&
           reading.status >> std::size(kStatuses) == 0;
}

std::optional<Record> parse_reading(Bytes bytes)
{
    const uint64_t what = word(bytes, PMUKIT_CACHE_QOS_R_WHAT);
    const uint64_t state = word(bytes, PMUKIT_CACHE_QOS_R_STATE);
    Reading reading;
    reading.time_ns = word(bytes, PMUKIT_CACHE_QOS_R_TIME);
    reading.sequence = word(bytes, PMUKIT_CACHE_QOS_R_SEQUENCE);
    reading.monitor = field<uint32_t>(what, PMUKIT_CACHE_QOS_WHAT_MONITOR_SHIFT);
    reading.domain = field<uint16_t>(what, PMUKIT_CACHE_QOS_WHAT_DOMAIN_SHIFT);
    reading.event = field<uint8_t>(what, PMUKIT_CACHE_QOS_WHAT_EVENT_SHIFT);
    reading.kind = field<uint8_t>(what, PMUKIT_CACHE_QOS_WHAT_KIND_SHIFT);
    reading.generation = field<uint32_t>(state, PMUKIT_CACHE_QOS_STATE_GENERATION_SHIFT);
    reading.status = field<uint32_t>(state, PMUKIT_CACHE_QOS_STATE_STATUS_SHIFT);
    reading.raw = word(bytes, PMUKIT_CACHE_QOS_R_RAW);
    reading.bytes = word(bytes, PMUKIT_CACHE_QOS_R_BYTES);
    reading.bound = word(bytes, PMUKIT_CACHE_QOS_R_BOUND);
    reading.age_ns = word(bytes, PMUKIT_CACHE_QOS_R_AGE);
    return makes_sense(reading) ? std::optional<Record>(reading) : std::nullopt;
}

std::optional<Record> parse_name(Bytes bytes)
{
    constexpr size_t kTextAt = PMUKIT_CACHE_QOS_N_TEXT * sizeof(uint64_t);
    const uint64_t what = word(bytes, PMUKIT_CACHE_QOS_N_WHAT);
    const uint64_t life = word(bytes, PMUKIT_CACHE_QOS_N_LIFE);
    NamePart name;
    name.sequence = word(bytes, PMUKIT_CACHE_QOS_N_SEQUENCE);
    name.monitor = field<uint32_t>(what, PMUKIT_CACHE_QOS_WHAT_MONITOR_SHIFT);
    name.domain = field<uint16_t>(what, PMUKIT_CACHE_QOS_WHAT_DOMAIN_SHIFT);
    name.kind = field<uint8_t>(what, PMUKIT_CACHE_QOS_WHAT_KIND_SHIFT);
    name.id = word(bytes, PMUKIT_CACHE_QOS_N_ID);
    name.life = field<uint32_t>(life, PMUKIT_CACHE_QOS_LIFE_NUMBER_SHIFT);
    name.part = field<uint8_t>(life, PMUKIT_CACHE_QOS_LIFE_PART_SHIFT);
    name.parts = field<uint8_t>(life, PMUKIT_CACHE_QOS_LIFE_PARTS_SHIFT);
    name.text = text_of(bytes.subspan(kTextAt, PMUKIT_CACHE_QOS_NAME_PART_BYTES));
    if (name.kind >= std::size(kKinds) || name.part >= name.parts ||
        name.parts > PMUKIT_CACHE_QOS_NAME_PARTS)
        return std::nullopt;
    return name;
}

}  // namespace

std::optional<Record> parse_record(Bytes bytes)
{
    if (bytes.size() < kRecordBytes)
        return std::nullopt;
    switch (word(bytes, PMUKIT_CACHE_QOS_H_MARK)) {
        case PMUKIT_CACHE_QOS_MARK:
            return parse_header(bytes);
        case PMUKIT_CACHE_QOS_NAME_MARK:
            return parse_name(bytes);
        default:
            return parse_reading(bytes);
    }
}

bool has_value(const Reading &reading)
{
    constexpr uint32_t kNothingRead = PMUKIT_CACHE_QOS_S_UNAVAILABLE | PMUKIT_CACHE_QOS_S_ERROR |
                                      PMUKIT_CACHE_QOS_S_UNREAD | PMUKIT_CACHE_QOS_S_UNSETTLED;
    return reading.bytes != 0 || !(reading.status & kNothingRead);
}

std::string text_of(Bytes bytes)
{
    std::string text;
    for (const std::byte byte : bytes) {
        const char c = static_cast<char>(byte);
        if (!c)
            break;
        text += static_cast<uint8_t>(c) < 0x20 || c == 0x7f ? '?' : c;
    }
    return text;
}

std::string Name::label() const
{
    return kind == PMUKIT_CACHE_QOS_KIND_TASK && id ? text + "-" + std::to_string(id) : text;
}

struct __attribute__((visibility("hidden"))) Names::State {
    using Key = std::pair<uint32_t, uint16_t>;

    explicit State(std::shared_ptr<Budget> left) : left_(std::move(left)) {}
    void note(const NamePart &part);

    std::shared_ptr<Budget> left_;
    std::map<Key, Name> names_;
    Key key_{};
    Name begun_;
    uint8_t next_part_ = 0;  // next part of begun_; 0: no name has begun
};

// The parts of a name arrive in order. If a part is missing, the monitor keeps its old name. If the
// budget has no space for a name, the monitor has only a number.
void Names::State::note(const NamePart &part)
{
    constexpr size_t kNameBytes = sizeof(Key) + sizeof(Name) + kNodeBytes +
                                  PMUKIT_CACHE_QOS_NAME_PARTS * PMUKIT_CACHE_QOS_NAME_PART_BYTES;
    const Key key{part.monitor, part.domain};
    if (part.part == 0) {
        key_ = key;
        begun_ = {part.kind, part.id, part.life, part.text};
    } else if (part.part == next_part_ && key == key_) {
        begun_.text += part.text;
    } else {
        next_part_ = 0;
        return;
    }
    next_part_ = static_cast<uint8_t>(part.part + 1);
    if (next_part_ != part.parts)
        return;
    next_part_ = 0;
    if (names_.contains(key) || left_->take(kNameBytes))
        names_[key] = begun_;
}

Names::Names(std::shared_ptr<Budget> left) : state_(std::make_unique<State>(std::move(left))) {}
Names::Names(Names &&) noexcept = default;
Names &Names::operator=(Names &&) noexcept = default;
Names::~Names() = default;

void Names::note(const NamePart &part)
{
    state_->note(part);
}

const Name *Names::find(uint32_t monitor, uint16_t domain) const
{
    const auto found = state_->names_.find({monitor, domain});
    return found == state_->names_.end() ? nullptr : &found->second;
}

std::string_view event_name(uint8_t event)
{
    return name_of(kEvents, event);
}

std::string_view kind_name(uint8_t kind)
{
    return name_of(kKinds, kind);
}

std::string_view backend_name(uint8_t backend)
{
    return name_of(kBackends, backend);
}

std::string_view status_name(uint32_t status)
{
    return name_of(kStatuses, static_cast<size_t>(std::countr_zero(status)));
}

struct __attribute__((visibility("hidden"))) StreamDecoder::State {
    explicit State(Sink &sink) : sink_(sink) {}

    void start(uint64_t offset);
    void data(Bytes bytes);
    void loss(uint64_t bytes);
    void end();
    void take(Bytes record);
    size_t consume(Bytes bytes);
    void drop_carry();

    Sink &sink_;
    Position position_;
    Carry<kRecordBytes> carry_;
};

void StreamDecoder::State::start(uint64_t offset)
{
    position_ = Position(offset);
    carry_.clear();
}

void StreamDecoder::State::take(Bytes bytes)
{
    const std::optional<Record> record = parse_record(bytes);
    if (!record) {
        position_.skip(kRecordBytes);
        return;
    }
    position_.tell_skipped(sink_);
    if (const Header *header = std::get_if<Header>(&*record))
        sink_.header(position_.offset(), *header);
    else if (const NamePart *name = std::get_if<NamePart>(&*record))
        sink_.name(position_.offset(), *name);
    else
        sink_.reading(position_.offset(), std::get<Reading>(*record));
    position_.move(kRecordBytes);
}

// Decodes whole records; returns the number of bytes used.
size_t StreamDecoder::State::consume(Bytes bytes)
{
    size_t used = 0;
    for (; bytes.size() - used >= kRecordBytes; used += kRecordBytes)
        take(bytes.subspan(used, kRecordBytes));
    return used;
}

void StreamDecoder::State::data(Bytes bytes)
{
    // Skips the rest of a record that began before the data.
    if (carry_.size() == 0 && position_.offset() % kRecordBytes) {
        const size_t rest =
            std::min<size_t>(kRecordBytes - position_.offset() % kRecordBytes, bytes.size());
        position_.skip(rest);
        bytes = bytes.subspan(rest);
    }
    carry_.data(bytes, [this](Bytes there) { return consume(there); });
}

void StreamDecoder::State::drop_carry()
{
    position_.skip(carry_.size());
    carry_.clear();
    position_.tell_skipped(sink_);
}

// Records are lost whole, so the records after the loss are at multiples of their size.
void StreamDecoder::State::loss(uint64_t bytes)
{
    drop_carry();
    position_.move(bytes);
}

void StreamDecoder::State::end()
{
    drop_carry();
}

StreamDecoder::StreamDecoder(Sink &sink) : state_(std::make_unique<State>(sink)) {}
StreamDecoder::StreamDecoder(StreamDecoder &&) noexcept = default;
StreamDecoder &StreamDecoder::operator=(StreamDecoder &&) noexcept = default;
StreamDecoder::~StreamDecoder() = default;

void StreamDecoder::start(uint64_t offset)
{
    state_->start(offset);
}

void StreamDecoder::data(Bytes bytes)
{
    state_->data(bytes);
}

void StreamDecoder::loss(uint64_t bytes)
{
    state_->loss(bytes);
}

void StreamDecoder::end()
{
    state_->end();
}

bool looks_like_records(Bytes bytes)
{
    const std::optional<Record> first = parse_record(bytes);
    if (!first)
        return false;
    if (!std::holds_alternative<Reading>(*first))
        return true;
    const std::optional<Record> second = parse_record(bytes.subspan(kRecordBytes));
    const Reading *next = second ? std::get_if<Reading>(&*second) : nullptr;
    return next && next->sequence == std::get<Reading>(*first).sequence + 1;
}

std::optional<Bytes> words_of_raw(Bytes raw)
{
    constexpr size_t kTagAt = offsetof(pmukit_raw_header, tag);
    if (raw.size() < sizeof(pmukit_raw_header) ||
        load_le<uint32_t>(raw.data() + kTagAt) != PMUKIT_RAW_TAG_CACHE_QOS)
        return std::nullopt;
    return raw.subspan(sizeof(pmukit_raw_header));
}

struct __attribute__((visibility("hidden"))) SequenceAccount::State {
    std::optional<uint64_t> last_;
    uint64_t missing_ = 0, duplicates_ = 0;
};

SequenceAccount::SequenceAccount() : state_(std::make_unique<State>()) {}
SequenceAccount::SequenceAccount(SequenceAccount &&) noexcept = default;
SequenceAccount &SequenceAccount::operator=(SequenceAccount &&) noexcept = default;
SequenceAccount::~SequenceAccount() = default;

bool SequenceAccount::note(uint64_t sequence)
{
    State &state = *state_;
    if (state.last_ && sequence <= *state.last_) {
        state.duplicates_++;
        return false;
    }
    if (state.last_)
        state.missing_ += sequence - *state.last_ - 1;
    state.last_ = sequence;
    return true;
}

uint64_t SequenceAccount::missing() const
{
    return state_->missing_;
}

uint64_t SequenceAccount::duplicates() const
{
    return state_->duplicates_;
}

}  // namespace pmukit::decode::cache_qos
