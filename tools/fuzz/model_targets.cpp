// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Runs the device models with a guest that does anything: it accesses registers of every BAR with
// every width, accesses configuration space, resets the device, lets time pass, and maps and unmaps
// memory whose contents change. Checks that a model observes the rules of vfu/device.hpp for its
// host, even if a fault is injected.
#include <array>
#include <string_view>

#include "fuzz/script.hpp"
#include "fuzz/targets.hpp"
#include "models/cxl_hmu/cxl_hmu_model.hpp"
#include "models/hisi_ptt/hisi_ptt_model.hpp"
#include "models/pcie_ep/pcie_ep_model.hpp"
#include "models/uncore_pmon/uncore_pmon_model.hpp"

namespace pmukit::fuzz {
namespace {

constexpr uint16_t kRootPort = 0x0080;
// Maximum number of steps per script. It is low, because ticks are expensive.
constexpr unsigned kMostSteps = 1024;
constexpr uint64_t kNsPerTick = 1000;

// A host whose DMA reads return the next bytes of the script, so that two reads of an address may
// differ.
class Machine final : public vfu::Host {
public:
    explicit Machine(Script &script) : script_(script) {}

    bool dma_read(uint64_t address, std::span<std::byte> into) override
    {
        if (!reaches(address, into.size()))
            return false;
        script_.fill(into);
        return true;
    }
    bool dma_write(uint64_t address, Bytes from) override { return reaches(address, from.size()); }
    void raise(unsigned) override {}
    uint64_t now_ns() const override { return now_; }
    void log(std::string_view line) override { hold(line.find('\n') == line.npos); }

    void set_mapped(bool mapped) { mapped_ = mapped; }
    uint64_t pass(uint64_t ns) { return now_ += ns; }

private:
    // The memory is small and at address 0, so that the short numbers of a script are often valid
    // addresses.
    static constexpr uint64_t kMemoryBytes = 0x10000;

    bool reaches(uint64_t address, size_t size) const
    {
        return mapped_ && address <= kMemoryBytes && size <= kMemoryBytes - address;
    }

    Script &script_;
    uint64_t now_ = 1'000'000'000;
    bool mapped_ = true;
};

class Guest {
public:
    Guest(vfu::Device &device, vfu::TrafficObserver *observer, Machine &machine, Script &script)
        : device_(device), observer_(observer), machine_(machine), script_(script)
    {
        for (unsigned bar = 0; bar < vfu::kBars; bar++)
            if (device.config().bar(bar))
                bars_[bar_count_++] = bar;
        hold(bar_count_ > 0);
    }

    void run()
    {
        for (unsigned step = 0; step < kMostSteps && !script_.ended(); step++)
            (this->*kActs[script_.below(kActs.size())])();
    }

private:
    struct Place {
        unsigned bar;
        uint64_t offset;
        unsigned width;
    };
    using Act = void (Guest::*)();

    // Chooses the location of a register access. Like the server, the target uses only locations
    // within a BAR.
    Place place()
    {
        const unsigned bar = bars_[script_.below(bar_count_)];
        const unsigned width = 1u << script_.below(4);
        const uint64_t bytes = device_.config().bar(bar)->size_bytes;
        return {bar, script_.below(bytes - width + 1, 4), width};
    }
    void catch_up(uint64_t ns)
    {
        const uint64_t now = machine_.pass(ns);
        device_.advance(now);
        const std::optional<uint64_t> deadline = device_.next_deadline_ns();
        // A deadline that is not in the future would keep the server from ever sleeping.
        hold(!deadline || *deadline > now);
    }

