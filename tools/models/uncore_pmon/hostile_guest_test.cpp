// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// A guest with random accesses that also moves the BARs, under every fault. The device must answer
// each access, and counters must stay within their width; sanitizers check memory accesses.
#include <gtest/gtest.h>

#include <iterator>
#include <optional>
#include <random>

#include "models/fake_machine.hpp"
#include "models/uncore_pmon/uncore_pmon_model.hpp"

namespace pmukit::models::uncore_pmon {
namespace {

constexpr unsigned kSteps = 5000;
constexpr uint64_t kBoxes[] = {0x2a2800, 0x2aa800, 0x10000, 0x14000, 0x18000, 0x100000, 0};

class HostileGuest {
public:
    explicit HostileGuest(const Fault *fault) : random_(fault ? fault->name.size() : 0)
    {
        Options options;
        options.root_ports = {0x0080};
        options.msr_units = options.pci_units = 1;
        options.box.width = 24;
        options.box.below_wrap = 100;
        options.underfill = true;
        options.global_mmio = true;
        options.fault = fault;
        model.emplace(options, record, machine);
    }

    void step()
    {
        machine.now += below(100000);
        switch (below(10)) {
            case 0:
                model->bar_read(0, place(0), width());
                break;
            case 1:
                model->on_packet(packet());
                break;
            case 2:
                if (below(50) == 0)
                    model->reset();
                break;
            case 3:
                model->config().write(0x10 + 4 * below(6), 4, static_cast<uint32_t>(random_()));
                break;
            case 4:
                model->bar_read(kDdrBar, place(kDdrBar), width());
                break;
            case 5:
                model->bar_write(kDdrBar, place(kDdrBar), width(), random_());
                break;
            case 6:
                model->bar_read(kUnitBar, register_offset(), width());
                break;
            default:
                model->bar_write(kUnitBar, register_offset(), width(), value());
                break;
        }
    }

    FakeMachine machine;
    AccessRecord record;
    std::optional<UncorePmonModel> model;

private:
    uint64_t below(uint64_t limit) { return random_() % limit; }
    // Any offset for which the whole access is inside the BAR, as the server ensures.
    uint64_t place(unsigned bar) { return below(model->config().bar(bar)->size_bytes - 7); }
    uint64_t register_offset()
    {
        return below(8) ? kBoxes[below(std::size(kBoxes))] + below(0x100) / 4 * 4 : place(kUnitBar);
    }
    unsigned width() { return 1u << below(4); }
    uint64_t value() { return below(2) ? random_() : 0xff05 | below(2) << 22; }
    vfu::Packet packet()
    {
        vfu::Packet packet;
        packet.kind = static_cast<vfu::PacketKind>(below(5));
        packet.protocol = static_cast<vfu::LinkProtocol>(below(2));
        packet.root_port = below(4) ? 0x0080 : static_cast<uint16_t>(random_());
        packet.address = random_();
        packet.bytes = static_cast<uint32_t>(below(4097));
        packet.time_ns = machine.now;
        return packet;
    }

    std::mt19937_64 random_;
};

void run(const Fault *fault)
{
    SCOPED_TRACE(fault ? fault->name : "no fault");
    HostileGuest guest(fault);
    for (unsigned i = 0; i < kSteps; i++)
        guest.step();
    const AccessTally &tally = guest.record.tally();
    for (const uint64_t seen : {tally.ddr_reads, tally.ddr_writes, tally.cxl_reads,
                                tally.cxl_writes, tally.register_reads, tally.register_writes})
        EXPECT_GT(seen, 0u);
    if (fault && fault->registers != Registers::kAsTheyAre)
        return;
    for (unsigned i = 0; i < 4; i++)
        EXPECT_LT(guest.model->bar_read(kUnitBar, kBoxes[0] + 8 + 8 * i, 8), 1u << 24);
}

TEST(UncoreHostileGuest, RandomAccessesKeepCountersWithinTheirWidth)
{
    run(nullptr);
}

TEST(UncoreHostileGuest, RandomAccessesUnderEveryFaultKeepCountersWithinTheirWidth)
{
    for (const Fault &fault : faults())
        run(&fault);
}

}  // namespace
}  // namespace pmukit::models::uncore_pmon
