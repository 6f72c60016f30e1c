// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Reads samples field by field in the order of perf_event_open(2).
#include "perfdata/sample.hpp"

#include "perfdata/format.hpp"
#include "perfdata/packer.hpp"

namespace pmukit::perfdata {
namespace {

constexpr size_t kWord = sizeof(uint64_t);

// Fields of the trailer, one word each, in this order.
constexpr uint64_t kTrailerFields[] = {PERF_SAMPLE_TID, PERF_SAMPLE_TIME,
                                       PERF_SAMPLE_ID,  PERF_SAMPLE_STREAM_ID,
                                       PERF_SAMPLE_CPU, PERF_SAMPLE_IDENTIFIER};

// Reads words until one is missing; all further reads then return zero or nothing. So the caller
// checks only once, at the end.
class Walk {
public:
    Walk(Bytes body, std::endian order) : at_(body.data()), left_(body.size()), order_(order) {}

    bool whole() const { return whole_; }
    size_t left() const { return left_; }
    uint64_t word() { return number<uint64_t>(); }
    uint32_t half() { return number<uint32_t>(); }

    Bytes take(uint64_t size)
    {
        if (size > left_)
            return fail();
        Bytes taken(at_, size);
        at_ += size;
        left_ -= size;
        return taken;
    }
    WordView words(uint64_t count)
    {
        if (count > left_ / kWord)
            return WordView(fail(), order_);
        return WordView(take(count * kWord), order_);
    }
    // The last `bytes` bytes that were read, as one view.
    WordView again(size_t bytes) const { return WordView(Bytes(at_ - bytes, bytes), order_); }

private:
    template <std::unsigned_integral T>
    T number()
    {
        if (sizeof(T) > left_) {
            fail();
            return 0;
        }
        T value = load<T>(at_, order_);
        at_ += sizeof(T);
        left_ -= sizeof(T);
        return value;
    }
    Bytes fail()
    {
        whole_ = false;
        left_ = 0;
        return {};
    }

    const std::byte *at_;
    size_t left_;
    std::endian order_;
    bool whole_ = true;
};

void read_tid(Walk &in, SampleId &sample_id)
{
    sample_id.pid = in.half();
    sample_id.tid = in.half();
}

void read_cpu(Walk &in, SampleId &sample_id)
{
    sample_id.cpu = in.half();
    in.half();  // reserved
}

size_t times_of(uint64_t format)
{
    return !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) +
           !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);
}

size_t words_of_count(uint64_t format)
{
    return 1 + !!(format & PERF_FORMAT_ID) + !!(format & PERF_FORMAT_LOST);
}

// PERF_SAMPLE_READ: counts in the format of read_format.
CountView read_counts(Walk &in, uint64_t format)
{
    const size_t each = words_of_count(format);
    const size_t before = in.left();
    if (!(format & PERF_FORMAT_GROUP))
        return CountView(in.words(each + times_of(format)), format);
    uint64_t count = in.word();
    in.words(times_of(format));
    in.words(count > in.left() / kWord ? count : count * each);
    return in.whole() ? CountView(in.again(before - in.left()), format) : CountView();
}

BranchView read_branches(Walk &in, uint64_t branch_sample_type)
{
    uint64_t count = in.word();
    std::optional<uint64_t> hw_index;
    if (branch_sample_type & kBranchHwIndex)
        hw_index = in.word();
    if (count > in.left() / kBranchEntryBytes)
        count = in.left() / kWord + 1;  // more than exist, so that the next read fails
    WordView entries = in.words(count * (kBranchEntryBytes / kWord));
    WordView counters;
    if (branch_sample_type & kBranchCounters)
        counters = in.words(count);
    return BranchView(entries, counters, hw_index);
}

Registers read_registers(Walk &in, uint64_t mask)
{
    Registers registers;
    registers.abi = in.word();
    if (registers.abi == PERF_SAMPLE_REGS_ABI_NONE)
        return registers;
    registers.mask = mask;
    registers.values = in.words(static_cast<uint64_t>(std::popcount(mask)));
    return registers;
}

