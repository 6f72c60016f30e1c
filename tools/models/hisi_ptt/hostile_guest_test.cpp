// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// A guest with random accesses under every fault, while packets pass, buffer memory is removed and
// added, and resets interrupt traces. The device must answer each access; sanitizers check its
// memory accesses.
#include <gtest/gtest.h>

#include <random>

#include "models/fake_machine.hpp"
#include "models/hisi_ptt/hisi_ptt_model.hpp"

namespace pmukit::models::hisi_ptt {
namespace {

constexpr unsigned kSteps = 5000;
constexpr uint64_t kMemory = 0x1000;
constexpr uint32_t kOffsets[] = {kTuningCtrl,  kTuningData,       kTraceAddrSize, kTraceAddrBaseLo,
                                 kTraceCtrl,   kTraceIntStat,     kTraceIntMask,  kTuningIntStat,
                                 kTraceStatus, kTraceWriteStatus, kDeviceRange,   kLocation};

class HostileGuest {
public:
    explicit HostileGuest(const Fault *fault) : random_(fault ? fault->name.size() : 0)
    {
        Options options;
        options.root_ports = {0x0080};
        options.functions = {{0x0100, 0x0080}};
        options.generator = GeneratorParams{.rate = 100000, .pasid = 50};
        options.flood = FloodParams{.rate = 200000, .burst = 100};
        options.messages = {.late = 1, .late_ns = 50000, .merge = 2, .lose_every = 3};
        options.wide_tags = true;
        options.fault = fault;
        model.emplace(options, logs, machine);
    }

    void step()
    {
        machine.now += below(100000);
        model->advance(machine.now);
        switch (below(8)) {
            case 0:
                model->bar_read(kRegisterBar, offset(), width());
                break;
            case 1:
                model->on_packet(packet());
                break;
            case 2:
                if (below(50) == 0)
                    model->reset();
                if (below(50) == 0)
                    take_or_give_memory();
                break;
            default:
                model->bar_write(kRegisterBar, offset(), width(), value());
                break;
        }
    }

    FakeMachine machine{kMemory};
    RunLogs logs;
    std::optional<HisiPttModel> model;
    unsigned times_taken = 0;

private:
    void take_or_give_memory()
    {
        times_taken += !machine.memory.empty();
        machine.memory.resize(kMemory - machine.memory.size());
        machine.memory.shrink_to_fit();
    }
    uint64_t below(uint64_t limit) { return random_() % limit; }
    // Mostly valid registers and widths.
    uint64_t offset() { return below(4) ? kOffsets[below(std::size(kOffsets))] : below(0xff8); }
    unsigned width() { return below(8) ? 4 : 1u << below(4); }
    uint64_t value()
    {
        switch (below(4)) {
            case 0:
                return random_();
            case 1:
                // A size that is smaller than an entry, or no multiple of an entry.
                return 1 + below(100);
            case 2:
                return kTraceCtrlEnable.put(1) | kTraceCtrlType.put(7) |
                       kTraceCtrlTarget.put(0xffff) | kTraceCtrlDirection.put(2) |
                       kTraceCtrlFormat.put(below(2) != 0);
            default:
                return 0;
        }
    }
    vfu::Packet packet()
    {
        vfu::Packet packet;
        packet.kind = static_cast<vfu::PacketKind>(below(5));
        packet.direction = static_cast<vfu::PacketDirection>(below(2));
        packet.root_port = 0x0080;
        packet.requester = static_cast<uint16_t>(random_());
        packet.address = random_();
        packet.bytes = static_cast<uint32_t>(below(4097));
        packet.bytes_left = packet.bytes;
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
    const TraceCounts &counts = guest.model->trace_counts();
    EXPECT_GT(counts.entries, 0u);
    EXPECT_GT(counts.lost, 0u);
    EXPECT_GT(counts.buffers, 0u);
    EXPECT_GT(guest.times_taken, 0u);
}

TEST(HisiPttHostileGuest, ModelSurvivesRandomAccesses)
{
    run(nullptr);
}

TEST(HisiPttHostileGuest, ModelSurvivesRandomAccessesUnderEveryFault)
{
    for (const Fault &fault : faults())
        run(&fault);
}

}  // namespace
}  // namespace pmukit::models::hisi_ptt
