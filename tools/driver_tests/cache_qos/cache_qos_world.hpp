// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Runs the driver's core on a simulated machine, in scripted order and virtual time. A step makes
// the calls that the scheduler, perf, configfs or the sampler would make. The world records which
// monitors watch which tasks, and derives the expected values: each owner in the machine's
// reference counters represents the set of monitors that must count the lines filled under this
// owner.
#pragma once

extern "C" {
#include "cache_qos/cache_qos_core.h"
}

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cache_qos_machine.hpp"
#include "cache_qos_recorded.hpp"

namespace pmukit::kshim {

// The true values of a monitor, from the lines of the machine and from its reference counters.
struct Truth {
    u64 lines = 0;  // lines filled under the monitor
    u64 lost = 0;   // the part of `lines` whose RMID has been released since
    u64 units[2] = {};
};

class World {
public:
    static constexpr u32 kRoot = 0;  // the root group
    static constexpr u32 kIdle = ~0U;
    static constexpr u32 kNoCgroup = ~0U;

    // CPUID returns the recorded values @is. If @is is nullptr, it returns those of the machine's
    // profile.
    explicit World(const MachineShape &shape, const driver_tests::Recorded *is = nullptr);
    ~World();
    World(const World &) = delete;
    World &operator=(const World &) = delete;

    // Steps. A step that can fail returns the result of the driver.

    // Lets each CPU run its current task for @ns nanoseconds.
    void run(u64 ns);
    // Adds traffic of the CPU's current task. This traffic fills no lines.
    void burst(u32 cpu, u64 units);
    void switch_to(u32 cpu, u32 task);
    u32 new_task(u64 lines, u64 bytes_per_s);
    u32 fork(u32 parent);
    void exit(u32 task);
    int new_group(u32 parent, u32 *group);
    int remove_group(u32 group);
    int monitor_group(u32 group, bool on);
    void move_task(u32 task, u32 group);
    // A cgroup has a node in the driver only while it is watched.
    u32 new_cgroup(u32 parent);
    int watch_cgroup(u32 cgroup, bool on);
    void move_to_cgroup(u32 task, u32 cgroup);
    int new_monitor(pmukit_cache_qos_kind kind, u32 *monitor);
    int watch_task(u32 monitor, u32 task);
    // The task exits, and a new task with the same other monitors takes its place.
    void unwatch_task(u32 monitor, u32 task);
    int watch_cpu(u32 monitor, u32 cpu);
    void unwatch_cpu(u32 monitor, u32 cpu);
    void end_monitor(u32 monitor);
    void cpu_online(u32 cpu, bool online);
    // Begins a turn, as the driver does when an event is opened.
    void start()
    {
        cache_qos_turns_start(cq_.get(), CACHE_QOS_NONE, now_ns_);
        resolve_all();
    }
    // Makes a pass of the sampler over all domains. Returns false if a reading failed.
    bool pass();
    // Another tool writes the upper half of a CPU's PQR_ASSOC.
    void set_closid(u32 cpu, u32 closid);

    // Returns the violations of rules since the last call, one per line.
    std::string violations();
    // Compares the values of all monitors with the truth. Call it directly after a pass.
    void compare();
    // Checks invariants of the machine, which hold at any time.
    void conserve();

    Machine &machine() { return machine_; }
    cache_qos &driver() { return *cq_; }
    u64 now_ns() const { return now_ns_; }
    u64 scale() const { return cq_->hw.scale; }
    // Returns the monitor of a group; for the root group, the monitor of the machine.
    u32 monitor_of_group(u32 group) const { return groups_.at(group).monitor; }
    u32 monitor_of_cgroup(u32 cgroup) const { return cgroups_.at(cgroup).monitor; }
    // Returns the driver's number of a monitor.
    u16 number_of(u32 monitor) const { return monitors_.at(monitor).number; }
    Truth truth(u32 monitor, std::optional<u32> domain = {}) const;
    struct cache_qos_value value(u32 monitor, pmukit_cache_qos_event event,
                                 u16 domain = CACHE_QOS_ALL, int *error = nullptr);
    u64 bytes(u32 monitor, pmukit_cache_qos_event event) { return value(monitor, event).bytes; }
    u32 running(u32 cpu) const { return cpus_.at(cpu).task; }
    bool is_online(u32 cpu) const { return cpus_.at(cpu).online; }
    // Returns how often the RMID of a CPU has changed.
    u64 changes(u32 cpu) const { return cpus_.at(cpu).changes; }
    // Selects the CPU whose registers are accessed.
    void on(u32 cpu) { cpu_ = cpu; }
    const pmukit_cache_qos_backend *backend() const;
    // Tolerance for bandwidth values. It is needed if the driver corrects counts, because it rounds
    // them.
    u64 bandwidth_slack_bytes = 0;
    // True after a failed read. The readings then have different ages, so their sum may exceed the
    // size of the cache.
    bool had_bad_readings = false;

