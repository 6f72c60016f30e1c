// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "vmrun_tables.hpp"

#include <gtest/gtest.h>

#include <set>

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
    EXPECT_FALSE(placement_by_name(""));
}

// A step's name is a file name and a word of /etc/vmrun/steps; a name twice would hide a result.
TEST(Tables, StepNamesAreWordsAndUnique)
{
    for (const UnitSpec &unit : units()) {
        for (const auto *steps : {&unit.test_steps, &unit.demo_steps}) {
            std::set<std::string_view> names;
            for (const GuestStep &step : *steps) {
                EXPECT_TRUE(names.insert(step.name).second) << step.name;
                EXPECT_EQ(step.name.find_first_of(" /\t"), std::string_view::npos) << step.name;
                EXPECT_GT(step.limit_seconds, 0u);
            }
        }
    }
}

TEST(Tables, EveryJudgementDemandsSomething)
{
    for (const UnitSpec &unit : units())
        for (const HostStep &step : unit.test_judgements)
            EXPECT_FALSE(step.must_say.empty()) << step.name;
}

}  // namespace
}  // namespace pmukit::vm
