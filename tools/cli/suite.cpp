// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/suite.hpp"

#include "session/units.hpp"

namespace pmukit::cli {
namespace {

struct Family {
    std::string_view unit;  // the module's name as well
    std::string_view prefix;
};

// PMUs that only count, and so have no line in units.hpp
constexpr Family kFamilies[] = {
    {"cache_qos", "cache_qos"}, {"imc", "core_imc"},        {"imc", "thread_imc"},
    {"imc", "nest_"},           {"uncore_pmon", "uncore_"},
};

}  // namespace

bool is_ours(const Host &host, std::string_view module)
{
    const std::string name(module);
    return host.has_module(module) &&
           (module == kShared || module.ends_with("_sim") || module.ends_with("_engine") ||
            host.has("sys/module/pmukit_common/holders/" + name));
}

std::optional<std::string_view> unit_on(const Host &host, std::string_view pmu)
{
    if (const Unit *unit = unit_of_pmu(pmu))
        return unit->name;
    for (const Family &family : kFamilies)
        if (pmu.starts_with(family.prefix) && is_ours(host, family.unit))
            return family.unit;
    return std::nullopt;
}

}  // namespace pmukit::cli
