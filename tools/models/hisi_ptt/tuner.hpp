// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The tune part: levels that are read and set through one pair of registers, by operations that
// take time.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "models/hisi_ptt/hisi_ptt_regs.hpp"
#include "vfu/device.hpp"

namespace pmukit::models::hisi_ptt {

class Tuner {
public:
    Tuner(vfu::Host &host, uint64_t operation_ns) : host_(host), operation_ns_(operation_ns) {}

    uint32_t ctrl() const { return ctrl_; }
    uint32_t data();
    bool busy();
    // A write while an operation is running is dropped and logged.
    void write_ctrl(uint32_t value);
    void write_data(uint32_t value);

    void power_on();
    uint64_t operations() const { return operations_; }

private:
    static constexpr size_t kEvents = 5;

    void settle();  // completes the operation if its time has passed
    uint32_t *level_of_chosen();

    vfu::Host &host_;
    uint64_t operation_ns_;
    uint32_t ctrl_ = 0;
    uint32_t data_ = 0;
    std::optional<uint32_t> written_;  // running operation: the value written to TUNING_DATA
    uint64_t done_ns_ = 0;
    uint64_t operations_ = 0;
    std::array<uint32_t, kEvents> levels_ = kPowerOn;

    // The power-on level is not published; the only public example shows this value.
    static constexpr std::array<uint32_t, kEvents> kPowerOn{1, 1, 1, 1, 1};
};

}  // namespace pmukit::models::hisi_ptt
