// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The hot list: a ring in device memory that the device fills at the tail and software drains at
// the head (CXL r3.2 section 8.2.8). One slot stays free, so that full and empty differ.
//
//     0        head           tail        M-1
//     | free   | oldest .. newest |  free  |      empty: head == tail
//                                                 full:  head == (tail + 1) mod M
//
// A device with postponed insertion holds entries that did not fit as outstanding, up to a separate
// limit, and inserts them when software frees a slot.
#pragma once

#include <cstdint>
#include <vector>

namespace pmukit::models::cxl_hmu {

class HotList {
public:
    // outstanding: how many entries can wait; 0: no postponed insertion.
    HotList(unsigned entries, unsigned outstanding);

    enum class Put { kStored, kPostponed, kDiscarded };
    Put put(uint64_t entry);

    unsigned size() const { return static_cast<unsigned>(ring_.size()); }
    unsigned used() const { return (tail_ + size() - head_) % size(); }
    bool full() const { return used() == size() - 1; }
    unsigned head() const { return head_; }
    unsigned tail() const { return tail_; }
    uint64_t entry(unsigned index) const { return ring_[index]; }  // index < size()

    // Return false, and change nothing, if the index is out of range.
    bool set_head(unsigned index);
    bool set_tail(unsigned index);

    // Moves outstanding entries into free slots; returns their number.
    unsigned insert_outstanding();
    unsigned outstanding() const { return waiting_used_; }
    uint64_t outstanding_entry(unsigned index) const;  // index < outstanding(), oldest first
    unsigned drop_outstanding();                       // returns their number
    void reset();

private:
    void push(uint64_t entry);

    std::vector<uint64_t> ring_;
    std::vector<uint64_t> waiting_;  // outstanding entries, also a ring
    unsigned head_ = 0;
    unsigned tail_ = 0;
    unsigned waiting_first_ = 0;
    unsigned waiting_used_ = 0;
};

}  // namespace pmukit::models::cxl_hmu
