// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Tests the meaning of each modifier, refused letters, and modifiers that a PMU does not support.
#include "record/modifiers.hpp"

#include <gtest/gtest.h>

#include "record/sysfs_pmu.hpp"

namespace pmukit::record {
namespace {

struct Meaning {
    const char *letters;
    Modifiers modifiers;
};

// The expected attributes are those of perf-list(1): the first letter for a level or a side
// excludes the other levels or sides.
const Meaning kMeanings[] = {
    {"", {}},
    {"u", {.exclude_kernel = true, .exclude_hv = true}},
    {"k", {.exclude_user = true, .exclude_hv = true}},
    {"h", {.exclude_user = true, .exclude_kernel = true}},
    {"uk", {.exclude_hv = true}},
    {"ukh", {}},
    {"G", {.exclude_host = true, .usual_sides = false}},
    {"H", {.exclude_guest = true, .usual_sides = false}},
    {"GH", {.usual_sides = false}},
    {"I", {.exclude_idle = true}},
    {"p", {.exclude_guest = true, .precise = 1}},
    {"pp", {.exclude_guest = true, .precise = 2}},
    {"ppp", {.exclude_guest = true, .precise = 3}},
    {"ppG", {.exclude_host = true, .usual_sides = false, .precise = 2}},
    {"P", {.most_precise = true}},
    {"S", {.sample_value = true}},
    {"D", {.pinned = true}},
    {"e", {.exclusive = true}},
    {"ukpD", {.exclude_hv = true, .exclude_guest = true, .precise = 1, .pinned = true}},
};

TEST(Modifiers, SetTheSameAttributesAsInPerf)
{
    for (const Meaning &meaning : kMeanings) {
        Modifiers modifiers;
        const auto fault = parse_modifiers(meaning.letters, modifiers);
        ASSERT_FALSE(fault) << meaning.letters << ": " << fault->why;
        EXPECT_EQ(modifiers, meaning.modifiers) << meaning.letters;
    }
}

TEST(Modifiers, RefusalNamesTheWrongLetterAndItsIndex)
{
    const struct {
        const char *letters;
        size_t at;
        const char *why;
    } faults[] = {
        {"ux", 1, "'x' is not a modifier; known: u user"},
        {"U", 0, "did you mean u?"},
        {"d", 0, "did you mean D?"},
        {"uW", 1, "'W' (weak group)"},
        {"b", 0, "'b' (BPF counters)"},
        {"ukR", 2, "'R' (retire latency)"},
        {"X", 0, "'X' (own group)"},
        {"pppp", 3, "'p' is given too often"},
        {"uu", 1, "'u' is given too often"},
        {"pP", 1, "exclude each other"},
        {"Pp", 1, "exclude each other"},
        {"u/", 1, "'/' is not a modifier"},
    };
    for (const auto &expected : faults) {
        Modifiers modifiers;
        const auto fault = parse_modifiers(expected.letters, modifiers);
        ASSERT_TRUE(fault) << expected.letters;
        EXPECT_EQ(fault->at, expected.at) << expected.letters;
        EXPECT_NE(fault->why.find(expected.why), std::string::npos)
            << expected.letters << ": " << fault->why;
    }
}

TEST(FitModifiers, PrecisionAboveCapsMaxPreciseIsRefused)
{
    const Pmu without{"old", 4, {}, {}, {}, {}};
    const Pmu two{"cpu", 4, {}, {}, {{"max_precise", "2"}}, {}};
    Modifiers asked{.precise = 3};
    EXPECT_EQ(*fit_modifiers(two, asked),
              "ppp is not supported by cpu; supported: up to pp (caps/max_precise)");
    asked.precise = 2;
    EXPECT_FALSE(fit_modifiers(two, asked));
    EXPECT_EQ(*fit_modifiers(without, asked),
              "pp is not supported by old; supported: none of them (caps/max_precise)");
}

TEST(FitModifiers, ModifierP_IsNeverRefusedAndUsesTheHighestSupportedPrecision)
{
    const Pmu without{"old", 4, {}, {}, {}, {}};
    const Pmu lying{"cpu", 4, {}, {}, {{"max_precise", "99"}}, {}};
    Modifiers asked{.most_precise = true};
    EXPECT_FALSE(fit_modifiers(without, asked));
    EXPECT_EQ(asked.precise, 0U);
    asked.most_precise = true;
    EXPECT_FALSE(fit_modifiers(lying, asked));
    EXPECT_EQ(asked.precise, 3U);
}

TEST(FitModifiers, SystemWidePmuRefusesModifiersThatExcludeSomeModes)
{
    const Pmu uncore{"uncore_imc_0", 24, {}, {}, {}, std::vector<int>{0}};
    for (const char *letters : {"u", "k", "h", "G", "H", "I", "uk"}) {
        Modifiers modifiers;
        ASSERT_FALSE(parse_modifiers(letters, modifiers));
        EXPECT_TRUE(fit_modifiers(uncore, modifiers)) << letters;
    }
    for (const char *letters : {"", "ukh", "GH", "D", "e", "S", "P"}) {
        Modifiers modifiers;
        ASSERT_FALSE(parse_modifiers(letters, modifiers));
        EXPECT_FALSE(fit_modifiers(uncore, modifiers)) << letters;
    }
}

}  // namespace
}  // namespace pmukit::record
