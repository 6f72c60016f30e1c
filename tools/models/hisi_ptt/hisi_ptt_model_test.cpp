// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Tests the PCIe function as a driver uses it: registers, packets, buffers, messages.
#include "models/hisi_ptt/hisi_ptt_model.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>

#include "base/test_folder.hpp"
#include "models/fake_machine.hpp"

namespace pmukit::models::hisi_ptt {
namespace {

using vfu::Packet;
using vfu::PacketDirection;
using vfu::PacketKind;

constexpr uint64_t kMemory = 0x1'0000'0000;
constexpr uint32_t kBufferBytes = 0x100;
constexpr uint16_t kPort = 0x0080, kSecondPort = 0x0088, kForeignPort = 0x0090;
constexpr uint16_t kFunction = 0x0100;

Options options_of(const char *fault = nullptr)
{
    Options options;
    options.root_ports = {kSecondPort, kPort};
    options.functions = {{kFunction, kPort}};
    options.sicl = 3;
    options.core = 1;
    options.lenient = true;  // the buffers are smaller than documented
    if (fault) {
        options.fault = find_fault(fault);
        EXPECT_NE(options.fault, nullptr) << fault;
    }
    return options;
}

class Ptt {
public:
    explicit Ptt(const Options &options = options_of()) : model(options, logs, machine) {}

    uint32_t read(uint32_t offset)
    {
        return static_cast<uint32_t>(model.bar_read(kRegisterBar, offset, 4));
    }
    void write(uint32_t offset, uint32_t value) { model.bar_write(kRegisterBar, offset, 4, value); }

    // Starts a trace in the documented order: program the buffers, reset, enable.
    void start(uint32_t selection)
    {
        for (uint32_t i = 0; i < kBuffers; i++) {
            write(kTraceAddrBaseLo + i * kTraceAddrStride, i * kBufferBytes);
            write(kTraceAddrBaseHi + i * kTraceAddrStride, kMemory >> 32);
        }
        write(kTraceAddrSize, kBufferBytes);
        write(kTraceCtrl, kTraceCtrlReset.put(1));
        write(kTraceCtrl, 0);
        write(kTraceIntStat, 0xf);
        write(kTraceIntMask, 0);
        write(kTraceCtrl, selection | kTraceCtrlEnable.put(1));
    }
    // Passes packets to the model. Each is traced as a 32-byte entry; eight entries fill a buffer.
    void packets(unsigned count, uint16_t port = kPort)
    {
        for (unsigned i = 0; i < count; i++) {
            Packet packet;
            packet.kind = PacketKind::kMemoryWrite;
            packet.direction = PacketDirection::kOutbound;
            packet.root_port = port;
            packet.address = 0x1000 + 4 * next++;
            packet.bytes = 4;
            packet.time_ns = machine.now;
            model.on_packet(packet);
        }
    }
    uint32_t word(size_t offset) const { return load_le<uint32_t>(&machine.memory[offset]); }

