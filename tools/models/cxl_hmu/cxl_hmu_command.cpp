// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "models/cxl_hmu/cxl_hmu_command.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/number.hpp"
#include "model_server/exit.hpp"
#include "models/cxl_hmu/faults.hpp"

namespace pmukit::cli {

namespace {

constexpr size_t kTapBatch = 1024;
constexpr unsigned kGibPerBitmapQword = 16;  // a qword has 64 bits for 256 MiB each

// Parses SCALE:VALUE.
std::optional<models::cxl_hmu::EpochLength> parse_epoch(const std::string &text)
{
    const size_t colon = text.find(':');
    if (colon == std::string::npos)
        return std::nullopt;
    const Result<uint64_t> scale = parse_u64(text.substr(0, colon));
    const Result<uint64_t> value = parse_u64(text.substr(colon + 1));
    if (!scale || !value)
        return std::nullopt;
    return models::cxl_hmu::EpochLength{*scale, *value};
}

std::optional<models::cxl_hmu::Replacement> replacement_by_name(std::string_view name)
{
    using models::cxl_hmu::Replacement;
    constexpr std::pair<std::string_view, Replacement> kNames[] = {{"credit", Replacement::kCredit},
                                                                   {"none", Replacement::kNone},
                                                                   {"least", Replacement::kLeast}};
    for (const auto &[known, replacement] : kNames)
        if (name == known)
            return replacement;
    return std::nullopt;
}

}  // namespace

size_t TapFeed::take(std::span<models::cxl_hmu::FedAccess> into)
{
    size_t given = 0;
    for (size_t got = kTapBatch; got == kTapBatch && given < into.size();) {
        memtap::Access batch[kTapBatch];
        got = tap_.take(std::span(batch).first(std::min(kTapBatch, into.size() - given)));
        for (const memtap::Access &access : std::span(batch, got))
            into[given++] = {access.offset, 1u << access.log2_width, access.store};
    }
    taken_ += given;
    return given;
}

CxlHmuCommand::CxlHmuCommand(CLI::App &app)
    : command_(
          app.add_subcommand("cxl_hmu", "a CXL type 3 memory device with hotness monitoring units"))
{
    slot_.add_to(*command_);
    command_->add_option("--access-log", access_log_, "write every memory access here");
    command_->add_option("--fault", fault_, "break the device: see pmukit-model --list-faults");
    add_device_options();
    add_instance_options();
    add_shape_options();
    add_source_options();
}

void CxlHmuCommand::add_device_options()
{
    command_->add_option("--memory", options_.memory_bytes, "size of the memory, as 16M")
        ->transform(CLI::AsSizeValue(false))
        ->capture_default_str();
    command_->add_option("--serial", options_.serial, "serial number of the device")
        ->capture_default_str();
    command_->add_flag("--doe", options_.doe, "add a DOE mailbox with DOE discovery");
    command_->add_flag("--cpmu", options_.cpmu, "add a CXL PMU, whose counters never count");
    command_->add_flag("--map-memory", map_memory_,
                       "let the guest map the memory: fast, and unseen by the CHMUs");
    command_->add_option("--tap", tap_path_,
                         "also count accesses from this file, which memtap.so writes in QEMU; the "
                         "memory is part of the guest's RAM");
    command_
        ->add_option("--tap-base", tap_base_,
                     "guest-physical address of DPA 0, of as many bytes as --memory")
        ->needs("--tap");
    command_->add_option("--chmus", options_.chmus, "CHMUs")->capture_default_str();
    command_->add_option("--instances", options_.instances, "instances of each CHMU")
        ->capture_default_str();
}

void CxlHmuCommand::add_instance_options()
{
    models::cxl_hmu::InstanceParams &p = options_.instance;
    command_->add_option("--counters", p.counters.number, "counters of an instance")
        ->capture_default_str();
    command_->add_option("--ways", p.counters.ways, "counters a unit can have; 1: direct mapped")
        ->capture_default_str();
    command_
        ->add_option("--replacement", replacement_,
                     "replacement when no counter is free: credit|none|least")
        ->capture_default_str();
    command_->add_option("--hot-list", p.hot_list_entries, "entries of a hot list")
        ->capture_default_str();
    command_->add_option("--bitmap-gib", bitmap_gib_, "memory the range bitmap covers, in GiB")
        ->capture_default_str();
    command_->add_option("--unit-sizes", p.unit_sizes, "bit n: units of 256 B << n")
        ->capture_default_str();
    command_->add_option("--downsampling", p.downsampling, "bit n: factor 2^n")
        ->capture_default_str();
    command_->add_option("--requests", p.requests, "bit n: request type n + 1")
        ->capture_default_str();
    command_->add_option("--counter-width", p.counter_width_4k, "bits at a unit of 4 KiB")
        ->capture_default_str();
    command_->add_option("--epoch-min", epoch_min_, "SCALE:VALUE, scale 1 is 100 us, 5 is 1 s")
        ->capture_default_str();
    command_->add_option("--epoch-max", epoch_max_, "SCALE:VALUE")->capture_default_str();
    command_->add_option("--operation-us", operation_us_, "time of enable, disable and reset")
        ->capture_default_str();
    command_->add_option("--seed", p.seed, "of randomized downsampling")->capture_default_str();
    command_->add_flag("--per-counter-epochs", p.per_counter_epochs, "no global epoch");
    command_->add_flag("--postponed", p.postponed,
                       "postponed insertion: hold entries that do not fit the hot list");
    const auto leave_out = [this](const char *option, bool &feature) {
        command_->add_flag_callback(
            option, [&feature] { feature = false; }, "omit this feature");
    };
    leave_out("--no-level-interrupt", p.level_interrupt);
    leave_out("--no-overflow-interrupt", p.overflow_interrupt);
    leave_out("--no-epoch-mode", p.epoch_mode);
    leave_out("--no-always-on", p.always_on_mode);
    leave_out("--no-randomized", p.randomized);
    leave_out("--no-address-overlap", p.overlap);
}

void CxlHmuCommand::add_shape_options()
{
    models::cxl_hmu::InstanceParams &p = options_.instance;
    models::cxl_hmu::Quirks &quirks = p.quirks;
    p.lenient = true;
    command_->add_flag_callback(
        "--strict", [&p] { p.lenient = false; },
        "reject reserved values and report them as violations");
    command_->add_flag("--far-tables", options_.shape.far_tables,
                       "range bitmaps and hot lists after all instances");
    command_
        ->add_option("--bitmap-padding", p.padding_qwords,
                     "qwords between the bitmap and the hot list")
        ->capture_default_str();
    command_->add_option("--block-version", options_.shape.version, "of the common capability")
        ->capture_default_str();
    command_
        ->add_option("--left-enabling-us", left_enabling_us_,
                     "duration of an enable that a previous kernel left in progress; 0: none")
        ->capture_default_str();
    command_->add_flag_callback(
        "--msi", [this] { options_.vectors = models::cxl_hmu::Vectors::kMsi; },
        "MSI in place of MSI-X: message numbers follow the number of vectors that are enabled");
    command_->add_flag_callback(
        "--no-msix", [this] { options_.vectors = models::cxl_hmu::Vectors::kNone; },
        "no interrupt vector at all");
    command_->add_flag("--list-halves", quirks.list_halves,
                       "entries of the hot list can be read in halves");
    command_->add_flag("--joint-head-tail", quirks.joint_head_tail,
                       "head and tail are one register of 4 bytes");
    command_->add_flag("--overflow-when-full", quirks.overflow_when_full,
                       "overflow when the list is full, whether anything was lost or not");
    command_->add_flag("--level-above", quirks.level_above,
                       "level crossing when there are more entries than the threshold");
    command_->add_flag("--garbage-tail", quirks.garbage_tail,
                       "the tail reads 0xffff after an epoch without requests");
    command_
        ->add_option("--late-status-us", late_status_us_,
                     "enable and disable report no operation in progress, and Status[0] changes "
                     "this much later; 0: no delay")
        ->capture_default_str();
    command_->add_flag("--sticky-status", quirks.sticky_status,
                       "overflow and level are never cleared, and announced again at each try");
    command_->add_flag("--reset-empties-list", quirks.reset_empties_list,
                       "a reset of the counters zeroes head and tail");
}

void CxlHmuCommand::add_source_options()
{
    command_->add_option("--source", source_text_,
                         "synthetic accesses at the end of each epoch: "
                         "uniform|zipf|sequential|phase|bursts|replay[:KEY=VALUE,...]; all: "
                         "accesses, epochs (0: unlimited), room; all but replay: seed, units, "
                         "unit-bytes, base, writes, tee (percent); zipf: skew (hundredths); "
                         "phase: hot, period; bursts: burst; replay: file");
    command_->add_option("--source-log", source_log_, "write the synthetic accesses here");
    command_->add_option("--entries-log", entries_log_, "write every hot list entry here");
    command_->add_option("--stats-log", stats_log_,
                         "write here how many register accesses each drain took");
}

Result<void> CxlHmuCommand::settle_source()
{
    if (command_->count("--source") == 0)
        return {};
    Result<models::cxl_hmu::SourceParams> params = models::cxl_hmu::parse_source(source_text_);
    if (!params)
        return params.error();
    Result<models::cxl_hmu::Source> source =
        models::cxl_hmu::Source::create(std::move(params).value());
    if (!source)
        return source.error();
    source_ = std::move(source).value();
    options_.instance.source = &*source_;
    return {};
}

Result<void> CxlHmuCommand::settle()
{
    const auto epoch_min = parse_epoch(epoch_min_);
    const auto epoch_max = parse_epoch(epoch_max_);
    if (!epoch_min || !epoch_max)
        return Error{Errc::kUsage, "--epoch-min, --epoch-max: must be SCALE:VALUE, as 4:1"};
    options_.instance.epoch_min = *epoch_min;
    options_.instance.epoch_max = *epoch_max;

    if (bitmap_gib_ == 0 || bitmap_gib_ > 1024 || bitmap_gib_ % kGibPerBitmapQword != 0)
        return Error{Errc::kUsage, fmt::format("--bitmap-gib {}: a multiple of {} up to 1024",
                                               bitmap_gib_, kGibPerBitmapQword)};
    options_.instance.bitmap_qwords = static_cast<unsigned>(bitmap_gib_ / kGibPerBitmapQword);

    const auto replacement = replacement_by_name(replacement_);
    if (!replacement)
        return Error{Errc::kUsage,
                     fmt::format("--replacement {}: credit, none or least", replacement_)};
    options_.instance.counters.replacement = *replacement;

    if (operation_us_ > 10'000'000)
        return Error{Errc::kUsage,
                     fmt::format("--operation-us {}: at most 10000000", operation_us_)};
    options_.instance.operation_ns = operation_us_ * 1000;
    options_.instance.left_enabling_ns = std::min<uint64_t>(left_enabling_us_, ~0u) * 1000;
    options_.instance.quirks.late_status_ns = std::min<uint64_t>(late_status_us_, ~0u) * 1000;

    if (!fault_.empty()) {
        options_.fault = models::cxl_hmu::find_fault(fault_);
        if (!options_.fault)
            return Error{Errc::kUsage,
                         fmt::format("--fault {}: not one of pmukit-model --list-faults", fault_)};
    }
    if (Result<void> settled = settle_source(); !settled)
        return settled;
    if (Result<void> checked = models::cxl_hmu::check(options_); !checked)
        return checked;
    if (map_memory_ && !tap_path_.empty())
        return Error{Errc::kUsage, "--tap: cannot be combined with --map-memory"};
    return settle_memory();
}

Result<void> CxlHmuCommand::open_tap()
{
    if (tap_path_.empty())
        return {};
    Result<memtap::Tap> tap = memtap::Tap::create(tap_path_, tap_base_, options_.memory_bytes);
    if (!tap)
        return tap.error();
    feed_.emplace(std::move(tap).value());
    options_.feed = &*feed_;
    return {};
}

Result<void> CxlHmuCommand::settle_memory()
{
    if (!map_memory_)
        return {};
    if (!access_log_.empty())
        return Error{Errc::kUsage, "--access-log: with --map-memory there is nothing to write"};
    Result<vfu::BarMemory> memory = vfu::BarMemory::create(options_.memory_bytes);
    if (!memory)
        return memory.error();
    memory_.emplace(std::move(memory).value());
    options_.mapped = &*memory_;
    return {};
}

Result<void> CxlHmuCommand::open_logs()
{
    if (!access_log_.empty()) {
        Result<models::AccessLog> created = models::AccessLog::create(access_log_);
        if (!created)
            return created.error();
        log_ = std::move(created).value();
    }
    options_.instance.logs = &run_logs_;
    Result<void> opened;
    if (!entries_log_.empty())
        opened = run_logs_.open_entries(entries_log_);
    if (opened && !source_log_.empty())
        opened = run_logs_.open_source(source_log_);
    if (opened && !stats_log_.empty())
        opened = run_logs_.open_stats(stats_log_);
    return opened;
}

Result<void> CxlHmuCommand::start(vfu::Chassis &chassis)
{
    if (Result<void> settled = settle(); !settled)
        return settled;
    const Result<vfu::SlotOptions> place = slot_.settle();
    if (!place)
        return place.error();
    const Result<vfu::Slot *> slot = chassis.add_slot(*place);
    if (!slot)
        return slot.error();
    if (Result<void> opened = open_logs(); !opened)
        return opened;
    if (Result<void> opened = open_tap(); !opened)
        return opened;
    model_ = std::make_unique<models::cxl_hmu::CxlHmuModel>(options_, log_, (*slot)->host());
    (*slot)->insert(*model_);
    return {};
}

Result<void> CxlHmuCommand::finish()
{
    model_->take_rest_of_feed();
    model_->drop_outstanding();
    const Result<void> closed = log_.close();
    const Result<void> run_closed = run_logs_.close();
    say("model: device=cxl_hmu accesses={} reads={} writes={} entries={} dropped={} "
        "violations={}\n",
        log_.reads() + log_.writes(), log_.reads(), log_.writes(), model_->entries_stored(),
        model_->entries_dropped(), model_->violations());
    if (feed_)
        say("tap: taken={} refused={}\n", feed_->taken(), feed_->refused());
    return closed ? run_closed : closed;
}

std::vector<FaultDescription> CxlHmuCommand::faults() const
{
    return describe(models::cxl_hmu::faults());
}

std::unique_ptr<ModelCommand> cxl_hmu_command(CLI::App &app)
{
    return std::make_unique<CxlHmuCommand>(app);
}

}  // namespace pmukit::cli
