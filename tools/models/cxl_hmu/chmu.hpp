// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// One CHMU: the common capability and its instances, one behind the other (CXL r3.2 section 8.2.8).
#pragma once

#include <memory>
#include <vector>

#include "models/cxl_hmu/instance.hpp"
#include "models/cxl_hmu/register_block.hpp"

namespace pmukit::models::cxl_hmu {

class Chmu final : public RegisterBlock {
public:
    // messages: the vector of each instance; as many instances as there are messages.
    Chmu(const InstanceParams &params, unsigned index, const std::vector<unsigned> &messages,
         vfu::Host &host);

    uint64_t bytes() const override;
    uint64_t read(uint64_t offset, unsigned width) override;
    void write(uint64_t offset, unsigned width, uint64_t value) override;
    void reset() override;

    void request(const Request &request);
    std::optional<uint64_t> next_deadline_ns() const;
    void advance(uint64_t now_ns);
    void drop_outstanding();

    uint64_t requests() const;  // since the reset, at the instance that saw most
    uint64_t entries_stored() const;
    uint64_t entries_dropped() const;

private:
    uint64_t read_common(uint64_t offset, unsigned width);
    // An access must not straddle two instances.
    bool in_one_instance(uint64_t offset, unsigned width) const;

    uint64_t instance_bytes_;
    unsigned index_;
    vfu::Host &host_;
    std::vector<std::unique_ptr<Instance>> instances_;
};

}  // namespace pmukit::models::cxl_hmu
