// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The two rings an event shares with us: records, and the AUX area. Both are read the same way:
//
//          tail (ours)         head (the kernel's)
//     -----|===================|-----      positions only grow; position % size is the place
//
// Positions are the kernel's word and are checked against the ring before they are followed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "base/result.hpp"

struct perf_event_mmap_page;

namespace pmukit::record {

// What lies between two positions of a ring: one piece, or two where it wraps.
struct RingPieces {
    Bytes first, second;
    size_t size() const { return first.size() + second.size(); }
};

// Pure: the pieces of [tail, head) in a ring. nullopt: more than the ring holds, or backwards.
std::optional<RingPieces> ring_pieces(Bytes ring, uint64_t tail, uint64_t head);

// A word of a record, at a position that is a multiple of 8.
uint64_t ring_word(Bytes ring, uint64_t position);

// PERF_AUX_FLAG_*: what an AUX record at a position says of its data.
uint64_t aux_flags(Bytes ring, uint64_t record);

// Records that speak of losses, counted while they pass.
struct RingNotes {
    uint64_t samples = 0;
    uint64_t lost_records = 0;        // PERF_RECORD_LOST: the ring was full
    uint64_t lost_samples = 0;        // PERF_RECORD_LOST_SAMPLES
    uint64_t aux_truncated = 0;       // PERF_AUX_FLAG_TRUNCATED
    uint64_t aux_partial = 0;         // PERF_AUX_FLAG_PARTIAL alone: a gap in data that go on
    uint64_t aux_unknown_losses = 0;  // PERF_AUX_FLAG_COLLISION: not counted above
    uint64_t aux_end = 0;    // of the data that the last AUX record announced; 0: there was none
    bool aux_ended = false;  // by TRUNCATED, whatever else is said: the event was disabled
    std::optional<uint64_t> aux_record{};  // where the last AUX record is in the ring
    uint64_t aux_gap_flags = 0;            // of all that say a loss, as perfdata::kAuxLossFlags

    void add(const RingNotes &more);
};
// Pure: walks the records in [tail, head). False: a record's size makes no sense.
bool note_records(Bytes ring, uint64_t tail, uint64_t head, RingNotes &notes);

// Pure: where to end with reading an AUX area, so that data are in the same round as their AUX
// record. before, after: its head as it was before the records were read, and is now.
uint64_t aux_until(uint64_t before, uint64_t after, uint64_t announced);

// Pure: was the AUX area full before it was emptied? tail: where it began then; head: where the
// kernel is now. At that mark perf_aux_output_begin() disables the event, and no record says so;
// of one that still runs the head has passed it.
bool aux_was_full(uint64_t tail, uint64_t head, size_t size);

// Pure: the record at a position that note_records() has passed.
std::vector<std::byte> ring_record(Bytes ring, uint64_t position);

// Pure: of the event and the moment of an AUX record, one that says: no data, and a gap at offset.
std::vector<std::byte> aux_gap_record(std::vector<std::byte> aux_record, uint64_t offset,
                                      uint64_t flags);

// Pure: is an event to be enabled again? The kernel disables one whose AUX area was full, of which
// it says nothing, and one whose driver cut its data. Enabling does nothing to one that runs. But
// Linux 6.12, and 6.1 on CPU 0, disable neither: perf_aux_output_begin() and perf_aux_output_end()
// note that it is to be disabled, but where the kernel does not look for it. Behind a cut a driver
// may begin again by itself; one that waits for a stop, as after a reset of its device, would wait
// for ever: an event that gives nothing behind a cut is disabled here first. So is one behind a
// full area, where its driver had no space to begin.
class AuxRevival {
public:
    enum class Act { kNone, kEnable, kRestart };
    enum class End { kOpen, kCut, kFull };  // kCut: an AUX record says so; kFull: none does
    // bytes: given back to the area in this round; end: of the data in it; tick: rounds can follow
    // each other at once, ticks cannot.
    Act after_round(uint64_t bytes, End end, bool tick);

private:
    static constexpr unsigned kSilentTicks = 3;

    bool owed_ = false, was_cut_ = false;
    unsigned silent_ticks_ = 0;
};

// Memory mapped from an event; unmapped when it goes.
class EventMapping {
public:
    EventMapping() = default;
    static Result<EventMapping> map(int fd, size_t size, off_t offset);
    EventMapping(EventMapping &&other) noexcept
        : at_(std::exchange(other.at_, nullptr)), size_(std::exchange(other.size_, 0))
    {
    }
    EventMapping &operator=(EventMapping &&other) noexcept
    {
        std::swap(at_, other.at_);
        std::swap(size_, other.size_);
        return *this;
    }
    ~EventMapping();

    std::byte *at() const { return at_; }
    Bytes bytes() const { return {at_, size_}; }

private:
    std::byte *at_ = nullptr;
    size_t size_ = 0;
};

// The rings of one event. The AUX area is there when the PMU offers one and it was asked for.
class EventRings {
public:
    // Pages are powers of two; aux_pages 0: no AUX area wanted.
    static Result<EventRings> map(int fd, size_t pages, size_t aux_pages);

    bool is_mapped() const { return !base_.bytes().empty(); }
    bool has_aux() const { return !aux_.bytes().empty(); }
    Bytes records() const;
    Bytes aux() const { return aux_.bytes(); }

    // Positions of what is to be read now; release_*() gives the space back.
    std::pair<uint64_t, uint64_t> record_window() const;
    std::pair<uint64_t, uint64_t> aux_window() const;
    uint64_t aux_head() const;  // as the kernel wrote it, to the byte
    // Its head once it is there, if that does not take long.
    uint64_t aux_head_at(uint64_t announced) const;
    void release_records(uint64_t until);
    void release_aux(uint64_t until);

private:
    perf_event_mmap_page *control() const;

    EventMapping base_, aux_;
};

}  // namespace pmukit::record
