// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Selects the packets of a trace by direction, type and filter in TRACE_CTRL.
#pragma once

#include <cstdint>

#include "models/hisi_ptt/tlp.hpp"

namespace pmukit::models::hisi_ptt {

class Selection {
public:
    Selection() = default;
    explicit Selection(uint32_t trace_ctrl) : ctrl_(trace_ctrl) {}

    bool takes(const Tlp &tlp) const;
    // Returns true for a combination that the documentation reserves without defining its effect.
    bool reserved() const;

private:
    bool direction_takes(const vfu::Packet &packet) const;
    bool type_takes(const vfu::Packet &packet) const;
    bool filter_takes(const vfu::Packet &packet) const;

    uint32_t ctrl_ = 0;
};

}  // namespace pmukit::models::hisi_ptt
