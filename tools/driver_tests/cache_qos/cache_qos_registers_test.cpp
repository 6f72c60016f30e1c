// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// PQR_ASSOC has several writers: this driver, tools that set classes of service (pqos -a, rdtset),
// tools that monitor (pqos -m, PCM), and resctrl. The test makes random steps, and checks these
// rules after each step:
//
//   The upper half is the last one that another writer wrote, whatever the driver did.
//   The driver does not write a register whose lower half belongs to another writer.
//   After the driver has yielded, no register has an RMID of the driver.
//   While the driver has the registers, each CPU carries the RMID of its task.
extern "C" {
#include "cache_qos/cache_qos_core.h"
}

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <random>
#include <vector>

#include "cache_qos_fold.hpp"

namespace {

using pmukit::driver_tests::end_limbo;
using pmukit::driver_tests::fold_reading;

constexpr u32 kCpus = 4, kDomains = 2, kRmids = 64, kTasks = 6, kMonitors = 4;
// Other tools use RMIDs from this number on. The driver allocates the lowest RMIDs, and needs fewer
// than this number in the test.
constexpr u32 kForeignFrom = 40;

std::array<u64, kCpus> pqr;
u32 current_cpu;

int read_register(u32, u64 *value)
{
    *value = pqr[current_cpu];
    return 0;
}
int write_register(u32, u64 value)
{
    pqr[current_cpu] = value;
    return 0;
}
const pmukit_cache_qos_backend kBackend = {
    .name = "fake",
    .owner = nullptr,
    .cpuid = nullptr,
    .rdmsr = read_register,
    .wrmsr = write_register,
    .domain_of = nullptr,
    .claimed = nullptr,
};

class Registers {
public:
    explicit Registers(u64 seed) : random_(seed)
    {
        cache_qos_hw hw = {};
        hw.nr_rmid = kRmids;
        hw.scale = 64;
        hw.width = 44;
        hw.events = 1;
        cache_qos_hw_finish(&hw, 1ULL << 40);
        pqr = {};
        for (u32 i = 0; i < kCpus; i++) {
            cpus_[i].driver.cpu = i;
            pointers_[i] = &cpus_[i].driver;
        }
        cache_qos_init(cq_.get(), &kBackend, &hw, atoms_.data(), pointers_.data(), kCpus);
        for (u32 i = 0; i < kDomains; i++) {
            const pmukit_cache_qos_domain is = {
                .id = i, .package = i, .bytes = 1 << 20, .nodes = 1};
            cells_[i].resize(kRmids);
            banked_[i].resize(CACHE_QOS_MAX_MONITORS);
            cache_qos_domain_add(cq_.get(), &is, cells_[i].data(), banked_[i].data());
        }
        for (u32 i = 0; i < kCpus; i++)
            online(i);
        for (cache_qos_task &task : tasks_)
            cache_qos_task_init(cq_.get(), &task);
        pass();
        for (u16 &monitor : monitors_)
            monitor =
                static_cast<u16>(cache_qos_monitor_make(cq_.get(), PMUKIT_CACHE_QOS_KIND_TASK));
    }

    // Makes one step and returns its name.
    std::string step()
    {
        const u32 cpu = dice(kCpus);
        now_++;
        switch (dice(32)) {
            case 0:
                return pass_step();
            case 1:
                return hotplug(1 + dice(kCpus - 1));
            case 2:
                return watch(dice(kMonitors), dice(kTasks));
            case 3:
                return resctrl_mounts_or_not();
            case 4:
                return resctrl_switches(cpu);
            case 5:
                return foreign_monitor(cpu);
            case 6:
            case 7:
                return tool_reads(cpu);
            case 8:
            case 9:
                return tool_writes(cpu);
            case 10:
                return pqos_allocates(cpu);
            default:
                return switch_to(cpu, dice(kTasks + 2));
        }
    }

    // Returns the rule that is broken, or an empty text.
    std::string check() const
    {
        for (u32 i = 0; i < kCpus; i++) {
            const Cpu &cpu = cpus_[i];
            const u32 rmid = static_cast<u32>(pqr[i]);
            if (pqr[i] >> 32 != cpu.closid)
                return "CPU " + std::to_string(i) + ": the class of service is lost";
            if (cpu.is_foreign && rmid != cpu.foreign)
                return "CPU " + std::to_string(i) + ": a foreign RMID was overwritten";
            if (cq_->yielded && !cpu.is_foreign && cpu.online && rmid && !cpu.stale)
                return "CPU " + std::to_string(i) + ": an RMID is left after giving way";
            if (!cache_qos_registers_taken(cq_.get()) && cpu.online && !cpu.is_foreign &&
                !cpu.stale && rmid != cpu.driver.rmid)
                return "CPU " + std::to_string(i) + " does not carry what it should";
        }
        return {};
    }

