// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "models/hisi_ptt/tuner.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace pmukit::models::hisi_ptt {

namespace {

constexpr uint32_t kEventsByCode[] = {kTuneQosTxCpl, kTuneQosTxNp, kTuneQosTxP,
                                      kTuneRxAllocBufLevel, kTuneTxAllocBufLevel};

}  // namespace

uint32_t *Tuner::level_of_chosen()
{
    static_assert(std::size(kEventsByCode) == kEvents);
    const uint32_t event = ctrl_ & (kTuningCtrlCode.mask() | kTuningCtrlSub.mask());
    const auto found = std::find(std::begin(kEventsByCode), std::end(kEventsByCode), event);
    return found == std::end(kEventsByCode) ? nullptr : &levels_[found - kEventsByCode];
}

void Tuner::settle()
{
    if (!written_ || host_.now_ns() < done_ns_)
        return;
    const uint32_t asked = *written_;
    written_.reset();
    operations_++;
    uint32_t *const level = level_of_chosen();
    if (!level) {
        host_.log(fmt::format("tune: {:#x} is no event", ctrl_));
        data_ = 0;
        return;
    }
    if (asked != kTuningRead)
        *level = std::min(kTuningDataValue.get(asked), kTuneMaxLevel);
    data_ = *level;
}

bool Tuner::busy()
{
    settle();
    return written_.has_value();
}

uint32_t Tuner::data()
{
    settle();
    return data_;
}

void Tuner::write_ctrl(uint32_t value)
{
    if (busy()) {
        host_.log("tune: another event chosen while an operation runs, dropped");
        return;
    }
    ctrl_ = value;
}

void Tuner::write_data(uint32_t value)
{
    if (busy()) {
        host_.log("tune: an operation begun while another runs, dropped");
        return;
    }
    written_ = value;
    done_ns_ = host_.now_ns() + operation_ns_;
}

void Tuner::power_on()
{
    ctrl_ = data_ = 0;
    written_.reset();
    levels_ = kPowerOn;
}

}  // namespace pmukit::models::hisi_ptt