// The field has the requested size; the word dyn_size after it is the number of valid bytes.
Bytes read_user_stack(Walk &in)
{
    uint64_t size = in.word();
    if (size == 0)
        return {};
    Bytes room = in.take(size);
    uint64_t real = in.word();
    return room.first(real < room.size() ? real : room.size());
}

// Reads the fields up to the period, each of which is one word.
void read_front(Walk &in, uint64_t type, Sample &sample)
{
    SampleId &sample_id = sample.sample_id;
    if (type & PERF_SAMPLE_IDENTIFIER)
        sample_id.id = in.word();
    if (type & PERF_SAMPLE_IP)
        sample.ip = in.word();
    if (type & PERF_SAMPLE_TID)
        read_tid(in, sample_id);
    if (type & PERF_SAMPLE_TIME)
        sample_id.time_ns = in.word();
    if (type & PERF_SAMPLE_ADDR)
        sample.addr = in.word();
    if (type & PERF_SAMPLE_ID)
        sample_id.id = in.word();
    if (type & PERF_SAMPLE_STREAM_ID)
        sample_id.stream_id = in.word();
    if (type & PERF_SAMPLE_CPU)
        read_cpu(in, sample_id);
    if (type & PERF_SAMPLE_PERIOD)
        sample.period = in.word();
}

void read_middle(Walk &in, const Attr &attr, Sample &sample)
{
    const uint64_t type = attr.sample_type;
    if (type & PERF_SAMPLE_READ)
        sample.counts = read_counts(in, attr.read_format);
    if (type & PERF_SAMPLE_CALLCHAIN)
        sample.callchain = in.words(in.word());
    if (type & PERF_SAMPLE_RAW)
        sample.raw = in.take(in.half());
    if (type & PERF_SAMPLE_BRANCH_STACK)
        sample.branches = read_branches(in, attr.branch_sample_type);
    if (type & PERF_SAMPLE_REGS_USER)
        sample.user_regs = read_registers(in, attr.sample_regs_user);
    if (type & PERF_SAMPLE_STACK_USER)
        sample.user_stack = read_user_stack(in);
}

void read_back(Walk &in, const Attr &attr, Sample &sample)
{
    const uint64_t type = attr.sample_type;
    if (type & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT))
        sample.weight = in.word();
    if (type & PERF_SAMPLE_DATA_SRC)
        sample.data_src = in.word();
    if (type & PERF_SAMPLE_TRANSACTION)
        sample.transaction = in.word();
    if (type & PERF_SAMPLE_REGS_INTR)
        sample.intr_regs = read_registers(in, attr.sample_regs_intr);
    if (type & PERF_SAMPLE_PHYS_ADDR)
        sample.phys_addr = in.word();
    if (type & PERF_SAMPLE_CGROUP)
        sample.cgroup = in.word();
    if (type & PERF_SAMPLE_DATA_PAGE_SIZE)
        sample.data_page_bytes = in.word();
    if (type & PERF_SAMPLE_CODE_PAGE_SIZE)
        sample.code_page_bytes = in.word();
    if (type & PERF_SAMPLE_AUX)
        sample.aux = in.take(in.word());
}

size_t words_before(std::initializer_list<uint64_t> fields, uint64_t sample_type)
{
    size_t bytes = 0;
    for (uint64_t field : fields)
        bytes += sample_type & field ? kWord : 0;
    return bytes;
}

// Sets the fields of the event. Returns false if the body is too short.
bool read_sample(Bytes body, const Attr &attr, std::endian order, Sample &sample)
{
    constexpr uint64_t kMiddle = PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW |
                                 PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_REGS_USER |
                                 PERF_SAMPLE_STACK_USER;
    constexpr uint64_t kBack = ~(kMiddle | (PERF_SAMPLE_WEIGHT - 1) | PERF_SAMPLE_IDENTIFIER);
    Walk in(body, order);
    read_front(in, attr.sample_type, sample);
    if (attr.sample_type & kMiddle)
        read_middle(in, attr, sample);
    if (attr.sample_type & kBack)
        read_back(in, attr, sample);
    return in.whole();
}

}  // namespace

