// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The whole function, as Documentation/devices/uncore_pmon-model.rst draws it: the discovery table
// in one BAR, the units it names in another, and a DDR range behind the memory controllers' units.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "models/sparse_memory.hpp"
#include "models/uncore_pmon/access_record.hpp"
#include "models/uncore_pmon/counter_box.hpp"
#include "models/uncore_pmon/discovery_table.hpp"
#include "models/uncore_pmon/faults.hpp"
#include "models/uncore_pmon/free_running.hpp"
#include "models/uncore_pmon/options.hpp"
#include "vfu/config_space.hpp"
#include "vfu/device.hpp"
#include "vfu/traffic.hpp"

namespace pmukit::models::uncore_pmon {

inline constexpr unsigned kUnitBar = 2;
inline constexpr unsigned kDdrBar = 4;

class UncorePmonModel final : public vfu::Device, public vfu::TrafficObserver {
public:
    // options passed check(). The record is told of every access before a counter is; closing it is
    // the owner's.
    UncorePmonModel(const Options &options, AccessRecord &record, vfu::Host &host);

    vfu::ConfigSpace &config() override { return config_; }
    uint64_t bar_read(unsigned bar, uint64_t offset, unsigned width) override;
    void bar_write(unsigned bar, uint64_t offset, unsigned width, uint64_t value) override;
    // The DDR range keeps its contents, as memory may in a reset.
    void reset() override;
    std::optional<uint64_t> next_deadline_ns() const override { return std::nullopt; }
    void advance(uint64_t) override {}

    void on_packet(const vfu::Packet &packet) override;

    const AccessTally &tally() const { return record_.tally(); }

private:
    struct Unit {
        const UnitType *type;
        uint16_t id;
        uint64_t offset;  // of its control, in its BAR
        CounterBox box;
        std::optional<uint16_t> port;  // whose link it watches
    };
    struct Controller {
        uint64_t base;
        FreeRunning counters;
    };

    void build_units(const Options &options);
    void build_listed(const Options &options);
    void build_config(const Options &options);
    void add_unit(const UnitType &type, unsigned id, uint64_t offset,
                  std::optional<uint16_t> port = std::nullopt);
    void power_on();

    uint64_t read_table(uint64_t offset, unsigned width);
    std::vector<uint64_t> build_table(uint64_t unit_base) const;
    Unit *find_unit(uint64_t offset, unsigned width);
    uint64_t read_unit(Unit &unit, uint64_t offset, unsigned width);
    void write_unit(Unit &unit, uint64_t offset, unsigned width, uint64_t value);
    std::optional<uint64_t> read_free_running(uint64_t offset, unsigned width);
    bool is_global(uint64_t offset, unsigned width) const;
    void write_global(uint64_t value);
    std::optional<uint64_t> read_units(uint64_t offset, unsigned width);
    bool write_units(uint64_t offset, unsigned width, uint64_t value);

    bool has_ddr(uint64_t offset, unsigned width) const;
    uint64_t read_ddr(uint64_t offset, unsigned width);
    void write_ddr(uint64_t offset, unsigned width, uint64_t value);
    void moves(uint64_t line, bool write);
    void refuse(const char *what, unsigned bar, uint64_t offset, unsigned width);

    AccessRecord &record_;
    vfu::Host &host_;
    vfu::ConfigSpace config_;
    BoxParams params_;
    unsigned table_bar_;
    bool underfill_;
    bool global_mmio_;
    uint64_t imc_bytes_;
    uint64_t ddr_bytes_;

    GlobalEntry global_entry_;
    std::vector<Unit> units_;              // IMC units first
    std::vector<Controller> controllers_;  // one for two IMC units
    std::vector<UnitEntry> listed_;        // and nothing behind them

    std::vector<uint64_t> table_;
    std::optional<uint64_t> table_base_;  // what it was built for
    FaultyTable shown_table_;
    FaultyRegisters shown_registers_;

    uint64_t global_ = 0;
    SparseMemory ddr_;
};

}  // namespace pmukit::models::uncore_pmon
