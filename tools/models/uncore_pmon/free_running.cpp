// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "models/uncore_pmon/free_running.hpp"

#include <algorithm>

#include "models/uncore_pmon/uncore_pmon_regs.hpp"

namespace pmukit::models::uncore_pmon {

namespace {

uint64_t dclk_until(uint64_t now_ns)
{
    return std::ranges::find(clocks(), Signal::kDclk, &Clock::signal)->ticks_until(now_ns);
}

}  // namespace

std::optional<uint64_t> FreeRunning::read(uint32_t offset, unsigned width) const
{
    const struct {
        uint32_t offset;
        uint64_t value;
    } counters[] = {
        {kFreeDclk, dclk_until(now_ns_) - dclk_until(since_ns_) - below_wrap_},
        {kFreeReadCycles, reads_},
        {kFreeWriteCycles, writes_},
    };
    for (const auto &counter : counters) {
        if (offset < counter.offset || offset - counter.offset + width > kCounterStep)
            continue;
        const unsigned low = 8 * (offset - counter.offset);
        const uint64_t value = counter.value & Field{0, kFreeWidth - 1}.mask();
        return Field{low, low + 8 * width - 1}.get(value);
    }
    return std::nullopt;
}

void FreeRunning::happened(const Happening &happening)
{
    if (happening.signal == Signal::kReadQueued)
        reads_ += happening.count;
    if (happening.signal == Signal::kWriteQueued)
        writes_ += happening.count;
}

void FreeRunning::power_on()
{
    since_ns_ = now_ns_;
    reads_ = 0 - below_wrap_;
    writes_ = 0 - below_wrap_;
}

}  // namespace pmukit::models::uncore_pmon
