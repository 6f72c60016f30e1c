// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The whole PCI function: a CXL type 3 memory device with CHMUs (see
// Documentation/devices/cxl_type3-model.rst). BAR 0 has the registers, BAR 2 the memory. Every load
// from and store to BAR 2 is one M2S request, whose DPA is the offset in the BAR. If the BAR is
// mapped into the guest, the model does not see its loads and stores; a feed (request_feed.hpp) can
// report them. DMA of other functions is CXL.io traffic, not an M2S request.
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
    // options must have passed check(). Each memory access is logged before a CHMU counts it. The
    // owner of the log must close it.
    CxlHmuModel(const Options &options, AccessLog &log, vfu::Host &host);

    vfu::ConfigSpace &config() override { return config_; }
    vfu::BarMemory *bar_memory(unsigned bar) override;
    bool is_cxl_mem(unsigned bar) const override;
    uint64_t bar_read(unsigned bar, uint64_t offset, unsigned width) override;
    void bar_write(unsigned bar, uint64_t offset, unsigned width, uint64_t value) override;
    uint64_t peer_read(unsigned bar, uint64_t offset, unsigned width) override;
    void peer_write(unsigned bar, uint64_t offset, unsigned width, uint64_t value) override;
    // The contents of the memory are kept, as the specification allows for a function reset.
    void reset() override;
    std::optional<uint64_t> next_deadline_ns() const override;
    void advance(uint64_t now_ns) override;

    // Reads the rest of the feed. Call it after the guest has ended.
    void take_rest_of_feed();
    // Counts the entries that wait for a free slot of the list as dropped. Call it after the guest
    // has ended.
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

    // Places a block of registers at `base`. Returns the base of the next block.
    uint64_t place(RegisterBlock &block, uint64_t base);
    void build_units(const Options &options);
    void build_config(const Options &options, uint64_t registers_end);
    const Mapping *find(uint64_t offset, unsigned width) const;
    void request(uint64_t dpa, bool write);
    // Takes accesses from the feed. Returns false if the feed may have more of them.
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
