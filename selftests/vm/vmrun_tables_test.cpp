// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "vmrun_tables.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

namespace pmukit::vm {
namespace {

TEST(Tables, NamesAreFoundAndUnknownOnesAreNot)
{
    EXPECT_EQ(kernel_by_name("6.12")->arch, "amd64");
    EXPECT_EQ(kernel_by_name("6.12-arm64")->console, "ttyAMA0");
    EXPECT_EQ(kernel_by_name("6.13"), nullptr);
    EXPECT_EQ(unit_by_name("none"), nullptr);
    EXPECT_EQ(mode_by_name("demo"), Mode::kDemo);
    EXPECT_FALSE(mode_by_name("Demo"));
    EXPECT_EQ(placement_by_name("root-port"), Placement::kRootPort);
    EXPECT_EQ(placement_by_name("cxl-rp"), Placement::kCxlRootPort);
    EXPECT_FALSE(placement_by_name(""));
}

std::vector<Scenario> scenarios_of(const UnitSpec &unit)
{
    std::vector<Scenario> all = unit.tests;
    all.push_back(unit.demo);
    return all;
}

// A step's name is a file name and a word of /etc/vmrun/steps; a name twice would hide a result.
TEST(Tables, StepNamesAreWordsAndUnique)
{
    for (const UnitSpec &unit : units()) {
        for (const Scenario &scenario : scenarios_of(unit)) {
            std::set<std::string_view> names;
            for (const GuestStep &step : scenario.steps) {
                EXPECT_TRUE(names.insert(step.name).second) << step.name;
                EXPECT_EQ(step.name.find_first_of(" /\t"), std::string_view::npos) << step.name;
                EXPECT_GT(step.limit_seconds, 0u);
            }
        }
    }
}

// A scenario's name is a folder; "none" could never be run.
TEST(Tables, ScenariosHaveNamesOfTheirOwnAndKernelsThatExist)
{
    for (const UnitSpec &unit : units()) {
        std::set<std::string_view> names;
        for (const Scenario &scenario : scenarios_of(unit)) {
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

// The memory in front of a tapped node ends where the model's options say that the node begins, and
// both are all of a guest's memory.
TEST(Tables, ATappedNodeIsWhereTheModelIsTold)
{
    EXPECT_EQ(std::stoull(std::string(kTappedBase), nullptr, 0), mebibytes(kUntappedBytes) << 20);
    for (const KernelQuirks &kernel : kernels()) {
        EXPECT_EQ(kernel.memory, "1G");
        EXPECT_EQ(mebibytes(kUntappedBytes) + mebibytes(kTappedBytes), 1024u);
    }
    for (const UnitSpec &unit : units())
        for (const Scenario &scenario : scenarios_of(unit))
            if (scenario.tapped_node) {
                ASSERT_FALSE(scenario.models.empty() && scenario.chassis.empty());
                const std::string_view first =
                    scenario.chassis.empty() ? scenario.models[0] : scenario.chassis[0].words;
                EXPECT_NE(first.find("--tap-base {tap_base}"), first.npos);
                EXPECT_NE(first.find("--tap {out}/ring"), first.npos);
            }
}

TEST(Tables, AProcessorWithRdtIsAnEmulatedX86)
{
    for (const UnitSpec &unit : units())
        for (const Scenario &scenario : unit.tests)
            for (const KernelQuirks &kernel : kernels()) {
                if (scenario.rdt.empty() || !runs_on(scenario, kernel))
                    continue;
                EXPECT_EQ(kernel.arch, "amd64") << scenario.name;
                EXPECT_FALSE(scenario.steady || scenario.tapped_node) << scenario.name;
            }
}

TEST(Tables, AScenarioHasWhatItWantsOfOtherUnitsOnce)
{
    for (const UnitSpec &unit : units())
        for (const Scenario &scenario : scenarios_of(unit)) {
            for (const std::string_view name : scenario.beside)
                ASSERT_TRUE(unit_by_name(name)) << name;
            const UnitSpec all = with_others(unit, scenario);
            EXPECT_EQ(all.unit, unit.unit);
            // Modules of the kernel itself need none of ours.
            if (scenario.modules_instead.empty())
                EXPECT_EQ(std::ranges::count(all.modules, "pmukit_common"), 1);
            else
                EXPECT_EQ(all.modules, scenario.modules_instead);
            EXPECT_EQ(std::ranges::count(all.programs, "tools/cli/pmukit"), 1);
            for (const std::string_view name : scenario.beside)
                for (const std::string_view module : unit_by_name(name)->modules)
                    EXPECT_EQ(std::ranges::count(all.modules, module), 1) << module;
        }
}

TEST(Tables, AScenarioHasModulesOfTheKernelAndExamplesOfItsOwn)
{
    UnitSpec unit;
    unit.stock_modules = {"configfs"};
    unit.examples = {"of the unit"};
    Scenario scenario;
    EXPECT_EQ(with_others(unit, scenario).examples, unit.examples);
    scenario.stock_modules = {"msr", "configfs"};
    scenario.examples = {"of the scenario"};
    const UnitSpec all = with_others(unit, scenario);
    EXPECT_EQ(all.stock_modules, (std::vector<std::string_view>{"configfs", "msr"}));
    EXPECT_EQ(all.examples, scenario.examples);
}

TEST(Tables, AShellShowsWhatIsLoadedWhatToTryAndWhereFilesStay)
{
    for (const UnitSpec &unit : units()) {
        const std::string banner = shell_banner(unit, "demo", "6.12.1", "/folder/guest");
        // soak is all drivers together, in no guest of its own.
        EXPECT_LE(unit.unit == "soak" ? 0u : 3u, unit.examples.size()) << unit.unit;
        for (const std::string_view example : unit.examples)
            EXPECT_NE(banner.find(fmt::format("\n    {}\n", example)), banner.npos);
        EXPECT_NE(banner.find("/out is /folder/guest "), banner.npos);
        EXPECT_NE(banner.find("loaded: pmukit_common"), banner.npos) << banner;
        for (const UnitSpec &other : units())
            EXPECT_NE(banner.find(other.unit), banner.npos);
    }
}

TEST(Tables, AScenarioWithoutKernelsRunsOnAllOfThem)
{
    Scenario scenario;
    EXPECT_TRUE(runs_on(scenario, *kernel_by_name("6.1")));
    scenario.kernels = {"7.2"};
    EXPECT_FALSE(runs_on(scenario, *kernel_by_name("6.1")));
    EXPECT_TRUE(runs_on(scenario, *kernel_by_name("7.2")));
}

TEST(Tables, ARoutineIsForTheStockKernelsItNamesAndForEveryDebugKernel)
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

TEST(Tables, KernelsThatWatchThemselvesBootWithFourLevelsOfPageTables)
{
    for (std::string_view name : {"debug-6.12", "debug-7.2", "late-6.12", "kcsan-6.12"})
        EXPECT_NE(kernel_by_name(name)->append.find("no5lvl"), std::string_view::npos) << name;
    EXPECT_EQ(kernel_by_name("6.12")->append.find("no5lvl"), std::string_view::npos);
}

TEST(Tables, EachUnitHasBriefScenariosForItsTurns)
{
    for (const UnitSpec &unit : units()) {
        if (unit.unit == "soak")
            continue;
        ASSERT_FALSE(unit.brief.empty()) << unit.unit;
        for (size_t i = 0; i < unit.brief.size(); i++) {
            const Scenario *scenario = brief_scenario(unit, i);
            ASSERT_TRUE(scenario) << unit.unit << " " << unit.brief[i];
            EXPECT_EQ(scenario->name, unit.brief[i]);
            EXPECT_EQ(brief_scenario(unit, i + unit.brief.size()), scenario);
        }
    }
    EXPECT_FALSE(brief_scenario(UnitSpec{}, 0));
}

TEST(Tables, TurnsHaveTogetherWhatIsRoutine)
{
    for (const UnitSpec &unit : units())
        for (const KernelQuirks &kernel : kernels())
            for (const Scenario &scenario : unit.tests) {
                uint64_t turns = 0;
                for (uint64_t turn = 0; turn < kTurns; turn++)
                    turns += is_in_turn(unit, scenario, kernel, turn + kTurns);
                EXPECT_EQ(turns, is_routine_on(scenario, kernel) ? 1U : 0U)
                    << unit.unit << " " << kernel.kernel << " " << scenario.name;
            }
}

TEST(Tables, EachTurnHasAScenarioOfAllKernelsOnOneOfThem)
{
    for (const UnitSpec &unit : units())
        for (const Scenario &scenario : unit.tests) {
            std::vector<uint64_t> turns(kTurns);
            for (const std::string_view name : {"6.1", "6.12", "7.2"})
                for (uint64_t turn = 0; turn < kTurns; turn++)
                    turns[turn] += is_in_turn(unit, scenario, *kernel_by_name(name), turn);
            EXPECT_LE(std::ranges::max(turns), 1U) << unit.unit << " " << scenario.name;
        }
}

// Every scenario is in a plain run on some kernel, so that none is left untested. A scenario for
// --all only has a shorter equivalent beside it, or one on another kernel.
TEST(Tables, EveryScenarioIsRoutineOnAStockKernel)
{
    for (const UnitSpec &unit : units())
        for (const Scenario &scenario : unit.tests)
            EXPECT_TRUE(scenario.only_all || scenario.on_request ||
                        std::ranges::any_of(kernels(),
                                            [&](const KernelQuirks &kernel) {
                                                return !kernel.debug &&
                                                       is_routine_on(scenario, kernel);
                                            }))
                << scenario.name;
}

// Random use that met no event proves nothing.
TEST(Tables, EveryStepOfStressDemandsEvents)
{
    for (const UnitSpec &unit : units())
        for (const Scenario &scenario : unit.tests)
            for (const GuestStep &step : scenario.steps)
                EXPECT_TRUE(scenario.name != "stress" || !step.command.starts_with("pmu_stress") ||
                            step.command.find("--least-opens ") != std::string::npos)
                    << unit.unit << " " << step.name;
}

TEST(Tables, EveryJudgementDemandsSomething)
{
    for (const UnitSpec &unit : units())
        for (const Scenario &scenario : unit.tests)
            for (const HostStep &step : scenario.judgements)
                EXPECT_FALSE(step.must_say.empty()) << step.name;
}

TEST(Tables, WhatAJudgementKeepsIsInTheFolderOfTheScenario)
{
    for (const UnitSpec &unit : units())
        for (const Scenario &scenario : unit.tests)
            for (const HostStep &step : scenario.judgements)
                EXPECT_TRUE(step.output_to.empty() || step.output_to.starts_with("{out}/"))
                    << scenario.name << ": " << step.name << ": " << step.output_to;
}

bool conforms(std::string_view unit)
{
    const UnitSpec *spec = unit_by_name(unit);
    return spec && spec->conforms;
}

// Also in the chassis of another unit's scenario.
TEST(Tables, DevicesThatConformAreStrictInEveryScenario)
{
    unsigned beside = 0;
    for (const UnitSpec &unit : units())
        for (const Scenario &scenario : scenarios_of(unit)) {
            for (const std::string &model : scenario.models)
                EXPECT_TRUE(!unit.conforms || model.starts_with("--strict "))
                    << scenario.name << ": " << model;
            for (const ChassisDevice &device : scenario.chassis) {
                const std::string_view name = device.words.substr(0, device.words.find(' '));
                if (!conforms(name))
                    continue;
                beside += name != unit.unit;
                EXPECT_NE((std::string(device.words) + " ").find(" --strict "), std::string::npos)
                    << unit.unit << " " << scenario.name << ": " << device.words;
            }
        }
    EXPECT_LT(0u, beside) << "no unit has a device of another one that conforms";
}

}  // namespace
}  // namespace pmukit::vm
