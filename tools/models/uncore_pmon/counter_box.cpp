// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "models/uncore_pmon/counter_box.hpp"

#include <algorithm>

#include "models/uncore_pmon/uncore_pmon_regs.hpp"

namespace pmukit::models::uncore_pmon {

namespace {

constexpr uint32_t kBoxControlBytes = 4;
constexpr uint32_t kFixedControlBytes = 4;

constexpr uint64_t mask_of(unsigned bits)
{
    return Field{0, bits - 1}.mask();
}

bool matches(const EventRule &rule, uint8_t umask, unsigned lane)
{
    switch (rule.umask) {
        case Umask::kSome:
            return (umask & rule.any) != 0 && (umask & rule.lane[lane]) != 0;
        case Umask::kNone:
            return umask == 0;
        case Umask::kIgnored:
            return true;
    }
    return false;
}

}  // namespace

CounterBox::CounterBox(const UnitType &type, const BoxParams &params)
    : type_(type),
      rules_(type.rules(params.platform)),
      counter_mask_(mask_of(params.width)),
      start_((0 - params.below_wrap) & counter_mask_),
      fixed_start_((0 - params.below_wrap) & mask_of(kFixedWidth)),
      controls_(type.counters),
      counters_(type.counters)
{
    lay_out();
    power_on();
}

void CounterBox::lay_out()
{
    slots_.push_back({Kind::kBox, 0, kBoxControl, kBoxControlBytes});
    for (unsigned i = 0; i < type_.counters; i++) {
        slots_.push_back(
            {Kind::kControl, i, type_.control0 + i * type_.control_bytes, type_.control_bytes});
        slots_.push_back({Kind::kCounter, i, type_.counter0 + i * kCounterStep, kCounterStep});
    }
    if (type_.fixed) {
        slots_.push_back({Kind::kFixedControlRegister, 0, kFixedControl, kFixedControlBytes});
        slots_.push_back({Kind::kFixedCounterRegister, 0, kFixedCounter, kCounterStep});
    }
}

void CounterBox::power_on()
{
    box_ = 0;
    std::ranges::fill(controls_, 0);
    fixed_control_ = 0;
    clear_counters();
    frozen_outside_ = false;
}

uint32_t CounterBox::bytes() const
{
    uint32_t end = 0;
    for (const Slot &slot : slots_)
        end = std::max(end, slot.offset + slot.bytes);
    return end;
}

// Registers

const CounterBox::Slot *CounterBox::find(uint32_t offset) const
{
    for (const Slot &slot : slots_)
        if (offset >= slot.offset && offset - slot.offset < slot.bytes)
            return &slot;
    return nullptr;
}

bool CounterBox::is_counter(uint32_t offset) const
{
    const Slot *const slot = find(offset);
    return slot && (slot->kind == Kind::kCounter || slot->kind == Kind::kFixedCounterRegister);
}

uint64_t CounterBox::value_of(const Slot &slot) const
{
    switch (slot.kind) {
        case Kind::kBox:
            return box_;
        case Kind::kControl:
            return controls_[slot.index];
        case Kind::kCounter:
            return counters_[slot.index];
        case Kind::kFixedControlRegister:
            return fixed_control_;
        case Kind::kFixedCounterRegister:
            return fixed_counter_;
    }
    return 0;
}

uint64_t CounterBox::read(uint32_t offset, unsigned width) const
{
    uint64_t value = 0;
    for (unsigned i = 0; i < width; i++) {
        const Slot *const slot = find(offset + i);
        if (slot)
            value |= (value_of(*slot) >> (8 * (offset + i - slot->offset)) & 0xff) << (8 * i);
    }
    return value;
}

// A write must have the register's width; 8-byte registers also accept their 4-byte halves.
bool CounterBox::write(uint32_t offset, unsigned width, uint64_t value)
{
    const Slot *const slot = find(offset);
    if (!slot || width < 4 || width > slot->bytes || (offset - slot->offset) % width != 0)
        return false;
    const unsigned low = 8 * (offset - slot->offset);
    const Field written{low, low + 8 * width - 1};
    store(*slot, written.set(value_of(*slot), value));
    return true;
}

void CounterBox::store(const Slot &slot, uint64_t value)
{
    switch (slot.kind) {
        case Kind::kBox:
            return write_box(value);
        case Kind::kControl:
            return write_control(slot.index, value);
        case Kind::kCounter:
            counters_[slot.index] = value & counter_mask_;
            return;
        case Kind::kFixedControlRegister:
            fixed_control_ = value;
            return;
        case Kind::kFixedCounterRegister:
            fixed_counter_ = value & mask_of(kFixedWidth);
            return;
    }
}

void CounterBox::write_box(uint64_t value)
{
    if ((value & kBoxResetControls) != 0) {
        std::ranges::fill(controls_, 0);
        fixed_control_ = 0;
    }
    if ((value & kBoxResetCounters) != 0)
        clear_counters();
    box_ = value & kBoxFreeze;
}

void CounterBox::write_control(unsigned index, uint64_t value)
{
    if (kControlReset.get(value) != 0)
        counters_[index] = start_;
    controls_[index] = kControlReset.set(value, 0);
}

void CounterBox::clear_counters()
{
    std::ranges::fill(counters_, start_);
    fixed_counter_ = fixed_start_;
}

// Counting

bool CounterBox::may_count(unsigned counter, uint8_t event) const
{
    const auto found = std::ranges::find(type_.constraints, event, &Constraint::event);
    return found == type_.constraints.end() || (found->counters >> counter & 1) != 0;
}

bool CounterBox::counts(uint64_t control, const Happening &happening) const
{
    const uint64_t event = kControlEvent.get(control);
    const auto umask = static_cast<uint8_t>(kControlUmask.get(control));
    return std::ranges::any_of(rules_, [&](const EventRule &rule) {
        return rule.event == event && rule.signal == happening.signal &&
               matches(rule, umask, happening.lane % kLanes);
    });
}

void CounterBox::happened(const Happening &happening)
{
    if ((box_ & kBoxFreeze) != 0 || frozen_outside_)
        return;
    for (unsigned i = 0; i < type_.counters; i++) {
        const auto event = static_cast<uint8_t>(kControlEvent.get(controls_[i]));
        if (may_count(i, event) && counts(controls_[i], happening))
            counters_[i] = (counters_[i] + happening.count) & counter_mask_;
    }
    if (happening.signal == Signal::kDclk && kControlEnable.get(fixed_control_) != 0)
        fixed_counter_ = (fixed_counter_ + happening.count) & mask_of(kFixedWidth);
}

void CounterBox::advance(uint64_t now_ns)
{
    for (const Clock &clock : clocks())
        happened({.signal = clock.signal,
                  .count = clock.ticks_until(now_ns) - clock.ticks_until(now_ns_)});
    now_ns_ = now_ns;
}

}  // namespace pmukit::models::uncore_pmon
