// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// What can be chosen about the trace block, and whether it can be built that way.
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
    std::vector<uint16_t> root_ports;       // served; the range runs from the lowest to the highest
    std::vector<vfu::LinkPlace> functions;  // under them: whose traffic a generator makes up
    unsigned sicl = 0;
    unsigned core = 2;
    uint64_t tune_ns = 5000;  // of an operation
    uint64_t tick_ns = 10;    // of the time stamps
    std::optional<GeneratorParams> generator{};
    std::optional<FloodParams> flood{};
    MessageParams messages;
    bool wide_tags = false;  // tags of 14 bits, where the entry has bits for them
    bool lenient = false;    // what the documentation does not allow is no violation
    const Fault *fault = nullptr;
};

// One line naming the option and its limits when the device cannot be built.
Result<void> check(const Options &options);

}  // namespace pmukit::models::hisi_ptt
