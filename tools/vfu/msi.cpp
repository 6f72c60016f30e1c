// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "vfu/msi.hpp"

#include <cassert>
#include <utility>

#include "vfu/msix.hpp"

namespace pmukit::vfu {

Msi::Msi(unsigned vectors, std::function<void(unsigned vector)> sent)
    : triggers_(vectors), sent_(std::move(sent))
{
}

void Msi::set_state(const State &state)
{
    state_ = state;
    if (state_.enabled_vectors == 0)
        pending_ = 0;
    send_what_can_go();
}

void Msi::raise(unsigned vector)
{
    if (state_.enabled_vectors == 0)
        return;
    pending_ |= 1u << (vector % state_.enabled_vectors);
    send_what_can_go();
}

void Msi::send_what_can_go()
{
    if (!state_.bus_master)
        return;
    for (unsigned vector = 0; vector < vectors(); vector++) {
        const uint32_t bit = 1u << vector;
        if (!(pending_ & bit & ~state_.masked) || !triggers_[vector])
            continue;
        // An eventfd that cannot be written is at its limit, so the client has a signal to read
        // anyway.
        signal_eventfd(triggers_[vector].get());
        pending_ &= ~bit;
        if (sent_)
            sent_(vector);
    }
}

void Msi::set_trigger(unsigned vector, Fd eventfd)
{
    assert(vector < vectors());
    triggers_[vector] = std::move(eventfd);
    send_what_can_go();
}

void Msi::clear_triggers()
{
    for (Fd &trigger : triggers_)
        trigger.reset();
}

void Msi::reset()
{
    state_ = {};
    pending_ = 0;
}

}  // namespace pmukit::vfu
