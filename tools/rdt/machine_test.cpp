// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "rdt/machine.hpp"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace pmukit::rdt {
namespace {

Shape two_l3s()
{
    Shape shape;
    shape.cpus = 4;
    shape.cpus_per_l3 = 2;
    shape.l3_bytes = 1 << 20;
    shape.l2_bytes = 0;
    shape.unit = 64;
    return shape;
}

std::unique_ptr<Machine> make(const Shape &shape)
{
    EXPECT_EQ(fault_of(shape), nullptr);
    auto machine = std::make_unique<Machine>();
    EXPECT_TRUE(machine->make(shape));
    return machine;
}

uint64_t value_of(Machine &machine, uint32_t cpu, uint32_t number)
{
    uint64_t value = 0;
    EXPECT_TRUE(machine.read(cpu, number, value)) << std::hex << number;
    return value;
}

// Selects and reads a counter as a driver does.
uint64_t counter_of(Machine &machine, uint32_t cpu, uint64_t event, uint64_t rmid)
{
    EXPECT_TRUE(machine.write(cpu, kQmEvtsel, rmid << 32 | event));
    return value_of(machine, cpu, kQmCtr);
}

void walk(Machine &machine, uint32_t cpu, uint64_t first, uint64_t bytes)
{
    for (uint64_t at = 0; at < bytes; at += kLineBytes)
        machine.access(cpu, first + at);
}

TEST(Machine, PqrAndEvtselArePerCpuAndMasksPerL3)
{
    auto machine = make(two_l3s());
    ASSERT_TRUE(machine->write(0, kPqrAssoc, 2ULL << 32 | 9));
    ASSERT_TRUE(machine->write(0, kQmEvtsel, 5ULL << 32 | 1));
    ASSERT_TRUE(machine->write(0, kL3Mask + 2, 0x3));
    ASSERT_TRUE(machine->write(0, kDelay + 2, 50));
    EXPECT_EQ(value_of(*machine, 0, kRmidSncConfig), 1u);
    ASSERT_TRUE(machine->write(0, kRmidSncConfig, 0));
    EXPECT_EQ(value_of(*machine, 0, kPqrAssoc), 2ULL << 32 | 9);
    for (const uint32_t other : {1u, 2u}) {
        EXPECT_EQ(value_of(*machine, other, kPqrAssoc), 0u);
        EXPECT_EQ(value_of(*machine, other, kQmEvtsel), 0u);
    }
    EXPECT_EQ(value_of(*machine, 1, kL3Mask + 2), 0x3u);
    EXPECT_EQ(value_of(*machine, 1, kDelay + 2), 50u);
    EXPECT_EQ(value_of(*machine, 1, kRmidSncConfig), 0u);
    EXPECT_EQ(value_of(*machine, 2, kRmidSncConfig), 1u);
    EXPECT_EQ(value_of(*machine, 2, kL3Mask + 2), 0xffffu);
    EXPECT_EQ(value_of(*machine, 2, kDelay + 2), 0u);
}

TEST(Machine, AbmcCountersArePerL3AndAbmcCfgPerCpu)
{
    Shape shape = two_l3s();
    shape.vendor = Vendor::kAmd;
    shape.abmc = 32;
    auto machine = make(shape);
    EXPECT_EQ(value_of(*machine, 0, kExtCfg), 0u);
    ASSERT_TRUE(machine->write(0, kExtCfg, kAbmcOn));
    EXPECT_EQ(value_of(*machine, 1, kExtCfg), 1u);
    EXPECT_EQ(value_of(*machine, 2, kExtCfg), 0u);
    const uint64_t config = kAbmcEnable | 7ULL << 48 | 9ULL << 32 | 0x7f;
    ASSERT_TRUE(machine->write(0, kAbmcCfg, kAbmcApply | config));
    EXPECT_EQ(value_of(*machine, 0, kAbmcDsc), config);
    ASSERT_TRUE(machine->write(1, kAbmcCfg, 7ULL << 48));
    EXPECT_EQ(value_of(*machine, 1, kAbmcDsc), config) << "only its number was taken";
    ASSERT_TRUE(machine->write(1, kPqrAssoc, 9));
    walk(*machine, 1, 0, 6400);
    ASSERT_TRUE(machine->write(0, kQmEvtsel, 7ULL << 32 | 1U << 31 | 1));
    EXPECT_EQ(value_of(*machine, 0, kQmCtr), 100u);
    ASSERT_TRUE(machine->write(2, kEventTypes + 1, 3));
    EXPECT_EQ(value_of(*machine, 3, kEventTypes + 1), 3u);
    EXPECT_EQ(value_of(*machine, 0, kEventTypes + 1), 0x15u);
}

TEST(Machine, RefusedWriteChangesNothing)
{
    auto machine = make(two_l3s());
    ASSERT_TRUE(machine->write(0, kPqrAssoc, 9));
    EXPECT_FALSE(machine->write(0, kPqrAssoc, 64));
    EXPECT_FALSE(machine->write(0, kL3Mask, 5));
    EXPECT_FALSE(machine->write(0, kQmCtr, 0));
    EXPECT_FALSE(machine->write(0, kL3Mask + 8, 1));
    EXPECT_EQ(value_of(*machine, 0, kPqrAssoc), 9u);
    EXPECT_EQ(value_of(*machine, 0, kL3Mask), 0xffffu);
    uint64_t value = 0;
    EXPECT_FALSE(machine->read(0, kL3Mask + 8, value));
    EXPECT_EQ(machine->writes_of_pqr(0), 1u);
}

TEST(Machine, CountsClassChangesPerCpu)
{
    auto machine = make(two_l3s());
    const uint64_t second = 2ULL << 32, written[] = {second, second | 9, 9, 0};
    for (const uint64_t pqr : written)
        ASSERT_TRUE(machine->write(1, kPqrAssoc, pqr));
    EXPECT_FALSE(machine->write(1, kPqrAssoc, 8ULL << 32));  // refused
    EXPECT_EQ(machine->writes_of_pqr(1), 4u);
    EXPECT_EQ(machine->class_changes(1), 2u);
    EXPECT_EQ(machine->class_changes(0), 0u);
}

TEST(Machine, CountsLinesForTheRmidAndL3OfTheCpu)
{
    auto machine = make(two_l3s());
    ASSERT_TRUE(machine->write(1, kPqrAssoc, 9));
    ASSERT_TRUE(machine->write(3, kPqrAssoc, 9));
    walk(*machine, 1, 0, 64 * 100);
    walk(*machine, 3, 1 << 20, 64 * 30);
    EXPECT_EQ(counter_of(*machine, 0, 1, 9), 100u);
    EXPECT_EQ(counter_of(*machine, 2, 1, 9), 30u);
    EXPECT_EQ(counter_of(*machine, 2, 2, 9), 30u);
    EXPECT_EQ(counter_of(*machine, 0, 1, 0), 0u);
}

TEST(Machine, FillsUseTheWaysOfTheClass)
{
    auto machine = make(two_l3s());
    ASSERT_TRUE(machine->write(0, kL3Mask + 3, 0x3));
    ASSERT_TRUE(machine->write(0, kPqrAssoc, 3ULL << 32 | 9));
    walk(*machine, 0, 0, 1 << 20);
    EXPECT_EQ(counter_of(*machine, 0, 1, 9) * 64, (1u << 20) * 2 / 16);
}

TEST(Machine, MemoryOfAnotherNodeIsRemote)
{
    Shape shape = two_l3s();
    shape.node_bytes = 1 << 20;
    auto machine = make(shape);
    walk(*machine, 0, 0, 64 * 10);
    walk(*machine, 0, 1 << 20, 64 * 4);
    walk(*machine, 2, 0, 64 * 3);
    walk(*machine, 2, 7 << 20, 64 * 5);  // the last node owns all higher addresses
    EXPECT_EQ(counter_of(*machine, 0, 2, 0), 14u);
    EXPECT_EQ(counter_of(*machine, 0, 3, 0), 10u);
    EXPECT_EQ(counter_of(*machine, 2, 2, 0), 8u);
    EXPECT_EQ(counter_of(*machine, 2, 3, 0), 5u);
}

Shape divided(uint32_t nodes)
{
    Shape shape = two_l3s();
    shape.cpus_per_l3 = 2 * nodes;
    shape.cpus = 2 * shape.cpus_per_l3;
    shape.nodes = nodes;
    shape.unit = 64 * nodes;
    return shape;
}

// The reference counts the lines of each node by the RMIDs of its CPUs, and reads the counters with
// the numbers of the kernel's logical_rmid_to_physical_rmid().
TEST(Machine, NodesThatShareRmidsHaveSeparateCounters)
{
    for (const uint32_t nodes : {2u, 3u, 4u}) {
        auto machine = make(divided(nodes));
        const uint32_t cpus = machine->shape().cpus, rmids = 64 / nodes;
        std::map<std::pair<uint32_t, uint32_t>, uint64_t> lines;  // by node and RMID
        std::mt19937 random(nodes);
        for (uint32_t cpu = 0; cpu < cpus; cpu++)
            ASSERT_TRUE(machine->write(cpu, kRmidSncConfig, 0));
        for (uint64_t line = 0; line < 8192; line++) {
            const uint32_t cpu = static_cast<uint32_t>(random()) % cpus;
            const uint32_t rmid = static_cast<uint32_t>(random()) % rmids;
            ASSERT_TRUE(machine->write(cpu, kPqrAssoc, rmid));
            machine->access(cpu, line * kLineBytes);
            lines[{cpu / 2, rmid}]++;
        }
        for (uint32_t node = 0; node < 2 * nodes; node++)
            for (uint32_t rmid = 0; rmid < rmids; rmid++) {
                const uint32_t other = node / nodes * 2 * nodes;  // first CPU of the L3
                for (const uint32_t event : {1u, 2u, 3u})
                    EXPECT_EQ(counter_of(*machine, other, event, node % nodes * rmids + rmid),
                              (lines[{node, rmid}]))
                        << nodes << " nodes, node " << node << ", RMID " << rmid;
            }
    }
}

TEST(Machine, CpuCarriesAnyRmidWhileRmidsAreDividedAndOnlyThoseOfANodeWhileShared)
{
    auto machine = make(divided(2));
    ASSERT_TRUE(machine->write(3, kPqrAssoc, 5));
    walk(*machine, 3, 0, 64 * 10);
    EXPECT_EQ(counter_of(*machine, 0, 1, 5), 10u);
    ASSERT_TRUE(machine->write(3, kPqrAssoc, 63));
    ASSERT_TRUE(machine->write(0, kRmidSncConfig, 0));
    EXPECT_FALSE(machine->write(3, kPqrAssoc, 32));
    EXPECT_TRUE(machine->write(3, kPqrAssoc, 31));
    EXPECT_TRUE(machine->write(5, kPqrAssoc, 32)) << "the RMIDs of the other L3 are still divided";
}

TEST(Machine, InnerCacheHidesRepeatedAccesses)
{
    Shape shape = two_l3s();
    shape.l2_bytes = 1 << 16;
    auto machine = make(shape);
    walk(*machine, 0, 0, 1 << 16);
    ASSERT_TRUE(machine->write(0, kL3Mask, 1));
    walk(*machine, 0, 1 << 24, 1 << 15);
    walk(*machine, 0, 1 << 24, 1 << 15);
    EXPECT_EQ(counter_of(*machine, 0, 2, 0) * 64, (1u << 16) + (1u << 15));
}

TEST(Machine, AmdBandwidthIsUnlimitedAtReset)
{
    Shape shape = two_l3s();
    shape.vendor = Vendor::kAmd;
    auto machine = make(shape);
    EXPECT_EQ(value_of(*machine, 0, kAmdBandwidth + 7), 2048u);
    uint64_t value = 0;
    EXPECT_FALSE(machine->read(0, kDelay, value));
}

TEST(Machine, ConcurrentAccessesOfTheCpusOfAnL3AreAllCounted)
{
    Shape shape = two_l3s();
    shape.cpus_per_l3 = 4;
    auto machine = make(shape);
    std::vector<std::jthread> threads;
    for (uint32_t cpu = 0; cpu < shape.cpus; cpu++)
        threads.emplace_back([&machine, cpu] {
            machine->write(cpu, kPqrAssoc, cpu % 2);
            walk(*machine, cpu, uint64_t{cpu} << 24, 64 * 20000);
        });
    threads.clear();
    for (const uint64_t rmid : {0u, 1u})
        EXPECT_EQ(counter_of(*machine, 0, 2, rmid), 40000u);
    EXPECT_EQ(counter_of(*machine, 0, 1, 0) + counter_of(*machine, 0, 1, 1), 16384u);
}

// The reference: a map of register values, and lines that are never evicted.
class NaiveMachine {
public:
    void write(uint32_t cpu, uint32_t number, uint64_t value)
    {
        if (accepted(number, value))
            values[{number < kL3Mask ? cpu : cpu / 2 + 100, number}] = value;
    }
    uint64_t read(uint32_t cpu, uint32_t number) const
    {
        const auto found = values.find({number < kL3Mask ? cpu : cpu / 2 + 100, number});
        if (found != values.end())
            return found->second;
        return number >= kL3Mask && number < kDelay ? 0xffff : 0;
    }
    void access(uint32_t cpu, uint64_t physical)
    {
        const uint64_t line = physical / 64;
        if (!owner.contains({cpu / 2, line}))
            owner[{cpu / 2, line}] = read(cpu, kPqrAssoc) & 0xffffffff;
    }
    // Line counts by RMID
    std::vector<uint64_t> lines(uint32_t l3) const
    {
        std::vector<uint64_t> counts(64);
        for (const auto &[where, tag] : owner)
            if (where.first == l3)
                counts[tag]++;
        return counts;
    }

private:
    static bool accepted(uint32_t number, uint64_t value)
    {
        if (number == kPqrAssoc)
            return (value & 0xffffffff) < 64 && value >> 32 < 8;
        if (number == kQmEvtsel)
            return (value & 0xfffffc00ffffff00) == 0;
        return number >= kDelay && value <= 90;
    }

