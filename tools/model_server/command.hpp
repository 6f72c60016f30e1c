// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// One device of pmukit-model: its command-line options, and the model that is created from them. To
// add a device, derive a class from ModelCommand in models/<driver>/<driver>_command.cpp and define
//     std::unique_ptr<ModelCommand> <driver>_command(CLI::App &app);
// in that file. The build finds the file by its name.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "vfu/chassis.hpp"

namespace pmukit::cli {

// Options common to all devices: the socket and the PCI location.
class SlotWords {
public:
    void add_to(CLI::App &command);
    // Hides the options of the PCIe link from --help. For a device that refuses these options.
    static void hide_link(CLI::App &command);
    Result<vfu::SlotOptions> settle() const;
    const std::string &socket() const { return socket_; }

private:
    std::string socket_;
    std::string function_;
    std::string root_port_;
    vfu::LinkTiming timing_;
};

struct FaultDescription {
    std::string_view name;
    std::string_view effect;
};

class ModelCommand {
public:
    virtual ~ModelCommand() = default;

    virtual std::string name() const = 0;
    virtual bool chosen() const = 0;
    // Checks the options and listens on the socket. Only then creates files: if another process
    // uses the socket, files that the process writes stay unchanged. Creates the model and inserts
    // it into its slot. The command owns the model and must outlive Chassis::run().
    virtual Result<void> start(vfu::Chassis &chassis) = 0;
    virtual const std::string &socket() const = 0;
    // Returns the values that the option --fault accepts.
    virtual std::vector<FaultDescription> faults() const { return {}; }
    // Closes the logs and prints the totals to stdout. Call it after Chassis::run().
    virtual Result<void> finish() = 0;

    // Returns false if the options need no guest. The caller then calls run_without_guest() instead
    // of start().
    virtual bool serves() const { return true; }
    virtual Result<void> run_without_guest() { return {}; }
};

// Converts the faults of a model, as models/<driver>/faults.hpp lists them.
template <typename Faults>
std::vector<FaultDescription> describe(const Faults &faults)
{
    std::vector<FaultDescription> described;
    for (const auto &fault : faults)
        described.push_back({fault.name, fault.effect});
    return described;
}

// Adds a subcommand for every device to the application.
std::vector<std::unique_ptr<ModelCommand>> model_commands(CLI::App &app);

}  // namespace pmukit::cli
