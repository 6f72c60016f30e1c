// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Registers of Intel uncore performance monitoring with discovery tables, as the model implements
// them, from public sources (the register use of Linux 7.2, arch/x86/events/intel, and of the Intel
// PCM tools). The driver has an independent copy.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pmukit::models::uncore_pmon {

// Bits low..high of a 64-bit word, inclusive.
struct Field {
    unsigned low;
    unsigned high;

    constexpr uint64_t limit() const
    {
        return high - low == 63 ? ~uint64_t{0} : (uint64_t{1} << (high - low + 1)) - 1;
    }
    constexpr uint64_t mask() const { return limit() << low; }
    constexpr uint64_t get(uint64_t word) const { return (word >> low) & limit(); }
    constexpr uint64_t put(uint64_t value) const { return (value & limit()) << low; }
    constexpr uint64_t set(uint64_t word, uint64_t value) const
    {
        return (word & ~mask()) | put(value);
    }
};

// --- Finding the table

inline constexpr uint16_t kVendor = 0x8086;
inline constexpr uint16_t kDevice = 0x09a7;      // Sapphire, Emerald and Granite Rapids
inline constexpr uint16_t kExtDvsec = 0x0023;    // PCIe ID of the capability
inline constexpr uint16_t kDvsecEntryId = 0x08;  // two bytes: DVSEC ID
inline constexpr uint16_t kEntryPmon = 1;
inline constexpr uint8_t kDvsecRevision = 1;
inline constexpr size_t kDvsecBytes = 0x10;
inline constexpr uint16_t kDvsecEntries = 0x0a;    // one byte: number of entries
inline constexpr uint16_t kDvsecEntrySize = 0x0b;  // one byte: dwords of an entry
inline constexpr unsigned kPmonEntryDwords = 4;
inline constexpr uint16_t kDvsecBir = 0x0c;
inline constexpr Field kDvsecBirField{0, 2};  // the other bits are zero

// --- The table, in words of 64 bits

inline constexpr unsigned kEntryWords = 3;  // words used of an entry; the stride may be larger

inline constexpr Field kGlobalType{0, 7};
inline constexpr Field kGlobalStride{8, 15};  // words from entry to entry
inline constexpr Field kGlobalMaxUnits{16, 25};
inline constexpr Field kAccess{62, 63};  // in word 0 of global and unit entries
inline constexpr Field kGlobalStatusOffset{0, 7};
inline constexpr Field kGlobalStatuses{8, 23};

inline constexpr Field kUnitCounters{0, 7};
inline constexpr Field kUnitControl0{8, 15};  // bytes from the unit's control (MMIO)
inline constexpr Field kUnitWidth{16, 23};
inline constexpr Field kUnitCounter0{24, 31};
inline constexpr Field kUnitStatus{32, 39};
inline constexpr Field kUnitType{0, 15};  // word 2
inline constexpr Field kUnitId{16, 31};

enum class Access : uint8_t { kMsr = 0, kMmio = 1, kPci = 2 };

// Fields of word 1 of the entry of a unit whose registers are in PCI configuration space.
inline constexpr Field kPciOffset{0, 11};
inline constexpr Field kPciDevfn{12, 19};
inline constexpr Field kPciBus{20, 27};
inline constexpr Field kPciDomain{28, 30};

// --- The MMIO global control, 4 bytes

inline constexpr uint32_t kGlobalFreeze = 1u << 0;  // RW, freezes all units

// --- A unit's registers, as bytes from its control

inline constexpr uint32_t kBoxControl = 0x00;
inline constexpr uint32_t kBoxFreeze = 1u << 0;         // RW
inline constexpr uint32_t kBoxResetControls = 1u << 8;  // reads as zero
inline constexpr uint32_t kBoxResetCounters = 1u << 9;  // reads as zero

inline constexpr Field kControlEvent{0, 7};
inline constexpr Field kControlUmask{8, 15};
inline constexpr Field kControlThread{16, 16};
inline constexpr Field kControlReset{17, 17};  // clears its counter, reads as zero
inline constexpr Field kControlEdge{18, 18};
inline constexpr Field kControlEnable{22, 22};  // needed by fixed counters only
inline constexpr Field kControlInvert{23, 23};
inline constexpr Field kControlThreshold{24, 31};

inline constexpr uint32_t kCounterStep = 8;
inline constexpr uint32_t kFixedCounter = 0x38;  // only in an IMC unit
inline constexpr uint32_t kFixedControl = 0x54;
inline constexpr unsigned kFixedWidth = 48;

// --- Free-running counters of a memory controller, as bytes from its base. Controllers are 512 KiB
// apart and have two units each.

inline constexpr uint64_t kControllerBytes = 0x80000;
inline constexpr uint64_t kImcInController[] = {0x22800, 0x2a800};
inline constexpr uint32_t kFreeDclk = 0x22b0;
inline constexpr uint32_t kFreeReadCycles = 0x2318;
inline constexpr uint32_t kFreeWriteCycles = 0x2320;
inline constexpr unsigned kFreeWidth = 48;

// --- Types of units

inline constexpr uint16_t kTypeCha = 0;
inline constexpr uint16_t kTypeImc = 6;
inline constexpr uint16_t kTypeM2m = 7;
inline constexpr uint16_t kTypeCxlcm = 12;
inline constexpr uint16_t kTypeCxldp = 13;
inline constexpr uint16_t kTypeB2cxl = 17;

}  // namespace pmukit::models::uncore_pmon
