// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Messages of the vfio-user protocol 0.0 ("vfio-user Protocol Specification" in QEMU's interop
// documents). The bodies are structures of <linux/vfio.h>, in host byte order, because both ends
// are on one host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <type_traits>

#include "base/bytes.hpp"

namespace pmukit::vfu::wire {

enum class Command : uint16_t {
    kVersion = 1,
    kDmaMap = 2,
    kDmaUnmap = 3,
    kGetInfo = 4,
    kGetRegionInfo = 5,
    kGetRegionIoFds = 6,
    kGetIrqInfo = 7,
    kSetIrqs = 8,
    kRegionRead = 9,
    kRegionWrite = 10,
    kDmaRead = 11,   // the server sends it to the client
    kDmaWrite = 12,  // the server sends it to the client
    kReset = 13,
    kDirtyPages = 14,
};

inline constexpr uint32_t kTypeMask = 0xf;
inline constexpr uint32_t kTypeRequest = 0;
inline constexpr uint32_t kTypeReply = 1;
inline constexpr uint32_t kNoReply = 1u << 4;
inline constexpr uint32_t kError = 1u << 5;

struct Header {
    uint16_t id;
    uint16_t command;
    uint32_t size_bytes;  // including this header
    uint32_t flags;
    uint32_t error;  // an errno, in replies with kError
};

// A NUL-terminated JSON object with the sender's capabilities follows.
struct Version {
    uint16_t major;
    uint16_t minor;
};

inline constexpr uint32_t kDmaReadable = 1u << 0;
inline constexpr uint32_t kDmaWritable = 1u << 1;

struct DmaMap {
    uint32_t argsz;
    uint32_t flags;
    uint64_t offset;  // offset in the file that is received with the message
    uint64_t address;
    uint64_t size_bytes;
};

inline constexpr uint32_t kUnmapAll = 1u << 1;

struct DmaUnmap {
    uint32_t argsz;
    uint32_t flags;
    uint64_t address;
    uint64_t size_bytes;
};

inline constexpr uint32_t kDeviceResets = 1u << 0;
inline constexpr uint32_t kDeviceIsPci = 1u << 1;

struct DeviceInfo {
    uint32_t argsz;
    uint32_t flags;
    uint32_t regions;
    uint32_t irqs;
};

// Region indices of a PCI device: 0..5 are the BARs.
inline constexpr uint32_t kRegionConfig = 7;
inline constexpr uint32_t kRegions = 9;
inline constexpr uint32_t kRegionReadable = 1u << 0;
inline constexpr uint32_t kRegionWritable = 1u << 1;
inline constexpr uint32_t kRegionMappable = 1u << 2;  // the reply has a descriptor to map

struct RegionInfo {
    uint32_t argsz;
    uint32_t flags;
    uint32_t index;
    uint32_t capability_offset;
    uint64_t size_bytes;
    uint64_t offset;
};

// Interrupt indices of a PCI device: 0 INTx, 1 MSI, 2 MSI-X, 3 error, 4 request
inline constexpr uint32_t kIrqMsi = 1;
inline constexpr uint32_t kIrqMsix = 2;
inline constexpr uint32_t kIrqs = 5;
inline constexpr uint32_t kIrqTakesEventfd = 1u << 0;

struct IrqInfo {
    uint32_t argsz;
    uint32_t flags;
    uint32_t index;
    uint32_t count;
};

inline constexpr uint32_t kIrqDataNone = 1u << 0;
inline constexpr uint32_t kIrqDataBool = 1u << 1;  // one byte per vector follows
inline constexpr uint32_t kIrqDataEventfd = 1u << 2;
inline constexpr uint32_t kIrqActionMask = 1u << 3;
inline constexpr uint32_t kIrqActionUnmask = 1u << 4;
inline constexpr uint32_t kIrqActionTrigger = 1u << 5;

struct IrqSet {
    uint32_t argsz;
    uint32_t flags;
    uint32_t index;
    uint32_t start;
    uint32_t count;
};

// The data follows in a write and in the reply to a read.
struct RegionAccess {
    uint64_t offset;
    uint32_t region;
    uint32_t count;
};

static_assert(sizeof(Header) == 16);
static_assert(offsetof(Header, size_bytes) == 4 && offsetof(Header, error) == 12);
static_assert(sizeof(Version) == 4);
static_assert(sizeof(DmaMap) == 32 && offsetof(DmaMap, address) == 16);
static_assert(sizeof(DmaUnmap) == 24 && offsetof(DmaUnmap, address) == 8);
static_assert(sizeof(DeviceInfo) == 16);
static_assert(sizeof(RegionInfo) == 32 && offsetof(RegionInfo, size_bytes) == 16);
static_assert(sizeof(IrqInfo) == 16);
static_assert(sizeof(IrqSet) == 20);
static_assert(sizeof(RegionAccess) == 16);

// Limits of this server. It never allocates memory by a size that a client sent.
inline constexpr uint32_t kMaxTransferBytes = 64 * 1024;
inline constexpr uint32_t kMaxMessageBytes =
    sizeof(Header) + sizeof(RegionAccess) + kMaxTransferBytes;
inline constexpr uint32_t kMaxMessageFds = 16;  // QEMU accepts no more

// Returns the structure at the beginning of the bytes; nullopt if there are too few bytes.
template <typename T>
std::optional<T> get(Bytes from)
{
    static_assert(std::is_trivially_copyable_v<T> && std::has_unique_object_representations_v<T>);
    if (from.size() < sizeof(T))
        return std::nullopt;
    T value;
    std::memcpy(&value, from.data(), sizeof value);
    return value;
}

// The caller ensures that the value fits.
template <typename T>
void put(std::byte *to, const T &value)
{
    static_assert(std::is_trivially_copyable_v<T> && std::has_unique_object_representations_v<T>);
    std::memcpy(to, &value, sizeof value);
}

}  // namespace pmukit::vfu::wire
