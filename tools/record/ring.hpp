// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The two rings of an event: records, and the AUX area. Both are read the same way:
//
//          tail (reader)       head (kernel)
//     -----|===================|-----      positions only grow; position % size is the offset
//
// The kernel sets the positions. They are checked against the ring before use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "perfdata/features.hpp"

struct perf_event_mmap_page;

namespace pmukit::record {

// The bytes between two positions of a ring: one piece, or two pieces if the range wraps.
struct RingPieces {
    Bytes first, second;
    size_t size() const { return first.size() + second.size(); }
};

// Returns the pieces of [tail, head) in a ring. nullopt: the range is longer than the ring or
// reversed.
std::optional<RingPieces> ring_pieces(Bytes ring, uint64_t tail, uint64_t head);

// Returns the word of a record at a position that is a multiple of 8.
uint64_t ring_word(Bytes ring, uint64_t position);

// Returns the PERF_AUX_FLAG_* of the AUX record at a position.
uint64_t aux_flags(Bytes ring, uint64_t record);

// Counts of samples and losses, from records that were drained.
struct RingNotes {
    uint64_t samples = 0;
    std::optional<perfdata::TimeSpan> sample_times{};  // earliest and latest; nullopt: no sample
    uint64_t lost_records = 0;   // lost because the ring was full (PERF_RECORD_LOST)
    uint64_t lost_samples = 0;   // reported by PERF_RECORD_LOST_SAMPLES
    uint64_t throttled = 0;      // THROTTLE records
    uint64_t aux_truncated = 0;  // AUX records with PERF_AUX_FLAG_TRUNCATED
    // AUX records with only PERF_AUX_FLAG_PARTIAL: they report a gap after which data continues.
    uint64_t aux_partial = 0;
    // AUX records with PERF_AUX_FLAG_COLLISION. The two counts above do not include them.
    uint64_t aux_unknown_losses = 0;
    uint64_t aux_end = 0;    // end of the data announced by the last AUX record; 0: no such record
    bool aux_ended = false;  // an AUX record had the flag TRUNCATED: the event is disabled
    std::optional<uint64_t> aux_record{};  // position of the last AUX record in the ring
    // The flags of perfdata::kAuxLossFlags that any AUX record had.
    uint64_t aux_gap_flags = 0;

    void add(const RingNotes &more);
};
// Counts the records in [tail, head). Returns false if the size of a record is invalid.
bool note_records(Bytes ring, uint64_t tail, uint64_t head, RingNotes &notes);

// Returns the position up to which an AUX area is read, so that data is in the same round as its
// AUX record. before, after: the head of the area before and after the records were read.
// announced: the end of the data that the AUX records announce.
uint64_t aux_until(uint64_t before, uint64_t after, uint64_t announced);

// Returns true if the AUX area was full before it was drained. tail: the area's tail before the
// drain; head: its current head. When the area is full, perf_aux_output_begin() disables the event,
// and no record reports that. If the event is still running, the head has moved past the end of the
// full area.
bool aux_was_full(uint64_t tail, uint64_t head, size_t size);

// Returns the record at a position. note_records() must have checked the record.
std::vector<std::byte> ring_record(Bytes ring, uint64_t position);

// Returns an AUX record without data, with this offset and these flags. Its event and time are
// those of aux_record.
std::vector<std::byte> aux_gap_record(std::vector<std::byte> aux_record, uint64_t offset,
                                      uint64_t flags);

// Decides whether to enable an event again after its AUX area was full, or after its driver wrote
// an AUX record with PERF_AUX_FLAG_TRUNCATED. The kernel disables the event in both cases. Enabling
// a running event has no effect.
//
// Linux 6.12, and Linux 6.1 on CPU 0, do not disable the event in these cases:
// perf_aux_output_begin() and perf_aux_output_end() request the disable at a point where the kernel
// does not check for the request. Some drivers then start again by themselves. Others, for example
// after a device reset, start only after perf has stopped the event. So an event that delivers no
// data after a truncated AUX record is disabled before it is enabled. After a full area, the event
// is always disabled first, because its driver had no space to start.
class AuxRevival {
public:
    enum class Act { kNone, kEnable, kRestart };
    // How the data of a round ended. kCut: an AUX record has the flag TRUNCATED. kFull: the area
    // was full, which no record reports.
    enum class End { kOpen, kCut, kFull };
    // bytes: space freed in the area in this round; end: how the data of the round ended; tick:
    // whether a tick has passed. Rounds can follow each other immediately, ticks cannot.
    Act after_round(uint64_t bytes, End end, bool tick);

private:
    static constexpr unsigned kSilentTicks = 3;

    bool owed_ = false, was_cut_ = false;
    unsigned silent_ticks_ = 0;
};

// Memory mapped from an event. The destructor unmaps it.
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
    // Numbers of pages are powers of two. If aux_pages is 0, no AUX area is mapped.
    static Result<EventRings> map(int fd, size_t pages, size_t aux_pages);

    bool is_mapped() const { return !base_.bytes().empty(); }
    bool has_aux() const { return !aux_.bytes().empty(); }
    Bytes records() const;
    Bytes aux() const { return aux_.bytes(); }

    // Return tail and head of the unread data. The functions release_*() free its space.
    std::pair<uint64_t, uint64_t> record_window() const;
    std::pair<uint64_t, uint64_t> aux_window() const;
    uint64_t aux_head() const;  // as the kernel wrote it, not rounded to words
    // Waits briefly until the head reaches `announced`, and returns the head.
    uint64_t aux_head_at(uint64_t announced) const;
    void release_records(uint64_t until);
    void release_aux(uint64_t until);

private:
    perf_event_mmap_page *control() const;

    EventMapping base_, aux_;
};

}  // namespace pmukit::record
