// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/suite.hpp"

#include <algorithm>

#include "cli/drivers.hpp"

namespace pmukit::cli {
bool is_ours(const Host &host, std::string_view module)
{
    const std::string name(module);
    return host.has_module(module) &&
           (module == kShared || module.ends_with("_sim") || module.ends_with("_engine") ||
            host.has("sys/module/pmukit_common/holders/" + name));
}

bool has_pmu(const Host &host, std::string_view prefix)
{
    return std::ranges::any_of(
        host.names(kPmus), [prefix](const std::string &name) { return name.starts_with(prefix); });
}

const DriverDescription *counter_of_pmu(std::string_view pmu)
{
    for (const DriverDescription *driver : drivers())
        if (std::ranges::any_of(driver->counting_pmus,
                                [pmu](std::string_view prefix) { return pmu.starts_with(prefix); }))
            return driver;
    return nullptr;
}

std::optional<std::string_view> driver_on(const Host &host, std::string_view pmu)
{
    if (const DriverDescription *driver = recorder_of_pmu(pmu))
        return driver->name;
    const DriverDescription *const counter = counter_of_pmu(pmu);
    return counter && is_ours(host, counter->name) ? std::optional(counter->name) : std::nullopt;
}

}  // namespace pmukit::cli
