// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/drivers/cache_qos/figures.hpp"

#include <gtest/gtest.h>

#include <variant>

namespace pmukit::cli {
namespace {

constexpr uint32_t kMonitors = 100;
const std::map<uint16_t, decode::cache_qos::Header> kNoHeaders;

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
    const decode::cache_qos::SeriesTable series = series_of_monitors();
    const auto figures = cache_figures({}, {series, kNoHeaders}, limits::kPage);
    ASSERT_EQ(figures.size(), 1U);
    EXPECT_EQ(lines_of(figures[0]), kMonitors);
    EXPECT_EQ(figures[0].table.rows.size(), kMonitors);
}

TEST(CacheFigures, LastTableRowHasTheNumberOfMonitorsLeftOutForThePageLimit)
{
    constexpr size_t kBytes = 20000;
    const decode::cache_qos::SeriesTable series = series_of_monitors();
    const auto figures = cache_figures({}, {series, kNoHeaders}, kBytes);
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

// The machine and a group, whose occupancy falls from 600 to 100 bytes of an L3 with 1000 bytes.
// The group moves 30 of the 120 bytes that the machine moves.
TEST(CacheFigures, ShareIsThatOfTheLastReadingOrOfTheGrowthOverAllReadings)
{
    decode::cache_qos::SeriesTable series;
    uint64_t time_ns = 0;
    const auto read = [&](uint32_t monitor, uint8_t event, uint64_t bytes) {
        decode::cache_qos::Reading reading;
        reading.time_ns = ++time_ns;
        reading.monitor = monitor;
        reading.event = event;
        reading.kind = monitor ? PMUKIT_CACHE_QOS_KIND_GROUP : PMUKIT_CACHE_QOS_KIND_MACHINE;
        reading.bytes = bytes;
        EXPECT_TRUE(series.add(reading));
    };
    for (const auto &[occupancy, moved] : {std::pair(600, 10), {300, 15}, {100, 40}}) {
        read(0, PMUKIT_CACHE_QOS_EVENT_TOTAL, static_cast<uint64_t>(moved) * 4);
        read(7, PMUKIT_CACHE_QOS_EVENT_OCCUPANCY, static_cast<uint64_t>(occupancy));
        read(7, PMUKIT_CACHE_QOS_EVENT_TOTAL, static_cast<uint64_t>(moved));
    }
    decode::cache_qos::Header header;
    header.cache_bytes = 1000;
    const std::map<uint16_t, decode::cache_qos::Header> headers = {{0, header}};
    const CacheValues values{series, headers};
    std::map<std::string, double> shares;
    for (const auto &[key, one] : series.all())
        if (key.monitor == 7)
            shares[table_of(one).share_of] = share_of(values, key, one).value_or(-1);
    EXPECT_EQ(shares, (std::map<std::string, double>{{"last", 0.1}, {"sum", 0.25}}));
    const auto figures = cache_figures({}, values, limits::kPage);
    ASSERT_EQ(figures.size(), 2U);
    for (size_t i = 0; i < 2; i++) {
        EXPECT_EQ(figures[i].words.back(), kCacheTables[i].share);
        EXPECT_EQ(figures[i].table.rows.back()[10], i ? "25.0%" : "10.0%");
    }
    EXPECT_EQ(figures[0].table.columns[10].name, "share");
}

}  // namespace
}  // namespace pmukit::cli