// Counts

size_t CountView::times() const
{
    return times_of(format_);
}

size_t CountView::words_per_count() const
{
    return words_of_count(format_);
}

size_t CountView::size() const
{
    if (words_.empty())
        return 0;
    return format_ & PERF_FORMAT_GROUP ? words_[0] : 1;
}

CountView::Count CountView::operator[](size_t i) const
{
    // A group: number of counts, times, counts. One event: count, times, id, lost.
    const bool group = (format_ & PERF_FORMAT_GROUP) != 0;
    size_t at = group ? 1 + times() + i * words_per_count() : 0;
    Count count;
    count.value = words_[at];
    at += group ? 1 : 1 + times();
    if (format_ & PERF_FORMAT_ID)
        count.id = words_[at++];
    if (format_ & PERF_FORMAT_LOST)
        count.lost = words_[at];
    return count;
}

std::optional<uint64_t> CountView::time(uint64_t which) const
{
    if (!(format_ & which) || words_.empty())
        return std::nullopt;
    bool second = which == PERF_FORMAT_TOTAL_TIME_RUNNING && times() == 2;
    return words_[1 + second];
}

std::optional<uint64_t> CountView::time_enabled_ns() const
{
    return time(PERF_FORMAT_TOTAL_TIME_ENABLED);
}

std::optional<uint64_t> CountView::time_running_ns() const
{
    return time(PERF_FORMAT_TOTAL_TIME_RUNNING);
}

// Samples

struct __attribute__((visibility("hidden"))) SampleParser::State {
    Sample sample_;
    uint64_t written_ = 0;  // the sample_type whose fields are set in sample_
};

SampleParser::SampleParser() : state_(std::make_unique<State>()) {}
SampleParser::SampleParser(SampleParser &&) noexcept = default;
SampleParser &SampleParser::operator=(SampleParser &&) noexcept = default;
SampleParser::~SampleParser() = default;

const Sample *SampleParser::parse(Bytes body, const Attr &attr, std::endian order)
{
    // Events with the same sample_type set the same fields completely: no field of the previous
    // sample remains.
    State &state = *state_;
    if (attr.sample_type != state.written_)
        state.sample_ = Sample();
    state.written_ = attr.sample_type;
    return read_sample(body, attr, order, state.sample_) ? &state.sample_ : nullptr;
}

std::optional<Sample> parse_sample(Bytes body, const Attr &attr, std::endian order)
{
    Sample sample;
    return read_sample(body, attr, order, sample) ? std::optional<Sample>(sample) : std::nullopt;
}

std::optional<std::vector<std::byte>> compose_sample(uint64_t sample_type,
                                                     const SampleId &sample_id, Bytes raw,
                                                     std::endian order)
{
    constexpr size_t kWords = 12;  // the fields below, and the size and padding of the payload
    Packer body(order);
    body.reserve(kWords * kWord + raw.size());
    const auto word = [&body, sample_type](uint64_t field, uint64_t value) {
        if (sample_type & field)
            body.put(value);
    };
    const auto halves = [&body, sample_type](uint64_t field, uint32_t first, uint32_t second) {
        if (sample_type & field)
            body.put(first).put(second);
    };
    word(PERF_SAMPLE_IDENTIFIER, sample_id.id.value_or(0));
    word(PERF_SAMPLE_IP, 0);
    halves(PERF_SAMPLE_TID, sample_id.pid.value_or(0), sample_id.tid.value_or(0));
    word(PERF_SAMPLE_TIME, sample_id.time_ns.value_or(0));
    word(PERF_SAMPLE_ADDR, 0);
    word(PERF_SAMPLE_ID, sample_id.id.value_or(0));
    word(PERF_SAMPLE_STREAM_ID, sample_id.stream_id.value_or(sample_id.id.value_or(0)));
    halves(PERF_SAMPLE_CPU, sample_id.cpu.value_or(0), 0);
    word(PERF_SAMPLE_PERIOD, 1);
    if (sample_type & PERF_SAMPLE_RAW) {
        // As in the kernel, size and bytes together fill whole words.
        const size_t padding = (kWord - (sizeof(uint32_t) + raw.size()) % kWord) % kWord;
        if (raw.size() + padding > kMaxRecordBytes)
            return std::nullopt;
        body.put(static_cast<uint32_t>(raw.size() + padding)).put(raw);
        body.pad_to(body.bytes().size() + padding);
    }
    if (body.bytes().size() > kMaxRecordBytes - kRecordHeaderBytes)
        return std::nullopt;
    return body.take();
}

