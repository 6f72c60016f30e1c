// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Sorts records by time, as ordered.hpp describes. This header is not installed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "base/limits.hpp"
#include "perfdata/records.hpp"

namespace pmukit::perfdata {

// Stores copies of records, and returns them in time order.
class __attribute__((visibility("hidden"))) TimeQueue {
public:
    static constexpr size_t kDefaultBytes = limits::kQueue, kLeastBytes = size_t{256} << 10;

    // max_bytes: limit for stored records; a value below kLeastBytes means kLeastBytes, because
    // with less nothing can be sorted. A full queue returns its oldest record early.
    explicit TimeQueue(size_t max_bytes = kDefaultBytes)
        : max_bytes_(std::max(max_bytes, kLeastBytes))
    {
    }

    void keep(const Record &record, uint64_t time_ns);
    void end_round();              // FINISHED_ROUND
    void end() { ended_ = true; }  // no more records follow
    // Returns false if no record may be returned yet. The record is valid until the next call.
    bool give(Record &into);
    // Records that arrived after a newer record was returned: the queue was too small, or the file
    // has no rounds.
    uint64_t late_records() const { return late_; }
    // Newest time that was returned: all later ones are newer, except for late records.
    uint64_t given_ns() const { return given_ns_; }

private:
    // A block holds many records, and is freed once its last record was returned. The longest
    // record fits into a block.
    struct Block {
        std::unique_ptr<std::byte[]> bytes;
        size_t used = 0, records = 0;
    };
    struct Kept {
        uint64_t time_ns, sequence;
        Record record;
        Block *block;
    };
    static bool later(const Kept &a, const Kept &b);

    const Kept *oldest() const;
    void release();
    size_t block_bytes() const
    {
        return std::clamp(max_bytes_ / 16, size_t{64} << 10, size_t{1} << 20);
    }
    bool full() const;

    size_t max_bytes_;
    std::deque<Kept> run_;    // records that arrived in order, usually most
    std::vector<Kept> heap_;  // the others
    std::vector<std::unique_ptr<Block>> blocks_;
    Block *given_ = nullptr;  // holds the record that was returned last
    uint64_t sequence_ = 0;
    uint64_t newest_ns_ = 0;  // newest time of all stored records
    // round_ns_: records up to this time may be returned; next_round_ns_: its value for the next
    // round.
    uint64_t round_ns_ = 0, next_round_ns_ = 0;
    uint64_t given_ns_ = 0;  // newest time that was returned
    uint64_t late_ = 0;
    bool ended_ = false;
};

}  // namespace pmukit::perfdata
