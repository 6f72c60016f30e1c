// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The PCIe function (see Documentation/devices/uncore_pmon-model.rst): a discovery table in one
// BAR, telemetry and optionally another table in a second, the units in a third, and the DDR range
// of the memory controllers in a fourth.
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
#include "models/uncore_pmon/tpmi.hpp"
#include "vfu/config_space.hpp"
#include "vfu/device.hpp"
#include "vfu/traffic.hpp"

namespace pmukit::models::uncore_pmon {

inline constexpr unsigned kUnitBar = 2;
inline constexpr unsigned kBarBehindUnits = 3;
inline constexpr unsigned kDdrBar = 4;

class UncorePmonModel final : public vfu::Device, public vfu::TrafficObserver {
public:
    // options must have passed check(). Each access is recorded before a counter counts it; the
    // record's owner closes it.
    UncorePmonModel(const Options &options, AccessRecord &record, vfu::Host &host);

    vfu::ConfigSpace &config() override { return config_; }
    uint64_t bar_read(unsigned bar, uint64_t offset, unsigned width) override;
    void bar_write(unsigned bar, uint64_t offset, unsigned width, uint64_t value) override;
    // The DDR contents survive, as a reset permits.
    void reset() override;
    std::optional<uint64_t> next_deadline_ns() const override { return std::nullopt; }
    void advance(uint64_t) override {}

    void on_packet(const vfu::Packet &packet) override;

    const AccessTally &tally() const { return record_.tally(); }
    unsigned first_bar() const { return tables_.front().bar; }
    unsigned second_bar() const { return second_bar_; }

private:
    struct Unit {
        const UnitType *type;
        uint16_t id;
        uint64_t offset;  // offset of the unit's control in the BAR
        CounterBox box;
        std::optional<uint16_t> port;  // root port whose link it observes
        bool all_ones;
        unsigned reads = 0;
    };
    struct Table {
        unsigned bar;
        GlobalEntry global;
        std::vector<uint64_t> words;
        std::optional<uint64_t> built_for;  // address of the units' BAR that `words` contains
    };
    struct Controller {
        uint64_t base;
        FreeRunning counters;
    };

    void build_units(const Options &options);
    void build_listed(const Options &options);
    void build_tables(const Options &options);
    void build_config(const Options &options);
    void add_unit(const Options &options, const UnitType &type, unsigned nth, uint64_t offset,
                  std::optional<uint16_t> port = std::nullopt);
    void power_on();

    const Table &table_of(const UnitType &type) const;
    uint64_t read_table(Table &table, uint64_t offset, unsigned width);
    std::vector<uint64_t> build_table(const Table &table, uint64_t unit_base) const;
    bool answers_ones(Unit &unit) const;
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
    unsigned second_bar_;
    unsigned ones_every_;
    bool underfill_;
    bool global_mmio_;
    uint64_t imc_bytes_;
    uint64_t ddr_bytes_;

    std::vector<Unit> units_;              // IMC units first
    std::vector<Controller> controllers_;  // one per pair of IMC units
    std::vector<UnitEntry> listed_;        // units in the table that have no registers

    std::vector<Table> tables_;
    FaultyTable shown_table_;  // changes reads of tables_.front()
    FaultyRegisters shown_registers_;

    Tpmi tpmi_;
    uint64_t global_ = 0;
    SparseMemory ddr_;
};

}  // namespace pmukit::models::uncore_pmon
