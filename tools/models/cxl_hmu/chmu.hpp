// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// One CHMU: the common capability, followed by its instances (CXL r3.2 section 8.2.8). The bitmap
// and the hot list of an instance are called its tables. They are either inside the instance (near
// tables) or after all instances (far tables). Far tables can be larger, because the length of an
// instance has 16 bits, whereas the offsets of its tables have 64 bits.
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
    // messages: the interrupt vector of each instance. The number of elements is the number of
    // instances.
    Chmu(const InstanceParams &params, const ChmuShape &shape, unsigned index,
         const std::vector<unsigned> &messages, vfu::Host &host);

    // Returns the distance from the first register of an instance to that of the next instance.
    static uint64_t instance_bytes(const InstanceParams &params, const ChmuShape &shape);

    uint64_t bytes() const override;
    uint64_t read(uint64_t offset, unsigned width) override;
    void write(uint64_t offset, unsigned width, uint64_t value) override;
    void reset() override;
    // Returns true if the offset is in the hot list of any instance.
    bool in_hot_list(uint64_t offset) const;

    void request(const Request &request);
    std::optional<uint64_t> next_deadline_ns() const;
    void advance(uint64_t now_ns);
    void drop_outstanding();

    // Returns the number of requests since the last reset: the maximum over all instances.
    uint64_t requests() const;
    uint64_t entries_stored() const;
    uint64_t entries_dropped() const;
    uint64_t violations() const;

private:
    uint64_t read_common(uint64_t offset, unsigned width);
    // An instance, and an offset in that instance.
    struct Place {
        Instance *instance;
        uint64_t offset;
    };
    // Returns where an access hits an instance, or nullopt if it hits no instance or two instances.
    std::optional<Place> find(uint64_t offset, unsigned width) const;
    uint64_t tables_begin() const;  // start of the far tables

    ChmuShape shape_;
    uint64_t instance_bytes_;
    // Size of the far tables of one instance; 0: the tables are near.
    uint64_t tables_bytes_;
    unsigned index_;
    vfu::Host &host_;
    std::vector<std::unique_ptr<Instance>> instances_;
    Violations violations_;
};

}  // namespace pmukit::models::cxl_hmu
