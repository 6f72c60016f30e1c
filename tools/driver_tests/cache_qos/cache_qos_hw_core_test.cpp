// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Tests how the driver decodes CPUID leaves and MSR values. The leaves are those of real machines,
// and register accesses can fail. Rnn in the name of a test is the requirement R-nn of
// Documentation/devices/cache_qos.rst.
extern "C" {
#include "cache_qos/cache_qos_core.h"
}

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "cache_qos_recorded.hpp"

namespace {

using pmukit::driver_tests::Leaf;
using pmukit::driver_tests::Leaves;
using pmukit::driver_tests::Recorded;
using pmukit::driver_tests::recorded;
using pmukit::driver_tests::RecordedL3;

// A CPU: its CPUID leaves, its MSRs, and the accesses to them. A global pointer refers to it,
// because functions of a back-end have no context argument.
struct Machine {
    Leaves leaves;
    std::map<u32, u64> msrs;
    std::vector<std::pair<u32, u64>> writes;
    std::map<u64, u64> counters;  // the key is the value of QM_EVTSEL
    int thefts = 0;               // the next `thefts` writes of QM_EVTSEL are overwritten
    bool busy = false;            // register accesses return -EBUSY
};
Machine *machine;

void fake_cpuid(unsigned, u32 leaf, u32 subleaf, u32 regs[4])
{
    const Leaf found = machine->leaves[{leaf, subleaf}];
    std::copy(found.begin(), found.end(), regs);
}

int fake_rdmsr(u32 msr, u64 *value)
{
    if (machine->busy)
        return -EBUSY;
    if (msr == CACHE_QOS_QM_CTR) {
        *value = machine->counters[machine->msrs[CACHE_QOS_QM_EVTSEL]];
        return 0;
    }
    if (!machine->msrs.contains(msr))
        return -EIO;
    *value = machine->msrs[msr];
    return 0;
}

int fake_wrmsr(u32 msr, u64 value)
{
    if (machine->busy)
        return -EBUSY;
    if (!machine->msrs.contains(msr))
        return -EIO;
    machine->writes.emplace_back(msr, value);
    machine->msrs[msr] = value;
    if (msr == CACHE_QOS_QM_EVTSEL && machine->thefts > 0) {
        machine->thefts--;
        machine->msrs[msr] = 0xdead;
    }
    return 0;
}

const pmukit_cache_qos_backend kBackend = {
    .name = "fake",
    .owner = nullptr,
    .cpuid = fake_cpuid,
    .rdmsr = fake_rdmsr,
    .wrmsr = fake_wrmsr,
    .domain_of = nullptr,
    .claimed = nullptr,
};

Machine machine_of(const Recorded &r)
{
    Machine m;
    m.leaves = r.leaves;
    m.msrs = r.msrs;
    return m;
}

constexpr u32 kIntel = CACHE_QOS_VENDOR_INTEL_EBX, kAmd = CACHE_QOS_VENDOR_AMD_EBX;

// Returns a processor with this signature (leaf 1) and these monitoring leaves.
Machine part(u32 vendor, u32 signature, u32 max_rmid, u32 scale, u32 width, u32 events)
{
    Machine m;
    m.leaves[{0, 0}] = {0x1f, vendor, 0, 0};
    m.leaves[{1, 0}] = {signature, 0, 0, 0};
    m.leaves[{7, 0}] = {0, 1u << 12, 0, 0};
    m.leaves[{0xf, 0}] = {0, max_rmid, 0, 2};
    m.leaves[{0xf, 1}] = {width, scale, max_rmid, events};
    m.msrs[CACHE_QOS_QM_EVTSEL] = 0;
    m.msrs[CACHE_QOS_PQR_ASSOC] = 0;
    m.msrs[CACHE_QOS_SNC_CONFIG] = 0;
    return m;
}
Machine haswell()
{
    return part(kIntel, 0x306f2, 55, 61440, 0, 1);
}
Machine broadwell()
{
    return part(kIntel, 0x406f1, 87, 61440, 0, 7);
}
Machine skylake(u32 stepping)
{
    return part(kIntel, 0x50650 | stepping, 143, 98304, 0, 7);
}
Machine icelake()
{
    return part(kIntel, 0x606a6, 223, 114688, 0, 7);
}
Machine rome()
{
    return part(kAmd, 0x830f10, 255, 64, 0, 7);
}

class CacheQosHw : public testing::Test {
protected:
    void use(Machine m)
    {
        m_ = std::move(m);
        machine = &m_;
    }
    const char *divide(u32 nodes) { return cache_qos_hw_divide(&kBackend, nodes, &hw); }
    // Returns the reason if the driver refuses the processor; otherwise an empty text.
    std::string read()
    {
        const char *wrong = cache_qos_hw_read(&kBackend, 0, asked, &hw, &error);
        return wrong ? wrong : "";
    }
    void finish(u64 max_bytes_per_second = 1ULL << 39)
    {
        ASSERT_EQ(read(), "");
        cache_qos_hw_finish(&hw, max_bytes_per_second);
    }