size_t trailer_bytes(const Attr &attr)
{
    if (!attr.sample_id_all)
        return 0;
    size_t bytes = 0;
    for (uint64_t field : kTrailerFields)
        bytes += attr.sample_type & field ? kWord : 0;
    return bytes;
}

std::optional<SampleId> parse_sample_id(Bytes body, const Attr &attr, std::endian order)
{
    SampleId sample_id;
    const size_t size = trailer_bytes(attr);
    if (size > body.size())
        return std::nullopt;
    if (size == 0)
        return sample_id;

    Walk in(body.last(size), order);
    const uint64_t type = attr.sample_type;
    if (type & PERF_SAMPLE_TID)
        read_tid(in, sample_id);
    if (type & PERF_SAMPLE_TIME)
        sample_id.time_ns = in.word();
    if (type & PERF_SAMPLE_ID)
        sample_id.id = in.word();
    if (type & PERF_SAMPLE_STREAM_ID)
        sample_id.stream_id = in.word();
    if (type & PERF_SAMPLE_CPU)
        read_cpu(in, sample_id);
    if (type & PERF_SAMPLE_IDENTIFIER)
        sample_id.id = in.word();
    return sample_id;
}

// Positions

std::optional<size_t> sample_id_position(uint64_t sample_type)
{
    if (sample_type & PERF_SAMPLE_IDENTIFIER)
        return 0;
    if (!(sample_type & PERF_SAMPLE_ID))
        return std::nullopt;
    return words_before({PERF_SAMPLE_IP, PERF_SAMPLE_TID, PERF_SAMPLE_TIME, PERF_SAMPLE_ADDR},
                        sample_type);
}

std::optional<size_t> trailer_id_position(uint64_t sample_type)
{
    if (sample_type & PERF_SAMPLE_IDENTIFIER)
        return kWord;
    if (!(sample_type & PERF_SAMPLE_ID))
        return std::nullopt;
    return kWord + words_before({PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_CPU}, sample_type);
}

std::optional<size_t> sample_cgroup_position(Bytes body, const Attr &attr, std::endian order)
{
    if (!(attr.sample_type & PERF_SAMPLE_CGROUP))
        return std::nullopt;
    Attr before = attr;  // reads the fields before the cgroup id, which have any length
    before.sample_type &= ~(PERF_SAMPLE_CGROUP | PERF_SAMPLE_DATA_PAGE_SIZE |
                            PERF_SAMPLE_CODE_PAGE_SIZE | PERF_SAMPLE_AUX);
    Walk in(body, order);
    Sample unused;
    read_front(in, before.sample_type, unused);
    read_middle(in, before, unused);
    read_back(in, before, unused);
    return in.left() < kWord ? std::nullopt : std::optional(body.size() - in.left());
}

std::optional<size_t> sample_time_position(uint64_t sample_type)
{
    if (!(sample_type & PERF_SAMPLE_TIME))
        return std::nullopt;
    return words_before({PERF_SAMPLE_IDENTIFIER, PERF_SAMPLE_IP, PERF_SAMPLE_TID}, sample_type);
}

std::optional<size_t> trailer_time_position(uint64_t sample_type)
{
    if (!(sample_type & PERF_SAMPLE_TIME))
        return std::nullopt;
    return kWord + words_before({PERF_SAMPLE_ID, PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_CPU,
                                 PERF_SAMPLE_IDENTIFIER},
                                sample_type);
}

}  // namespace pmukit::perfdata
