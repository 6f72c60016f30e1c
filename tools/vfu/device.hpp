// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The interface between a device model and its host. A model implements Device, through which the
// guest accesses it, and uses DMA, interrupts and time through Host. Neither class depends on
// sockets, so a test can implement Host. All calls come from one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/bytes.hpp"

namespace pmukit::vfu {

class BarMemory;
class ConfigSpace;

class Host {
public:
    virtual ~Host() = default;

    // DMA by guest-physical (or, under a vIOMMU, IO virtual) address. Returns false, and copies
    // nothing, if some byte of the range is not mapped.
    virtual bool dma_read(uint64_t address, std::span<std::byte> into) = 0;
    virtual bool dma_write(uint64_t address, Bytes from) = 0;

    // Sends message-signaled interrupt `vector`. A vector masked or not enabled by the guest stays
    // pending as the PCI specification says; a vector the function does not have is logged and
    // dropped.
    virtual void raise(unsigned vector) = 0;

    // Monotonic nanoseconds. A model must not use another clock and must not sleep.
    virtual uint64_t now_ns() const = 0;

    // Logs, in one line, an error of the guest or a refusal by the model.
    virtual void log(std::string_view line) = 0;
};

class Device {
public:
    virtual ~Device() = default;

    // PCI configuration space with its BAR sizes, capabilities and write masks; built once, lives
    // as long as the device. The server applies config accesses to it; BAR sizes do not change.
    virtual ConfigSpace &config() = 0;

    // A trapped BAR access. offset + width lies inside the BAR, width is 1, 2, 4 or 8. With a width
    // or alignment that a register does not allow, a read returns all ones and a write is ignored;
    // the model logs both.
    virtual uint64_t bar_read(unsigned bar, uint64_t offset, unsigned width) = 0;
    virtual void bar_write(unsigned bar, uint64_t offset, unsigned width, uint64_t value) = 0;

    // A BAR access by DMA of another function, for a device that distinguishes these accesses from
    // those of CPUs.
    virtual uint64_t peer_read(unsigned bar, uint64_t offset, unsigned width)
    {
        return bar_read(bar, offset, width);
    }
    virtual void peer_write(unsigned bar, uint64_t offset, unsigned width, uint64_t value)
    {
        bar_write(bar, offset, width, value);
    }

    // The memory of a BAR that the guest maps: the server does not call bar_read() and bar_write()
    // for it. It has the size of the BAR and lives as long as the device; the BAR contains no MSI-X
    // structure. With such a BAR QEMU waits for an answer to every write, even to other BARs.
    virtual BarMemory *bar_memory(unsigned /*bar*/) { return nullptr; }

    // Returns true if loads and stores of a BAR represent CXL.mem requests. The CXL memory is a BAR
    // because QEMU can trap only BAR accesses. The packets of these accesses have the protocol
    // kCxlMem (traffic.hpp).
    virtual bool is_cxl_mem(unsigned /*bar*/) const { return false; }

    // Function-level, bus or machine reset: restores the power-on state except for sticky state.
    // The server has already reset the configuration space.
    virtual void reset() = 0;

    // Time of the next call of advance(); nullopt: no deadline. The server calls advance() when
    // this time has passed, and before every access to a BAR or to configuration space. So a model
    // need not update its state at other times.
    virtual std::optional<uint64_t> next_deadline_ns() const = 0;
    virtual void advance(uint64_t now_ns) = 0;
};

}  // namespace pmukit::vfu