    void read_register()
    {
        catch_up(0);
        const Place at = place();
        device_.bar_read(at.bar, at.offset, at.width);
    }
    void write_register()
    {
        catch_up(0);
        const Place at = place();
        device_.bar_write(at.bar, at.offset, at.width, script_.number(at.width));
    }
    void read_config()
    {
        catch_up(0);
        std::array<std::byte, 8> bytes;
        const size_t width = 1 + script_.below(bytes.size());
        device_.config().read(script_.number(2), std::span(bytes).first(width));
    }
    void write_config()
    {
        catch_up(0);
        const size_t width = 1 + script_.below(8);
        const uint64_t offset = script_.number(2);
        if (device_.config().write(offset, script_.take(width)).function_reset)
            reset();
    }
    void reset()
    {
        device_.config().reset();
        device_.reset();
    }
    void tick() { catch_up(script_.number(2) * kNsPerTick); }
    void map() { machine_.set_mapped(script_.below(2)); }
    void packet()
    {
        if (!observer_)
            return;
        vfu::Packet packet;
        packet.kind = static_cast<vfu::PacketKind>(script_.below(5));
        packet.direction = static_cast<vfu::PacketDirection>(script_.below(2));
        packet.protocol = static_cast<vfu::LinkProtocol>(script_.below(2));
        packet.status = static_cast<vfu::CompletionStatus>(script_.below(2));
        packet.root_port = script_.below(2) ? kRootPort : 0;
        packet.requester = static_cast<uint16_t>(script_.number(2));
        packet.address = script_.number(8);
        packet.bytes = static_cast<uint32_t>(script_.below(4097, 2));
        packet.bytes_left = packet.bytes;
        packet.time_ns = machine_.now_ns();
        observer_->on_packet(packet);
    }

    static constexpr std::array<Act, 8> kActs = {
        &Guest::write_register, &Guest::read_register, &Guest::write_config, &Guest::read_config,
        &Guest::reset,          &Guest::tick,          &Guest::map,          &Guest::packet,
    };

    vfu::Device &device_;
    vfu::TrafficObserver *observer_;
    Machine &machine_;
    Script &script_;
    std::array<unsigned, vfu::kBars> bars_{};
    size_t bar_count_ = 0;
};

// Returns one of the faults, chosen by the script, or nullptr for no fault.
template <typename Faults>
auto *choose_fault(Script &script, const Faults &faults)
{
    const size_t chosen = script.below(std::size(faults) + 1);
    return chosen < std::size(faults) ? &faults[chosen] : nullptr;
}

}  // namespace

void model_cxl_hmu(Bytes bytes)
{
    namespace cxl_hmu = models::cxl_hmu;
    Script script(bytes);
    Machine machine(script);
    models::AccessLog log;
    cxl_hmu::Options options;
    options.memory_bytes = uint64_t{1} << 20;
    // Even a short script can fill such a hot list.
    options.instance.hot_list_entries = cxl_hmu::kMinHotList;
    options.doe = true;
    options.fault = choose_fault(script, cxl_hmu::faults());
    hold(static_cast<bool>(check(options)));
    cxl_hmu::CxlHmuModel model(options, log, machine);
    Guest(model, nullptr, machine, script).run();
}

void model_hisi_ptt(Bytes bytes)
{
    namespace hisi_ptt = models::hisi_ptt;
    Script script(bytes);
    Machine machine(script);
    hisi_ptt::RunLogs logs;
    hisi_ptt::Options options;
    options.root_ports = {kRootPort};
    options.functions = {{0x0100, kRootPort}};
    options.generator = hisi_ptt::GeneratorParams{.rate = 10000, .pasid = 50};
    options.fault = choose_fault(script, hisi_ptt::faults());
    hold(static_cast<bool>(check(options)));
    hisi_ptt::HisiPttModel model(options, logs, machine);
    Guest(model, &model, machine, script).run();
}

void model_pcie_ep(Bytes bytes)
{
    namespace pcie_ep = models::pcie_ep;
    Script script(bytes);
    Machine machine(script);
    pcie_ep::PcieEpModel model({.memory_bytes = 0x10000}, machine);
    Guest(model, nullptr, machine, script).run();
}

void model_uncore_pmon(Bytes bytes)
{
    namespace uncore_pmon = models::uncore_pmon;
    Script script(bytes);
    Machine machine(script);
    uncore_pmon::AccessRecord record;
    uncore_pmon::Options options;
    options.root_ports = {kRootPort};
    options.msr_units = options.pci_units = 1;
    options.global_mmio = true;
    options.underfill = script.below(2);
    options.fault = choose_fault(script, uncore_pmon::faults());
    hold(static_cast<bool>(check(options)));
    uncore_pmon::UncorePmonModel model(options, record, machine);
    Guest(model, &model, machine, script).run();
}

}  // namespace pmukit::fuzz
