// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// A packet on the link of a root port: the packet that vfu shows, and fields that only generated
// traffic has. The encoder and the log use it independently of each other.
#pragma once

#include <cstdint>
#include <optional>

#include "vfu/traffic.hpp"

namespace pmukit::models::hisi_ptt {

struct Tlp {
    vfu::Packet packet{};
    std::optional<uint32_t> pasid{};  // 20 bits
    bool relaxed_ordering = false;
};

}  // namespace pmukit::models::hisi_ptt