    FakeMachine machine{kBuffers * kBufferBytes, kMemory};
    RunLogs logs;
    HisiPttModel model;
    uint32_t next = 0;
};

constexpr uint32_t kWrites8Dw = kTraceCtrlFormat.put(1) | kTraceCtrlDirection.put(1) |
                                kTraceCtrlType.put(kTypePosted) | kTraceCtrlTarget.put(1);

TEST(HisiPttModel, HasOneMsiVectorAndOneBar)
{
    Ptt ptt;
    vfu::ConfigSpace &config = ptt.model.config();
    EXPECT_EQ(config.read(0, 4), 0xa12e19e5u);
    EXPECT_EQ(config.msi_vectors(), 1u);
    EXPECT_FALSE(config.msix());
    for (unsigned bar = 0; bar < vfu::kBars; bar++)
        EXPECT_EQ(config.bar(bar).has_value(), bar == kRegisterBar) << bar;
    EXPECT_GE(config.bar(kRegisterBar)->size_bytes, 0x1000u);
}

TEST(HisiPttModel, DeviceRangeAndLocationRegistersAreReadOnly)
{
    Ptt ptt;
    EXPECT_EQ(ptt.read(kDeviceRange), 0x00880080u);
    EXPECT_EQ(ptt.read(kLocation), 0x00030001u);
    ptt.write(kDeviceRange, 0);
    ptt.write(kLocation, 0);
    EXPECT_EQ(ptt.read(kDeviceRange), 0x00880080u);
    EXPECT_EQ(ptt.read(kLocation), 0x00030001u);
    EXPECT_TRUE(ptt.machine.logged("read only"));
}

TEST(HisiPttModel, OnlyAlignedFourByteAccessesAreValid)
{
    Ptt ptt;
    EXPECT_EQ(ptt.model.bar_read(kRegisterBar, kLocation, 8), ~uint64_t{0});
    EXPECT_EQ(ptt.model.bar_read(kRegisterBar, kLocation, 2), ~uint64_t{0});
    EXPECT_EQ(ptt.model.bar_read(kRegisterBar, kLocation + 2, 4), ~uint64_t{0});
    EXPECT_EQ(ptt.read(0x100), ~0u);
    ptt.model.bar_write(kRegisterBar, kTraceAddrSize, 8, 0x1000);
    ptt.write(0xffc, 1);
    EXPECT_EQ(ptt.read(kTraceAddrSize), 0u);
    EXPECT_EQ(ptt.machine.lines.size(), 6u);
}

TEST(HisiPttModel, BufferAddressRegistersReturnWhatWasWritten)
{
    Ptt ptt;
    for (uint32_t i = 0; i < 2 * kBuffers; i++)
        ptt.write(kTraceAddrBaseLo + 4 * i, 0x1000 + i);
    for (uint32_t i = 0; i < 2 * kBuffers; i++)
        EXPECT_EQ(ptt.read(kTraceAddrBaseLo + 4 * i), 0x1000 + i);
}

TEST(HisiPttModel, TracesOneEntryPerPacket)
{
    Ptt ptt;
    EXPECT_EQ(ptt.read(kTraceStatus), 1u);
    ptt.start(kWrites8Dw);
    EXPECT_EQ(ptt.read(kTraceStatus), 0u);
    ptt.packets(1);
    EXPECT_EQ(ptt.word(0), 0xffffffffu);
    EXPECT_EQ(ptt.word(8), 0x40000001u);
    EXPECT_EQ(ptt.word(16), 0x1000u);
    EXPECT_EQ(ptt.word(28), 100'000'000u);  // 1 s in ticks of 10 ns
    EXPECT_EQ(ptt.read(kTraceWriteStatus), 32u);
    ptt.write(kTraceCtrl, 0);
    ptt.packets(1);
    EXPECT_EQ(ptt.read(kTraceWriteStatus), 32u);
    EXPECT_EQ(ptt.read(kTraceStatus), 1u);
    ptt.write(kTraceCtrl, kTraceCtrlReset.put(1));
    EXPECT_EQ(ptt.read(kTraceWriteStatus), 0u);
}

TEST(HisiPttModel, FourDwordEntriesAreHalfAsLong)
{
    Ptt ptt;
    ptt.start(kWrites8Dw & ~kTraceCtrlFormat.mask());
    ptt.packets(2);
    EXPECT_EQ(ptt.read(kTraceWriteStatus), 32u);
    EXPECT_EQ(ptt.word(0) >> 30, 2u);
    EXPECT_EQ(ptt.word(16 + 8), 0x1004u);
}

TEST(HisiPttModel, PacketsOfPortsOutsideTheDeviceRangeAreIgnored)
{
    Ptt ptt;
    ptt.start(kWrites8Dw | kTraceCtrlTarget.put(0xffff));
    ptt.packets(1, kForeignPort);
    EXPECT_EQ(ptt.model.packets_seen(), 0u);
    ptt.packets(1, kSecondPort);
    EXPECT_EQ(ptt.model.packets_seen(), 1u);
    EXPECT_EQ(ptt.read(kTraceWriteStatus), 32u);
}

TEST(HisiPttModel, AFullBufferSendsOneMsi)
{
    Ptt ptt;
    ptt.start(kWrites8Dw);
    ptt.packets(8);
    EXPECT_EQ(ptt.machine.raised, std::vector<unsigned>{0});
    EXPECT_EQ(ptt.read(kTraceIntStat), 1u);
    EXPECT_EQ(ptt.read(kTraceWriteStatus), 0x10000000u);
    ptt.write(kTraceIntStat, 1);
    EXPECT_EQ(ptt.read(kTraceIntStat), 0u);
}

TEST(HisiPttModel, ReservedCombinationsOfTraceCtrlAreLoggedButNotRefused)
{
    Ptt ptt;
    ptt.start(kWrites8Dw & ~kTraceCtrlDirection.mask());
    ptt.packets(1);
    EXPECT_EQ(ptt.read(kTraceWriteStatus), 0u);
    EXPECT_TRUE(ptt.machine.logged("reserved combination"));
}

TEST(HisiPttModel, ResetRestoresThePowerOnState)
{
    Ptt ptt;
    ptt.start(kWrites8Dw);
    ptt.packets(9);
    ptt.write(kTuningCtrl, kTuneQosTxP);
    ptt.model.reset();
    for (const uint32_t offset : {kTraceCtrl, kTraceAddrSize, kTraceAddrBaseLo, kTraceAddrBaseHi,
                                  kTraceIntStat, kTraceWriteStatus, kTuningCtrl})
        EXPECT_EQ(ptt.read(offset), 0u) << offset;
    EXPECT_EQ(ptt.read(kTraceStatus), 1u);
    EXPECT_EQ(ptt.read(kTraceIntMask), 0xfu);
    ptt.packets(1);
    EXPECT_EQ(ptt.model.trace_counts().entries, 9u);
}

TEST(HisiPttModel, GeneratedAndRealPacketsAreTracedInOrderOfTime)
{
    Options options = options_of();
    options.generator = *parse_generator("rate=1000,count=3,inbound=0,reads=0");
    Ptt ptt(options);
    EXPECT_FALSE(ptt.model.next_deadline_ns());
    ptt.start(kWrites8Dw);
    ASSERT_TRUE(ptt.model.next_deadline_ns());
    ptt.machine.now += 1'500'000;  // two generated packets are due before the real one
    ptt.packets(1);
    EXPECT_EQ(ptt.read(kTraceWriteStatus), 3 * 32u);
    EXPECT_EQ(ptt.word(64 + 16), 0x1000u);
    ptt.machine.now += 10'000'000;
    ptt.model.advance(ptt.machine.now);
    EXPECT_EQ(ptt.read(kTraceWriteStatus), 4 * 32u);
}

TEST(HisiPttModel, TuneOperationIsBusyThenDone)
{
    Ptt ptt;
    ptt.write(kTuningCtrl, kTuneQosTxP);
    ptt.write(kTuningData, 7);
    EXPECT_EQ(ptt.read(kTuningIntStat), 1u);
    ptt.machine.now += 5000;
    EXPECT_EQ(ptt.read(kTuningIntStat), 0u);
    ptt.write(kTuningData, kTuningRead);
    ptt.machine.now += 5000;
    EXPECT_EQ(ptt.read(kTuningIntStat), 0u);
    EXPECT_EQ(ptt.read(kTuningData), 2u);
}

// Faults

TEST(HisiPttFaults, NamesAreUniqueAndFound)
{
    for (const Fault &fault : faults())
        EXPECT_EQ(find_fault(fault.name), &fault) << fault.name;
    EXPECT_EQ(find_fault("none-such"), nullptr);
}

TEST(HisiPttFaults, WritePointerExceedsTheBufferAfterAStop)
{
    Ptt ptt(options_of("write-pointer-beyond-buffer"));
    ptt.start(kWrites8Dw);
    ptt.packets(1);
    EXPECT_EQ(ptt.read(kTraceWriteStatus), 32u);
    ptt.write(kTraceCtrl, 0);
    EXPECT_EQ(ptt.read(kTraceWriteStatus), 0x0fffffffu);
    ptt.write(kTraceCtrl, kTraceCtrlReset.put(1));
    EXPECT_EQ(ptt.read(kTraceWriteStatus), 0u);
}

TEST(HisiPttFaults, IdleBitStaysClearAlwaysOrAfterAStop)
{
    Ptt always(options_of("never-idle")), later(options_of("never-idle-after-stop"));
    EXPECT_EQ(always.read(kTraceStatus), 0u);
    EXPECT_EQ(later.read(kTraceStatus), 1u);
    later.start(kWrites8Dw);
    later.write(kTraceCtrl, 0);
    EXPECT_EQ(later.read(kTraceStatus), 0u);
}

TEST(HisiPttFaults, ResetNeverFinishes)
{
    Ptt ptt(options_of("reset-never-finishes"));
    EXPECT_EQ(ptt.read(kTraceWriteStatus), 0u);
    ptt.write(kTraceCtrl, kTraceCtrlReset.put(1));
    EXPECT_NE(ptt.read(kTraceWriteStatus), 0u);
}

TEST(HisiPttFaults, OneMsiIsSentForSeveralBuffers)
{
    Ptt ptt(options_of("several-buffers-at-once"));
    ptt.start(kWrites8Dw);
    ptt.packets(8);
    EXPECT_TRUE(ptt.machine.raised.empty());
    ptt.packets(8);
    EXPECT_EQ(ptt.machine.raised.size(), 1u);
    EXPECT_EQ(ptt.read(kTraceIntStat), 3u);
}

TEST(HisiPttFaults, OverrunFaultSendsNoMsiBeforeTheFirstOverrun)
{
    Ptt ptt(options_of("overrun"));
    ptt.start(kWrites8Dw);
    ptt.packets(4 * 8);
    EXPECT_TRUE(ptt.machine.raised.empty());
    ptt.packets(8);
    EXPECT_EQ(ptt.machine.raised.size(), 1u);
    EXPECT_EQ(ptt.model.trace_counts().overruns, 1u);
}

TEST(HisiPttFaults, OverrunFaultDoesNotCountBuffersOfThePreviousTrace)
{
    Ptt ptt(options_of("overrun"));
    ptt.start(kWrites8Dw);
    ptt.packets(3 * 8);
    ptt.write(kTraceCtrl, 0);
    ptt.start(kWrites8Dw);
    ptt.packets(2 * 8);
    EXPECT_TRUE(ptt.machine.raised.empty());
    ptt.packets(3 * 8);
    EXPECT_EQ(ptt.machine.raised.size(), 1u);
}

TEST(HisiPttFaults, MsisAreLostRepeatedOrSpurious)
{
    Ptt lost(options_of("irq-lost")), storm(options_of("irq-storm"));
    Ptt spurious(options_of("irq-spurious"));
    lost.start(kWrites8Dw);
    lost.packets(8);
    EXPECT_TRUE(lost.machine.raised.empty());
    EXPECT_EQ(lost.read(kTraceIntStat), 1u);

    storm.start(kWrites8Dw);
    storm.packets(8);
    const size_t before = storm.machine.raised.size();
    storm.read(kTraceIntStat);
    storm.write(kTraceIntStat, 1);
    EXPECT_EQ(storm.machine.raised.size(), before + 2);

    for (unsigned i = 0; i < 64; i++)
        spurious.read(kTraceStatus);
    EXPECT_EQ(spurious.machine.raised.size(), 1u);
}

TEST(HisiPttFaults, TuneOperationNeverFinishes)
{
    Ptt ptt(options_of("tune-never-finishes"));
    EXPECT_EQ(ptt.read(kTuningIntStat), 0u);
    ptt.write(kTuningData, kTuningRead);
    ptt.machine.now += 1'000'000'000;
    EXPECT_EQ(ptt.read(kTuningIntStat), 1u);
}

TEST(HisiPttFaults, RegistersReadAsAllOnesAlwaysOrAfterAStart)
{
    Ptt always(options_of("all-ones")), later(options_of("all-ones-once-started"));
    EXPECT_EQ(always.read(kLocation), ~0u);
    EXPECT_EQ(later.read(kLocation), 0x00030001u);
    later.start(kWrites8Dw);
    EXPECT_EQ(later.read(kTraceIntStat), ~0u);
}

TEST(HisiPttFaults, DeviceRangeAndInterruptStatusHaveWrongValues)
{
    Ptt range(options_of("range-reversed")), empty(options_of("status-empty"));
    Ptt beyond(options_of("status-beyond-buffers"));
    EXPECT_GT(kDeviceRangeLower.get(range.read(kDeviceRange)),
              kDeviceRangeUpper.get(range.read(kDeviceRange)));
    empty.start(kWrites8Dw);
    empty.packets(8);
    EXPECT_EQ(empty.machine.raised.size(), 1u);
    EXPECT_EQ(empty.read(kTraceIntStat), 0u);
    beyond.start(kWrites8Dw);
    EXPECT_EQ(beyond.read(kTraceIntStat), 0xfffffff0u);
}

// Options

TEST(HisiPttOptions, EachErrorBeginsWithTheInvalidOption)
{
    const auto said = [](const Options &options) {
        const Result<void> checked = check(options);
        return checked ? std::string("good") : checked.error().message;
    };
    EXPECT_EQ(said(options_of()), "good");
    Options wrong = options_of();
    wrong.root_ports.clear();
    EXPECT_TRUE(said(wrong).starts_with("--serves"));
    wrong = options_of();
    wrong.functions.push_back({0x0200, kForeignPort});
    EXPECT_TRUE(said(wrong).starts_with("--function 02:00.0@00:12.0"));
    wrong = options_of();
    wrong.sicl = 0x10000;
    EXPECT_TRUE(said(wrong).starts_with("--sicl"));
    wrong = options_of();
    wrong.tick_ns = 0;
    EXPECT_TRUE(said(wrong).starts_with("--tick-ns"));
    wrong = options_of();
    wrong.functions.clear();
    wrong.generator = GeneratorParams{};
    EXPECT_TRUE(said(wrong).starts_with("--generate"));
}

// Late, merged or lost interrupts; floods

TEST(HisiPttModel, MsiCanArriveNBuffersLate)
{
    Options options = options_of();
    options.messages.late = 2;
    Ptt ptt(options);
    ptt.start(kWrites8Dw);
    ptt.packets(2 * 8);
    EXPECT_TRUE(ptt.machine.raised.empty());
    ptt.packets(8);
    EXPECT_EQ(ptt.machine.raised.size(), 1u);
    EXPECT_EQ(ptt.read(kTraceIntStat), 0x7u);
    EXPECT_EQ(ptt.model.messages_arrived(), 1u);
}

TEST(HisiPttModel, MsiCanArriveAFixedTimeLate)
{
    Options options = options_of();
    options.messages.late_ns = 5000;
    Ptt ptt(options);
    ptt.start(kWrites8Dw);
    ptt.packets(8);
    EXPECT_EQ(ptt.model.next_deadline_ns(), ptt.machine.now + 5000);
    ptt.machine.now += 5000;
    ptt.model.advance(ptt.machine.now);
    EXPECT_EQ(ptt.machine.raised.size(), 1u);
}

Options flooded(uint64_t count)
{
    Options options = options_of();
    options.flood = FloodParams{.rate = 1'000'000'000, .count = count, .burst = 1u << 20};
    return options;
}

TEST(HisiPttModel, FloodFillsBuffersAndNumbersItsPackets)
{
    Ptt ptt(flooded(5 * 8 + 3));
    ptt.start(kWrites8Dw);
    ptt.machine.now += 1'000'000;
    ptt.model.advance(ptt.machine.now);
    EXPECT_EQ(ptt.model.trace_counts().entries, 43u);
    EXPECT_EQ(ptt.model.trace_counts().buffers, 5u);
    EXPECT_EQ(ptt.model.trace_counts().overruns, 2u);
    EXPECT_EQ(ptt.read(kTraceWriteStatus), 1u << 28 | 3 * 32);
    // Buffer 0 was overwritten with packets 32..39, and buffer 1 partly with packets 40..42.
    EXPECT_EQ(ptt.word(0x00 + 16), 4 * 32u);
    EXPECT_EQ(ptt.word(0xe0 + 16), 4 * 39u);
    EXPECT_EQ(ptt.word(0x100 + 16), 4 * 40u);
    EXPECT_EQ(ptt.word(0x160 + 16), 4 * 11u);
    EXPECT_EQ(ptt.word(0x200 + 16), 4 * 16u);
    EXPECT_EQ(ptt.word(0x200 + 8), 0x40000001u);
    EXPECT_EQ(ptt.word(0x200 + 28), ptt.machine.now / 10);
    EXPECT_EQ(ptt.model.next_deadline_ns(), std::nullopt);
}

TEST(HisiPttModel, FloodIsInboundIfInboundIsTraced)
{
    Ptt ptt(flooded(4));
    ptt.start(kTraceCtrlDirection.put(0) | kTraceCtrlType.put(kTypePosted) |
              kTraceCtrlTarget.put(1));
    ptt.model.advance(ptt.machine.now);
    ptt.machine.now += 1000;
    ptt.model.advance(ptt.machine.now);
    EXPECT_EQ(ptt.model.trace_counts().entries, 4u);
    EXPECT_EQ(ptt.word(4) >> 16, kFunction);
    EXPECT_EQ(ptt.word(16 + 8), 4u);
}

TEST(HisiPttModel, FloodPacketsThatAreNotSelectedAreNotTraced)
{
    Ptt ptt(flooded(4));
    ptt.start((kWrites8Dw & ~kTraceCtrlTarget.mask()) | kTraceCtrlTarget.put(4));
    ptt.machine.now += 1000;
    ptt.model.advance(ptt.machine.now);
    EXPECT_EQ(ptt.model.trace_counts().entries, 0u);
    EXPECT_EQ(ptt.model.packets_seen(), 4u);
}

std::string contents(const std::filesystem::path &path)
{
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

TEST(HisiPttModel, LogOfBuffersHasALineForEachFillAndMarksOverwrites)
{
    TestFolder folder;
    Options options = flooded(4 * 8 + 8 + 2);
    options.messages.late = 1;
    Ptt ptt(options);
    ASSERT_TRUE(ptt.logs.open_buffers(folder.path("log")));
    ptt.machine.now = 100;
    ptt.start(kWrites8Dw);
    ptt.machine.now = 200;
    ptt.model.advance(200);
    ptt.machine.now = 300;
    ptt.write(kTraceIntStat, 0x3);
    ptt.write(kTraceCtrl, 0);
    ASSERT_TRUE(ptt.logs.close());
    EXPECT_EQ(contents(folder.path("log")),
              "# pmukit buffers log 1\n"
              "acknowledge at=100 bits=0x0\n"
              "start at=100 size=0x100\n"
              "fill 0 buffer=0 address=0x100000000 first=0 entries=8 bytes=256 begin=200 end=200\n"
              "fill 1 buffer=1 address=0x100000100 first=8 entries=8 bytes=256 begin=200 end=200\n"
              "fill 2 buffer=2 address=0x100000200 first=16 entries=8 bytes=256 begin=200 end=200\n"
              "fill 3 buffer=3 address=0x100000300 first=24 entries=8 bytes=256 begin=200 end=200\n"
              "fill 4 buffer=0 address=0x100000000 first=32 entries=8 bytes=256 begin=200 end=200"
              " overwrites-unread\n"
              "message at=200\nmessage at=200\nmessage at=200\nmessage at=200\n"
              "acknowledge at=300 bits=0x3\n"
              "part 5 buffer=1 address=0x100000100 first=40 entries=2 bytes=64 begin=200 end=300"
              " overwrites-unread\n"
              "stop at=300 entries=42\n");
}

// Conformance

TEST(HisiPttModel, StrictDeviceCountsViolations)
{
    Options options = options_of();
    options.lenient = false;
    Ptt ptt(options);
    ptt.start(kWrites8Dw);  // buffers of 256 bytes at unaligned addresses
    EXPECT_EQ(ptt.model.violations(), 1u + 3);
    ptt.read(kTraceWriteStatus);
    EXPECT_EQ(ptt.model.violations(), 5u);
    ptt.write(kTraceCtrl, 0);
    ptt.write(kTuningData, 1);
    ptt.write(kTuningData, 1);
    EXPECT_EQ(ptt.model.violations(), 6u);
    ptt.write(kLocation, 1);
    ptt.model.bar_read(kRegisterBar, kLocation, 8);
    EXPECT_EQ(ptt.model.violations(), 8u);
}

TEST(HisiPttModel, MovingBuffersAfterBusMasteringWasOffIsNoViolation)
{
    Options options = options_of();
    options.lenient = false;
    Ptt ptt(options);
    const auto trace = [&] {
        ptt.start(kWrites8Dw);
        ptt.write(kTraceCtrl, 0);
    };
    trace();
    const uint64_t before = ptt.model.violations();
    trace();
    EXPECT_EQ(ptt.model.violations(), 2 * before);
    ptt.write(kTraceAddrBaseHi, 2);
    ptt.model.config().write(4, 2, 6);
    EXPECT_FALSE(ptt.machine.logged("buffer-moved"));
    ptt.model.config().write(4, 2, 2);
    trace();
    EXPECT_FALSE(ptt.machine.logged("buffer-moved"));
    ptt.model.config().write(4, 2, 6);
    ptt.write(kTraceCtrl, kTraceCtrlReset.put(1));
    ptt.write(kTraceCtrl, 0);
    ptt.write(kTraceAddrBaseHi, 3);
    ptt.write(kTraceCtrl, kWrites8Dw | 1);
    EXPECT_TRUE(ptt.machine.logged("buffer-moved"));
}

}  // namespace
}  // namespace pmukit::models::hisi_ptt
