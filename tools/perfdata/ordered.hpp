// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The records of a reader in the order of time, within bounded memory.
//
// perf drains one ring after the other and then writes FINISHED_ROUND: a record is never older than
// the newest record of the round before. So what is not newer than that can be given.
//
//     round 1   1 5 9 | 2 3 8 |FINISHED_ROUND      given: nothing yet
//     round 2   10 12 | 9 11  |FINISHED_ROUND      given: 1 2 3 5 8 9 9
//
// Records without a time, and AUXTRACE with what follows it, are given where they stand.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "base/limits.hpp"
#include "base/result.hpp"
#include "perfdata/reader.hpp"

namespace pmukit::perfdata {

// Copies of records, given back by time.
class TimeQueue {
public:
    static constexpr size_t kDefaultBytes = limits::kQueue, kLeastBytes = size_t{256} << 10;

    // max_bytes: of records kept back. A full queue gives its oldest record early. At least
    // kLeastBytes: with less nothing can be put in order.
    explicit TimeQueue(size_t max_bytes = kDefaultBytes)
        : max_bytes_(std::max(max_bytes, kLeastBytes))
    {
    }

    void keep(const Record &record, uint64_t time_ns);
    void end_round();              // FINISHED_ROUND
    void end() { ended_ = true; }  // no more will be kept
    // False: none may be given yet. The record lives until the next call.
    bool give(Record &into);
    // Records that came later than one already given that is newer: the queue was too small, or
    // the file has no rounds.
    uint64_t late_records() const { return late_; }

private:
    // Many records are kept in one block; a block goes when its last record was given. The longest
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
    std::deque<Kept> run_;    // that came in order; most do
    std::vector<Kept> heap_;  // the others
    std::vector<std::unique_ptr<Block>> blocks_;
    Block *given_ = nullptr;  // holds the record that the caller looks at
    uint64_t sequence_ = 0;
    uint64_t newest_ns_ = 0;                     // of all that were kept
    uint64_t round_ns_ = 0, next_round_ns_ = 0;  // what is not newer may be given; after this round
    uint64_t given_ns_ = 0;                      // newest that was given
    uint64_t late_ = 0;
    bool ended_ = false;
};

class OrderedReader {
public:
    static constexpr size_t kDefaultBytes = TimeQueue::kDefaultBytes;

    // max_bytes: as TimeQueue has it.
    explicit OrderedReader(Reader &reader, size_t max_bytes = kDefaultBytes);
    OrderedReader(OrderedReader &&) noexcept;
    OrderedReader &operator=(OrderedReader &&) noexcept;
    ~OrderedReader();

    // As Reader::next() and error(); the record lives until the next call.
    [[nodiscard]] bool next(Record &into);
    const std::optional<Error> &error() const;
    // Records that came later than one already given that is newer: too few bytes, or the file has
    // no rounds.
    uint64_t late_records() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

// When a record happened, if it is of the kernel and says so. 0 and -1 are made up by perf, or of
// an event whose clock was not read.
std::optional<uint64_t> kernel_time_ns(const Record &record, const Reader &reader);

}  // namespace pmukit::perfdata
