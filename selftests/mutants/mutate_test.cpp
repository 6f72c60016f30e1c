// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "mutate.hpp"

#include <gtest/gtest.h>

namespace pmukit::mutants {
namespace {

// Returns the text with each mutant of one kind.
std::vector<std::string> results(std::string_view text, std::string_view kind)
{
    std::vector<std::string> out;
    for (const Mutant &mutant : list_mutants(text))
        if (mutant.kind == kind)
            out.push_back(mutated(text, mutant));
    return out;
}

using Texts = std::vector<std::string>;

TEST(Mutate, ReplacesMinOrMaxByEachArgumentAndClampByItsValue)
{
    EXPECT_EQ(results("x = min(a, b(c, d));", "drop-clamp"),
              (Texts{"x = (a);", "x = ( b(c, d));"}));
    EXPECT_EQ(results("x = min_t(u32, a, b);", "drop-clamp"), (Texts{"x = ( a);", "x = ( b);"}));
    EXPECT_EQ(results("x = std::max<size_t>(a, b);", "drop-clamp"),
              (Texts{"x = (a);", "x = ( b);"}));
    EXPECT_EQ(results("x = clamp(v, lo, hi);", "drop-clamp"), (Texts{"x = (v);"}));
}

TEST(Mutate, ReplacesTheMaskOfEachFieldMacroByAnotherMaskOfTheText)
{
    EXPECT_EQ(results("a = FIELD_GET(A, r); b = FIELD_PREP(B, v);", "swap-field"),
              (Texts{"a = FIELD_GET(B, r); b = FIELD_PREP(B, v);",
                     "a = FIELD_GET(A, r); b = FIELD_PREP(A, v);"}));
    EXPECT_TRUE(results("a = FIELD_GET(A, r);", "swap-field").empty());
}

TEST(Mutate, DisablesOnlyIfStatementsWhoseBodyLeavesTheBlock)
{
    EXPECT_EQ(results("if (a(b) ||\n    c)\n\treturn -EINVAL;", "drop-check"),
              (Texts{"if (0 && (a(b) ||\n    c))\n\treturn -EINVAL;"}));
    EXPECT_TRUE(results("if (a)\n\tb();", "drop-check").empty());
    EXPECT_TRUE(results("if (auto a = b(); !a)\n\treturn a;", "drop-check").empty());
}

TEST(Mutate, ChangesComparisonOperatorsButNotTemplateBrackets)
{
    EXPECT_EQ(results("f(a < b, std::vector<int> c)", "shift-compare"),
              (Texts{"f(a <= b, std::vector<int> c)"}));
    EXPECT_EQ(results("a == b", "shift-compare"), (Texts{"a != b"}));
}

TEST(Mutate, OffByOneChangesOnlyTheLiteral1)
{
    EXPECT_EQ(results("a + 1;", "off-by-one"), (Texts{"a + 0;"}));
    EXPECT_TRUE(results("a + 10; b - 1.5;", "off-by-one").empty());
}

TEST(Mutate, DropsCompoundAssignmentsAndIncrements)
{
    EXPECT_EQ(results("{\n\ts->bits &= ~w1c;\n\tn++;\n}", "drop-update"),
              (Texts{"{\n\t;\n\tn++;\n}", "{\n\ts->bits &= ~w1c;\n\t;\n}"}));
}

TEST(Mutate, IgnoresCommentsStringsAndPreprocessor)
{
    EXPECT_TRUE(
        list_mutants("/* a < b */ // c + 1\n#define X \\\n\ta < b\nchar c = '\"'; s = \"a < b\";")
            .empty());
    EXPECT_EQ(results("n = 1'000 + 1;\nif (a) // why\n\treturn;", "drop-check"),
              (Texts{"n = 1'000 + 1;\nif (0 && (a)) // why\n\treturn;"}));
}

TEST(Mutate, LineNumbersOfMutantsBeginWithOne)
{
    EXPECT_EQ(line_of("a\nb\nc", 0), 1u);
    EXPECT_EQ(line_of("a\nb\nc", 4), 3u);
}

constexpr std::string_view kHand =
    "# a comment\n"
    "mutant one\nfile a.c\ntests t\n- x = 1;\n- y = 2;\n+ x = 2;\n"
    "\nmutant two\nfile b.c\ntests u\n- gone();\n";

TEST(HandMutant, ParsesAList)
{
    auto list = parse_hand_mutants(kHand);
    ASSERT_TRUE(list);
    ASSERT_EQ(list->size(), 2u);
    EXPECT_EQ((*list)[0].name, "one");
    EXPECT_EQ((*list)[0].before, (Texts{"x = 1;", "y = 2;"}));
    EXPECT_EQ((*list)[1].file, "b.c");
    EXPECT_TRUE((*list)[1].after.empty());
}

TEST(HandMutant, ReplacesLinesIgnoringIndentation)
{
    auto list = parse_hand_mutants(kHand);
    ASSERT_TRUE(list);
    auto text = mutated("a\n\tx = 1;\n\ty = 2;\nb\n", (*list)[0]);
    ASSERT_TRUE(text);
    EXPECT_EQ(*text, "a\nx = 2;\nb\n");
}

TEST(HandMutant, RejectsMissingAndDuplicateLines)
{
    auto list = parse_hand_mutants(kHand);
    ASSERT_TRUE(list);
    EXPECT_FALSE(mutated("nothing", (*list)[1]));
    EXPECT_FALSE(mutated("gone();\ngone();\n", (*list)[1]));
}

TEST(HandMutant, RejectsIncompleteLists)
{
    EXPECT_FALSE(parse_hand_mutants("file a.c\n"));
    EXPECT_FALSE(parse_hand_mutants("mutant one\nfile a.c\n- x\n"));
    EXPECT_FALSE(parse_hand_mutants("mutant one\nfile a.c\ntests t\n"));
    EXPECT_FALSE(parse_hand_mutants("mutant one\nnonsense\n"));
}

}  // namespace
}  // namespace pmukit::mutants
