// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Compares the bit functions of the shim with std::bitset and simple loops.
extern "C" {
#include <linux/bitmap.h>
#include <linux/log2.h>
}

#include <gtest/gtest.h>

#include <bitset>
#include <random>

namespace {

constexpr unsigned kMost = 200;
using Bits = std::bitset<kMost>;

struct Map {
    DECLARE_BITMAP(words, kMost) = {};
    explicit Map(const Bits &bits)
    {
        for (unsigned i = 0; i < kMost; i++)
            if (bits[i])
                __set_bit(i, words);
    }
};

Bits first(const Bits &bits, unsigned nbits)
{
    return bits & ~(~Bits() << nbits);
}

Bits of(const unsigned long *words, unsigned nbits)
{
    Bits bits;
    for (unsigned i = 0; i < nbits; i++)
        bits[i] = test_bit(i, words);
    return bits;
}

Bits random_bits(std::mt19937 &random)
{
    Bits bits;
    const unsigned density = 1 + random() % 8;
    for (unsigned i = 0; i < kMost; i++)
        bits[i] = random() % density == 0;
    return bits;
}

TEST(KshimBitmap, IgnoresBitsPastTheEnd)
{
    std::mt19937 random(1);
    for (unsigned nbits = 1; nbits <= kMost; nbits++) {
        const Bits a = random_bits(random), b = nbits % 5 ? random_bits(random) : a;
        const Map ma(a), mb(b);
        const Bits fa = first(a, nbits), fb = first(b, nbits);
        unsigned long out[BITS_TO_LONGS(kMost)] = {};
        EXPECT_EQ(bitmap_weight(ma.words, nbits), fa.count());
        EXPECT_EQ(bitmap_equal(ma.words, mb.words, nbits), fa == fb);
        EXPECT_EQ(bitmap_subset(ma.words, mb.words, nbits), (fa & ~fb).none());
        EXPECT_EQ(bitmap_intersects(ma.words, mb.words, nbits), (fa & fb).any());
        EXPECT_EQ(bitmap_empty(ma.words, nbits), fa.none());
        EXPECT_EQ(bitmap_full(ma.words, nbits), fa.count() == nbits);
        EXPECT_EQ(bitmap_and(out, ma.words, mb.words, nbits), (fa & fb).any());
        EXPECT_EQ(of(out, nbits), (fa & fb));
        EXPECT_EQ(bitmap_andnot(out, ma.words, mb.words, nbits), (fa & ~fb).any());
        EXPECT_EQ(of(out, nbits), (fa & ~fb));
        bitmap_or(out, ma.words, mb.words, nbits);
        EXPECT_EQ(of(out, nbits), (fa | fb));
    }
}

TEST(KshimBitmap, FindsSetAndClearBits)
{
    std::mt19937 random(2);
    for (unsigned nbits = 1; nbits <= kMost; nbits++) {
        const Bits bits = random_bits(random);
        const Map map(bits);
        for (unsigned at = 0; at <= nbits; at++) {
            unsigned set = at, clear = at;
            while (set < nbits && !bits[set])
                set++;
            while (clear < nbits && bits[clear])
                clear++;
            ASSERT_EQ(find_next_bit(map.words, nbits, at), set);
            ASSERT_EQ(find_next_zero_bit(map.words, nbits, at), clear);
        }
        unsigned long bit;
        unsigned seen = 0;
        for_each_set_bit(bit, map.words, nbits) seen += bits[bit];
        EXPECT_EQ(seen, first(bits, nbits).count());
    }
}

TEST(KshimBitmap, SetsAndClearsRanges)
{
    unsigned long map[BITS_TO_LONGS(kMost)] = {};
    bitmap_fill(map, kMost);
    bitmap_clear(map, 10, 120);
    bitmap_set(map, 63, 2);
    EXPECT_FALSE(test_bit(62, map));
    EXPECT_TRUE(test_bit(63, map) && test_bit(64, map));
    EXPECT_FALSE(test_bit(65, map));
    EXPECT_EQ(bitmap_weight(map, kMost), kMost - 120 + 2);
    bitmap_zero(map, kMost);
    EXPECT_TRUE(bitmap_empty(map, kMost));
}

TEST(KshimLog2, Log2AndPowerOfTwoFunctionsMatchASimpleLoop)
{
    for (unsigned long n = 1; n < 5000; n++) {
        int log2 = 0;
        while ((2UL << log2) <= n)
            log2++;
        EXPECT_EQ(ilog2(n), log2);
        EXPECT_EQ(__fls(n), static_cast<unsigned long>(log2));
        EXPECT_EQ(fls(static_cast<unsigned>(n)), log2 + 1);
        EXPECT_EQ(is_power_of_2(n), n == 1UL << log2);
        EXPECT_EQ(rounddown_pow_of_two(n), 1UL << log2);
        EXPECT_EQ(roundup_pow_of_two(n), n == 1UL << log2 ? n : 2UL << log2);
        EXPECT_EQ(__ffs(n), static_cast<unsigned long>(__builtin_ctzl(n)));
    }
    EXPECT_FALSE(is_power_of_2(0));
    EXPECT_EQ(fls(0), 0);
    EXPECT_EQ(hweight32(0xf0f0U), 8U);
    EXPECT_EQ(hweight64(~0ULL), 64U);
}

}  // namespace
