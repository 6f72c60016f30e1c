// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// CXL device registers (CXL r3.2 section 8.2.9): capability array, device status, mailbox and
// memory device status. A command completes during the write of the doorbell, so the doorbell never
// reads as set.
#pragma once

#include "models/cxl_hmu/mailbox.hpp"
#include "models/cxl_hmu/register_block.hpp"

namespace pmukit::models::cxl_hmu {

class DeviceRegisters final : public RegisterBlock {
public:
    DeviceRegisters(uint64_t capacity_bytes, unsigned vectors, vfu::Host &host);

    uint64_t bytes() const override { return 0x1000; }
    // Accepts accesses of any width and alignment, because a guest may copy payloads with any of
    // them.
    uint64_t read(uint64_t offset, unsigned width) override;
    void write(uint64_t offset, unsigned width, uint64_t value) override;
    void reset() override;

private:
    void ring_doorbell();

    Mailbox mailbox_;
    MaskedBytes bytes_;
};

}  // namespace pmukit::models::cxl_hmu
