// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// CXL component registers (CXL r3.2 section 8.2.3, 8.2.4): the CXL.cachemem block with a RAS
// capability, which cxl_pci requires of every function, and HDM decoders that commit.
#pragma once

#include "models/cxl_hmu/register_block.hpp"
#include "vfu/device.hpp"

namespace pmukit::models::cxl_hmu {

class ComponentRegisters final : public RegisterBlock {
public:
    static constexpr unsigned kDecoders = 2;

    explicit ComponentRegisters(vfu::Host &host);

    uint64_t bytes() const override { return 0x10000; }
    uint64_t read(uint64_t offset, unsigned width) override;  // width: 4 or 8 bytes, aligned
    void write(uint64_t offset, unsigned width, uint64_t value) override;
    void reset() override { cachemem_.reset(); }

private:
    void place_ras();
    void place_decoders();
    bool committed(unsigned decoder) const;
    void write_dword(size_t offset, uint32_t value);
    void write_decoder(unsigned decoder, size_t offset, uint32_t value);
    void update_commit(unsigned decoder);

    vfu::Host &host_;
    MaskedBytes cachemem_;
};

}  // namespace pmukit::models::cxl_hmu
