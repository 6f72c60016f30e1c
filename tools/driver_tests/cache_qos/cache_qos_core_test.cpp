// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Tests how the driver's core allocates RMIDs, nests groups, keeps released RMIDs in limbo, and
// sums up counters. The machine has two CPUs, and the tests set its counters. Rnn in the name of a
// test is the requirement R-nn of Documentation/devices/cache_qos.rst.
extern "C" {
#include "cache_qos/cache_qos_core.h"
}

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include "cache_qos_fold.hpp"

namespace {

using pmukit::driver_tests::end_limbo;
using pmukit::driver_tests::fold_reading;

constexpr u32 kScale = 61440, kUnits = 1000;
constexpr auto kOccupancy = PMUKIT_CACHE_QOS_EVENT_OCCUPANCY;
constexpr auto kTotal = PMUKIT_CACHE_QOS_EVENT_TOTAL;
constexpr auto kLocal = PMUKIT_CACHE_QOS_EVENT_LOCAL;
constexpr auto kRemote = PMUKIT_CACHE_QOS_EVENT_REMOTE;

u64 pqr[2];
unsigned current_cpu;
u64 pqr_writes;
u32 highest_rmid;

int fake_rdmsr(u32, u64 *value)
{
    *value = pqr[current_cpu];
    return 0;
}
int fake_wrmsr(u32, u64 value)
{
    if ((value & 0xffffffff) > highest_rmid)
        return -EIO;
    pqr[current_cpu] = value;
    pqr_writes++;
    return 0;
}
const pmukit_cache_qos_backend kBackend = {
    .name = "fake",
    .owner = nullptr,
    .cpuid = nullptr,
    .rdmsr = fake_rdmsr,
    .wrmsr = fake_wrmsr,
    .domain_of = nullptr,
    .claimed = nullptr,
};

class CacheQos : public testing::Test {
protected:
    static constexpr u32 kCpus = 2;

    // Starts a machine on which each CPU has its own L3.
    void start(u32 max_rmid = 7, u32 width = 24, u32 events = 7)
    {
        cache_qos_hw hw = {};
        hw.nr_rmid = max_rmid + 1;
        hw.scale = kScale;
        hw.width = width;
        hw.events = events;
        cache_qos_hw_finish(&hw, 1ULL << 40);
        highest_rmid = max_rmid;
        pqr_writes = 0;
        pqr[0] = pqr[1] = 0;
        cq = std::make_unique<cache_qos>();
        *cq = {};
        atoms.assign(hw.nr_rmid, {});
        for (u32 i = 0; i < kCpus; i++) {
            cpus[i] = {};
            cpus[i].cpu = i;
            cpu_pointers[i] = &cpus[i];
            cells[i].assign(hw.nr_rmid, {});
            accumulated[i].assign(CACHE_QOS_MAX_MONITORS, {});
        }
        cache_qos_init(cq.get(), &kBackend, &hw, atoms.data(), cpu_pointers.data(), kCpus);
        counters.assign(kCpus, std::vector<std::array<u64, 3>>(hw.nr_rmid));
        for (u32 i = 0; i < kCpus; i++) {
            const pmukit_cache_qos_domain is = {
                .id = 10 + i, .package = i, .bytes = u64{kUnits} * kScale, .nodes = 1};
            ASSERT_EQ(cache_qos_domain_add(cq.get(), &is, cells[i].data(), accumulated[i].data()),
                      static_cast<int>(i));
            current_cpu = i;
            ASSERT_EQ(cache_qos_cpu_online(cq.get(), i, static_cast<u16>(i)), 0);
        }
        current_cpu = 0;
        pass();
    }

    void read(u32 domain, u32 rmid)
    {
        cache_qos_sample s = {};
        for (u32 e = 0; e < 3; e++) {
            s.status[e] = cq->hw.events & BIT(e) ? status : u8{CACHE_QOS_READ_SKIPPED};
            s.data[e] = counters[domain][rmid][e] & (e ? (1ULL << cq->hw.width) - 1 : ~0ULL);
        }
        fold_reading(cq.get(), static_cast<u16>(domain), rmid, s, now);
    }
    void pass()
    {
        cache_qos_carried(cq.get(), now);
        now += 1'000'000;
        for (u32 d = 0; d < kCpus; d++)
            for (u32 rmid = 0; rmid < cq->hw.nr_rmid && cq->domains[d].nr_cpus; rmid++)
                read(d, rmid);
        end_limbo(cq.get(), now);
    }

    u32 run(u32 cpu, const cache_qos_task *task, u16 cgroup = CACHE_QOS_NONE)
    {
        current_cpu = cpu;
        u32 rmid = cache_qos_resolve(cq.get(), &cpus[cpu], task, cgroup);
        if (rmid == CACHE_QOS_MISS) {
            misses++;
            rmid = cache_qos_resolve_slow(cq.get(), &cpus[cpu], task, cgroup, now);
        }
        cache_qos_carry(cq.get(), &cpus[cpu], rmid);
        EXPECT_EQ(static_cast<u32>(pqr[cpu]), cpus[cpu].rmid);
        return static_cast<u32>(pqr[cpu]);
    }
    // Like run(), but does not expect the driver's RMID in PQR_ASSOC, because other software may
    // have written the register.
    void run_any(u32 cpu, const cache_qos_task *task)
    {
        current_cpu = cpu;
        u32 rmid = cache_qos_resolve(cq.get(), &cpus[cpu], task, CACHE_QOS_NONE);
        if (rmid == CACHE_QOS_MISS)
            rmid = cache_qos_resolve_slow(cq.get(), &cpus[cpu], task, CACHE_QOS_NONE, now);
        cache_qos_carry(cq.get(), &cpus[cpu], rmid);
    }
    // Adds `units` lines to the counters of the RMID that the CPU carries. All of the lines also
    // count as traffic, and half of them as local traffic.
    void fill(u32 cpu, u64 units)
    {
        auto &c = counters[cpu][static_cast<u32>(pqr[cpu])];
        c[0] += units;
        c[1] += units;
        c[2] += units / 2;
    }

    u64 value(u16 monitor, pmukit_cache_qos_event event = kOccupancy, u16 domain = CACHE_QOS_ALL)
    {
        cache_qos_value v;
        // Updates the machine's sums, which the driver updates once per pass.
        for (u16 d = 0; monitor == CACHE_QOS_MACHINE && d < cq->nr_domains; d++) {
            cache_qos_domain &l3 = cq->domains[d];
            const u64 violations = l3.violations, moved = l3.moved;
            cache_qos_check_domain(cq.get(), d);
            l3.violations = violations;
            l3.moved = moved;
        }
        last_error = cache_qos_monitor_value(cq.get(), monitor, event, domain, now, &v);
        last = v;
        EXPECT_EQ(v.bytes, v.raw * kScale);
        return v.raw;
    }
    u16 group(u16 parent = CACHE_QOS_ROOT)
    {
        const int node = cache_qos_node_make(cq.get(), parent);
        EXPECT_GT(node, 0);
        return static_cast<u16>(node);
    }
    int monitor(u16 node, bool on = true)
    {
        return cache_qos_node_monitor(cq.get(), node, on, PMUKIT_CACHE_QOS_KIND_GROUP, now);
    }
    u16 of(u16 node) { return cq->nodes[node].monitor; }
    u16 make(pmukit_cache_qos_kind kind = PMUKIT_CACHE_QOS_KIND_TASK)
    {
        return static_cast<u16>(cache_qos_monitor_make(cq.get(), kind));
    }
    cache_qos_task task(u16 node = CACHE_QOS_ROOT)
    {
        cache_qos_task t;
        cache_qos_task_init(cq.get(), &t);
        if (node != CACHE_QOS_ROOT)
            cache_qos_task_move(cq.get(), &t, node);
        return t;
    }
    int watch(cache_qos_task &t, u16 m, bool must = true)
    {
        return cache_qos_task_watch(cq.get(), &t, m, must, now);
    }

