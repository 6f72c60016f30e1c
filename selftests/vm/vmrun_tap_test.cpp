// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "vmrun_tap.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace pmukit::vm {
namespace {

constexpr std::string_view kGood =
    "TAP version 13\n"
    "1..3\n"
    "# Starting 3 tests from 1 test cases.\n"
    "#  RUN           global.one ...\n"
    "ok 1 global.one\n"
    "ok 2 - two words # SKIP no device\n"
    "ok 3 three # XFAIL known\n"
    "# Totals: pass:2 fail:0 xfail:1 xpass:0 skip:1 error:0\n";

bool fails(std::string_view text, int exit_code)
{
    auto results = parse_tap("p", text, exit_code);
    return std::any_of(results.begin(), results.end(),
                       [](const TestResult &r) { return r.verdict == Verdict::kFail; });
}

TEST(Tap, ReadsPassSkipAndExpectedFailure)
{
    auto results = parse_tap("p", kGood, 0);
    ASSERT_EQ(results.size(), 3u);
    EXPECT_EQ(results[0].verdict, Verdict::kPass);
    EXPECT_EQ(results[0].name, "global.one");
    EXPECT_EQ(results[1].verdict, Verdict::kSkip);
    EXPECT_EQ(results[1].name, "two words");
    EXPECT_EQ(results[1].reason, "SKIP no device");
    EXPECT_EQ(results[2].verdict, Verdict::kPass);
}

TEST(Tap, OutputTruncatedBeforeTheLastResultFails)
{
    size_t needed = kGood.find("ok 3") + 6;  // "ok 3 t" is enough for the third result
    for (size_t length = 0; length < kGood.find("ok 3") + 4; length++)
        EXPECT_TRUE(fails(kGood.substr(0, length), 0)) << length;
    EXPECT_FALSE(fails(kGood.substr(0, needed), 0));
}

TEST(Tap, NotOkResultFails)
{
    EXPECT_TRUE(fails("1..1\nnot ok 1 a\n", 1));
    EXPECT_TRUE(fails("1..1\nnot ok 1 a # SKIP is no excuse\n", 0));
}

TEST(Tap, FailsIfTheResultsDoNotMatchThePlan)
{
    EXPECT_TRUE(fails("ok 1 a\n", 0));
    EXPECT_TRUE(fails("1..2\nok 1 a\n", 0));
    EXPECT_TRUE(fails("1..1\nok 1 a\nok 2 b\n", 0));
    EXPECT_TRUE(fails("1..2\nok 1 a\nok 1 b\n", 0));
    EXPECT_TRUE(fails("1..2\nok 1 a\nok 3 b\n", 0));
    EXPECT_TRUE(fails("1..1\n1..1\nok 1 a\n", 0));
    EXPECT_TRUE(fails("1..0\n", 0));
}

TEST(Tap, FailsIfTheExitCodeContradictsTheResults)
{
    EXPECT_FALSE(fails("1..1\nok 1 a\n", 0));
    EXPECT_TRUE(fails("1..1\nok 1 a\n", 139));
    EXPECT_TRUE(fails("1..1\nok 1 a\n", 4));
    EXPECT_FALSE(fails("1..1\nok 1 a # SKIP b\n", 4));
}

TEST(Tap, AcceptsSkipOfWholeProgram)
{
    auto results = parse_tap("p", "TAP version 13\n1..0 # SKIP no device\n", 4);
    ASSERT_EQ(results.size(), 1u);
    EXPECT_EQ(results[0].verdict, Verdict::kSkip);
    EXPECT_EQ(results[0].reason, "no device");
}

TEST(Tap, BailOutFailsTheProgram)
{
    EXPECT_TRUE(fails("1..1\nok 1 a\nBail out! no memory\n", 0));
}

TEST(ExpectedSkips, ApplyOnlyToTheirKernelProgramAndTest)
{
    auto skips = ExpectedSkips::parse(
        "# comment\n6.1 prog global.one # no vectors on 6.1\n* prog two # never\n");
    EXPECT_TRUE(skips.errors().empty());
    EXPECT_TRUE(skips.contains("6.1", {"prog", "global.one", Verdict::kSkip, ""}));
    EXPECT_FALSE(skips.contains("7.2", {"prog", "global.one", Verdict::kSkip, ""}));
    EXPECT_TRUE(skips.contains("7.2", {"prog", "two", Verdict::kSkip, ""}));
    EXPECT_FALSE(skips.contains("7.2", {"other", "two", Verdict::kSkip, ""}));
}

TEST(ExpectedSkips, RequireAReason)
{
    EXPECT_EQ(ExpectedSkips::parse("* prog two\n").errors().size(), 1u);
    EXPECT_EQ(ExpectedSkips::parse("* prog # reason\n").errors().size(), 1u);
}

}  // namespace
}  // namespace pmukit::vm
