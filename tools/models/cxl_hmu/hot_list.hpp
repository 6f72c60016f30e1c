// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The hot list: a ring in device memory that the device fills at the tail and software drains at
// the head (CXL r3.2 section 8.2.8). One slot stays free, so that full and empty differ.
//
//     0        head           tail        M-1
//     | free   | oldest .. newest |  free  |      empty: head == tail
//                                                 full:  head == (tail + 1) mod M
//
// A device that supports postponed insertion keeps entries that did not fit into the list. These
// outstanding entries have a separate limit. They are inserted when software frees a slot.
#pragma once

#include <cstdint>
#include <vector>

namespace pmukit::models::cxl_hmu {

class HotList {
public:
    // outstanding: the maximum number of outstanding entries; 0: no postponed insertion.
    HotList(unsigned entries, unsigned outstanding);

    enum class Put { kStored, kPostponed, kDiscarded };
    Put put(uint64_t entry);

    unsigned size() const { return static_cast<unsigned>(ring_.size()); }
    unsigned used() const { return (tail_ + size() - head_) % size(); }
    bool full() const { return used() == size() - 1; }
    unsigned head() const { return head_; }
    unsigned tail() const { return tail_; }
    uint64_t entry(unsigned index) const { return ring_[index]; }  // requires index < size()

    // Sets the head or the tail. If the index is out of range, returns false and changes nothing.
    bool set_head(unsigned index);
    bool set_tail(unsigned index);

    // Moves outstanding entries into free slots. Returns the number of moved entries.
    unsigned insert_outstanding();
    unsigned outstanding() const { return waiting_used_; }
    // Returns an outstanding entry. Index 0 is the oldest one; index < outstanding().
    uint64_t outstanding_entry(unsigned index) const;
    // Drops all outstanding entries. Returns their number.
    unsigned drop_outstanding();
    void reset();

private:
    void push(uint64_t entry);

    std::vector<uint64_t> ring_;
    // The outstanding entries, also in a ring.
    std::vector<uint64_t> waiting_;
    unsigned head_ = 0;
    unsigned tail_ = 0;
    unsigned waiting_first_ = 0;
    unsigned waiting_used_ = 0;
};

}  // namespace pmukit::models::cxl_hmu
