// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "models/hisi_ptt/hisi_ptt_command.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "model_server/exit.hpp"
#include "models/hisi_ptt/faults.hpp"
#include "vfu/bdf.hpp"

namespace pmukit::cli {

namespace {

using models::hisi_ptt::Options;

// Parses FUNCTION@PORT, for example 01:00.0@00:10.0.
std::optional<vfu::LinkPlace> parse_place(const std::string &text)
{
    const size_t at = std::min(text.find('@'), text.size());
    const std::optional<uint16_t> function = vfu::parse_bdf(text.substr(0, at));
    const std::optional<uint16_t> port = vfu::parse_bdf(text.substr(std::min(at + 1, text.size())));
    if (!function || !port)
        return std::nullopt;
    return vfu::LinkPlace{*function, *port};
}

}  // namespace

HisiPttCommand::HisiPttCommand(CLI::App &app)
    : command_(app.add_subcommand("hisi_ptt", "a HiSilicon PCIe tune and trace endpoint"))
{
    slot_.add_to(*command_);
    SlotWords::hide_link(*command_);
    command_->add_option("--serves", ports_, "observed root port, as 00:10.0; repeat")
        ->required()
        ->allow_extra_args(false);
    command_
        ->add_option("--function", functions_,
                     "function whose traffic is generated, as 01:00.0@00:10.0; repeat")
        ->allow_extra_args(false);
    command_->add_option("--sicl", options_.sicl, "the I/O die it is on")->capture_default_str();
    command_->add_option("--core", options_.core, "the PCIe core it belongs to")
        ->capture_default_str();
    command_->add_option("--tune-us", tune_us_, "how long a tune operation takes")
        ->capture_default_str();
    command_->add_option("--tick-ns", options_.tick_ns, "unit of the time stamps")
        ->capture_default_str();
    command_->add_option("--generate", generator_,
                         "generated packets during a trace: KEY=VALUE,...; rate (per second), "
                         "seed, count (requests; 0: unlimited); percent: inbound, reads, "
                         "peer, unsupported, pasid, relaxed");
    command_->add_option(
        "--flood", flood_,
        "packets far faster than the guest reads, during a trace: KEY=VALUE,...; rate (per "
        "second), count (per trace; 0: unlimited), burst (before the guest is let in again)");
    add_messages();
    command_->add_flag("--wide-tags", options_.wide_tags,
                       "tags of 14 bits, the upper ones in DW2 or DW3 of the header");
    command_->add_flag("--lenient", options_.lenient, "report no violations");
    command_->add_option("--fault", fault_, "break the device: see pmukit-model --list-faults");
    command_->add_option("--seen-log", seen_log_, "write every packet on the watched links here");
    command_->add_option("--traced-log", traced_log_, "write every traced packet here");
    command_->add_option("--stats-log", stats_log_,
                         "write here how many register accesses software needed");
    command_->add_option("--buffers-log", buffers_log_,
                         "write here which entries went into which buffer, and when");
}

void HisiPttCommand::add_messages()
{
    models::hisi_ptt::MessageParams &messages = options_.messages;
    command_
        ->add_option("--irq-late", messages.late,
                     "an interrupt arrives after N later ones were sent")
        ->capture_default_str();
    command_
        ->add_option("--irq-late-us", late_us_,
                     "or this time after it was sent, whichever is first; 0: no time limit")
        ->capture_default_str();
    command_->add_option("--irq-merge", messages.merge, "one interrupt per N buffers")
        ->capture_default_str();
    command_
        ->add_option("--irq-lose", messages.lose_every,
                     "lose every N-th interrupt; 0: none, 1: all")
        ->capture_default_str();
}

Result<void> HisiPttCommand::settle_places()
{
    for (const std::string &text : ports_) {
        const std::optional<uint16_t> port = vfu::parse_bdf(text);
        if (!port)
            return Error{Errc::kUsage,
                         fmt::format("--serves {}: must be a root port, as 00:10.0", text)};
        options_.root_ports.push_back(*port);
    }
    for (const std::string &text : functions_) {
        const std::optional<vfu::LinkPlace> place = parse_place(text);
        if (!place)
            return Error{
                Errc::kUsage,
                fmt::format(
                    "--function {}: must be a function and its root port, as 01:00.0@00:10.0",
                    text)};
        options_.functions.push_back(*place);
    }
    return {};
}

Result<void> HisiPttCommand::settle()
{
    if (Result<void> places = settle_places(); !places)
        return places;
    options_.tune_ns = std::min<uint64_t>(tune_us_, ~uint64_t{0} / 1000) * 1000;
    if (command_->count("--generate") != 0) {
        const Result<models::hisi_ptt::GeneratorParams> params =
            models::hisi_ptt::parse_generator(generator_);
        if (!params)
            return params.error();
        options_.generator = *params;
    }
    options_.messages.late_ns = std::min<uint64_t>(late_us_, ~uint64_t{0} / 1000) * 1000;
    if (command_->count("--flood") != 0) {
        const Result<models::hisi_ptt::FloodParams> params = models::hisi_ptt::parse_flood(flood_);
        if (!params)
            return params.error();
        options_.flood = *params;
    }
    if (!fault_.empty()) {
        options_.fault = models::hisi_ptt::find_fault(fault_);
        if (!options_.fault)
            return Error{Errc::kUsage,
                         fmt::format("--fault {}: not one of pmukit-model --list-faults", fault_)};
    }
    return models::hisi_ptt::check(options_);
}

Result<void> HisiPttCommand::open_logs()
{
    Result<void> opened;
    if (!seen_log_.empty())
        opened = logs_.open_seen(seen_log_);
    if (opened && !traced_log_.empty())
        opened = logs_.open_traced(traced_log_);
    if (opened && !stats_log_.empty())
        opened = logs_.open_stats(stats_log_);
    if (opened && !buffers_log_.empty())
        opened = logs_.open_buffers(buffers_log_);
    return opened;
}

Result<void> HisiPttCommand::start(vfu::Chassis &chassis)
{
    if (Result<void> settled = settle(); !settled)
        return settled;
    const Result<vfu::SlotOptions> place = slot_.settle();
    if (!place)
        return place.error();
    // Behind a link, the device would trace the packets with which it writes the trace.
    if (place->link)
        return Error{Errc::kUsage,
                     "--bdf, --root-port: hisi_ptt is on the root bus, without a link"};
    const Result<vfu::Slot *> slot = chassis.add_slot(*place);
    if (!slot)
        return slot.error();
    if (Result<void> opened = open_logs(); !opened)
        return opened;
    model_ = std::make_unique<models::hisi_ptt::HisiPttModel>(options_, logs_, (*slot)->host());
    chassis.traffic().add(*model_);
    (*slot)->insert(*model_);
    return {};
}

Result<void> HisiPttCommand::finish()
{
    Result<void> closed = logs_.close();
    const models::hisi_ptt::TraceCounts &counts = model_->trace_counts();
    say("model: device=hisi_ptt seen={} traced={} lost={} buffers={} overruns={} messages={} "
        "tuned={} arrived={} violations={}\n",
        model_->packets_seen(), counts.entries, counts.lost, counts.buffers, counts.overruns,
        counts.messages, model_->tune_operations(), model_->messages_arrived(),
        model_->violations());
    return closed;
}

std::vector<FaultDescription> HisiPttCommand::faults() const
{
    return describe(models::hisi_ptt::faults());
}

std::unique_ptr<ModelCommand> hisi_ptt_command(CLI::App &app)
{
    return std::make_unique<HisiPttCommand>(app);
}

}  // namespace pmukit::cli
