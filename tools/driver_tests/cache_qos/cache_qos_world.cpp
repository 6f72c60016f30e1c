// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cache_qos_world.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "cache_qos_fold.hpp"

namespace pmukit::kshim {
namespace {

constexpr u64 kMaxBytesPerSecond = 1000000000000;
constexpr u32 kMaxOwners = 1 << 16;
constexpr u32 kAsked = BIT(CACHE_QOS_OCCUPANCY) | BIT(CACHE_QOS_TOTAL) | BIT(CACHE_QOS_LOCAL);
constexpr pmukit_cache_qos_event kBandwidth[] = {
    PMUKIT_CACHE_QOS_EVENT_TOTAL, PMUKIT_CACHE_QOS_EVENT_LOCAL, PMUKIT_CACHE_QOS_EVENT_REMOTE};

MachineShape with_owners(MachineShape shape)
{
    shape.owners = kMaxOwners;
    return shape;
}

std::string number(u64 value)
{
    return std::to_string(value);
}

}  // namespace

World *World::current_;

// The back-end

int World::rdmsr(u32 msr, u64 *value)
{
    return cache_qos_sim_rdmsr(current_->machine_.get(), current_->cpu_, msr, value) ? 0 : -EIO;
}

int World::wrmsr(u32 msr, u64 value)
{
    return cache_qos_sim_wrmsr(current_->machine_.get(), current_->cpu_, msr, value) ? 0 : -EIO;
}

void World::cpuid(unsigned int cpu, u32 leaf, u32 subleaf, u32 regs[4])
{
    if (!current_->recorded_) {
        cache_qos_sim_cpuid(current_->machine_.get(), cpu, leaf, subleaf, regs);
        return;
    }
    const auto found = current_->recorded_->leaves.find({leaf, subleaf});
    const driver_tests::Leaf none{};
    std::ranges::copy(found == current_->recorded_->leaves.end() ? none : found->second, regs);
}

int World::domain_of(unsigned int cpu, pmukit_cache_qos_domain *domain)
{
    *domain = current_->describe(current_->domain_of_cpu(cpu));
    return 0;
}

bool World::claimed()
{
    return false;
}

const pmukit_cache_qos_backend *World::backend() const
{
    static const pmukit_cache_qos_backend kBackend = {
        "sim", nullptr, cpuid, rdmsr, wrmsr, domain_of, claimed,
    };
    return &kBackend;
}

u32 World::domain_of_cpu(u32 cpu) const
{
    const cache_qos_sim_cpu &c = const_cast<Machine &>(machine_).cpu(cpu);
    return c.domain * machine_.nodes() + c.node;
}

const cache_qos_sim_domain &World::l3_of(u32 domain) const
{
    return const_cast<Machine &>(machine_).domain(domain / machine_.nodes());
}

u32 World::counted(u32 domain, u32 rmid) const
{
    return domain % machine_.nodes() * cq_->hw.nr_rmid + rmid;
}

pmukit_cache_qos_domain World::describe(u32 domain)
{
    const u32 nodes = machine_.nodes();
    const cache_qos_sim_domain &l3 = l3_of(domain);
    return {.id = domain,
            .package = l3.package,
            .bytes = cache_qos_sim_domain_bytes(machine_.get(), &l3) / nodes,
            .l3 = l3.id,
            .nodes = nodes,
            .node = domain % nodes};
}

// Records the time when an RMID is freed or allocated. From then on, the lines that the RMID has at
// that time do not count for its earlier monitors.
void World::notify(cache_qos *, cache_qos_rmid_event news, u32 rmid)
{
    World &world = *current_;
    if (news != CACHE_QOS_RMID_EVENT_FREE && news != CACHE_QOS_RMID_EVENT_ALLOC)
        return;
    for (u32 i = 0; i < world.cells_.size(); i++) {
        const cache_qos_sim_domain &l3 = world.l3_of(i);
        const u32 lines = l3.rmids[world.counted(i, rmid)].lines;
        world.given_up_[i / world.machine_.nodes()][world.counted(i, rmid)] = l3.clock;
        if (news == CACHE_QOS_RMID_EVENT_FREE && world.cpu_of_domain(i) &&
            world.cq_->threshold > 0 && !world.cq_->atoms[rmid].soiled)
            world.expect(lines < world.cq_->threshold, [&] {
                return "R-22: RMID " + number(rmid) + " is free with " + number(lines) + " lines";
            });
    }
}

// Setup

World::World(const MachineShape &shape, const driver_tests::Recorded *is)
    : machine_(with_owners(shape)), recorded_(is), cq_(std::make_unique<cache_qos>())
{
    current_ = this;
    const u32 nr_rmids = machine_.nr_rmids();
    cpus_.resize(shape.cpus);
    cells_.resize(shape.domains * shape.nodes);
    given_up_.assign(shape.domains, std::vector<u64>(nr_rmids));
    atoms_.resize(nr_rmids);
    for (u32 i = 0; i < shape.cpus; i++) {
        cpus_[i].driver.cpu = i;
        driver_cpus_.push_back(&cpus_[i].driver);
    }
    monitors_.push_back({CACHE_QOS_MACHINE, true, {}});
    groups_.push_back({CACHE_QOS_ROOT, kNone, kMachine, true});
    members_of_owner_.emplace_back();
    read_hardware();
    make_domains();
    for (u32 i = 0; i < shape.cpus; i++)
        cpu_online(i, true);
    cq_->notify = notify;
    pass();
    pass();
}

World::~World()
{
    current_ = nullptr;
}

void World::read_hardware()
{
    cache_qos_hw all{}, one{};
    int error = 0;
    for (u32 i = 0; i < cpus_.size(); i++) {
        on(i);
        cache_qos_hw *hw = i ? &one : &all;
        const u32 asked = recorded_ && recorded_->asked ? kAsked : 0;
        const char *why = cache_qos_hw_read(backend(), i, asked, hw, &error);
        if (!why)
            why = cache_qos_hw_divide(backend(), machine_.nodes(), hw);
        if (!why && i)
            why = cache_qos_hw_join(&all, &one);
        if (why)
            throw std::runtime_error(why);
    }
    cache_qos_hw_finish(&all, kMaxBytesPerSecond);
    cache_qos_init(cq_.get(), backend(), &all, atoms_.data(), driver_cpus_.data(),
                   static_cast<unsigned int>(driver_cpus_.size()));
}

void World::make_domains()
{
    for (u32 i = 0; i < cells_.size(); i++) {
        const pmukit_cache_qos_domain is = describe(i);
        cells_[i].resize(machine_.nr_rmids());
        banked_.emplace_back(CACHE_QOS_MAX_MONITORS);
        const int index = cache_qos_domain_add(cq_.get(), &is, cells_[i].data(), banked_[i].data());
        if (index != static_cast<int>(i))
            throw std::runtime_error("a domain was refused");
    }
}

// Truth

World::Members World::members_on(u32 cpu) const
{
    const Cpu &c = cpus_[cpu];
    Members members = c.own;
    members.insert(kMachine);
    if (c.task == kIdle)
        return members;
    const Task &task = tasks_[c.task];
    members.insert(task.own.begin(), task.own.end());
    for (u32 group = task.group; group != kNone; group = groups_[group].parent)
        if (groups_[group].monitor != kNone)
            members.insert(groups_[group].monitor);
    for (u32 cgroup = task.cgroup; cgroup != kNone; cgroup = cgroups_[cgroup].parent)
        if (cgroups_[cgroup].monitor != kNone)
            members.insert(cgroups_[cgroup].monitor);
    // A monitor that waits for its turn counts nothing.
    std::erase_if(members, [this](u32 monitor) {
        return cache_qos_has(&cq_->waiting, monitors_[monitor].number);
    });
    return members;
}

u32 World::owner_of(u32 cpu)
{
    const auto [at, is_new] =
        owners_.emplace(members_on(cpu), static_cast<u32>(members_of_owner_.size()));
    if (is_new) {
        if (members_of_owner_.size() == kMaxOwners)
            throw std::runtime_error("all owners are in use");
        members_of_owner_.push_back(at->first);
    }
    return at->second;
}

Truth World::truth(u32 monitor, std::optional<u32> domain) const
{
    Truth truth;
    for (u32 owner = 1; owner < members_of_owner_.size(); owner++) {
        if (!members_of_owner_[owner].contains(monitor))
            continue;
        const cache_qos_sim_owner &counted = const_cast<Machine &>(machine_).owner(owner);
        truth.units[0] += counted.units[0];
        truth.units[1] += counted.units[1];
    }
    for (u32 i = 0; i < given_up_.size(); i++) {
        const cache_qos_sim_domain &l3 = const_cast<Machine &>(machine_).domain(i);
        for (u32 at = 0; at < l3.nr_lines; at++) {
            const cache_qos_sim_line &line = l3.lines[at];
            const u32 of = i * machine_.nodes() + line.rmid / cq_->hw.nr_rmid % machine_.nodes();
            if (!line.valid || !members_of_owner_[line.owner].contains(monitor) ||
                (domain ? *domain != of : !cpu_of_domain(of)))
                continue;
            truth.lines++;
            truth.lost += monitor != kMachine && line.filled <= given_up_[i][line.rmid];
        }
    }
    return truth;
}

// Programs

void World::run(u64 ns)
{
    for (u32 i = 0; i < cpus_.size(); i++) {
        if (!cpus_[i].online || cpus_[i].task == kIdle)
            continue;
        Task &task = tasks_[cpus_[i].task];
        cache_qos_sim_stream stream{};
        stream.base = u64{cpus_[i].task + 1} << 32;
        stream.lines = task.lines;
        stream.bytes_per_s = task.bytes_per_s;
        stream.owner = owner_of(i);
        stream.home = 0;
        stream.at = task.at;
        stream.owed = task.owed;
        cache_qos_sim_run(machine_.get(), i, &stream, ns);
        task.at = stream.at;
        task.owed = stream.owed;
    }
    now_ns_ += ns;
}

void World::burst(u32 cpu, u64 units)
{
    const u32 rmid = counted(domain_of_cpu(cpu), static_cast<u32>(machine_.cpu(cpu).pqr));
    cache_qos_sim_rmid &counts = machine_.domain(machine_.cpu(cpu).domain).rmids[rmid];
    cache_qos_sim_owner &counted = machine_.owner(owner_of(cpu));
    for (u32 kind = 0; kind < 2; kind++) {
        counts.traffic[kind].truth += units;
        counted.units[kind] += units;
    }
}

u32 World::new_task(u64 lines, u64 bytes_per_s)
{
    Task task;
    task.alive = true;
    task.lines = lines;
    task.bytes_per_s = bytes_per_s;
    tasks_.push_back(task);
    cache_qos_task_init(cq_.get(), &tasks_.back().tracked);
    return static_cast<u32>(tasks_.size() - 1);
}

// Tracks a task as the driver does: in its group, and watched by its monitors.
void World::track(Task &task)
{
    cache_qos_task_init(cq_.get(), &task.tracked);
    cache_qos_task_move(cq_.get(), &task.tracked, groups_[task.group].node);
    for (u32 monitor : task.own) {
        const int result = cache_qos_task_watch(cq_.get(), &task.tracked, monitors_[monitor].number,
                                                false, now_ns_);
        expect(result == 0, [&] { return "a child is not watched: " + std::to_string(result); });
    }
}

u32 World::fork(u32 parent)
{
    Task child = tasks_[parent];
    child.at = child.owed = 0;
    tasks_.push_back(child);
    track(tasks_.back());
    return static_cast<u32>(tasks_.size() - 1);
}

void World::exit(u32 task)
{
    for (u32 i = 0; i < cpus_.size(); i++)
        if (cpus_[i].task == task)
            switch_to(i, kIdle);
    cache_qos_task_exit(cq_.get(), &tasks_[task].tracked);
    tasks_[task].alive = false;
}

// The scheduler

u32 World::nearest_watched(u32 cgroup) const
{
    while (cgroup != kNone && cgroups_[cgroup].node == CACHE_QOS_NONE)
        cgroup = cgroups_[cgroup].parent;
    return cgroup;
}

u16 World::watched_node_of(u32 cgroup) const
{
    const u32 watched = nearest_watched(cgroup);
    return watched == kNone ? u16{CACHE_QOS_NONE} : cgroups_[watched].node;
}

// Passes every second unmonitored task to the driver as nullptr, that is, as an untracked task. The
// result must be the same as for a tracked one.
void World::resolve(u32 cpu)
{
    Cpu &c = cpus_[cpu];
    if (!c.online)
        return;
    on(cpu);
    cache_qos_task *task = c.task == kIdle ? nullptr : &tasks_[c.task].tracked;
    const u16 cgroup = task ? watched_node_of(tasks_[c.task].cgroup) : u16{CACHE_QOS_NONE};
    if (task && c.task % 2 && cache_qos_task_is_unmonitored(cq_.get(), task))
        task = nullptr;
    u32 rmid = cache_qos_resolve(cq_.get(), &c.driver, task, cgroup);
    if (rmid == CACHE_QOS_MISS)
        rmid = cache_qos_resolve_slow(cq_.get(), &c.driver, task, cgroup, now_ns_);
    const u32 before = static_cast<u32>(machine_.cpu(cpu).pqr);
    cache_qos_carry(cq_.get(), &c.driver, rmid);
    const u32 after = static_cast<u32>(machine_.cpu(cpu).pqr);
    c.changes += before != after;
    expect(after == rmid, [&] {
        return "CPU " + number(cpu) + " carries " + number(after) + ", not " + number(rmid);
    });
    expect(machine_.cpu(cpu).pqr >> 32 == c.closid,
           [&] { return "R-09: the CLOSID of CPU " + number(cpu) + " is gone"; });
    expect(machine_.cpu(cpu).pqr_writes == c.changes, [&] {
        return "R-15: " + number(machine_.cpu(cpu).pqr_writes) + " writes for " +
               number(c.changes) + " changes of the RMID of CPU " + number(cpu);
    });
}

void World::resolve_all()
{
    for (u32 i = 0; i < cpus_.size(); i++)
        resolve(i);
}

void World::switch_to(u32 cpu, u32 task)
{
    cpus_[cpu].task = task;
    resolve(cpu);
}

// Writes the upper half of PQR_ASSOC as tools for cache allocation do: together with the RMID that
// is in the register.
void World::set_closid(u32 cpu, u32 closid)
{
    cpus_[cpu].closid = closid;
    machine_.cpu(cpu).pqr = u64{closid} << 32 | (machine_.cpu(cpu).pqr & 0xffffffff);
}

void World::cpu_online(u32 cpu, bool online)
{
    Cpu &c = cpus_[cpu];
    on(cpu);
    if (online) {
        cache_qos_sim_reset_cpu(machine_.get(), cpu);
        machine_.cpu(cpu).pqr = u64{c.closid} << 32;
        const int result =
            cache_qos_cpu_online(cq_.get(), cpu, static_cast<u16>(domain_of_cpu(cpu)));
        expect(result == 0, [&] { return "a CPU was refused: " + std::to_string(result); });
        c.online = true;
        resolve(cpu);
        return;
    }
    c.task = kIdle;
    resolve(cpu);
    cache_qos_cpu_offline(cq_.get(), cpu);
    c.online = false;
    c.changes = machine_.cpu(cpu).pqr_writes;
}

// Groups

u32 World::begin_monitor(u16 number)
{
    monitors_.push_back({number, true, {}});
    return static_cast<u32>(monitors_.size() - 1);
}

// The driver may return -EBUSY or -ENOSPC only if no RMID is free.
void World::expect_refusal_is_right(int result, const std::string &label)
{
    if (result >= 0)
        return;
    const bool limbo = cq_->nr_atoms[CACHE_QOS_LIMBO] != 0;
    expect(result == (limbo ? -EBUSY : -ENOSPC) && cq_->nr_atoms[CACHE_QOS_FREE] == 0, [&] {
        return "R-40: " + label + ": " + std::to_string(result) + " with " +
               number(cq_->nr_atoms[CACHE_QOS_FREE]) + " free RMIDs, " +
               number(cq_->nr_atoms[CACHE_QOS_LIMBO]) + " in limbo";
    });
}

int World::new_group(u32 parent, u32 *group)
{
    const int node = cache_qos_node_make(cq_.get(), groups_[parent].node);
    if (node < 0)
        return node;
    groups_.push_back({static_cast<u16>(node), parent, kNone, true});
    *group = static_cast<u32>(groups_.size() - 1);
    return 0;
}

int World::monitor_group(u32 group, bool on)
{
    Group &g = groups_[group];
    const int result =
        cache_qos_node_monitor(cq_.get(), g.node, on, PMUKIT_CACHE_QOS_KIND_GROUP, now_ns_);
    expect_refusal_is_right(result, "a group");
    if (result)
        return result;
    if (on && g.monitor == kNone)
        g.monitor = begin_monitor(cq_->nodes[g.node].monitor);
    if (!on && g.monitor != kNone) {
        monitors_[g.monitor].alive = false;
        g.monitor = kNone;
    }
    resolve_all();
    return 0;
}

// Removes a group as rmdir does: its tasks move to the parent group.
int World::remove_group(u32 group)
{
    Group &g = groups_[group];
    for (u32 i = 0; i < groups_.size(); i++)
        if (groups_[i].alive && groups_[i].parent == group)
            return cache_qos_node_remove(cq_.get(), g.node, now_ns_);
    for (u32 i = 0; i < tasks_.size(); i++)
        if (tasks_[i].alive && tasks_[i].group == group)
            move_task(i, g.parent);
    const int result = cache_qos_node_remove(cq_.get(), g.node, now_ns_);
    if (result)
        return result;
    if (g.monitor != kNone)
        monitors_[g.monitor].alive = false;
    g.alive = false;
    resolve_all();
    return 0;
}

void World::move_task(u32 task, u32 group)
{
    tasks_[task].group = group;
    cache_qos_task_move(cq_.get(), &tasks_[task].tracked, groups_[group].node);
    resolve_all();
}

// Cgroups

u32 World::new_cgroup(u32 parent)
{
    cgroups_.push_back({CACHE_QOS_NONE, parent, kNone, true});
    return static_cast<u32>(cgroups_.size() - 1);
}

int World::watch_cgroup(u32 cgroup, bool on)
{
    Group &g = cgroups_[cgroup];
    if (on == (g.node != CACHE_QOS_NONE))
        return 0;
    const u16 above = g.parent == kNone ? u16{CACHE_QOS_NONE} : watched_node_of(g.parent);
    // The watched cgroups below this one. Their nearest watched ancestor becomes this cgroup (`on`)
    // or ceases to be it.
    std::vector<u32> below;
    if (on) {
        const int node = cache_qos_node_make(cq_.get(), above);
        if (node < 0)
            return node;
        const int result = cache_qos_node_watch(cq_.get(), static_cast<u16>(node), false,
                                                cq_->rotate_ns != 0, now_ns_);
        expect_refusal_is_right(result, "a cgroup");
        if (result) {
            expect(cache_qos_node_remove(cq_.get(), static_cast<u16>(node), now_ns_) == 0,
                   [&] { return "a node without anything cannot be removed"; });
            return result;
        }
        g.node = static_cast<u16>(node);
        g.monitor = begin_monitor(cq_->nodes[node].monitor);
    }
    for (u32 i = 0; i < cgroups_.size(); i++)
        if (i != cgroup && cgroups_[i].node != CACHE_QOS_NONE && cgroups_[i].parent != kNone &&
            nearest_watched(cgroups_[i].parent) == cgroup)
            below.push_back(i);
    for (u32 i : below)
        expect(cache_qos_node_reparent(cq_.get(), cgroups_[i].node, on ? g.node : above) == 0,
               [&] { return "a cgroup cannot be put elsewhere"; });
    if (!on) {
        monitors_[g.monitor].alive = false;
        g.monitor = kNone;
        const int result = cache_qos_node_remove(cq_.get(), g.node, now_ns_);
        expect(result == 0, [&] { return "a cgroup's node stays: " + std::to_string(result); });
        g.node = CACHE_QOS_NONE;
    }
    resolve_all();
    return 0;
}

void World::move_to_cgroup(u32 task, u32 cgroup)
{
    tasks_[task].cgroup = cgroup;
    resolve_all();
}

// Monitors of tasks and CPUs

int World::new_monitor(pmukit_cache_qos_kind kind, u32 *monitor)
{
    const int made = cache_qos_monitor_make(cq_.get(), kind);
    if (made < 0)
        return made;
    if (cq_->rotate_ns)
        cache_qos_turns_join(cq_.get(), static_cast<u16>(made));
    *monitor = begin_monitor(static_cast<u16>(made));
    return 0;
}

int World::watch_task(u32 monitor, u32 task)
{
    const int result = cache_qos_task_watch(cq_.get(), &tasks_[task].tracked,
                                            monitors_[monitor].number, true, now_ns_);
    expect_refusal_is_right(result, "a task");
    if (!result)
        tasks_[task].own.insert(monitor);
    resolve_all();
    return result;
}

void World::unwatch_task(u32 monitor, u32 task)
{
    cache_qos_task_exit(cq_.get(), &tasks_[task].tracked);
    tasks_[task].own.erase(monitor);
    track(tasks_[task]);
    resolve_all();
}

int World::watch_cpu(u32 monitor, u32 cpu)
{
    const int result = cache_qos_cpu_watch(cq_.get(), cpu, monitors_[monitor].number, now_ns_);
    expect_refusal_is_right(result, "a CPU");
    if (!result)
        cpus_[cpu].own.insert(monitor);
    resolve_all();
    return result;
}

void World::unwatch_cpu(u32 monitor, u32 cpu)
{
    cache_qos_cpu_unwatch(cq_.get(), cpu, monitors_[monitor].number);
    cpus_[cpu].own.erase(monitor);
    resolve_all();
}

void World::end_monitor(u32 monitor)
{
    for (Task &task : tasks_)
        task.own.erase(monitor);
    for (u32 i = 0; i < cpus_.size(); i++)
        if (cpus_[i].own.erase(monitor))
            cache_qos_cpu_unwatch(cq_.get(), i, monitors_[monitor].number);
    cache_qos_monitor_end(cq_.get(), monitors_[monitor].number, now_ns_);
    monitors_[monitor].alive = false;
    resolve_all();
}

// The sampler

std::optional<u32> World::cpu_of_domain(u32 domain) const
{
    for (u32 i = 0; i < cpus_.size(); i++)
        if (cpus_[i].online && domain_of_cpu(i) == domain)
            return i;
    return {};
}

void World::bind_counters(u16 domain)
{
    cache_qos_counters_scan(cq_.get(), domain);
    cache_qos_counters_release(cq_.get(), domain, false);
    for (u32 rmid = 0; rmid < cq_->hw.nr_rmid; rmid++)
        if (cache_qos_counters_wanted(cq_.get(), domain, rmid))
            cache_qos_counters_bind(cq_.get(), domain, rmid, now_ns_);
}

bool World::read_domain(u16 domain, u32 cpu)
{
    bool good = true;
    on(cpu);
    const u64 evtsel = (now_ns_ % 50) << 32 | 1;
    machine_.cpu(cpu).evtsel = evtsel;
    if (cq_->hw.counters)
        bind_counters(domain);
    for (u32 rmid = 0; rmid < cq_->hw.nr_rmid; rmid++) {
        if (!cache_qos_wanted(cq_.get(), domain, rmid, pass_))
            continue;
        cache_qos_request request{};
        cache_qos_ask(cq_.get(), domain, rmid, &request);
        cache_qos_read_rmids(backend(), &cq_->hw, true, &request, 1);
        for (u8 status : request.sample.status)
            good &= status == CACHE_QOS_READ_OK || status == CACHE_QOS_READ_SKIPPED;
        cache_qos_fold(cq_.get(), domain, &request, now_ns_, true);
    }
    expect(machine_.cpu(cpu).evtsel == evtsel, [&] { return "R-10: QM_EVTSEL was not put back"; });
    cache_qos_check_domain(cq_.get(), domain);
    cache_qos_collect(cq_.get(), domain);
    return good;
}

// The steps of a rotation, as the sampler takes them after a pass
bool World::rotate()
{
    cache_qos *cq = cq_.get();
    if (!cq->rotate_ns)
        return false;
    u32 steps = cache_qos_turns_over(cq, now_ns_);
    for (u32 i = 0; i < steps; i++)
        cache_qos_turns_stop(cq, now_ns_);
    for (; cache_qos_turns_start(cq, CACHE_QOS_NONE, now_ns_); steps++)
        ;
    for (u16 m = 1; m < CACHE_QOS_MAX_MONITORS; m++)
        cache_qos_turn_settle(cq, m);
    return steps;
}

bool World::pass()
{
    bool good = true;
    cache_qos_carried(cq_.get(), now_ns_);
    // Reads must have a later time than cache_qos_carried().
    now_ns_++;
    for (u16 i = 0; i < cells_.size(); i++)
        if (const std::optional<u32> cpu = cpu_of_domain(i))
            good &= read_domain(i, *cpu);
    cache_qos_mark_suspects(cq_.get());
    const bool freed = driver_tests::end_limbo(cq_.get(), now_ns_);
    if (rotate() || freed)
        resolve_all();
    pass_++;
    return good;
}

// Comparisons

std::string World::violations()
{
    return std::exchange(violations_, {});
}

bool World::all_online() const
{
    for (u32 i = 0; i < cells_.size(); i++)
        if (!cpu_of_domain(i))
            return false;
    return true;
}

struct cache_qos_value World::value(u32 monitor, pmukit_cache_qos_event event, u16 domain,
                                    int *error)
{
    struct cache_qos_value value {};
    const int result = cache_qos_monitor_value(cq_.get(), monitors_[monitor].number, event, domain,
                                               now_ns_, &value);
    if (error)
        *error = result;
    return value;
}

// The reported value must be the true number of lines, minus the lost lines, plus the lines that
// other monitors left under the same RMIDs. The number of lines that were left must not exceed the
// reported bound.
void World::compare_occupancy(u32 monitor, u16 domain)
{
    const bool all = domain == CACHE_QOS_ALL;
    if (!all && !cpu_of_domain(domain))
        return;
    int error = 0;
    const struct cache_qos_value v =
        value(monitor, PMUKIT_CACHE_QOS_EVENT_OCCUPANCY, domain, &error);
    const Truth is = truth(monitor, all ? std::nullopt : std::optional<u32>(domain));
    const u64 reported = v.bytes / scale(), bound = v.bound / scale(), kept = is.lines - is.lost;
    const auto label = [&] {
        return "monitor " + number(monitor) + " has " + number(reported) + " lines, of which " +
               number(bound) + " may be another's; the truth is " + number(is.lines) +
               ", without " + number(is.lost) + " lost; status " + number(v.status);
    };
    // A monitor without any RMID has no value. One that waits for its turn may have lines under an
    // RMID that its other monitors keep.
    const bool waits = v.status & PMUKIT_CACHE_QOS_S_UNSETTLED;
    expect(error == 0 || (error == -ENODATA && !reported && (!kept || waits)),
           [&] { return "no value: " + std::to_string(error) + ": " + label(); });
    expect(v.bytes % scale() == 0,
           [&] { return "not a multiple of the unit: " + number(v.bytes); });
    expect(reported <= kept + bound, [&] { return "too much: " + label(); });
    if (!(v.status & PMUKIT_CACHE_QOS_S_PARTIAL))
        expect(reported >= kept, [&] { return "too little: " + label(); });
    // If an L3 is divided into nodes, the lines of one node may be anywhere in the L3, so they can
    // exceed the node's share.
    const u64 parts = all && all_online() ? 1 : machine_.nodes();
    expect(v.bytes <= cache_qos_cache_bytes(cq_.get(), domain) * parts,
           [&] { return "R-31: more than there is: " + label(); });
}

void World::compare_bandwidth(u32 monitor)
{
    const Truth is = truth(monitor);
    for (pmukit_cache_qos_event event : kBandwidth) {
        if (!cache_qos_event_there(&cq_->hw, event))
            continue;
        const struct cache_qos_value v = value(monitor, event);
        const u64 units = event == PMUKIT_CACHE_QOS_EVENT_TOTAL   ? is.units[0]
                          : event == PMUKIT_CACHE_QOS_EVENT_LOCAL ? is.units[1]
                                                                  : is.units[0] - is.units[1];
        const auto label = [&] {
            return "monitor " + number(monitor) + " event " + number(event) + " counted " +
                   number(v.bytes) + " bytes; the truth is " + number(units * scale()) +
                   "; status " + number(v.status);
        };
        u64 &last = monitors_[monitor].last_bytes[event];
        expect(v.bytes >= last, [&] { return "R-31: fell from " + number(last) + ": " + label(); });
        last = v.bytes;
        expect(v.bytes <= units * scale() + bandwidth_slack_bytes,
               [&] { return "too much: " + label(); });
        constexpr u32 kLess =
            PMUKIT_CACHE_QOS_S_PARTIAL | PMUKIT_CACHE_QOS_S_GAP | PMUKIT_CACHE_QOS_S_UNCERTAIN;
        if (!(v.status & kLess) && all_online())
            expect(v.bytes + bandwidth_slack_bytes >= units * scale(),
                   [&] { return "too little: " + label(); });
    }
}

void World::compare()
{
    for (u32 monitor = 0; monitor < monitors_.size(); monitor++) {
        if (!monitors_[monitor].alive)
            continue;
        compare_occupancy(monitor, CACHE_QOS_ALL);
        for (u16 domain = 0; domain < cells_.size(); domain++)
            compare_occupancy(monitor, domain);
        compare_bandwidth(monitor);
    }
    for (u16 domain = 0; domain < cells_.size(); domain++)
        expect(cq_->domains[domain].violations == 0 || had_bad_readings,
               [&] { return "R-31: violations were counted"; });
    u32 atoms = 1;
    for (u32 nr : cq_->nr_atoms)
        atoms += nr;
    expect(atoms == cq_->hw.nr_rmid, [&] { return "R-21: an RMID is in no state or in two"; });
}

void World::conserve()
{
    for (u32 i = 0; i < given_up_.size(); i++) {
        const cache_qos_sim_domain &domain = machine_.domain(i);
        u64 lines = 0;
        for (u32 rmid = 0; rmid < machine_.nr_rmids(); rmid++)
            lines += domain.rmids[rmid].lines;
        expect(lines == domain.valid && lines <= domain.nr_lines,
               [&] { return "RMIDs have " + number(lines) + " lines of " + number(domain.valid); });
    }
    for (u32 i = 0; i < cpus_.size(); i++)
        expect(machine_.cpu(i).gp == 0, [&] { return "#GP on CPU " + number(i); });
}

}  // namespace pmukit::kshim
