// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// A CXL PMU (CPMU, CXL r3.2 section 8.2.7) that the device can have in addition to its CHMUs. It
// has the registers that the driver of a CPMU checks at probe, and counters that can be configured,
// frozen and read. The counters never count.
#pragma once

#include "models/cxl_hmu/register_block.hpp"
#include "vfu/device.hpp"

namespace pmukit::models::cxl_hmu {

class CpmuRegisters final : public RegisterBlock {
public:
    static constexpr unsigned kCounters = 4;

    // message: the vector of the overflow interrupt. The model never sends this interrupt.
    CpmuRegisters(unsigned message, vfu::Host &host);

    uint64_t bytes() const override { return registers_.size(); }
    uint64_t read(uint64_t offset, unsigned width) override;  // width: 4 or 8 bytes, aligned
    void write(uint64_t offset, unsigned width, uint64_t value) override;
    void reset() override { registers_.reset(); }

private:
    bool refuses(const char *what, uint64_t offset, unsigned width);

    vfu::Host &host_;
    MaskedBytes registers_;
};

}  // namespace pmukit::models::cxl_hmu
