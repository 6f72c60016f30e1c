// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "models/cxl_hmu/faults.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

namespace pmukit::models::cxl_hmu {

namespace {

constexpr uint64_t kAllOnes = ~uint64_t{0};
constexpr Field kWholeWord{0, 63};
constexpr Field kWholeShort{0, 15};
constexpr uint64_t kSpuriousEvery = 64;  // number of guest accesses

constexpr FieldOverride common(uint64_t offset, Field field, uint64_t value)
{
    return {true, offset, field, value};
}

constexpr FieldOverride instance(uint64_t offset, Field field, uint64_t value)
{
    return {false, offset, field, value};
}

constexpr Fault kFaults[] = {
    {.name = "never-idle",
     .effect = "an operation is always in progress",
     .read = instance(kStatus, kStatusOperation, kOperationEnabling)},
    {.name = "enable-fails",
     .effect = "enable is accepted and ends without tracking",
     .write = instance(kConfig0, kConfig0Enable, 0)},
    {.name = "tail-out-of-range",
     .effect = "the tail reads as 65535",
     .read = instance(kTail, kWholeShort, 0xffff)},
    {.name = "head-ignored", .effect = "writes to the head are lost", .drop_writes = kHead},
    {.name = "width-0",
     .effect = "the counter width reads as 0",
     .read = instance(kStatus, kStatusCounterWidth, 0)},
    {.name = "width-64",
     .effect = "the counter width reads as 64",
     .read = instance(kStatus, kStatusCounterWidth, 64)},
    {.name = "zero-instances",
     .effect = "the common capability names no instance",
     .read = common(kCommon0, kCommon0Instances, 0)},
    {.name = "instance-length-beyond-bar",
     .effect = "eight instances of 65528 bytes are announced",
     .read = common(kCommon0, kCommon0Instances, 8),
     .read_too = common(kCommon1, kCommon1InstanceLength, 0xfff8)},
    {.name = "offsets-outside",
     .effect = "bitmap and hot list lie outside the instance",
     .read = instance(kCap2, kWholeWord, 0xfffffffffffff000),
     .read_too = instance(kCap3, kWholeWord, 0xfffffffffffff800)},
    {.name = "hot-list-size-0",
     .effect = "the hot list has no entries",
     .read = instance(kCap0, kCap0HotListSize, 0)},
    {.name = "hot-list-size-1",
     .effect = "the hot list has one entry",
     .read = instance(kCap0, kCap0HotListSize, 1)},
    {.name = "irq-lost", .effect = "no interrupt arrives", .messages = Messages::kLost},
    {.name = "irq-storm",
     .effect = "after the first interrupt every access raises it again",
     .messages = Messages::kStorm},
    {.name = "irq-spurious",
     .effect = "interrupts arrive without a cause",
     .messages = Messages::kSpurious},
    {.name = "reset-mid-run",
     .effect = "after 1000 requests, of the guest or the source, the unit loses its configuration",
     .reset_after_requests = 1000},
    {.name = "all-ones", .effect = "every register reads as ones", .all_ones = true},
    {.name = "all-ones-once-enabled",
     .effect = "every register reads as ones after the first enable",
     .all_ones_once_enabled = true},
    {.name = "slow-operations",
     .effect = "enable, disable and reset take 50 ms",
     .operation_ns = 50'000'000},
    {.name = "values-change-between-reads",
     .effect = "every second read of a capability is inverted",
     .capabilities_change = true},
    {.name = "list-all-ones",
     .effect = "the third entry that a drain reads is all ones",
     .ones_at_entry = 3},
    {.name = "dies-in-list",
     .effect = "every register reads as ones from the third entry of a drain on",
     .dies_at_entry = 3},
};

uint64_t apply(const FieldOverride &wanted, uint64_t value)
{
    return (value & ~wanted.field.mask()) | wanted.field.put(wanted.value);
}

}  // namespace

std::span<const Fault> faults()
{
    return kFaults;
}

const Fault *find_fault(std::string_view name)
{
    const auto found = std::find_if(std::begin(kFaults), std::end(kFaults),
                                    [name](const Fault &fault) { return fault.name == name; });
    return found == std::end(kFaults) ? nullptr : found;
}

// Interrupts

bool FaultyHost::dma_read(uint64_t address, std::span<std::byte> into)
{
    return host_.dma_read(address, into);
}

bool FaultyHost::dma_write(uint64_t address, Bytes from)
{
    return host_.dma_write(address, from);
}

void FaultyHost::raise(unsigned vector)
{
    const Messages messages = fault_ ? fault_->messages : Messages::kAsTheyAre;
    if (messages == Messages::kLost)
        return;
    if (messages == Messages::kStorm)
        storming_ = vector;
    host_.raise(vector);
}

void FaultyHost::access()
{
    if (!fault_)
        return;
    if (storming_)
        host_.raise(*storming_);
    if (fault_->messages == Messages::kSpurious && ++accesses_ % kSpuriousEvery == 0)
        host_.raise(spurious_);
}

// Registers

uint64_t FaultyChmu::instance_offset(uint64_t offset) const
{
    return offset < instances_end_ ? (offset - kCommonBytes) % instance_bytes_ : kAllOnes;
}

bool FaultyChmu::matches(const FieldOverride &wanted, uint64_t offset) const
{
    if (offset < kCommonBytes)
        return wanted.common && offset == wanted.offset;
    return !wanted.common && instance_offset(offset) == wanted.offset;
}

bool FaultyChmu::is_capability(uint64_t offset) const
{
    return offset < kCommonBytes || instance_offset(offset) < kConfig0;
}

bool FaultyChmu::is_dead() const
{
    return fault_->all_ones || died_ || (fault_->all_ones_once_enabled && was_enabled_);
}

bool FaultyChmu::count_entry(uint64_t offset)
{
    const bool is_entry = chmu_.in_hot_list(offset);
    entries_read_ += is_entry;
    reads_ += entries_read_ != 0;
    if (!is_entry)
        return false;
    died_ = died_ || entries_read_ == fault_->dies_at_entry;
    return entries_read_ == fault_->ones_at_entry;
}

void FaultyChmu::log_read_of_the_dead()
{
    if (died_ && logs_)
        logs_->accesses(fmt::format("chmu{}", index_), "dead", 0, reads_, 0);
}

uint64_t FaultyChmu::read(uint64_t offset, unsigned width)
{
    uint64_t value = chmu_.read(offset, width);
    if (!fault_)
        return value;
    const bool hidden = count_entry(offset);
    log_read_of_the_dead();
    if (hidden || is_dead())
        return kAllOnes;
    for (const auto &wanted : {fault_->read, fault_->read_too}) {
        if (wanted && matches(*wanted, offset))
            value = apply(*wanted, value);
    }
    if (fault_->capabilities_change && is_capability(offset)) {
        odd_read_ = !odd_read_;
        value = odd_read_ ? value : ~value;
    }
    return value;
}

void FaultyChmu::write(uint64_t offset, unsigned width, uint64_t value)
{
    if (fault_) {
        const bool in_instance = offset >= kCommonBytes;
        if (in_instance && fault_->drop_writes == instance_offset(offset))
            return;
        if (fault_->write && matches(*fault_->write, offset))
            value = apply(*fault_->write, value);
        if (in_instance && instance_offset(offset) == kConfig0 && kConfig0Enable.get(value) != 0)
            was_enabled_ = true;
        if (in_instance && instance_offset(offset) == kHead && !died_)
            entries_read_ = reads_ = 0;
    }
    chmu_.write(offset, width, value);
}

void FaultyChmu::reset()
{
    was_reset_ = was_enabled_ = odd_read_ = died_ = false;
    entries_read_ = reads_ = 0;
    chmu_.reset();
}

void FaultyChmu::request(const Request &request)
{
    chmu_.request(request);
    reset_if_due();
}

// When an epoch ends, the source makes its requests. So the reset by the fault reset-mid-run may be
// due.
void FaultyChmu::advance(uint64_t now_ns)
{
    chmu_.advance(now_ns);
    reset_if_due();
}

void FaultyChmu::reset_if_due()
{
    if (!fault_ || fault_->reset_after_requests == 0 || was_reset_ ||
        chmu_.requests() < fault_->reset_after_requests)
        return;
    was_reset_ = true;
    chmu_.reset();
}

}  // namespace pmukit::models::cxl_hmu
