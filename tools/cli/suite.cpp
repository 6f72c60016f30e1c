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

std::optional<std::string_view> driver_on(const Host &host, std::string_view pmu)
{
    if (const DriverDescription *driver = recorder_of_pmu(pmu))
        return driver->name;
    for (const DriverDescription *driver : drivers())
        if (std::ranges::any_of(
                driver->counting_pmus,
                [pmu](std::string_view prefix) { return pmu.starts_with(prefix); }) &&
            is_ours(host, driver->name))
            return driver->name;
    return std::nullopt;
}

}  // namespace pmukit::cli
