// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// MSI-X of one function: the vector table and the pending bits, and the client's eventfds that
// signal vectors (PCI Express Base Specification 6.0, 6.1.4).
//
// QEMU emulates the table itself: it masks, unmasks and re-sends, passes only the eventfds to the
// server, and never writes this table. So the mask bit of a vector applies only once the client has
// written it through the BAR; otherwise every vector would stay masked. QEMU does pass on reads of
// the pending bits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/bytes.hpp"
#include "base/fd.hpp"

namespace pmukit::vfu {

// Returns true if the descriptor is an eventfd; a write to any other file could block.
bool is_eventfd(int fd);
// Signals an eventfd; does not block even if its counter is at the limit. Returns false if the
// eventfd could not be written.
bool signal_eventfd(int fd);

class Msix {
public:
    static constexpr size_t kEntryBytes = 16;

    // sent() is called for every message sent, with the address in its table entry.
    explicit Msix(unsigned vectors = 0, std::function<void(uint64_t address)> sent = {});

    unsigned vectors() const { return static_cast<unsigned>(vectors_.size()); }

    // Makes the vector pending and sends it as soon as nothing blocks it. vector < vectors().
    void raise(unsigned vector);

    // open: the function may send (MSI-X enabled, function not masked, bus master enabled).
    void set_function_open(bool open);

    // Sets the eventfd of a vector; an empty Fd removes it. reset() does not change it, because it
    // belongs to the client, not to the function.
    void set_trigger(unsigned vector, Fd eventfd);
    void clear_triggers();

    // The guest's accesses, relative to the table and to the pending bits; the bytes lie inside.
    void read_table(uint64_t offset, std::span<std::byte> into) const;
    void write_table(uint64_t offset, Bytes from);
    void read_pending(uint64_t offset, std::span<std::byte> into) const;

    // Function reset: restores the power-on table, clears the pending bits, sets `open` to false.
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
