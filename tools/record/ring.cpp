// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The order of reads and writes follows the comment in struct perf_event_mmap_page: load the head
// with acquire semantics before reading the data, and store the tail with release semantics after
// reading it.
#include "record/ring.hpp"

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <utility>

#include "base/file.hpp"
#include "perfdata/lost_entries.hpp"
#include "record/perf_event.hpp"

namespace pmukit::record {
namespace {

constexpr size_t kRecordHeaderBytes = 8;
constexpr uint64_t kWordMask = ~uint64_t{7};
// 1000 reads of the head take some microseconds.
constexpr int kMostLooks = 1000;

// The kernel's words have no atomic type, so they are accessed through atomic_ref. The kernel uses
// the matching barriers.
uint64_t load_acquire(__u64 &word)
{
    return std::atomic_ref<__u64>(word).load(std::memory_order_acquire);
}

void store_release(__u64 &word, uint64_t value)
{
    std::atomic_ref<__u64>(word).store(value, std::memory_order_release);
}

void note_aux(Bytes ring, uint64_t record, RingNotes &notes)
{
    notes.aux_end = ring_word(ring, record + 8) + ring_word(ring, record + 16);
    notes.aux_record = record;
    const uint64_t flags = aux_flags(ring, record);
    notes.aux_ended |= (flags & PERF_AUX_FLAG_TRUNCATED) != 0;
    notes.aux_gap_flags |= flags & perfdata::kAuxLossFlags;
    if (flags & PERF_AUX_FLAG_COLLISION)
        notes.aux_unknown_losses++;
    else if (flags & PERF_AUX_FLAG_TRUNCATED)
        notes.aux_truncated++;
    else if (flags & PERF_AUX_FLAG_PARTIAL)
        notes.aux_partial++;
}

void widen(std::optional<perfdata::TimeSpan> &span, const perfdata::TimeSpan &more)
{
    span = span ? perfdata::TimeSpan{std::min(span->first_ns, more.first_ns),
                                     std::max(span->last_ns, more.last_ns)}
                : more;
}

void note_sample(Bytes ring, uint64_t record, size_t size, RingNotes &notes)
{
    notes.samples++;
    if (size < kSampleTimeAt + sizeof(uint64_t))
        return;
    const uint64_t time_ns = ring_word(ring, record + kSampleTimeAt);
    widen(notes.sample_times, {time_ns, time_ns});
}

}  // namespace

std::optional<RingPieces> ring_pieces(Bytes ring, uint64_t tail, uint64_t head)
{
    if (head - tail > ring.size())
        return std::nullopt;
    if (head == tail)
        return RingPieces{};
    size_t begin = tail % ring.size(), size = head - tail;
    size_t first = std::min(size, ring.size() - begin);
    return RingPieces{ring.subspan(begin, first), ring.first(size - first)};
}

uint64_t ring_word(Bytes ring, uint64_t position)
{
    return load<uint64_t>(ring.data() + position % ring.size(), std::endian::native);
}

uint64_t aux_flags(Bytes ring, uint64_t record)
{
    return ring_word(ring, record + 24);
}

void RingNotes::add(const RingNotes &more)
{
    samples += more.samples;
    if (more.sample_times)
        widen(sample_times, *more.sample_times);
    lost_records += more.lost_records;
    lost_samples += more.lost_samples;
    throttled += more.throttled;
    aux_truncated += more.aux_truncated;
    aux_partial += more.aux_partial;
    aux_unknown_losses += more.aux_unknown_losses;
    aux_ended |= more.aux_ended;
    aux_gap_flags |= more.aux_gap_flags;
    aux_end = more.aux_end ? more.aux_end : aux_end;
}

bool note_records(Bytes ring, uint64_t tail, uint64_t head, RingNotes &notes)
{
    while (tail != head) {
        if (head - tail < kRecordHeaderBytes)
            return false;
        const std::byte *header = ring.data() + tail % ring.size();
        uint32_t type = load<uint32_t>(header, std::endian::native);
        size_t size = load<uint16_t>(header + 6, std::endian::native);
        if (size < kRecordHeaderBytes || size % 8 || size > head - tail)
            return false;
        if (type == PERF_RECORD_SAMPLE)
            note_sample(ring, tail, size, notes);
        else if (type == PERF_RECORD_LOST && size >= 24)
            notes.lost_records += ring_word(ring, tail + 16);
        else if (type == PERF_RECORD_LOST_SAMPLES && size >= 16)
            notes.lost_samples += ring_word(ring, tail + 8);
        else if (type == PERF_RECORD_THROTTLE)
            notes.throttled++;
        else if (type == PERF_RECORD_AUX && size >= 32)
            note_aux(ring, tail, notes);
        tail += size;
    }
    return true;
}

// The kernel writes an AUX record before it advances the head of the AUX area. So the AUX record of
// data that was in the area before the records were read is among these records, or was lost. Later
// data is included only if one of these records announces it.
uint64_t aux_until(uint64_t before, uint64_t after, uint64_t announced)
{
    return std::max(before, std::min(after, announced & kWordMask));
}

bool aux_was_full(uint64_t tail, uint64_t head, size_t size)
{
    return head - tail == size || head - tail == size - 1;
}

std::vector<std::byte> ring_record(Bytes ring, uint64_t position)
{
    const std::byte *header = ring.data() + position % ring.size();
    const size_t size = load<uint16_t>(header + 6, std::endian::native);
    std::vector<std::byte> record(size);
    for (size_t at = 0; at < size; at += 8)
        store(record.data() + at, ring_word(ring, position + at), std::endian::native);
    return record;
}

std::vector<std::byte> aux_gap_record(std::vector<std::byte> aux_record, uint64_t offset,
                                      uint64_t flags)
{
    store(aux_record.data() + 8, offset, std::endian::native);
    store(aux_record.data() + 16, uint64_t{0}, std::endian::native);
    store(aux_record.data() + 24, flags, std::endian::native);
    return aux_record;
}

// An event can continue once its area has free space, so it is enabled when space is freed. The
// kernel disables an event a moment after it has written the AUX record with
// PERF_AUX_FLAG_TRUNCATED, possibly after this code has enabled the event. So the event is enabled
// once more at the next tick. If AUX records with this flag arrive without data, the event is
// enabled at ticks only. An event that delivers data after such a record is running. An event that
// delivers no data for kSilentTicks ticks may have stopped, and is restarted.
AuxRevival::Act AuxRevival::after_round(uint64_t bytes, End end, bool tick)
{
    const bool cut = end == End::kCut;
    const bool now = bytes != 0 || (owed_ && tick);
    owed_ = bytes != 0 || cut || (owed_ && !tick);
    was_cut_ = cut || (was_cut_ && bytes == 0);
    silent_ticks_ = bytes != 0 || cut ? 0 : silent_ticks_ + tick;
    if (end == End::kFull)
        return Act::kRestart;
    if (silent_ticks_ >= kSilentTicks && std::exchange(was_cut_, false))
        return Act::kRestart;
    return now ? Act::kEnable : Act::kNone;
}

Result<EventMapping> EventMapping::map(int fd, size_t size, off_t offset)
{
    void *at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
    if (at == MAP_FAILED) {
        Errc code = errno == EOPNOTSUPP                 ? Errc::kUnsupported
                    : errno == EPERM || errno == ENOMEM ? Errc::kDenied
                                                        : Errc::kIo;
        return Error{code, std::strerror(errno)};
    }
    EventMapping mapping;
    mapping.at_ = static_cast<std::byte *>(at);
    mapping.size_ = size;
    return mapping;
}

EventMapping::~EventMapping()
{
    if (at_)
        ::munmap(at_, size_);
}

Result<EventRings> EventRings::map(int fd, size_t pages, size_t aux_pages)
{
    const size_t page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
    Result<EventMapping> base = EventMapping::map(fd, (1 + pages) * page, 0);
    if (!base)
        return Error{base.error().code,
                     "ring of " + std::to_string(pages) + " pages: " + base.error().message};
    EventRings rings;
    rings.base_ = std::move(base).value();
    if (aux_pages == 0)
        return rings;

    perf_event_mmap_page *control = rings.control();
    control->aux_offset = (1 + pages) * page;
    control->aux_size = aux_pages * page;
    Result<EventMapping> aux =
        EventMapping::map(fd, control->aux_size, static_cast<off_t>(control->aux_offset));
    if (aux)
        rings.aux_ = std::move(aux).value();
    // A PMU that does not support an AUX area delivers samples instead, which is not an error.
    else if (aux.error().code != Errc::kUnsupported)
        return Error{aux.error().code,
                     "AUX area of " + std::to_string(aux_pages) + " pages: " + aux.error().message};
    return rings;
}

perf_event_mmap_page *EventRings::control() const
{
    return reinterpret_cast<perf_event_mmap_page *>(base_.at());
}

Bytes EventRings::records() const
{
    const size_t page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
    return base_.bytes().subspan(page);
}

std::pair<uint64_t, uint64_t> EventRings::record_window() const
{
    return {control()->data_tail, load_acquire(control()->data_head)};
}

// Returns a window of whole words. A partial word is read with later data.
std::pair<uint64_t, uint64_t> EventRings::aux_window() const
{
    return {control()->aux_tail, aux_head() & kWordMask};
}

uint64_t EventRings::aux_head() const
{
    return load_acquire(control()->aux_head);
}

// A record may arrive a moment before the kernel advances the head over the data that the record
// announces.
uint64_t EventRings::aux_head_at(uint64_t announced) const
{
    uint64_t head = aux_window().second;
    for (int looks = 0; head < (announced & kWordMask) && looks < kMostLooks; looks++)
        head = aux_window().second;
    return head;
}

void EventRings::release_records(uint64_t until)
{
    store_release(control()->data_tail, until);
}

void EventRings::release_aux(uint64_t until)
{
    store_release(control()->aux_tail, until);
}

}  // namespace pmukit::record