    u64 gave_way = 0, came_back = 0, written_back = 0;

private:
    struct Cpu {
        cache_qos_cpu driver{};
        bool online = false;
        u32 closid = 0;
        bool is_foreign = false;  // another writer's RMID is in the lower half
        u32 foreign = 0;
        bool stale = false;  // the RMID is an old one that a tool has written back
        u32 task = 0;
        u64 tool_has = 0;  // the value of PQR_ASSOC that the tool last read
    };

    u32 dice(u32 sides) { return static_cast<u32>(random_() % sides); }

    void online(u32 cpu)
    {
        current_cpu = cpu;
        if (cache_qos_cpu_online(cq_.get(), cpu, static_cast<u16>(cpu * kDomains / kCpus)))
            return;
        cpus_[cpu].online = true;
        resolve(cpu);
    }
    std::string hotplug(u32 cpu)
    {
        Cpu &c = cpus_[cpu];
        current_cpu = cpu;
        if (c.online) {
            c.task = kTasks;
            cache_qos_cpu_offline(cq_.get(), cpu);
            c.online = false;
            return "offline";
        }
        // The registers of the CPU were reset while it was offline.
        pqr[cpu] = 0;
        c.closid = 0;
        c.is_foreign = c.stale = false;
        c.tool_has = 0;
        online(cpu);
        return "online";
    }
    void resolve(u32 cpu)
    {
        Cpu &c = cpus_[cpu];
        if (!c.online)
            return;
        current_cpu = cpu;
        const cache_qos_task *task = c.task < kTasks ? &tasks_[c.task] : nullptr;
        u32 rmid = cache_qos_resolve(cq_.get(), &c.driver, task, CACHE_QOS_NONE);
        if (rmid == CACHE_QOS_MISS)
            rmid = cache_qos_resolve_slow(cq_.get(), &c.driver, task, CACHE_QOS_NONE, now_);
        cache_qos_carry(cq_.get(), &c.driver, rmid);
        if (static_cast<u32>(pqr[cpu]) == c.driver.rmid)
            c.stale = false;
    }
    std::string switch_to(u32 cpu, u32 task)
    {
        if (cpus_[cpu].online) {
            cpus_[cpu].task = task;
            resolve(cpu);
        }
        return "switch";
    }
    std::string watch(u32 monitor, u32 task)
    {
        if (!cache_qos_registers_taken(cq_.get())) {
            if (dice(2)) {
                cache_qos_task_watch(cq_.get(), &tasks_[task], monitors_[monitor], true, now_);
            } else {
                // The task exits, and a new one takes its place.
                cache_qos_task_exit(cq_.get(), &tasks_[task]);
                cache_qos_task_init(cq_.get(), &tasks_[task]);
            }
            for (u32 i = 0; i < kCpus; i++)
                resolve(i);
        }
        return "watch";
    }

    // Other writers

    void write(u32 cpu, u32 closid, u32 rmid)
    {
        pqr[cpu] = u64{closid} << 32 | rmid;
        cpus_[cpu].closid = closid;
    }
    std::string pqos_allocates(u32 cpu)
    {
        write(cpu, dice(16), static_cast<u32>(pqr[cpu]));
        return "class of service";
    }
    std::string tool_reads(u32 cpu)
    {
        cpus_[cpu].tool_has = pqr[cpu];
        return "tool reads";
    }
    // A tool writes back the RMID that it read at an earlier step. The test lets it do so only if
    // the CPU has been online since that read and no other writer has written its RMID to the
    // register.
    std::string tool_writes(u32 cpu)
    {
        Cpu &c = cpus_[cpu];
        const u32 rmid = static_cast<u32>(c.tool_has);
        const bool lately = rmid == c.driver.rmid || !rmid ||
                            std::ranges::find(c.driver.recent, rmid) != std::end(c.driver.recent);
        if (!lately || c.is_foreign || cache_qos_registers_taken(cq_.get()) || !c.online)
            return "-";
        c.stale = rmid != c.driver.rmid;
        written_back += c.stale;
        write(cpu, dice(16), rmid);
        return "tool writes back";
    }
    std::string foreign_monitor(u32 cpu)
    {
        Cpu &c = cpus_[cpu];
        if (!c.is_foreign) {
            c.is_foreign = true;
            c.stale = false;
            c.foreign = kForeignFrom + dice(kRmids - kForeignFrom);
            write(cpu, c.closid, c.foreign);
            return "another monitor begins";
        }
        if (mounted_)
            return "-";
        release(cpu);
        return "another monitor ends";
    }
    void release(u32 cpu)
    {
        cpus_[cpu].is_foreign = false;
        cpus_[cpu].tool_has = 0;
        // The driver does not notice that the RMID is 0 until it reads the register.
        cpus_[cpu].stale = true;
        write(cpu, cpus_[cpu].closid, 0);
    }
    std::string resctrl_mounts_or_not()
    {
        mounted_ = !mounted_;
        if (mounted_)
            return "mount";
        for (u32 i = 0; i < kCpus; i++) {
            release(i);
            write(i, 0, 0);
        }
        return "unmount";
    }
    std::string resctrl_switches(u32 cpu)
    {
        if (!mounted_ || !cpus_[cpu].online)
            return "-";
        cpus_[cpu].is_foreign = true;
        cpus_[cpu].stale = false;
        cpus_[cpu].foreign = kForeignFrom + dice(kRmids - kForeignFrom);
        write(cpu, dice(16), cpus_[cpu].foreign);
        return "resctrl switches";
    }

