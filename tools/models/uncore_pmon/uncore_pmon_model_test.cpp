// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Tests the PCIe function as a driver uses it: capability, table, units, DDR range, links.
#include "models/uncore_pmon/uncore_pmon_model.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>

#include "base/test_folder.hpp"
#include "models/fake_machine.hpp"
#include "models/uncore_pmon/table_dump.hpp"
#include "models/uncore_pmon/unit_types.hpp"

namespace pmukit::models::uncore_pmon {
namespace {

constexpr uint64_t kUnits = 0xe0000000;  // address of BAR 2
constexpr uint32_t kReads = 0xcf05, kWrites = 0xf005;
constexpr uint16_t kPort = 0x0080, kSecondPort = 0x0088;

class Function : public testing::Test {
protected:
    void build(Options options = {})
    {
        model.emplace(options, record, machine);
        stride = options.stride;
        table_bar = options.table_bar;
        ddr_bytes = options.ddr_bytes;
        move_units(kUnits);
    }
    void build_faulty(const char *fault)
    {
        Options options;
        options.fault = find_fault(fault);
        ASSERT_NE(options.fault, nullptr) << fault;
        build(options);
    }
    void move_units(uint64_t address)
    {
        model->config().write(0x10 + 4 * kUnitBar, 4, static_cast<uint32_t>(address));
    }
    uint64_t word(unsigned entry, unsigned which)
    {
        return model->bar_read(table_bar, 8 * (uint64_t{entry} * stride + which), 8);
    }
    // Finds a unit as a driver does: by the address in its entry.
    uint64_t unit(unsigned index) { return word(1 + index, 1) - kUnits; }
    void write(uint64_t at, uint32_t value) { model->bar_write(kUnitBar, at, 4, value); }
    uint64_t read(uint64_t at) { return model->bar_read(kUnitBar, at, 8); }
    void load(uint64_t offset, unsigned width = 8) { model->bar_read(kDdrBar, offset, width); }
    void store(uint64_t offset, unsigned width = 8)
    {
        model->bar_write(kDdrBar, offset, width, offset);
    }
    void pass(vfu::PacketKind kind, uint16_t port = kPort,
              vfu::LinkProtocol protocol = vfu::LinkProtocol::kCxlMem)
    {
        vfu::Packet packet;
        packet.kind = kind;
        packet.protocol = protocol;
        packet.root_port = port;
        packet.bytes = 8;
        model->on_packet(packet);
    }

