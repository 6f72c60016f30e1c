// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// One device of pmukit-model: its command-line options, and the model created from them. A new
// device derives one class in models/<driver>/<driver>_command.cpp and defines
//     std::unique_ptr<ModelCommand> <driver>_command(CLI::App &app);
// there; the build finds the file by its name.
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
    // Hides the link options from --help, for a device that refuses a link.
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
    // Checks the options, listens, and only then creates files: if another process uses the socket,
    // the files of that process stay unchanged. Creates the model and inserts it into its slot. The
    // command owns the model and must outlive Chassis::run().
    virtual Result<void> start(vfu::Chassis &chassis) = 0;
    virtual const std::string &socket() const = 0;
    // Values of --fault.
    virtual std::vector<FaultDescription> faults() const { return {}; }
    // Call after Chassis::run(): closes the logs and prints the totals to stdout.
    virtual Result<void> finish() = 0;

    // Returns false if the options need no guest: then call run_without_guest(), not start().
    virtual bool serves() const { return true; }
    virtual Result<void> run_without_guest() { return {}; }
};

// Faults of a model as models/<driver>/faults.hpp lists them.
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
