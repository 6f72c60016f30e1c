// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The two rings of an event: records, and the AUX area. Both are read the same way:
//
//          tail (ours)         head (the kernel's)
//     -----|===================|-----      positions only grow; position % size is the offset
//
// The positions are set by the kernel and are checked against the ring before use.
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

// The bytes between two positions of a ring: one piece, or two across the wrap.
struct RingPieces {
    Bytes first, second;
    size_t size() const { return first.size() + second.size(); }
};

// Pure: the pieces of [tail, head) in a ring. nullopt: more than the ring holds, or backwards.
std::optional<RingPieces> ring_pieces(Bytes ring, uint64_t tail, uint64_t head);

// A word of a record, at a position that is a multiple of 8.
uint64_t ring_word(Bytes ring, uint64_t position);

// The PERF_AUX_FLAG_* of the AUX record at a position.
uint64_t aux_flags(Bytes ring, uint64_t record);

// Counts of samples and losses, from records that were drained.
struct RingNotes {
    uint64_t samples = 0;
    uint64_t lost_records = 0;   // PERF_RECORD_LOST: the ring was full
    uint64_t lost_samples = 0;   // PERF_RECORD_LOST_SAMPLES
    uint64_t aux_truncated = 0;  // PERF_AUX_FLAG_TRUNCATED
    uint64_t aux_partial = 0;    // PERF_AUX_FLAG_PARTIAL alone: a gap after which data continues
    uint64_t aux_unknown_losses = 0;  // PERF_AUX_FLAG_COLLISION: not counted above
    uint64_t aux_end = 0;    // end of the data announced by the last AUX record; 0: no such record
    bool aux_ended = false;  // TRUNCATED was set, alone or not: the event was disabled
    std::optional<uint64_t> aux_record{};  // position of the last AUX record in the ring
    uint64_t aux_gap_flags = 0;  // from AUX records that report a loss (perfdata::kAuxLossFlags)

    void add(const RingNotes &more);
};
// Pure: walks the records in [tail, head). Returns false if the size of a record is invalid.
bool note_records(Bytes ring, uint64_t tail, uint64_t head, RingNotes &notes);

// Pure: the position up to which an AUX area is read, so that data is in the same round as its AUX
// record. before, after: the head of the area before and after the records were read. announced:
// the end of the data that AUX records announce.
uint64_t aux_until(uint64_t before, uint64_t after, uint64_t announced);

// Pure: returns true if the AUX area was full before it was drained. tail: its position before the
// drain; head: the current position of the kernel. In a full area, perf_aux_output_begin() disables
// the event, and no record reports that. If the event is still running, the head has moved past
// that position.
bool aux_was_full(uint64_t tail, uint64_t head, size_t size);

// Pure: the record at a position. note_records() must have checked it.
std::vector<std::byte> ring_record(Bytes ring, uint64_t position);

// Pure: returns an AUX record of the same event and time that announces no data, and a gap at
// offset.
std::vector<std::byte> aux_gap_record(std::vector<std::byte> aux_record, uint64_t offset,
                                      uint64_t flags);

// Pure: decides whether to enable an event again. The kernel disables an event whose AUX area was
// full, without a record, and an event whose driver cut its data. Enabling a running event has no
// effect. But Linux 6.12, and 6.1 on CPU 0, disable neither: perf_aux_output_begin() and
// perf_aux_output_end() request the disable where the kernel does not check for it. After a cut,
// some drivers start again by themselves; others wait for a stop, for example after a device reset,
// and would wait forever. So an event that delivers nothing after a cut is first disabled. The same
// holds after a full area, where the driver had no space to start.
class AuxRevival {
public:
    enum class Act { kNone, kEnable, kRestart };
    enum class End { kOpen, kCut, kFull };  // kCut: an AUX record reports it; kFull: no record does
    // bytes: space freed in the area in this round; end: how the data of the round ended; tick:
    // rounds can follow each other immediately, ticks cannot.
    Act after_round(uint64_t bytes, End end, bool tick);

private:
    static constexpr unsigned kSilentTicks = 3;

    bool owed_ = false, was_cut_ = false;
    unsigned silent_ticks_ = 0;
};

// Memory mapped from an event; the destructor unmaps it.
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

// The rings of one event. The AUX area is mapped if the PMU has one and the caller requests it.
class EventRings {
public:
    // Numbers of pages are powers of two; aux_pages 0: no AUX area.
    static Result<EventRings> map(int fd, size_t pages, size_t aux_pages);

    bool is_mapped() const { return !base_.bytes().empty(); }
    bool has_aux() const { return !aux_.bytes().empty(); }
    Bytes records() const;
    Bytes aux() const { return aux_.bytes(); }

    // Positions of the unread data; release_*() frees the space.
    std::pair<uint64_t, uint64_t> record_window() const;
    std::pair<uint64_t, uint64_t> aux_window() const;
    uint64_t aux_head() const;  // as written by the kernel, not rounded to words
    // Waits briefly for the head to arrive at `announced`, and returns the head.
    uint64_t aux_head_at(uint64_t announced) const;
    void release_records(uint64_t until);
    void release_aux(uint64_t until);

private:
    perf_event_mmap_page *control() const;

    EventMapping base_, aux_;
};

}  // namespace pmukit::record
