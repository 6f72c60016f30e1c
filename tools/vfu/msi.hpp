// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// MSI of one function: pending vectors, and the client's eventfds that signal them (PCI Express
// Base Specification 6.0, 6.1.4). The registers are in the configuration space; the session passes
// their values to set_state().
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/fd.hpp"

namespace pmukit::vfu {

class Msi {
public:
    // sent() is called with the vector of every message sent.
    explicit Msi(unsigned vectors = 0, std::function<void(unsigned vector)> sent = {});

    unsigned vectors() const { return static_cast<unsigned>(triggers_.size()); }

    struct State {
        unsigned enabled_vectors = 0;  // 0: MSI is off
        uint32_t masked = 0;           // bit n: vector n; 0 without per-vector masking
        bool bus_master = false;       // required, because a message is a memory write
    };
    void set_state(const State &state);

    // Makes the vector pending and sends it as soon as nothing blocks it. If the guest enabled
    // fewer vectors than the function has, the vector is taken modulo the number enabled. Does
    // nothing while MSI is off.
    void raise(unsigned vector);

    // Value of the Pending Bits register.
    uint32_t pending() const { return pending_; }

    // Sets the eventfd of a vector < vectors(); an empty Fd removes it. reset() does not change it.
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
