// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Properties that the description of every driver must have.
#include "cli/drivers.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <regex>
#include <set>

#include "base/file.hpp"
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

// The terms that the sources of a driver describe for format/: name and bits.
std::map<std::string, std::string> formats_of(const std::string &driver)
{
    static const std::regex line(R"re(PMU_FORMAT_ATTR\((\w+),\s*"([\w:-]+)"\))re");
    std::map<std::string, std::string> formats;
    for (const auto &entry : std::filesystem::directory_iterator(DRIVERS_FOLDER "/" + driver)) {
        if (entry.path().extension() != ".c")
            continue;
        const std::string text = read_small_file(entry.path()).value();
        for (std::sregex_iterator at(text.begin(), text.end(), line), end; at != end; ++at)
            formats.emplace((*at)[1], (*at)[2]);
    }
    return formats;
}

std::string format_text(const Term &term)
{
    constexpr const char *kWords[] = {"config", "config1", "config2"};
    return term.first_bit == term.last_bit
               ? fmt::format("{}:{}", kWords[term.word], term.first_bit)
               : fmt::format("{}:{}-{}", kWords[term.word], term.first_bit, term.last_bit);
}

TEST(Drivers, TermsAreThoseThatTheKernelModuleDescribes)
{
    for (const DriverDescription *driver : drivers()) {
        EXPECT_EQ(driver->terms.empty(), driver->recorded == nullptr) << driver->name;
        const std::map<std::string, std::string> formats =
            driver->terms.empty() ? std::map<std::string, std::string>()
                                  : formats_of(std::string(driver->name));
        for (const Term &term : driver->terms) {
            const auto format = formats.find(std::string(term.name));
            ASSERT_NE(format, formats.end()) << driver->name << " " << term.name;
            EXPECT_EQ(format_text(term), format->second) << driver->name << " " << term.name;
        }
    }
}

TEST(Drivers, TermsTextHasTheMeaningOfValuesAndLeavesOutZeroWithoutOne)
{
    perfdata::Attr attr;
    attr.config = 3 << 2 | 4 << 10;
    attr.config1 = 1024 | uint64_t{12} << 32;
    EXPECT_EQ(
        terms_text(driver_of_name("cxl_hmu")->terms, attr),
        "epoch_type=0 (epoch), access_type=3 (non-TEE read and write), epoch_scale=4 (100 ms), "
        "hotness_threshold=1024 (counts in an epoch), hotness_granual=12 (log2 of the unit in "
        "bytes)");
    attr = {};
    attr.config = uint64_t{0x80001} | 7 << 24;
    EXPECT_EQ(terms_text(driver_of_name("hisi_ptt")->terms, attr),
              "filter=0x80001, direction=0 (inbound; only in format 0), "
              "type=7 (sum of 1 posted, 2 non-posted, 4 completions), format=0 (4DW)");
    EXPECT_EQ(terms_text(driver_of_name("imc")->terms, {}), "");
}

TEST(Drivers, ModulesOfADriverIncludeOneWithItsName)
{
    for (const DriverDescription *driver : drivers())
        EXPECT_TRUE(std::ranges::count(driver->modules, driver->name)) << driver->name;
}

}  // namespace
}  // namespace pmukit::cli