    std::unique_ptr<cache_qos> cq;
    std::vector<cache_qos_atom> atoms;
    std::array<cache_qos_cpu, kCpus> cpus;
    std::array<cache_qos_cpu *, kCpus> cpu_pointers;
    std::array<std::vector<cache_qos_cell>, kCpus> cells;
    std::array<std::vector<cache_qos_sums>, kCpus> accumulated;
    // Indexes: domain, RMID, event.
    std::vector<std::vector<std::array<u64, 3>>> counters;
    u64 now = 1'000'000'000;
    u8 status = CACHE_QOS_READ_OK;
    u64 misses = 0;
    cache_qos_value last = {};
    int last_error = 0;
};

TEST_F(CacheQos, R14_without_monitors_no_register_is_written)
{
    start();
    EXPECT_EQ(run(0, nullptr), 0u);
    auto t = task();
    EXPECT_EQ(run(0, &t), 0u);
    EXPECT_EQ(pqr_writes, 0u);
    EXPECT_EQ(misses, 0u);
}

TEST_F(CacheQos, R15_writes_pqr_assoc_once_per_rmid_change)
{
    start();
    auto a = task(), b = task(), c = task();
    const u16 m = make();
    ASSERT_EQ(watch(a, m), 0);
    ASSERT_EQ(watch(b, m), 0);
    run(0, &a);
    EXPECT_EQ(pqr_writes, 1u);
    // Tasks a and b have the same monitor, so they have the same RMID.
    run(0, &b);
    EXPECT_EQ(pqr_writes, 1u);
    run(0, &c);
    EXPECT_EQ(pqr_writes, 2u);
    run(0, nullptr);
    EXPECT_EQ(pqr_writes, 2u);
    EXPECT_EQ(cpus[0].writes, 2u);
    EXPECT_EQ(misses, 1u);
}

// A CPU takes the lock once for each new combination of monitors, until the configuration changes.
TEST_F(CacheQos, R16_takes_lock_only_for_new_monitor_combinations)
{
    start();
    auto a = task(), b = task(), unmonitored = task();
    ASSERT_EQ(watch(a, make()), 0);
    ASSERT_EQ(watch(b, make()), 0);
    for (int i = 0; i < 1000; i++)
        for (const cache_qos_task *t : {&a, &b, &unmonitored})
            run(0, t);
    // One miss for task a and one for task b. The unmonitored task causes none.
    EXPECT_EQ(misses, 2u);
    run(1, &a);
    EXPECT_EQ(misses, 3u);
    ASSERT_EQ(monitor(group()), 0);
    run(0, &a);
    run(0, &a);
    EXPECT_EQ(misses, 4u);
}

TEST_F(CacheQos, R09_writing_and_clearing_rmid_preserves_closid)
{
    start();
    pqr[0] = 0x500000000;
    ASSERT_TRUE(cache_qos_check_pqr(cq.get(), &cpus[0]));
    EXPECT_EQ(cpus[0].hijacks, 0u);
    auto t = task();
    ASSERT_EQ(watch(t, make()), 0);
    const u32 rmid = run(0, &t);
    ASSERT_NE(rmid, 0u);
    EXPECT_EQ(pqr[0], 0x500000000 | rmid);
    cache_qos_cpu_release(cq.get(), 0);
    EXPECT_EQ(pqr[0], 0x500000000u);
}

// Two CPUs of one L3 read the same counter. The driver folds the later reading first.
TEST_F(CacheQos, R30_drops_reading_that_is_older_than_the_last_counted_one)
{
    start();
    cache_qos_request early = {}, late = {};
    cache_qos_ask(cq.get(), 0, 0, &early);
    cache_qos_ask(cq.get(), 0, 0, &late);
    for (cache_qos_request *one : {&early, &late})
        std::fill_n(one->sample.status, 3, u8{CACHE_QOS_READ_OK});
    early.sample.data[1] = 100;
    late.sample.data[1] = 105;
    cache_qos_fold(cq.get(), 0, &late, now, true);
    cache_qos_fold(cq.get(), 0, &early, now, true);
    EXPECT_EQ(value(CACHE_QOS_MACHINE, kTotal, 0), 105u);
    cache_qos_ask(cq.get(), 0, 0, &early);
    std::fill_n(early.sample.status, 3, u8{CACHE_QOS_READ_OK});
    early.sample.data[1] = 110;
    // A trace event reads a value on the CPU that holds the lock: the reading is dropped.
    cq->domains[0].lock.held = true;
    cache_qos_fold(cq.get(), 0, &early, now, false);
    cq->domains[0].lock.held = false;
    EXPECT_EQ(value(CACHE_QOS_MACHINE, kTotal, 0), 105u);
    cache_qos_fold(cq.get(), 0, &early, now, false);
    EXPECT_EQ(value(CACHE_QOS_MACHINE, kTotal, 0), 110u);
}

TEST_F(CacheQos, R63_unprivileged_users_cannot_take_all_rmids)
{
    start(15);
    ASSERT_EQ(cq->max_limited, 4u);
    std::vector<cache_qos_task> tasks(12);
    std::vector<u16> monitors;
    int result = 0;
    for (cache_qos_task &one : tasks) {
        one = task();
        monitors.push_back(make());
        cache_qos_monitor_limit(cq.get(), monitors.back());
        result = watch(one, monitors.back());
        if (result)
            break;
    }
    EXPECT_EQ(result, -ENOSPC);
    EXPECT_EQ(monitors.size(), 5u);
    EXPECT_EQ(cq->nr_atoms[CACHE_QOS_USED], 4u);
    auto ours = task();
    ASSERT_EQ(watch(ours, make()), 0);
    // A released RMID counts against the limit until it is clean.
    cache_qos_monitor_end(cq.get(), monitors[0], now);
    EXPECT_EQ(watch(tasks[4], monitors[4]), -ENOSPC);
    pass();
    EXPECT_EQ(watch(tasks[4], monitors[4]), 0);
    // The monitor of the group is not limited, so it can still count the task.
    const u16 g = group();
    ASSERT_EQ(monitor(g), 0);
    cache_qos_task_move(cq.get(), &tasks[4], g);
    const u32 rmid = run(0, &tasks[4]);
    EXPECT_NE(rmid, 0u);
    EXPECT_TRUE(cache_qos_has(&cq->atoms[rmid].members, cq->nodes[g].monitor));
}

TEST_F(CacheQos, R63_cgroups_of_unprivileged_users_count_against_their_share)
{
    start(15);
    for (u32 i = 0; i < 6; i++) {
        const u16 node = static_cast<u16>(cache_qos_node_make(cq.get(), CACHE_QOS_NONE));
        EXPECT_EQ(cache_qos_node_watch(cq.get(), node, true, false, now), i < 4 ? 0 : -ENOSPC) << i;
    }
    // A number whose watch was refused is not limited when it is used again.
    EXPECT_EQ(bitmap_weight(cq->limited.bits, CACHE_QOS_MAX_MONITORS), 4u);
    const u16 ours = static_cast<u16>(cache_qos_node_make(cq.get(), CACHE_QOS_NONE));
    EXPECT_EQ(cache_qos_node_watch(cq.get(), ours, false, false, now), 0);
}

TEST_F(CacheQos, R17_predicts_rmid_of_running_task)
{
    start();
    auto t = task();
    const u16 m = make();
    run(0, &t);
    EXPECT_EQ(cache_qos_expected(cq.get(), &cpus[0], &t, CACHE_QOS_NONE), 0u);
    ASSERT_EQ(watch(t, m), 0);
    const u32 rmid = cache_qos_expected(cq.get(), &cpus[0], &t, CACHE_QOS_NONE);
    EXPECT_EQ(run(0, &t), rmid);
    const u16 g = group();
    ASSERT_EQ(monitor(g), 0);
    cache_qos_task_move(cq.get(), &t, g);
    EXPECT_EQ(cache_qos_expected(cq.get(), &cpus[0], &t, CACHE_QOS_NONE), CACHE_QOS_MISS);
    const u32 both = run(0, &t);
    EXPECT_EQ(cache_qos_expected(cq.get(), &cpus[0], &t, CACHE_QOS_NONE), both);
}

TEST_F(CacheQos, R09_preserves_closid_written_between_switches)
{
    start();
    auto t = task();
    ASSERT_EQ(watch(t, make()), 0);
    const u32 rmid = run(0, &t);
    pqr[0] = 0x300000000 | rmid;
    run(0, nullptr);
    EXPECT_EQ(pqr[0], 0x300000000u);
    pqr[0] = 0x400000000;
    EXPECT_EQ(run(0, &t), rmid);
    EXPECT_EQ(pqr[0], 0x400000000 | rmid);
    EXPECT_EQ(cpus[0].hijacks, 0u);
    EXPECT_FALSE(cache_qos_registers_taken(cq.get()));
}

// A tool such as pqos reads the register, changes the upper half and writes both halves back.
// Because of a context switch in between, the tool writes the RMID of an earlier task.
TEST_F(CacheQos, R09_overwrites_older_rmid_that_a_tool_wrote_back)
{
    start();
    auto t = task();
    const u16 m = make();
    ASSERT_EQ(watch(t, m), 0);
    const u32 rmid = run(0, &t);
    run(0, nullptr);
    pqr[0] = 0x300000000 | rmid;
    auto other = task();
    const u16 n = make();
    ASSERT_EQ(watch(other, n), 0);
    const u32 next = run(0, &other);
    EXPECT_NE(next, rmid);
    EXPECT_EQ(pqr[0], 0x300000000 | next);
    EXPECT_EQ(cpus[0].hijacks, 1u);
    EXPECT_FALSE(cache_qos_registers_taken(cq.get()));
    // pqos -R clears the RMID in the register like this.
    pqr[0] = 0x400000000;
    EXPECT_FALSE(cache_qos_check_pqr(cq.get(), &cpus[0]));
    EXPECT_EQ(pqr[0], 0x400000000 | next);
    EXPECT_FALSE(cache_qos_registers_taken(cq.get()));
    cache_qos_mark_suspects(cq.get());
    value(n);
    EXPECT_TRUE(last.status & PMUKIT_CACHE_QOS_S_SUSPECT);
    value(m);
    EXPECT_FALSE(last.status & PMUKIT_CACHE_QOS_S_SUSPECT);
}

TEST_F(CacheQos, R08_yields_to_rmid_written_by_other_software)
{
    start();
    auto t = task();
    const u16 m = make();
    ASSERT_EQ(watch(t, m), 0);
    run(0, &t);
    pqr[0] = 0x300000006;
    EXPECT_FALSE(cache_qos_check_pqr(cq.get(), &cpus[0]));
    EXPECT_EQ(cpus[0].hijacks, 1u);
    EXPECT_EQ(cpus[0].foreign, 6u);
    EXPECT_TRUE(cache_qos_registers_taken(cq.get()));
    run_any(0, nullptr);
    EXPECT_EQ(pqr[0], 0x300000006u);
    cache_qos_yield(cq.get(), false);
    cache_qos_cpu_release(cq.get(), 0);
    EXPECT_EQ(pqr[0], 0x300000006u);
    cache_qos_mark_suspects(cq.get());
    value(m);
    EXPECT_TRUE(last.status & PMUKIT_CACHE_QOS_S_SUSPECT);
    cache_qos_cpu_look(cq.get(), 0);
    EXPECT_EQ(cpus[0].foreign, 6u);
    pqr[0] = 0x300000000;
    cache_qos_cpu_look(cq.get(), 0);
    EXPECT_EQ(cpus[0].foreign, 0u);
    cache_qos_resume(cq.get());
    ASSERT_EQ(cache_qos_cpu_online(cq.get(), 0, 0), 0);
    EXPECT_NE(run(0, &t), 0u);
    EXPECT_EQ(pqr[0] >> 32, 3u);
}

TEST_F(CacheQos, R08_context_switch_detects_foreign_rmid)
{
    start();
    auto t = task();
    ASSERT_EQ(watch(t, make()), 0);
    pqr[0] = 6;
    run_any(0, &t);
    EXPECT_EQ(pqr[0], 6u);
    EXPECT_TRUE(cache_qos_registers_taken(cq.get()));
    cq->force = true;
    cq->foreign = false;
    EXPECT_EQ(run(0, &t), cpus[0].rmid);
    EXPECT_EQ(cpus[0].hijacks, 2u);
}

// resctrl may use the same RMID number as the driver. A changed class of service shows that resctrl
// wrote the register.
TEST_F(CacheQos, R07_release_preserves_rmid_of_resctrl_that_equals_own_rmid)
{
    start();
    auto t = task();
    ASSERT_EQ(watch(t, make()), 0);
    const u32 rmid = run(0, &t);
    pqr[0] = 0x200000000 | rmid;
    cache_qos_yield(cq.get(), true);
    cache_qos_cpu_release(cq.get(), 0);
    EXPECT_EQ(pqr[0], 0x200000000 | rmid);
}

TEST_F(CacheQos, R61_cpu_online_after_suspend_accepts_own_or_cleared_rmid)
{
    start();
    auto t = task();
    ASSERT_EQ(watch(t, make()), 0);
    const u32 rmid = run(0, &t);
    EXPECT_EQ(cache_qos_cpu_online(cq.get(), 0, 0), 0);
    EXPECT_EQ(cpus[0].rmid, rmid);
    pqr[0] = 0;
    EXPECT_EQ(cache_qos_cpu_online(cq.get(), 0, 0), 0);
    EXPECT_EQ(run(0, &t), rmid);
}

TEST_F(CacheQos, R08_ignores_foreign_rmid_on_offline_cpu_or_after_yield)
{
    start();
    auto t = task();
    ASSERT_EQ(watch(t, make()), 0);
    run(0, &t);
    cache_qos_cpu_offline(cq.get(), 1);
    pqr[1] = 0x300000006;
    EXPECT_TRUE(cache_qos_check_pqr(cq.get(), &cpus[1]));
    EXPECT_EQ(pqr[1], 0x300000006u);
    cache_qos_yield(cq.get(), true);
    pqr[0] = 0x300000006;
    EXPECT_TRUE(cache_qos_check_pqr(cq.get(), &cpus[0]));
    EXPECT_EQ(pqr[0], 0x300000006u);
    EXPECT_EQ(cpus[0].hijacks + cpus[1].hijacks, 0u);
}

TEST_F(CacheQos, R08_rejects_cpu_with_foreign_rmid_unless_forced)
{
    start();
    cache_qos_cpu_offline(cq.get(), 0);
    pqr[0] = 0x700000003;
    EXPECT_EQ(cache_qos_cpu_online(cq.get(), 0, 0), -EBUSY);
    EXPECT_EQ(cpus[0].foreign, 3u);
    EXPECT_EQ(cq->domains[0].nr_cpus, 0u);
    cq->force = true;
    EXPECT_EQ(cache_qos_cpu_online(cq.get(), 0, 0), 0);
    EXPECT_EQ(pqr[0], 0x700000000u);
    run(0, nullptr);
    EXPECT_EQ(pqr[0], 0x700000000u);
}

// When the other tool ends, it writes RMID 0.
TEST_F(CacheQos, R08_does_not_restore_the_rmid_of_other_software)
{
    start();
    cache_qos_cpu_offline(cq.get(), 0);
    pqr[0] = 0x700000003;
    cq->force = true;
    ASSERT_EQ(cache_qos_cpu_online(cq.get(), 0, 0), 0);
    current_cpu = 0;
    pqr[0] = 0x700000000;
    cache_qos_check_pqr(cq.get(), &cpus[0]);
    EXPECT_EQ(pqr[0], 0x700000000u);
    EXPECT_EQ(cpus[0].hijacks, 0u);
}

// With cq->force, a CPU may come online with an RMID that is out of the driver's range.
TEST_F(CacheQos, R08_foreign_rmid_beyond_own_range_marks_no_monitor_as_suspect)
{
    start();
    auto t = task();
    const u16 m = make();
    ASSERT_EQ(watch(t, m), 0);
    run(1, &t);
    current_cpu = 0;
    cq->force = true;
    for (const u64 foreign : {8ULL, 0xffffffffULL}) {
        cache_qos_cpu_offline(cq.get(), 0);
        pqr[0] = foreign;
        ASSERT_EQ(cache_qos_cpu_online(cq.get(), 0, 0), 0);
        pqr[0] = 5;
        EXPECT_FALSE(cache_qos_check_pqr(cq.get(), &cpus[0]));
        cache_qos_mark_suspects(cq.get());
        EXPECT_EQ(cq->monitors[m].status & PMUKIT_CACHE_QOS_S_SUSPECT, 0u);
    }
}

TEST_F(CacheQos, R13_release_preserves_foreign_rmid)
{
    start();
    auto t = task();
    ASSERT_EQ(watch(t, make()), 0);
    run(0, &t);
    pqr[0] = 0x100000005;
    cache_qos_cpu_release(cq.get(), 0);
    EXPECT_EQ(pqr[0], 0x100000005u);
    cache_qos_carry(cq.get(), &cpus[0], 1);
    EXPECT_EQ(pqr[0], 0x100000005u);
}

TEST_F(CacheQos, R03_counts_successful_and_failed_pqr_assoc_writes)
{
    start();
    auto t = task();
    ASSERT_EQ(watch(t, make()), 0);
    highest_rmid = 0;
    // The write of PQR_ASSOC fails, and the register is unchanged.
    EXPECT_EQ(run(0, &t), 0u);
    EXPECT_EQ(cpus[0].faults, 1u);
    EXPECT_EQ(cpus[0].writes, 0u);
    highest_rmid = 7;
    const u32 rmid = run(0, &t);
    EXPECT_EQ(cpus[0].writes, 1u);
    pqr[0] = 0x500000000;
    EXPECT_FALSE(cache_qos_check_pqr(cq.get(), &cpus[0]));
    EXPECT_EQ(pqr[0], 0x500000000 | rmid);
    EXPECT_EQ(cpus[0].writes, 2u);
    pqr[0] = 0x500000000;
    highest_rmid = 0;
    EXPECT_FALSE(cache_qos_check_pqr(cq.get(), &cpus[0]));
    EXPECT_EQ(cpus[0].faults, 2u);
    EXPECT_EQ(cpus[0].writes, 2u);
    pqr[0] = 0x500000000 | rmid;
    cache_qos_cpu_release(cq.get(), 0);
    EXPECT_EQ(pqr[0], 0x500000000u);
    EXPECT_EQ(cpus[0].writes, 3u);
    EXPECT_EQ(pqr_writes, 3u);
}

TEST_F(CacheQos, R54_counts_tasks_per_group)
{
    start();
    const u16 g = group();
    auto t = task();
    EXPECT_EQ(cq->nodes[CACHE_QOS_ROOT].tasks, 1u);
    cache_qos_task_move(cq.get(), &t, g);
    EXPECT_EQ(cq->nodes[CACHE_QOS_ROOT].tasks, 0u);
    auto child = task(g);
    EXPECT_EQ(cq->nodes[g].tasks, 2u);
    cache_qos_task_exit(cq.get(), &t);
    EXPECT_EQ(cache_qos_node_remove(cq.get(), g, now), -EBUSY);
    cache_qos_task_exit(cq.get(), &child);
    EXPECT_EQ(cache_qos_node_remove(cq.get(), g, now), 0);
}

TEST_F(CacheQos, R21_allocates_all_rmids_except_0_oldest_first)
{
    for (u32 max_rmid : {1u, 2u, 7u}) {
        start(max_rmid);
        EXPECT_EQ(cq->nr_atoms[CACHE_QOS_FREE], max_rmid);
        for (u32 i = 1; i <= max_rmid; i++) {
            auto t = task();
            ASSERT_EQ(watch(t, make()), 0);
            EXPECT_EQ(run(0, &t), i);
        }
        auto t = task();
        EXPECT_EQ(watch(t, make()), -ENOSPC);
    }
}

TEST_F(CacheQos, R22_limbo_ends_when_all_domains_are_clean)
{
    start(1);
    auto t = task();
    const u16 m = make();
    ASSERT_EQ(watch(t, m), 0);
    run(0, &t);
    fill(0, 600);
    run(1, &t);
    fill(1, 600);
    pass();
    cache_qos_monitor_end(cq.get(), m, now);
    run(0, &t);
    run(1, &t);
    EXPECT_EQ(cq->nr_atoms[CACHE_QOS_LIMBO], 1u);
    EXPECT_EQ(cache_qos_node_monitor(cq.get(), group(), true, PMUKIT_CACHE_QOS_KIND_GROUP, now),
              -EBUSY);
    pass();
    EXPECT_EQ(cq->nr_atoms[CACHE_QOS_LIMBO], 1u);
    counters[0][1][0] = 0;
    pass();
    EXPECT_EQ(cq->nr_atoms[CACHE_QOS_LIMBO], 1u);
    counters[1][1][0] = cq->threshold;
    pass();
    EXPECT_EQ(cq->nr_atoms[CACHE_QOS_LIMBO], 1u);
    counters[1][1][0] = cq->threshold - 1;
    // A failed read must not end limbo.
    status = CACHE_QOS_READ_ERROR;
    pass();
    EXPECT_EQ(cq->nr_atoms[CACHE_QOS_LIMBO], 1u);
    status = CACHE_QOS_READ_OK;
    pass();
    EXPECT_EQ(cq->nr_atoms[CACHE_QOS_FREE], 1u);
}

TEST_F(CacheQos, R22_limbo_lasts_until_rmid_is_read_after_it_entered_limbo)
{
    start(1);
    auto t = task();
    const u16 m = make();
    ASSERT_EQ(watch(t, m), 0);
    pass();
    cache_qos_monitor_end(cq.get(), m, now);
    EXPECT_EQ(end_limbo(cq.get(), now), 0u);
    pass();
    EXPECT_EQ(cq->nr_atoms[CACHE_QOS_FREE], 1u);
}

TEST_F(CacheQos, R22_rmid_stays_in_limbo_while_a_cpu_still_uses_it)
{
    start(1);
    auto t = task();
    const u16 m = make();
    ASSERT_EQ(watch(t, m), 0);
    run(0, &t);
    cache_qos_monitor_end(cq.get(), m, now);
    pass();
    EXPECT_EQ(cq->nr_atoms[CACHE_QOS_LIMBO], 1u);
    run(0, &t);
    pass();
    EXPECT_EQ(cq->nr_atoms[CACHE_QOS_FREE], 1u);
}

// A CPU that carries an RMID in limbo still fills lines until its next context switch. A reading
// from before the switch does not include these lines.
TEST_F(CacheQos, R22_reading_while_a_cpu_still_uses_rmid_does_not_end_limbo)
{
    start(1);
    auto t = task();
    const u16 m = make();
    ASSERT_EQ(watch(t, m), 0);
    const u32 rmid = run(0, &t);
    cache_qos_monitor_end(cq.get(), m, now);
    cache_qos_carried(cq.get(), now);
    now += 1'000'000;
    for (u32 d = 0; d < kCpus; d++)
        read(d, rmid);
    // Lines that the CPU fills between the reading and the context switch.
    counters[0][rmid][0] = 2 * cq->threshold + 2;
    run(0, nullptr);
    EXPECT_EQ(end_limbo(cq.get(), now), 0u);
    // A pass begins but does not read this domain.
    cache_qos_carried(cq.get(), now);
    EXPECT_EQ(end_limbo(cq.get(), now), 0u);
    pass();
    EXPECT_EQ(cq->atoms[rmid].state, CACHE_QOS_LIMBO);
    counters[0][rmid][0] = 0;
    pass();
    EXPECT_EQ(cq->atoms[rmid].state, CACHE_QOS_FREE);
}

// If an RMID enters limbo between cache_qos_carried() and the reading, a CPU may carry the RMID
// even after the reading.
TEST_F(CacheQos, R22_rmid_that_enters_limbo_during_a_pass_waits_for_the_next_pass)
{
    start(1);
    auto t = task();
    const u16 m = make();
    ASSERT_EQ(watch(t, m), 0);
    cache_qos_carried(cq.get(), now);
    now += 1'000'000;
    const u32 rmid = run(0, &t);
    cache_qos_monitor_end(cq.get(), m, now);
    now += 1'000'000;
    for (u32 d = 0; d < kCpus; d++)
        read(d, rmid);
    run(0, nullptr);
    EXPECT_EQ(end_limbo(cq.get(), now), 0u);
    pass();
    EXPECT_EQ(cq->atoms[rmid].state, CACHE_QOS_FREE);
}

TEST_F(CacheQos, R22_limbo_lasts_minimum_time_if_occupancy_is_unsupported)
{
    start(3, 24, 6);
    EXPECT_EQ(cq->nr_atoms[CACHE_QOS_FREE], 3u);
    cq->limbo_min_ns = 5'000'000;
    auto t = task();
    const u16 m = make();
    ASSERT_EQ(watch(t, m), 0);
    cache_qos_monitor_end(cq.get(), m, now);
    // A time before the start of limbo, as from a CPU whose clock is behind.
    EXPECT_EQ(end_limbo(cq.get(), now - 1), 0u);
    for (int i = 0; i < 4; i++) {
        pass();
        EXPECT_EQ(cq->nr_atoms[CACHE_QOS_LIMBO], 1u);
    }
    pass();
    EXPECT_EQ(cq->nr_atoms[CACHE_QOS_LIMBO], 0u);
}

TEST_F(CacheQos, R23_limbo_threshold_has_default_and_upper_limit)
{
    start(7);
    EXPECT_EQ(cache_qos_default_threshold(cq.get()), u64{kUnits / 8} * kScale);
    EXPECT_EQ(cq->threshold, kUnits / 8);
    EXPECT_EQ(cache_qos_set_threshold(cq.get(), u64{kUnits} * kScale), 0);
    EXPECT_EQ(cache_qos_set_threshold(cq.get(), u64{kUnits} * kScale + 1), -EINVAL);
    EXPECT_EQ(cq->threshold, kUnits);
    EXPECT_EQ(cache_qos_set_threshold(cq.get(), 0), 0);
    pass();
    EXPECT_EQ(cq->nr_atoms[CACHE_QOS_FREE], 7u);
}

TEST_F(CacheQos, R25_alloc_dirty_takes_the_limbo_rmid_with_fewest_lines)
{
    start(2);
    cq->alloc_dirty = true;
    auto t = task();
    const u16 a = make(), b = make();
    ASSERT_EQ(watch(t, a), 0);
    run(0, &t);
    fill(0, 500);
    ASSERT_EQ(watch(t, b), 0);
    run(0, &t);
    fill(0, 400);
    pass();
    cache_qos_monitor_end(cq.get(), a, now);
    cache_qos_monitor_end(cq.get(), b, now);
    run(0, nullptr);
    pass();
    const u16 c = make();
    ASSERT_EQ(watch(t, c), 0);
    EXPECT_EQ(run(0, &t), 2u);  // RMID 2 has 400 lines, RMID 1 has 500
    EXPECT_EQ(value(c), 400u);
    EXPECT_EQ(last.bound, 400u * kScale);
    EXPECT_TRUE(last.status & PMUKIT_CACHE_QOS_S_DIRTY);
    EXPECT_EQ(cq->stats.dirty, 1u);
}

// alloc_dirty prefers RMIDs that were read since they entered limbo. If it takes an RMID that was
// not read, all lines of that RMID may belong to an earlier atom.
TEST_F(CacheQos, R25_R26_error_bound_covers_all_lines_of_rmid_reused_before_it_was_read)
{
    start(2);
    cq->alloc_dirty = true;
    auto t = task(), u = task();
    const u16 a = make(), b = make();
    ASSERT_EQ(watch(t, a), 0);
    ASSERT_EQ(watch(u, b), 0);
    ASSERT_EQ(run(0, &u), 2u);
    fill(0, 500);
    ASSERT_EQ(run(0, &t), 1u);
    run(0, nullptr);
    cache_qos_monitor_end(cq.get(), b, now);
    pass();
    EXPECT_EQ(counters[0][1][0], 0u);
    run(0, &t);
    // These lines are not read before the monitor ends.
    fill(0, 400);
    cache_qos_monitor_end(cq.get(), a, now);
    run(0, nullptr);
    const u16 c = make(), d = make();
    ASSERT_EQ(watch(u, c), 0);
    EXPECT_EQ(run(0, &u), 2u);
    value(c);
    EXPECT_EQ(last.bound, 500u * kScale);
    ASSERT_EQ(watch(t, d), 0);
    EXPECT_EQ(run(0, &t), 1u);
    run(0, nullptr);
    pass();
    EXPECT_EQ(value(d), 400u);
    EXPECT_EQ(last.bound, 400u * kScale);
    EXPECT_EQ(value(d, kTotal), 0u);
    EXPECT_TRUE(last.status & PMUKIT_CACHE_QOS_S_GAP);
    EXPECT_EQ(value(c, kTotal), 0u);
    EXPECT_FALSE(last.status & PMUKIT_CACHE_QOS_S_GAP);
}

// alloc_dirty compares numbers of lines. These are known even if the bandwidth counters of an RMID
// are unavailable.
TEST_F(CacheQos, R25_alloc_dirty_takes_the_limbo_rmid_with_fewest_lines_without_bandwidth)
{
    start(2);
    cq->alloc_dirty = true;
    cq->hw.restarts = true;
    auto t = task(), u = task();
    const u16 a = make(), b = make(), c = make();
    ASSERT_EQ(watch(t, a), 0);
    run(0, &t);
    fill(0, 500);
    ASSERT_EQ(watch(u, b), 0);
    run(0, &u);
    fill(0, 400);
    run(0, nullptr);
    cache_qos_monitor_end(cq.get(), a, now);
    cache_qos_monitor_end(cq.get(), b, now);
    cache_qos_carried(cq.get(), now);
    now += 1'000'000;
    for (u16 d = 0; d < kCpus; d++) {
        for (u32 rmid = 1; rmid <= 2; rmid++) {
            const cache_qos_sample s = {.status = {CACHE_QOS_READ_OK, CACHE_QOS_READ_UNAVAILABLE,
                                                   CACHE_QOS_READ_UNAVAILABLE},
                                        .data = {counters[d][rmid][0]}};
            fold_reading(cq.get(), d, rmid, s, now);
        }
    }
    ASSERT_EQ(watch(t, c), 0);
    EXPECT_EQ(run(0, &t), 2u);
    EXPECT_EQ(value(c), 400u);
    EXPECT_EQ(last.bound, 400u * kScale);
    // The counter is available again and has restarted at 0.
    counters[0][2][1] = 30;
    pass();
    EXPECT_EQ(value(c, kTotal), 30u);
}

// The counter of an RMID was unavailable at its last read before limbo. It may have become
// available again before limbo began, and may have counted traffic of the earlier atom.
TEST_F(CacheQos, R25_R27_new_owner_reports_gap_if_counter_was_unavailable_before_limbo)
{
    for (bool restarts : {false, true}) {
        start(1);
        cq->alloc_dirty = true;
        cq->hw.restarts = restarts;
        auto t = task(), u = task();
        const u16 a = make(), b = make();
        ASSERT_EQ(watch(t, a), 0);
        run(0, &t);
        status = CACHE_QOS_READ_UNAVAILABLE;
        pass();
        status = CACHE_QOS_READ_OK;
        fill(0, 500);
        run(0, nullptr);
        cache_qos_monitor_end(cq.get(), a, now);
        ASSERT_EQ(watch(u, b), 0);
        ASSERT_EQ(run(0, &u), 1u);
        pass();
        EXPECT_EQ(value(b, kTotal), 0u);
        EXPECT_TRUE(last.status & PMUKIT_CACHE_QOS_S_GAP);
    }
}

// An RMID in limbo that counts for an outer group is reused before it is read. The outer group then
// misses the traffic since the last read, and reports a gap.
TEST_F(CacheQos, R25_R27_reuse_of_unread_rmid_causes_gap_in_outer_group)
{
    start(2);
    cq->alloc_dirty = true;
    auto t = task(), u = task();
    const u16 outer = group(), inner = group(outer);
    ASSERT_EQ(monitor(outer), 0);
    ASSERT_EQ(monitor(inner), 0);
    cache_qos_task_move(cq.get(), &t, inner);
    run(0, &t);
    fill(0, 400);
    ASSERT_EQ(monitor(inner, false), 0);
    run(0, nullptr);
    value(of(outer), kTotal);
    EXPECT_FALSE(last.status & PMUKIT_CACHE_QOS_S_GAP);
    ASSERT_EQ(watch(u, make()), 0);
    value(of(outer), kTotal);
    EXPECT_TRUE(last.status & PMUKIT_CACHE_QOS_S_GAP);
}

// alloc_dirty must not take an RMID that is used or that a CPU carries, however few lines the RMID
// has.
TEST_F(CacheQos, R25_alloc_dirty_never_takes_rmid_in_use_or_still_on_a_cpu)
{
    start(3);
    cq->alloc_dirty = true;
    auto used = task(), carried = task(), gone = task(), next = task();
    const u16 a = make(), b = make(), c = make();
    ASSERT_EQ(watch(used, a), 0);
    run(0, &used);
    fill(0, 300);
    ASSERT_EQ(watch(gone, b), 0);
    const u32 left = run(0, &gone);
    fill(0, 500);
    ASSERT_EQ(watch(carried, c), 0);
    run(1, &carried);
    fill(1, 400);
    run(0, nullptr);
    pass();
    cache_qos_monitor_end(cq.get(), b, now);
    cache_qos_monitor_end(cq.get(), c, now);
    ASSERT_EQ(watch(next, make()), 0);
    EXPECT_EQ(run(0, &next), left);
    EXPECT_EQ(watch(carried, make()), -EBUSY);
}

TEST_F(CacheQos, R24_one_of_two_rmids_is_retired_when_they_get_the_same_set_of_monitors)
{
    start();
    auto t = task(), u = task();
    const u16 a = make(), b = make();
    ASSERT_EQ(watch(t, a), 0);
    ASSERT_EQ(watch(u, a), 0);
    ASSERT_EQ(watch(u, b), 0);
    ASSERT_EQ(watch(u, b), 0);
    EXPECT_NE(run(0, &t), run(1, &u));
    EXPECT_EQ(cq->nr_atoms[CACHE_QOS_USED], 2u);
    cache_qos_monitor_end(cq.get(), b, now);
    EXPECT_EQ(cq->nr_atoms[CACHE_QOS_USED], 1u);
    EXPECT_EQ(run(0, &t), run(1, &u));
    EXPECT_EQ(cq->nr_atoms[CACHE_QOS_USED], 1u);
}

TEST_F(CacheQos, R27_generation_of_value_changes_with_the_rmids_that_it_sums)
{
    start();
    auto t = task(), u = task();
    const u16 a = make(), b = make(), machine = CACHE_QOS_MACHINE;
    ASSERT_EQ(watch(t, a), 0);
    value(a);
    const u32 of_a = last.generation;
    value(machine);
    const u32 of_all = last.generation;
    ASSERT_EQ(watch(u, b), 0);
    run(0, &u);
    value(a);
    EXPECT_EQ(last.generation, of_a);
    value(machine);
    EXPECT_NE(last.generation, of_all);
    value(b);
    const u32 of_b = last.generation;
    ASSERT_EQ(watch(t, b), 0);
    run(0, &t);
    value(a);
    EXPECT_NE(last.generation, of_a);
    value(b);
    EXPECT_NE(last.generation, of_b);
}

TEST_F(CacheQos, unwatching_unwatched_cpu_changes_nothing)
{
    start();
    const u16 a = make(), c = make(PMUKIT_CACHE_QOS_KIND_CPU);
    const u32 sets = cq->free_sets;
    ASSERT_EQ(cache_qos_cpu_watch(cq.get(), 1, c, now), 0);
    ASSERT_EQ(cache_qos_cpu_watch(cq.get(), 1, c, now), 0);
    cache_qos_cpu_unwatch(cq.get(), 1, a);
    EXPECT_EQ(cq->sets[cpus[1].set].refs, 1u);
    cache_qos_cpu_unwatch(cq.get(), 1, c);
    cache_qos_cpu_unwatch(cq.get(), 1, c);
    EXPECT_EQ(cpus[1].set, 0);
    EXPECT_EQ(cq->free_sets, sets);
}

// All sets of monitors are in use, so the set without the monitor that leaves cannot be had, unless
// the CPU is the only one with its set.
TEST_F(CacheQos, unwatched_cpu_counts_for_none_of_its_monitors_rather_than_for_the_wrong_one)
{
    start();
    const u16 a = make(PMUKIT_CACHE_QOS_KIND_CPU), b = make(PMUKIT_CACHE_QOS_KIND_CPU);
    for (u32 cpu : {0u, 1u})
        for (u16 m : {a, b})
            ASSERT_EQ(cache_qos_cpu_watch(cq.get(), cpu, m, now), 0);
    ASSERT_EQ(cpus[0].set, cpus[1].set);
    for (u16 set = 1; set < CACHE_QOS_MAX_SETS; set++)
        cq->sets[set].refs += !cq->sets[set].refs;
    cache_qos_cpu_unwatch(cq.get(), 0, a);
    EXPECT_EQ(run(0, nullptr), 0u);
    value(b);
    EXPECT_TRUE(last.status & PMUKIT_CACHE_QOS_S_PARTIAL);
    value(a);
    EXPECT_FALSE(last.status & PMUKIT_CACHE_QOS_S_PARTIAL);
    cache_qos_cpu_unwatch(cq.get(), 1, a);
    EXPECT_EQ(cq->sets[cpus[1].set].members.bits[0], BIT(b));
}

// A cgroup is inserted between two others. Depth and children must then be those of the new parent.
TEST_F(CacheQos, R57_reparenting_updates_depth_and_children)
{
    start();
    const u16 top = static_cast<u16>(cache_qos_node_make(cq.get(), CACHE_QOS_NONE));
    const u16 low = static_cast<u16>(cache_qos_node_make(cq.get(), CACHE_QOS_NONE));
    const u16 lowest = group(low);
    ASSERT_EQ(cache_qos_node_monitor(cq.get(), top, true, PMUKIT_CACHE_QOS_KIND_CGROUP, now), 0);
    ASSERT_EQ(cache_qos_node_reparent(cq.get(), low, top), 0);
    EXPECT_EQ(cq->nodes[top].children, 1u);
    EXPECT_EQ(cache_qos_node_monitored(cq.get(), lowest), top);
    EXPECT_EQ(cache_qos_node_remove(cq.get(), top, now), -ENOTEMPTY);
    u16 deep = group();
    for (u32 depth = 1; depth + 2 < CACHE_QOS_MAX_DEPTH; depth++)
        deep = group(deep);
    // The subtree has two levels, which reach the maximum depth exactly.
    EXPECT_EQ(cache_qos_node_reparent(cq.get(), low, deep), 0);
    EXPECT_EQ(cq->nodes[top].children, 0u);
    EXPECT_EQ(cq->nodes[deep].children, 1u);
    EXPECT_EQ(cache_qos_node_make(cq.get(), lowest), -ENAMETOOLONG);
    ASSERT_EQ(cache_qos_node_reparent(cq.get(), low, CACHE_QOS_NONE), 0);
    EXPECT_EQ(cq->nodes[deep].children, 0u);
    const u16 deeper = group(deep);
    EXPECT_EQ(cache_qos_node_reparent(cq.get(), low, deeper), -ENAMETOOLONG);
    EXPECT_EQ(cq->nodes[low].parent, CACHE_QOS_NONE);
    EXPECT_EQ(cache_qos_node_remove(cq.get(), top, now), 0);
}

TEST_F(CacheQos, second_offline_of_cpu_has_no_effect)
{
    start();
    auto t = task();
    ASSERT_EQ(watch(t, make()), 0);
    run(1, &t);
    cache_qos_cpu_offline(cq.get(), 1);
    cache_qos_cpu_offline(cq.get(), 1);
    EXPECT_EQ(cq->domains[1].nr_cpus, 0u);
    // Other software writes the register after the CPU went offline.
    pqr[1] = 5;
    cache_qos_cpu_release(cq.get(), 1);
    EXPECT_EQ(pqr[1], 5u);
    EXPECT_EQ(cpus[1].faults, 0u);
}

TEST_F(CacheQos, R26_error_bound_covers_lines_of_earlier_owner)
{
    start(1);
    auto a = task();
    const u16 m = make();
    ASSERT_EQ(watch(a, m), 0);
    run(0, &a);
    fill(0, cq->threshold - 1);
    pass();
    cache_qos_monitor_end(cq.get(), m, now);
    run(0, &a);
    pass();
    const u16 n = make();
    auto b = task();
    ASSERT_EQ(watch(b, n), 0);
    ASSERT_EQ(run(0, &b), 1u);
    EXPECT_EQ(value(n), cq->threshold - 1);
    EXPECT_EQ(last.bound, (cq->threshold - 1) * kScale);
    EXPECT_TRUE(last.status & PMUKIT_CACHE_QOS_S_UNREAD);
    // All but 10 lines are evicted.
    counters[0][1][0] = 10;
    pass();
    fill(0, 90);
    pass();
    EXPECT_EQ(value(n), 100u);
    EXPECT_EQ(last.bound, 10u * kScale);
    EXPECT_FALSE(last.status & PMUKIT_CACHE_QOS_S_UNREAD);
}

TEST_F(CacheQos, R27_lines_of_rmid_in_limbo_are_counted_for_remaining_monitors)
{
    start(3);
    ASSERT_EQ(cache_qos_set_threshold(cq.get(), 10 * kScale), 0);
    auto t = task();
    const u16 outer = group(), inner = group(outer);
    ASSERT_EQ(monitor(outer), 0);
    ASSERT_EQ(monitor(inner), 0);
    cache_qos_task_move(cq.get(), &t, inner);
    run(0, &t);
    fill(0, 200);
    pass();
    EXPECT_EQ(value(of(inner)), 200u);
    ASSERT_EQ(monitor(inner, false), 0);
    run(0, &t);
    fill(0, 50);
    pass();
    EXPECT_EQ(value(of(outer)), 250u);
    EXPECT_EQ(value(of(outer), kTotal), 250u);
    // All lines are evicted, so limbo ends. The bandwidth counts stay.
    counters[0][2][0] = 0;
    pass();
    EXPECT_EQ(cq->nr_atoms[CACHE_QOS_LIMBO], 0u);
    EXPECT_EQ(value(of(outer)), 50u);
    EXPECT_EQ(value(of(outer), kTotal), 250u);
}

TEST_F(CacheQos, R03_finds_domains_by_id_and_limits_their_number)
{
    start();
    EXPECT_EQ(cache_qos_domain_find(cq.get(), 10), 0);
    EXPECT_EQ(cache_qos_domain_find(cq.get(), 11), 1);
    EXPECT_EQ(cache_qos_domain_find(cq.get(), 12), CACHE_QOS_NONE);
    std::vector<std::vector<cache_qos_cell>> more_cells;
    std::vector<std::vector<cache_qos_sums>> more_banked;
    for (u32 d = kCpus; d < CACHE_QOS_MAX_DOMAINS; d++) {
        more_cells.emplace_back(cq->hw.nr_rmid);
        more_banked.emplace_back(CACHE_QOS_MAX_MONITORS);
        const pmukit_cache_qos_domain is = {
            .id = 10 + d, .package = d, .bytes = u64{kUnits} * kScale, .nodes = 1};
        ASSERT_EQ(cache_qos_domain_add(cq.get(), &is, more_cells.back().data(),
                                       more_banked.back().data()),
                  static_cast<int>(d));
    }
    const pmukit_cache_qos_domain one_more = {.id = 99, .package = 0, .bytes = kScale, .nodes = 1};
    EXPECT_EQ(
        cache_qos_domain_add(cq.get(), &one_more, more_cells[0].data(), more_banked[0].data()),
        -ENOSPC);
    EXPECT_EQ(cq->nr_domains, u32{CACHE_QOS_MAX_DOMAINS});
}

TEST_F(CacheQos, R23_limbo_threshold_default_and_limit_follow_smallest_cache)
{
    start();
    EXPECT_EQ(cq->threshold, kUnits / 8);
    std::vector<cache_qos_cell> small_cells(cq->hw.nr_rmid);
    std::vector<cache_qos_sums> small_banked(CACHE_QOS_MAX_MONITORS);
    const pmukit_cache_qos_domain small = {
        .id = 20, .package = 2, .bytes = u64{80} * kScale, .nodes = 1};
    ASSERT_EQ(cache_qos_domain_add(cq.get(), &small, small_cells.data(), small_banked.data()), 2);
    EXPECT_EQ(cq->threshold, kUnits / 8);
    EXPECT_EQ(cache_qos_default_threshold(cq.get()), u64{10} * kScale);
    EXPECT_EQ(cache_qos_set_threshold(cq.get(), u64{81} * kScale), -EINVAL);
    EXPECT_EQ(cache_qos_set_threshold(cq.get(), u64{80} * kScale), 0);
    EXPECT_EQ(cq->threshold, 80u);
}

TEST_F(CacheQos, R22_limbo_pass_returns_number_of_freed_rmids)
{
    start();
    auto t = task();
    const u16 m = make(), n = make();
    ASSERT_EQ(watch(t, m), 0);
    ASSERT_EQ(watch(t, n), 0);
    cache_qos_monitor_end(cq.get(), m, now);
    cache_qos_monitor_end(cq.get(), n, now);
    ASSERT_EQ(cq->nr_atoms[CACHE_QOS_LIMBO], 2u);
    cache_qos_carried(cq.get(), now);
    now += 1;
    for (u32 d = 0; d < kCpus; d++)
        for (u32 rmid = 0; rmid < cq->hw.nr_rmid; rmid++)
            read(d, rmid);
    // After cache_qos_yield() other software uses the registers, so the driver does not trust
    // readings.
    cache_qos_yield(cq.get(), true);
    EXPECT_EQ(end_limbo(cq.get(), now), 0u);
    EXPECT_EQ(cq->nr_atoms[CACHE_QOS_LIMBO], 2u);
    cq->yielded = false;
    EXPECT_EQ(end_limbo(cq.get(), now), 2u);
    EXPECT_EQ(end_limbo(cq.get(), now), 0u);
}

TEST_F(CacheQos, R22_only_rmids_in_limbo_are_freed_or_reported_as_dirty)
{
    static u32 dirty, freed;
    dirty = freed = 0;
    start();
    auto t = task();
    const u16 m = make();
    ASSERT_EQ(watch(t, m), 0);
    const u32 rmid = run(0, &t);
    counters[0][rmid][0] = 2 * cq->threshold;
    cq->notify = [](cache_qos *, cache_qos_rmid_event event, u32) {
        dirty += event == CACHE_QOS_RMID_EVENT_DIRTY;
        freed += event == CACHE_QOS_RMID_EVENT_FREE;
    };
    pass();
    pass();
    EXPECT_EQ(dirty, 0u);
    EXPECT_EQ(freed, 0u);

    cache_qos_monitor_end(cq.get(), m, now);
    run(0, nullptr);
    pass();
    EXPECT_EQ(dirty, 1u);
    EXPECT_EQ(freed, 0u);
}

// An RMID without lines must not be freed before its bandwidth counters are read, because its last
// traffic would be lost.
TEST_F(CacheQos, R22_R30_limbo_lasts_until_bandwidth_is_read)
{
    start();
    auto t = task();
    const u16 g = group();
    ASSERT_EQ(monitor(g), 0);
    cache_qos_task_move(cq.get(), &t, g);
    const u16 m = make();
    ASSERT_EQ(watch(t, m), 0);
    const u32 rmid = run(0, &t);
    pass();
    counters[0][rmid] = {0, 12, 12};
    cache_qos_monitor_end(cq.get(), m, now);
    now += 1;
    run(0, nullptr);
    ASSERT_EQ(cq->atoms[rmid].state, CACHE_QOS_LIMBO);
    cache_qos_carried(cq.get(), now);
    for (const u8 bad : {CACHE_QOS_READ_ERROR, CACHE_QOS_READ_STOLEN}) {
        now += 1'000'000;
        for (u32 d = 0; d < kCpus; d++) {
            cache_qos_sample s = {};
            s.status[CACHE_QOS_LOCAL] = bad;
            s.data[CACHE_QOS_OCCUPANCY] = 0;
            s.data[CACHE_QOS_TOTAL] = counters[d][rmid][1];
            s.status[CACHE_QOS_OCCUPANCY] = s.status[CACHE_QOS_TOTAL] = CACHE_QOS_READ_OK;
            fold_reading(cq.get(), static_cast<u16>(d), rmid, s, now);
        }
        end_limbo(cq.get(), now);
        EXPECT_EQ(cq->atoms[rmid].state, CACHE_QOS_LIMBO);
    }
    pass();
    EXPECT_EQ(cq->atoms[rmid].state, CACHE_QOS_FREE);
    pass();
    EXPECT_EQ(value(of(g), kLocal), 12u);
    EXPECT_EQ(value(CACHE_QOS_MACHINE, kLocal), 12u);
}

TEST_F(CacheQos, R24_rmid_stays_with_remaining_monitors)
{
    start();
    auto t = task();
    const u16 m = make(), n = make();
    ASSERT_EQ(watch(t, m), 0);
    ASSERT_EQ(watch(t, n), 0);
    const u32 both = run(0, &t);
    // An RMID for the monitors {m}, and one for {m, n}.
    EXPECT_EQ(cq->nr_atoms[CACHE_QOS_USED], 2u);
    cache_qos_monitor_end(cq.get(), m, now);
    EXPECT_EQ(cq->nr_atoms[CACHE_QOS_USED], 1u);
    EXPECT_EQ(run(0, &t), both);
    // If the remaining monitors already have an RMID, one of the two RMIDs is retired.
    auto u = task();
    const u16 o = make();
    ASSERT_EQ(watch(u, n), 0);
    ASSERT_EQ(watch(u, o), 0);
    EXPECT_EQ(cq->nr_atoms[CACHE_QOS_USED], 2u);
    cache_qos_monitor_end(cq.get(), o, now);
    EXPECT_EQ(cq->nr_atoms[CACHE_QOS_USED], 1u);
}

TEST_F(CacheQos, R29_occupancy_sum_omits_offline_domain)
{
    start();
    auto t = task();
    const u16 m = make();
    ASSERT_EQ(watch(t, m), 0);
    for (u32 cpu : {0u, 1u}) {
        run(cpu, &t);
        fill(cpu, 100);
    }
    pass();
    EXPECT_EQ(value(m), 200u);
    EXPECT_EQ(value(m, kOccupancy, 1), 100u);
    current_cpu = 1;
    cache_qos_cpu_offline(cq.get(), 1);
    EXPECT_EQ(value(m), 100u);
    // In contrast to occupancy, a bandwidth sum never decreases.
    EXPECT_EQ(value(m, kTotal), 200u);
    EXPECT_EQ(value(m, kOccupancy, 1), 0u);
    EXPECT_EQ(last_error, -ENODATA);
    EXPECT_EQ(cache_qos_cache_bytes(cq.get(), CACHE_QOS_ALL), u64{kUnits} * kScale);
    ASSERT_EQ(cache_qos_cpu_online(cq.get(), 1, 1), 0);
    // No RMID is free until it is read in the domain that is online again.
    EXPECT_EQ(cq->nr_atoms[CACHE_QOS_FREE], 0u);
    pass();
    EXPECT_EQ(cq->nr_atoms[CACHE_QOS_FREE], 6u);
    EXPECT_EQ(value(m), 200u);
    EXPECT_EQ(last.bound, 100u * kScale);
}

TEST_F(CacheQos, R30_counts_across_wraps)
{
    for (u32 width : {24u, 32u, 44u, 62u}) {
        start(3, width);
        cq->hw.wrap_ns = ~0ULL;
        for (u32 rmid = 1; rmid < cq->hw.nr_rmid; rmid++)
            counters[0][rmid] = {0, (1ULL << width) - 3, (1ULL << width) - 7};
        pass();
        pass();
        auto t = task();
        const u16 m = make();
        ASSERT_EQ(watch(t, m), 0);
        run(0, &t);
        std::mt19937_64 random(width);
        u64 total = 0, local = 0;
        for (int i = 0; i < 40; i++) {
            const u64 step = random() & ((1ULL << width) - 1), part = step / 3;
            auto &c = counters[0][static_cast<u32>(pqr[0])];
            c[1] += step;
            c[2] += part;
            total += step;
            local += part;
            pass();
            EXPECT_EQ(value(m, kTotal), total);
            EXPECT_EQ(value(m, kLocal), local);
            EXPECT_EQ(value(m, kRemote), total - local);
        }
        EXPECT_EQ(value(CACHE_QOS_MACHINE, kTotal), total);
    }
}

// The driver reads the two counters one after the other. Traffic between the two reads must not add
// up as remote traffic.
TEST_F(CacheQos, R30_R38_skew_between_total_and_local_reads_does_not_accumulate)
{
    start();
    auto t = task();
    const u16 m = make();
    ASSERT_EQ(watch(t, m), 0);
    run(0, &t);
    auto &c = counters[0][static_cast<u32>(pqr[0])];
    for (u64 i = 1; i <= 100; i++) {
        c[2] = i * 50;
        c[1] = i * 50 + i % 4;
        pass();
        EXPECT_LE(value(m, kLocal), value(m, kTotal));
        EXPECT_LE(value(m, kRemote), 3u);
    }
    c[1] = c[2] += 10;
    c[1] += 20;
    pass();
    EXPECT_EQ(value(m, kRemote), 20u);
}

// If a pass is late, a counter may have wrapped more than once since the last pass. The counted
// difference is then a lower bound.
TEST_F(CacheQos, R30_late_pass_reports_lower_bound)
{
    start();
    auto t = task();
    const u16 m = make();
    ASSERT_EQ(watch(t, m), 0);
    run(0, &t);
    pass();
    fill(0, 100);
    now += cq->hw.wrap_ns;
    pass();
    EXPECT_EQ(value(m, kTotal), 100u);
    EXPECT_TRUE(last.status & PMUKIT_CACHE_QOS_S_UNCERTAIN);
    EXPECT_GT(cache_qos_count_reads(cq.get()).uncertain, 0u);
    fill(0, 100);
    pass();
    EXPECT_EQ(value(m, kTotal), 200u);
    EXPECT_TRUE(last.status & PMUKIT_CACHE_QOS_S_UNCERTAIN);
}

TEST_F(CacheQos, R30_unavailable_counter_never_overcounts)
{
    for (bool restarts : {false, true}) {
        start();
        cq->hw.restarts = restarts;
        auto t = task();
        const u16 m = make();
        ASSERT_EQ(watch(t, m), 0);
        const u32 rmid = run(0, &t);
        counters[0][rmid] = {0, 1000, 0};
        cells[0][rmid].last[0] = 1000;
        status = CACHE_QOS_READ_UNAVAILABLE;
        pass();
        EXPECT_EQ(value(m, kTotal), 0u);
        EXPECT_TRUE(last.status & PMUKIT_CACHE_QOS_S_UNAVAILABLE);
        status = CACHE_QOS_READ_OK;
        counters[0][rmid][1] = 600;  // the counter restarted
        pass();
        EXPECT_EQ(value(m, kTotal), 600u);
        EXPECT_TRUE(last.status & PMUKIT_CACHE_QOS_S_GAP);
        EXPECT_FALSE(last.status & PMUKIT_CACHE_QOS_S_UNAVAILABLE);
    }
}

TEST_F(CacheQos, R30_counts_difference_if_unavailable_counter_continued)
{
    start();
    auto t = task();
    const u16 m = make();
    ASSERT_EQ(watch(t, m), 0);
    const u32 rmid = run(0, &t);
    cells[0][rmid].last[0] = counters[0][rmid][1] = 1000;
    status = CACHE_QOS_READ_UNAVAILABLE;
    pass();
    status = CACHE_QOS_READ_OK;
    counters[0][rmid][1] = 1100;
    pass();
    EXPECT_EQ(value(m, kTotal), 100u);
}

TEST_F(CacheQos, R31_impossible_occupancy_is_capped_and_counted_as_violation)
{
    start();
    auto t = task();
    const u16 m = make();
    ASSERT_EQ(watch(t, m), 0);
    run(0, &t);
    fill(0, 1ULL << 50);
    pass();
    EXPECT_EQ(value(m), kUnits + 1);
    EXPECT_GT(cq->domains[0].violations, 0u);
    const u64 before = cq->domains[0].violations;
    counters[0][1][0] = kUnits;
    pass();
    cache_qos_check_domain(cq.get(), 0);
    EXPECT_EQ(cq->domains[0].violations, before);
    counters[0][0][0] = 2;
    pass();
    cache_qos_check_domain(cq.get(), 0);
    EXPECT_EQ(cq->domains[0].violations, before + 1);
}

TEST_F(CacheQos, R31_sum_above_cache_size_is_no_violation_if_lines_moved_during_pass)
{
    start();
    counters[0][1] = {kUnits, kUnits, 0};
    pass();
    cache_qos_check_domain(cq.get(), 0);
    // Lines move from RMID 1 to RMID 0 after RMID 1 was read, so they are counted twice.
    counters[0][0] = {10, 10, 0};
    pass();
    cache_qos_check_domain(cq.get(), 0);
    EXPECT_EQ(cq->domains[0].violations, 0u);
    // Although lines were counted twice, no sum exceeds the size of the cache.
    EXPECT_EQ(value(CACHE_QOS_MACHINE), kUnits + 1);
    counters[1][0] = {7, 7, 0};
    pass();
    EXPECT_EQ(value(CACHE_QOS_MACHINE), kUnits + 1 + 7);
    counters[0][0][0] = 0;
    pass();
    EXPECT_EQ(value(CACHE_QOS_MACHINE), kUnits + 7);
    counters[0][0][0] = 10;
    pass();
    status = CACHE_QOS_READ_ERROR;
    pass();
    cache_qos_check_domain(cq.get(), 0);
    EXPECT_EQ(cq->domains[0].violations, 0u);
    status = CACHE_QOS_READ_OK;
    pass();
    cache_qos_check_domain(cq.get(), 0);
    EXPECT_EQ(cq->domains[0].violations, 1u);
}

// If the processor has fewer counters than RMIDs, reading the bandwidth of one RMID may take the
// counter from another RMID. So the driver must read bandwidth only of RMIDs that need it.
TEST_F(CacheQos, R30_only_rmids_in_use_are_read_for_bandwidth_if_counters_are_scarce)
{
    start();
    cq->hw.restarts = true;
    auto one = task(), both = task();
    const u16 m = make(), n = make();
    ASSERT_EQ(watch(one, m), 0);
    ASSERT_EQ(watch(both, m), 0);
    ASSERT_EQ(watch(both, n), 0);
    const u32 rmid = run(0, &both);
    EXPECT_EQ(cache_qos_events_wanted(cq.get(), 0, 0), cq->hw.events);
    EXPECT_EQ(cache_qos_events_wanted(cq.get(), 0, rmid), cq->hw.events);
    EXPECT_EQ(cache_qos_events_wanted(cq.get(), 0, cq->first_free), 1u);
    fill(0, 10);
    cq->threshold = 0;

    // The RMID in limbo still counts for monitor m. It is read as long as a CPU carries it, and
    // once after that.
    now += 1;
    cache_qos_monitor_end(cq.get(), n, now);
    EXPECT_EQ(cq->atoms[rmid].state, CACHE_QOS_LIMBO);
    EXPECT_EQ(cache_qos_events_wanted(cq.get(), 0, rmid), cq->hw.events);
    run(0, nullptr);
    EXPECT_EQ(cache_qos_events_wanted(cq.get(), 0, rmid), cq->hw.events);
    pass();
    EXPECT_EQ(cache_qos_events_wanted(cq.get(), 0, rmid), 1u);
    EXPECT_EQ(value(m, kTotal), 10u);
    counters[0][rmid][0] = 0;
    pass();
    EXPECT_EQ(cq->atoms[rmid].state, CACHE_QOS_FREE);
    EXPECT_EQ(value(m, kTotal), 10u);
}

TEST_F(CacheQos, R36_sum_fails_only_if_reads_of_all_domains_fail)
{
    start();
    auto t = task();
    const u16 m = make();
    ASSERT_EQ(watch(t, m), 0);
    for (u32 cpu : {0u, 1u}) {
        run(cpu, &t);
        fill(cpu, 100);
    }
    pass();
    status = CACHE_QOS_READ_ERROR;
    now++;
    for (u32 rmid = 0; rmid < cq->hw.nr_rmid; rmid++)
        read(1, rmid);
    // The value of the last successful reading.
    EXPECT_EQ(value(m), 200u);
    EXPECT_EQ(last_error, 0);
    EXPECT_TRUE(last.status & PMUKIT_CACHE_QOS_S_ERROR);
    for (u32 rmid = 0; rmid < cq->hw.nr_rmid; rmid++)
        read(0, rmid);
    value(m);
    EXPECT_EQ(last_error, -EIO);
    status = CACHE_QOS_READ_UNAVAILABLE;
    pass();
    value(m);
    EXPECT_EQ(last_error, -ENODATA);
}

TEST_F(CacheQos, R33_every_pass_reads_used_limbo_and_next_free_rmids)
{
    start();
    auto t = task();
    const u16 m = make(), other = make();
    ASSERT_EQ(watch(t, m), 0);
    const u32 used = run(0, &t);
    auto u = task();
    ASSERT_EQ(watch(u, other), 0);
    const u32 limbo = run(1, &u);
    fill(1, 500);
    run(1, nullptr);
    cache_qos_monitor_end(cq.get(), other, now);
    counters[1][7][0] = 1;
    pass();
    ASSERT_EQ(atoms[limbo].state, CACHE_QOS_LIMBO);
    u32 now_and_then = 0;
    for (u32 number = 0; number < 1000; number++) {
        for (u32 rmid : {0u, used, limbo, u32{cq->first_free}})
            EXPECT_TRUE(cache_qos_wanted(cq.get(), 0, rmid, number)) << rmid;
        EXPECT_TRUE(cache_qos_wanted(cq.get(), 1, 7, number));
        now_and_then += cache_qos_wanted(cq.get(), 0, 6, number);
    }
    EXPECT_GT(now_and_then, 0u);
    EXPECT_LT(now_and_then, 500u);
}

TEST_F(CacheQos, R35_age_of_sum_is_that_of_oldest_reading)
{
    start();
    auto t = task();
    const u16 m = make();
    ASSERT_EQ(watch(t, m), 0);
    for (u32 cpu : {0u, 1u}) {
        run(cpu, &t);
        fill(cpu, 10);
    }
    pass();
    now += 5'000;
    read(0, static_cast<u32>(pqr[0]));
    now += 70;
    value(m);
    EXPECT_EQ(last.age_ns, 5'070u);
    value(m, kTotal, 0);
    EXPECT_EQ(last.age_ns, 70u);
    value(m, kOccupancy, 1);
    EXPECT_EQ(last.age_ns, 5'070u);
}

TEST_F(CacheQos, R48_failed_read_preserves_last_value)
{
    start();
    auto t = task();
    const u16 m = make();
    ASSERT_EQ(watch(t, m), 0);
    const u32 rmid = run(0, &t);
    fill(0, 100);
    pass();
    ASSERT_EQ(value(m), 100u);
    fill(0, 50);
    const u64 unavailable = cache_qos_count_reads(cq.get()).unavailable,
              errors = cache_qos_count_reads(cq.get()).errors;
    status = CACHE_QOS_READ_UNAVAILABLE;
    read(0, rmid);
    EXPECT_EQ(value(m), 100u);
    EXPECT_TRUE(last.status & PMUKIT_CACHE_QOS_S_UNAVAILABLE);
    EXPECT_EQ(cache_qos_count_reads(cq.get()).unavailable, unavailable + 3);
    status = CACHE_QOS_READ_ERROR;
    read(0, rmid);
    EXPECT_EQ(value(m), 100u);
    EXPECT_EQ(value(m, kTotal), 100u);
    EXPECT_TRUE(last.status & PMUKIT_CACHE_QOS_S_ERROR);
    EXPECT_EQ(cache_qos_count_reads(cq.get()).errors, errors + 3);
    status = CACHE_QOS_READ_STOLEN;
    read(0, rmid);
    EXPECT_EQ(value(m), 100u);
    EXPECT_EQ(cache_qos_count_reads(cq.get()).stolen, 3u);
    status = CACHE_QOS_READ_OK;
    pass();
    EXPECT_EQ(value(m), 150u);
    EXPECT_EQ(last.status & (PMUKIT_CACHE_QOS_S_UNAVAILABLE | PMUKIT_CACHE_QOS_S_ERROR), 0u);
}

TEST_F(CacheQos, R05_R66_supports_every_combination_of_events)
{
    for (u32 events = 1; events < 8; events++) {
        start(7, 24, events);
        auto t = task();
        const u16 m = make();
        ASSERT_EQ(watch(t, m), 0);
        run(0, &t);
        fill(0, 100);
        pass();
        const bool remote = (events & 6) == 6;
        const struct {
            pmukit_cache_qos_event event;
            bool there;
            u64 units;
        } all[] = {{kOccupancy, (events & 1) != 0, 100},
                   {kTotal, (events & 2) != 0, 100},
                   {kLocal, (events & 4) != 0, 50},
                   {kRemote, remote, 50}};
        for (const auto &one : all) {
            EXPECT_EQ(cache_qos_event_there(&cq->hw, one.event), one.there);
            EXPECT_EQ(value(m, one.event), one.there ? one.units : 0) << events;
            EXPECT_EQ(last_error, one.there ? 0 : -EOPNOTSUPP) << events;
        }
    }
}

TEST_F(CacheQos, R60_cpu_uses_rmid_of_task_again_after_hotplug)
{
    start();
    auto t = task();
    const u16 m = make();
    ASSERT_EQ(watch(t, m), 0);
    const u32 rmid = run(1, &t);
    fill(1, 100);
    pass();
    for (u32 round = 0; round < 100; round++) {
        current_cpu = 1;
        cache_qos_cpu_offline(cq.get(), 1);
        EXPECT_EQ(pqr[1], 0u);
        EXPECT_EQ(cpus[1].rmid, 0u);
        EXPECT_EQ(cq->domains[1].nr_cpus, 0u);
        // A context switch while the CPU goes offline must not write the register.
        cache_qos_carry(cq.get(), &cpus[1], rmid);
        EXPECT_EQ(pqr[1], 0u);
        pass();
        current_cpu = 1;
        ASSERT_EQ(cache_qos_cpu_online(cq.get(), 1, 1), 0);
        EXPECT_EQ(cq->domains[1].nr_cpus, 1u);
        EXPECT_EQ(run(1, &t), rmid);
        fill(1, 1);
        pass();
    }
    EXPECT_EQ(value(m), 200u);
    EXPECT_LE(value(m, kTotal), 200u);
}

TEST_F(CacheQos, R37_many_tasks_of_one_monitor_use_one_rmid)
{
    start(3);
    const u16 m = make();
    std::vector<cache_qos_task> tasks(100);
    for (auto &t : tasks) {
        t = task();
        ASSERT_EQ(watch(t, m), 0);
        EXPECT_EQ(run(0, &t), 1u);
    }
    EXPECT_EQ(cq->nr_atoms[CACHE_QOS_USED], 1u);
}

TEST_F(CacheQos, R40_refuses_event_without_available_rmid)
{
    start(2);
    auto t = task(), other = task();
    const u16 a = make(), b = make(), c = make();
    ASSERT_EQ(watch(t, a), 0);
    ASSERT_EQ(watch(t, b), 0);
    EXPECT_EQ(watch(other, c), -ENOSPC);
    EXPECT_EQ(other.set, 0);
    cache_qos_monitor_end(cq.get(), a, now);
    EXPECT_EQ(watch(other, c), -EBUSY);
    run(0, nullptr);
    pass();
    EXPECT_EQ(watch(other, c), 0);
}

TEST_F(CacheQos, R20_values_marked_partial_are_never_too_high)
{
    start(2);
    const u16 g = group();
    ASSERT_EQ(monitor(g), 0);
    auto t = task(), inside = task(g);
    const u16 m = make();
    ASSERT_EQ(watch(t, m), 0);
    // Only two RMIDs exist, and the monitors {g, m} would need a third one.
    ASSERT_EQ(watch(inside, m, false), 0);
    const u32 rmid = run(0, &inside);
    EXPECT_EQ(cq->stats.partial, 1u);
    fill(0, 100);
    pass();
    EXPECT_EQ(value(m) + value(of(g)), 100u);
    const u16 missed = rmid == 1 ? m : of(g);
    value(missed);
    EXPECT_TRUE(last.status & PMUKIT_CACHE_QOS_S_PARTIAL);
    EXPECT_EQ(cq->monitors[missed].missed, 1u);
    const u16 counted = rmid == 1 ? of(g) : m;
    value(counted);
    EXPECT_FALSE(last.status & PMUKIT_CACHE_QOS_S_PARTIAL);
    EXPECT_EQ(cq->monitors[counted].missed, 0u);
    // As soon as an RMID is free, values are exact again.
    cache_qos_task_exit(cq.get(), &t);
    const u16 h = group();
    EXPECT_EQ(monitor(h), -ENOSPC);
    ASSERT_EQ(monitor(g, false), 0);
    run(0, nullptr);
    counters[0][rmid][0] = 0;
    pass();
    EXPECT_NE(run(0, &inside), 0u);
}

TEST_F(CacheQos, R46_machine_monitor_counts_all_rmids)
{
    start();
    auto t = task(), unmonitored = task();
    const u16 m = make();
    ASSERT_EQ(watch(t, m), 0);
    run(0, &t);
    fill(0, 100);
    run(0, &unmonitored);
    fill(0, 30);
    pass();
    EXPECT_EQ(value(CACHE_QOS_MACHINE), 130u);
    EXPECT_EQ(last.bound, 0u);
    EXPECT_EQ(value(CACHE_QOS_MACHINE, kTotal), 130u);
    cache_qos_monitor_end(cq.get(), m, now);
    pass();
    EXPECT_EQ(value(CACHE_QOS_MACHINE), 130u);
    EXPECT_EQ(value(CACHE_QOS_MACHINE, kTotal), 130u);
}

TEST_F(CacheQos, R51_parent_includes_subtree)
{
    start();
    const u16 a = group(), b = group(a), c = group(b);
    ASSERT_EQ(monitor(a), 0);
    auto ta = task(a), tb = task(b), tc = task(c);
    run(0, &ta);
    fill(0, 10);
    run(0, &tb);
    fill(0, 20);
    pass();
    EXPECT_EQ(value(of(a)), 30u);
    // Group b is between a and c and is not monitored.
    ASSERT_EQ(monitor(c), 0);
    run(0, &tc);
    fill(0, 40);
    pass();
    EXPECT_EQ(value(of(a)), 70u);
    EXPECT_EQ(value(of(c)), 40u);
    EXPECT_EQ(cache_qos_node_monitored(cq.get(), b), a);
    EXPECT_EQ(cache_qos_node_monitored(cq.get(), c), c);
    ASSERT_EQ(monitor(b), 0);
    run(0, &tb);
    fill(0, 5);
    run(0, &tc);
    fill(0, 3);
    pass();
    EXPECT_EQ(value(of(b)), 8u);
    EXPECT_EQ(value(of(a)), 78u);
}

TEST_F(CacheQos, R52_unmonitored_groups_need_no_rmid)
{
    start(1);
    const u16 a = group();
    ASSERT_EQ(monitor(a), 0);
    auto t = task(a);
    const u32 rmid = run(0, &t);
    for (int i = 0; i < 100; i++) {
        auto inside = task(group(a)), beside = task(group());
        EXPECT_EQ(run(0, &inside), rmid);
        EXPECT_EQ(run(0, &beside), 0u);
    }
}

TEST_F(CacheQos, R49_limits_depth_of_groups)
{
    start();
    u16 node = CACHE_QOS_ROOT;
    for (u32 i = 0; i < CACHE_QOS_MAX_DEPTH; i++)
        node = group(node);
    EXPECT_EQ(cache_qos_node_make(cq.get(), node), -ENAMETOOLONG);
    EXPECT_EQ(monitor(CACHE_QOS_ROOT), -EINVAL);
}

TEST_F(CacheQos, R50_turning_monitor_on_twice_or_off_twice_changes_nothing)
{
    start();
    const u16 a = group();
    EXPECT_EQ(monitor(a, false), 0);
    EXPECT_EQ(of(a), CACHE_QOS_NONE);
    ASSERT_EQ(monitor(a), 0);
    const u16 m = of(a);
    EXPECT_EQ(monitor(a), 0);
    EXPECT_EQ(of(a), m);
    EXPECT_EQ(cq->nr_atoms[CACHE_QOS_USED], 1u);
}

TEST_F(CacheQos, R53_lines_of_removed_group_are_counted_for_parent)
{
    start();
    const u16 a = group(), b = group(a);
    ASSERT_EQ(monitor(a), 0);
    ASSERT_EQ(monitor(b), 0);
    auto t = task(b);
    run(0, &t);
    fill(0, 300);
    pass();
    EXPECT_EQ(cache_qos_node_remove(cq.get(), a, now), -ENOTEMPTY);
    EXPECT_EQ(cache_qos_node_remove(cq.get(), b, now), -EBUSY);
    cache_qos_task_move(cq.get(), &t, a);
    EXPECT_EQ(cache_qos_node_remove(cq.get(), b, now), 0);
    run(0, &t);
    fill(0, 1);
    pass();
    EXPECT_EQ(value(of(a)), 301u);
    EXPECT_EQ(cq->nr_atoms[CACHE_QOS_LIMBO], 1u);
}

TEST_F(CacheQos, R18_child_inherits_group_and_monitors)
{
    start();
    const u16 a = group();
    ASSERT_EQ(monitor(a), 0);
    auto parent = task(a);
    const u16 m = make();
    ASSERT_EQ(watch(parent, m), 0);
    auto child = task(a);
    ASSERT_EQ(cache_qos_task_watch(cq.get(), &child, m, false, now), 0);
    EXPECT_EQ(run(0, &child), run(1, &parent));
    EXPECT_EQ(cq->nodes[a].tasks, 2u);
    cache_qos_task_exit(cq.get(), &parent);
    EXPECT_NE(run(0, &child), 0u);
    cache_qos_task_exit(cq.get(), &child);
    EXPECT_EQ(cq->nodes[a].tasks, 0u);
    EXPECT_EQ(cq->free_sets, CACHE_QOS_MAX_SETS - 2u);  // the group uses one set
}

TEST_F(CacheQos, R57_overlapping_cgroups_tasks_and_groups_are_exact)
{
    start();
    const int a = cache_qos_node_make(cq.get(), CACHE_QOS_NONE);
    const int ab = cache_qos_node_make(cq.get(), CACHE_QOS_NONE);
    auto cgroup = [&](int node) {
        return cache_qos_node_monitor(cq.get(), static_cast<u16>(node), true,
                                      PMUKIT_CACHE_QOS_KIND_CGROUP, now);
    };
    ASSERT_EQ(cgroup(ab), 0);
    ASSERT_EQ(cgroup(a), 0);
    ASSERT_EQ(cache_qos_node_reparent(cq.get(), static_cast<u16>(ab), static_cast<u16>(a)), 0);
    const u16 g = group();
    ASSERT_EQ(monitor(g), 0);
    auto t = task(g);
    const u16 m = make();
    ASSERT_EQ(watch(t, m), 0);
    run(0, &t, static_cast<u16>(ab));
    fill(0, 100);
    run(0, nullptr, static_cast<u16>(a));
    fill(0, 10);
    pass();
    EXPECT_EQ(value(of(static_cast<u16>(a))), 110u);
    EXPECT_EQ(value(of(static_cast<u16>(ab))), 100u);
    EXPECT_EQ(value(m), 100u);
    EXPECT_EQ(value(of(g)), 100u);
    EXPECT_EQ(value(CACHE_QOS_MACHINE), 110u);
}

TEST_F(CacheQos, R19_R46_cpu_monitor_counts_tasks_and_idle)
{
    start();
    const u16 m = make(PMUKIT_CACHE_QOS_KIND_CPU);
    ASSERT_EQ(cache_qos_cpu_watch(cq.get(), 0, m, now), 0);
    auto t = task();
    ASSERT_EQ(watch(t, make()), 0);
    for (u32 cpu : {0u, 1u}) {
        run(cpu, &t);
        fill(cpu, 7);
        run(cpu, nullptr);
        fill(cpu, 100);
    }
    pass();
    EXPECT_EQ(value(m), 107u);
    cache_qos_cpu_unwatch(cq.get(), 0, m);
    EXPECT_EQ(run(0, nullptr), 0u);
}

TEST_F(CacheQos, R07_yield_freezes_values_and_stops_writes)
{
    start();
    auto t = task();
    const u16 m = make();
    ASSERT_EQ(watch(t, m), 0);
    run(0, &t);
    fill(0, 100);
    pass();
    cache_qos_yield(cq.get(), true);
    cache_qos_cpu_release(cq.get(), 0);
    EXPECT_EQ(static_cast<u32>(pqr[0]), 0u);
    const u64 writes = pqr_writes;
    counters[0][1] = {500, 500, 500};
    pass();
    EXPECT_EQ(value(m), 100u);
    EXPECT_TRUE(last.status & PMUKIT_CACHE_QOS_S_YIELDED);
    auto other = task();
    EXPECT_EQ(watch(other, make()), -EBUSY);
    cache_qos_carry(cq.get(), &cpus[0], 1);
    EXPECT_EQ(pqr_writes, writes);

    cache_qos_resume(cq.get());
    current_cpu = 0;
    ASSERT_EQ(cache_qos_cpu_online(cq.get(), 0, 0), 0);
    EXPECT_EQ(cq->domains[0].nr_cpus, 1u);
    EXPECT_EQ(cq->nr_atoms[CACHE_QOS_FREE], 0u);
    pass();
    EXPECT_EQ(value(m), 500u);
    // After the yield, all lines may belong to other software.
    EXPECT_EQ(last.bound, 500u * kScale);
    EXPECT_EQ(value(m, kTotal), 100u);
}

TEST_F(CacheQos, R61_bandwidth_continues_with_gap_after_counter_reset)
{
    start();
    auto t = task();
    const u16 m = make();
    ASSERT_EQ(watch(t, m), 0);
    run(0, &t);
    fill(0, 100);
    pass();
    cache_qos_rebase(cq.get(), 0);
    counters[0][1] = {0, 5, 5};
    pass();
    fill(0, 10);
    pass();
    EXPECT_EQ(value(m, kTotal), 110u);
    EXPECT_TRUE(last.status & PMUKIT_CACHE_QOS_S_GAP);
}

TEST_F(CacheQos, reused_monitor_set_number_resolves_to_new_rmid)
{
    start();
    auto t = task();
    const u16 a = make(), b = make();
    ASSERT_EQ(watch(t, a), 0);
    const u32 first = run(0, &t);
    const u16 old = t.set;
    cache_qos_task_exit(cq.get(), &t);
    auto u = task();
    ASSERT_EQ(watch(u, b), 0);
    EXPECT_EQ(u.set, old);
    EXPECT_NE(run(0, &u), first);
}

TEST_F(CacheQos, groups_can_be_made_after_tasks_use_up_monitor_sets)
{
    start(7);
    std::vector<u16> monitors;
    for (int i = 0; i < 12; i++)
        monitors.push_back(make());
    int refused = 0;
    for (u32 bits = 1; bits < 1u << 12; bits++) {
        auto t = task();
        for (u32 i = 0; i < 12; i++)
            refused += bits >> i & 1 && watch(t, monitors[i], false) == -ENOSPC;
    }
    EXPECT_GT(refused, 0);
    EXPECT_GE(cq->free_sets, static_cast<u32>(CACHE_QOS_MAX_NODES));
    EXPECT_EQ(cache_qos_cpu_watch(cq.get(), 0, monitors[0], now), -ENOSPC);
    EXPECT_EQ(cpus[0].set, 0u);
    for (u32 i = 1; i < CACHE_QOS_MAX_NODES; i++)
        group();
    EXPECT_EQ(cache_qos_node_make(cq.get(), CACHE_QOS_ROOT), -ENOSPC);
}

TEST_F(CacheQos, monitor_allocation_fails_if_all_numbers_are_used)
{
    start();
    for (u32 i = 1; i < CACHE_QOS_MAX_MONITORS; i++)
        ASSERT_EQ(make(), i);
    EXPECT_EQ(cache_qos_monitor_make(cq.get(), PMUKIT_CACHE_QOS_KIND_TASK), -ENOSPC);
    const u16 g = group();
    EXPECT_EQ(monitor(g), -ENOSPC);
    EXPECT_EQ(of(g), CACHE_QOS_NONE);
    cache_qos_monitor_end(cq.get(), 77, now);
    EXPECT_EQ(make(), 77);
}

TEST_F(CacheQos, monitor_numbers_are_allocated_round_robin)
{
    start();
    EXPECT_EQ(make(), 1);
    EXPECT_EQ(make(), 2);
    cache_qos_monitor_end(cq.get(), 1, now);
    for (u32 i = 3; i < CACHE_QOS_MAX_MONITORS; i++) {
        EXPECT_EQ(make(), i);
        cache_qos_monitor_end(cq.get(), static_cast<u16>(i), now);
    }
    EXPECT_EQ(make(), 1);
    // Number 2 is skipped, because it is still in use.
    EXPECT_EQ(make(), 3);
}

TEST_F(CacheQos, group_monitored_again_gets_new_monitor_number)
{
    start();
    const u16 g = group();
    ASSERT_EQ(monitor(g), 0);
    const u16 before = of(g);
    ASSERT_EQ(monitor(g, false), 0);
    ASSERT_EQ(monitor(g), 0);
    EXPECT_NE(of(g), before);
}

}  // namespace
