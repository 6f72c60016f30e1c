// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// A CXL PMU next to the CHMUs (CXL r3.2 section 8.2.7): the registers that its driver checks at
// probe, and counters that can be configured, frozen and read. They never count.
#pragma once

#include "models/cxl_hmu/register_block.hpp"
#include "vfu/device.hpp"

namespace pmukit::models::cxl_hmu {

class CpmuRegisters final : public RegisterBlock {
public:
    static constexpr unsigned kCounters = 4;

    // message: the vector of its overflow interrupt, which it never sends.
    CpmuRegisters(unsigned message, vfu::Host &host);

    uint64_t bytes() const override { return registers_.size(); }
    uint64_t read(uint64_t offset, unsigned width) override;  // 4 or 8 bytes, aligned
    void write(uint64_t offset, unsigned width, uint64_t value) override;
    void reset() override { registers_.reset(); }

private:
    bool refuses(const char *what, uint64_t offset, unsigned width);

    vfu::Host &host_;
    MaskedBytes registers_;
};

}  // namespace pmukit::models::cxl_hmu
