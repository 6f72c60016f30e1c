// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// A lock that its own CPU may ask for while it has it or waits for it: no CPU waits for itself.
extern "C" {
// C has names of structs and functions apart: pmukit_lock is both.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#include <pmukit/lock.h>
#pragma GCC diagnostic pop

struct kshim_now kshim_now;
}

#include <gtest/gtest.h>

#include <functional>

namespace {

std::function<void()> while_waiting;

class LockTest : public testing::Test {
protected:
    LockTest()
    {
        pmukit_lock_init(&lock_);
        kshim_now = {0, false, [] { while_waiting(); }};
        while_waiting = [this] { give_up("waits for a lock that is never released"); };
    }

    // The waiting thread goes on, so that the test comes to its end.
    void give_up(const char *why)
    {
        ADD_FAILURE() << why;
        lock_.raw.held = false;
    }

    // As from a trace event, wherever it comes; what it takes it gives back.
    bool read_on(unsigned int cpu)
    {
        const unsigned int before = kshim_now.cpu;
        unsigned long flags;
        kshim_now.cpu = cpu;
        const bool taken = pmukit_lock_from_within(&lock_, &flags);
        if (taken)
            pmukit_unlock(&lock_, flags);
        kshim_now.cpu = before;
        return taken;
    }

    unsigned long take_on(unsigned int cpu)
    {
        kshim_now.cpu = cpu;
        return pmukit_lock(&lock_);
    }

    void give_back_on(unsigned int cpu)
    {
        const unsigned int before = kshim_now.cpu;
        kshim_now.cpu = cpu;
        pmukit_unlock(&lock_, 0);
        kshim_now.cpu = before;
    }

    // CPU 0 has the lock until CPU 1, which waits for it, was asked for it from within.
    void have_it_until_asked_on_1()
    {
        take_on(0);
        while_waiting = [this] {
            while_waiting = [this] { give_up("waits for itself"); };
            EXPECT_FALSE(read_on(1));
            give_back_on(0);
        };
    }

    struct pmukit_lock lock_;
};

TEST_F(LockTest, IsNotTakenFromWithinItself)
{
    const unsigned long flags = take_on(0);
    EXPECT_FALSE(read_on(0));
    EXPECT_FALSE(read_on(0));
    pmukit_unlock(&lock_, flags);
    EXPECT_TRUE(read_on(0));
    EXPECT_TRUE(read_on(0));
}

TEST_F(LockTest, AReaderOnAnotherCpuWaitsItsTurn)
{
    int times = 0;
    take_on(0);
    while_waiting = [&] {
        if (++times == 3)
            give_back_on(0);
    };
    EXPECT_TRUE(read_on(1));
    EXPECT_EQ(times, 3);
}

TEST_F(LockTest, AWaitingWriterIsReadFromItsOwnCpu)
{
    have_it_until_asked_on_1();
    const unsigned long flags = take_on(1);
    pmukit_unlock(&lock_, flags);
    EXPECT_TRUE(read_on(1));
}

TEST_F(LockTest, AReaderThatWaitsIsReadFromWithinAsWell)
{
    have_it_until_asked_on_1();
    EXPECT_TRUE(read_on(1));
}

TEST_F(LockTest, AnNmiNeverWaits)
{
    const unsigned long flags = take_on(0);
    kshim_now.nmi = true;
    EXPECT_FALSE(read_on(1));
    EXPECT_FALSE(read_on(0));
    kshim_now.nmi = false;
    pmukit_unlock(&lock_, flags);
    EXPECT_TRUE(read_on(1));
}

TEST_F(LockTest, AReaderDoesNotWaitForAHolderThatTakesOtherLocks)
{
    take_on(0);
    pmukit_lock_calls(&lock_, true);
    EXPECT_FALSE(read_on(1));
    pmukit_lock_calls(&lock_, false);
    while_waiting = [&] { give_back_on(0); };
    EXPECT_TRUE(read_on(1));
}

}  // namespace
