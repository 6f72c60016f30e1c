// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Tests the simulated processor without the driver. Registers must follow the rules of the manuals.
// Caches must fulfill the invariants of any cache. In a full cache, the occupancy of a task must
// follow the closed formula for contention.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "cache_qos_machine.hpp"

namespace {

using pmukit::kshim::Machine;
using pmukit::kshim::MachineShape;

constexpr u32 kOccupancy = CACHE_QOS_SIM_EVENT_OCCUPANCY;
constexpr u32 kTotal = CACHE_QOS_SIM_EVENT_TOTAL;
constexpr u32 kLocal = CACHE_QOS_SIM_EVENT_LOCAL;
constexpr u64 kError = CACHE_QOS_SIM_CTR_ERROR;
constexpr u64 kUnavailable = CACHE_QOS_SIM_CTR_UNAVAILABLE;
constexpr u64 kGp = ~u64{0};
constexpr u64 kSecond = 1000000000;

MachineShape of_profile(const std::string &profile)
{
    MachineShape shape;
    shape.profile = profile;
    return shape;
}

std::vector<u32> leaf(Machine &machine, u32 number, u32 subleaf = 0, u32 cpu = 0)
{
    std::vector<u32> regs(4);
    cache_qos_sim_cpuid(machine.get(), cpu, number, subleaf, regs.data());
    return regs;
}

class Dice {
public:
    explicit Dice(u64 seed) : engine_(seed) {}
    u32 operator()(u32 sides) { return static_cast<u32>(engine_() % sides); }

private:
    std::mt19937_64 engine_;
};

// CPUID

TEST(CacheQosSimCpuid, ReportsVendorAndSignature)
{
    Machine bdx(of_profile("bdx"));
    EXPECT_EQ(leaf(bdx, 0)[1], 0x756e6547U);  // "Genu"
    EXPECT_EQ(leaf(bdx, 0)[3], 0x49656e69U);  // "ineI"
    EXPECT_EQ(leaf(bdx, 0)[2], 0x6c65746eU);  // "ntel"
    EXPECT_EQ(leaf(bdx, 1)[0], 0x406f1U);
    EXPECT_EQ(leaf(bdx, 1, 0, 1)[1] >> 24, 1U);
    Machine rome(of_profile("amd-rome"));
    EXPECT_EQ(leaf(rome, 0)[1], 0x68747541U);  // "Auth"
    EXPECT_EQ(leaf(rome, 0)[3], 0x69746e65U);  // "enti"
    EXPECT_EQ(leaf(rome, 0)[2], 0x444d4163U);  // "cAMD"
}

TEST(CacheQosSimCpuid, ReportsMonitoringFeatures)
{
    Machine bdx(of_profile("bdx"));
    EXPECT_EQ(leaf(bdx, 7)[1], 1U << 12);
    EXPECT_EQ(leaf(bdx, 0xf), (std::vector<u32>{0, 47, 0, 2}));
    EXPECT_EQ(leaf(bdx, 0xf, 1), (std::vector<u32>{0, 24576, 47, 7}));
    Machine hsw(of_profile("hsw"));
    EXPECT_EQ(leaf(hsw, 0xf, 1), (std::vector<u32>{0, 73728, 71, 1}));
    Machine uneven(of_profile("uneven"));
    EXPECT_EQ(leaf(uneven, 0xf)[1], 255U);
    EXPECT_EQ(leaf(uneven, 0xf, 1)[2], 223U);
    Machine gnr(of_profile("gnr"));
    EXPECT_EQ(leaf(gnr, 0xf, 1)[0], 0x608U);
    Machine abmc(of_profile("amd-turin"));
    EXPECT_EQ(leaf(abmc, 0x80000020)[1], 0x7eU);
    EXPECT_EQ(leaf(abmc, 0x80000020, 3)[2], 0x7fU);
    EXPECT_EQ(leaf(abmc, 0x80000020, 5)[1], 31U);
}

TEST(CacheQosSimCpuid, ReturnsZerosForMissingLeaves)
{
    Machine none(of_profile("none"));
    const std::vector<u32> nothing(4);
    EXPECT_EQ(leaf(none, 7), nothing);
    EXPECT_EQ(leaf(none, 0xf), nothing);
    EXPECT_EQ(leaf(none, 0xf, 1), nothing);
    Machine spr(of_profile("spr"));
    EXPECT_EQ(leaf(spr, 0x80000020), nothing);
    EXPECT_EQ(leaf(spr, 0x8000001d, 3), nothing);
    EXPECT_EQ(leaf(spr, 0xf, 2), nothing);
    Machine rome(of_profile("amd-rome"));
    EXPECT_EQ(leaf(rome, 4, 3), nothing);
    EXPECT_EQ(leaf(rome, 0x80000020, 3), nothing);
    EXPECT_EQ(leaf(rome, 0x80000020, 5), nothing);
}

TEST(CacheQosSimCpuid, BrokenProfilesHaveMixedScalesOrNoRmids)
{
    Machine machine(of_profile("broken-mixed"));
    EXPECT_EQ(leaf(machine, 0xf, 1, 0)[1], 65536U);
    EXPECT_EQ(leaf(machine, 0xf, 1, 1)[1], 61440U);
    Machine broken(of_profile("broken"));
    EXPECT_EQ(leaf(broken, 0xf)[1], 0U);
    EXPECT_EQ(leaf(broken, 0xf, 1)[2], 0U);
}

// The size is ways * partitions * line size * sets. The test also checks how many CPUs share the
// cache.
TEST(CacheQosSimCpuid, ReportsCacheSizeAndSharing)
{
    for (const char *name : {"hsw", "gnr", "amd-rome"}) {
        MachineShape shape = of_profile(name);
        shape.cpus = 6;
        shape.domains = 2;
        Machine machine(shape);
        const std::vector<u32> regs = leaf(machine, machine.profile().amd ? 0x8000001d : 4, 3);
        const u64 bytes = u64{(regs[1] >> 22) + 1} * ((regs[1] >> 12 & 0x3ff) + 1) *
                          ((regs[1] & 0xfff) + 1) * (u64{regs[2]} + 1);
        EXPECT_EQ(regs[0] & 0xff, 0x63U);
        EXPECT_EQ(regs[0] >> 14, 2U) << name;
        EXPECT_EQ(bytes, cache_qos_sim_domain_bytes(machine.get(), &machine.domain(0))) << name;
    }
}

TEST(CacheQosSimProfiles, FindsProfileByName)
{
    for (u32 i = 0; i < cache_qos_sim_nr_profiles; i++)
        EXPECT_EQ(cache_qos_sim_profile_by_name(cache_qos_sim_profiles[i].name),
                  &cache_qos_sim_profiles[i]);
    EXPECT_EQ(cache_qos_sim_profile_by_name("hs"), nullptr);
    EXPECT_EQ(cache_qos_sim_profile_by_name(""), nullptr);
}

// Registers

TEST(CacheQosSimPqr, RejectsInvalidRmidAndClosid)
{
    Machine machine(of_profile("tiny"));
    EXPECT_TRUE(machine.write(0, CACHE_QOS_SIM_MSR_PQR, 3));
    EXPECT_FALSE(machine.write(0, CACHE_QOS_SIM_MSR_PQR, 4));
    EXPECT_FALSE(machine.write(0, CACHE_QOS_SIM_MSR_PQR, 1ULL << 31));
    EXPECT_TRUE(machine.write(0, CACHE_QOS_SIM_MSR_PQR, 15ULL << 32 | 1));
    EXPECT_FALSE(machine.write(0, CACHE_QOS_SIM_MSR_PQR, 16ULL << 32 | 1));
    EXPECT_EQ(machine.read(0, CACHE_QOS_SIM_MSR_PQR), 15ULL << 32 | 1);
    EXPECT_EQ(machine.read(1, CACHE_QOS_SIM_MSR_PQR), 0U);
    EXPECT_EQ(machine.cpu(0).pqr_writes, 2U);
    EXPECT_EQ(machine.cpu(0).gp, 3U);
}

TEST(CacheQosSimEvtsel, RefusesReservedBits)
{
    Machine intel(of_profile("spr")), rome(of_profile("amd-rome")), abmc(of_profile("amd-turin"));
    EXPECT_TRUE(intel.write(0, CACHE_QOS_SIM_MSR_EVTSEL, 0x3ffULL << 32 | 0xff));
    EXPECT_FALSE(intel.write(0, CACHE_QOS_SIM_MSR_EVTSEL, 1ULL << 42));
    EXPECT_FALSE(intel.write(0, CACHE_QOS_SIM_MSR_EVTSEL, 1ULL << 31));
    EXPECT_FALSE(intel.write(0, CACHE_QOS_SIM_MSR_EVTSEL, 1ULL << 8));
    EXPECT_TRUE(rome.write(0, CACHE_QOS_SIM_MSR_EVTSEL, 0xfffULL << 32));
    EXPECT_FALSE(rome.write(0, CACHE_QOS_SIM_MSR_EVTSEL, 1ULL << 44));
    EXPECT_FALSE(rome.write(0, CACHE_QOS_SIM_MSR_EVTSEL, 1ULL << 31));
    EXPECT_TRUE(abmc.write(0, CACHE_QOS_SIM_MSR_EVTSEL, 1ULL << 31));
    EXPECT_EQ(intel.read(0, CACHE_QOS_SIM_MSR_EVTSEL), 0x3ffULL << 32 | 0xff);
    EXPECT_EQ(intel.cpu(0).evtsel_writes, 1U);
}

TEST(CacheQosSimEvtsel, EvtselIsPerCpuUnlessCpusShareTheRegister)
{
    Machine machine(MachineShape{});
    machine.write(0, CACHE_QOS_SIM_MSR_EVTSEL, 1);
    EXPECT_EQ(machine.read(1, CACHE_QOS_SIM_MSR_EVTSEL), 0U);
    machine.cpu(1).evtsel_cpu = 0;
    EXPECT_EQ(machine.read(1, CACHE_QOS_SIM_MSR_EVTSEL), 1U);
    machine.write(1, CACHE_QOS_SIM_MSR_EVTSEL, 2);
    EXPECT_EQ(machine.read(0, CACHE_QOS_SIM_MSR_EVTSEL), 2U);
}

TEST(CacheQosSimMsrs, RegistersOfMissingFeaturesRaiseGp)
{
    Machine none(of_profile("none")), clx(of_profile("clx")), spr(of_profile("spr"));
    Machine abmc(of_profile("amd-turin"));
    EXPECT_EQ(none.read(0, CACHE_QOS_SIM_MSR_PQR), kGp);
    EXPECT_FALSE(none.write(0, CACHE_QOS_SIM_MSR_EVTSEL, 1));
    EXPECT_EQ(clx.read(0, CACHE_QOS_SIM_MSR_SNC_CONFIG), kGp);
    EXPECT_EQ(clx.read(0, CACHE_QOS_SIM_MSR_EXT_CFG), kGp);
    EXPECT_EQ(clx.read(0, CACHE_QOS_SIM_MSR_EVT_CFG), kGp);
    EXPECT_EQ(clx.read(0, 0xc90), kGp);
    EXPECT_FALSE(clx.write(0, CACHE_QOS_SIM_MSR_CTR, 0));
    EXPECT_EQ(spr.read(0, CACHE_QOS_SIM_MSR_SNC_CONFIG), 0U);
    EXPECT_EQ(abmc.read(0, CACHE_QOS_SIM_MSR_EXT_CFG), 1U);
    EXPECT_EQ(abmc.read(0, CACHE_QOS_SIM_MSR_EVT_CFG), 0x7fU);
    EXPECT_EQ(abmc.read(0, CACHE_QOS_SIM_MSR_EVT_CFG + 1), 0x15U);
    EXPECT_EQ(abmc.read(0, CACHE_QOS_SIM_MSR_EVT_CFG + 2), kGp);
    EXPECT_EQ(clx.cpu(0).gp, 5U);
}

TEST(CacheQosSimCtr, ReturnsErrorForMissingRmidOrEvent)
{
    Machine hsw(of_profile("hsw")), uneven(of_profile("uneven"));
    EXPECT_EQ(hsw.counter(0, 71, kOccupancy), 0U);
    EXPECT_EQ(hsw.counter(0, 72, kOccupancy), kError);
    EXPECT_EQ(hsw.counter(0, 1, kTotal), kError);
    EXPECT_EQ(hsw.counter(0, 1, 0), kError);
    EXPECT_EQ(uneven.counter(0, 1, 4), kError);
    EXPECT_EQ(uneven.counter(0, 223, kLocal), 0U);
    EXPECT_EQ(uneven.counter(0, 224, kLocal), kError);
    EXPECT_TRUE(uneven.write(0, CACHE_QOS_SIM_MSR_PQR, 255));
}

TEST(CacheQosSimReset, CpuResetClearsItsRegisters)
{
    Machine machine(of_profile("amd-turin"));
    machine.run_as(0, 7);
    machine.run_as(1, 8);
    machine.write(0, CACHE_QOS_SIM_MSR_EVTSEL, 1);
    machine.write(0, CACHE_QOS_SIM_MSR_EXT_CFG, 0);
    cache_qos_sim_reset_cpu(machine.get(), 0);
    EXPECT_EQ(machine.read(0, CACHE_QOS_SIM_MSR_PQR), 0U);
    EXPECT_EQ(machine.read(0, CACHE_QOS_SIM_MSR_EVTSEL), 0U);
    EXPECT_EQ(machine.read(0, CACHE_QOS_SIM_MSR_EXT_CFG), 1U);
    EXPECT_EQ(machine.read(1, CACHE_QOS_SIM_MSR_PQR), 8U);
}

// Caches

TEST(CacheQosSimCache, CacheHitDoesNotChangeRmidOfLine)
{
    Machine machine(MachineShape{});
    machine.run_as(0, 5);
    EXPECT_FALSE(machine.touch(0, 100, 1));
    machine.run_as(0, 6);
    EXPECT_TRUE(machine.touch(0, 100, 2));
    EXPECT_EQ(machine.counter(1, 5, kOccupancy), 1U);
    EXPECT_EQ(machine.counter(1, 6, kOccupancy), 0U);
    EXPECT_EQ(machine.counter(1, 6, kTotal), 0U);
    EXPECT_EQ(machine.owner(1).lines, 1U);
    EXPECT_EQ(machine.owner(2).lines, 0U);
}

TEST(CacheQosSimCache, OccupancyGrowsToFootprint)
{
    Machine machine(MachineShape{});
    machine.run_as(0, 1);
    for (int round = 0; round < 3; round++)
        for (u64 address = 0; address < 500; address++)
            machine.touch(0, 7777 + address, 1);
    EXPECT_EQ(machine.counter(0, 1, kOccupancy), 500U);
    EXPECT_EQ(machine.counter(0, 1, kTotal), 500U);
}

TEST(CacheQosSimCache, EvictsLeastRecentlyUsedLine)
{
    MachineShape shape;
    shape.lines = shape.ways = 4;
    Machine machine(shape);
    machine.get()->lru = true;
    for (u64 address : {0, 1, 2, 3, 0, 1, 3})
        machine.touch(0, address, 1);
    machine.touch(0, 4, 1);
    EXPECT_TRUE(machine.touch(0, 0, 1));
    EXPECT_TRUE(machine.touch(0, 3, 1));
    EXPECT_FALSE(machine.touch(0, 2, 1));
}

TEST(CacheQosSimCache, FullSetDoesNotEvictLinesOfOtherSets)
{
    MachineShape shape;
    shape.lines = 64;
    shape.ways = 4;
    Machine machine(shape);
    machine.touch(0, 3, 1);
    for (u64 round = 0; round < 100; round++)
        for (u64 set = 0; set < 16; set++)
            if (set != 3)
                machine.touch(0, round * 16 + set, 2);
    EXPECT_TRUE(machine.touch(0, 3, 1));
    EXPECT_EQ(machine.lines_of(0, 2), 60U);
}

TEST(CacheQosSimCache, CountsTrafficToMemoryOfItsOwnDomainAsLocal)
{
    MachineShape shape;
    shape.domains = 2;
    Machine machine(shape);
    machine.run_as(1, 3);
    machine.touch(1, 1, 1, 1);
    machine.touch(1, 2, 1, 0);
    machine.touch(1, 3, 1, 0);
    EXPECT_EQ(machine.counter(1, 3, kTotal), 3U);
    EXPECT_EQ(machine.counter(1, 3, kLocal), 1U);
    EXPECT_EQ(machine.counter(0, 3, kTotal), 0U);
    EXPECT_EQ(machine.owner(1).units[0], 3U);
    EXPECT_EQ(machine.owner(1).units[1], 1U);
}

TEST(CacheQosSimCache, WriteBackIsCountedForRmidOfTheEvictedLine)
{
    for (bool write_backs : {false, true}) {
        MachineShape shape;
        shape.lines = shape.ways = 1;
        Machine machine(shape);
        machine.get()->write_backs = write_backs;
        machine.run_as(0, 1);
        machine.touch(0, 1, 1);
        machine.touch(0, 1, 1, 0, true);
        machine.run_as(0, 2);
        machine.touch(0, 2, 2);
        machine.touch(0, 3, 2);
        EXPECT_EQ(machine.counter(0, 1, kTotal), write_backs ? 2U : 1U);
        EXPECT_EQ(machine.counter(0, 2, kTotal), 2U);
    }
}

TEST(CacheQosSimCache, FlushEmptiesCache)
{
    Machine machine(MachineShape{});
    machine.run_as(0, 1);
    for (u64 address = 0; address < 100; address++)
        machine.touch(0, address, 1);
    cache_qos_sim_flush(machine.get(), 0);
    EXPECT_EQ(machine.counter(0, 1, kOccupancy), 0U);
    EXPECT_EQ(machine.domain(0).valid, 0U);
    EXPECT_EQ(machine.owner(1).lines, 0U);
    EXPECT_EQ(machine.counter(0, 1, kTotal), 100U);
}

TEST(CacheQosSimCache, ShrinkEvictsRequestedShare)
{
    Machine machine(MachineShape{});
    for (u64 address = 0; address < 1024; address++)
        machine.touch(0, address, 1);
    const u32 gone = cache_qos_sim_shrink(machine.get(), 0, 250);
    EXPECT_NEAR(gone, 256, 60);
    EXPECT_EQ(machine.counter(0, 0, kOccupancy), 1024 - gone);
    EXPECT_EQ(cache_qos_sim_shrink(machine.get(), 0, 0), 0U);
    EXPECT_EQ(cache_qos_sim_shrink(machine.get(), 0, 1000), 1024 - gone);
}

TEST(CacheQosSimCache, PinnedLinesAreNeverEvicted)
{
    MachineShape shape;
    shape.lines = 32;
    shape.ways = 4;
    Machine machine(shape);
    machine.run_as(0, 1);
    for (u64 address = 0; address < 32; address++)
        machine.touch(0, address, 1);
    EXPECT_EQ(cache_qos_sim_pin(machine.get(), 0, 1, 5), 5U);
    EXPECT_EQ(cache_qos_sim_pin(machine.get(), 0, 2, 5), 0U);
    machine.run_as(0, 2);
    for (u64 address = 1000; address < 3000; address++)
        machine.touch(0, address, 2);
    EXPECT_EQ(machine.counter(0, 1, kOccupancy), 5U);
    EXPECT_EQ(machine.counter(0, 2, kOccupancy), 27U);
    EXPECT_EQ(machine.counter(0, 2, kTotal), 2000U);
    cache_qos_sim_shrink(machine.get(), 0, 1000);
    EXPECT_EQ(machine.counter(0, 1, kOccupancy), 5U);
}

// The simulation updates counters with every fill and eviction. A count of all lines must give the
// same values.
TEST(CacheQosSimCache, CountersMatchACountOfAllLinesAfterRandomAccesses)
{
    for (u64 seed = 1; seed <= 20; seed++) {
        Dice dice(seed);
        MachineShape shape;
        shape.cpus = 4;
        shape.domains = 2;
        shape.lines = 256;
        shape.ways = 8;
        shape.seed = seed;
        Machine machine(shape);
        machine.get()->lru = seed % 2;
        machine.get()->write_backs = seed % 3 == 0;
        for (int step = 0; step < 5000; step++) {
            const u32 cpu = dice(4);
            if (dice(10) == 0)
                machine.run_as(cpu, dice(6));
            if (dice(1000) == 0)
                cache_qos_sim_shrink(machine.get(), dice(2), 300);
            machine.touch(cpu, dice(900), dice(5), dice(2), dice(4) == 0);
        }
        u64 owned = 0, by_rmid = 0, fills = 0, traffic = 0;
        for (u32 owner = 0; owner < 5; owner++) {
            EXPECT_EQ(machine.owner(owner).lines,
                      machine.lines_of(0, owner) + machine.lines_of(1, owner));
            owned += machine.owner(owner).lines;
            fills += machine.owner(owner).units[0];
        }
        for (u32 domain = 0; domain < 2; domain++) {
            EXPECT_EQ(machine.domain(domain).valid, machine.lines_valid(domain));
            for (u32 rmid = 0; rmid < 6; rmid++) {
                EXPECT_EQ(machine.counter(domain * 2, rmid, kOccupancy),
                          machine.lines_tagged(domain, rmid));
                by_rmid += machine.lines_tagged(domain, rmid);
                traffic += machine.counter(domain * 2, rmid, kTotal);
            }
        }
        EXPECT_EQ(owned, by_rmid);
        EXPECT_EQ(fills, traffic);
    }
}

TEST(CacheQosSimCache, SameSeedGivesSameHits)
{
    MachineShape shape;
    Machine one(shape), two(shape);
    shape.seed = 2;
    Machine other(shape);
    bool differs = false;
    for (u64 i = 0; i < 20000; i++) {
        const u64 address = i * 7919 % 3000;
        const bool hit = one.touch(0, address, 1);
        ASSERT_EQ(two.touch(0, address, 1), hit);
        differs |= other.touch(0, address, 1) != hit;
    }
    EXPECT_TRUE(differs);
}

// The occupancy O of a task with m of all M misses follows dO/dt = m - M * O / C. In a cache of C
// lines that was full of other lines, the task has O(t) = C * m/M * (1 - exp(-M t/C)) lines.
// Evictions are random, so the tolerance is five standard deviations.
TEST(CacheQosSimCache, OccupancyUnderContentionGrowsAlongTheExpectedExponentialCurve)
{
    MachineShape shape;
    shape.cpus = 3;
    shape.lines = 16384;
    Machine machine(shape);
    const double capacity = shape.lines;
    u64 fresh = 0;
    for (; fresh < 300000; fresh++)
        machine.touch(0, fresh * 48271, 0);
    ASSERT_EQ(machine.domain(0).valid, shape.lines);
    Dice dice(3);
    const double share[2] = {0.75, 0.25};
    for (u32 i = 0; i < 2; i++)
        machine.run_as(i + 1, i + 1);
    for (u64 t = 1; t <= 6 * shape.lines; t++) {
        const u32 task = dice(4) == 0;
        machine.touch(task + 1, fresh++ * 48271, task + 1);
        if (t % 4096)
            continue;
        for (u32 i = 0; i < 2; i++) {
            const double p = share[i] * (1 - std::exp(-static_cast<double>(t) / capacity));
            const double deviation = std::sqrt(capacity * p * (1 - p));
            EXPECT_NEAR(static_cast<double>(machine.counter(0, i + 1, kOccupancy)), p * capacity,
                        5 * deviation)
                << "after " << t << " misses";
        }
    }
}

// Without contention, lines that another RMID filled are never evicted.
TEST(CacheQosSimCache, LinesStayWithoutContention)
{
    Machine machine(MachineShape{});
    machine.run_as(0, 1);
    for (u64 address = 0; address < 600; address++)
        machine.touch(0, address, 1);
    machine.run_as(0, 2);
    for (int round = 0; round < 1000; round++)
        for (u64 address = 0; address < 100; address++)
            machine.touch(0, 600 + address, 2);
    EXPECT_EQ(machine.counter(0, 1, kOccupancy), 600U);
    EXPECT_EQ(machine.counter(0, 2, kOccupancy), 100U);
}

// Nodes of an L3

TEST(CacheQosSimSnc, RmidSharingModeCountsForRmidPlusOffsetOfTheNode)
{
    MachineShape shape = of_profile("spr");
    shape.nodes = 2;
    Machine machine(shape);
    ASSERT_EQ(machine.cpu(1).node, 1U);
    EXPECT_EQ(cache_qos_sim_domain_bytes(machine.get(), &machine.domain(0)), 1024U * 90112 / 2);
    machine.run_as(0, 5);
    machine.run_as(1, 5);
    machine.touch(0, 1, 1);
    machine.touch(1, 2, 2);
    machine.touch(1, 3, 2);
    EXPECT_EQ(machine.counter(0, 5, kOccupancy), 1U);
    EXPECT_EQ(machine.counter(0, 176 + 5, kOccupancy), 2U);
    EXPECT_FALSE(machine.write(0, CACHE_QOS_SIM_MSR_SNC_CONFIG, 2));
}

TEST(CacheQosSimSnc, RmidPartitionModeCountsRmidOutsideTheNodesRangeForTheFirstRmidOfTheRange)
{
    MachineShape shape = of_profile("spr");
    shape.nodes = 2;
    shape.partition = true;
    Machine machine(shape);
    EXPECT_EQ(machine.read(0, CACHE_QOS_SIM_MSR_SNC_CONFIG), 1U);
    machine.run_as(0, 5);
    machine.touch(0, 1, 1);
    machine.run_as(1, 5);
    machine.touch(1, 2, 2);
    machine.run_as(1, 181);
    machine.touch(1, 3, 2);
    EXPECT_EQ(machine.counter(0, 5, kOccupancy), 1U);
    EXPECT_EQ(machine.counter(0, 176, kOccupancy), 1U);
    EXPECT_EQ(machine.counter(0, 181, kOccupancy), 1U);
}

// Bandwidth counters

class CacheQosSimWidth : public testing::TestWithParam<std::pair<const char *, u32>> {};

TEST_P(CacheQosSimWidth, CountersWrapAtTheirWidth)
{
    MachineShape shape = of_profile(GetParam().first);
    const u64 wrap = u64{1} << GetParam().second;
    shape.mbm_start = wrap - 10;
    Machine machine(shape);
    machine.run_as(0, 1);
    EXPECT_EQ(machine.counter(0, 1, kTotal), wrap - 10);
    for (u64 address = 0; address < 9; address++)
        machine.touch(0, address, 1);
    EXPECT_EQ(machine.counter(0, 1, kTotal), wrap - 1);
    machine.touch(0, 9, 1);
    machine.touch(0, 10, 1);
    EXPECT_EQ(machine.counter(0, 1, kTotal) % wrap, 1U);
}

INSTANTIATE_TEST_SUITE_P(Profiles, CacheQosSimWidth,
                         testing::Values(std::pair{"bdx", 24U}, std::pair{"spr", 32U},
                                         std::pair{"wide", 62U}));

TEST(CacheQosSimTraffic, ErratumBdf102OvercountsTrafficOfRmidsAbove31)
{
    Machine machine(of_profile("bdx"));
    for (u32 rmid : {31U, 32U}) {
        machine.run_as(0, rmid);
        for (u64 address = 0; address < 8000; address++)
            machine.touch(0, rmid * 100000 + address, 1);
    }
    EXPECT_EQ(machine.counter(0, 31, kTotal), 8000U);
    EXPECT_EQ(machine.counter(0, 32, kTotal), 8250U);
    EXPECT_EQ(machine.domain(0).rmids[32].traffic[0].truth, 8000U);
}

TEST(CacheQosSimTraffic, AmdCountsTrafficOfAnRmidFromItsFirstReadOn)
{
    Machine machine(of_profile("amd-rome"));
    machine.run_as(0, 9);
    machine.touch(0, 1, 1);
    EXPECT_EQ(machine.counter(0, 9, kTotal), kUnavailable);
    machine.touch(0, 2, 1);
    EXPECT_EQ(machine.counter(0, 9, kTotal), 1U);
    EXPECT_EQ(machine.counter(0, 9, kLocal), kUnavailable);
    EXPECT_EQ(machine.domain(0).rmids[9].traffic[0].truth, 2U);
}

TEST(CacheQosSimTraffic, AmdReadTakesTheLeastRecentlyReadCounterIfAllAreUsed)
{
    Machine machine(of_profile("amd-rome"));
    const u32 counters = machine.profile().mbm_counters;
    for (u32 rmid = 0; rmid < counters; rmid++)
        EXPECT_EQ(machine.counter(0, rmid, kTotal), kUnavailable);
    EXPECT_EQ(machine.counter(0, 0, kTotal), 0U);
    // This read takes the counter of RMID 1.
    EXPECT_EQ(machine.counter(0, counters, kTotal), kUnavailable);
    EXPECT_EQ(machine.counter(0, 0, kTotal), 0U);
    EXPECT_EQ(machine.counter(0, 2, kTotal), 0U);
    EXPECT_EQ(machine.counter(0, 1, kTotal), kUnavailable);
}

TEST(CacheQosSimTraffic, TrafficOfRmidWithoutAbmcCounterReadsAsUnavailable)
{
    Machine machine(of_profile("amd-turin"));
    EXPECT_EQ(machine.counter(0, 1, kTotal), kUnavailable);
    EXPECT_EQ(machine.counter(0, 1, kTotal), kUnavailable);
    EXPECT_EQ(machine.counter(0, 1, kOccupancy), 0U);
    machine.write(0, CACHE_QOS_SIM_MSR_EXT_CFG, 0);
    EXPECT_EQ(machine.counter(0, 1, kTotal), kUnavailable);
    EXPECT_EQ(machine.counter(0, 1, kTotal), 0U);
}

TEST(CacheQosSimTraffic, AbmcCounterIsAssignedOnlyWhileTheModeIsOn)
{
    constexpr u64 kAssign = CACHE_QOS_SIM_ABMC_APPLY | CACHE_QOS_SIM_ABMC_ENABLE;
    constexpr u64 kCounter5 = kAssign | 5ULL << 48 | 7ULL << 32 | 0x7f;  // RMID 7, all traffic
    Machine machine(of_profile("amd-turin"));
    EXPECT_TRUE(machine.write(0, CACHE_QOS_SIM_MSR_ABMC_CFG, kCounter5));
    EXPECT_NE(machine.domain(0).counters[5].config, 0U);
    EXPECT_TRUE(machine.write(0, CACHE_QOS_SIM_MSR_EXT_CFG, 0));
    EXPECT_FALSE(machine.write(0, CACHE_QOS_SIM_MSR_ABMC_CFG, kCounter5));
    EXPECT_EQ(machine.domain(0).counters[5].config, 0U);
}

TEST(CacheQosSimTraffic, CountersRestartWhenTrafficTypesChange)
{
    Machine machine(of_profile("amd-turin"));
    machine.write(0, CACHE_QOS_SIM_MSR_EXT_CFG, 0);
    machine.counter(0, 0, kLocal);
    machine.touch(0, 1, 1);
    EXPECT_EQ(machine.counter(0, 0, kLocal), 1U);
    EXPECT_FALSE(machine.write(0, CACHE_QOS_SIM_MSR_EVT_CFG, 0x80));
    EXPECT_TRUE(machine.write(0, CACHE_QOS_SIM_MSR_EVT_CFG + 1, 0x01));
    EXPECT_EQ(machine.read(0, CACHE_QOS_SIM_MSR_EVT_CFG + 1), 1U);
    EXPECT_EQ(machine.counter(0, 0, kLocal), kUnavailable);
    EXPECT_EQ(machine.counter(0, 0, kLocal), 0U);
}

// Faults

cache_qos_sim_fault fault_of(cache_qos_sim_fault_kind kind)
{
    return {kind, CACHE_QOS_SIM_ANY, CACHE_QOS_SIM_ANY, 0, 1, 0};
}

TEST(CacheQosSimFaults, FaultSkipsAndThenAffectsTheGivenNumbersOfReads)
{
    Machine machine(MachineShape{});
    cache_qos_sim_fault fault = fault_of(CACHE_QOS_SIM_FAULT_UNAVAILABLE);
    fault.after = 2;
    fault.times = 3;
    fault.rmid = 4;
    ASSERT_TRUE(cache_qos_sim_inject(machine.get(), &fault));
    std::vector<u64> reads;
    for (int i = 0; i < 7; i++) {
        EXPECT_EQ(machine.counter(0, 3, kOccupancy), 0U);
        reads.push_back(machine.counter(0, 4, kOccupancy));
    }
    const u64 u = kUnavailable;
    EXPECT_EQ(reads, (std::vector<u64>{0, 0, u, u, u, 0, 0}));
}

TEST(CacheQosSimFaults, FaultOfADomainAffectsOnlyItsCpus)
{
    MachineShape shape;
    shape.domains = 2;
    Machine machine(shape);
    cache_qos_sim_fault fault = fault_of(CACHE_QOS_SIM_FAULT_ERROR);
    fault.domain = 1;
    cache_qos_sim_inject(machine.get(), &fault);
    EXPECT_EQ(machine.counter(0, 1, kOccupancy), 0U);
    EXPECT_EQ(machine.counter(1, 1, kOccupancy), kError);
    EXPECT_EQ(machine.counter(1, 1, kOccupancy), 0U);
}

TEST(CacheQosSimFaults, GpFaultRejectsOneWrite)
{
    Machine machine(MachineShape{});
    cache_qos_sim_fault fault = fault_of(CACHE_QOS_SIM_FAULT_GP);
    fault.rmid = CACHE_QOS_SIM_MSR_PQR;
    cache_qos_sim_inject(machine.get(), &fault);
    EXPECT_TRUE(machine.write(0, CACHE_QOS_SIM_MSR_EVTSEL, 1));
    EXPECT_FALSE(machine.write(0, CACHE_QOS_SIM_MSR_PQR, 1));
    EXPECT_EQ(machine.read(0, CACHE_QOS_SIM_MSR_PQR), 0U);
    EXPECT_TRUE(machine.write(0, CACHE_QOS_SIM_MSR_PQR, 1));
}

TEST(CacheQosSimFaults, StealEvtselAndHijackPqrFaultsOverwriteRegistersBeforeReadOfQmCtr)
{
    Machine machine(MachineShape{});
    machine.run_as(0, 2);
    machine.touch(0, 1, 1);
    cache_qos_sim_fault steal = fault_of(CACHE_QOS_SIM_FAULT_STEAL_EVTSEL);
    steal.value = 2ULL << 32 | kOccupancy;
    cache_qos_sim_fault hijack = fault_of(CACHE_QOS_SIM_FAULT_HIJACK_PQR);
    hijack.value = 9;
    cache_qos_sim_inject(machine.get(), &steal);
    cache_qos_sim_inject(machine.get(), &hijack);
    EXPECT_EQ(machine.counter(0, 1, kOccupancy), 1U);
    EXPECT_EQ(machine.read(0, CACHE_QOS_SIM_MSR_EVTSEL), steal.value);
    EXPECT_EQ(machine.read(0, CACHE_QOS_SIM_MSR_PQR), 9U);
    EXPECT_EQ(machine.cpu(0).pqr_writes, 1U);
}

// The simulation has no counters for RMIDs that the register cannot hold. It therefore must not
// store such an RMID.
TEST(CacheQosSimFaults, StealEvtselAndHijackPqrFaultsDropInvalidValues)
{
    for (const u64 value : {4ULL, 1ULL << 31, 16ULL << 32 | 1, ~0ULL}) {
        Machine machine(of_profile("tiny"));
        machine.run_as(0, 2);
        cache_qos_sim_fault steal = fault_of(CACHE_QOS_SIM_FAULT_STEAL_EVTSEL);
        steal.value = 1ULL << 42;
        cache_qos_sim_fault hijack = fault_of(CACHE_QOS_SIM_FAULT_HIJACK_PQR);
        hijack.value = value;
        cache_qos_sim_inject(machine.get(), &steal);
        cache_qos_sim_inject(machine.get(), &hijack);
        EXPECT_EQ(machine.counter(0, 1, kOccupancy), 0U);
        EXPECT_FALSE(machine.has_faults());
        EXPECT_EQ(machine.read(0, CACHE_QOS_SIM_MSR_PQR), 2U);
        EXPECT_EQ(machine.read(0, CACHE_QOS_SIM_MSR_EVTSEL), 1ULL << 32 | kOccupancy);
        EXPECT_EQ(machine.cpu(0).gp, 0U);
        machine.touch(0, 1, 1);
        EXPECT_EQ(machine.lines_tagged(0, 2), 1U);
    }
}

TEST(CacheQosSimFaults, InjectionFailsIfAllSlotsAreUsed)
{
    Machine machine(MachineShape{});
    const cache_qos_sim_fault fault = fault_of(CACHE_QOS_SIM_FAULT_ERROR);
    for (int i = 0; i < CACHE_QOS_SIM_MAX_FAULTS; i++)
        EXPECT_TRUE(cache_qos_sim_inject(machine.get(), &fault));
    EXPECT_FALSE(cache_qos_sim_inject(machine.get(), &fault));
    EXPECT_EQ(machine.counter(0, 1, kOccupancy), kError);
    EXPECT_TRUE(cache_qos_sim_inject(machine.get(), &fault));
}

// Programs

TEST(CacheQosSimStream, AccessRateMatchesBytesPerSecond)
{
    Machine machine(of_profile("wide"));
    cache_qos_sim_stream stream{};
    stream.lines = 1 << 20;
    stream.bytes_per_s = 1000 * 65536;
    u64 accesses = 0;
    for (int i = 0; i < 1000; i++)
        accesses += cache_qos_sim_run(machine.get(), 0, &stream, 333333);
    // Each call amounts to 0.333 accesses. The fractions are carried over to the next calls.
    EXPECT_EQ(accesses, 333U);
    EXPECT_EQ(cache_qos_sim_run(machine.get(), 0, &stream, kSecond), 1000U);
    EXPECT_EQ(cache_qos_sim_run(machine.get(), 0, &stream, 3600 * kSecond), 1000U);
}

TEST(CacheQosSimStream, AccessesOnlyLinesOfItsFootprint)
{
    for (bool shuffled : {false, true}) {
        Machine machine(of_profile("wide"));
        cache_qos_sim_stream stream{};
        stream.base = 123456789;
        stream.lines = 300;
        stream.bytes_per_s = 10000 * 65536;
        stream.owner = 2;
        stream.shuffled = shuffled;
        EXPECT_EQ(cache_qos_sim_run(machine.get(), 0, &stream, kSecond), 10000U);
        EXPECT_EQ(machine.owner(2).lines, 300U);
        EXPECT_EQ(machine.owner(2).units[0], 300U);
    }
}

struct Named {
    const char *name;
    u64 lines, bytes_per_s;
    bool shared;
};

TEST(CacheQosSimStream, ParsesFootprintAndRateFromProgramNames)
{
    for (const Named &want :
         {Named{"cq-ws8M-10G", 128, 10ULL << 30, false}, Named{"cq-sh65536-1", 1, 1, true},
          Named{"cq-ws200K-3M", 3, 3 << 20, false}}) {
        cache_qos_sim_stream got{};
        ASSERT_TRUE(cache_qos_sim_stream_of_name(want.name, 65536, &got)) << want.name;
        EXPECT_EQ(got.lines, want.lines);
        EXPECT_EQ(got.bytes_per_s, want.bytes_per_s);
        EXPECT_EQ(got.shared, want.shared);
    }
}

TEST(CacheQosSimStream, RejectsMalformedProgramNames)
{
    for (const char *name : {"",          "c",         "cq",           "cq-",
                             "cq-w",      "cq-s",      "cq-ws",        "cq-ws8",
                             "cq-ws8M",   "cq-ws8M-",  "cq-ws8M-1X",   "cq-ws8M-10G ",
                             "cq-ws-10G", "cq-ws8M-0", "cq-ws65535-1", "cq-ws8MM-1",
                             "cq-ww8M-1", "cq-ss8M-1", "cx-ws8M-1",    "xq-ws8M-1",
                             "cq_ws8M-1", "cq-ws8M+1", "cq-ws8M-15G",  "cq-ws99999999999-1",
                             "cq-ws:M-1", "cq-ws/M-1"}) {
        cache_qos_sim_stream stream{};
        EXPECT_FALSE(cache_qos_sim_stream_of_name(name, 65536, &stream)) << name;
    }
}

}  // namespace
