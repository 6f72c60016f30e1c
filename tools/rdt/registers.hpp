// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// MSRs of RDT: numbers, fields, and which values a processor takes. Sources as in cpuid.hpp.
#pragma once

#include <cstdint>

#include "rdt/shape.hpp"

namespace pmukit::rdt {

inline constexpr uint32_t kQmEvtsel = 0xc8d, kQmCtr = 0xc8e, kPqrAssoc = 0xc8f;
inline constexpr uint32_t kL3Mask = 0xc90;              // of class 0; the next ones follow
inline constexpr uint32_t kDelay = 0xd50;               // likewise, Intel
inline constexpr uint32_t kAmdBandwidth = 0xc0000200u;  // likewise, AMD

inline constexpr uint32_t kRmidSncConfig = 0xca0;  // of the L3, Intel
// AMD's counters that are bound to RMIDs (ABMC). ABMC_CFG is of the CPU, what it configures is the
// L3's; ABMC_DSC says what the counter is for whose number ABMC_CFG has.
inline constexpr uint32_t kAbmcCfg = 0xc00003fdu, kAbmcDsc = 0xc00003feu, kExtCfg = 0xc00003ffu;
// Of the same processors (BMEC): the traffic that an event of an RMID counts; total, then local.
inline constexpr uint32_t kEventTypes = 0xc0000400u, kTypedEvents = 2;

inline constexpr uint64_t kUnavailable = 1ULL << 62, kError = 1ULL << 63;  // QM_CTR

// RMID_SNC_CONFIG: RMIDs are divided among the nodes of an L3. So it is at reset; Linux clears it
// where an L3 has several.
inline constexpr uint64_t kRmidsDivided = 1;

inline constexpr uint32_t kMostDelay = 90;         // percent
inline constexpr uint32_t kAmdBandwidthBits = 11;  // eighths of GB/s; 1 << 11: no limit

inline constexpr uint64_t kAbmcOn = 1;              // EXT_CFG
inline constexpr uint64_t kAbmcApply = 1ULL << 63;  // ABMC_CFG: configure the counter
inline constexpr uint64_t kAbmcWrong = 1ULL << 63;  // ABMC_DSC: ABMC_CFG was not taken
inline constexpr uint64_t kAbmcEnable = 1ULL << 62, kAbmcClass = 1ULL << 47;
// Traffic that a counter counts: reads of memory of the own node, of others, and what is not
// emulated. At reset the events count all, and that of the own node.
inline constexpr uint64_t kLocalReads = 1, kRemoteReads = 2, kAllTypes = 0x7f;
inline constexpr uint64_t kTypesAtReset[kTypedEvents] = {kAllTypes, 0x15};

enum class Event : uint32_t { kOccupancy = 1, kTotal = 2, kLocal = 3 };

struct Selection {
    uint32_t event = 0;     // as it was written
    uint32_t rmid = 0;      // of an extended event the number of a counter
    bool extended = false;  // AMD: of ABMC
};
Selection selection_of(uint64_t evtsel);

// Of ABMC_CFG.
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
    uint32_t clos = 0;  // of kMask and kThrottle; of kTypes: the place of the event
};

// kNone also for a class of service that this processor does not have.
Msr msr_of(const Shape &shape, uint32_t number);

// A number that RDT defines: one of them without a register raises #GP. Others are not ours.
bool is_of_rdt(uint32_t number);

// May the value be written? Otherwise #GP.
bool takes(const Shape &shape, const Msr &msr, uint64_t value);

}  // namespace pmukit::rdt
