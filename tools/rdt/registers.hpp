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

inline constexpr uint64_t kUnavailable = 1ULL << 62, kError = 1ULL << 63;  // QM_CTR

// RMID_SNC_CONFIG: RMIDs are divided among the nodes of an L3. So it is at reset; Linux clears it
// where an L3 has several.
inline constexpr uint64_t kRmidsDivided = 1;

inline constexpr uint32_t kMostDelay = 90;         // percent
inline constexpr uint32_t kAmdBandwidthBits = 11;  // eighths of GB/s; 1 << 11: no limit

enum class Event : uint32_t { kOccupancy = 1, kTotal = 2, kLocal = 3 };

struct Selection {
    uint32_t event = 0;  // as it was written
    uint32_t rmid = 0;
};
Selection selection_of(uint64_t evtsel);

struct Association {
    uint32_t rmid = 0, clos = 0;
};
Association association_of(uint64_t pqr);

enum class Register { kNone, kEvtsel, kCtr, kPqr, kMask, kThrottle, kSnc };
struct Msr {
    Register reg = Register::kNone;
    uint32_t clos = 0;  // of kMask and kThrottle
};

// kNone also for a class of service that this processor does not have.
Msr msr_of(const Shape &shape, uint32_t number);

// A number that RDT defines: one of them without a register raises #GP. Others are not ours.
bool is_of_rdt(uint32_t number);

// May the value be written? Otherwise #GP.
bool takes(const Shape &shape, const Msr &msr, uint64_t value);

}  // namespace pmukit::rdt
