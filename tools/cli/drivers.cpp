// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/drivers.hpp"

#include <algorithm>
#include <array>

namespace pmukit::cli {

// One line per driver, sorted by name. drivers/<driver>/driver.cpp has its description.
#define PMUKIT_DRIVERS(DRIVER) \
    DRIVER(cache_qos)          \
    DRIVER(cxl_hmu)            \
    DRIVER(hisi_ptt)           \
    DRIVER(imc)                \
    DRIVER(uncore_pmon)

#define DECLARE(name) extern const DriverDescription name##_driver;
PMUKIT_DRIVERS(DECLARE)

namespace {

#define ADDRESS(name) &name##_driver,
constexpr std::array kDrivers = {PMUKIT_DRIVERS(ADDRESS)};

std::vector<const Driver *> find_recorded()
{
    std::vector<const Driver *> recorded;
    for (const DriverDescription *driver : kDrivers)
        if (driver->recorded)
            recorded.push_back(driver->recorded);
    return recorded;
}

}  // namespace

std::span<const DriverDescription *const> drivers()
{
    return kDrivers;
}

Drivers recorded_drivers()
{
    static const std::vector<const Driver *> recorded = find_recorded();
    return recorded;
}

const DriverDescription *recorder_of_pmu(std::string_view pmu)
{
    const auto at = std::ranges::find_if(kDrivers, [pmu](const DriverDescription *driver) {
        return driver->recorded && driver->recorded->has_pmu(pmu);
    });
    return at == kDrivers.end() ? nullptr : *at;
}

const OtherSource *other_source_of(std::string_view name)
{
    for (const DriverDescription *driver : kDrivers)
        if (driver->other_source && driver->other_source->name == name)
            return driver->other_source;
    return nullptr;
}

const OtherSource *mounted_source(const Host &host)
{
    for (const DriverDescription *driver : kDrivers)
        if (driver->other_source && driver->other_source->is_mounted(host))
            return driver->other_source;
    return nullptr;
}

const DriverDescription *driver_of_name(std::string_view name)
{
    const auto at = std::ranges::find(kDrivers, name, &DriverDescription::name);
    return at == kDrivers.end() ? nullptr : *at;
}

}  // namespace pmukit::cli
