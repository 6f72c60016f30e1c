// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cxl_hmu_checker.hpp"

#include <gtest/gtest.h>

namespace pmukit::checker {
namespace {

using Units = std::set<uint64_t>;

TEST(AccessLog, CountsLoadsAndStoresByUnit)
{
    auto truth = read_access_log("# pmukit access log 1\nR 0x0 8\nW 0xfff 1\nR 0x1000 8\n", 4096);
    ASSERT_TRUE(truth);
    EXPECT_EQ((*truth)[0], (UnitAccesses{1, 1}));
    EXPECT_EQ((*truth)[1], (UnitAccesses{1, 0}));
    EXPECT_EQ(sum_of(*truth), 3u);
}

TEST(AccessLog, RefusesInvalidLogs)
{
    EXPECT_FALSE(read_access_log("", 4096));
    EXPECT_FALSE(read_access_log("R 0x0 8\n", 4096));
    EXPECT_FALSE(read_access_log("# pmukit access log 2\n", 4096));
    EXPECT_FALSE(read_access_log("# pmukit access log 1\nX 0x0 8\n", 4096));
    EXPECT_FALSE(read_access_log("# pmukit access log 1\nR 0xg 8\n", 4096));
    EXPECT_FALSE(read_access_log("# pmukit access log 1\nR 0x0 8 9\n", 4096));
    EXPECT_FALSE(read_access_log("# pmukit access log 1\nR 0x0\n", 4096));
    EXPECT_FALSE(read_access_log("# pmukit access log 1\n", 0));
}

TEST(Tally, ReadsValidLinesAndRefusesInvalidOrDuplicateLines)
{
    auto truth = read_tally("7 1 2\n9 0 3\n");
    ASSERT_TRUE(truth);
    EXPECT_EQ((*truth)[7], (UnitAccesses{1, 2}));
    EXPECT_FALSE(read_tally("7 1\n"));
    EXPECT_FALSE(read_tally("7 1 2\n7 1 2\n"));
}

TEST(Hottest, IncludesAllUnitsTiedAtTheLastRank)
{
    Truth truth{{1, {5, 0}}, {2, {3, 0}}, {3, {0, 3}}, {4, {1, 0}}};
    EXPECT_EQ(hottest(truth, 1), (Units{1}));
    EXPECT_EQ(hottest(truth, 2), (Units{1, 2, 3}));
    EXPECT_EQ(hottest(truth, 9), (Units{1, 2, 3, 4}));
    EXPECT_EQ(hottest(truth, 0), Units{});
    EXPECT_EQ(hottest({}, 3), Units{});
}

TEST(Score, ComparesOnlyTheFirstReportedUnitsUpToTheRank)
{
    Score all = score({1, 2}, {1, 2, 3}, 2);
    EXPECT_DOUBLE_EQ(all.recall, 1.0);
    EXPECT_DOUBLE_EQ(all.precision, 1.0);
    Score half = score({1, 2}, {1, 3, 2}, 2);
    EXPECT_DOUBLE_EQ(half.recall, 0.5);
    EXPECT_DOUBLE_EQ(half.precision, 0.5);
    Score few = score({1, 2, 3, 4}, {1}, 4);
    EXPECT_DOUBLE_EQ(few.recall, 0.25);
    EXPECT_DOUBLE_EQ(few.precision, 1.0);
}

TEST(Score, IsZeroIfNothingIsReported)
{
    Score none = score({1, 2}, {}, 2);
    EXPECT_DOUBLE_EQ(none.recall, 0);
    EXPECT_DOUBLE_EQ(none.precision, 0);
}

TEST(Score, CountsAUnitOnceIfItIsReportedTwice)
{
    Score twice = score({1, 2}, {1, 1}, 2);
    EXPECT_DOUBLE_EQ(twice.recall, 0.5);
    EXPECT_DOUBLE_EQ(twice.precision, 0.5);
}

TEST(Score, AcceptsAnyOfTheTiedUnits)
{
    Score tied = score({1, 2, 3}, {3, 1}, 2);
    EXPECT_DOUBLE_EQ(tied.recall, 1.0);
    EXPECT_DOUBLE_EQ(tied.precision, 1.0);
}

TEST(ReportJson, ReadsOnlyTheCxlHmuPmu)
{
    auto report = read_report(R"({"source":null,"pmus":[{"pmu":"x","driver":"other"},
        {"pmu":"cxl_hmu_mem0.0.0","driver":"cxl_hmu","unit_bytes":4096,"entries":5,"lost":1,
         "hot":[{"dpa":8192,"accesses":9,"epochs":1},{"dpa":0,"accesses":2,"epochs":1}]}]})");
    ASSERT_TRUE(report);
    EXPECT_EQ(report->hot, (std::vector<uint64_t>{2, 0}));
    EXPECT_EQ(report->entries, 5u);
    EXPECT_EQ(report->lost, 1u);
}

TEST(ReportJson, RefusesInvalidReports)
{
    EXPECT_FALSE(read_report(""));
    EXPECT_FALSE(read_report("{}"));
    EXPECT_FALSE(read_report(R"({"pmus":[]})"));
    EXPECT_FALSE(read_report(
        R"({"pmus":[{"driver":"cxl_hmu","unit_bytes":0,"entries":0,"lost":0,"hot":[]}]})"));
    EXPECT_FALSE(read_report(
        R"({"pmus":[{"driver":"cxl_hmu","unit_bytes":"x","entries":0,"lost":0,"hot":[]}]})"));
}

TEST(ModelSummary, ReadsTheLastLine)
{
    auto summary = read_model_summary(
        "model: ready socket=/x\n"
        "model: device=cxl_hmu accesses=10 reads=7 writes=3 entries=4 dropped=2\n");
    ASSERT_TRUE(summary);
    EXPECT_EQ(summary->accesses, 10u);
    EXPECT_EQ(summary->entries, 4u);
    EXPECT_EQ(summary->dropped, 2u);
    EXPECT_FALSE(read_model_summary("model: ready socket=/x\n"));
    EXPECT_FALSE(read_model_summary("model: device=cxl_hmu accesses=x entries=4 dropped=2\n"));
}

}  // namespace
}  // namespace pmukit::checker
