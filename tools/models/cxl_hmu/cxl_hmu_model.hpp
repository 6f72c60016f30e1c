// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The whole function: a CXL type 3 memory device with CHMUs (see
// Documentation/devices/cxl_type3-model.rst). BAR 0 has the registers, BAR 2 the memory. Every load
// and store of BAR 2 is one M2S request, whose DPA is the offset. If the guest maps the BAR, the
// model does not see the loads and stores. A feed (request_feed.hpp) can report other accesses. DMA
// of other functions is CXL.io, not an M2S request.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "models/access_log.hpp"
#include "models/cxl_hmu/chmu.hpp"
#include "models/cxl_hmu/component_registers.hpp"
#include "models/cxl_hmu/cpmu_registers.hpp"
#include "models/cxl_hmu/device_registers.hpp"
#include "models/cxl_hmu/faults.hpp"
#include "models/cxl_hmu/options.hpp"
#include "models/sparse_memory.hpp"
#include "vfu/config_space.hpp"
#include "vfu/device.hpp"
#include "vfu/doe.hpp"

namespace pmukit::models::cxl_hmu {

class CxlHmuModel final : public vfu::Device {
public:
    // options must have passed check(). Each memory access is logged before a CHMU sees it; the
    // log's owner closes it.
    CxlHmuModel(const Options &options, AccessLog &log, vfu::Host &host);

    vfu::ConfigSpace &config() override { return config_; }
    vfu::BarMemory *bar_memory(unsigned bar) override;
    bool is_cxl_mem(unsigned bar) const override;
    uint64_t bar_read(unsigned bar, uint64_t offset, unsigned width) override;
    void bar_write(unsigned bar, uint64_t offset, unsigned width, uint64_t value) override;
    uint64_t peer_read(unsigned bar, uint64_t offset, unsigned width) override;
    void peer_write(unsigned bar, uint64_t offset, unsigned width, uint64_t value) override;
    // The memory contents survive, as a function reset permits.
    void reset() override;
    std::optional<uint64_t> next_deadline_ns() const override;
    void advance(uint64_t now_ns) override;

    // Call after the guest has ended: reads the rest of the feed.
    void take_rest_of_feed();
    // Call after the guest has ended: counts entries that wait for space on the list as dropped.
    void drop_outstanding();

    uint64_t entries_stored() const;
    uint64_t entries_dropped() const;
    uint64_t violations() const;

private:
    struct Unit {
        std::unique_ptr<Chmu> chmu;
        std::unique_ptr<FaultyChmu> shown;
    };
    struct Mapping {
        uint64_t base;
        RegisterBlock *block;
    };

    uint64_t place(RegisterBlock &block, uint64_t base);  // returns the base of the next block
    void build_units(const Options &options);
    void build_config(const Options &options, uint64_t registers_end);
    const Mapping *find(uint64_t offset, unsigned width) const;
    void request(uint64_t dpa, bool write);
    // Returns false if the feed may have more accesses.
    bool take_from_feed();

    AccessLog &log_;
    FaultyHost host_;
    vfu::ConfigSpace config_;
    std::optional<vfu::Doe> doe_;
    vfu::BarMemory *mapped_;
    RequestFeed *feed_;
    uint64_t feed_due_ns_ = 0;  // time at which to poll the feed again
    ComponentRegisters component_;
    DeviceRegisters device_;
    std::vector<Unit> units_;
    std::optional<CpmuRegisters> cpmu_;
    std::vector<Mapping> map_;  // blocks of BAR 0, by ascending offset
    SparseMemory memory_;
};

}  // namespace pmukit::models::cxl_hmu
