// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "models/pcie_ep/pcie_ep_command.hpp"

#include "model_server/exit.hpp"

namespace pmukit::cli {

PcieEpCommand::PcieEpCommand(CLI::App &app)
    : command_(app.add_subcommand("pcie_ep", "a PCIe endpoint that makes traffic on request"))
{
    slot_.add_to(*command_);
    command_->add_option("--memory", options_.memory_bytes, "size of its memory, as 1M")
        ->transform(CLI::AsSizeValue(false))
        ->capture_default_str();
}

Result<void> PcieEpCommand::start(vfu::Chassis &chassis)
{
    if (Result<void> checked = models::pcie_ep::check(options_); !checked)
        return checked;
    const Result<vfu::SlotOptions> place = slot_.settle();
    if (!place)
        return place.error();
    const Result<vfu::Slot *> slot = chassis.add_slot(*place);
    if (!slot)
        return slot.error();
    model_ = std::make_unique<models::pcie_ep::PcieEpModel>(options_, (*slot)->host());
    (*slot)->insert(*model_);
    return {};
}

Result<void> PcieEpCommand::finish()
{
    say("model: device=pcie_ep accesses={} transfers={} messages={}\n", model_->accesses(),
        model_->transfers(), model_->messages());
    return {};
}

std::unique_ptr<ModelCommand> pcie_ep_command(CLI::App &app)
{
    return std::make_unique<PcieEpCommand>(app);
}

}  // namespace pmukit::cli
