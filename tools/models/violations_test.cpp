// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "models/violations.hpp"

#include <gtest/gtest.h>

#include "models/fake_machine.hpp"

namespace pmukit::models {
namespace {

TEST(Violations, CountsAllAndLogsTheFirstTenOfEachRule)
{
    FakeMachine machine;
    Violations violations(machine, false);
    for (unsigned i = 0; i < 25; i++)
        violations.add("one", "detail");
    violations.add("other", "more");
    EXPECT_EQ(violations.count(), 26u);
    EXPECT_EQ(machine.lines.size(), 11u);
    EXPECT_EQ(machine.lines.front(), "violation: one: detail");
    EXPECT_EQ(machine.lines.back(), "violation: other: more");
}

TEST(Violations, ALenientDeviceCountsNoViolation)
{
    FakeMachine machine;
    Violations violations(machine, true);
    violations.add("one", "detail");
    EXPECT_EQ(violations.count(), 0u);
    EXPECT_TRUE(machine.lines.empty());
}

}  // namespace
}  // namespace pmukit::models