    std::map<std::pair<uint32_t, uint32_t>, uint64_t> values;
    std::map<std::pair<uint32_t, uint64_t>, uint64_t> owner;
};

void expect_lines(Machine &machine, uint32_t l3, const std::vector<uint64_t> &lines)
{
    const uint32_t cpu = l3 * 2;
    const uint64_t select = value_of(machine, cpu, kQmEvtsel);
    for (uint64_t rmid = 0; rmid < lines.size(); rmid++) {
        EXPECT_EQ(counter_of(machine, cpu, 1, rmid), lines[rmid]);
        EXPECT_EQ(counter_of(machine, cpu, 2, rmid), lines[rmid]);
    }
    machine.write(cpu, kQmEvtsel, select);
}

TEST(Machine, MatchesReferenceInRandomUse)
{
    constexpr uint32_t kNumbers[] = {kPqrAssoc, kQmEvtsel, kDelay, kDelay + 5};
    for (unsigned seed = 1; seed <= 4; seed++) {
        std::mt19937_64 random(seed);
        auto machine = make(two_l3s());
        NaiveMachine naive;
        for (int step = 0; step < 20000; step++) {
            const auto cpu = static_cast<uint32_t>(random() % 4);
            // All addresses are in 4096 adjacent lines, and an L3 has 16384 lines: none is evicted.
            for (uint64_t i = random() % 8, at = random() % (4096 - 8) * 64; i; i--, at += 64) {
                machine->access(cpu, at);
                naive.access(cpu, at);
            }
            const uint32_t number = kNumbers[random() % 4];
            uint64_t value = random() >> (random() % 64);
            if (random() % 2)
                value &= 0x7ULL << 32 | 0x3f;
            machine->write(cpu, number, value);
            naive.write(cpu, number, value);
            ASSERT_EQ(value_of(*machine, cpu, number), naive.read(cpu, number)) << seed << step;
            if (step % 2000 == 0)
                for (const uint32_t l3 : {0u, 1u})
                    expect_lines(*machine, l3, naive.lines(l3));
        }
    }
}

}  // namespace
}  // namespace pmukit::rdt