    FakeMachine machine;
    AccessRecord record;
    std::optional<UncorePmonModel> model;
    unsigned stride = 0;
    unsigned table_bar = 0;
    uint64_t ddr_bytes = 0;
};

// Walks the extended capabilities as software does.
uint16_t find_pmon(vfu::ConfigSpace &config)
{
    for (uint16_t at = 0x100; at != 0; at = static_cast<uint16_t>(config.read(at, 4) >> 20))
        if ((config.read(at, 4) & 0xffff) == 0x23 && (config.read(at + 8u, 4) & 0xffff) == 1)
            return at;
    return 0;
}

TEST_F(Function, DiscoveryCapabilityPointsToTheBarOfTheTable)
{
    for (const unsigned bar : {0u, 1u}) {
        Options options;
        options.table_bar = bar;
        build(options);
        vfu::ConfigSpace &config = model->config();
        EXPECT_EQ(config.read(0, 4), 0x09a78086u);
        EXPECT_NE(config.read(6, 2) & 0x10, 0u);
        const uint16_t at = find_pmon(config);
        ASSERT_NE(at, 0u);
        EXPECT_EQ(config.read(at + 4u, 2), 0x8086u);
        EXPECT_EQ(config.read(at + 12u, 4), bar);
        for (const unsigned i : {0u, 1u}) {
            EXPECT_EQ(config.bar(i)->kind, vfu::BarKind::kMemory32);
            EXPECT_EQ(config.bar(i)->size_bytes, 0x80000u);
        }
    }
}

// All Intel DVSECs: id, revision, entries, dwords per entry, location of the table.
struct Dvsec {
    uint32_t id, revision, entries, dwords, place;
    bool operator==(const Dvsec &) const = default;
};
std::vector<Dvsec> find_dvsecs(vfu::ConfigSpace &config)
{
    std::vector<Dvsec> found;
    for (uint16_t at = 0x100; at != 0; at = static_cast<uint16_t>(config.read(at, 4) >> 20))
        if ((config.read(at, 4) & 0xffff) == 0x23 && config.read(at + 4u, 2) == 0x8086)
            found.push_back({config.read(at + 8u, 2), config.read(at + 6u, 1) & 0xf,
                             config.read(at + 10u, 1), config.read(at + 11u, 1),
                             config.read(at + 12u, 4)});
    return found;
}

TEST_F(Function, EveryDvsecHasTheRevisionThatLinuxSupports)
{
    build();
    EXPECT_EQ(
        find_dvsecs(model->config()),
        (std::vector<Dvsec>{{2, 1, 1, 4, 0x40001}, {0x42, 1, 4, 2, 0x48001}, {1, 1, 1, 4, 0}}));
}

// Reads registers as Linux 6.1 to 7.2 do (drivers/platform/x86/intel/vsec.c and pmt/class.c).
TEST_F(Function, TelemetryHasAnEntryAndSamples)
{
    for (const unsigned bar : {0u, 1u}) {
        Options options;
        options.table_bar = bar;
        build(options);
        const unsigned other = 1 - bar;
        const uint64_t entry = 0x40000;
        EXPECT_EQ(find_dvsecs(model->config())[0].place, entry | other);
        const uint64_t first = model->bar_read(other, entry, 4);
        EXPECT_EQ(first & 0xf, 3u);  // local: after the entry
        const uint64_t bytes = (first >> 12 & 0xffff) * 4;
        EXPECT_EQ(bytes, 256u);
        EXPECT_NE(model->bar_read(other, entry + 4, 4), 0u);
        const uint64_t samples = entry + 16 + model->bar_read(other, entry + 8, 4);
        EXPECT_EQ(samples % 8, 0u);
        EXPECT_LE(samples + bytes, model->config().bar(other)->size_bytes);
        EXPECT_EQ(model->bar_read(other, samples + 8, 8), 1u);
        EXPECT_EQ(model->bar_read(other, samples + bytes - 8, 1), 31u);
        EXPECT_EQ(model->bar_read(other, samples + bytes, 8), 0u);
        EXPECT_EQ(model->bar_read(other, 0, 8), 0u);
        model->bar_write(other, entry, 4, 0);
        EXPECT_TRUE(machine.logged("write"));
    }
}

// Reads registers as Linux 6.12 does (drivers/platform/x86/intel/tpmi.c).
TEST_F(Function, TpmiListsFeaturesAndReportsTheirState)
{
    build();
    const uint64_t table = 0x48000, control = table + 0x800;
    const auto bar = [this](uint64_t at, unsigned width) { return model->bar_read(1, at, width); };
    EXPECT_EQ(bar(table, 8), 0x0000'0001'0004'0181u);
    EXPECT_EQ(bar(table + 8, 8), 0x0000'0002'0004'0180u);
    EXPECT_EQ(bar(table + 16, 8), 0x0000'0003'0020'0100u);
    EXPECT_EQ(bar(table + 24, 8), 0x0000'0004'0010'0202u);
    EXPECT_EQ(bar(table + 0x1000 + 64 + 8, 8), 0x2'0101u);  // bank 1 of uncore frequency
    EXPECT_EQ(bar(table + 0x1000, 8), 0u);                  // version 0.0

    const auto state = [&](uint64_t feature) {
        EXPECT_EQ(bar(control, 8) >> 4 & 3, 0u);  // no owner
        model->bar_write(1, control + 8, 8, 0x10 | feature << 40);
        EXPECT_EQ(bar(control, 8) >> 4 & 3, 1u);
        model->bar_write(1, control, 8, 1 | 2 << 16);
        EXPECT_EQ(bar(control, 8) & 1, 0u);
        const uint64_t result = bar(control, 8) >> 8 & 0xff;
        const uint64_t data = bar(control + 12, 4);
        model->bar_write(1, control, 8, 1 << 6);
        return result == 0x40 ? data : ~uint64_t{0};
    };
    EXPECT_EQ(state(0x00), 1u);
    EXPECT_EQ(state(0x02), 0x201u);
    EXPECT_EQ(state(0x05), ~uint64_t{0});  // no such feature
    EXPECT_FALSE(machine.logged("write"));
    model->bar_write(1, table, 8, 0);
    EXPECT_TRUE(machine.logged("write"));
}

TEST_F(Function, DeviceIdIsConfigurable)
{
    Options options;
    options.device = 0x09a1;
    build(options);
    EXPECT_EQ(model->config().read(0, 4), 0x09a18086u);
}

TEST_F(Function, ASecondTableListsTheCxlUnits)
{
    Options options;
    options.tables = 2;
    options.root_ports = {kPort};
    options.msr_units = 1;
    build(options);
    EXPECT_EQ(
        find_dvsecs(model->config()),
        (std::vector<Dvsec>{
            {2, 1, 1, 4, 0x40001}, {0x42, 1, 4, 2, 0x48001}, {1, 1, 1, 4, 0}, {1, 1, 1, 4, 1}}));
    EXPECT_EQ(word(0, 0) >> 16 & 0x3ff, 3u);
    EXPECT_EQ(word(2, 2), 6u | 1u << 16);
    EXPECT_EQ(word(3, 2), 0u);  // CHA
    EXPECT_EQ(word(4, 0), 0u);
    table_bar = 1;
    EXPECT_EQ(word(0, 0) >> 16 & 0x3ff, 4u);
    EXPECT_EQ(word(1, 2), 12u);
    EXPECT_EQ(word(4, 2), 99u);
    EXPECT_EQ(word(5, 0), 0u);
    EXPECT_EQ(model->bar_read(1, 0x40000, 4) & 0xf, 3u);  // telemetry has not moved
    write(unit(0) + 0x10, 0x0802);
    pass(vfu::PacketKind::kMemoryRead);
    EXPECT_EQ(read(unit(0) + 0x50), 1u);
}

TEST_F(Function, UnitsHaveTheConfiguredIds)
{
    Options options;
    options.root_ports = {kPort, kSecondPort};
    options.ids = {parse_unit_ids("imc=3,12").value(), parse_unit_ids("cxlcm=2,0x10").value()};
    build(options);
    const uint64_t expected[] = {6 | 3u << 16, 6 | 12u << 16, 12 | 2u << 16, 12 | 16u << 16,
                                 13,           13 | 1u << 16};
    for (unsigned i = 0; i < std::size(expected); i++)
        EXPECT_EQ(word(1 + i, 2), expected[i]) << i;
}

TEST_F(Function, EveryNthReadOfAUnitCanReturnAllOnes)
{
    Options options;
    options.all_ones = {parse_unit_name("imc.1").value()};
    options.ones_every = 3;
    build(options);
    const uint64_t box = unit(1);
    write(box + 0x40, kReads);
    load(ddr_bytes);
    EXPECT_EQ(read(box + 0x08), 1u);
    EXPECT_EQ(model->bar_read(kUnitBar, box, 4), 0u);
    EXPECT_EQ(read(box + 0x08), ~uint64_t{0});
    EXPECT_EQ(read(box + 0x08), 1u);
    for (unsigned i = 0; i < 9; i++)
        EXPECT_EQ(read(unit(0) + 0x08), 0u);
    EXPECT_EQ(record.tally().all_ones, 1u);
    options.ones_every = 1;
    build(options);
    EXPECT_EQ(read(unit(1)), ~uint64_t{0});
    EXPECT_EQ(read(unit(1)), ~uint64_t{0});
}

TEST_F(Function, TableBarCanBe64Bit)
{
    Options options;
    options.table_64bit = true;
    build(options);
    EXPECT_EQ(model->config().bar(0)->kind, vfu::BarKind::kMemory64);
    EXPECT_EQ(word(0, 0) & 0xff00, 0x0800u);
    EXPECT_EQ(find_dvsecs(model->config())[0].place, 0x40003u);  // telemetry has a separate BAR
    EXPECT_EQ(model->bar_read(3, 0x40000, 4) & 0xf, 3u);
}

TEST_F(Function, TableListsEveryUnit)
{
    Options options;
    options.imcs = 3;
    options.root_ports = {kPort, kSecondPort};
    options.msr_units = 2;
    options.pci_units = 1;
    options.max_units = 20;
    build(options);
    struct Unit {
        uint64_t type, id, counters, control0, counter0, access;
    };
    const Unit expected[] = {
        {6, 0, 4, 0x40, 0x08, 1},  {6, 1, 4, 0x40, 0x08, 1},  {6, 2, 4, 0x40, 0x08, 1},
        {12, 0, 8, 0x10, 0x50, 1}, {12, 1, 8, 0x10, 0x50, 1}, {13, 0, 4, 0x10, 0x50, 1},
        {13, 1, 4, 0x10, 0x50, 1}, {17, 0, 4, 0x10, 0x50, 1}, {17, 1, 4, 0x10, 0x50, 1},
        {99, 0, 2, 0x10, 0x20, 1}, {0, 0, 4, 2, 8, 0},        {0, 1, 4, 2, 8, 0},
        {7, 0, 4, 0x28, 0x08, 2},
    };
    EXPECT_EQ(word(0, 0) >> 16 & 0x3ff, 20u);
    unsigned entry = 1;
    for (const Unit &unit : expected) {
        SCOPED_TRACE(entry);
        EXPECT_EQ(word(entry, 0) & 0xff, unit.counters);
        EXPECT_EQ(word(entry, 0) >> 8 & 0xff, unit.control0);
        EXPECT_EQ(word(entry, 0) >> 16 & 0xff, 48u);
        EXPECT_EQ(word(entry, 0) >> 24 & 0xff, unit.counter0);
        EXPECT_EQ(word(entry, 0) >> 62, unit.access);
        EXPECT_EQ(word(entry, 2), unit.type | unit.id << 16);
        if (unit.access == 1) {
            EXPECT_EQ(word(entry, 1) & ~uint64_t{0x7fffff}, kUnits);
        }
        entry++;
    }
    for (; entry <= 20; entry++)
        for (unsigned i = 0; i < 3; i++)
            EXPECT_EQ(word(entry, i), 0u);
    EXPECT_EQ(word(11, 1), 0x2000u);
    EXPECT_EQ(word(12, 1), 0x2010u);
    EXPECT_EQ(word(13, 1), 0x0fe60438u);
}

TEST_F(Function, UnitAddressesInTheTableFollowTheAddressOfTheUnitBar)
{
    build();
    EXPECT_EQ(word(1, 1), 0xe02a2800u);
    EXPECT_EQ(word(2, 1), 0xe02aa800u);
    move_units(0xc8800000);
    EXPECT_EQ(word(1, 1), 0xc8aa2800u);
    model->config().power_on();  // as for a new client: no BAR has an address
    model->reset();
    EXPECT_EQ(word(1, 1), 0x002a2800u);
}

TEST_F(Function, TableIsReadableInAnyWidthAndReadOnly)
{
    build();
    const uint64_t at = 8 * stride;
    EXPECT_EQ(model->bar_read(0, at, 1), 4u);
    EXPECT_EQ(model->bar_read(0, at + 1, 1), 0x40u);
    EXPECT_EQ(model->bar_read(0, at + 2, 2), 0x0830u);
    EXPECT_EQ(model->bar_read(0, at + 4, 4), 0x4000005cu);
    EXPECT_EQ(model->bar_read(0, 0xff8, 8), 0u);
    model->bar_write(0, at, 4, 0);
    EXPECT_EQ(model->bar_read(0, at, 1), 4u);
    EXPECT_TRUE(machine.logged("BAR 0: write"));
}

TEST_F(Function, TableBarFitsTheLargestTable)
{
    Options options;
    options.stride = 255;
    options.max_units = 1023;
    build(options);
    EXPECT_EQ(model->config().bar(0)->size_bytes, 0x200000u);
    EXPECT_EQ(word(1, 2), 6u);
    EXPECT_EQ(word(1023, 0), 0u);
}

TEST_F(Function, ImcCountsOnlyAccessesToItsOwnMemory)
{
    build();
    const uint64_t first = unit(0), second = unit(1);
    for (const uint64_t box : {first, second}) {
        write(box + 0x40, kReads);
        write(box + 0x44, kWrites);
        write(box + 0x48, 0xff05);
    }
    for (unsigned i = 0; i < 10; i++)
        load(64 * i, 1u << i % 4);
    for (unsigned i = 0; i < 7; i++)
        store(ddr_bytes - 8);
    store(ddr_bytes);
    EXPECT_EQ(read(first + 0x08), 10u);
    EXPECT_EQ(read(first + 0x10), 7u);
    EXPECT_EQ(read(first + 0x18), 17u);
    EXPECT_EQ(read(second + 0x08), 0u);
    EXPECT_EQ(read(second + 0x10), 1u);
    EXPECT_EQ(record.tally().ddr_reads, 10u);
    EXPECT_EQ(record.tally().ddr_writes, 8u);
}

TEST_F(Function, AccessAcrossTwoCacheLinesIsCountedTwice)
{
    build();
    write(unit(0) + 0x40, kReads);
    write(unit(0) + 0x44, kWrites);
    load(60, 8);
    store(62, 4);
    load(56, 8);
    EXPECT_EQ(read(unit(0) + 0x08), 3u);
    EXPECT_EQ(read(unit(0) + 0x10), 2u);
}

TEST_F(Function, UnderfillMakesPartialWritesReadTheLine)
{
    Options options;
    options.underfill = true;
    build(options);
    const uint64_t box = unit(0);
    write(box + 0x40, 0xc105);
    write(box + 0x44, 0xc405);
    write(box + 0x48, kReads);
    write(box + 0x4c, kWrites);
    load(0);
    store(0);
    store(64);
    EXPECT_EQ(read(box + 0x08), 1u);
    EXPECT_EQ(read(box + 0x10), 2u);
    EXPECT_EQ(read(box + 0x18), 3u);
    EXPECT_EQ(read(box + 0x20), 2u);
}

TEST_F(Function, LinesAlternateBetweenPseudoChannels)
{
    build();
    const uint64_t box = unit(0);
    write(box + 0x40, 0x4f05);
    write(box + 0x44, 0x8f05);
    for (const uint64_t offset : {0u, 8u, 64u, 128u, 256u})
        load(offset);
    EXPECT_EQ(read(box + 0x08), 4u);
    EXPECT_EQ(read(box + 0x10), 1u);
}

TEST_F(Function, MemoryContentsSurviveAReset)
{
    build();
    model->bar_write(kDdrBar, ddr_bytes + 3, 4, 0x11223344);
    model->reset();
    EXPECT_EQ(model->bar_read(kDdrBar, ddr_bytes + 4, 2), 0x2233u);
}

TEST_F(Function, AccessesPastTheMemoryOfTheLastImcReadAllOnesOrAreIgnored)
{
    Options options;
    options.imcs = 3;
    build(options);
    EXPECT_EQ(model->config().bar(kDdrBar)->size_bytes, 4 * ddr_bytes);
    EXPECT_EQ(model->bar_read(kDdrBar, 3 * ddr_bytes, 8), ~uint64_t{0});
    store(3 * ddr_bytes - 4, 8);
    EXPECT_EQ(record.tally().ddr_writes, 0u);
    options.imcs = 0;
    build(options);
    EXPECT_EQ(model->config().bar(kDdrBar), std::nullopt);
}

TEST_F(Function, EachPairOfImcsHasItsOwnFreeRunningCounters)
{
    Options options;
    options.imcs = 3;
    build(options);
    const uint64_t first = unit(0) - 0x22800, second = unit(2) - 0x22800;
    EXPECT_EQ(unit(1), first + 0x2a800);
    // A freeze of the unit does not stop the free-running counters.
    write(unit(0), 1);
    load(0);
    load(ddr_bytes);
    store(ddr_bytes);
    store(2 * ddr_bytes);
    machine.now += 1000;
    EXPECT_EQ(read(first + 0x22b0), 1200u);
    EXPECT_EQ(read(first + 0x2318), 2u);
    EXPECT_EQ(read(first + 0x2320), 1u);
    EXPECT_EQ(read(second + 0x2318), 0u);
    EXPECT_EQ(read(second + 0x2320), 1u);
    EXPECT_EQ(model->bar_read(kUnitBar, first + 0x2318, 4), 2u);
    EXPECT_EQ(model->bar_read(kUnitBar, first + 0x231c, 4), 0u);
    EXPECT_EQ(model->bar_read(kUnitBar, first + 0x231c, 8), ~uint64_t{0});
    EXPECT_EQ(read(first), ~uint64_t{0});
    model->bar_write(kUnitBar, first + 0x2318, 8, 0);
    EXPECT_EQ(read(first + 0x2318), 2u);
    model->reset();
    EXPECT_EQ(read(first + 0x2318), 0u);
    EXPECT_EQ(read(first + 0x22b0), 0u);
}

TEST_F(Function, CountersCanStartJustBelowTheirWrap)
{
    Options options;
    options.box.width = 24;
    options.box.below_wrap = 2;
    build(options);
    EXPECT_EQ(word(1, 0) >> 16 & 0xff, 24u);
    const uint64_t box = unit(0);
    write(box, 0x300);
    write(box + 0x40, kReads);
    EXPECT_EQ(read(box + 0x08), 0xfffffeu);
    for (unsigned i = 0; i < 5; i++)
        load(0);
    EXPECT_EQ(read(box + 0x08), 3u);
    EXPECT_EQ(read(box - 0x22800 + 0x2318), 3u);
    EXPECT_EQ(read(box - 0x22800 + 0x2320), 0xfffffffffffeu);
}

TEST_F(Function, LinkUnitsCountTheirCxlMemTraffic)
{
    Options options;
    options.root_ports = {kPort, kSecondPort};
    build(options);
    const uint64_t cm = unit(2), cm2 = unit(3), dp = unit(4), b2 = unit(6);
    write(cm + 0x10, 0x0802);          // requests, counter 0
    write(cm + 0x18, 0x1002);          // write data, counter 1
    write(cm + 0x10 + 8 * 4, 0x1041);  // read data, counter 4
    write(cm + 0x10 + 8 * 5, 0x0841);  // responses, counter 5
    write(cm2 + 0x10, 0x0802);
    write(dp + 0x10, 0x1002);
    write(dp + 0x18, 0x2002);
    write(b2 + 0x10, 0x0424);
    write(b2 + 0x18, 0x1025);
    for (unsigned i = 0; i < 5; i++) {
        pass(vfu::PacketKind::kMemoryRead);
        pass(vfu::PacketKind::kCompletion);
    }
    for (unsigned i = 0; i < 3; i++)
        pass(vfu::PacketKind::kMemoryWrite);
    pass(vfu::PacketKind::kMemoryRead, kSecondPort);
    pass(vfu::PacketKind::kMemoryRead, 0x0090);
    pass(vfu::PacketKind::kMemoryRead, kPort, vfu::LinkProtocol::kIo);
    pass(vfu::PacketKind::kMemoryWrite, kPort, vfu::LinkProtocol::kIo);
    pass(vfu::PacketKind::kCompletion, kPort, vfu::LinkProtocol::kIo);
    EXPECT_EQ(read(cm + 0x50), 5u);
    EXPECT_EQ(read(cm + 0x58), 3u);
    EXPECT_EQ(read(cm + 0x50 + 8 * 4), 5u);
    EXPECT_EQ(read(cm + 0x50 + 8 * 5), 3u);
    EXPECT_EQ(read(cm2 + 0x50), 1u);
    EXPECT_EQ(read(dp + 0x50), 5u);
    EXPECT_EQ(read(dp + 0x58), 3u);
    EXPECT_EQ(read(b2 + 0x50), 5u);
    EXPECT_EQ(read(b2 + 0x58), 3u);
    EXPECT_EQ(record.tally().cxl_reads, 6u);
    EXPECT_EQ(record.tally().cxl_writes, 3u);
}

TEST_F(Function, ImcDoesNotCountCxlMem)
{
    Options options;
    options.root_ports = {kPort};
    build(options);
    write(unit(0) + 0x40, 0xff05);
    pass(vfu::PacketKind::kMemoryRead);
    pass(vfu::PacketKind::kMemoryWrite);
    EXPECT_EQ(read(unit(0) + 0x08), 0u);
}

TEST_F(Function, ClockEventsCountBetweenAccessesAndStopDuringAFreeze)
{
    build();
    const uint64_t box = unit(0);
    write(box + 0x40, 0x0101);
    machine.now += 1000;
    write(box, 1);
    machine.now += 5000;
    EXPECT_EQ(read(box + 0x08), 1200u);
    write(box, 0);
    machine.now += 10;
    write(box + 0x40, 0);
    machine.now += 5000;
    EXPECT_EQ(read(box + 0x08), 1212u);
}

TEST_F(Function, MmioGlobalControlFreezesAllUnits)
{
    Options options;
    options.global_mmio = true;
    build(options);
    const uint64_t global = word(0, 1) - kUnits;
    EXPECT_EQ(word(0, 0) >> 62, 1u);
    EXPECT_EQ(model->bar_read(kUnitBar, global, 4), 1u);
    const uint64_t box = unit(0);
    write(box + 0x40, kReads);
    write(box + 0x44, 0x0101);
    load(0);
    machine.now += 1000;
    EXPECT_EQ(read(box + 0x08), 0u);
    write(global, 0);
    EXPECT_EQ(model->bar_read(kUnitBar, global, 4), 0u);
    load(0);
    machine.now += 1000;
    write(global, 1);
    machine.now += 1000;
    EXPECT_EQ(read(box + 0x08), 1u);
    EXPECT_EQ(read(box + 0x10), 1200u);
    write(global, 0);
    model->reset();
    EXPECT_EQ(model->bar_read(kUnitBar, global, 4), 1u);
}

TEST_F(Function, OffsetOfTheGlobalControlIsUnusedIfTheControlIsNotMmio)
{
    build();
    EXPECT_EQ(word(0, 0) >> 62, 0u);
    EXPECT_EQ(word(0, 1), 0x2ff0u);
    EXPECT_EQ(model->bar_read(kUnitBar, 0, 4), ~uint64_t{0});
    write(0, 1);
    EXPECT_TRUE(machine.logged("BAR 2: write"));
}

TEST_F(Function, AResetClearsEveryUnit)
{
    build();
    const uint64_t box = unit(1);
    write(box + 0x40, kReads);
    load(ddr_bytes);
    write(box, 1);
    model->reset();
    EXPECT_EQ(read(box + 0x08), 0u);
    EXPECT_EQ(model->bar_read(kUnitBar, box, 4), 0u);
    EXPECT_EQ(model->bar_read(kUnitBar, box + 0x40, 4), 0u);
}

TEST_F(Function, InvalidAccessesReadAllOnesWriteNothingAndAreLogged)
{
    build();
    const uint64_t box = unit(0);
    EXPECT_EQ(read(0x9000), ~uint64_t{0});
    EXPECT_EQ(read(box - 4), ~uint64_t{0});  // begins outside of the unit
    model->bar_write(kUnitBar, box + 0x40, 2, 0xffff);
    EXPECT_EQ(model->bar_read(kUnitBar, box + 0x40, 4), 0u);
    EXPECT_EQ(machine.lines.size(), 3u);
}

// Faults

TEST_F(Function, CapabilityFaultsAreApplied)
{
    struct Case {
        const char *fault;
        uint32_t place;
    };
    for (const Case &one :
         {Case{"table-inside-bar", 0x100}, Case{"bar-7", 7}, Case{"bar-prefetchable", kDdrBar}}) {
        build_faulty(one.fault);
        vfu::ConfigSpace &config = model->config();
        const uint16_t at = find_pmon(config);
        ASSERT_NE(at, 0u) << one.fault;
        EXPECT_EQ(config.read(at + 12u, 4), one.place) << one.fault;
    }
    EXPECT_EQ(model->config().bar(kDdrBar)->kind, vfu::BarKind::kMemory64Prefetchable);
    build_faulty("no-table");
    EXPECT_EQ(find_pmon(model->config()), 0u);
}

TEST_F(Function, GlobalEntryFaultsAreApplied)
{
    struct Case {
        const char *fault;
        unsigned which;
        uint64_t value;
    };
    for (const Case &one :
         {Case{"stride-0", 0, 0x00030000}, Case{"stride-1", 0, 0x00030100},
          Case{"stride-2", 0, 0x00030200}, Case{"stride-255", 0, 0x0003ff00},
          Case{"max-units-0", 0, 0x00000800}, Case{"max-units-beyond-bar", 0, 0x03ff0800},
          Case{"global-word-zero", 0, 0}, Case{"global-word-ones", 0, ~uint64_t{0}},
          Case{"global-control-zero", 1, 0}, Case{"global-control-ones", 1, ~uint64_t{0}},
          Case{"global-status-ones", 2, ~uint64_t{0}}, Case{"table-all-ones", 0, ~uint64_t{0}}}) {
        build_faulty(one.fault);
        EXPECT_EQ(word(0, one.which), one.value) << one.fault;
    }
    // The last fault, table-all-ones, also changes the entries of units.
    EXPECT_EQ(word(3, 1), ~uint64_t{0});
    build_faulty("max-units-beyond-bar");
    EXPECT_GT((1u + 1023) * 8 * 8, model->config().bar(0)->size_bytes);
    build_faulty("stride-255");
    EXPECT_GT(3u * 8 * 255, model->config().bar(0)->size_bytes);
}

TEST_F(Function, UnitEntryFaultsAreApplied)
{
    constexpr uint64_t kImcWord = 0x4000005c08304004;
    struct Case {
        const char *fault;
        unsigned entry;
        unsigned which;
        uint64_t value;
    };
    for (const Case &one : {Case{"unit-word-0-ones", 1, 0, ~uint64_t{0}},
                            Case{"unit-word-0-ones", 2, 0, kImcWord},
                            Case{"unit-word-1-ones", 1, 1, ~uint64_t{0}},
                            Case{"unit-word-2-ones", 1, 2, ~uint64_t{0}},
                            Case{"control-outside-bars", 1, 1, 0x100000},
                            Case{"control-behind-bar", 1, 1, kUnits + 0x800000},
                            Case{"window-beyond-bar", 1, 1, kUnits + 0x7ffff0},
                            Case{"control-unaligned", 1, 1, kUnits + 0x2a2801},
                            Case{"duplicate-ids", 2, 2, 0x6},
                            Case{"no-counters", 2, 0, 0x4000005c08304000},
                            Case{"no-counters", 3, 0, 0x4000003020301002},  // other type: unchanged
                            Case{"num-counters-255", 1, 0, 0x4000005c083040ff},
                            Case{"width-0", 1, 0, 0x4000005c08004004},
                            Case{"width-65", 1, 0, 0x4000005c08414004},
                            Case{"width-255", 1, 0, 0x4000005c08ff4004},
                            Case{"control-offset-0", 1, 0, 0x4000005c08300004},
                            Case{"counter-offset-0", 1, 0, 0x4000005c00304004},
                            Case{"offsets-overlap", 1, 0, 0x4000005c08300804},
                            Case{"access-type-3", 1, 0, 0xc000005c08304004},
                            Case{"units-of-a-type-differ", 1, 0, kImcWord},
                            Case{"units-of-a-type-differ", 2, 0, 0x4000005c08304002}}) {
        build_faulty(one.fault);
        EXPECT_EQ(word(one.entry, one.which), one.value) << one.fault << ' ' << one.entry;
    }
}

TEST_F(Function, DuplicateIdsFaultGivesTheSecondUnitTheIdOfTheFirst)
{
    Options options;
    options.ids = {parse_unit_ids("imc=48,49").value()};
    options.fault = find_fault("duplicate-ids");
    build(options);
    EXPECT_EQ(word(2, 2), 6 | 48u << 16);
}

TEST_F(Function, ATableCanChangeBetweenReads)
{
    build_faulty("table-changes-between-reads");
    EXPECT_EQ(word(1, 0) & 0xff, 4u);
    EXPECT_EQ(word(1, 0) & 0xff, 255u);
    EXPECT_EQ(word(1, 0) & 0xff, 4u);
}

TEST_F(Function, CountersCanGoBackwards)
{
    build_faulty("counters-go-backwards");
    const uint64_t box = unit(0);
    write(box + 0x40, kReads);
    const uint64_t first = read(box + 0x08), second = read(box + 0x08);
    EXPECT_EQ((first - second) & 0xffffffffffff, 1000u);
    EXPECT_LT(first, uint64_t{1} << 48);
    EXPECT_EQ(model->bar_read(kUnitBar, box + 0x40, 4), kReads);
}

TEST_F(Function, RegistersCanReadAsOnes)
{
    build_faulty("registers-all-ones");
    EXPECT_EQ(read(unit(0) + 0x08), ~uint64_t{0});
    EXPECT_EQ(model->bar_read(kUnitBar, unit(2), 4), ~uint64_t{0});
    EXPECT_EQ(word(1, 2), 6u);
}

TEST(UncoreFaults, HaveUniqueNames)
{
    for (const Fault &fault : faults())
        EXPECT_EQ(find_fault(fault.name), &fault) << fault.name;
    EXPECT_EQ(find_fault("none-such"), nullptr);
}

// Options

TEST(UncoreOptions, AreCheckedAgainstTheirLimits)
{
    EXPECT_TRUE(check({}));
    const auto with = [](auto change) {
        Options options;
        change(options);
        return static_cast<bool>(check(options));
    };
    EXPECT_TRUE(with([](Options &o) { o.imcs = 16; }));
    EXPECT_FALSE(with([](Options &o) { o.imcs = 17; }));
    EXPECT_TRUE(with([](Options &o) { o.imcs = 0; }));
    EXPECT_FALSE(with([](Options &o) { o.imcs = o.unknown = 0; }));
    EXPECT_FALSE(with([](Options &o) { o.ddr_bytes = 2048; }));
    EXPECT_FALSE(with([](Options &o) { o.ddr_bytes = 12288; }));
    EXPECT_FALSE(with([](Options &o) { o.box.width = 23; }));
    EXPECT_TRUE(with([](Options &o) { o.box.width = 64; }));
    EXPECT_FALSE(with([](Options &o) { o.box.width = 65; }));
    EXPECT_FALSE(with([](Options &o) { o.box.below_wrap = 1u << 24; }));
    EXPECT_FALSE(with([](Options &o) { o.stride = 2; }));
    EXPECT_TRUE(with([](Options &o) { o.stride = 255; }));
    EXPECT_FALSE(with([](Options &o) { o.stride = 256; }));
    EXPECT_FALSE(with([](Options &o) { o.max_units = 2; }));
    EXPECT_TRUE(with([](Options &o) { o.max_units = 3; }));
    EXPECT_FALSE(with([](Options &o) { o.max_units = 1024; }));
    EXPECT_FALSE(with([](Options &o) { o.table_bar = 2; }));
    EXPECT_FALSE(with([](Options &o) {
        o.table_bar = 1;
        o.table_64bit = true;
    }));
    EXPECT_TRUE(with([](Options &o) { o.tables = 2; }));
    EXPECT_FALSE(with([](Options &o) { o.tables = 3; }));
    EXPECT_FALSE(with([](Options &o) {
        o.tables = 2;
        o.unknown = 0;
    }));
    EXPECT_FALSE(with([](Options &o) {
        o.tables = 2;
        o.imcs = 0;
    }));
    EXPECT_FALSE(with([](Options &o) { o.ones_every = 0; }));
    EXPECT_TRUE(with([](Options &o) { o.all_ones = {{&kImc, 1}}; }));
    EXPECT_FALSE(with([](Options &o) { o.all_ones = {{&kImc, 2}}; }));
    EXPECT_FALSE(with([](Options &o) { o.all_ones = {{&kCxlcm, 0}}; }));
    EXPECT_TRUE(with([](Options &o) { o.ids = {{&kImc, {5, 4}}}; }));
    EXPECT_FALSE(with([](Options &o) { o.ids = {{&kImc, {5}}}; }));
    EXPECT_FALSE(with([](Options &o) { o.ids = {{&kImc, {5, 5}}}; }));
    EXPECT_FALSE(with([](Options &o) {
        o.imcs = 1;
        o.fault = find_fault("stride-0");
    }));
}

TEST(UncoreOptions, UnitsAreNamedByTypeAndId)
{
    EXPECT_EQ(parse_unit_ids("cxlcm=2,4,0x12").value().ids, (std::vector<uint16_t>{2, 4, 18}));
    EXPECT_EQ(parse_unit_name("b2cxl.7").value().type, &kB2cxl);
    for (const char *text : {"", "cxlcm", "cxlcm=", "cxlcm=1,,2", "cha=1", "imc=65536", "imc=-1"})
        if (const Result<UnitIds> parsed = parse_unit_ids(text); parsed) {
            EXPECT_TRUE(parsed->ids.empty()) << text;  // check() refuses a type without ids
        }
    for (const char *text : {"", "imc", "imc.", "imc.x", "m2m.0", "imc.65536"})
        EXPECT_FALSE(parse_unit_name(text)) << text;
}

// Files

std::string contents(const std::filesystem::path &path)
{
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

uint64_t little_endian(const std::string &bytes, size_t at, unsigned width)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < width; i++)
        value |= uint64_t{static_cast<unsigned char>(bytes.at(at + i))} << (8 * i);
    return value;
}

class Files : public Function {
protected:
    TestFolder folder_;
};

// Compares with the eight memory channels of a real Sapphire Rapids.
TEST_F(Files, DumpMatchesTheEightImcsOfASapphireRapids)
{
    Options options;
    options.imcs = 8;
    options.unknown = 0;
    build(options);
    ASSERT_TRUE(dump_table(*model, folder_.path("dump")));
    const std::string config = contents(folder_.path("dump/config"));
    const std::string table = contents(folder_.path("dump/resource0"));
    ASSERT_EQ(config.size(), 4096u);
    EXPECT_EQ(little_endian(config, 0, 4), 0x09a78086u);
    EXPECT_EQ(little_endian(config, 4, 2), 0x0002u);
    EXPECT_EQ(little_endian(config, 0x10, 4), 0xc9000000u);
    EXPECT_EQ(little_endian(config, 0x18, 4), 0xc8800000u);
    ASSERT_EQ(table.size(), 0x80000u);
    EXPECT_EQ(contents(folder_.path("dump/resource1")).size(), 0x80000u);
    EXPECT_EQ(little_endian(config, 0x14, 4), 0xc9080000u);
    EXPECT_EQ(little_endian(table, 0, 8), 0x00080800u);
    const uint64_t controls[] = {0xc8aa2800, 0xc8aaa800, 0xc8b22800, 0xc8b2a800,
                                 0xc8ba2800, 0xc8baa800, 0xc8c22800, 0xc8c2a800};
    for (size_t i = 0; i < 8; i++) {
        const size_t at = 64 * (1 + i);
        EXPECT_EQ(little_endian(table, at, 4), 0x08304004u) << i;
        EXPECT_EQ(little_endian(table, at + 8, 8), controls[i]);
        EXPECT_EQ(little_endian(table, at + 16, 8), 6 | i << 16);
    }
}

TEST_F(Files, DumpErrorHasThePath)
{
    build();
    const Result<void> dumped = dump_table(*model, "/nonexistent/folder");
    ASSERT_FALSE(dumped);
    EXPECT_NE(dumped.error().message.find("/nonexistent/folder"), std::string::npos);
    folder_.put("file", "");
    EXPECT_FALSE(dump_table(*model, folder_.path("file")));
}

TEST_F(Files, AccessLogHasEveryAccessInOrder)
{
    record = AccessRecord::create(folder_.path("log")).value();
    Options options;
    options.root_ports = {kPort};
    build(options);
    const uint64_t box = unit(0);
    machine.now = 100;
    write(box + 0x40, kReads);
    machine.now = 200;
    load(0x10, 4);
    store(ddr_bytes + 0x40);
    pass(vfu::PacketKind::kMemoryRead);
    pass(vfu::PacketKind::kCompletion);
    pass(vfu::PacketKind::kMemoryWrite);
    pass(vfu::PacketKind::kMemoryWrite, kSecondPort);
    read(box + 0x08);
    ASSERT_TRUE(record.close());
    EXPECT_EQ(contents(folder_.path("log")),
              "# pmukit uncore log 1\n"
              "100 reg W 6.0 0x40 4 0xcf05\n"
              "200 ddr R 0x10 4 imc=0\n"
              "200 ddr W 0x100040 8 imc=1\n"
              "0 cxl R 0x0 8 port=00:10.0\n"
              "0 cxl W 0x0 8 port=00:10.0\n"
              "200 reg R 6.0 0x8 8 0x1\n");
    EXPECT_EQ(record.tally().register_reads, 1u);
    EXPECT_EQ(record.tally().register_writes, 1u);
}

TEST_F(Files, AccessLogHasGlobalControlAccesses)
{
    record = AccessRecord::create(folder_.path("log")).value();
    Options options;
    options.global_mmio = true;
    build(options);
    const uint64_t global = word(0, 1) - kUnits;
    machine.now = 100;
    model->bar_read(kUnitBar, global, 4);
    write(global, 0);
    ASSERT_TRUE(record.close());
    EXPECT_EQ(contents(folder_.path("log")),
              "# pmukit uncore log 1\n"
              "100 global R 0x1\n"
              "100 global W 0x0\n");
}

TEST_F(Files, AccessLogHasTheRegisterValueWithoutTheInjectedFault)
{
    record = AccessRecord::create(folder_.path("log")).value();
    build_faulty("counters-go-backwards");
    machine.now = 100;
    read(unit(0) + 0x08);
    ASSERT_TRUE(record.close());
    EXPECT_NE(contents(folder_.path("log")).find("100 reg R 6.0 0x8 8 0x0\n"), std::string::npos);
}

TEST_F(Files, AccessLogMarksReadsThatReturnedAllOnes)
{
    record = AccessRecord::create(folder_.path("log")).value();
    Options options;
    options.ids = {parse_unit_ids("imc=0,7").value()};
    options.all_ones = {{&kImc, 7}};
    build(options);
    machine.now = 100;
    read(unit(1) + 0x08);
    load(ddr_bytes, 4);
    ASSERT_TRUE(record.close());
    EXPECT_EQ(contents(folder_.path("log")),
              "# pmukit uncore log 1\n"
              "100 reg R 6.7 0x8 8 0x0 ones\n"
              "100 ddr R 0x100000 4 imc=7\n");
}

}  // namespace
}  // namespace pmukit::models::uncore_pmon
