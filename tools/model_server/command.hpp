// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// One device of pmukit-model: the words that describe it, and the model they make. A new device
// derives one class and adds a line to model_commands().
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
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

class ModelCommand {
public:
    virtual ~ModelCommand() = default;

    virtual bool chosen() const = 0;
    // Checks the options, listens, and only then makes files: those of another run are left alone
    // when the socket is in use. Makes the model and puts it into its slot. The command owns the
    // model and must outlive the chassis' run.
    virtual Result<void> start(vfu::Chassis &chassis) = 0;
    virtual const std::string &socket() const = 0;
    // After the run: closes the logs and says on stdout what was counted.
    virtual Result<void> finish() = 0;

    // False: what was asked for needs no guest, and run_without_guest() does it.
    virtual bool serves() const { return true; }
    virtual Result<void> run_without_guest() { return {}; }
};

// A subcommand of the application for every device.
std::vector<std::unique_ptr<ModelCommand>> model_commands(CLI::App &app);

}  // namespace pmukit::cli
