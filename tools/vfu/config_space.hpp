// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// PCI configuration space defined by tables. A row describes a register: its value after power-on,
// its writable bits, its write-one-to-clear bits, and whether it is sticky. Functions add_*() place
// the rows; afterwards only read(), write(), set() and the resets access them. Layouts: PCI Express
// Base Specification 6.0, chapter 7.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>

#include "base/bytes.hpp"

namespace pmukit::vfu {

inline constexpr size_t kConfigSpaceBytes = 4096;
inline constexpr unsigned kBars = 6;

struct PciIds {
    uint16_t vendor = 0;
    uint16_t device = 0;
    uint16_t subsystem_vendor = 0;
    uint16_t subsystem_device = 0;
    uint32_t class_code = 0;  // 24 bits: base class, subclass, programming interface
    uint8_t revision = 0;
};

enum class BarKind { kMemory32, kMemory64, kMemory64Prefetchable };

struct BarInfo {
    BarKind kind = BarKind::kMemory32;
    uint64_t size_bytes = 0;  // a power of two, >= 16
};

// Location of the MSI-X table (16 bytes per vector) and the pending bits (8 bytes per 64 vectors).
// The server handles accesses to both, so a model never sees them.
struct MsixLayout {
    unsigned vectors = 0;  // 1..2048
    unsigned table_bar = 0;
    uint64_t table_offset = 0;  // a multiple of 8
    unsigned pba_bar = 0;
    uint64_t pba_offset = 0;  // a multiple of 8

    uint64_t table_bytes() const { return uint64_t{vectors} * 16; }
    uint64_t pba_bytes() const { return (uint64_t{vectors} + 63) / 64 * 8; }
};

struct MsiLayout {
    unsigned vectors = 1;  // a power of two up to 32
    bool masking = false;  // mask and pending bits for each vector
};

// One register. The offset counts from the first byte of the capability, its id.
struct Register {
    uint16_t offset = 0;
    uint8_t width = 0;    // 1, 2 or 4
    bool sticky = false;  // RWS, RW1CS, ROS (7.4): only power-on resets it
    uint32_t reset = 0;
    uint32_t writable = 0;          // RW bits
    uint32_t write_one_clears = 0;  // RW1C bits
};
// Bytes of a capability without a row read as zero and are read-only.
using Registers = std::span<const Register>;

// The part of a write that falls into an aligned dword: the bytes written, and 0xff in `mask` for
// each of them.
struct DwordWrite {
    uint32_t value = 0;
    uint32_t mask = 0;
};

struct ConfigWrite {
    bool function_reset = false;  // Device Control bit 15 was written as one
};

class ConfigSpace {
public:
    explicit ConfigSpace(const PciIds &ids);
    ConfigSpace(const ConfigSpace &) = delete;
    ConfigSpace &operator=(const ConfigSpace &) = delete;

    // --- building. A layout that does not fit is a bug of the model and fails an assert. Call
    // fits_bar() first for sizes from a command line.

    static bool fits_bar(BarKind kind, uint64_t size_bytes);
    // A 64-bit BAR takes the register of index + 1 too.
    void add_bar(unsigned index, BarKind kind, uint64_t size_bytes);

    // The following functions return the offset of the capability's first byte (its id), so that a
    // model can set() registers later. Each capability list has the order of the calls.

    uint16_t add_capability(uint8_t id, size_t size_bytes, Registers registers);
    // PCI Express capability, version 2, of an endpoint with function-level reset (FLR).
    uint16_t add_pcie_endpoint();
    // The BARs of the table and of the pending bits must have been added and must contain both.
    uint16_t add_msix(const MsixLayout &layout);
    // MSI capability with 64-bit addresses.
    uint16_t add_msi(const MsiLayout &layout);

    uint16_t add_extended(uint16_t id, uint8_t version, size_t size_bytes, Registers registers);
    // id is the DVSEC ID at +0x08; vendor-specific registers begin at +0x0A.
    uint16_t add_dvsec(uint16_t vendor, uint8_t revision, uint16_t id, size_t size_bytes,
                       Registers registers);
    // Advanced error reporting, version 2, without ECRC.
    uint16_t add_aer();

    // Adds a side effect of a register: `effect` is called after each write to the aligned dword at
    // `offset`, with the bytes written, including bits that the masks reject. It may call set().
    using WriteEffect = std::function<void(const DwordWrite &write)>;
    void on_write(uint16_t offset, WriteEffect effect);

    // --- the guest's side. Bytes outside the 4096 read as ones, writes to them are dropped.

    void read(uint64_t offset, std::span<std::byte> into) const;
    uint32_t read(uint64_t offset, unsigned width) const;  // width 1, 2 or 4
    ConfigWrite write(uint64_t offset, Bytes from);
    ConfigWrite write(uint64_t offset, unsigned width, uint32_t value);

    // --- the device's side

    // Sets a register regardless of masks: for changes by the device itself, such as a status bit.
    void set(uint16_t offset, unsigned width, uint32_t value);
    // Function-level or hot reset: resets all but the sticky registers.
    void reset();
    void power_on();

    // Returns no value for the upper half of a 64-bit BAR.
    std::optional<BarInfo> bar(unsigned index) const;
    uint64_t bar_address(unsigned index) const;  // as the guest wrote it; 0 without a BAR
    const std::optional<MsixLayout> &msix() const { return msix_; }
    unsigned msi_vectors() const { return msi_ ? msi_->vectors : 0; }  // 0: no MSI
    unsigned msi_enabled_vectors() const;                              // 0: MSI is off
    uint32_t msi_masked() const;                                       // bit n: vector n
    uint64_t msi_address() const;
    void set_msi_pending(uint32_t pending);  // sets the Pending Bits register, if it exists

    // Packet limits in Device Control, 128 to 4096; 128 without a PCI Express capability.
    uint32_t max_payload_bytes() const;
    uint32_t max_read_request_bytes() const;

    bool memory_enabled() const;
    bool bus_master_enabled() const;
    bool msix_enabled() const;
    bool msix_function_masked() const;

private:
    void place(const Register &reg, uint16_t base = 0);
    void place_all(Registers registers, uint16_t base, size_t size_bytes);
    void tell_effects(size_t start, Bytes written);
    uint16_t link_capability(uint8_t id, size_t size_bytes);
    bool msix_range_fits(unsigned index, uint64_t offset, uint64_t size_bytes) const;
    uint32_t packet_limit(unsigned shift) const;

    using Image = std::array<std::byte, kConfigSpaceBytes>;
    Image value_{};
    Image reset_{};
    Image write_mask_{};
    Image write_one_clears_{};
    Image sticky_{};
    std::map<uint16_t, WriteEffect> effects_;  // key: aligned offset
    bool function_reset_ = false;              // the current write requests a reset

    std::array<std::optional<BarInfo>, kBars> bars_{};
    std::array<bool, kBars> bar_taken_{};
    std::optional<MsixLayout> msix_;
    std::optional<MsiLayout> msi_;
    uint16_t msi_offset_ = 0;  // offset of the MSI capability; 0: none
    uint16_t msix_offset_ = 0;
    uint16_t pcie_offset_ = 0;

    uint16_t last_capability_ = 0;
    uint16_t next_free_ = 0x40;
    uint16_t last_extended_ = 0;
    uint16_t next_free_extended_ = 0x100;
};

}  // namespace pmukit::vfu
