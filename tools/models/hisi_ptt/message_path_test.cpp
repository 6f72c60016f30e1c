// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "models/hisi_ptt/message_path.hpp"

#include <gtest/gtest.h>

#include "models/fake_machine.hpp"

namespace pmukit::models::hisi_ptt {
namespace {

// Sends ten messages. Returns, for each message that arrives, how many have been sent by then.
std::vector<unsigned> arrivals(const MessageParams &params)
{
    FakeMachine machine;
    MessagePath path(machine, params);
    std::vector<unsigned> seen;
    path.trace_begins();
    for (unsigned sent = 1; sent <= 10; sent++) {
        path.raise(0);
        while (seen.size() < machine.raised.size())
            seen.push_back(sent);
    }
    EXPECT_EQ(path.arrived(), seen.size());
    return seen;
}
using Sent = std::vector<unsigned>;

TEST(MessagePath, MsisArriveAtOnceByDefault)
{
    EXPECT_EQ(arrivals({}), (Sent{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
}

TEST(MessagePath, LateMsiArrivesWhenNLaterOnesAreSent)
{
    EXPECT_EQ(arrivals({.late = 1}), (Sent{2, 3, 4, 5, 6, 7, 8, 9, 10}));
    EXPECT_EQ(arrivals({.late = 5}), (Sent{6, 7, 8, 9, 10}));
}

TEST(MessagePath, EveryNMsisAreMergedIntoOne)
{
    EXPECT_EQ(arrivals({.merge = 3}), (Sent{3, 6, 9}));
    EXPECT_EQ(arrivals({.late = 1, .merge = 3}), (Sent{6, 9}));
}

TEST(MessagePath, EveryNthMsiIsLost)
{
    EXPECT_EQ(arrivals({.lose_every = 4}), (Sent{1, 2, 3, 5, 6, 7, 9, 10}));
    EXPECT_EQ(arrivals({.lose_every = 1}), Sent{});
}

TEST(MessagePath, LateMsiArrivesAfterTheConfiguredDelay)
{
    for (const unsigned late : {0u, 2u}) {
        FakeMachine machine;
        MessagePath path(machine, {.late = late, .late_ns = 1000});
        EXPECT_EQ(path.next_deadline_ns(), std::nullopt);
        const uint64_t sent = machine.now;
        path.raise(0);
        EXPECT_TRUE(machine.raised.empty());
        EXPECT_EQ(path.next_deadline_ns(), sent + 1000);
        path.advance(sent + 999);
        EXPECT_TRUE(machine.raised.empty());
        path.advance(sent + 1000);
        EXPECT_EQ(machine.raised.size(), 1u);
        EXPECT_EQ(path.next_deadline_ns(), std::nullopt);
    }
}

TEST(MessagePath, PendingMsisAreDiscardedWhenATraceStarts)
{
    FakeMachine machine;
    MessagePath path(machine, {.late = 1});
    path.raise(0);
    path.trace_begins();
    path.raise(0);
    EXPECT_TRUE(machine.raised.empty());
}

}  // namespace
}  // namespace pmukit::models::hisi_ptt
