// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// pmukit-model: runs one device model, or a chassis of several, as vfio-user servers for a QEMU
// guest to attach to.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "model_server/build_id.hpp"
#include "model_server/command.hpp"
#include "model_server/exit.hpp"
#include "vfu/chassis.hpp"

namespace pmukit::cli {
namespace {

using Commands = std::vector<std::unique_ptr<ModelCommand>>;

// The chassis that is running, or nullptr. A signal handler may call its stop().
vfu::Chassis *running_chassis = nullptr;

extern "C" void stop_chassis(int)
{
    if (running_chassis)
        running_chassis->stop();
}

void stop_on_signals(vfu::Chassis &chassis)
{
    running_chassis = &chassis;
    struct sigaction action = {};
    action.sa_handler = stop_chassis;
    sigaction(SIGTERM, &action, nullptr);
    sigaction(SIGINT, &action, nullptr);
}

void list_faults(const Commands &commands)
{
    for (const std::unique_ptr<ModelCommand> &command : commands)
        for (const FaultDescription &fault : command->faults())
            say("{:<11} {:<28} {}\n", command->name(), fault.name, fault.effect);
}

ModelCommand *chosen_of(const Commands &commands)
{
    const auto found = std::ranges::find_if(commands, &ModelCommand::chosen);
    return found == commands.end() ? nullptr : found->get();
}

// One device of a chassis, whose options are parsed like those of the program.
class DeviceLine {
public:
    DeviceLine() : app_("one device", "pmukit-model"), commands_(model_commands(app_))
    {
        app_.require_subcommand(1);
    }

    Result<ModelCommand *> parse(const std::string &words)
    {
        try {
            app_.parse(words);
        } catch (const CLI::ParseError &error) {
            return Error{Errc::kUsage, fmt::format("--device '{}': {}", words, error.what())};
        }
        return chosen_of(commands_);
    }

private:
    CLI::App app_;
    Commands commands_;
};

int serve(const std::vector<ModelCommand *> &models, bool once)
{
    Result<std::unique_ptr<vfu::Chassis>> created = vfu::Chassis::create();
    if (!created)
        return give_up(created.error());
    vfu::Chassis &chassis = **created;
    for (ModelCommand *model : models)
        if (const Result<void> started = model->start(chassis); !started)
            return give_up(started.error());

    stop_on_signals(chassis);
    for (const ModelCommand *model : models)
        say("model: ready socket={}\n", model->socket());
    Result<void> outcome = flush_what_was_said();
    if (outcome)
        outcome =
            chassis.run(once ? vfu::Chassis::Until::kClientsLeave : vfu::Chassis::Until::kStopped);
    running_chassis = nullptr;

    for (ModelCommand *model : models)
        if (Result<void> finished = model->finish(); !finished && outcome)
            outcome = std::move(finished);
    return outcome ? kExitGood : give_up(outcome.error());
}

int serve_chassis(const std::vector<std::string> &devices, bool once)
{
    std::vector<std::unique_ptr<DeviceLine>> lines;
    std::vector<ModelCommand *> models;
    for (const std::string &words : devices) {
        lines.push_back(std::make_unique<DeviceLine>());
        Result<ModelCommand *> model = lines.back()->parse(words);
        if (!model)
            return give_up(model.error());
        if (!(*model)->serves())
            return give_up(
                {Errc::kUsage, fmt::format("--device '{}': this command serves no guest", words)});
        models.push_back(*model);
    }
    return serve(models, once);
}

int run_without_guest(ModelCommand &model)
{
    const Result<void> outcome = model.run_without_guest();
    return outcome ? kExitGood : give_up(outcome.error());
}

int run(int argc, char **argv)
{
    CLI::App app("Device models for pmukit, as vfio-user servers", "pmukit-model");
    app.set_version_flag("--version", "pmukit-model build " + build_id());
    bool wants_faults = false;
    app.add_flag("--list-faults", wants_faults, "list the faults that can be injected");
    bool once = false;
    app.add_flag("--once", once,
                 "exit when every device has had a client and all have disconnected");
    app.require_subcommand(0, 1);
    // Allows the option --once after the device's name.
    app.fallthrough();
    const Commands commands = model_commands(app);
    CLI::App *chassis = app.add_subcommand(
        "chassis", "several devices in one process, which see each other's PCIe packets");
    std::vector<std::string> devices;
    chassis->add_option("--device", devices, "one device: name and options, as for a single one")
        ->required()
        ->allow_extra_args(false);
    try {
        app.parse(argc, argv);
    } catch (const CLI::Success &success) {
        return app.exit(success);
    } catch (const CLI::ParseError &error) {
        return give_up({Errc::kUsage, error.what()});
    }
    if (wants_faults) {
        list_faults(commands);
        return kExitGood;
    }
    if (chassis->parsed())
        return serve_chassis(devices, once);
    if (ModelCommand *model = chosen_of(commands))
        return model->serves() ? serve({model}, once) : run_without_guest(*model);
    return give_up({Errc::kUsage, "no model given; see pmukit-model --help"});
}

// Returns an error if the output could not be written.
int run_and_flush(int argc, char **argv)
{
    const int status = run(argc, argv);
    const Result<void> flushed = flush_what_was_said();
    return flushed || status != kExitGood ? status : give_up(flushed.error());
}

}  // namespace
}  // namespace pmukit::cli

int main(int argc, char **argv)
{
    // Ignore these signals, so that a closed pipe and the file size limit are reported as write
    // errors, like a full disk.
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);
    // No component throws across its interface: an exception here means out of memory or a bug.
    try {
        return pmukit::cli::run_and_flush(argc, argv);
    } catch (const std::exception &failure) {
        std::fprintf(stderr, "pmukit-model: %s\n", failure.what());
        return pmukit::cli::kExitEnvironment;
    }
}
