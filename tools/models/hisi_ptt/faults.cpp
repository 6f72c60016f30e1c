// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "models/hisi_ptt/faults.hpp"

#include <algorithm>
#include <iterator>

namespace pmukit::models::hisi_ptt {

namespace {

constexpr uint32_t kAllOnes = ~0u;
constexpr Field kWholeWord{0, 31};
constexpr uint64_t kSpuriousEvery = 64;  // calls of something_happened()

constexpr Fault kFaults[] = {
    {.name = "write-pointer-beyond-buffer",
     .effect = "after a stop the write status shows 256 MiB less one byte",
     .read =
         FieldOverride{kTraceWriteStatus, kTraceWriteStatusBytes, kTraceWriteStatusBytes.limit()},
     .since = Since::kStop},
    {.name = "never-idle",
     .effect = "the trace status is never idle",
     .read = FieldOverride{kTraceStatus, kTraceStatusIdle, 0}},
    {.name = "never-idle-after-stop",
     .effect = "a stopped trace does not become idle",
     .read = FieldOverride{kTraceStatus, kTraceStatusIdle, 0},
     .since = Since::kStop},
    {.name = "reset-never-finishes",
     .effect = "the write status does not become 0 in a reset",
     .read = FieldOverride{kTraceWriteStatus, kWholeWord, 0x10000020},
     .since = Since::kResetBegan},
    {.name = "several-buffers-at-once",
     .effect = "one message for every two buffers",
     .buffers_a_message = 2},
    {.name = "overrun",
     .effect = "one message for every five buffers: the ring wraps before",
     .buffers_a_message = kBuffers + 1},
    {.name = "irq-lost", .effect = "no message arrives", .messages = Messages::kLost},
    {.name = "irq-storm",
     .effect = "after the first message every access sends it again",
     .messages = Messages::kStorm},
    {.name = "irq-spurious",
     .effect = "messages arrive without a cause",
     .messages = Messages::kSpurious},
    {.name = "tune-never-finishes",
     .effect = "a tune operation never ends",
     .read = FieldOverride{kTuningIntStat, kTuningIntStatBusy, 1},
     .since = Since::kTuneBegan},
    {.name = "all-ones", .effect = "every register reads as ones", .all_ones = true},
    {.name = "all-ones-once-started",
     .effect = "every register reads as ones after the first start",
     .since = Since::kStart,
     .all_ones = true},
    {.name = "range-reversed",
     .effect = "the lower end of the port range lies above the upper",
     .read = FieldOverride{kDeviceRange, kWholeWord, 0x0080ffff}},
    {.name = "status-empty",
     .effect = "messages arrive, but no buffer has its status bit",
     .read = FieldOverride{kTraceIntStat, kWholeWord, 0}},
    {.name = "status-beyond-buffers",
     .effect = "the interrupt status has bits of nonexistent buffers",
     .read = FieldOverride{kTraceIntStat, Field{4, 31}, kAllOnes},
     .since = Since::kStart},
};

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

// Messages

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
    if (fault_) {
        if (fault_->messages == Messages::kLost || ++held_back_ < fault_->buffers_a_message)
            return;
        held_back_ = 0;
        storming_ = fault_->messages == Messages::kStorm;
    }
    host_.raise(vector);
}

void FaultyHost::something_happened()
{
    const bool spurious =
        fault_ && fault_->messages == Messages::kSpurious && ++happenings_ % kSpuriousEvery == 0;
    if (storming_ || spurious)
        host_.raise(0);
}

void FaultyHost::power_on()
{
    storming_ = false;
    held_back_ = 0;
}

// Registers

void FaultyRegisters::power_on()
{
    *this = FaultyRegisters(fault_);
}

void FaultyRegisters::wrote(uint32_t offset, uint32_t value)
{
    if (offset == kTuningData)
        tuned_ = true;
    if (offset != kTraceCtrl)
        return;
    const bool enable = kTraceCtrlEnable.get(value) != 0;
    stopped_ = (stopped_ || running_) && !enable;
    started_ = started_ || enable;
    running_ = enable;
    resetting_ = kTraceCtrlReset.get(value) != 0;
    if (resetting_)
        stopped_ = false;
}

bool FaultyRegisters::broken() const
{
    switch (fault_->since) {
        case Since::kPowerOn:
            return true;
        case Since::kStart:
            return started_;
        case Since::kResetBegan:
            return resetting_;
        case Since::kStop:
            return stopped_;
        case Since::kTuneBegan:
            return tuned_;
    }
    return false;
}

uint32_t FaultyRegisters::read(uint32_t offset, uint32_t value) const
{
    if (!fault_ || !broken())
        return value;
    if (fault_->all_ones)
        return kAllOnes;
    if (!fault_->read || fault_->read->offset != offset)
        return value;
    const FieldOverride &wanted = *fault_->read;
    return (value & ~wanted.field.mask()) | wanted.field.put(wanted.value);
}

}  // namespace pmukit::models::hisi_ptt
