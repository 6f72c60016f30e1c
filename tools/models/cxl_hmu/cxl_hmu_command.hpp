// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The subcommand cxl_hmu of pmukit-model: its options, and the creation of the CXL type 3 model.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "memtap/tap.hpp"
#include "model_server/command.hpp"
#include "models/access_log.hpp"
#include "models/cxl_hmu/cxl_hmu_model.hpp"
#include "models/cxl_hmu/options.hpp"
#include "models/cxl_hmu/run_logs.hpp"
#include "models/cxl_hmu/source.hpp"

namespace pmukit::cli {

// The guest's accesses to the device's memory, as recorded by the memtap plugin in QEMU.
class TapFeed final : public models::cxl_hmu::RequestFeed {
public:
    explicit TapFeed(memtap::Tap tap) : tap_(std::move(tap)) {}

    size_t take(std::span<models::cxl_hmu::FedAccess> into) override;
    void close() override { tap_.close(); }
    uint64_t taken() const { return taken_; }
    uint64_t refused() const { return tap_.refused(); }

private:
    memtap::Tap tap_;
    uint64_t taken_ = 0;
};

class CxlHmuCommand final : public ModelCommand {
public:
    explicit CxlHmuCommand(CLI::App &app);
    CxlHmuCommand(const CxlHmuCommand &) = delete;
    CxlHmuCommand &operator=(const CxlHmuCommand &) = delete;

    std::string name() const override { return command_->get_name(); }
    bool chosen() const override { return command_->parsed(); }
    const std::string &socket() const override { return slot_.socket(); }
    Result<void> start(vfu::Chassis &chassis) override;
    Result<void> finish() override;
    std::vector<FaultDescription> faults() const override;

private:
    void add_device_options();
    void add_instance_options();
    void add_shape_options();
    void add_source_options();
    Result<void> settle();  // converts the command line to options_
    Result<void> settle_source();
    Result<void> settle_memory();
    Result<void> open_logs();
    Result<void> open_tap();

    CLI::App *command_;
    SlotWords slot_;
    std::string access_log_;
    std::string fault_;
    std::string epoch_min_ = "1:1";
    std::string epoch_max_ = "5:100";
    uint64_t bitmap_gib_ = 256;
    uint64_t operation_us_ = 20;
    uint64_t left_enabling_us_ = 0;
    uint64_t late_status_us_ = 0;
    std::string replacement_ = "credit";
    bool map_memory_ = false;
    std::string tap_path_;
    uint64_t tap_base_ = 0;
    std::string source_text_;
    std::string entries_log_;
    std::string source_log_;
    std::string stats_log_;
    std::optional<models::cxl_hmu::Source> source_;
    std::optional<vfu::BarMemory> memory_;
    std::optional<TapFeed> feed_;
    models::AccessLog log_;
    models::cxl_hmu::RunLogs run_logs_;
    models::cxl_hmu::Options options_;
    std::unique_ptr<models::cxl_hmu::CxlHmuModel> model_;
};

}  // namespace pmukit::cli
