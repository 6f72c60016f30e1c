// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "models/hisi_ptt/tuner.hpp"

#include <gtest/gtest.h>

#include "models/fake_machine.hpp"

namespace pmukit::models::hisi_ptt {
namespace {

constexpr uint64_t kOperationNs = 5000;

class TunerTest : public testing::Test {
protected:
    void finish()
    {
        EXPECT_TRUE(tuner.busy());
        machine.now += kOperationNs;
        EXPECT_FALSE(tuner.busy());
    }
    uint32_t read(uint32_t event)
    {
        tuner.write_ctrl(event);
        tuner.write_data(kTuningRead);
        finish();
        return tuner.data();
    }
    void set(uint32_t event, uint32_t value)
    {
        tuner.write_ctrl(event);
        tuner.write_data(value);
        finish();
    }

    FakeMachine machine;
    Tuner tuner{machine, kOperationNs};
};

TEST_F(TunerTest, EveryEventHasASeparateLevel)
{
    const uint32_t events[] = {kTuneQosTxCpl, kTuneQosTxNp, kTuneQosTxP, kTuneRxAllocBufLevel,
                               kTuneTxAllocBufLevel};
    uint32_t value = 0;
    for (const uint32_t event : events)
        set(event, value++ % 3);
    value = 0;
    for (const uint32_t event : events)
        EXPECT_EQ(read(event), value++ % 3) << event;
}

TEST_F(TunerTest, LevelsAreClampedToTwo)
{
    for (const uint32_t value : {2u, 3u, 0xffffu}) {
        set(kTuneQosTxP, 0);
        set(kTuneQosTxP, value);
        EXPECT_EQ(read(kTuneQosTxP), 2u) << value;
    }
}

TEST_F(TunerTest, LevelIsTheLowHalfOfTuningData)
{
    set(kTuneQosTxP, 0x00050001);
    EXPECT_EQ(read(kTuneQosTxP), 1u);
}

TEST_F(TunerTest, OperationCompletesAfterItsDuration)
{
    tuner.write_ctrl(kTuneQosTxNp);
    tuner.write_data(2);
    machine.now += kOperationNs - 1;
    EXPECT_TRUE(tuner.busy());
    machine.now++;
    EXPECT_FALSE(tuner.busy());
    EXPECT_EQ(tuner.operations(), 1u);
}

TEST_F(TunerTest, SecondOperationWhileBusyIsDropped)
{
    tuner.write_ctrl(kTuneQosTxNp);
    tuner.write_data(2);
    tuner.write_ctrl(kTuneQosTxP);
    tuner.write_data(0);
    EXPECT_EQ(tuner.ctrl(), kTuneQosTxNp);
    finish();
    EXPECT_EQ(read(kTuneQosTxNp), 2u);
    EXPECT_EQ(read(kTuneQosTxP), 1u);
    EXPECT_EQ(machine.lines.size(), 2u);
}

TEST_F(TunerTest, UnknownEventCompletesAndIsLogged)
{
    EXPECT_EQ(read(0x00080004), 0u);
    EXPECT_TRUE(machine.logged("no event"));
}

TEST_F(TunerTest, BitsOfTuningCtrlOutsideTheEventAreKeptAndIgnored)
{
    set(0xab000000 | kTuneQosTxCpl, 2);
    EXPECT_EQ(tuner.ctrl(), 0xab000000 | kTuneQosTxCpl);
    EXPECT_EQ(read(kTuneQosTxCpl), 2u);
}

TEST_F(TunerTest, PowerOnRestoresTheLevels)
{
    set(kTuneQosTxCpl, 2);
    tuner.write_data(0);
    tuner.power_on();
    EXPECT_FALSE(tuner.busy());
    EXPECT_EQ(read(kTuneQosTxCpl), 1u);
}

}  // namespace
}  // namespace pmukit::models::hisi_ptt
