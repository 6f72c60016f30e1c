// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The emulated CPUs with their RDT registers, and their L3s. Calls of read(), write() and access()
// for a CPU come from the thread of that vCPU.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>

#include "rdt/cache.hpp"
#include "rdt/counters.hpp"
#include "rdt/registers.hpp"
#include "rdt/shape.hpp"

namespace pmukit::rdt {

// A vCPU thread of QEMU holds the lock for one access or one mark.
class SpinLock {
public:
    void lock()
    {
        while (taken_.test_and_set(std::memory_order_acquire))
            ::sched_yield();
    }
    void unlock() { taken_.clear(std::memory_order_release); }

private:
    std::atomic_flag taken_ = ATOMIC_FLAG_INIT;
};

class Holding {
public:
    explicit Holding(SpinLock &lock) : lock_(lock) { lock_.lock(); }
    ~Holding() { lock_.unlock(); }
    Holding(const Holding &) = delete;
    Holding &operator=(const Holding &) = delete;

private:
    SpinLock &lock_;
};

class Machine {
public:
    // Returns false if an allocation fails.
    bool make(const Shape &shape);
    const Shape &shape() const { return shape_; }

    // Return false if the access raises #GP. `number` must satisfy is_of_rdt().
    bool read(uint32_t cpu, uint32_t number, uint64_t &value);
    bool write(uint32_t cpu, uint32_t number, uint64_t value);

    void access(uint32_t cpu, uint64_t physical);

    // Copies the reference counts of all RMIDs (shape().rmids) of an L3 at one moment. RMIDs are
    // those of QM_EVTSEL.
    void copy_tallies(uint32_t l3, Tally *into);
    Association association(uint32_t cpu) const;
    uint64_t writes_of_pqr(uint32_t cpu) const;
    // Writes of PQR_ASSOC that changed the class of service.
    uint64_t class_changes(uint32_t cpu) const;

private:
    struct alignas(64) Cpu {
        // Written only by the thread of the CPU.
        std::atomic<uint64_t> pqr{0}, writes_of_pqr{0}, class_changes{0};
        uint64_t evtsel = 0, abmc = 0;
        InnerCache inner;
    };
    struct alignas(64) L3 {
        SpinLock lock;
        Cache cache;
        Counters counters;
        std::atomic<uint64_t> masks[kMaxClasses], throttles[kMaxClasses], snc{kRmidsDivided};
    };

    bool is_remote(uint32_t l3, uint64_t physical) const;
    uint64_t counter(uint32_t cpu);
    uint64_t bound(uint32_t cpu);
    void bind(uint32_t cpu, uint64_t config);
    bool is_carried(uint32_t cpu, uint64_t pqr) const;
    uint32_t counted_rmid(uint32_t cpu, uint32_t carried) const;
    static void configure(L3 &l3, const Msr &msr, uint64_t value);
    void associate(Cpu &cpu, uint64_t pqr);

    Shape shape_;
    Cpu cpus_[kMaxCpus];
    L3 l3s_[kMaxL3s];
};

}  // namespace pmukit::rdt
