// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Tests pmukit_lock. A CPU may try to take a lock that it already holds or waits for. The attempt
// must fail, because otherwise the CPU would wait for itself.
extern "C" {
// pmukit_lock is the name of both a struct and a function. In C these do not conflict; in C++ the
// function hides the struct.
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

    // Reports a failure and releases the lock, so that the waiting thread continues and the test
    // ends.
    void give_up(const char *why)
    {
        ADD_FAILURE() << why;
        lock_.raw.held = false;
    }

    // Simulates a trace event on @cpu whose handler reads an event: takes the lock and releases it.
    // Returns false if the lock cannot be taken.
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

    // Makes CPU 0 hold the lock. While CPU 1 waits for the lock, a read interrupts CPU 1 and must
    // fail; then CPU 0 releases the lock.
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

TEST_F(LockTest, ReadFailsOnCpuThatHoldsTheLock)
{
    const unsigned long flags = take_on(0);
    EXPECT_FALSE(read_on(0));
    EXPECT_FALSE(read_on(0));
    pmukit_unlock(&lock_, flags);
    EXPECT_TRUE(read_on(0));
    EXPECT_TRUE(read_on(0));
}

TEST_F(LockTest, ReadOnAnotherCpuWaitsForTheHolder)
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

TEST_F(LockTest, ReadFailsOnCpuWhoseWriterWaitsForTheLock)
{
    have_it_until_asked_on_1();
    const unsigned long flags = take_on(1);
    pmukit_unlock(&lock_, flags);
    EXPECT_TRUE(read_on(1));
}

TEST_F(LockTest, ReadFailsOnCpuWhoseReaderWaitsForTheLock)
{
    have_it_until_asked_on_1();
    EXPECT_TRUE(read_on(1));
}

TEST_F(LockTest, ReadInNmiFailsIfLockIsHeld)
{
    const unsigned long flags = take_on(0);
    kshim_now.nmi = true;
    EXPECT_FALSE(read_on(1));
    EXPECT_FALSE(read_on(0));
    kshim_now.nmi = false;
    pmukit_unlock(&lock_, flags);
    EXPECT_TRUE(read_on(1));
}

TEST_F(LockTest, ReadFailsWhileHolderCallsFunctionsThatTakeLocks)
{
    take_on(0);
    pmukit_lock_calls(&lock_, true);
    EXPECT_FALSE(read_on(1));
    pmukit_lock_calls(&lock_, false);
    while_waiting = [&] { give_back_on(0); };
    EXPECT_TRUE(read_on(1));
}

}  // namespace
