// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/drivers/cache_qos/figures.hpp"

#include <gtest/gtest.h>

#include <variant>

namespace pmukit::cli {
namespace {

constexpr uint32_t kMonitors = 100;

decode::cache_qos::SeriesTable series_of_monitors()
{
    decode::cache_qos::SeriesTable series;
    for (uint32_t i = 0; i < kMonitors; i++) {
        decode::cache_qos::Reading reading;
        reading.time_ns = 1000 + i;
        reading.monitor = i;
        reading.event = PMUKIT_CACHE_QOS_EVENT_OCCUPANCY;
        reading.kind = PMUKIT_CACHE_QOS_KIND_TASK;
        reading.bytes = i;
        EXPECT_TRUE(series.add(reading));
    }
    return series;
}

size_t lines_of(const html::Figure &figure)
{
    return std::get<html::Timelines>(figure.picture).lines.size();
}

TEST(CacheFigures, EachMonitorHasALineInTheChartAndARowInTheTable)
{
    const auto figures = cache_figures({}, series_of_monitors(), false, limits::kPage);
    ASSERT_EQ(figures.size(), 1U);
    EXPECT_EQ(lines_of(figures[0]), kMonitors);
    EXPECT_EQ(figures[0].table.rows.size(), kMonitors);
}

TEST(CacheFigures, LastTableRowHasTheNumberOfMonitorsLeftOutForThePageLimit)
{
    constexpr size_t kBytes = 20000;
    const auto figures = cache_figures({}, series_of_monitors(), false, kBytes);
    ASSERT_EQ(figures.size(), 1U);
    const size_t lines = lines_of(figures[0]);
    EXPECT_GT(lines, 10U);
    EXPECT_LT(lines, 40U);
    const html::Table &table = figures[0].table;
    ASSERT_EQ(table.rows.size(), lines + 1);
    const std::string left_out = std::to_string(kMonitors - lines);
    EXPECT_TRUE(table.rows.back()[1].starts_with(left_out + " more")) << table.rows.back()[1];
    EXPECT_EQ(table.rows.back()[5], left_out) << "readings";
    EXPECT_EQ(table.total[5], std::to_string(kMonitors));
    html::Page page;
    page.add(figures[0]);
    EXPECT_LT(limits::kPage - page.bytes_left(), kBytes + 5000) << "the estimate holds";
}

}  // namespace
}  // namespace pmukit::cli
