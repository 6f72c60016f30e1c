// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The line between a device model and the machine it sits in. A model implements Device and sees
// the guest only through it; whatever it wants from the machine it asks of Host. Neither knows
// sockets, so a test can be the host. All calls come from one thread.
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

    // DMA by guest-physical (or, under a vIOMMU, IO virtual) address. False: some byte of the
    // range is not mapped; then nothing was copied.
    virtual bool dma_read(uint64_t address, std::span<std::byte> into) = 0;
    virtual bool dma_write(uint64_t address, Bytes from) = 0;

    // Sends message-signalled interrupt `vector`. A vector masked or not enabled by the guest stays
    // pending as the PCI specification says; a vector the function does not have is logged and
    // dropped.
    virtual void raise(unsigned vector) = 0;

    // Monotonic nanoseconds. A model never asks another clock and never sleeps.
    virtual uint64_t now_ns() const = 0;

    // What the guest did wrong, or the model refused, in one line.
    virtual void log(std::string_view line) = 0;
};

class Device {
public:
    virtual ~Device() = default;

    // PCI configuration space with its BAR sizes, capabilities and write masks; built once, lives
    // as long as the device. The server applies config accesses to it; BAR sizes do not change.
    virtual ConfigSpace &config() = 0;

    // A trapped BAR access. offset + width lies inside the BAR, width is 1, 2, 4 or 8. A width or
    // alignment a register does not allow is the model's to answer (all ones / ignored) and log.
    virtual uint64_t bar_read(unsigned bar, uint64_t offset, unsigned width) = 0;
    virtual void bar_write(unsigned bar, uint64_t offset, unsigned width, uint64_t value) = 0;

    // The same by another function's DMA, for a device that counts only what CPUs do.
    virtual uint64_t peer_read(unsigned bar, uint64_t offset, unsigned width)
    {
        return bar_read(bar, offset, width);
    }
    virtual void peer_write(unsigned bar, uint64_t offset, unsigned width, uint64_t value)
    {
        bar_write(bar, offset, width, value);
    }

    // The memory behind a BAR that the guest shall map: then bar_read() and bar_write() never hear
    // of it. It has the size of the BAR, lives as long as the device, and MSI-X is elsewhere. From
    // then on QEMU waits for an answer to every write, also to the other BARs.
    virtual BarMemory *bar_memory(unsigned /*bar*/) { return nullptr; }

    // Whether the guest's accesses to a BAR stand for CXL.mem requests, as QEMU can only trap loads
    // and stores of a BAR: on a link they are distinct from those of CXL.io (traffic.hpp).
    virtual bool is_cxl_mem(unsigned /*bar*/) const { return false; }

    // Function-level, bus or machine reset: to the power-on state but for what is sticky. The
    // server has already reset the configuration space.
    virtual void reset() = 0;

    // Time: the server calls advance() when next_deadline_ns() has passed, and before every access
    // to a BAR or to configuration space, so a model may catch up lazily. nullopt: nothing is
    // planned.
    virtual std::optional<uint64_t> next_deadline_ns() const = 0;
    virtual void advance(uint64_t now_ns) = 0;
};

}  // namespace pmukit::vfu
