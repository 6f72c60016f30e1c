// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "vfu/msix.hpp"

#include "vfu/test_support.hpp"

namespace pmukit::vfu {
namespace {

using test::bytes_of;
using test::make_eventfd;
using test::make_full_eventfd;
using test::signals;

constexpr unsigned kVectorCount = 70;  // two words of pending bits
constexpr uint64_t control_of(unsigned vector)
{
    return vector * Msix::kEntryBytes + 12;
}

class MsixTest : public testing::Test {
protected:
    MsixTest()
    {
        msix.set_function_open(true);
        for (unsigned vector = 0; vector < kVectorCount; vector++) {
            events.push_back(make_eventfd());
            msix.set_trigger(vector, Fd(dup(events[vector].get())));
        }
    }
    void set_mask(unsigned vector, uint32_t mask)
    {
        msix.write_table(control_of(vector), bytes_of(mask));
    }
    uint64_t pending_word(unsigned word)
    {
        std::array<std::byte, 8> bytes;
        msix.read_pending(word * 8, bytes);
        return load_le<uint64_t>(bytes.data());
    }

    Msix msix{kVectorCount};
    std::vector<Fd> events;
};

TEST_F(MsixTest, UnmaskedVectorIsSentAtOnce)
{
    msix.raise(69);
    EXPECT_EQ(signals(events[69]), 1u);
    EXPECT_EQ(signals(events[0]), 0u);
    EXPECT_EQ(pending_word(1), 0u);
}

TEST_F(MsixTest, FunctionThatMayNotSendKeepsVectorsPending)
{
    msix.set_function_open(false);
    msix.raise(3);
    msix.raise(3);
    msix.raise(65);
    EXPECT_EQ(pending_word(0), 8u);
    EXPECT_EQ(pending_word(1), 2u);
    msix.set_function_open(true);
    EXPECT_EQ(signals(events[3]), 1u);  // pending is one bit, not a count
    EXPECT_EQ(signals(events[65]), 1u);
    EXPECT_EQ(pending_word(0), 0u);
}

TEST_F(MsixTest, MaskedVectorIsSentOnUnmask)
{
    set_mask(5, 1);
    msix.raise(5);
    msix.raise(6);
    EXPECT_EQ(signals(events[5]), 0u);
    EXPECT_EQ(signals(events[6]), 1u);
    EXPECT_EQ(pending_word(0), 1u << 5);
    set_mask(5, 0);
    EXPECT_EQ(signals(events[5]), 1u);
    EXPECT_EQ(pending_word(0), 0u);
}

TEST_F(MsixTest, UnmaskingWithNothingPendingSendsNothing)
{
    set_mask(5, 1);
    set_mask(5, 0);
    EXPECT_EQ(signals(events[5]), 0u);
}

TEST_F(MsixTest, UnmaskingInAMaskedFunctionSendsNothing)
{
    set_mask(5, 1);
    msix.raise(5);
    msix.set_function_open(false);
    set_mask(5, 0);
    EXPECT_EQ(signals(events[5]), 0u);
    msix.set_function_open(true);
    EXPECT_EQ(signals(events[5]), 1u);
}

TEST_F(MsixTest, UnwrittenTableReadsAsMaskedButBlocksNoVector)
{
    std::array<std::byte, 4> control;
    msix.read_table(control_of(0), control);
    EXPECT_EQ(load_le<uint32_t>(control.data()), 1u);
    msix.raise(0);
    EXPECT_EQ(signals(events[0]), 1u);
}

TEST_F(MsixTest, AVectorWithoutAnEventfdStaysPendingUntilItHasOne)
{
    msix.set_trigger(1, Fd());
    msix.raise(1);
    EXPECT_EQ(pending_word(0), 2u);
    msix.set_trigger(1, Fd(dup(events[1].get())));
    EXPECT_EQ(signals(events[1]), 1u);
    EXPECT_EQ(pending_word(0), 0u);
}

TEST_F(MsixTest, ResetClearsPendingBitsAndMaskBitsButKeepsEventfds)
{
    set_mask(2, 1);
    msix.raise(2);
    msix.write_table(0, bytes_of(~uint64_t{0}));
    msix.reset();
    EXPECT_EQ(pending_word(0), 0u);
    std::array<std::byte, 16> entry;
    msix.read_table(0, entry);
    EXPECT_EQ(load_le<uint64_t>(entry.data()), 0u);
    EXPECT_EQ(load_le<uint32_t>(entry.data() + 12), 1u);
    msix.raise(2);
    EXPECT_EQ(signals(events[2]), 0u);  // after the reset, the function may not send
    msix.set_function_open(true);
    EXPECT_EQ(signals(events[2]), 1u);
}

TEST_F(MsixTest, ClearedEventfdsAreNotSignaled)
{
    msix.clear_triggers();
    msix.raise(0);
    EXPECT_EQ(signals(events[0]), 0u);
    EXPECT_EQ(pending_word(0), 1u);
}

TEST_F(MsixTest, TableEntriesStoreImplementedBits)
{
    const std::vector<std::byte> ones(16, std::byte{0xff});
    msix.write_table(16, ones);
    std::array<std::byte, 16> entry;
    msix.read_table(16, entry);
    EXPECT_EQ(load_le<uint64_t>(entry.data()), 0xfffffffffffffffcu);
    EXPECT_EQ(load_le<uint32_t>(entry.data() + 8), 0xffffffffu);
    EXPECT_EQ(load_le<uint32_t>(entry.data() + 12), 1u);
    // The adjacent entries are unchanged.
    msix.read_table(0, entry);
    EXPECT_EQ(load_le<uint64_t>(entry.data()), 0u);
    msix.read_table(32, entry);
    EXPECT_EQ(load_le<uint64_t>(entry.data()), 0u);
}

TEST_F(MsixTest, FullEventfdDoesNotBlock)
{
    msix.set_trigger(5, make_full_eventfd());
    msix.raise(5);
    EXPECT_EQ(pending_word(0), 0u);
    msix.raise(6);
    EXPECT_EQ(signals(events[6]), 1u);
}

TEST_F(MsixTest, AccessesMayCrossEntries)
{
    msix.write_table(12, bytes_of(uint64_t{0x1234567800000001}));
    std::array<std::byte, 8> bytes;
    msix.read_table(12, bytes);
    EXPECT_EQ(load_le<uint64_t>(bytes.data()), 0x1234567800000001u);
}

TEST_F(MsixTest, PendingBitsPastTheLastVectorAreZero)
{
    msix.set_function_open(false);
    for (unsigned vector = 0; vector < kVectorCount; vector++)
        msix.raise(vector);
    EXPECT_EQ(pending_word(0), ~uint64_t{0});
    EXPECT_EQ(pending_word(1), 0x3fu);
}

TEST(Eventfd, IsDistinguishedFromOtherDescriptors)
{
    EXPECT_TRUE(is_eventfd(make_eventfd().get()));
    EXPECT_FALSE(is_eventfd(test::make_memory(1).get()));
    EXPECT_FALSE(is_eventfd(-1));
}

TEST(Eventfd, SignalReturnsFalseIfNotWritten)
{
    const Fd event = make_eventfd();
    EXPECT_TRUE(signal_eventfd(event.get()));
    EXPECT_EQ(signals(event), 1u);
    EXPECT_FALSE(signal_eventfd(make_full_eventfd().get()));
    EXPECT_FALSE(signal_eventfd(-1));
}

}  // namespace
}  // namespace pmukit::vfu
