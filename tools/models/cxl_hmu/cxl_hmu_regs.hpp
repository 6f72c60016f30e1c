// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Registers of the CXL hotness monitoring unit (CHMU, CXL r3.2 section 8.2.8), as the model
// implements them. Where the specification is unclear, the model follows the CXL HMU RFC (J.
// Cameron, Nov 2024) or QEMU's CHMU model (RFC v2, June 2025); comments name which. The driver has
// its own, independently written definitions.
#pragma once

#include <cstdint>

namespace pmukit::models::cxl_hmu {

// Bits low..high of a word, inclusive.
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
};

// Register locator block identifiers (CXL r3.2 table 8-22).
inline constexpr uint8_t kLocatorComponent = 1;
inline constexpr uint8_t kLocatorDevice = 3;
inline constexpr uint8_t kLocatorCpmu = 4;
inline constexpr uint8_t kLocatorChmu = 5;

// --- Block: common capability, then the instances one after the other

inline constexpr uint64_t kCommonBytes = 0x10;
inline constexpr uint64_t kCommon0 = 0x00;  // RO, 8 bytes
inline constexpr Field kCommon0Version{0, 3};
inline constexpr Field kCommon0Instances{8, 15};
inline constexpr uint64_t kCommon1 = 0x08;             // RO, 8 bytes
inline constexpr Field kCommon1InstanceLength{0, 15};  // in bytes
inline constexpr uint64_t kCommonVersion = 1;
inline constexpr unsigned kMaxInstances = 8;
// This limit is that of the model, not of the specification.
inline constexpr unsigned kMaxChmus = 8;

// --- Instance: offsets from its first byte

inline constexpr uint64_t kCap0 = 0x00;  // HwInit, 8 bytes
inline constexpr Field kCap0Message{0, 3};
inline constexpr Field kCap0OverflowInterrupt{4, 4};
inline constexpr Field kCap0LevelInterrupt{5, 5};
inline constexpr Field kCap0EpochType{6, 7};  // 0 global, 1 per counter
inline constexpr Field kCap0Requests{8, 13};  // bit i: request type i + 1 is supported
inline constexpr Field kCap0MaxEpochScale{16, 19};
inline constexpr Field kCap0MaxEpochValue{20, 31};
inline constexpr Field kCap0MinEpochScale{32, 35};
inline constexpr Field kCap0MinEpochValue{36, 47};
inline constexpr Field kCap0HotListSize{48, 63};  // number of entries

inline constexpr uint64_t kCap1 = 0x08;            // HwInit, 8 bytes
inline constexpr Field kCap1UnitSizes{0, 31};      // bit n: units of 256 B << n are supported
inline constexpr Field kCap1Downsampling{32, 47};  // bit n: factor 2^n is supported
inline constexpr Field kCap1EpochMode{48, 48};
inline constexpr Field kCap1AlwaysOnMode{49, 49};
inline constexpr Field kCap1Randomized{50, 50};
inline constexpr Field kCap1Overlap{51, 51};
inline constexpr Field kCap1Postponed{52, 52};

inline constexpr uint64_t kCap2 = 0x10;  // HwInit: offset of the range bitmap
inline constexpr uint64_t kCap3 = 0x18;  // HwInit: offset of the hot list

inline constexpr uint64_t kConfig0 = 0x40;               // RW, 8 bytes
inline constexpr Field kConfig0Requests{0, 7};           // RW while disabled
inline constexpr Field kConfig0Randomized{8, 8};         // RW while disabled
inline constexpr Field kConfig0OverflowInterrupt{9, 9};  // RW while disabled
inline constexpr Field kConfig0LevelInterrupt{10, 10};   // RW while disabled
inline constexpr Field kConfig0Enable{16, 16};           // RW always
inline constexpr Field kConfig0ResetCounters{17, 17};    // RW always, self-clearing
inline constexpr Field kConfig0Threshold{32, 63};        // RW while disabled

inline constexpr uint64_t kConfig1 = 0x48;       // RW while disabled, 8 bytes
inline constexpr Field kConfig1UnitSize{0, 31};  // log2 of the size in bytes (as in RFC and QEMU)
inline constexpr Field kConfig1Downsampling{32, 35};  // log2 of the factor
inline constexpr Field kConfig1Mode{40, 47};          // 0 epoch, 1 always on
inline constexpr Field kConfig1EpochScale{48, 51};
inline constexpr Field kConfig1EpochValue{52, 63};

