// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Checks that software uses the registers as the documentation and the in-tree driver do: four
// aligned buffers of 4 MiB, programmed while no trace runs and not moved afterwards; a DMA reset
// before each start; the write status read only after a stop. The class stores its own copy of the
// values written and does not depend on the trace engine.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "models/hisi_ptt/hisi_ptt_regs.hpp"
#include "models/violations.hpp"

namespace pmukit::models::hisi_ptt {

inline constexpr uint32_t kDocumentedBufferBytes = 4u << 20;

class Conformance {
public:
    Conformance(vfu::Host &host, bool lenient) : violations_(host, lenient) {}

    void read(uint32_t offset);
    // Call before the write takes effect.
    void wrote(uint32_t offset, uint32_t value, bool tune_busy);
    // Call for an invalid access: no register, a wrong width, or a write to a read-only register.
    void wrong_access(std::string_view what) { violations_.add("wrong-access", what); }
    // Clearing bus mastering releases the buffers.
    void bus_master_off() { placed_ = false; }
    void power_on();

    uint64_t violations() const { return violations_.count(); }

private:
    using Buffers = std::array<uint64_t, kBuffers>;

    bool enabled() const { return kTraceCtrlEnable.get(ctrl_) != 0; }
    void wrote_size(uint32_t value);
    void wrote_base(uint32_t offset, uint32_t value);
    void wrote_ctrl(uint32_t value);
    void check_start(uint32_t ctrl);
    void check_buffers();

    Violations violations_;
    uint32_t ctrl_ = 0;
    uint32_t size_ = 0;
    Buffers base_{};
    bool reset_ = false;    // a DMA reset has followed the last start
    bool placed_ = false;   // a trace used the buffers, which are not yet released
    Buffers start_base_{};  // buffer addresses at the last start
};

}  // namespace pmukit::models::hisi_ptt
