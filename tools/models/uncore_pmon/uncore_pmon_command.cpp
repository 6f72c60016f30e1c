// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "models/uncore_pmon/uncore_pmon_command.hpp"

#include <fmt/core.h>

#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "base/number.hpp"
#include "model_server/exit.hpp"
#include "models/uncore_pmon/faults.hpp"
#include "models/uncore_pmon/table_dump.hpp"
#include "vfu/bdf.hpp"

namespace pmukit::cli {

namespace {

using models::uncore_pmon::Platform;

// The host of a model without a guest, whose registers are only dumped.
class NoHost final : public vfu::Host {
public:
    bool dma_read(uint64_t, std::span<std::byte>) override { return false; }
    bool dma_write(uint64_t, Bytes) override { return false; }
    void raise(unsigned) override {}
    uint64_t now_ns() const override { return 0; }
    void log(std::string_view) override {}
};

}  // namespace

UncorePmonCommand::UncorePmonCommand(CLI::App &app)
    : command_(app.add_subcommand("uncore_pmon", "Intel uncore units with a discovery table"))
{
    slot_.add_to(*command_);
    add_units();
    add_table();
    command_->add_option("--fault", fault_, "break the device: see pmukit-model --list-faults");
    command_->add_option("--access-log", access_log_,
                         "write every countable access, and every one to a register, here");
    command_
        ->add_option("--dump-table", dump_,
                     "serve no guest: write the table to this folder as sysfs would show it")
        ->excludes(command_->get_option("--socket"));
    command_->get_option("--socket")->required(false);  // start() checks it
}

void UncorePmonCommand::add_units()
{
    command_->add_option("--device-id", device_, "PCI device id, as 0x09a1")->capture_default_str();
    command_->add_option("--platform", platform_, "event codes of the IMC units: spr or gnr")
        ->check(CLI::IsMember({"spr", "gnr"}))
        ->capture_default_str();
    command_->add_option("--imc", options_.imcs, "IMC units")->capture_default_str();
    command_->add_option("--ddr", options_.ddr_bytes, "memory of each IMC unit, as 1M")
        ->transform(CLI::AsSizeValue(false))
        ->capture_default_str();
    command_->add_flag("--underfill", options_.underfill,
                       "a write of less than a line reads the line first");
    command_
        ->add_option("--serves", ports_,
                     "a root port with a CXL device, as 00:10.0, whose link a CXLCM, a CXLDP and "
                     "a B2CXL unit watch; repeat")
        ->allow_extra_args(false);
    command_->add_option("--unknown", options_.unknown, "units of an unknown type")
        ->capture_default_str();
    command_->add_option("--msr-units", options_.msr_units, "units listed with MSR access")
        ->capture_default_str();
    command_
        ->add_option("--pci-units", options_.pci_units,
                     "units listed with PCI configuration space access")
        ->capture_default_str();
    command_
        ->add_option("--unit-ids", ids_,
                     "ids of a type's units, as cxlcm=2,4,6; repeat; else 0 and up")
        ->allow_extra_args(false);
    command_
        ->add_option("--all-ones", all_ones_,
                     "a unit whose registers read as all ones, as b2cxl.0; repeat")
        ->allow_extra_args(false);
    command_
        ->add_option("--ones-every", options_.ones_every,
                     "only every N-th read of these units returns all ones; 1: every read")
        ->capture_default_str();
    command_->add_option("--width", options_.box.width, "bits of a counter")->capture_default_str();
    command_
        ->add_option("--below-wrap", options_.box.below_wrap,
                     "distance of a reset counter from its wrap; 0: reset to zero")
        ->capture_default_str();
}

void UncorePmonCommand::add_table()
{
    command_
        ->add_option("--tables", options_.tables,
                     "1 or 2 discovery tables; the second lists CXL and unknown units")
        ->capture_default_str();
    command_->add_option("--stride", options_.stride, "words of 8 bytes from entry to entry")
        ->capture_default_str();
    command_
        ->add_option("--max-units", options_.max_units,
                     "entries of a table; 0: as many as there are units")
        ->capture_default_str();
    command_->add_option("--table-bar", options_.table_bar, "BAR of the table")
        ->capture_default_str();
    command_->add_flag("--table-64bit", options_.table_64bit, "make the table BAR 64-bit");
    command_->add_flag("--global-mmio", options_.global_mmio,
                       "the global control is a register in a BAR, and not an MSR");
}

Result<void> UncorePmonCommand::settle_names()
{
    const Result<uint64_t> device = parse_u64(device_);
    if (!device || *device > UINT16_MAX)
        return Error{Errc::kUsage, fmt::format("--device-id {}: must be 0 to 0xffff", device_)};
    options_.device = static_cast<uint16_t>(*device);
    for (const std::string &text : ids_) {
        Result<models::uncore_pmon::UnitIds> ids = models::uncore_pmon::parse_unit_ids(text);
        if (!ids)
            return Error{Errc::kUsage, "--unit-ids: " + ids.error().message};
        options_.ids.push_back(std::move(ids).value());
    }
    for (const std::string &text : all_ones_) {
        const Result<models::uncore_pmon::UnitName> name =
            models::uncore_pmon::parse_unit_name(text);
        if (!name)
            return Error{Errc::kUsage, "--all-ones: " + name.error().message};
        options_.all_ones.push_back(*name);
    }
    return {};
}

Result<void> UncorePmonCommand::settle()
{
    for (const std::string &text : ports_) {
        const std::optional<uint16_t> port = vfu::parse_bdf(text);
        if (!port)
            return Error{Errc::kUsage,
                         fmt::format("--serves {}: must be a root port, as 00:10.0", text)};
        options_.root_ports.push_back(*port);
    }
    if (Result<void> names = settle_names(); !names)
        return names;
    options_.box.platform = platform_ == "gnr" ? Platform::kGnr : Platform::kSpr;
    if (!fault_.empty()) {
        options_.fault = models::uncore_pmon::find_fault(fault_);
        if (!options_.fault)
            return Error{Errc::kUsage,
                         fmt::format("--fault {}: not one of pmukit-model --list-faults", fault_)};
    }
    return models::uncore_pmon::check(options_);
}

Result<void> UncorePmonCommand::run_without_guest()
{
    if (Result<void> settled = settle(); !settled)
        return settled;
    NoHost host;
    models::uncore_pmon::UncorePmonModel model(options_, record_, host);
    return models::uncore_pmon::dump_table(model, dump_);
}

Result<void> UncorePmonCommand::start(vfu::Chassis &chassis)
{
    if (slot_.socket().empty())
        return Error{Errc::kUsage, "--socket is required"};
    if (Result<void> settled = settle(); !settled)
        return settled;
    const Result<vfu::SlotOptions> place = slot_.settle();
    if (!place)
        return place.error();
    const Result<vfu::Slot *> slot = chassis.add_slot(*place);
    if (!slot)
        return slot.error();
    if (!access_log_.empty()) {
        Result<models::uncore_pmon::AccessRecord> record =
            models::uncore_pmon::AccessRecord::create(access_log_);
        if (!record)
            return record.error();
        record_ = std::move(record).value();
    }
    model_ =
        std::make_unique<models::uncore_pmon::UncorePmonModel>(options_, record_, (*slot)->host());
    chassis.traffic().add(*model_);
    (*slot)->insert(*model_);
    return {};
}

Result<void> UncorePmonCommand::finish()
{
    const models::uncore_pmon::AccessTally &tally = record_.tally();
    say("model: device=uncore_pmon ddr_reads={} ddr_writes={} cxl_reads={} cxl_writes={} "
        "register_reads={} register_writes={} "
        "all_ones={}\n",
        tally.ddr_reads, tally.ddr_writes, tally.cxl_reads, tally.cxl_writes, tally.register_reads,
        tally.register_writes, tally.all_ones);
    return record_.close();
}

std::vector<FaultDescription> UncorePmonCommand::faults() const
{
    return describe(models::uncore_pmon::faults());
}

std::unique_ptr<ModelCommand> uncore_pmon_command(CLI::App &app)
{
    return std::make_unique<UncorePmonCommand>(app);
}

}  // namespace pmukit::cli
