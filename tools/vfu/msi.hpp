// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// MSI of one function: which vectors wait, and the eventfds by which the client wants to hear of
// them (PCI Express Base Specification 6.0, 6.1.4). The registers are in the configuration space;
// the session carries what the guest wrote there to set_state().
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/fd.hpp"

namespace pmukit::vfu {

class Msi {
public:
    // sent() is called for every message that leaves, with its vector.
    explicit Msi(unsigned vectors = 0, std::function<void(unsigned vector)> sent = {});

    unsigned vectors() const { return static_cast<unsigned>(triggers_.size()); }

    struct State {
        unsigned enabled_vectors = 0;  // 0: MSI is off
        uint32_t masked = 0;           // bit n: vector n; 0 without per-vector masking
        bool bus_master = false;       // a message is a memory write
    };
    void set_state(const State &state);

    // The device has something to say: sent as soon as nothing holds it back. A function that was
    // granted fewer vectors than it has sends them modulo those. While MSI is off nothing is kept.
    void raise(unsigned vector);

    // What the Pending Bits register shows.
    uint32_t pending() const { return pending_; }

    // Where to signal a vector < vectors(); an empty Fd takes the place away. Survives reset().
    void set_trigger(unsigned vector, Fd eventfd);
    void clear_triggers();

    // Function reset: off, nothing pending.
    void reset();

private:
    void send_what_can_go();

    std::vector<Fd> triggers_;
    std::function<void(unsigned)> sent_;
    State state_;
    uint32_t pending_ = 0;
};

}  // namespace pmukit::vfu
