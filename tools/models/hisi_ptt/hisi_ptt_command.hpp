// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// pmukit-model hisi_ptt: the command line and creation of the PCIe tune and trace model.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "model_server/command.hpp"
#include "models/hisi_ptt/hisi_ptt_model.hpp"
#include "models/hisi_ptt/options.hpp"
#include "models/hisi_ptt/run_logs.hpp"

namespace pmukit::cli {

class HisiPttCommand final : public ModelCommand {
public:
    explicit HisiPttCommand(CLI::App &app);
    HisiPttCommand(const HisiPttCommand &) = delete;
    HisiPttCommand &operator=(const HisiPttCommand &) = delete;

    std::string name() const override { return command_->get_name(); }
    bool chosen() const override { return command_->parsed(); }
    const std::string &socket() const override { return slot_.socket(); }
    Result<void> start(vfu::Chassis &chassis) override;
    Result<void> finish() override;
    std::vector<FaultDescription> faults() const override;

private:
    void add_messages();
    Result<void> settle();  // converts the command line to options_
    Result<void> settle_places();
    Result<void> open_logs();

    CLI::App *command_;
    SlotWords slot_;
    std::vector<std::string> ports_;
    std::vector<std::string> functions_;
    std::string generator_;
    std::string flood_;
    uint64_t late_us_ = 0;
    std::string fault_;
    uint64_t tune_us_ = models::hisi_ptt::Options{}.tune_ns / 1000;
    std::string seen_log_;
    std::string traced_log_;
    std::string stats_log_;
    std::string buffers_log_;
    models::hisi_ptt::RunLogs logs_;
    models::hisi_ptt::Options options_;
    std::unique_ptr<models::hisi_ptt::HisiPttModel> model_;
};

}  // namespace pmukit::cli
