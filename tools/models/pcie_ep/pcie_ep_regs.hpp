// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Registers of the traffic endpoint, a device of this project
// (Documentation/devices/hisi_ptt-model.rst). 32 bits each, in BAR 0.
#pragma once

#include <cstdint>

namespace pmukit::models::pcie_ep {

inline constexpr uint16_t kVendor = 0x1234;  // vendor ID of emulators for devices without hardware
inline constexpr uint16_t kDevice = 0x4550;  // "EP"

inline constexpr unsigned kRegisterBar = 0;
inline constexpr unsigned kMemoryBar = 2;

inline constexpr uint32_t kIdentity = 0x00;  // RO
inline constexpr uint32_t kIdentityValue = 0x504d4550;
inline constexpr uint32_t kAddressLow = 0x08;  // RW, address in host memory
inline constexpr uint32_t kAddressHigh = 0x0c;
inline constexpr uint32_t kOffset = 0x10;             // RW, offset in the memory of BAR 2
inline constexpr uint32_t kLength = 0x14;             // RW, bytes
inline constexpr uint32_t kCommand = 0x18;            // WO; the transfer completes within the write
inline constexpr uint32_t kCommandFetch = 1u << 0;    // host memory -> device memory
inline constexpr uint32_t kCommandStore = 1u << 1;    // device memory -> host memory
inline constexpr uint32_t kCommandMessage = 1u << 8;  // send a message when done
inline constexpr uint32_t kStatus = 0x1c;             // RO, result of the last command
inline constexpr uint32_t kStatusNone = 0;
inline constexpr uint32_t kStatusGood = 1;
// The command selects no transfer or both, or its range is empty or outside of the device memory.
inline constexpr uint32_t kStatusBadCommand = 2;
inline constexpr uint32_t kStatusNoHostMemory = 3;  // the DMA failed
inline constexpr uint32_t kDoorbell = 0x20;         // WO: sends a message
inline constexpr uint32_t kTransfers = 0x24;  // RO: successful transfers since power-on or reset

}  // namespace pmukit::models::pcie_ep
