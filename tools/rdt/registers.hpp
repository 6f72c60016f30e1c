// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// MSRs of RDT: numbers, fields and valid values. Sources as in cpuid.hpp.
#pragma once

#include <cstdint>

#include "rdt/shape.hpp"

namespace pmukit::rdt {

inline constexpr uint32_t kQmEvtsel = 0xc8d, kQmCtr = 0xc8e, kPqrAssoc = 0xc8f;
inline constexpr uint32_t kL3Mask = 0xc90;              // class 0; the other classes follow
inline constexpr uint32_t kDelay = 0xd50;               // class 0, Intel; the other classes follow
inline constexpr uint32_t kAmdBandwidth = 0xc0000200u;  // class 0, AMD; the other classes follow

inline constexpr uint32_t kRmidSncConfig = 0xca0;  // per L3, Intel
// AMD's assignable bandwidth counters (ABMC). ABMC_CFG is per CPU and configures counters of the
// L3. ABMC_DSC returns the configuration of the counter that ABMC_CFG selects.
inline constexpr uint32_t kAbmcCfg = 0xc00003fdu, kAbmcDsc = 0xc00003feu, kExtCfg = 0xc00003ffu;
// BMEC of the same processors: a register for the total event and one for the local event, with the
// traffic types that the event counts.
inline constexpr uint32_t kEventTypes = 0xc0000400u, kTypedEvents = 2;

inline constexpr uint64_t kUnavailable = 1ULL << 62, kError = 1ULL << 63;  // QM_CTR

// RMID_SNC_CONFIG: RMIDs are divided among the nodes of an L3. The bit is set at reset; Linux
// clears it if an L3 has several nodes. If the bit is clear, the nodes share the RMIDs from 0 to
// rmids_of_node() - 1, which a CPU may carry. QM_EVTSEL then selects RMID r of the node with index
// n as n * rmids_of_node() + r, on any CPU of the L3.
inline constexpr uint64_t kRmidsDivided = 1;

inline constexpr uint32_t kMostDelay = 90;         // percent
inline constexpr uint32_t kAmdBandwidthBits = 11;  // eighths of GB/s; 1 << 11: no limit

inline constexpr uint64_t kAbmcOn = 1;              // EXT_CFG
inline constexpr uint64_t kAbmcApply = 1ULL << 63;  // ABMC_CFG: configure the counter
inline constexpr uint64_t kAbmcWrong = 1ULL << 63;  // ABMC_DSC: ABMC_CFG is invalid
inline constexpr uint64_t kAbmcEnable = 1ULL << 62, kAbmcClass = 1ULL << 47;
// Traffic types: reads of local memory, reads of remote memory, and others, which are not emulated.
// At reset the total event counts all types, and the local event those of local memory.
inline constexpr uint64_t kLocalReads = 1, kRemoteReads = 2, kAllTypes = 0x7f;
inline constexpr uint64_t kTypesAtReset[kTypedEvents] = {kAllTypes, 0x15};

enum class Event : uint32_t { kOccupancy = 1, kTotal = 2, kLocal = 3 };

struct Selection {
    uint32_t event = 0;     // as written, possibly invalid
    uint32_t rmid = 0;      // for an extended event, the number of the counter
    bool extended = false;  // AMD: selects an ABMC counter
};
Selection selection_of(uint64_t evtsel);

// Fields of ABMC_CFG.
struct Binding {
    uint32_t counter = 0, rmid = 0;
    uint64_t types = 0;
    bool enabled = false, of_class = false;
};
Binding binding_of(uint64_t config);

struct Association {
    uint32_t rmid = 0, clos = 0;
};
Association association_of(uint64_t pqr);

enum class Register {
    kNone,
    kEvtsel,
    kCtr,
    kPqr,
    kMask,
    kThrottle,
    kSnc,
    kAbmc,
    kAbmcIs,
    kExt,
    kTypes
};
struct Msr {
    Register reg = Register::kNone;
    uint32_t clos = 0;  // for kMask and kThrottle; for kTypes: index of the event
};

// Returns kNone also for a class of service that this processor does not have.
Msr msr_of(const Shape &shape, uint32_t number);

// Returns true if RDT defines the number. Such a number without a register raises #GP; QEMU handles
// all other numbers.
bool is_of_rdt(uint32_t number);

// Returns true if the value is valid; otherwise the write raises #GP.
bool takes(const Shape &shape, const Msr &msr, uint64_t value);

}  // namespace pmukit::rdt
