// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "models/hisi_ptt/conformance.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "models/hisi_ptt/selection.hpp"

namespace pmukit::models::hisi_ptt {

namespace {

constexpr Field kTraceCtrlReserved{8, 13};

}  // namespace

// Clears the copy of the registers. Buffers may be at other addresses after the power-on.
void Conformance::power_on()
{
    ctrl_ = size_ = 0;
    base_ = {};
    reset_ = placed_ = false;
}

void Conformance::read(uint32_t offset)
{
    if (offset == kTraceWriteStatus && enabled())
        violations_.add("write-status-while-enabled",
                        "TRACE_WR_STS is read while the trace is enabled");
}

void Conformance::wrote(uint32_t offset, uint32_t value, bool tune_busy)
{
    if (offset == kTraceAddrSize)
        return wrote_size(value);
    if (offset >= kTraceAddrBaseLo && offset < kTraceAddrBaseLo + kBuffers * kTraceAddrStride)
        return wrote_base(offset, value);
    if (offset == kTraceCtrl)
        return wrote_ctrl(value);
    if (offset == kTuningData && tune_busy)
        violations_.add("tune-while-busy", "TUNING_DATA is written while an operation runs");
}

void Conformance::wrote_size(uint32_t value)
{
    if (enabled())
        violations_.add("written-while-enabled",
                        fmt::format("TRACE_ADDR_SIZE is set to {:#x}", value));
    size_ = value;
}

void Conformance::wrote_base(uint32_t offset, uint32_t value)
{
    const uint32_t word = (offset - kTraceAddrBaseLo) / 4;
    uint64_t &base = base_[word / 2];
    if (enabled())
        violations_.add("written-while-enabled",
                        fmt::format("the address of buffer {} is written", word / 2));
    base = word % 2 == 0 ? (base & ~uint64_t{0xffffffff}) | value
                         : (base & 0xffffffff) | uint64_t{value} << 32;
}

void Conformance::wrote_ctrl(uint32_t value)
{
    const bool enable = kTraceCtrlEnable.get(value) != 0;
    const bool reset = kTraceCtrlReset.get(value) != 0;
    if (reset && (enabled() || enable))
        violations_.add("reset-while-enabled", fmt::format("TRACE_CTRL is set to {:#x}", value));
    if (enabled() && enable && value != ctrl_)
        violations_.add("control-while-enabled",
                        fmt::format("TRACE_CTRL changes from {:#x} to {:#x}", ctrl_, value));
    if (!enabled() && enable)
        check_start(value);
    reset_ = (reset_ || reset) && !enable;
    ctrl_ = value;
}

void Conformance::check_start(uint32_t ctrl)
{
    if (!reset_)
        violations_.add("start-without-reset", "no DMA reset since the last trace");
    if (Selection(ctrl).reserved() || kTraceCtrlReserved.get(ctrl) != 0)
        violations_.add("reserved-control", fmt::format("TRACE_CTRL is {:#x}", ctrl));
    check_buffers();
    placed_ = true;
    start_base_ = base_;
}

void Conformance::check_buffers()
{
    if (size_ != kDocumentedBufferBytes)
        violations_.add("buffer-size", fmt::format("TRACE_ADDR_SIZE is {:#x}, not {:#x}", size_,
                                                   kDocumentedBufferBytes));
    for (unsigned i = 0; i < kBuffers; i++) {
        if (base_[i] % kDocumentedBufferBytes != 0 || base_[i] == 0)
            violations_.add("buffer-alignment",
                            fmt::format("buffer {} is at {:#x}, not at a multiple of {:#x}", i,
                                        base_[i], kDocumentedBufferBytes));
        if (placed_ && base_[i] != start_base_[i])
            violations_.add("buffer-moved", fmt::format("buffer {} was at {:#x}, is at {:#x}", i,
                                                        start_base_[i], base_[i]));
    }
    Buffers sorted = base_;
    std::ranges::sort(sorted);
    for (unsigned i = 1; i < kBuffers; i++)
        if (sorted[i] - sorted[i - 1] < size_)
            violations_.add("buffers-overlap",
                            fmt::format("buffers at {:#x} and {:#x}", sorted[i - 1], sorted[i]));
}

}  // namespace pmukit::models::hisi_ptt
