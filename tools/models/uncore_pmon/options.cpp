// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "models/uncore_pmon/options.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <bit>

namespace pmukit::models::uncore_pmon {

namespace {

constexpr uint64_t kMinDdr = 4096;
constexpr uint64_t kMaxDdr = uint64_t{1} << 30;
constexpr unsigned kMinWidth = 24;
constexpr unsigned kMaxWidth = 64;
constexpr uint64_t kMaxBelowWrap = (uint64_t{1} << kMinWidth) - 1;
constexpr unsigned kMaxTableBar = 1;  // behind it are the units and the DDR range

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

}  // namespace

Result<void> check(const Options &options)
{
    const Bound bounds[] = {
        {"--imc", options.imcs, 0, kMaxImcs},
        {"--ddr", options.ddr_bytes, kMinDdr, kMaxDdr},
        {"--serves: number of root ports", options.root_ports.size(), 0, kMaxPorts},
        {"--unknown", options.unknown, 0, kMaxUnknown},
        {"--msr-units", options.msr_units, 0, kMaxListed},
        {"--pci-units", options.pci_units, 0, kMaxListed},
        {"--width", options.box.width, kMinWidth, kMaxWidth},
        {"--below-wrap", options.box.below_wrap, 0, kMaxBelowWrap},
        {"--stride", options.stride, kEntryWords, kGlobalStride.limit()},
        {"--table-bar", options.table_bar, 0, kMaxTableBar},
    };
    for (const Bound &bound : bounds) {
        if (bound.value < bound.min || bound.value > bound.max)
            return usage(fmt::format("{} {}: must be {} to {}", bound.option, bound.value,
                                     bound.min, bound.max));
    }
    if (!std::has_single_bit(options.ddr_bytes))
        return usage(fmt::format("--ddr {}: must be a power of two", options.ddr_bytes));
    if (options.units() == 0)
        return usage("--imc 0: there must be some unit");
    if (options.max_units != 0 &&
        (options.max_units < options.units() || options.max_units > kGlobalMaxUnits.limit()))
        return usage(fmt::format("--max-units {}: must be {} (the units there are) to {}",
                                 options.max_units, options.units(), kGlobalMaxUnits.limit()));
    if (options.table_64bit && options.table_bar != 0)
        return usage("--table-64bit: takes BAR 0 and 1, so it goes with --table-bar 0 only");
    if (options.fault && options.imcs < 2)
        return usage(fmt::format("--fault {}: wants --imc 2 or more", options.fault->name));
    return {};
}

}  // namespace pmukit::models::uncore_pmon
