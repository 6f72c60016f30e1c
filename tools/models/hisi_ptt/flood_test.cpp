// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "models/hisi_ptt/flood.hpp"

#include <gtest/gtest.h>

namespace pmukit::models::hisi_ptt {
namespace {

constexpr uint64_t kStart = 5'000'000'000;

// Runs from the start for until_ns in steps of step_ns; returns the number of packets.
uint64_t packets_in(const FloodParams &params, uint64_t until_ns, uint64_t step_ns)
{
    Flood flood(params);
    flood.start(kStart);
    uint64_t expected = 0;
    for (uint64_t now = kStart; now <= kStart + until_ns; now += step_ns)
        flood.run_until(now, [&](const Flood::Packets &packets) {
            EXPECT_EQ(packets.first, expected);
            EXPECT_GT(packets.count, 0u);
            EXPECT_EQ(packets.time_ns, now);
            expected += packets.count;
        });
    return expected;
}

TEST(Flood, PacketsPerSecondMatchTheRate)
{
    for (const uint64_t rate : {1u, 999u, 100'000'000u}) {
        const uint64_t packets =
            packets_in({.rate = rate, .burst = 1u << 24}, 3'000'000'000, 1'000'000);
        EXPECT_GE(packets, 3 * rate) << rate;
        EXPECT_LE(packets, 3 * rate + rate / 500 + 4) << rate;
    }
}

TEST(Flood, StopsAtTheConfiguredPacketCount)
{
    EXPECT_EQ(packets_in({.count = 12345}, 1'000'000'000, 1'000'000), 12345u);
    Flood flood({.count = 1});
    flood.start(kStart);
    flood.run_until(kStart, [](const Flood::Packets &) {});
    EXPECT_EQ(flood.next_ns(), std::nullopt);
}

TEST(Flood, EachCallReturnsAtMostOneBurst)
{
    EXPECT_EQ(packets_in({.rate = 1'000'000'000, .burst = 100}, 9'000'000, 1'000'000),
              1 + 9 * 100u);
}

TEST(Flood, EachTraceStartsWithPacket0)
{
    Flood flood(FloodParams{});
    for (const uint64_t now : {kStart, kStart + 1234567}) {
        flood.start(now);
        uint64_t first = 1;
        flood.run_until(now, [&](const Flood::Packets &packets) { first = packets.first; });
        EXPECT_EQ(first, 0u);
        flood.stop();
        EXPECT_EQ(flood.next_ns(), std::nullopt);
    }
}

TEST(Flood, ParsesItsOptionAndRefusesInvalidValues)
{
    const Result<FloodParams> params = parse_flood("rate=5,count=7,burst=9");
    ASSERT_TRUE(params);
    EXPECT_EQ(params->rate, 5u);
    EXPECT_EQ(params->count, 7u);
    EXPECT_EQ(params->burst, 9u);
    for (const char *text :
         {"", "rate", "rate=0", "rate=x", "burst=0", "speed=1", "rate=1,,count=2"})
        EXPECT_FALSE(parse_flood(text)) << text;
}

}  // namespace
}  // namespace pmukit::models::hisi_ptt