inline constexpr uint64_t kConfig2 = 0x50;           // RW while disabled, 8 bytes
inline constexpr Field kConfig2Notification{0, 15};  // number of entries

inline constexpr uint64_t kStatus = 0x60;            // 8 bytes
inline constexpr Field kStatusEnabled{0, 0};         // RO
inline constexpr Field kStatusOperation{16, 31};     // RO
inline constexpr Field kStatusCounterWidth{32, 39};  // RO, bits
inline constexpr Field kStatusOverflow{40, 40};      // W1C
inline constexpr Field kStatusLevel{41, 41};         // W1C

inline constexpr uint64_t kHead = 0x68;          // RW, 2 bytes
inline constexpr uint64_t kTail = 0x6a;          // RO while enabled, 2 bytes
inline constexpr uint64_t kRegistersEnd = 0x70;  // here, the bitmap and hot list can begin

inline constexpr uint64_t kOperationNone = 0;
inline constexpr uint64_t kOperationEnabling = 1;
inline constexpr uint64_t kOperationDisabling = 2;
inline constexpr uint64_t kOperationResetting = 3;

inline constexpr uint64_t kModeEpoch = 0;
inline constexpr uint64_t kModeAlwaysOn = 1;

inline constexpr unsigned kRequestTypes = 6;
inline constexpr unsigned kMinUnitLog2 = 8;            // 256 B
inline constexpr unsigned kMaxUnitLog2 = 31;           // 2 GiB
inline constexpr unsigned kRangeLog2 = 28;             // a bit of the bitmap covers 256 MiB
inline constexpr uint64_t kMaxInstanceBytes = 0xffff;  // instance length has 16 bits
inline constexpr unsigned kMinHotList = 64;
inline constexpr unsigned kMessages = 16;  // number of vectors that a message number can select

// Scales 1..5 are 100 us, 1 ms, 10 ms, 100 ms, 1 s. Returns 0 for an undefined scale.
constexpr uint64_t epoch_scale_ns(uint64_t scale)
{
    constexpr uint64_t kScales[] = {0, 100'000, 1'000'000, 10'000'000, 100'000'000, 1'000'000'000};
    return scale < 6 ? kScales[scale] : 0;
}

// --- Bits of a register that software can change (all others are read-only)

struct Register {
    const char *name;
    uint64_t offset;
    unsigned bytes;             // width in bytes; other widths are invalid
    uint64_t writable;          // RW bits
    uint64_t writable_enabled;  // RW bits that stay RW while enabled
    uint64_t write_one_clears;  // W1C bits
    uint64_t reset;
    uint64_t reserved = 0;  // bits that software must write as zero
};

inline constexpr Register kRegisters[] = {
    {"capability 0", kCap0, 8, 0, 0, 0, 0},
    {"capability 1", kCap1, 8, 0, 0, 0, 0},
    {"capability 2", kCap2, 8, 0, 0, 0, 0},
    {"capability 3", kCap3, 8, 0, 0, 0, 0},
    {"configuration 0", kConfig0, 8,
     kConfig0Requests.mask() | kConfig0Randomized.mask() | kConfig0OverflowInterrupt.mask() |
         kConfig0LevelInterrupt.mask() | kConfig0Enable.mask() | kConfig0ResetCounters.mask() |
         kConfig0Threshold.mask(),
     kConfig0Enable.mask() | kConfig0ResetCounters.mask(), 0, 0,
     Field{11, 15}.mask() | Field{18, 31}.mask()},
    {"configuration 1", kConfig1, 8,
     kConfig1UnitSize.mask() | kConfig1Downsampling.mask() | kConfig1Mode.mask() |
         kConfig1EpochScale.mask() | kConfig1EpochValue.mask(),
     0, 0, 0, Field{36, 39}.mask()},
    {"configuration 2", kConfig2, 8, kConfig2Notification.mask(), 0, 0, 0, Field{16, 63}.mask()},
    {"status", kStatus, 8, 0, 0, kStatusOverflow.mask() | kStatusLevel.mask(), 0,
     Field{1, 15}.mask() | Field{42, 63}.mask()},
    {"head", kHead, 2, 0xffff, 0xffff, 0, 0},
    {"tail", kTail, 2, 0xffff, 0, 0, 0},
};

}  // namespace pmukit::models::cxl_hmu
