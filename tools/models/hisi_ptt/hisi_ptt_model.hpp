// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The PCIe function (see Documentation/devices/hisi_ptt-model.rst): a root-complex integrated
// endpoint that observes the links of some root ports and writes their packets to memory.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "models/hisi_ptt/conformance.hpp"
#include "models/hisi_ptt/faults.hpp"
#include "models/hisi_ptt/flood.hpp"
#include "models/hisi_ptt/generator.hpp"
#include "models/hisi_ptt/message_path.hpp"
#include "models/hisi_ptt/options.hpp"
#include "models/hisi_ptt/run_logs.hpp"
#include "models/hisi_ptt/selection.hpp"
#include "models/hisi_ptt/tlp.hpp"
#include "models/hisi_ptt/trace_engine.hpp"
#include "models/hisi_ptt/tuner.hpp"
#include "vfu/config_space.hpp"
#include "vfu/device.hpp"
#include "vfu/traffic.hpp"

namespace pmukit::models::hisi_ptt {

class HisiPttModel final : public vfu::Device, public vfu::TrafficObserver {
public:
    // options must have passed check(). The owner of the logs closes them.
    HisiPttModel(const Options &options, RunLogs &logs, vfu::Host &host);

    vfu::ConfigSpace &config() override { return config_; }
    uint64_t bar_read(unsigned bar, uint64_t offset, unsigned width) override;
    void bar_write(unsigned bar, uint64_t offset, unsigned width, uint64_t value) override;
    void reset() override;
    std::optional<uint64_t> next_deadline_ns() const override;
    void advance(uint64_t now_ns) override;

    void on_packet(const vfu::Packet &packet) override;

    uint64_t packets_seen() const { return seen_; }
    const TraceCounts &trace_counts() const { return engine_.counts(); }
    uint64_t tune_operations() const { return tuner_.operations(); }
    uint64_t violations() const { return conformance_.violations(); }
    uint64_t messages_arrived() const { return messages_.arrived(); }

private:
    // A register and its access functions; a register without `write` is read-only.
    struct Register {
        uint32_t offset;
        uint32_t (HisiPttModel::*read)(uint32_t offset);
        void (HisiPttModel::*write)(uint32_t offset, uint32_t value);
    };
    static const Register kRegisters[];

    void build_config();
    const Register *find(uint64_t offset, unsigned width) const;

    uint32_t read_tuning_ctrl(uint32_t offset);
    uint32_t read_tuning_data(uint32_t offset);
    uint32_t read_tuning_status(uint32_t offset);
    uint32_t read_size(uint32_t offset);
    uint32_t read_base(uint32_t offset);
    uint32_t read_ctrl(uint32_t offset);
    uint32_t read_int_status(uint32_t offset);
    uint32_t read_int_mask(uint32_t offset);
    uint32_t read_write_status(uint32_t offset);
    uint32_t read_status(uint32_t offset);
    uint32_t read_range(uint32_t offset);
    uint32_t read_location(uint32_t offset);
    void write_tuning_ctrl(uint32_t offset, uint32_t value);
    void write_tuning_data(uint32_t offset, uint32_t value);
    void write_size(uint32_t offset, uint32_t value);
    void write_base(uint32_t offset, uint32_t value);
    void write_ctrl(uint32_t offset, uint32_t value);
    void write_int_status(uint32_t offset, uint32_t value);
    void write_int_mask(uint32_t offset, uint32_t value);

    void start();
    void stop();
    void note_selection(std::string_view what);
    bool serves(uint16_t root_port) const;
    void see(const Tlp &tlp);
    void trace(const Tlp &tlp);
    void flood(const Flood::Packets &packets);
    std::optional<Tlp> flood_packet() const;
    void log_progress();

    RunLogs &logs_;
    FaultyHost host_;
    MessagePath messages_;
    Conformance conformance_;
    FaultyRegisters shown_;
    vfu::ConfigSpace config_;
    Tuner tuner_;
    TraceEngine engine_;
    Selection selection_;
    std::optional<Generator> generator_;
    std::optional<Flood> flood_;
    vfu::LinkPlace flooded_{};

    uint32_t range_;
    uint32_t location_;
    uint64_t tick_ns_;
    bool wide_tags_;
    uint32_t ctrl_ = 0;
    std::array<uint32_t, 2 * kBuffers> base_{};  // low and high words, as the guest sees them
    uint64_t seen_ = 0;
    uint64_t messages_logged_ = 0;
    uint64_t arrivals_logged_ = 0;
};

}  // namespace pmukit::models::hisi_ptt
