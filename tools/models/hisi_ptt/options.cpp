// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "models/hisi_ptt/options.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "models/hisi_ptt/tlp_log.hpp"

namespace pmukit::models::hisi_ptt {

namespace {

constexpr uint64_t kMaxTuneNs = 10'000'000'000;
constexpr uint64_t kMaxTickNs = 1'000'000;
constexpr unsigned kMaxLate = 1000;
constexpr uint64_t kMaxLateNs = 10'000'000'000;

struct Bound {
    const char *option;
    uint64_t value;
    uint64_t min;
    uint64_t max;
};

Error usage(std::string message)
{
    return Error{Errc::kUsage, std::move(message)};
}

bool served(const Options &options, uint16_t port)
{
    return std::ranges::find(options.root_ports, port) != options.root_ports.end();
}

}  // namespace

Result<void> check(const Options &options)
{
    const Bound bounds[] = {
        {"--sicl", options.sicl, 0, 0xffff},
        {"--core", options.core, 0, 0xffff},
        {"--tune-us", options.tune_ns / 1000, 0, kMaxTuneNs / 1000},
        {"--tick-ns", options.tick_ns, 1, kMaxTickNs},
        {"--irq-late", options.messages.late, 0, kMaxLate},
        {"--irq-late-us", options.messages.late_ns / 1000, 0, kMaxLateNs / 1000},
        {"--irq-merge", options.messages.merge, 1, kMaxLate},
        {"--irq-lose", options.messages.lose_every, 0, kMaxLate},
    };
    for (const Bound &bound : bounds) {
        if (bound.value < bound.min || bound.value > bound.max)
            return usage(fmt::format("{} {}: must be {} to {}", bound.option, bound.value,
                                     bound.min, bound.max));
    }
    if (options.root_ports.empty())
        return usage("--serves: at least one root port is required, as 00:10.0");
    for (const vfu::LinkPlace &place : options.functions) {
        if (!served(options, place.root_port))
            return usage(fmt::format("--function {}@{}: that port is not one of --serves",
                                     bdf_text(place.function), bdf_text(place.root_port)));
    }
    if (options.functions.empty() && (options.generator || options.flood))
        return usage(fmt::format(
            "--{}: needs a function below a root port to generate traffic for: --function",
            options.generator ? "generate" : "flood"));
    return {};
}

}  // namespace pmukit::models::hisi_ptt