    static constexpr u32 kNone = ~0U;
    static constexpr u32 kMachine = 0;  // number of the monitor of the whole machine

private:
    using Members = std::set<u32>;

    struct Monitor {
        u16 number = 0;  // number of the monitor in the driver
        bool alive = false;
        u64 last_bytes[5] = {};
    };
    struct Group {
        u16 node = CACHE_QOS_NONE;
        u32 parent = kNone;
        u32 monitor = kNone;
        bool alive = false;
    };
    struct Task {
        cache_qos_task tracked{};
        bool alive = false;
        u32 group = kRoot;
        u32 cgroup = kNoCgroup;
        Members own;
        u64 lines = 0, bytes_per_s = 0, at = 0, owed = 0;
    };
    struct Cpu {
        cache_qos_cpu driver{};
        bool online = false;
        u32 task = kIdle;
        Members own;
        u64 changes = 0;
        u32 closid = 0;
    };

    static int rdmsr(u32 msr, u64 *value);
    static int wrmsr(u32 msr, u64 value);
    static void cpuid(unsigned int cpu, u32 leaf, u32 subleaf, u32 regs[4]);
    static int domain_of(unsigned int cpu, pmukit_cache_qos_domain *domain);
    static bool claimed();
    static void notify(cache_qos *cq, cache_qos_rmid_event news, u32 rmid);

    void read_hardware();
    void make_domains();
    void violation(const std::string &what) { violations_ += what + "\n"; }
    template <typename What>
    void expect(bool good, What what)
    {
        if (!good)
            violation(what());
    }
    void expect_refusal_is_right(int result, const std::string &label);

    u32 owner_of(u32 cpu);
    Members members_on(u32 cpu) const;
    void track(Task &task);
    void resolve(u32 cpu);
    void resolve_all();
    u16 watched_node_of(u32 cgroup) const;
    u32 nearest_watched(u32 cgroup) const;
    u32 begin_monitor(u16 number);
    bool read_domain(u16 domain, u32 cpu);
    void bind_counters(u16 domain);
    bool rotate();
    // The driver's domains are the L3s. If the L3s are divided into nodes, its domains are the
    // nodes: first all nodes of the first L3, then those of the second, and so on.
    pmukit_cache_qos_domain describe(u32 domain);
    u32 domain_of_cpu(u32 cpu) const;
    const cache_qos_sim_domain &l3_of(u32 domain) const;
    u32 counted(u32 domain, u32 rmid) const;
    std::optional<u32> cpu_of_domain(u32 domain) const;
    void compare_occupancy(u32 monitor, u16 domain);
    void compare_bandwidth(u32 monitor);
    bool all_online() const;

    static World *current_;

    Machine machine_;
    const driver_tests::Recorded *recorded_;
    std::unique_ptr<cache_qos> cq_;
    std::vector<cache_qos_atom> atoms_;
    std::vector<cache_qos_cpu *> driver_cpus_;
    std::vector<std::vector<cache_qos_cell>> cells_;
    std::vector<std::vector<cache_qos_sums>> banked_;
    // Indexes: L3, RMID. Value: the clock of the L3 when the RMID was last freed or allocated.
    std::vector<std::vector<u64>> given_up_;
    std::vector<Cpu> cpus_;
    std::vector<Monitor> monitors_;
    std::vector<Group> groups_;
    std::vector<Group> cgroups_;
    std::vector<Task> tasks_;
    std::map<Members, u32> owners_;
    std::vector<Members> members_of_owner_;
    std::string violations_;
    u64 now_ns_ = 1;
    u32 cpu_ = 0;
    u32 pass_ = 0;
};

}  // namespace pmukit::kshim
