// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "rdt/machine.hpp"

namespace pmukit::rdt {

bool Machine::make(const Shape &shape)
{
    shape_ = shape;
    for (uint32_t cpu = 0; cpu < shape.cpus; cpu++)
        if (!cpus_[cpu].inner.make(shape))
            return false;
    // At reset a class has all ways and no bandwidth limit.
    const uint64_t ways = (1ULL << shape.ways) - 1;
    const uint64_t unlimited = shape.vendor == Vendor::kAmd ? 1ULL << kAmdBandwidthBits : 0;
    for (uint32_t l3 = 0; l3 < l3s_of(shape); l3++) {
        if (!l3s_[l3].cache.make(shape))
            return false;
        l3s_[l3].counters.make(shape);
        for (uint32_t clos = 0; clos < shape.classes; clos++) {
            l3s_[l3].masks[clos] = ways;
            l3s_[l3].throttles[clos] = unlimited;
        }
    }
    return true;
}

uint64_t Machine::counter(uint32_t cpu)
{
    L3 &l3 = l3s_[l3_of(shape_, cpu)];
    const Holding holding(l3.lock);
    return l3.counters.read(l3.cache, selection_of(cpus_[cpu].evtsel));
}

uint64_t Machine::bound(uint32_t cpu)
{
    L3 &l3 = l3s_[l3_of(shape_, cpu)];
    const Holding holding(l3.lock);
    return l3.counters.bound(cpus_[cpu].abmc);
}

void Machine::bind(uint32_t cpu, uint64_t config)
{
    L3 &l3 = l3s_[l3_of(shape_, cpu)];
    cpus_[cpu].abmc = config & ~kAbmcApply;
    const Holding holding(l3.lock);
    if (config & kAbmcApply)
        l3.counters.bind(l3.cache, config);
}

bool Machine::read(uint32_t cpu, uint32_t number, uint64_t &value)
{
    L3 &l3 = l3s_[l3_of(shape_, cpu)];
    const Msr msr = msr_of(shape_, number);
    switch (msr.reg) {
        case Register::kEvtsel:
            value = cpus_[cpu].evtsel;
            return true;
        case Register::kCtr:
            value = counter(cpu);
            return true;
        case Register::kPqr:
            value = cpus_[cpu].pqr;
            return true;
        case Register::kMask:
            value = l3.masks[msr.clos];
            return true;
        case Register::kThrottle:
            value = l3.throttles[msr.clos];
            return true;
        case Register::kSnc:
            value = l3.snc;
            return true;
        case Register::kAbmc:
            value = cpus_[cpu].abmc;
            return true;
        case Register::kAbmcIs:
            value = bound(cpu);
            return true;
        case Register::kTypes: {
            const Holding holding(l3.lock);
            value = l3.counters.types(msr.clos);
            return true;
        }
        case Register::kExt: {
            const Holding holding(l3.lock);
            value = l3.counters.ext_cfg();
            return true;
        }
        case Register::kNone:
            return false;
    }
    return false;
}

void Machine::associate(Cpu &cpu, uint64_t pqr)
{
    const uint64_t before = cpu.pqr.exchange(pqr, std::memory_order_relaxed);
    const bool changes = association_of(before).clos != association_of(pqr).clos;
    cpu.writes_of_pqr.fetch_add(1, std::memory_order_relaxed);
    cpu.class_changes.fetch_add(changes, std::memory_order_relaxed);
}

void Machine::configure(L3 &l3, const Msr &msr, uint64_t value)
{
    const Holding holding(l3.lock);
    if (msr.reg == Register::kExt)
        l3.counters.set_ext_cfg(value);
    else
        l3.counters.set_types(msr.clos, value);
}

// Returns false if the nodes of the L3 share RMIDs and the RMID is above these.
bool Machine::is_carried(uint32_t cpu, uint64_t pqr) const
{
    return l3s_[l3_of(shape_, cpu)].snc & kRmidsDivided ||
           association_of(pqr).rmid < rmids_of_node(shape_);
}

bool Machine::write(uint32_t cpu, uint32_t number, uint64_t value)
{
    const Msr msr = msr_of(shape_, number);
    if (!takes(shape_, msr, value) || (msr.reg == Register::kPqr && !is_carried(cpu, value)))
        return false;
    L3 &l3 = l3s_[l3_of(shape_, cpu)];
    if (msr.reg == Register::kEvtsel)
        cpus_[cpu].evtsel = value;
    else if (msr.reg == Register::kMask)
        l3.masks[msr.clos] = value;
    else if (msr.reg == Register::kThrottle)
        l3.throttles[msr.clos] = value;
    else if (msr.reg == Register::kSnc)
        l3.snc = value;
    else if (msr.reg == Register::kAbmc)
        bind(cpu, value);
    else if (msr.reg == Register::kExt || msr.reg == Register::kTypes)
        configure(l3, msr, value);
    else if (msr.reg == Register::kPqr)
        associate(cpus_[cpu], value);
    return true;
}

bool Machine::is_remote(uint32_t l3, uint64_t physical) const
{
    if (shape_.node_bytes == 0)
        return false;
    const uint64_t node = physical / shape_.node_bytes, last = l3s_of(shape_) - 1;
    return (node < last ? node : last) != l3;
}

// Returns the RMID that counts an access of a CPU. A CPU may still carry an RMID from before its L3
// began to share RMIDs.
uint32_t Machine::counted_rmid(uint32_t cpu, uint32_t carried) const
{
    if (l3s_[l3_of(shape_, cpu)].snc.load(std::memory_order_relaxed) & kRmidsDivided)
        return carried;
    const uint32_t rmids = rmids_of_node(shape_);
    return node_of(shape_, cpu) * rmids + carried % rmids;
}

void Machine::access(uint32_t cpu, uint64_t physical)
{
    const uint64_t line = physical / kLineBytes;
    if (cpus_[cpu].inner.access(line))
        return;
    const Association association = this->association(cpu);
    const uint32_t number = l3_of(shape_, cpu);
    L3 &l3 = l3s_[number];
    const uint64_t ways = l3.masks[association.clos].load(std::memory_order_relaxed);
    const Holding holding(l3.lock);
    l3.cache.access({line, counted_rmid(cpu, association.rmid), ways, is_remote(number, physical)});
}

void Machine::copy_tallies(uint32_t l3, Tally *into)
{
    const Holding holding(l3s_[l3].lock);
    for (uint32_t rmid = 0; rmid < shape_.rmids; rmid++)
        into[rmid] = l3s_[l3].cache.of(rmid);
}

Association Machine::association(uint32_t cpu) const
{
    return association_of(cpus_[cpu].pqr.load(std::memory_order_relaxed));
}

uint64_t Machine::writes_of_pqr(uint32_t cpu) const
{
    return cpus_[cpu].writes_of_pqr.load(std::memory_order_relaxed);
}

uint64_t Machine::class_changes(uint32_t cpu) const
{
    return cpus_[cpu].class_changes.load(std::memory_order_relaxed);
}

}  // namespace pmukit::rdt
