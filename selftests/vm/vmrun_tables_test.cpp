// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "vmrun_tables.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace pmukit::vm {
namespace {

TEST(Tables, FindsKernelsDriversModesAndPlacementsByKnownNamesOnly)
{
    EXPECT_EQ(kernel_by_name("6.12")->arch, "amd64");
    EXPECT_EQ(kernel_by_name("6.12-arm64")->console, "ttyAMA0");
    EXPECT_EQ(kernel_by_name("6.13"), nullptr);
    EXPECT_EQ(driver_by_name("none"), nullptr);
    EXPECT_EQ(mode_by_name("demo"), Mode::kDemo);
    EXPECT_FALSE(mode_by_name("Demo"));
    EXPECT_EQ(placement_by_name("root-port"), Placement::kRootPort);
    EXPECT_EQ(placement_by_name("cxl-rp"), Placement::kCxlRootPort);
    EXPECT_FALSE(placement_by_name(""));
}

std::vector<Scenario> scenarios_of(const DriverSpec &driver)
{
    std::vector<Scenario> all = driver.tests;
    all.push_back(driver.demo);
    return all;
}

// The name of a step is a file name and a word of /etc/vmrun/steps. A duplicate would overwrite a
// result.
TEST(Tables, StepNamesOfAScenarioAreUniqueWords)
{
    for (const DriverSpec &driver : drivers()) {
        for (const Scenario &scenario : scenarios_of(driver)) {
            std::set<std::string_view> names;
            for (const GuestStep &step : scenario.steps) {
                EXPECT_TRUE(names.insert(step.name).second) << step.name;
                EXPECT_EQ(step.name.find_first_of(" /\t"), std::string_view::npos) << step.name;
                EXPECT_GT(step.limit_seconds, 0u);
            }
        }
    }
}

// The name of a scenario is a folder name. A scenario for an unknown kernel would never run.
TEST(Tables, ScenariosHaveUniqueNamesAndKnownKernels)
{
    for (const DriverSpec &driver : drivers()) {
        std::set<std::string_view> names;
        for (const Scenario &scenario : scenarios_of(driver)) {
            EXPECT_TRUE(names.insert(scenario.name).second) << scenario.name;
            EXPECT_FALSE(scenario.name.empty());
            EXPECT_EQ(scenario.name.find_first_of(" /\t"), std::string_view::npos);
            EXPECT_FALSE(scenario.steps.empty()) << scenario.name;
            for (std::string_view kernel : scenario.kernels)
                EXPECT_NE(kernel_by_name(kernel), nullptr) << kernel;
        }
    }
}

uint64_t mebibytes(std::string_view size)
{
    return std::stoull(std::string(size));
}

// The untapped memory ends at the address that the model's options give for the tapped node. Both
// memories together are the guest's memory.
TEST(Tables, NodeThatReportsAccessesStartsAtTheModelsTapBase)
{
    EXPECT_EQ(std::stoull(std::string(kTappedBase), nullptr, 0), mebibytes(kUntappedBytes) << 20);
    for (const KernelQuirks &kernel : kernels()) {
        EXPECT_EQ(kernel.memory, "1G");
        EXPECT_EQ(mebibytes(kUntappedBytes) + mebibytes(kTappedBytes), 1024u);
    }
    for (const DriverSpec &driver : drivers())
        for (const Scenario &scenario : scenarios_of(driver))
            if (scenario.tapped_node) {
                ASSERT_FALSE(scenario.models.empty() && scenario.chassis.empty());
                const std::string_view first =
                    scenario.chassis.empty() ? scenario.models[0] : scenario.chassis[0].words;
                EXPECT_NE(first.find("--tap-base {tap_base}"), first.npos);
                EXPECT_NE(first.find("--tap {out}/ring"), first.npos);
            }
}

TEST(Tables, RdtScenariosRunOnX86WithoutSteadyClockOrTappedNode)
{
    for (const DriverSpec &driver : drivers())
        for (const Scenario &scenario : driver.tests)
            for (const KernelQuirks &kernel : kernels()) {
                if (scenario.rdt.empty() || !runs_on(scenario, kernel))
                    continue;
                EXPECT_EQ(kernel.arch, "amd64") << scenario.name;
                EXPECT_FALSE(scenario.steady || scenario.tapped_node) << scenario.name;
            }
}

TEST(Tables, ScenarioWithOtherDriversHasEachOfTheirModulesOnce)
{
    for (const DriverSpec &driver : drivers())
        for (const Scenario &scenario : scenarios_of(driver)) {
            for (const std::string_view name : scenario.beside)
                ASSERT_TRUE(driver_by_name(name)) << name;
            const DriverSpec all = with_others(driver, scenario);
            EXPECT_EQ(all.name, driver.name);
            // Stock modules that replace the driver's modules do not need pmukit_common.
            if (scenario.modules_instead.empty())
                EXPECT_EQ(std::ranges::count(all.modules, "pmukit_common"), 1);
            else
                EXPECT_EQ(all.modules, scenario.modules_instead);
            EXPECT_EQ(std::ranges::count(all.programs, "tools/cli/pmukit"), 1);
            for (const std::string_view name : scenario.beside)
                for (const std::string_view module : driver_by_name(name)->modules)
                    EXPECT_EQ(std::ranges::count(all.modules, module), 1) << module;
        }
}

TEST(Tables, ScenarioAddsToTheDriversStockModulesAndReplacesItsExamples)
{
    DriverSpec driver;
    driver.stock_modules = {"configfs"};
    driver.examples = {"of the driver"};
    Scenario scenario;
    EXPECT_EQ(with_others(driver, scenario).examples, driver.examples);
    scenario.stock_modules = {"msr", "configfs"};
    scenario.examples = {"of the scenario"};
    const DriverSpec all = with_others(driver, scenario);
    EXPECT_EQ(all.stock_modules, (std::vector<std::string_view>{"configfs", "msr"}));
    EXPECT_EQ(all.examples, scenario.examples);
}

// tools/scripts/demo builds DEMO_PROGRAMS of the Makefile in place of all programs.
TEST(Tables, DemoProgramsAreTheCommandAndThoseOfTheMakefile)
{
    for (const DriverSpec &driver : drivers()) {
        std::ifstream makefile(fmt::format("{}/{}/Makefile", PMUKIT_SELFTESTS, driver.name));
        std::string line, program;
        while (std::getline(makefile, line) && !line.starts_with("DEMO_PROGRAMS"))
            ;
        std::istringstream words(line.starts_with("DEMO") ? line.substr(line.find('=') + 1) : "");
        std::vector<std::string> expected;
        while (words >> program)
            expected.push_back(fmt::format("selftests/{}/{}", driver.name, program));
        if (!expected.empty())
            expected.insert(expected.begin(), "tools/cli/pmukit");
        EXPECT_TRUE(std::ranges::equal(driver.demo_programs, expected)) << driver.name;
        for (const std::string_view name : driver.demo_programs)
            EXPECT_EQ(std::ranges::count(driver.programs, name), 1) << name;
    }
    EXPECT_FALSE(driver_by_name("cxl_hmu")->demo_programs.empty());
}

TEST(Tables, ShellBannerShowsModulesExamplesAndOutputFolder)
{
    for (const DriverSpec &driver : drivers()) {
        const std::string banner = shell_banner(driver, "demo", "6.12.1", "/folder/guest");
        // soak runs all drivers together and has no examples.
        EXPECT_LE(driver.name == "soak" ? 0u : 3u, driver.examples.size()) << driver.name;
        for (const std::string_view example : driver.examples)
            EXPECT_NE(banner.find(fmt::format("\n    {}\n", example)), banner.npos);
        EXPECT_NE(banner.find("/out is /folder/guest "), banner.npos);
        EXPECT_NE(banner.find("loaded: pmukit_common"), banner.npos) << banner;
        for (const DriverSpec &other : drivers())
            EXPECT_NE(banner.find(other.name), banner.npos);
    }
}

TEST(Tables, ScenarioWithoutAListOfKernelsRunsOnAllKernels)
{
    Scenario scenario;
    EXPECT_TRUE(runs_on(scenario, *kernel_by_name("6.1")));
    scenario.kernels = {"7.2"};
    EXPECT_FALSE(runs_on(scenario, *kernel_by_name("6.1")));
    EXPECT_TRUE(runs_on(scenario, *kernel_by_name("7.2")));
}

TEST(Tables, ScenarioOnRequestCanRunOnItsListedKernelsOnly)
{
    Scenario scenario;
    scenario.on_request = true;
    scenario.kernels = {"7.2"};
    EXPECT_FALSE(runs_on(scenario, *kernel_by_name("7.2")));
    EXPECT_TRUE(can_run_on(scenario, *kernel_by_name("7.2")));
    EXPECT_FALSE(can_run_on(scenario, *kernel_by_name("6.1")));
}

TEST(Tables, ScenarioIsRoutineOnItsListedKernelsAndOnDebugKernels)
{
    Scenario scenario;
    EXPECT_TRUE(is_routine_on(scenario, *kernel_by_name("6.1")));
    scenario.routine = {"7.2"};
    EXPECT_FALSE(is_routine_on(scenario, *kernel_by_name("6.1")));
    EXPECT_TRUE(is_routine_on(scenario, *kernel_by_name("7.2")));
    EXPECT_TRUE(is_routine_on(scenario, *kernel_by_name("debug-6.12")));
    scenario.kernels = {"6.1"};
    EXPECT_FALSE(is_routine_on(scenario, *kernel_by_name("debug-6.12")));
    scenario.kernels = scenario.routine = {};
    scenario.only_all = true;
    EXPECT_FALSE(is_routine_on(scenario, *kernel_by_name("6.1")));
    EXPECT_TRUE(runs_on(scenario, *kernel_by_name("6.1")));
    EXPECT_TRUE(is_routine_on(scenario, *kernel_by_name("debug-6.12")));
}

TEST(Tables, DebugKernelsUseFourLevelPageTables)
{
    for (std::string_view name : {"debug-6.12", "debug-7.2", "late-6.12", "kcsan-6.12"})
        EXPECT_NE(kernel_by_name(name)->append.find("no5lvl"), std::string_view::npos) << name;
    EXPECT_EQ(kernel_by_name("6.12")->append.find("no5lvl"), std::string_view::npos);
}

TEST(Tables, EachDriverHasBriefScenarios)
{
    for (const DriverSpec &driver : drivers()) {
        if (driver.name == "soak")
            continue;
        ASSERT_FALSE(driver.brief.empty()) << driver.name;
        for (size_t i = 0; i < driver.brief.size(); i++) {
            const Scenario *scenario = brief_scenario(driver, i);
            ASSERT_TRUE(scenario) << driver.name << " " << driver.brief[i];
            EXPECT_EQ(scenario->name, driver.brief[i]);
            EXPECT_EQ(brief_scenario(driver, i + driver.brief.size()), scenario);
        }
    }
    EXPECT_FALSE(brief_scenario(DriverSpec{}, 0));
}

TEST(Tables, EachRoutineScenarioIsInOneShard)
{
    for (const DriverSpec &driver : drivers())
        for (const KernelQuirks &kernel : kernels())
            for (const Scenario &scenario : driver.tests) {
                uint64_t shards = 0;
                for (uint64_t shard = 0; shard < kShards; shard++)
                    shards += is_in_shard(driver, scenario, kernel, shard + kShards);
                EXPECT_EQ(shards, is_routine_on(scenario, kernel) ? 1U : 0U)
                    << driver.name << " " << kernel.kernel << " " << scenario.name;
            }
}

TEST(Tables, ShardRunsAScenarioOnAtMostOneStockKernel)
{
    for (const DriverSpec &driver : drivers())
        for (const Scenario &scenario : driver.tests) {
            std::vector<uint64_t> shards(kShards);
            for (const std::string_view name : {"6.1", "6.12", "7.2"})
                for (uint64_t shard = 0; shard < kShards; shard++)
                    shards[shard] += is_in_shard(driver, scenario, *kernel_by_name(name), shard);
            EXPECT_LE(std::ranges::max(shards), 1U) << driver.name << " " << scenario.name;
        }
}

// The exceptions are scenarios that run only with --all (a shorter equivalent is routine) and
// scenarios that run only if --scenario names them.
TEST(Tables, EveryScenarioIsRoutineOnAStockKernel)
{
    for (const DriverSpec &driver : drivers())
        for (const Scenario &scenario : driver.tests)
            EXPECT_TRUE(scenario.only_all || scenario.on_request ||
                        std::ranges::any_of(kernels(),
                                            [&](const KernelQuirks &kernel) {
                                                return !kernel.debug &&
                                                       is_routine_on(scenario, kernel);
                                            }))
                << scenario.name;
}

// A stress step that never opens an event would pass without a test, so --least-opens sets a
// minimum.
TEST(Tables, StressStepsSetAMinimumOfOpenedEvents)
{
    for (const DriverSpec &driver : drivers())
        for (const Scenario &scenario : driver.tests)
            for (const GuestStep &step : scenario.steps)
                EXPECT_TRUE(scenario.name != "stress" || !step.command.starts_with("pmu_stress") ||
                            step.command.find("--least-opens ") != std::string::npos)
                    << driver.name << " " << step.name;
}

TEST(Tables, EveryHostCheckRequiresTextInTheOutput)
{
    for (const DriverSpec &driver : drivers())
        for (const Scenario &scenario : driver.tests)
            for (const HostStep &step : scenario.checks)
                EXPECT_FALSE(step.must_say.empty()) << step.name;
}

TEST(Tables, HostCheckFilesAreInScenarioFolder)
{
    for (const DriverSpec &driver : drivers())
        for (const Scenario &scenario : driver.tests)
            for (const HostStep &step : scenario.checks)
                EXPECT_TRUE(step.output_to.empty() || step.output_to.starts_with("{out}/"))
                    << scenario.name << ": " << step.name << ": " << step.output_to;
}

bool conforms(std::string_view driver)
{
    const DriverSpec *spec = driver_by_name(driver);
    return spec && spec->conforms;
}

// A conforming driver has DriverSpec::conforms. Its devices may also be in the chassis of another
// driver's scenario.
TEST(Tables, ModelsOfConformingDriversHaveOptionStrictInEveryScenario)
{
    unsigned beside = 0;
    for (const DriverSpec &driver : drivers())
        for (const Scenario &scenario : scenarios_of(driver)) {
            for (const std::string &model : scenario.models)
                EXPECT_TRUE(!driver.conforms || model.starts_with("--strict "))
                    << scenario.name << ": " << model;
            for (const ChassisDevice &device : scenario.chassis) {
                const std::string_view name = device.words.substr(0, device.words.find(' '));
                if (!conforms(name))
                    continue;
                beside += name != driver.name;
                EXPECT_NE((std::string(device.words) + " ").find(" --strict "), std::string::npos)
                    << driver.name << " " << scenario.name << ": " << device.words;
            }
        }
    EXPECT_LT(0u, beside) << "no driver has a device of another one that conforms";
}

}  // namespace
}  // namespace pmukit::vm
