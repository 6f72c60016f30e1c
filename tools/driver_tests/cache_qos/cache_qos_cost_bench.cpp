// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Measures costs of the driver's core on a machine with 256 CPUs, 32 L3s and 512 RMIDs. Prints
// lines "bench cache_qos.NAME VALUE us", and fails if a cost exceeds its budget. A cost is the CPU
// time of this thread plus 0.5 us for each MSR access, because the test counts the accesses but
// does not perform them. Each printed cost is the minimum of several rounds.
extern "C" {
#include "cache_qos/cache_qos_core.h"
}

#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace {

constexpr u32 kCpus = 256, kDomains = 32, kRmids = 512, kCgroups = 200, kRounds = 15;
// Number of RMIDs that the sampler handles per step.
constexpr u32 kLimboStep = 16;
constexpr double kAccessUs = 0.5;

std::vector<u64> pqr(kCpus);
u32 current_cpu;
u64 accesses;
u64 moved = 1;

int read_register(u32 msr, u64 *value)
{
    accesses++;
    *value = msr == CACHE_QOS_PQR_ASSOC ? pqr[current_cpu] : moved;
    return 0;
}
int write_register(u32 msr, u64 value)
{
    accesses++;
    if (msr == CACHE_QOS_PQR_ASSOC)
        pqr[current_cpu] = value;
    return 0;
}
const pmukit_cache_qos_backend kBackend = {
    .name = "bench",
    .owner = nullptr,
    .cpuid = nullptr,
    .rdmsr = read_register,
    .wrmsr = write_register,
    .domain_of = nullptr,
    .claimed = nullptr,
};