    Machine m_;
    cache_qos_hw hw = {};
    u32 asked = 0;
    int error = 0;
};

constexpr u32 kAll = 0xf;

TEST_F(CacheQosHw, R02_R04_decodes_recorded_cpuid_leaves)
{
    const std::vector<Recorded> parts = recorded(CACHE_QOS_LEAVES);
    ASSERT_GE(parts.size(), 40u);
    for (const Recorded &r : parts) {
        SCOPED_TRACE(r.name);
        use(machine_of(r));
        asked = 0;
        if (r.refused) {
            EXPECT_NE(read(), "");
            EXPECT_EQ(error, -r.refused);
        }
        asked = r.asked ? 7 : 0;
        if (r.refused && !r.asked)
            continue;
        finish();
        EXPECT_EQ(hw.nr_rmid, r.nr_rmid);
        EXPECT_EQ(hw.scale, r.scale);
        EXPECT_EQ(hw.width, r.width);
        EXPECT_EQ(hw.events, r.events);
        EXPECT_EQ(hw.factor_above, r.factor_above);
        EXPECT_NEAR(hw.factor / double(1 << 20) * 1e6, r.factor_ppm, 0.5);
        EXPECT_EQ(hw.restarts, r.restarts);
    }
}

// The test reads the highest RMID of each processor, and checks the MSR writes and the values that
// result from the counters. Register numbers and bits are literals from the manuals.
TEST_F(CacheQosHw, R02_R30_R32_reads_counters_of_recorded_processors)
{
    for (const Recorded &r : recorded(CACHE_QOS_LEAVES)) {
        if (r.refused && !r.asked)
            continue;
        SCOPED_TRACE(r.name);
        use(machine_of(r));
        asked = r.asked ? 7 : 0;
        finish();
        const u32 rmid = hw.nr_rmid - 1;
        const u64 top = (1ULL << r.width) - 1;
        m_.counters[u64{rmid} << 32 | 1] = 12345;
        m_.counters[u64{rmid} << 32 | 2] = 1ULL << 61 | (top - 1);
        m_.counters[u64{rmid} << 32 | 3] = 1ULL << 62;
        cache_qos_sample s;
        cache_qos_read_rmid(&kBackend, &hw, hw.events, rmid, true, &s);
        EXPECT_EQ(s.status[CACHE_QOS_OCCUPANCY], CACHE_QOS_READ_OK);
        EXPECT_EQ(s.data[CACHE_QOS_OCCUPANCY], 12345u);
        EXPECT_EQ(m_.msrs[0xc8d], 0u);
        // One write of QM_EVTSEL for each event, and one that restores it.
        EXPECT_EQ(m_.writes.size(), r.events & 2 ? 4u : 2u);
        if (!(r.events & 2))
            continue;
        EXPECT_EQ(s.data[CACHE_QOS_TOTAL], top - 1);
        EXPECT_EQ(s.status[CACHE_QOS_LOCAL], CACHE_QOS_READ_UNAVAILABLE);
        EXPECT_EQ(cache_qos_delta(5, s.data[CACHE_QOS_TOTAL], hw.width), 7u);
        const double factor = r.factor_ppm ? r.factor_ppm / 1e6 : 1;
        EXPECT_NEAR(static_cast<double>(cache_qos_bytes(&hw, rmid, 1'000'000)),
                    1e6 * factor * r.scale, r.scale);
    }
}

// No processor has these values, but a hypervisor may report them.
TEST_F(CacheQosHw, R04_limits_impossible_widths_and_rmid_counts)
{
    const struct {
        const char *name;
        Machine machine;
        u32 nr_rmid, width, events;
    } table[] = {
        {"the widest", part(kIntel, 0x806f8, 447, 114688, 38, 7), 448, 62, kAll},
        {"an impossible width", part(kIntel, 0x806f8, 447, 114688, 39, 7), 448, 24, kAll},
        {"more RMIDs than fit", part(kAmd, 0xa00f11, 0xffffffff, 64, 0, 3), CACHE_QOS_MAX_RMIDS, 44,
         3},
    };
    for (const auto &row : table) {
        SCOPED_TRACE(row.name);
        use(row.machine);
        finish();
        EXPECT_EQ(hw.nr_rmid, row.nr_rmid);
        EXPECT_EQ(hw.width, row.width);
        EXPECT_EQ(hw.events, row.events);
    }
}

TEST_F(CacheQosHw, R03_detects_qemu_emulation_by_signature)
{
    for (const auto &[letters, emulated] :
         {std::pair{"TCGTCGTCGTCG", true}, std::pair{"KVMKVMKVM\0\0", false}}) {
        use(icelake());
        EXPECT_EQ(read(), "");
        EXPECT_FALSE(hw.emulated);
        const cache_qos_hw other = hw;
        std::memcpy(&m_.leaves[{0x40000000, 0}][CACHE_QOS_EBX], letters, 12);
        EXPECT_EQ(read(), "");
        EXPECT_EQ(hw.emulated, emulated);
        EXPECT_EQ(cache_qos_hw_join(&hw, &other), nullptr);
        EXPECT_EQ(hw.emulated, emulated);
        cache_qos_hw joined = other;
        EXPECT_EQ(cache_qos_hw_join(&joined, &hw), nullptr);
        EXPECT_EQ(joined.emulated, emulated);
    }
}

TEST_F(CacheQosHw, R04_rejects_cpus_without_monitoring)
{
    struct {
        std::pair<u32, u32> leaf;
        Leaf regs;
        int error;
    } const table[] = {
        {{0, 0}, {0xe, kIntel, 0, 0}, -ENODEV},           // leaf 0xf does not exist
        {{7, 0}, {0, 0, 0, 0}, -ENODEV},                  // no PQM
        {{0xf, 0}, {0, 87, 0, 0}, -ENODEV},               // no L3 monitoring
        {{0xf, 0}, {0, 0, 0, 2}, -ENODEV},                // only RMID 0 can be written
        {{0xf, 1}, {0, 61440, 0, 7}, -ENODEV},            // only RMID 0 can be read
        {{0xf, 1}, {0, 61440, 87, 0xfffffff8}, -ENODEV},  // no event
        {{0xf, 1}, {0, 0, 87, 7}, -EINVAL},               // no scale
    };
    for (const auto &row : table) {
        use(broadwell());
        m_.leaves[row.leaf] = row.regs;
        EXPECT_NE(read(), "");
        EXPECT_EQ(error, row.error);
    }
}

TEST_F(CacheQosHw, R04_skylake_with_errata_monitors_only_requested_events)
{
    use(skylake(4));
    EXPECT_NE(read().find("rdt="), std::string::npos);
    EXPECT_EQ(error, -ENODEV);
    asked = BIT(CACHE_QOS_OCCUPANCY) | BIT(CACHE_QOS_LOCAL);
    EXPECT_EQ(read(), "");
    EXPECT_EQ(hw.events, asked);
    asked = 0;
    use(skylake(5));
    EXPECT_EQ(read(), "");
}

TEST_F(CacheQosHw, R04_uses_smaller_rmid_count_of_leaves)
{
    use(broadwell());
    m_.leaves[{0xf, 0}] = {0, 200, 0, 2};
    ASSERT_EQ(read(), "");
    EXPECT_EQ(hw.nr_rmid, 88u);
    m_.leaves[{0xf, 0}] = {0, 31, 0, 2};
    ASSERT_EQ(read(), "");
    EXPECT_EQ(hw.nr_rmid, 32u);
}

TEST_F(CacheQosHw, R04_join_rejects_cpus_with_another_counter_width_or_scale)
{
    use(icelake());
    finish();
    cache_qos_hw one = hw;
    one.nr_rmid = 100;
    one.events = 3;
    EXPECT_EQ(cache_qos_hw_join(&hw, &one), nullptr);
    EXPECT_EQ(hw.nr_rmid, 100u);
    EXPECT_EQ(hw.events, 3u);
    for (u32 cache_qos_hw::*field : {&cache_qos_hw::scale, &cache_qos_hw::width,
                                     &cache_qos_hw::factor, &cache_qos_hw::factor_above}) {
        one = hw;
        (one.*field)++;
        EXPECT_NE(cache_qos_hw_join(&hw, &one), nullptr);
    }
    one = hw;
    one.restarts = !one.restarts;
    EXPECT_NE(cache_qos_hw_join(&hw, &one), nullptr);
}

TEST_F(CacheQosHw, R04_detects_late_cpu_with_fewer_features)
{
    use(icelake());
    ASSERT_EQ(read(), "");
    const cache_qos_hw same = hw;
    finish();
    cache_qos_hw joined = hw;
    ASSERT_EQ(cache_qos_hw_join(&joined, &same), nullptr);
    // @same does not have the event REMOTE, because the driver derives REMOTE after joining.
    EXPECT_FALSE(cache_qos_hw_less(&joined, &hw));
    for (u32 event : {CACHE_QOS_OCCUPANCY, CACHE_QOS_TOTAL, CACHE_QOS_LOCAL}) {
        cache_qos_hw one = same;
        joined = hw;
        one.events &= ~(1u << event);
        ASSERT_EQ(cache_qos_hw_join(&joined, &one), nullptr);
        EXPECT_TRUE(cache_qos_hw_less(&joined, &hw)) << event;
    }
    joined = hw;
    joined.nr_rmid--;
    EXPECT_TRUE(cache_qos_hw_less(&joined, &hw));
    joined.nr_rmid = hw.nr_rmid + 1;
    EXPECT_FALSE(cache_qos_hw_less(&joined, &hw));
    joined = hw;
    joined.abmc = true;
    EXPECT_TRUE(cache_qos_hw_less(&joined, &hw));
}

TEST_F(CacheQosHw, R04_join_takes_smallest_rmid_count_of_all_cpus)
{
    use(icelake());
    ASSERT_EQ(read(), "");
    cache_qos_hw one = hw;
    one.nr_rmid += 8;
    one.abmc = true;
    ASSERT_EQ(cache_qos_hw_join(&hw, &one), nullptr);
    EXPECT_EQ(hw.nr_rmid, 224u);
    EXPECT_TRUE(hw.abmc);
    one.nr_rmid = 8;
    one.abmc = false;
    ASSERT_EQ(cache_qos_hw_join(&hw, &one), nullptr);
    EXPECT_EQ(hw.nr_rmid, 8u);
    EXPECT_TRUE(hw.abmc);
}

TEST_F(CacheQosHw, R30_max_bandwidth_of_zero_gives_finite_wrap_time)
{
    use(icelake());
    finish(0);
    EXPECT_EQ(hw.wrap_ns, (114688ULL << 24) * 1000000);
}

TEST_F(CacheQosHw, R30_corrects_bandwidth_on_intel_only)
{
    use(broadwell());
    ASSERT_EQ(read(), "");
    EXPECT_NE(hw.factor, 0u);
    use(part(kAmd, 0x406f1, 87, 61440, 0, 7));
    ASSERT_EQ(read(), "");
    EXPECT_EQ(hw.factor, 0u);
}

Machine turin()
{
    Machine m = part(kAmd, 0xb00f21, 4095, 64, 0x14, 7);
    m.leaves[{0x80000000, 0}] = {0x80000028, 0, 0, 0};
    m.leaves[{0x80000020, 0}] = {0, 0x7e, 0, 0};
    m.leaves[{0x80000020, 3}] = {0, 2, 0x7f, 0};
    m.leaves[{0x80000020, 5}] = {0x14, 0x1f, 1, 0};
    m.msrs[0xc0000400] = 0x7f;
    m.msrs[0xc0000401] = 0x15;
    m.msrs[CACHE_QOS_L3_QOS_EXT_CFG] = 1;
    return m;
}

TEST_F(CacheQosHw, R12_identifies_abmc_counters_or_disables_bandwidth)
{
    use(turin());
    finish();
    EXPECT_EQ(hw.events, kAll);
    EXPECT_TRUE(hw.abmc);
    EXPECT_EQ(hw.counters, 32u);
    EXPECT_EQ(hw.types[CACHE_QOS_TOTAL - 1], 0x7fu);
    EXPECT_EQ(hw.types[CACHE_QOS_LOCAL - 1], 0x15u);
    // The leaf reports more counters than the driver supports.
    m_.leaves[{0x80000020, 5}] = {0x14, 0xffff, 1, 0};
    finish();
    EXPECT_EQ(hw.counters, u32{CACHE_QOS_MAX_COUNTERS});
    // ABMC is supported but another mode is active.
    m_.msrs[CACHE_QOS_L3_QOS_EXT_CFG] = 2;
    finish();
    EXPECT_EQ(hw.events, kAll);
    EXPECT_FALSE(hw.abmc);
    // Without this register, the active mode is unknown.
    m_.msrs.erase(CACHE_QOS_L3_QOS_EXT_CFG);
    finish();
    EXPECT_EQ(hw.events, 1u);
    m_.msrs[CACHE_QOS_L3_QOS_EXT_CFG] = 1;
    // Without BMEC, the traffic types that the counters count are unknown.
    m_.leaves[{0x80000020, 0}] = {0, 0x20, 0, 0};
    finish();
    EXPECT_EQ(hw.events, 1u);
    // The leaf with the ABMC bit does not exist.
    m_.leaves[{0x80000000, 0}] = {0x8000001f, 0, 0, 0};
    finish();
    EXPECT_EQ(hw.events, kAll);
    EXPECT_FALSE(hw.abmc);
}

TEST_F(CacheQosHw, R12_join_takes_minimum_of_abmc_counters)
{
    use(turin());
    ASSERT_EQ(read(), "");
    cache_qos_hw one = hw;
    one.counters = 16;
    ASSERT_EQ(cache_qos_hw_join(&hw, &one), nullptr);
    EXPECT_EQ(hw.counters, 16u);
    one.abmc = false;
    one.counters = 0;
    ASSERT_EQ(cache_qos_hw_join(&hw, &one), nullptr);
    EXPECT_TRUE(hw.abmc);
    EXPECT_EQ(hw.counters, 0u);
    use(turin());
    finish();
    one = hw;
    one.counters--;
    EXPECT_TRUE(cache_qos_hw_less(&one, &hw));
}

// With AMD's BMEC, software can change the traffic that an event counts. The name of the event is
// then wrong.
TEST_F(CacheQosHw, R05_does_not_offer_events_with_changed_traffic_types)
{
    use(turin());
    m_.msrs[CACHE_QOS_L3_QOS_EXT_CFG] = 0;
    finish();
    EXPECT_EQ(hw.chosen, 0u);
    m_.msrs[0xc0000401] = 0x14;
    finish();
    EXPECT_EQ(hw.events, BIT(CACHE_QOS_OCCUPANCY) | BIT(CACHE_QOS_TOTAL));
    EXPECT_EQ(hw.chosen, BIT(CACHE_QOS_LOCAL));
    // Without this register, the traffic types of the event TOTAL are unknown.
    m_.msrs.erase(0xc0000400);
    finish();
    EXPECT_EQ(hw.events, BIT(CACHE_QOS_OCCUPANCY));
    // As on Rome, where software cannot change the traffic types.
    m_.leaves[{0x80000020, 0}] = {0, 0x2, 0, 0};
    finish();
    EXPECT_EQ(hw.events, kAll);
}

// Sub-NUMA clustering

TEST_F(CacheQosHw, R04_snc_divides_rmids_and_scale_by_number_of_nodes)
{
    for (u32 nodes : {2u, 3u, 4u, 6u}) {
        use(part(kIntel, 0xa06d1, 287, 73728, 0x608, 7));
        finish();
        ASSERT_EQ(divide(nodes), nullptr);
        EXPECT_EQ(hw.nodes, nodes);
        EXPECT_EQ(hw.nr_rmid, 288 / nodes);
        EXPECT_EQ(hw.scale, 73728 / nodes);
    }
}

TEST_F(CacheQosHw, R04_rejects_unsupported_division_of_l3_into_nodes)
{
    // These processors have Cluster-on-Die.
    for (u32 signature : {0x406f1u, 0x50657u, 0x306f2u}) {
        use(part(kIntel, signature, 87, 61440, 0, 7));
        finish();
        EXPECT_EQ(divide(0), nullptr);
        EXPECT_EQ(divide(1), nullptr);
        EXPECT_EQ(hw.nr_rmid, 88u);
        EXPECT_NE(divide(2), nullptr);
    }
    use(rome());
    finish();
    EXPECT_NE(divide(2), nullptr);
    for (u32 nodes : {5u, 7u, 1000u}) {
        use(part(kIntel, 0x806f8, 351, 90112, 8, 7));
        finish();
        EXPECT_NE(divide(nodes), nullptr);
    }
    // Three RMIDs leave only one RMID per node.
    use(part(kIntel, 0x806f8, 2, 90112, 8, 7));
    finish();
    EXPECT_NE(divide(2), nullptr);
}

// resctrl of Linux before 6.11 needs the reset value of the register, so the driver must not write
// it.
TEST_F(CacheQosHw, R04_rejects_snc_without_shared_rmids_and_writes_no_register)
{
    const std::string divided =
        "RMIDs are divided among the NUMA nodes of its L3 (MSR 0xca0); "
        "Linux lets them share since 6.11";
    use(part(kIntel, 0xa06d1, 287, 73728, 0x608, 7));
    finish();
    m_.msrs[CACHE_QOS_SNC_CONFIG] = 1;
    m_.writes.clear();
    EXPECT_EQ(divide(2), divided);
    EXPECT_EQ(divide(1), nullptr);
    m_.msrs.erase(CACHE_QOS_SNC_CONFIG);
    EXPECT_EQ(divide(2), divided);
    EXPECT_EQ(hw.nr_rmid, 288u);
    m_.msrs[CACHE_QOS_SNC_CONFIG] = 0;
    EXPECT_EQ(divide(2), nullptr);
    EXPECT_TRUE(m_.writes.empty());
}

TEST_F(CacheQosHw, R04_join_rejects_differing_node_counts)
{
    use(part(kIntel, 0x806f8, 351, 90112, 8, 7));
    finish();
    cache_qos_hw one = hw;
    ASSERT_EQ(cache_qos_hw_divide(&kBackend, 2, &one), nullptr);
    EXPECT_NE(cache_qos_hw_join(&hw, &one), nullptr);
}

// The L3s of recorded machines

// Sets the leaves of a CPU for an L3 of this kind. For the first kind, the recorded leaves are
// unchanged except for the APIC id.
void set_l3(Machine &m, const Recorded &r, const RecordedL3 &kind, u32 apic_id)
{
    m.leaves[{0xb, 0}] = {0, 0, 0, apic_id};
    if (&kind == &r.l3.front())
        return;
    for (auto &[key, regs] : m.leaves) {
        if ((key.first != 4 && key.first != 0x8000001d) || (regs[0] >> 5 & 7) != 3)
            continue;
        const u64 before = r.l3.front().bytes;
        regs[0] = (regs[0] & 0x3fff) | ((1u << kind.shift) - 1) << 14;
        regs[2] = static_cast<u32>((u64{regs[2]} + 1) * kind.bytes / before - 1);
    }
}

TEST_F(CacheQosHw, R04_l3_ids_of_recorded_machines_are_unique)
{
    u32 machines = 0;
    for (const Recorded &r : recorded(CACHE_QOS_LEAVES)) {
        SCOPED_TRACE(r.name);
        std::map<u32, u64> bytes_of;
        u32 wanted = 0;
        for (u32 k = 0; k < r.l3.size(); k++) {
            const RecordedL3 &kind = r.l3[k];
            const u32 each = kind.count / kind.packages;
            wanted += kind.count;
            for (u32 i = 0; i < kind.count; i++)
                for (u32 cpu = 0; cpu < kind.cpus; cpu++) {
                    use(machine_of(r));
                    // In each package, the L3s of one kind follow those of the previous kind.
                    const u32 apic_id =
                        (i / each) << kind.package_shift | (i % each + k) << kind.shift | cpu;
                    set_l3(m_, r, kind, apic_id);
                    cache_qos_l3 l3{};
                    ASSERT_EQ(cache_qos_l3_read(&kBackend, cpu, &l3), 0);
                    EXPECT_EQ(l3.shift, kind.shift);
                    EXPECT_EQ(l3.bytes, kind.bytes);
                    const unsigned long node = 1;
                    pmukit_cache_qos_domain domain{};
                    cache_qos_l3_domain(&l3, i / each, 0, &node, 64, &domain);
                    EXPECT_EQ(domain.id, domain.l3);
                    EXPECT_EQ(domain.nodes, 1u);
                    EXPECT_EQ(domain.bytes, kind.bytes);
                    EXPECT_EQ(bytes_of.emplace(domain.id, kind.bytes).first->second, kind.bytes);
                }
        }
        EXPECT_EQ(bytes_of.size(), wanted);
        machines += !r.l3.empty();
    }
    EXPECT_EQ(machines, 36u);  // one of these machines is recorded in two parts
}

// First, the test uses the NUMA nodes of the second package. Then it uses node numbers that are far
// apart, as on a machine where the numbers between them belong to memory-only nodes.
TEST_F(CacheQosHw, R04_describes_nodes_of_divided_l3)
{
    const cache_qos_l3 l3 = {.apic_id = 1 << 7 | 5, .shift = 7, .bytes = 84480 << 10};
    pmukit_cache_qos_domain domain{};
    for (u32 nodes : {2u, 3u, 4u})
        for (u32 node = 0; node < nodes; node++) {
            // Mask of the nodes of the second package.
            const unsigned long of_l3 = ((1ul << nodes) - 1) << nodes;
            cache_qos_l3_domain(&l3, 1, nodes + node, &of_l3, 64, &domain);
            EXPECT_EQ(domain.id, nodes + node);
            EXPECT_EQ(domain.l3, 1u);
            EXPECT_EQ(domain.package, 1u);
            EXPECT_EQ(domain.nodes, nodes);
            EXPECT_EQ(domain.node, node);
            EXPECT_EQ(domain.bytes, (u64{84480} << 10) / nodes);
        }
    const unsigned long apart[2] = {1ul << 3, 1ul << 1};
    cache_qos_l3_domain(&l3, 0, 65, apart, 128, &domain);
    EXPECT_EQ(domain.nodes, 2u);
    EXPECT_EQ(domain.node, 1u);
    EXPECT_EQ(domain.id, 65u);
}

TEST_F(CacheQosHw, R04_reports_missing_l3)
{
    use(part(kIntel, 0x806f8, 351, 90112, 8, 7));
    m_.leaves[{4, 0}] = {0x4121, 0x1c0003f, 0x3f, 0};
    cache_qos_l3 l3{};
    EXPECT_EQ(cache_qos_l3_read(&kBackend, 0, &l3), -ENODEV);
}

TEST_F(CacheQosHw, R30_computes_time_to_wrap)
{
    use(icelake());
    finish(1'000'000'000'000);
    // A counter of 24 bits with a unit of 114688 bytes wraps after this time if 1 TB/s are
    // transferred.
    EXPECT_EQ(hw.wrap_ns / 1'000'000, (114688ULL << 24) / 1'000'000'000);
    hw.width = 62;
    cache_qos_hw_finish(&hw, 1'000'000'000'000);
    EXPECT_EQ(hw.wrap_ns, ~0ULL);
}

TEST_F(CacheQosHw, R30_computes_deltas_for_each_width)
{
    for (u32 width : {24u, 32u, 44u, 62u}) {
        const u64 top = (1ULL << width) - 1;
        EXPECT_EQ(cache_qos_delta(5, top - 4, width), 10u);
        EXPECT_EQ(cache_qos_delta(top, 0, width), top);
        EXPECT_EQ(cache_qos_delta(0, top, width), 1u);
        EXPECT_EQ(cache_qos_delta(7, 7, width), 0u);
    }
}

TEST_F(CacheQosHw, R30_corrects_only_rmids_above_limit)
{
    use(broadwell());
    finish();
    EXPECT_EQ(cache_qos_bytes(&hw, 79, 1000), 1000ULL * 61440);
    const u64 chunks = 3'000'000'000'000;
    const u64 corrected =
        static_cast<u64>((static_cast<unsigned __int128>(chunks) * hw.factor) >> 20);
    EXPECT_EQ(cache_qos_bytes(&hw, 80, chunks), corrected * 61440);
    EXPECT_NEAR(static_cast<double>(corrected) / static_cast<double>(chunks), 1.454545, 1e-6);
}

TEST_F(CacheQosHw, R32_converts_units_to_bytes_if_scale_is_no_power_of_two)
{
    use(haswell());
    finish();
    EXPECT_EQ(cache_qos_bytes(&hw, 3, 1ULL << 40), (1ULL << 40) * 61440);
}

TEST_F(CacheQosHw, R02_encodes_event_and_rmid_in_evtsel)
{
    EXPECT_EQ(cache_qos_evtsel(0, CACHE_QOS_OCCUPANCY), 1u);
    EXPECT_EQ(cache_qos_evtsel(0x3ff, CACHE_QOS_LOCAL), 0x3ff00000003u);
    EXPECT_EQ(cache_qos_evtsel(2047, CACHE_QOS_TOTAL), 0x7ff00000002u);
}

class CacheQosRead : public CacheQosHw {
protected:
    void SetUp() override
    {
        use(icelake());
        finish();
    }
    void counter(u32 rmid, cache_qos_index event, u64 value)
    {
        m_.counters[cache_qos_evtsel(rmid, event)] = value;
    }
    cache_qos_sample sample(u32 rmid, bool paranoid = false)
    {
        cache_qos_sample s;
        cache_qos_read_rmid(&kBackend, &hw, hw.events, rmid, paranoid, &s);
        return s;
    }
};

TEST_F(CacheQosRead, R02_reads_all_events_of_an_rmid)
{
    counter(200, CACHE_QOS_OCCUPANCY, 11);
    counter(200, CACHE_QOS_TOTAL, 22);
    counter(200, CACHE_QOS_LOCAL, 33);
    const auto s = sample(200);
    for (u32 e = 0; e < CACHE_QOS_NR_READ; e++) {
        EXPECT_EQ(s.status[e], CACHE_QOS_READ_OK);
        EXPECT_EQ(s.data[e], 11 * (e + 1));
    }
}

TEST_F(CacheQosRead, R05_skips_unsupported_events)
{
    hw.events = BIT(CACHE_QOS_OCCUPANCY);
    const auto s = sample(1);
    EXPECT_EQ(s.status[CACHE_QOS_TOTAL], CACHE_QOS_READ_SKIPPED);
    for (const auto &[msr, value] : m_.writes)
        EXPECT_TRUE(value == 0 || value == cache_qos_evtsel(1, CACHE_QOS_OCCUPANCY));
}

TEST_F(CacheQosRead, R10_restores_evtsel)
{
    m_.msrs[CACHE_QOS_QM_EVTSEL] = 0x4200000003;
    sample(7);
    EXPECT_EQ(m_.msrs[CACHE_QOS_QM_EVTSEL], 0x4200000003u);
}

TEST_F(CacheQosRead, R36_distinguishes_error_and_unavailable_bits)
{
    counter(1, CACHE_QOS_OCCUPANCY, 1ULL << 63);
    counter(1, CACHE_QOS_TOTAL, 1ULL << 62);
    counter(1, CACHE_QOS_LOCAL, 5);
    const auto s = sample(1);
    EXPECT_EQ(s.status[CACHE_QOS_OCCUPANCY], CACHE_QOS_READ_ERROR);
    EXPECT_EQ(s.status[CACHE_QOS_TOTAL], CACHE_QOS_READ_UNAVAILABLE);
    EXPECT_EQ(s.status[CACHE_QOS_LOCAL], CACHE_QOS_READ_OK);
}

TEST_F(CacheQosRead, R30_ignores_bits_above_counter_width)
{
    counter(1, CACHE_QOS_TOTAL, 1ULL << 61 | 0x1234567);
    EXPECT_EQ(sample(1).data[CACHE_QOS_TOTAL], 0x234567u);
}

TEST_F(CacheQosRead, R11_paranoid_mode_retries_read_if_evtsel_was_overwritten)
{
    counter(1, CACHE_QOS_OCCUPANCY, 77);
    m_.counters[0xdead] = 99;
    m_.thefts = 1;
    EXPECT_EQ(sample(1, true).data[CACHE_QOS_OCCUPANCY], 77u);
    m_.thefts = 4;
    EXPECT_EQ(sample(1, true).status[CACHE_QOS_OCCUPANCY], CACHE_QOS_READ_OK);
    m_.thefts = 5;
    EXPECT_EQ(sample(1, true).status[CACHE_QOS_OCCUPANCY], CACHE_QOS_READ_STOLEN);
}

TEST_F(CacheQosRead, R11_retries_read_error_if_evtsel_was_overwritten)
{
    counter(1, CACHE_QOS_OCCUPANCY, 77);
    m_.counters[0xdead] = 1ULL << 63;
    m_.thefts = 1;
    EXPECT_EQ(sample(1).status[CACHE_QOS_OCCUPANCY], CACHE_QOS_READ_OK);
}

TEST_F(CacheQosRead, R36_failed_register_access_is_an_error)
{
    m_.msrs.erase(CACHE_QOS_QM_EVTSEL);
    EXPECT_EQ(sample(1).status[CACHE_QOS_OCCUPANCY], CACHE_QOS_READ_ERROR);
    EXPECT_TRUE(m_.writes.empty());
}

TEST_F(CacheQosRead, R36_busy_backend_skips_read_without_an_error)
{
    counter(1, CACHE_QOS_OCCUPANCY, 77);
    m_.busy = true;
    for (const u8 status : sample(1).status)
        EXPECT_EQ(status, CACHE_QOS_READ_SKIPPED);
    EXPECT_TRUE(m_.writes.empty());
    m_.busy = false;
    EXPECT_EQ(sample(1).data[CACHE_QOS_OCCUPANCY], 77u);
}

std::string contents(const char *path)
{
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

// Pairs of a figure and its budget in us, from each match of `rule`
std::map<std::string, std::string> budgets(const std::string &text, const char *rule)
{
    std::map<std::string, std::string> found;
    const std::regex each(rule);
    for (std::sregex_iterator match(text.begin(), text.end(), each), end; match != end; ++match)
        found[(*match)[1]] = (*match)[2];
    return found;
}

TEST(CacheQosPage, has_each_figure_and_budget_of_the_bench)
{
    const auto of_bench =
        budgets(contents(CACHE_QOS_BENCH), R"re(report\("(\w+)",[^;]* (\d+)\);)re");
    EXPECT_EQ(budgets(contents(CACHE_QOS_PAGE), R"re(\n(\w+) +(\d+) us +\d+ us )re"), of_bench);
    EXPECT_EQ(of_bench.at("irqs_off"), "50");
}

// The section on limitations must mention each source of error that the requirements name.
TEST(CacheQosPage, R65_documents_limitations_of_values)
{
    const std::string page = contents(CACHE_QOS_PAGE);
    const size_t begin = page.find("What the numbers are not\n====");
    ASSERT_NE(begin, std::string::npos);
    const std::string limits = page.substr(begin, page.find("\nRequirements\n", begin) - begin);
    for (const char *of :
         {"the task that brought it in", "moves to another group", "occupancy_error", "Interrupts",
          "system management mode", "idle state", "fewer counters", "partial", "resctrl"})
        EXPECT_NE(limits.find(of), std::string::npos) << of;
}

}  // namespace
