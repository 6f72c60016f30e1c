// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Returns the records of a reader in time order, within bounded memory.
//
// perf drains one ring after another and then writes FINISHED_ROUND. After the end of round n, no
// record is older than the newest record of round n - 1. So records up to that time can then be
// returned.
//
//     round 1   1 5 9 | 2 3 8 |FINISHED_ROUND      returned: nothing yet
//     round 2   10 12 | 9 11  |FINISHED_ROUND      returned: 1 2 3 5 8 9 9
//
// Records without a time, and AUXTRACE with its payload, are returned immediately.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "base/limits.hpp"
#include "base/result.hpp"
#include "perfdata/reader.hpp"

namespace pmukit::perfdata {

class OrderedReader {
public:
    static constexpr size_t kDefaultBytes = limits::kQueue;

    // max_bytes: limit for stored records. With less than 256 KiB nothing can be sorted, so a
    // smaller limit means 256 KiB. At the limit, the oldest record is returned early.
    explicit OrderedReader(Reader &reader, size_t max_bytes = kDefaultBytes);
    OrderedReader(OrderedReader &&) noexcept;
    OrderedReader &operator=(OrderedReader &&) noexcept;
    ~OrderedReader();

    // Like Reader::next() and error(); the record is valid until the next call.
    [[nodiscard]] bool next(Record &into);
    const std::optional<Error> &error() const;
    // Records that were read after a newer record was returned: the limit was too small, or the
    // file has no rounds.
    uint64_t late_records() const;
    // each: called with every record that next() takes from the reader, in the order of the file.
    void on_read(std::function<void(const Record &)> each);

private:
    struct State;
    std::unique_ptr<State> state_;
};

// The time of a kernel record. nullopt: the record has no time, or the time is 0 or -1, which mean
// "unknown" in records that perf synthesizes and for events whose clock was not read.
std::optional<uint64_t> kernel_time_ns(const Record &record, const Reader &reader);

}  // namespace pmukit::perfdata
