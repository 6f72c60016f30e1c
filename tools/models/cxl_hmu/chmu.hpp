// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// One CHMU: the common capability, followed by its instances (CXL r3.2 section 8.2.8). An
// instance's bitmap and hot list (its tables) are inside the instance (near) or follow all
// instances (far). Far tables can be larger: the length of an instance has 16 bits, the offsets of
// its tables have 64.
//
//   near:  common | registers bitmap list | registers bitmap list | ...
//   far:   common | registers | registers | ...  | bitmap list | bitmap list | ...
#pragma once

#include <memory>
#include <vector>

#include "models/cxl_hmu/instance.hpp"
#include "models/cxl_hmu/register_block.hpp"

namespace pmukit::models::cxl_hmu {

constexpr uint64_t align_up(uint64_t value, uint64_t to)
{
    return (value + to - 1) / to * to;
}

struct ChmuShape {
    bool far_tables = false;  // the tables follow all instances
    unsigned version = kCommonVersion;
};

class Chmu final : public RegisterBlock {
public:
    // messages: the interrupt vector of each instance; its size is the number of instances.
    Chmu(const InstanceParams &params, const ChmuShape &shape, unsigned index,
         const std::vector<unsigned> &messages, vfu::Host &host);

    // Distance from one instance's first register to the next instance's.
    static uint64_t instance_bytes(const InstanceParams &params, const ChmuShape &shape);

    uint64_t bytes() const override;
    uint64_t read(uint64_t offset, unsigned width) override;
    void write(uint64_t offset, unsigned width, uint64_t value) override;
    void reset() override;
    bool in_hot_list(uint64_t offset) const;  // in any instance's list

    void request(const Request &request);
    std::optional<uint64_t> next_deadline_ns() const;
    void advance(uint64_t now_ns);
    void drop_outstanding();

    uint64_t requests() const;  // since the reset; maximum of the instances
    uint64_t entries_stored() const;
    uint64_t entries_dropped() const;
    uint64_t violations() const;

private:
    uint64_t read_common(uint64_t offset, unsigned width);
    // The instance that an access hits and the offset in it; nullopt if it hits none, or two.
    struct Place {
        Instance *instance;
        uint64_t offset;
    };
    std::optional<Place> find(uint64_t offset, unsigned width) const;
    uint64_t tables_begin() const;  // start of the far tables

    ChmuShape shape_;
    uint64_t instance_bytes_;
    uint64_t tables_bytes_;  // far tables of one instance; 0: near tables
    unsigned index_;
    vfu::Host &host_;
    std::vector<std::unique_ptr<Instance>> instances_;
    Violations violations_;
};

}  // namespace pmukit::models::cxl_hmu
