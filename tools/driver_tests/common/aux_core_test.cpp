// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Tests the arithmetic of AUX rings by comparing a ring with an array that is indexed modulo its
// size.
extern "C" {
#include <pmukit/aux_core.h>
}

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

namespace {

// 8 words per page. Because pages are this small, the tests can cover every case.
constexpr u32 kPageShift = 6;
constexpr u32 kPageWords = (1U << kPageShift) / sizeof(u64);

class Ring {
public:
    explicit Ring(u32 nr_pages) : words_(nr_pages * kPageWords, ~0ULL)
    {
        memory_.reset(static_cast<pmukit_aux_ring *>(
            std::calloc(1, sizeof(pmukit_aux_ring) + nr_pages * sizeof(void *))));
        memory_->nr_pages = nr_pages;
        memory_->page_shift = kPageShift;
        // The pages are in reverse order, because the code must not rely on adjacent pages.
        for (u32 page = 0; page < nr_pages; page++)
            memory_->pages[page] = &words_[(nr_pages - 1 - page) * kPageWords];
    }
    const pmukit_aux_ring *get() const { return memory_.get(); }
    u64 at(u64 index) const
    {
        const u64 in_ring = index % words_.size();
        return static_cast<u64 *>(memory_->pages[in_ring / kPageWords])[in_ring % kPageWords];
    }
    size_t size() const { return words_.size(); }

private:
    struct Free {
        void operator()(void *memory) const { std::free(memory); }
    };
    std::vector<u64> words_;
    std::unique_ptr<pmukit_aux_ring, Free> memory_;
};

TEST(AuxRing, SizeIsPagesTimesPageSize)
{
    EXPECT_EQ(pmukit_aux_ring_bytes(Ring(1).get()), 64U);
    EXPECT_EQ(pmukit_aux_ring_bytes(Ring(4).get()), 256U);
}

TEST(AuxRing, FreeSpaceIsRoundedDownToWords)
{
    EXPECT_EQ(pmukit_aux_room_words(0), 0U);
    EXPECT_EQ(pmukit_aux_room_words(7), 0U);
    EXPECT_EQ(pmukit_aux_room_words(8), 1U);
    EXPECT_EQ(pmukit_aux_room_words(4095), 511U);
}

TEST(AuxRing, WritesEveryLengthAtEveryPosition)
{
    for (u32 nr_pages : {1U, 2U, 4U}) {
        for (u64 head = 0; head < 3 * nr_pages * kPageWords; head++) {
            for (u32 length = 0; length <= nr_pages * kPageWords; length++) {
                Ring ring(nr_pages);
                std::vector<u64> record(length);
                for (u32 i = 0; i < length; i++)
                    record[i] = 1000 + i;
                pmukit_aux_write(ring.get(), head * sizeof(u64), record.data(), length);
                for (u32 i = 0; i < ring.size(); i++)
                    ASSERT_EQ(ring.at(head + i), i < length ? 1000 + i : ~0ULL)
                        << "pages " << nr_pages << " head " << head << " length " << length;
            }
        }
    }
}

TEST(AuxRing, HeadFarBeyondTheRingSizeIsWrapped)
{
    Ring ring(2);
    const u64 word = 42;
    pmukit_aux_write(ring.get(), ~0ULL << 7, &word, 1);
    EXPECT_EQ(ring.at(0), 42U);
}

}  // namespace
