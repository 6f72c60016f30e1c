// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The free-running counters of a memory controller, independent of the settings of its two units:
// DCLK, and the DCLK cycles that reads and writes spend in their queues. In the model each read and
// each write spends one cycle.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "models/uncore_pmon/unit_types.hpp"

namespace pmukit::models::uncore_pmon {

class FreeRunning {
public:
    // below_wrap: initial distance from the wrap; 0: start at zero.
    explicit FreeRunning(uint64_t below_wrap) : below_wrap_(below_wrap) { power_on(); }

    // offset: bytes from the controller's base. Returns nullopt if no counter has all of these
    // bytes.
    std::optional<uint64_t> read(uint32_t offset, unsigned width) const;

    void happened(const Happening &happening);
    void advance(uint64_t now_ns) { now_ns_ = now_ns; }
    void power_on();

private:
    uint64_t below_wrap_;
    uint64_t now_ns_ = 0;
    uint64_t since_ns_ = 0;
    uint64_t reads_ = 0;
    uint64_t writes_ = 0;
};

}  // namespace pmukit::models::uncore_pmon
