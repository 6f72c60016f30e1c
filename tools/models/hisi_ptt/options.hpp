// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The options of the tune and trace device, and the check of their values.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.hpp"
#include "models/hisi_ptt/faults.hpp"
#include "models/hisi_ptt/flood.hpp"
#include "models/hisi_ptt/generator.hpp"
#include "models/hisi_ptt/message_path.hpp"
#include "vfu/traffic.hpp"

namespace pmukit::models::hisi_ptt {

struct Options {
    // The root ports served. The lowest and the highest are the bounds of the device range.
    std::vector<uint16_t> root_ports;
    // Functions below the root ports. The generator makes packets of these functions.
    std::vector<vfu::LinkPlace> functions;
    unsigned sicl = 0;
    unsigned core = 2;
    uint64_t tune_ns = 5000;  // duration of a tune operation
    uint64_t tick_ns = 10;    // unit of the time stamps
    std::optional<GeneratorParams> generator{};
    std::optional<FloodParams> flood{};
    MessageParams messages;
    bool wide_tags = false;  // 14-bit tags, if the entry has bits for them
    bool lenient = false;    // report no violations
    const Fault *fault = nullptr;
};

// An error is one line with the option and its limits.
Result<void> check(const Options &options);

}  // namespace pmukit::models::hisi_ptt
