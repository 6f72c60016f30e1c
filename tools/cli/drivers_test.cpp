// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Properties that the description of every driver must have.
#include "cli/drivers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "export/schema.hpp"

namespace pmukit::cli {
namespace {

TEST(Drivers, ListIsSortedByName)
{
    EXPECT_TRUE(std::ranges::is_sorted(drivers(), {}, &DriverDescription::name));
}

TEST(Drivers, FindsADriverByItsNameAndByItsRecordingPmu)
{
    for (const DriverDescription *driver : drivers()) {
        EXPECT_EQ(driver_of_name(driver->name), driver);
        if (driver->recorded)
            EXPECT_EQ(recorder_of_pmu(std::string(driver->recorded->pmu_prefix) + "0"), driver);
    }
    EXPECT_EQ(driver_of_name("cpu"), nullptr);
    EXPECT_EQ(recorder_of_pmu("cpu"), nullptr);
    EXPECT_EQ(recorder_of_pmu("uncore_imc_0"), nullptr) << "which only counts";
}

TEST(Drivers, DumpReportInjectAndExportExistExactlyForDriversThatRecord)
{
    for (const DriverDescription *driver : drivers()) {
        const bool records = driver->recorded != nullptr;
        EXPECT_EQ(driver->dump != nullptr, records) << driver->name;
        EXPECT_EQ(driver->report != nullptr, records) << driver->name;
        EXPECT_EQ(driver->inject != nullptr, records) << driver->name;
        EXPECT_EQ(driver->make_export != nullptr, records) << driver->name;
        EXPECT_EQ(exporter::find_table(driver->export_table) != nullptr, records) << driver->name;
        EXPECT_EQ(driver->example_terms.empty(), !records) << driver->name;
        if (records)
            EXPECT_EQ(driver->recorded->name, driver->name);
    }
}

TEST(Drivers, DriversWithATraceEventAndNoOthersHaveAViewInPmukitTop)
{
    std::set<unsigned> places;
    for (const DriverDescription *driver : drivers()) {
        EXPECT_EQ(driver->live != nullptr, driver->trace_event != nullptr) << driver->name;
        if (driver->live) {
            const unsigned place =
                driver->live([](const Stream &) { return std::string(); })->view().place;
            EXPECT_TRUE(places.insert(place).second) << driver->name;
        }
    }
}

TEST(Drivers, ModulesOfADriverIncludeOneWithItsName)
{
    for (const DriverDescription *driver : drivers())
        EXPECT_TRUE(std::ranges::count(driver->modules, driver->name)) << driver->name;
}

}  // namespace
}  // namespace pmukit::cli
