// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "models/hisi_ptt/hisi_ptt_model.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "models/hisi_ptt/tlp_encoder.hpp"

namespace pmukit::models::hisi_ptt {

namespace {

// The class is not published; this is "other system peripheral".
constexpr uint32_t kClass = 0x088000;
constexpr uint64_t kBarBytes = 0x1000;  // smallest size that holds all registers
constexpr uint32_t kRegisterBytes = 4;
constexpr uint16_t kCommand = 0x04;  // offset in configuration space
constexpr uint32_t kCommandBusMaster = 1u << 2;

constexpr uint64_t kFloodPieceBytes = 8192;  // size of one write of flood entries to memory

constexpr uint32_t range_of(const std::vector<uint16_t> &ports)
{
    const auto [lowest, highest] = std::ranges::minmax(ports);
    return kDeviceRangeLower.put(lowest) | kDeviceRangeUpper.put(highest);
}

template <size_t kDwords>
std::array<std::byte, 4 * kDwords> in_memory(const std::array<uint32_t, kDwords> &dwords)
{
    std::array<std::byte, 4 * kDwords> bytes;
    for (size_t i = 0; i < kDwords; i++)
        store_le<uint32_t>(&bytes[4 * i], dwords[i]);
    return bytes;
}

}  // namespace

const HisiPttModel::Register HisiPttModel::kRegisters[] = {
    {kTuningCtrl, &HisiPttModel::read_tuning_ctrl, &HisiPttModel::write_tuning_ctrl},
    {kTuningData, &HisiPttModel::read_tuning_data, &HisiPttModel::write_tuning_data},
    {kTuningIntStat, &HisiPttModel::read_tuning_status, nullptr},
    {kTraceAddrSize, &HisiPttModel::read_size, &HisiPttModel::write_size},
    {kTraceCtrl, &HisiPttModel::read_ctrl, &HisiPttModel::write_ctrl},
    {kTraceIntStat, &HisiPttModel::read_int_status, &HisiPttModel::write_int_status},
    {kTraceIntMask, &HisiPttModel::read_int_mask, &HisiPttModel::write_int_mask},
    {kTraceWriteStatus, &HisiPttModel::read_write_status, nullptr},
    {kTraceStatus, &HisiPttModel::read_status, nullptr},
    {kDeviceRange, &HisiPttModel::read_range, nullptr},
    {kLocation, &HisiPttModel::read_location, nullptr},
};

HisiPttModel::HisiPttModel(const Options &options, RunLogs &logs, vfu::Host &host)
    : logs_(logs),
      host_(host, options.fault),
      messages_(host_, options.messages),
      conformance_(host_, options.lenient),
      shown_(options.fault),
      config_({.vendor = kVendor,
               .device = kDevice,
               .subsystem_vendor = kVendor,
               .subsystem_device = kDevice,
               .class_code = kClass,
               .revision = 1}),
      tuner_(host_, options.tune_ns),
      engine_(messages_),
      range_(range_of(options.root_ports)),
      location_(kLocationCore.put(options.core) | kLocationSicl.put(options.sicl)),
      tick_ns_(options.tick_ns),
      wide_tags_(options.wide_tags)
{
    if (options.generator)
        generator_.emplace(*options.generator, options.functions, options.wide_tags);
    if (options.flood) {
        flood_.emplace(*options.flood);
        flooded_ = options.functions.front();
    }
    build_config();
}

// To the guest, QEMU shows an endpoint on the root bus as a root-complex integrated endpoint.
void HisiPttModel::build_config()
{
    config_.add_bar(kRegisterBar, vfu::BarKind::kMemory64, kBarBytes);
    config_.add_pcie_endpoint();
    config_.add_msi({.vectors = 1});
    config_.on_write(kCommand, [this](const vfu::DwordWrite &write) {
        if ((write.mask & ~write.value & kCommandBusMaster) != 0)
            conformance_.bus_master_off();
    });
}

void HisiPttModel::reset()
{
    if (engine_.running())
        stop();
    host_.power_on();
    shown_.power_on();
    tuner_.power_on();
    engine_.power_on();
    conformance_.power_on();
    ctrl_ = 0;
    selection_ = Selection();
    base_ = {};
}

// The guest's accesses

const HisiPttModel::Register *HisiPttModel::find(uint64_t offset, unsigned width) const
{
    static constexpr Register kBase{kTraceAddrBaseLo, &HisiPttModel::read_base,
                                    &HisiPttModel::write_base};
    if (width != kRegisterBytes || offset % kRegisterBytes != 0)
        return nullptr;
    if (offset >= kTraceAddrBaseLo && offset < kTraceAddrBaseLo + kBuffers * kTraceAddrStride)
        return &kBase;
    const auto found = std::ranges::find(kRegisters, offset, &Register::offset);
    return found == std::end(kRegisters) ? nullptr : found;
}

uint64_t HisiPttModel::bar_read(unsigned bar, uint64_t offset, unsigned width)
{
    logs_.read();
    host_.something_happened();
    const Register *const found = find(offset, width);
    if (!found) {
        const std::string what =
            fmt::format("BAR {}: read of {} bytes at {:#x}: no register", bar, width, offset);
        host_.log(what);
        conformance_.wrong_access(what);
        return ~uint64_t{0};
    }
    const auto at = static_cast<uint32_t>(offset);
    conformance_.read(at);
    return shown_.read(at, (this->*found->read)(at));
}

void HisiPttModel::bar_write(unsigned bar, uint64_t offset, unsigned width, uint64_t value)
{
    logs_.wrote();
    const Register *const found = find(offset, width);
    if (found && found->write) {
        const auto at = static_cast<uint32_t>(offset);
        const auto word = static_cast<uint32_t>(value);
        shown_.wrote(at, word);
        conformance_.wrote(at, word, tuner_.busy());
        (this->*found->write)(at, word);
    } else {
        const std::string what = fmt::format("BAR {}: write of {} bytes at {:#x}: {}", bar, width,
                                             offset, found ? "read only" : "no register");
        host_.log(what);
        conformance_.wrong_access(what);
    }
    host_.something_happened();
}

// Tune

uint32_t HisiPttModel::read_tuning_ctrl(uint32_t)
{
    return tuner_.ctrl();
}

uint32_t HisiPttModel::read_tuning_data(uint32_t)
{
    return tuner_.data();
}

uint32_t HisiPttModel::read_tuning_status(uint32_t)
{
    return kTuningIntStatBusy.put(tuner_.busy());
}

void HisiPttModel::write_tuning_ctrl(uint32_t, uint32_t value)
{
    tuner_.write_ctrl(value);
}

void HisiPttModel::write_tuning_data(uint32_t, uint32_t value)
{
    tuner_.write_data(value);
}

// Trace

uint32_t HisiPttModel::read_size(uint32_t)
{
    return engine_.size_bytes();
}

void HisiPttModel::write_size(uint32_t, uint32_t value)
{
    engine_.set_size(value);
}

uint32_t HisiPttModel::read_base(uint32_t offset)
{
    return base_[(offset - kTraceAddrBaseLo) / kRegisterBytes];
}

void HisiPttModel::write_base(uint32_t offset, uint32_t value)
{
    const uint32_t word = (offset - kTraceAddrBaseLo) / kRegisterBytes;
    const uint32_t buffer = word / 2;
    base_[word] = value;
    engine_.set_base(buffer, base_[2 * buffer] | uint64_t{base_[2 * buffer + 1]} << 32);
}

uint32_t HisiPttModel::read_ctrl(uint32_t)
{
    return ctrl_;
}

void HisiPttModel::write_ctrl(uint32_t, uint32_t value)
{
    const bool enable = kTraceCtrlEnable.get(value) != 0;
    const bool changed = value != ctrl_;
    ctrl_ = value;
    if (engine_.running() && !enable)
        stop();
    if (kTraceCtrlReset.get(value) != 0)
        engine_.reset_pointer();
    selection_ = Selection(value);
    if (!engine_.running() && enable)
        start();
    else if (engine_.running() && changed)
        note_selection("change");
}

void HisiPttModel::start()
{
    if (selection_.reserved())
        host_.log(fmt::format("trace control {:#010x}: a reserved combination", ctrl_));
    if (engine_.size_bytes() == 0 || engine_.size_bytes() > kTraceWriteStatusBytes.limit())
        host_.log(fmt::format("buffers of {} bytes: nothing can be written", engine_.size_bytes()));
    host_.trace_begins();
    messages_.trace_begins();
    engine_.start();
    if (generator_)
        generator_->start(host_.now_ns());
    if (flood_)
        flood_->start(host_.now_ns());
    note_selection("start");
    logs_.event("start");
    if (logs_.wants_buffers())
        logs_.buffers(fmt::format("start at={} size={:#x}", host_.now_ns(), engine_.size_bytes()));
}

void HisiPttModel::stop()
{
    engine_.stop();
    if (generator_)
        generator_->stop();
    if (flood_)
        flood_->stop();
    log_progress();
    if (logs_.wants_buffers())
        logs_.buffers(fmt::format("stop at={} entries={}", host_.now_ns(), engine_.run_entries()));
    logs_.traced().note(fmt::format("stop at={}", host_.now_ns()));
    logs_.event("stop");
}

void HisiPttModel::note_selection(std::string_view what)
{
    logs_.traced().note(fmt::format(
        "{} at={} format={}dw direction={} types={:#x} filter={}:{:#06x} buffer={} tick_ns={}",
        what, host_.now_ns(), kTraceCtrlFormat.get(ctrl_) ? 8 : 4, kTraceCtrlDirection.get(ctrl_),
        kTraceCtrlType.get(ctrl_), kTraceCtrlFilterMode.get(ctrl_) ? "requester" : "port",
        kTraceCtrlTarget.get(ctrl_), engine_.size_bytes(), tick_ns_));
}

uint32_t HisiPttModel::read_int_status(uint32_t)
{
    return engine_.status();
}

void HisiPttModel::write_int_status(uint32_t, uint32_t value)
{
    if (logs_.wants_buffers())
        logs_.buffers(
            fmt::format("acknowledge at={} bits={:#x}", host_.now_ns(), value & engine_.status()));
    engine_.clear_status(value);
    logs_.event("acknowledge");
}

uint32_t HisiPttModel::read_int_mask(uint32_t)
{
    return engine_.mask();
}

void HisiPttModel::write_int_mask(uint32_t, uint32_t value)
{
    engine_.set_mask(value);
    log_progress();
}

uint32_t HisiPttModel::read_write_status(uint32_t)
{
    return engine_.write_status();
}

uint32_t HisiPttModel::read_status(uint32_t)
{
    return kTraceStatusIdle.put(!engine_.running());
}

uint32_t HisiPttModel::read_range(uint32_t)
{
    return range_;
}

uint32_t HisiPttModel::read_location(uint32_t)
{
    return location_;
}

// Packets

bool HisiPttModel::serves(uint16_t root_port) const
{
    return root_port >= kDeviceRangeLower.get(range_) && root_port <= kDeviceRangeUpper.get(range_);
}

// Before the packet itself, traces the generated packets that are due earlier.
void HisiPttModel::on_packet(const vfu::Packet &packet)
{
    advance(packet.time_ns);
    if (serves(packet.root_port))
        see({.packet = packet});
}

void HisiPttModel::see(const Tlp &tlp)
{
    seen_++;
    logs_.seen().add(tlp);
    if (engine_.running() && selection_.takes(tlp))
        trace(tlp);
    host_.something_happened();
}

void HisiPttModel::trace(const Tlp &tlp)
{
    const uint64_t time = tlp.packet.time_ns / tick_ns_;
    const bool written = kTraceCtrlFormat.get(ctrl_) != 0
                             ? engine_.put(in_memory(encode_8dw(tlp, time, wide_tags_)))
                             : engine_.put(in_memory(encode_4dw(tlp, time, wide_tags_)));
    logs_.traced().add(tlp, !written);
    log_progress();
}

// Returns a memory write that the guest's selection accepts: an outbound write by a CPU, or else an
// inbound write by the function; nullopt if the selection accepts neither.
std::optional<Tlp> HisiPttModel::flood_packet() const
{
    for (const bool outbound : {true, false}) {
        Tlp tlp;
        tlp.packet.kind = vfu::PacketKind::kMemoryWrite;
        tlp.packet.direction =
            outbound ? vfu::PacketDirection::kOutbound : vfu::PacketDirection::kInbound;
        tlp.packet.root_port = flooded_.root_port;
        tlp.packet.function = flooded_.function;
        tlp.packet.requester = outbound ? vfu::kRootComplex : flooded_.function;
        tlp.packet.completer = outbound ? flooded_.function : 0;
        tlp.packet.bytes = 4;
        if (selection_.takes(tlp))
            return tlp;
    }
    return std::nullopt;
}

void HisiPttModel::flood(const Flood::Packets &packets)
{
    seen_ += packets.count;
    const std::optional<Tlp> tlp = flood_packet();
    if (!engine_.running() || !tlp)
        return;
    const uint64_t time = packets.time_ns / tick_ns_;
    const bool wide = kTraceCtrlFormat.get(ctrl_) != 0;
    std::vector<std::byte> entry;
    if (wide)
        std::ranges::copy(in_memory(encode_8dw(*tlp, time, wide_tags_)), std::back_inserter(entry));
    else
        std::ranges::copy(in_memory(encode_4dw(*tlp, time, wide_tags_)), std::back_inserter(entry));
    const size_t address_at = wide ? kEntry8Address : kEntry4Address;
    const auto bytes = static_cast<uint32_t>(entry.size());
    const uint64_t piece = kFloodPieceBytes / bytes;
    std::vector<std::byte> block(kFloodPieceBytes);
    uint64_t written = 0;
    for (uint64_t done = 0; done < packets.count; done += piece) {
        const uint64_t count = std::min(piece, packets.count - done);
        for (uint64_t i = 0; i < count; i++) {
            std::ranges::copy(entry, block.begin() + static_cast<ptrdiff_t>(i * bytes));
            store_le<uint32_t>(&block[i * bytes + address_at],
                               static_cast<uint32_t>(4 * (packets.first + done + i)));
        }
        written += engine_.put_many(Bytes(block).first(count * bytes), bytes);
    }
    logs_.traced().note(fmt::format("flood at={} first={} count={} lost={}", packets.time_ns,
                                    packets.first, packets.count, packets.count - written));
    log_progress();
    host_.something_happened();
}

void HisiPttModel::log_progress()
{
    for (; messages_logged_ < engine_.counts().messages; messages_logged_++)
        logs_.event("message");
    if (!logs_.wants_buffers()) {
        engine_.take_fills();
        return;
    }
    for (const Fill &fill : engine_.take_fills())
        logs_.buffers(fmt::format(
            "{} {} buffer={} address={:#x} first={} entries={} bytes={} begin={} end={}{}",
            fill.bytes == engine_.size_bytes() ? "fill" : "part", fill.number, fill.buffer,
            fill.address, fill.first_entry, fill.entries, fill.bytes, fill.begin_ns, fill.end_ns,
            fill.overwrites_unread ? " overwrites-unread" : ""));
    for (; arrivals_logged_ < messages_.arrived(); arrivals_logged_++)
        logs_.buffers(fmt::format("message at={}", host_.now_ns()));
}

// Time

std::optional<uint64_t> HisiPttModel::next_deadline_ns() const
{
    std::optional<uint64_t> next = messages_.next_deadline_ns();
    for (const std::optional<uint64_t> &other : {generator_ ? generator_->next_ns() : std::nullopt,
                                                 flood_ ? flood_->next_ns() : std::nullopt})
        if (other && (!next || *other < *next))
            next = other;
    return next;
}

void HisiPttModel::advance(uint64_t now_ns)
{
    if (generator_)
        generator_->run_until(now_ns, [this](const Tlp &tlp) { see(tlp); });
    if (flood_)
        flood_->run_until(now_ns, [this](const Flood::Packets &packets) { flood(packets); });
    messages_.advance(now_ns);
    log_progress();
}

}  // namespace pmukit::models::hisi_ptt