double thread_us()
{
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

template <typename What>
double cost_us(What what)
{
    const u64 before = accesses;
    const double begin = thread_us();
    what();
    return thread_us() - begin + static_cast<double>(accesses - before) * kAccessUs;
}

class Machine {
public:
    explicit Machine(u32 rmids = kRmids) : atoms_(kRmids), cpus_(kCpus), pointers_(kCpus)
    {
        cache_qos_hw hw = {};
        hw.nr_rmid = rmids;
        hw.scale = 64;
        hw.width = 44;
        hw.events = 7;
        cache_qos_hw_finish(&hw, 1ULL << 40);
        for (u32 i = 0; i < kCpus; i++) {
            cpus_[i].cpu = i;
            pointers_[i] = &cpus_[i];
        }
        cache_qos_init(cq.get(), &kBackend, &hw, atoms_.data(), pointers_.data(), kCpus);
        for (u32 i = 0; i < kDomains; i++) {
            const pmukit_cache_qos_domain is = {
                .id = i, .package = i / 16, .bytes = 32 << 20, .nodes = 1};
            cells_.emplace_back(kRmids);
            banked_.emplace_back(CACHE_QOS_MAX_MONITORS);
            cache_qos_domain_add(cq.get(), &is, cells_.back().data(), banked_.back().data());
        }
        for (current_cpu = 0; current_cpu < kCpus; current_cpu++)
            cache_qos_cpu_online(cq.get(), current_cpu,
                                 static_cast<u16>(current_cpu * kDomains / kCpus));
        current_cpu = 0;
    }

    // Reads one batch of RMIDs, as the driver's reader of a domain does. Returns the first RMID of
    // the next batch.
    u32 read_batch(u16 domain, u32 rmid)
    {
        cache_qos_request requests[CACHE_QOS_MAX_READS];
        u32 nr = 0;
        for (; rmid < cq->hw.nr_rmid && nr < CACHE_QOS_MAX_READS; rmid++)
            if (cache_qos_wanted(cq.get(), domain, rmid, pass_))
                cache_qos_ask(cq.get(), domain, rmid, &requests[nr++]);
        cache_qos_read_rmids(&kBackend, &cq->hw, false, requests, nr);
        for (u32 i = 0; i < nr; i++)
            cache_qos_fold(cq.get(), domain, &requests[i], now_, true);
        return rmid;
    }
    // Returns the cost of reading a domain. @most: the longest time with interrupts off so far; the
    // function updates it.
    double read_domain(u16 domain, double *most)
    {
        double sum = 0;
        for (u32 rmid = 0; rmid < cq->hw.nr_rmid;) {
            const double one = cost_us([&] { rmid = read_batch(domain, rmid); });
            sum += one;
            *most = std::max(*most, one);
        }
        const double check = cost_us([&] { cache_qos_check_domain(cq.get(), domain); });
        *most = std::max(*most, check);
        return sum + check;
    }
    double limbo(double *most)
    {
        double sum = 0;
        for (u32 rmid = 0; rmid < kRmids; rmid += kLimboStep) {
            const double one =
                cost_us([&] { cache_qos_limbo_pass(cq.get(), rmid, kLimboStep, now_); });
            sum += one;
            *most = std::max(*most, one);
        }
        return sum;
    }
    void pass()
    {
        double most = 0;
        cache_qos_carried(cq.get(), now_);
        now_ += 1000000;
        moved++;
        for (u16 d = 0; d < kDomains; d++)
            read_domain(d, &most);
        for (u16 d = 0; d < kDomains; d++)
            cache_qos_collect(cq.get(), d);
        limbo(&most);
        pass_++;
    }
    // Watches @nr cgroups. Each of them gets an RMID, or takes turns.
    void watch_cgroups(u32 nr)
    {
        for (u32 i = 0; i < nr; i++) {
            const int node = cache_qos_node_make(cq.get(), CACHE_QOS_NONE);
            if (node < 0 || cache_qos_node_watch(cq.get(), static_cast<u16>(node), false,
                                                 cq->rotate_ns != 0, now_))
                abort();
            nodes.push_back(static_cast<u16>(node));
        }
    }
    u64 now() const { return now_; }

    std::unique_ptr<cache_qos> cq = std::make_unique<cache_qos>();
    std::vector<u16> nodes;

private:
    std::vector<cache_qos_atom> atoms_;
    std::vector<cache_qos_cpu> cpus_;
    std::vector<cache_qos_cpu *> pointers_;
    std::vector<std::vector<cache_qos_cell>> cells_;
    std::vector<std::vector<cache_qos_sums>> banked_;
    u64 now_ = 1;
    u32 pass_ = 0;
};

bool report(const char *name, double us, double budget_us)
{
    std::printf("bench cache_qos.%s %.1f us\n", name, us);
    if (us <= budget_us)
        return true;
    std::fprintf(stderr, "cache_qos_cost_bench: %s takes %.1f us; the budget is %.0f us\n", name,
                 us, budget_us);
    return false;
}

double publish_us(Machine &machine)
{
    constexpr pmukit_cache_qos_event kEvents[] = {PMUKIT_CACHE_QOS_EVENT_OCCUPANCY,
                                                  PMUKIT_CACHE_QOS_EVENT_TOTAL,
                                                  PMUKIT_CACHE_QOS_EVENT_LOCAL};
    return cost_us([&] {
        struct cache_qos_value value;
        for (u16 node : machine.nodes)
            for (pmukit_cache_qos_event event : kEvents)
                cache_qos_monitor_value(machine.cq.get(), machine.cq->nodes[node].monitor, event,
                                        CACHE_QOS_ALL, machine.now(), &value);
    });
}

// Returns the cost of the longest step of a rotation after a pass. The lock is dropped between two
// steps.
double turn_step_us(Machine &machine)
{
    cache_qos *cq = machine.cq.get();
    u32 over = 0;
    bool started = true;
    double most = cost_us([&] { over = cache_qos_turns_over(cq, machine.now()); });
    for (; over; over--)
        most = std::max(most, cost_us([&] { cache_qos_turns_stop(cq, machine.now()); }));
    while (started)
        most = std::max(most, cost_us([&] {
                            started = cache_qos_turns_start(cq, CACHE_QOS_NONE, machine.now());
                        }));
    for (u16 m = 1; m < CACHE_QOS_MAX_MONITORS; m++)
        most = std::max(most, cost_us([&] { cache_qos_turn_settle(cq, m); }));
    return most;
}

// Half as many RMIDs as monitors
double turns_us()
{
    Machine machine(kRmids / 2);
    machine.cq->rotate_ns = 1;
    machine.pass();
    machine.pass();
    machine.watch_cgroups(CACHE_QOS_MAX_MONITORS - 1);
    turn_step_us(machine);
    double step = 1e9;
    for (u32 round = 0; round < kRounds; round++) {
        machine.pass();
        step = std::min(step, turn_step_us(machine));
    }
    if (machine.cq->stats.turns < kRmids)
        abort();
    return step;
}

}  // namespace

int main()
{
    Machine machine;
    machine.pass();
    machine.pass();
    machine.watch_cgroups(kCgroups);
    machine.pass();

    double batch = 1e9, reader = 1e9, limbo = 1e9, publish = 1e9, machine_sum = 1e9, miss = 1e9;
    for (u32 round = 0; round < kRounds; round++) {
        double most = 0, held = 0;
        reader = std::min(reader, machine.read_domain(round % kDomains, &most));
        batch = std::min(batch, most);
        machine.limbo(&held);
        limbo = std::min(limbo, held);
        publish = std::min(publish, publish_us(machine));
        machine_sum = std::min(machine_sum, cost_us([&] {
                                   struct cache_qos_value value;
                                   cache_qos_monitor_value(machine.cq.get(), CACHE_QOS_MACHINE,
                                                           PMUKIT_CACHE_QOS_EVENT_OCCUPANCY,
                                                           CACHE_QOS_ALL, machine.now(), &value);
                               }));
        miss = std::min(miss, cost_us([&] {
                            cache_qos_resolve_slow(machine.cq.get(), machine.cq->cpus[round],
                                                   nullptr, machine.nodes[round], machine.now());
                        }));
        machine.pass();
    }
    bool good = report("irqs_off", std::max(batch, limbo), 50);
    good &= report("reader_pass", reader, 2000);
    good &= report("turn_step", turns_us(), 50);
    good &= report("publish_200_cgroups", publish, 1000);
    good &= report("machine_value", machine_sum, 50);
    good &= report("switch_miss", miss, 50);
    return good ? 0 : 1;
}
