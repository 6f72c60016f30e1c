// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// One device of pmukit-model: the options that describe it, and the model they make. A new device
// derives one class in models/<driver>/<driver>_command.cpp and defines
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

// Where a device listens and sits: the same words for every device.
class SlotWords {
public:
    void add_to(CLI::App &command);
    // Of a device that refuses a link: the help does not offer one.
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
    // Checks the options, listens, and only then makes files: those of another run are left alone
    // when the socket is in use. Makes the model and puts it into its slot. The command owns the
    // model and must outlive the chassis' run.
    virtual Result<void> start(vfu::Chassis &chassis) = 0;
    virtual const std::string &socket() const = 0;
    // Values of --fault.
    virtual std::vector<FaultDescription> faults() const { return {}; }
    // After the run: closes the logs and says on stdout what was counted.
    virtual Result<void> finish() = 0;

    // False: what was asked for needs no guest, and run_without_guest() does it.
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

// A subcommand of the application for every device, by name.
std::vector<std::unique_ptr<ModelCommand>> model_commands(CLI::App &app);

}  // namespace pmukit::cli
