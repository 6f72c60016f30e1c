// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// MSI-X of one function: the vector table and the pending bits the guest sees, and the eventfds by
// which the client wants to hear of each vector (PCI Express Base Specification 6.0, 6.1.4).
//
// QEMU keeps the table to itself: it masks, unmasks and re-sends on its own and only tells us
// the eventfds; a table that is never written would leave every vector masked for ever. So the mask
// bit of a vector counts from the first time the client writes it through the BAR, and not before.
// Reads of the pending bits do come from QEMU.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/bytes.hpp"
#include "base/fd.hpp"

namespace pmukit::vfu {

// True when the descriptor is an eventfd; a write to anything else could block us.
bool is_eventfd(int fd);
// Signals it, without waiting where its counter is at the limit. False: it could not be written.
bool signal_eventfd(int fd);

class Msix {
public:
    static constexpr size_t kEntryBytes = 16;

    // sent() is called for every message that leaves, with the address in its table entry.
    explicit Msix(unsigned vectors = 0, std::function<void(uint64_t address)> sent = {});

    unsigned vectors() const { return static_cast<unsigned>(vectors_.size()); }

    // The device has something to say. The vector becomes pending and is sent as soon as
    // nothing holds it back. vector < vectors().
    void raise(unsigned vector);

    // Whether the function may send at all: MSI-X enabled, function not masked, bus master on.
    void set_function_open(bool open);

    // Where to signal a vector; an empty Fd takes the place away. Survives reset(): it is the
    // client's wiring, not the function's state.
    void set_trigger(unsigned vector, Fd eventfd);
    void clear_triggers();

    // The guest's accesses, relative to the table and to the pending bits; the bytes lie inside.
    void read_table(uint64_t offset, std::span<std::byte> into) const;
    void write_table(uint64_t offset, Bytes from);
    void read_pending(uint64_t offset, std::span<std::byte> into) const;

    // Function reset: table as after power-on, nothing pending, closed.
    void reset();

private:
    struct Vector {
        std::array<std::byte, kEntryBytes> entry;
        bool mask_written = false;
        bool pending = false;
        Fd trigger;
    };

    static bool masked(const Vector &vector);
    static void power_on(Vector &vector);
    void send_if_possible(Vector &vector);

    std::vector<Vector> vectors_;
    std::function<void(uint64_t)> sent_;
    bool open_ = false;
};

}  // namespace pmukit::vfu
