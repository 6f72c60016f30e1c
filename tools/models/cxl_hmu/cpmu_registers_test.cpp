// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "models/cxl_hmu/cpmu_registers.hpp"

#include <gtest/gtest.h>

#include "models/fake_machine.hpp"

namespace pmukit::models::cxl_hmu {
namespace {

constexpr unsigned kMessage = 15;

class Cpmu : public testing::Test {
protected:
    FakeMachine host_;
    CpmuRegisters cpmu_{kMessage, host_};
};

// The test decodes the fields as drivers/perf/cxl_pmu.c does.
TEST_F(Cpmu, CapabilityHasFreezeInterruptAndCountersWritableWhenFrozen)
{
    const uint64_t capability = cpmu_.read(0, 8);
    EXPECT_EQ(capability & 0x3f, CpmuRegisters::kCounters - 1);
    EXPECT_EQ(capability >> 8 & 0xff, 48u);
    EXPECT_EQ(capability >> 20 & 0x1f, 0u) << "one group of events";
    EXPECT_EQ(capability >> 44 & 0xf, kMessage);
    EXPECT_EQ(capability >> 48 & 0x7, 0x7u);
    EXPECT_EQ(cpmu_.bytes(), 0xe00u);
}

TEST_F(Cpmu, EveryCounterIsConfigurableForTheEventGroup)
{
    EXPECT_EQ(cpmu_.read(0x100, 8) >> 48, 0x1e98u);
    for (unsigned i = 0; i < CpmuRegisters::kCounters; i++) {
        EXPECT_EQ(cpmu_.read(0x200 + 8 * i, 8), 2u);
        cpmu_.write(0x200 + 8 * i, 8, 0x0200'0101);
        EXPECT_EQ(cpmu_.read(0x200 + 8 * i, 8), 0x0200'0102u) << "its type is not written";
    }
    EXPECT_EQ(cpmu_.read(0x200 + 8 * CpmuRegisters::kCounters, 8), 0u);
}

TEST_F(Cpmu, CountersKeepTheWrittenValueUntilReset)
{
    cpmu_.write(0x18, 8, ~uint64_t{0});
    EXPECT_EQ(cpmu_.read(0x18, 8), 0xfu);
    cpmu_.write(0xc08, 8, ~uint64_t{0});
    host_.now += 1'000'000'000;
    EXPECT_EQ(cpmu_.read(0xc08, 8), 0xffff'ffff'ffffu);
    cpmu_.write(0x10, 8, ~uint64_t{0});
    EXPECT_EQ(cpmu_.read(0x10, 8), 0u);
    cpmu_.reset();
    EXPECT_EQ(cpmu_.read(0xc08, 8), 0u);
    EXPECT_TRUE(host_.lines.empty());
}

TEST_F(Cpmu, InvalidAccessIsDroppedAndLogged)
{
    EXPECT_EQ(cpmu_.read(2, 2), ~uint64_t{0});
    cpmu_.write(0xc04, 8, 1);
    EXPECT_EQ(cpmu_.read(0xc00, 8), 0u);
    EXPECT_EQ(host_.lines.size(), 2u);
}

}  // namespace
}  // namespace pmukit::models::cxl_hmu
