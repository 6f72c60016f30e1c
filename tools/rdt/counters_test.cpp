// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "rdt/counters.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace pmukit::rdt {
namespace {

constexpr uint32_t kOccupancy = 1, kTotal = 2, kLocal = 3;

class CountersOfAnL3 : public testing::Test {
protected:
    void make(const Shape &shape)
    {
        ASSERT_EQ(fault_of(shape), nullptr);
        ASSERT_TRUE(cache_->make(shape));
        counters_.make(shape);
    }
    void move(uint64_t lines, uint32_t rmid, bool remote = false)
    {
        for (uint64_t i = 0; i < lines; i++)
            cache_->access({next_line_++, rmid, ~0ULL, remote});
    }
    uint64_t read(uint32_t event, uint32_t rmid) { return counters_.read(*cache_, {event, rmid}); }

    std::unique_ptr<Cache> cache_ = std::make_unique<Cache>();
    Counters counters_;
    uint64_t next_line_ = 0;
};

TEST_F(CountersOfAnL3, RoundDownToWholeUnits)
{
    Shape shape;
    shape.unit = 256;
    make(shape);
    move(4 * 10 + 3, 5);
    EXPECT_EQ(read(kOccupancy, 5), 10u);
    EXPECT_EQ(read(kTotal, 5), 10u);
    EXPECT_EQ(read(kTotal, 6), 0u);
}

TEST_F(CountersOfAnL3, TotalIsLocalPlusRemote)
{
    Shape shape;
    shape.unit = 64;
    make(shape);
    move(7, 1);
    move(5, 1, true);
    EXPECT_EQ(read(kTotal, 1), 12u);
    EXPECT_EQ(read(kLocal, 1), 7u);
    EXPECT_EQ(read(kOccupancy, 1), 12u);
}

TEST_F(CountersOfAnL3, UnknownEventOrRmidReturnsError)
{
    make({});
    for (const uint32_t event : {0u, 4u, 255u})
        EXPECT_EQ(read(event, 1), 1ULL << 63) << event;
    EXPECT_EQ(read(kOccupancy, 63), 0u);
    EXPECT_EQ(read(kOccupancy, 64), 1ULL << 63);
}

TEST_F(CountersOfAnL3, WidthAndInitialValueApplyToBandwidthOnly)
{
    Shape shape;
    shape.unit = 64;
    shape.width = 24;
    shape.start = (1 << 24) - 2;
    make(shape);
    EXPECT_EQ(read(kTotal, 1), 0xfffffeu);
    move(1, 1);
    EXPECT_EQ(read(kTotal, 1), 0xffffffu);
    move(4, 1);
    EXPECT_EQ(read(kTotal, 1), 3u);
    EXPECT_EQ(read(kOccupancy, 1), 5u);
}

TEST_F(CountersOfAnL3, EveryNthReadIsUnavailableOrAnError)
{
    Shape shape;
    shape.unavailable = 3;
    shape.error = 4;
    make(shape);
    std::string seen;
    for (int i = 0; i < 12; i++) {
        const uint64_t value = read(kOccupancy, 1);
        seen += value == 1ULL << 62 ? 'u' : value == 1ULL << 63 ? 'e' : value == 0 ? '.' : '?';
    }
    EXPECT_EQ(seen, "..ue.u.eu..e");
}

TEST_F(CountersOfAnL3, LeastRecentlyReadRmidLosesItsCounter)
{
    Shape shape;
    shape.unit = 64;
    shape.counters = 2;
    make(shape);
    move(3, 1);
    EXPECT_EQ(read(kTotal, 1), 1ULL << 62);
    EXPECT_EQ(read(kTotal, 1), 0u);  // earlier traffic is lost
    move(2, 1);
    EXPECT_EQ(read(kTotal, 1), 2u);
    EXPECT_EQ(read(kLocal, 1), 2u);
    EXPECT_EQ(read(kTotal, 2), 1ULL << 62);
    EXPECT_EQ(read(kTotal, 1), 2u);
    EXPECT_EQ(read(kTotal, 3), 1ULL << 62);  // takes the counter of RMID 2
    move(1, 1);
    EXPECT_EQ(read(kTotal, 1), 3u);
    EXPECT_EQ(read(kTotal, 2), 1ULL << 62);  // takes the counter of RMID 3
    EXPECT_EQ(read(kTotal, 1), 3u);
    EXPECT_EQ(read(kOccupancy, 3), 0u);  // needs no counter
}

class CountersThatAreBound : public CountersOfAnL3 {
protected:
    void SetUp() override
    {
        Shape shape;
        shape.vendor = Vendor::kAmd;
        shape.unit = 64;
        shape.width = 44;
        shape.abmc = 4;
        make(shape);
        counters_.set_ext_cfg(kAbmcOn);
    }
    static uint64_t config(uint64_t counter, uint64_t rmid, uint64_t types)
    {
        return kAbmcApply | kAbmcEnable | counter << 48 | rmid << 32 | types;
    }
    uint64_t counter(uint32_t number) { return counters_.read(*cache_, {1, number, true}); }
};

TEST_F(CountersThatAreBound, CountConfiguredTrafficSinceBinding)
{
    move(9, 5);
    counters_.bind(*cache_, config(0, 5, 0x7f));
    counters_.bind(*cache_, config(1, 5, kLocalReads));
    counters_.bind(*cache_, config(2, 5, 0x7c));
    move(7, 5);
    move(3, 5, true);
    move(100, 6);
    EXPECT_EQ(counter(0), 10u);
    EXPECT_EQ(counter(1), 7u);
    EXPECT_EQ(counter(2), 0u) << "what is not emulated";
    EXPECT_EQ(counter(3), kError) << "not configured";
    EXPECT_EQ(counter(4), kError);
    EXPECT_EQ(read(kOccupancy, 5), 19u);
    counters_.bind(*cache_, config(0, 5, 0x7f));
    EXPECT_EQ(counter(0), 0u);
}

TEST_F(CountersThatAreBound, AreReadThroughTheEventOfTheRmidWithTheSameTrafficTypes)
{
    counters_.bind(*cache_, config(0, 5, 0x7f));
    counters_.bind(*cache_, config(1, 6, 0x15));
    counters_.bind(*cache_, config(2, 6, kLocalReads));
    move(7, 5);
    move(3, 6);
    EXPECT_EQ(read(kTotal, 5), 7u);
    EXPECT_EQ(read(kLocal, 5), kUnavailable);
    EXPECT_EQ(read(kLocal, 6), 3u);
    EXPECT_EQ(read(kTotal, 6), kUnavailable);
    counters_.set_types(0, kLocalReads);
    EXPECT_EQ(read(kTotal, 5), kUnavailable) << "another kind of traffic";
    EXPECT_EQ(read(kTotal, 6), 3u);
}

TEST_F(CountersThatAreBound, DescriptorReturnsConfiguration)
{
    counters_.bind(*cache_, config(3, 5, 0x15));
    EXPECT_EQ(counters_.bound(3ULL << 48), config(3, 5, 0x15) & ~kAbmcApply);
    EXPECT_EQ(counters_.bound(2ULL << 48), 0u) << "free";
    EXPECT_EQ(counters_.bound(4ULL << 48) & kAbmcWrong, kAbmcWrong);
}

TEST_F(CountersThatAreBound, RejectInvalidCounterRmidOrSource)
{
    for (const uint64_t wrong :
         {config(4, 5, 0x7f), config(0, 64, 0x7f), config(0, 5, 0x7f) | kAbmcClass}) {
        counters_.bind(*cache_, wrong);
        EXPECT_EQ(counters_.bound(wrong & ~kAbmcApply) & kAbmcWrong, kAbmcWrong) << wrong;
        EXPECT_EQ(counter(0), kError) << wrong;
    }
}

TEST_F(CountersThatAreBound, DisablingAbmcFreesCounters)
{
    counters_.bind(*cache_, config(0, 5, 0x7f));
    move(3, 5);
    counters_.set_ext_cfg(kAbmcOn);
    EXPECT_EQ(counter(0), 3u) << "it was on";
    counters_.set_ext_cfg(0);
    EXPECT_EQ(counter(0), kError);
    EXPECT_EQ(read(kTotal, 5), 3u);
    counters_.set_ext_cfg(kAbmcOn);
    EXPECT_EQ(counter(0), kError);
}

TEST_F(CountersThatAreBound, RmidEventsCountTheConfiguredTrafficWhileAbmcIsOff)
{
    counters_.set_ext_cfg(0);
    move(7, 5);
    move(3, 5, true);
    EXPECT_EQ(read(kTotal, 5), 10u);
    EXPECT_EQ(read(kLocal, 5), 7u);
    counters_.set_types(0, kRemoteReads);
    counters_.set_types(1, 0);
    EXPECT_EQ(read(kTotal, 5), 3u);
    EXPECT_EQ(read(kLocal, 5), 0u);
}

}  // namespace
}  // namespace pmukit::rdt
