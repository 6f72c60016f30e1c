// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "vfu/msi.hpp"

#include "vfu/test_support.hpp"

namespace pmukit::vfu {
namespace {

using test::make_eventfd;
using test::signals;

class MsiTest : public testing::Test {
protected:
    MsiTest()
    {
        for (unsigned vector = 0; vector < 4; vector++) {
            events.push_back(make_eventfd());
            msi.set_trigger(vector, Fd(dup(events[vector].get())));
        }
    }

    unsigned messages = 0;
    Msi msi{4, [this](unsigned) { messages++; }};
    std::vector<Fd> events;
};

TEST_F(MsiTest, AnEnabledVectorIsSentAtOnce)
{
    msi.set_state({4, 0, true});
    msi.raise(2);
    EXPECT_EQ(signals(events[2]), 1u);
    EXPECT_EQ(msi.pending(), 0u);
    EXPECT_EQ(messages, 1u);
}

TEST_F(MsiTest, RaiseWhileDisabledIsIgnored)
{
    msi.set_state({0, 0, true});
    msi.raise(1);
    msi.set_state({4, 0, true});
    EXPECT_EQ(signals(events[1]), 0u);
    EXPECT_EQ(messages, 0u);
}

TEST_F(MsiTest, MaskedVectorStaysPendingAndIsSentOnceOnUnmask)
{
    msi.set_state({4, 0b0100, true});
    msi.raise(2);
    msi.raise(2);
    msi.raise(1);
    EXPECT_EQ(msi.pending(), 0b0100u);
    EXPECT_EQ(signals(events[2]), 0u);
    EXPECT_EQ(signals(events[1]), 1u);
    msi.set_state({4, 0, true});
    EXPECT_EQ(signals(events[2]), 1u);
    EXPECT_EQ(msi.pending(), 0u);
    EXPECT_EQ(messages, 2u);
}

TEST_F(MsiTest, VectorStaysPendingUntilBusMasteringAndAnEventfdAreSet)
{
    msi.set_state({1, 0, false});
    msi.raise(0);
    EXPECT_EQ(signals(events[0]), 0u);
    msi.clear_triggers();
    msi.set_state({1, 0, true});
    EXPECT_EQ(msi.pending(), 1u);
    msi.set_trigger(0, Fd(dup(events[0].get())));
    EXPECT_EQ(signals(events[0]), 1u);
}

TEST_F(MsiTest, VectorBeyondTheGrantedOnesUsesAGrantedVector)
{
    msi.set_state({2, 0, true});
    msi.raise(3);
    EXPECT_EQ(signals(events[1]), 1u);
}

TEST_F(MsiTest, DisablingMsiClearsPendingVectors)
{
    msi.set_state({4, 0xf, true});
    msi.raise(0);
    msi.set_state({0, 0xf, true});
    EXPECT_EQ(msi.pending(), 0u);
    msi.set_state({4, 0, true});
    EXPECT_EQ(signals(events[0]), 0u);
}

TEST_F(MsiTest, FullEventfdDoesNotBlock)
{
    msi.set_trigger(2, test::make_full_eventfd());
    msi.set_state({4, 0, true});
    msi.raise(2);
    EXPECT_EQ(msi.pending(), 0u);
    msi.raise(1);
    EXPECT_EQ(signals(events[1]), 1u);
}

TEST_F(MsiTest, ResetClearsStateButNotEventfds)
{
    msi.set_state({4, 0xf, true});
    msi.raise(0);
    msi.reset();
    EXPECT_EQ(msi.pending(), 0u);
    msi.raise(0);
    EXPECT_EQ(messages, 0u);
    msi.set_state({4, 0, true});
    msi.raise(0);
    EXPECT_EQ(signals(events[0]), 1u);
}

}  // namespace
}  // namespace pmukit::vfu