    // The sampler

    void give_way()
    {
        cache_qos_yield(cq_.get(), mounted_);
        gave_way++;
        for (u32 i = 0; i < kCpus; i++) {
            current_cpu = i;
            if (!cpus_[i].online)
                continue;
            cache_qos_cpu_release(cq_.get(), i);
            // If resctrl is mounted and the class of service has changed, the driver assumes that
            // the RMID in the register is one of resctrl, and does not clear it.
            cpus_[i].stale |= mounted_ && cpus_[i].driver.pqr >> 32 != cpus_[i].closid;
        }
    }
    void come_back()
    {
        for (u32 i = 0; i < kCpus; i++) {
            current_cpu = i;
            if (!cpus_[i].online)
                continue;
            cache_qos_cpu_look(cq_.get(), i);
            if (cpus_[i].driver.foreign)
                return;
        }
        came_back++;
        cache_qos_resume(cq_.get());
        for (u32 i = 0; i < kCpus; i++)
            if (cpus_[i].online)
                online(i);
    }
    void pass()
    {
        const bool taken = cache_qos_registers_taken(cq_.get());
        if (!cq_->yielded && (mounted_ || taken))
            give_way();
        else if (cq_->yielded && !mounted_)
            come_back();
        if (cq_->yielded)
            return;
        for (u32 i = 0; i < kCpus; i++) {
            current_cpu = i;
            if (cpus_[i].online)
                cache_qos_check_pqr(cq_.get(), &cpus_[i].driver);
            if (static_cast<u32>(pqr[i]) == cpus_[i].driver.rmid)
                cpus_[i].stale = false;
        }
        cache_qos_sample sample = {};
        sample.status[CACHE_QOS_OCCUPANCY] = CACHE_QOS_READ_OK;
        cache_qos_carried(cq_.get(), now_);
        now_++;
        for (u16 d = 0; d < kDomains; d++)
            for (u32 rmid = 0; rmid < kRmids; rmid++)
                fold_reading(cq_.get(), d, rmid, sample, now_);
        cache_qos_mark_suspects(cq_.get());
        end_limbo(cq_.get(), now_);
    }
    std::string pass_step()
    {
        pass();
        return "pass";
    }

    std::mt19937_64 random_;
    std::unique_ptr<cache_qos> cq_ = std::make_unique<cache_qos>();
    std::array<cache_qos_atom, kRmids> atoms_{};
    std::array<Cpu, kCpus> cpus_{};
    std::array<cache_qos_cpu *, kCpus> pointers_{};
    std::array<std::vector<cache_qos_cell>, kDomains> cells_;
    std::array<std::vector<cache_qos_sums>, kDomains> banked_;
    std::array<cache_qos_task, kTasks> tasks_{};
    std::array<u16, kMonitors> monitors_{};
    bool mounted_ = false;
    u64 now_ = 1;
};

TEST(CacheQosRegisters, R07_R08_R09_KeepsClosidsAndRmidsThatOthersWriteToPqrAssoc)
{
    constexpr u32 kSeeds = 4, kSteps = 250000;
    u64 gave_way = 0, came_back = 0, written_back = 0;
    for (u64 seed = 1; seed <= kSeeds; seed++) {
        Registers registers(seed);
        for (u32 i = 0; i < kSteps; i++) {
            const std::string step = registers.step();
            ASSERT_EQ(registers.check(), "") << "seed " << seed << " step " << i << ": " << step;
        }
        gave_way += registers.gave_way;
        came_back += registers.came_back;
        written_back += registers.written_back;
    }
    EXPECT_GT(gave_way, 1000U);
    EXPECT_GT(came_back, 1000U);
    EXPECT_GT(written_back, 1000U);
}

}  // namespace
