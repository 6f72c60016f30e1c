// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// One unit with its registers: a box control, event controls, counters, and for an IMC a fixed
// counter. All are little-endian, at byte offsets from the box control:
//
//   0          box control      FRZ freezes; RST_CTRL and RST_CTRS reset and read as zero
//   control0   event controls   4 or 8 bytes each; 0 counts nothing
//   counter0   counters         8 bytes each, of which `width` bits count and wrap
#pragma once

#include <cstdint>
#include <vector>

#include "models/uncore_pmon/unit_types.hpp"

namespace pmukit::models::uncore_pmon {

struct BoxParams {
    Platform platform = Platform::kSpr;
    unsigned width = 48;
    uint64_t below_wrap = 0;  // distance of a reset counter from its wrap; 0: reset to zero
};

class CounterBox {
public:
    // The type must outlive the box.
    CounterBox(const UnitType &type, const BoxParams &params);

    // Any width at any offset; bytes without a register read as zero.
    uint64_t read(uint32_t offset, unsigned width) const;
    // Returns false, and changes nothing, if no register accepts a write of this width.
    [[nodiscard]] bool write(uint32_t offset, unsigned width, uint64_t value);
    bool is_counter(uint32_t offset) const;

    void happened(const Happening &happening);
    // Advances the clocks to now. Call before each access and before freeze_from_outside().
    void advance(uint64_t now_ns);
    // Freezes or unfreezes the box from outside. The box counts only if its own freeze bit is
    // clear, too.
    void freeze_from_outside(bool frozen) { frozen_outside_ = frozen; }
    void power_on();

    uint32_t bytes() const;  // size up to the end of the last register

private:
    enum class Kind : uint8_t {
        kBox,
        kControl,
        kCounter,
        kFixedControlRegister,
        kFixedCounterRegister
    };
    struct Slot {
        Kind kind;
        unsigned index;
        uint32_t offset;
        uint32_t bytes;
    };

    void lay_out();
    const Slot *find(uint32_t offset) const;
    uint64_t value_of(const Slot &slot) const;
    void store(const Slot &slot, uint64_t value);
    void write_box(uint64_t value);
    void write_control(unsigned index, uint64_t value);
    void clear_counters();
    bool may_count(unsigned counter, uint8_t event) const;
    bool counts(uint64_t control, const Happening &happening) const;

    const UnitType &type_;
    std::span<const EventRule> rules_;
    uint64_t counter_mask_;
    uint64_t start_;
    uint64_t fixed_start_;
    std::vector<Slot> slots_;

    uint64_t box_ = 0;
    std::vector<uint64_t> controls_;
    std::vector<uint64_t> counters_;
    uint64_t fixed_control_ = 0;
    uint64_t fixed_counter_ = 0;
    bool frozen_outside_ = false;
    uint64_t now_ns_ = 0;
};

}  // namespace pmukit::models::uncore_pmon
