// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// pmukit-model pcie_ep: the command line of the endpoint that generates traffic.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "model_server/command.hpp"
#include "models/pcie_ep/pcie_ep_model.hpp"

namespace pmukit::cli {

class PcieEpCommand final : public ModelCommand {
public:
    explicit PcieEpCommand(CLI::App &app);
    PcieEpCommand(const PcieEpCommand &) = delete;
    PcieEpCommand &operator=(const PcieEpCommand &) = delete;

    std::string name() const override { return command_->get_name(); }
    bool chosen() const override { return command_->parsed(); }
    const std::string &socket() const override { return slot_.socket(); }
    Result<void> start(vfu::Chassis &chassis) override;
    Result<void> finish() override;

private:
    CLI::App *command_;
    SlotWords slot_;
    models::pcie_ep::Options options_;
    std::unique_ptr<models::pcie_ep::PcieEpModel> model_;
};

}  // namespace pmukit::cli
