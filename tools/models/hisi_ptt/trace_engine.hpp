// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The part of the trace block that writes memory: a ring of four buffers of one size. It never
// waits for software: data that software reads too late is overwritten.
//
//        +-> buffer 0 -> buffer 1 -> buffer 2 -> buffer 3 -+
//        +------------------------------------------------ +
//               full: status bit 0, message; the next entry goes to buffer 1
//
// A new buffer address takes effect when the buffer's first byte is written, a new size at the next
// start.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "models/hisi_ptt/hisi_ptt_regs.hpp"
#include "vfu/device.hpp"

namespace pmukit::models::hisi_ptt {

// Totals since the construction, for tests; no register shows them.
struct TraceCounts {
    uint64_t entries = 0;   // written
    uint64_t lost = 0;      // not written: no memory at the address, or no buffer
    uint64_t buffers = 0;   // filled
    uint64_t overruns = 0;  // buffers started before software released their contents
    uint64_t messages = 0;  // sent
};

// One fill of a buffer, partial if the trace stopped. Fills are numbered from the start of the
// trace; fill n + 4 overwrites fill n.
struct Fill {
    uint64_t number = 0;
    unsigned buffer = 0;
    uint64_t address = 0;
    uint64_t first_entry = 0;
    uint64_t entries = 0;  // entries that end in this fill
    uint32_t bytes = 0;
    uint64_t begin_ns = 0;
    uint64_t end_ns = 0;
    bool overwrites_unread = false;  // software had not cleared the status bit of fill n - 4
};

class TraceEngine {
public:
    explicit TraceEngine(vfu::Host &host) : host_(host) {}

    void set_size(uint32_t size_bytes) { size_bytes_ = size_bytes; }
    void set_base(unsigned buffer, uint64_t address) { base_[buffer] = address; }
    uint32_t size_bytes() const { return size_bytes_; }

    void start();
    void stop();
    bool running() const { return running_; }
    void reset_pointer();  // DMA reset: back to the first byte of buffer 0

    // Writes one whole entry. Returns false if it is lost.
    bool put(Bytes entry);
    // Writes whole entries of one size; returns how many were written.
    uint64_t put_many(Bytes entries, uint32_t entry_bytes);

    // Returns the fills that ended since the last call.
    std::vector<Fill> take_fills() { return std::exchange(fills_, {}); }
    uint64_t run_entries() const { return run_entries_; }

    uint32_t write_status() const;
    uint32_t status() const { return status_; }
    void clear_status(uint32_t bits);
    uint32_t mask() const { return mask_; }
    void set_mask(uint32_t mask);

    const TraceCounts &counts() const { return counts_; }
    void power_on();  // resets all but the counts

private:
    bool write(Bytes piece, uint64_t entries);
    void begin_fill();
    void end_fill();
    void complete(unsigned buffer);
    void send();

    vfu::Host &host_;
    std::array<uint64_t, kBuffers> base_{};
    uint32_t size_bytes_ = 0;
    bool running_ = false;
    uint32_t run_bytes_ = 0;  // buffer size of this trace; 0: no usable buffer
    uint64_t run_base_ = 0;   // address of the buffer being filled
    unsigned buffer_ = 0;
    uint32_t used_bytes_ = 0;
    uint32_t status_ = 0;
    uint32_t mask_ = kTraceIntBuffers.limit();
    TraceCounts counts_;
    std::optional<Fill> fill_;  // current fill
    std::vector<Fill> fills_;
    uint64_t begun_ = 0;  // fills started in this trace
    uint64_t run_entries_ = 0;
};

}  // namespace pmukit::models::hisi_ptt
