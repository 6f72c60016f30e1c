// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// A simulated machine that owns its memory. The tests of the simulation and of the driver use it.
#pragma once

extern "C" {
#include "cache_qos_sim/cache_qos_sim_core.h"
}

#include <algorithm>
#include <deque>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace pmukit::kshim {

struct MachineShape {
    std::string profile = "spr";
    std::optional<cache_qos_sim_profile> made{};  // replaces `profile` if it is set
    u32 cpus = 2;
    u32 domains = 1;         // CPU i belongs to domain i * domains / cpus
    u32 nodes = 1;           // number of nodes of each domain
    bool partition = false;  // RMIDs are divided among the nodes
    u32 lines = 1024;
    std::vector<u32> lines_of{};  // number of lines of each domain; if empty, `lines`
    u32 ways = 16;
    u32 owners = 16;
    u64 seed = 1;
    u64 mbm_start = 0;
    bool enough_counters = false;  // one counter per RMID, even if the profile has fewer
};

class Machine {
public:
    explicit Machine(const MachineShape &shape)
        : cpus_(shape.cpus), domains_(shape.domains), owners_(shape.owners)
    {
        const cache_qos_sim_profile *found =
            shape.made ? &*shape.made : cache_qos_sim_profile_by_name(shape.profile.c_str());
        if (!found)
            throw std::invalid_argument(shape.profile);
        profile_ = *found;
        if (shape.enough_counters)
            profile_.mbm_counters = 0;
        sim_.profile = &profile_;
        sim_.nodes = shape.nodes;
        sim_.partition = shape.partition;
        sim_.nr_cpus = shape.cpus;
        sim_.cpus = cpus_.data();
        sim_.nr_domains = shape.domains;
        sim_.domains = domains_.data();
        sim_.nr_owners = shape.owners;
        sim_.owners = owners_.data();
        sim_.random = shape.seed;
        sim_.mbm_start = shape.mbm_start;
        sim_.closids = 16;
        place_cpus();
        for (u32 i = 0; i < shape.domains; i++)
            make_domain(i, shape);
        cache_qos_sim_reset(&sim_);
    }
    Machine(const Machine &) = delete;
    Machine &operator=(const Machine &) = delete;

    cache_qos_sim *get() { return &sim_; }
    const cache_qos_sim_profile &profile() const { return *sim_.profile; }
    cache_qos_sim_cpu &cpu(u32 index) { return cpus_[index]; }
    cache_qos_sim_domain &domain(u32 index) { return domains_[index]; }
    cache_qos_sim_owner &owner(u32 index) { return owners_[index]; }
    // Returns true if an injected fault has not been used up.
    bool has_faults() const
    {
        return std::ranges::any_of(sim_.faults, [](const cache_qos_sim_fault &fault) {
            return fault.kind != CACHE_QOS_SIM_FAULT_NONE;
        });
    }
    u32 nr_rmids() const { return sim_.profile->max_rmid_any + 1; }
    u32 nodes() const { return sim_.nodes; }

    bool touch(u32 cpu, u64 address, u32 owner, u32 home = 0, bool write = false)
    {
        const cache_qos_sim_access access = {address, owner, home, write};
        return cache_qos_sim_touch(&sim_, cpu, &access);
    }
    bool write(u32 cpu, u32 msr, u64 value) { return cache_qos_sim_wrmsr(&sim_, cpu, msr, value); }
    // Reads an MSR. Returns all ones on #GP.
    u64 read(u32 cpu, u32 msr)
    {
        u64 value = ~u64{0};
        return cache_qos_sim_rdmsr(&sim_, cpu, msr, &value) ? value : ~u64{0};
    }
    void run_as(u32 cpu, u32 rmid) { write(cpu, CACHE_QOS_SIM_MSR_PQR, rmid); }
    u64 counter(u32 cpu, u32 rmid, u32 event)
    {
        write(cpu, CACHE_QOS_SIM_MSR_EVTSEL, u64{rmid} << 32 | event);
        return read(cpu, CACHE_QOS_SIM_MSR_CTR);
    }
    // Returns the number of an owner's lines in one L3. It is determined by looking at every line.
    u32 lines_of(u32 domain, u32 owner) const
    {
        return count(domain,
                     [owner](const cache_qos_sim_line &line) { return line.owner == owner; });
    }
    u32 lines_tagged(u32 domain, u32 rmid) const
    {
        return count(domain, [rmid](const cache_qos_sim_line &line) { return line.rmid == rmid; });
    }
    u32 lines_valid(u32 domain) const
    {
        return count(domain, [](const cache_qos_sim_line &) { return true; });
    }

private:
    void place_cpus()
    {
        std::vector<u32> placed(sim_.nr_domains);
        for (u32 i = 0; i < sim_.nr_cpus; i++) {
            cpus_[i].domain = i * sim_.nr_domains / sim_.nr_cpus;
            cpus_[i].evtsel_cpu = i;
            cpus_[i].node = placed[cpus_[i].domain]++ % sim_.nodes;
        }
    }
    void make_domain(u32 index, const MachineShape &shape)
    {
        cache_qos_sim_domain &domain = domains_[index];
        const u32 lines = shape.lines_of.empty() ? shape.lines : shape.lines_of.at(index);
        lines_.emplace_back(lines);
        rmids_.emplace_back(nr_rmids());
        domain.id = index;
        domain.package = index;
        domain.nr_lines = lines;
        domain.ways = shape.ways;
        domain.lines = lines_.back().data();
        domain.rmids = rmids_.back().data();
    }
    template <typename Which>
    u32 count(u32 domain, Which which) const
    {
        u32 found = 0;
        for (const cache_qos_sim_line &line : lines_[domain])
            found += line.valid && which(line);
        return found;
    }

    cache_qos_sim sim_{};
    cache_qos_sim_profile profile_{};
    std::vector<cache_qos_sim_cpu> cpus_;
    std::vector<cache_qos_sim_domain> domains_;
    std::vector<cache_qos_sim_owner> owners_;
    std::deque<std::vector<cache_qos_sim_line>> lines_;
    std::deque<std::vector<cache_qos_sim_rmid>> rmids_;
};

}  // namespace pmukit::kshim
