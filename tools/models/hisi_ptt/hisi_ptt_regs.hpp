// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Registers of the HiSilicon PCIe Tune and Trace device, as the model implements them, from public
// sources (Linux, Documentation/trace/hisi-ptt.rst, and the register use of Linux 7.2). All
// registers are 32 bits wide and in BAR 2. The driver has an independent copy.
#pragma once

#include <cstdint>

namespace pmukit::models::hisi_ptt {

// Bits low..high of a register, inclusive.
struct Field {
    unsigned low;
    unsigned high;

    constexpr uint32_t limit() const
    {
        return high - low == 31 ? ~0u : (1u << (high - low + 1)) - 1;
    }
    constexpr uint32_t mask() const { return limit() << low; }
    constexpr uint32_t get(uint32_t word) const { return (word >> low) & limit(); }
    constexpr uint32_t put(uint32_t value) const { return (value & limit()) << low; }
};

inline constexpr uint16_t kVendor = 0x19e5;
inline constexpr uint16_t kDevice = 0xa12e;
inline constexpr unsigned kRegisterBar = 2;

// --- Tune

inline constexpr uint32_t kTuningCtrl = 0x0000;  // RW
inline constexpr Field kTuningCtrlCode{0, 15};
inline constexpr Field kTuningCtrlSub{16, 23};
inline constexpr uint32_t kTuningData = 0x0004;  // RW; a write starts an operation
inline constexpr Field kTuningDataValue{0, 15};
inline constexpr uint32_t kTuningRead = 0xffffffff;  // this value in TUNING_DATA starts a read
inline constexpr uint32_t kTuningIntStat = 0x0898;   // RO
inline constexpr Field kTuningIntStatBusy{0, 0};

// Events: values of both fields of TUNING_CTRL.
inline constexpr uint32_t kTuneQosTxCpl = 0x00030004;
inline constexpr uint32_t kTuneQosTxNp = 0x00040004;
inline constexpr uint32_t kTuneQosTxP = 0x00050004;
inline constexpr uint32_t kTuneRxAllocBufLevel = 0x00060005;
inline constexpr uint32_t kTuneTxAllocBufLevel = 0x00070005;
inline constexpr uint32_t kTuneMaxLevel = 2;  // larger values are clamped to it

// --- Trace

inline constexpr unsigned kBuffers = 4;
inline constexpr uint32_t kTraceAddrSize = 0x0800;    // RW, bytes of each buffer
inline constexpr uint32_t kTraceAddrBaseLo = 0x0810;  // RW, of buffer 0
inline constexpr uint32_t kTraceAddrBaseHi = 0x0814;
inline constexpr uint32_t kTraceAddrStride = 8;  // from one address pair to the next
inline constexpr uint32_t kTraceCtrl = 0x0850;   // RW
inline constexpr Field kTraceCtrlEnable{0, 0};
inline constexpr Field kTraceCtrlReset{1, 1};
inline constexpr Field kTraceCtrlDirection{2, 3};
inline constexpr Field kTraceCtrlType{4, 7};
inline constexpr Field kTraceCtrlFormat{14, 14};      // 0: 4 dwords per entry, 1: 8
inline constexpr Field kTraceCtrlFilterMode{15, 15};  // 0: root ports, 1: a requester
inline constexpr Field kTraceCtrlTarget{16, 31};
inline constexpr uint32_t kTraceIntStat = 0x0890;  // RW1C, one bit per buffer
inline constexpr uint32_t kTraceIntMask = 0x0894;  // RW, 1: masked
inline constexpr Field kTraceIntBuffers{0, 3};
inline constexpr uint32_t kTraceWriteStatus = 0x08a0;  // RO
inline constexpr Field kTraceWriteStatusBytes{0, 27};
inline constexpr Field kTraceWriteStatusBuffer{28, 29};
inline constexpr uint32_t kTraceStatus = 0x08b0;  // RO
inline constexpr Field kTraceStatusIdle{0, 0};

inline constexpr uint32_t kTypePosted = 1u << 0;
inline constexpr uint32_t kTypeNonPosted = 1u << 1;
inline constexpr uint32_t kTypeCompletion = 1u << 2;

// --- Location

inline constexpr uint32_t kDeviceRange = 0x0fe0;  // RO: range of the root ports served
inline constexpr Field kDeviceRangeLower{0, 15};
inline constexpr Field kDeviceRangeUpper{16, 31};
inline constexpr uint32_t kLocation = 0x0fe8;  // RO
inline constexpr Field kLocationCore{0, 15};
inline constexpr Field kLocationSicl{16, 31};

// Bit of a root port in a filter mask; only the low three bits of its device number count.
constexpr unsigned port_bit(uint16_t bdf)
{
    return (bdf >> 3 & 7u) * 2;
}

// --- Entries

inline constexpr uint32_t kEntry4Bytes = 16;
inline constexpr uint32_t kEntry8Bytes = 32;
// Byte offsets of the last dword of a three-dword header in the entries of both formats.
inline constexpr uint32_t kEntry4Address = 8;
inline constexpr uint32_t kEntry8Address = 16;
inline constexpr uint32_t kEntry8Mark = 0xffffffff;  // 21 bits identify the format, 11 are reserved

// 4-dword entry: fields of its first dword, which replaces the header's first.
inline constexpr Field kEntry4Time{0, 10};
inline constexpr Field kEntry4Length{11, 20};
inline constexpr Field kEntry4StrongOrder{21, 21};
inline constexpr Field kEntry4Hint{22, 22};
inline constexpr Field kEntry4Tag8{23, 23};
inline constexpr Field kEntry4Tag9{24, 24};
inline constexpr Field kEntry4Type{25, 29};
inline constexpr Field kEntry4Format{30, 31};  // without the bit that marks a prefix

}  // namespace pmukit::models::hisi_ptt
