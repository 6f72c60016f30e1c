// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Tests reads in both byte orders, and that a failed read consumes nothing.
#include "base/bytes.hpp"

#include <gtest/gtest.h>

#include <array>

namespace pmukit {
namespace {

constexpr std::array<std::byte, 8> kEight{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4},
                                          std::byte{5}, std::byte{6}, std::byte{7}, std::byte{8}};

TEST(Bytes, ByteswapReversesTheBytesOfEveryWidth)
{
    EXPECT_EQ(byteswap<uint8_t>(0x12), 0x12);
    EXPECT_EQ(byteswap<uint16_t>(0x1234), 0x3412);
    EXPECT_EQ(byteswap<uint32_t>(0x12345678U), 0x78563412U);
    EXPECT_EQ(byteswap<uint64_t>(0x123456789abcdef0ULL), 0xf0debc9a78563412ULL);
}

TEST(Bytes, LoadsInTheGivenByteOrder)
{
    EXPECT_EQ(load<uint32_t>(kEight.data(), std::endian::little), 0x04030201U);
    EXPECT_EQ(load<uint32_t>(kEight.data(), std::endian::big), 0x01020304U);
}

TEST(Bytes, LoadReturnsWhatStoreWrote)
{
    std::array<std::byte, 8> into{};
    store<uint64_t>(into.data(), 0x0102030405060708ULL, std::endian::big);
    EXPECT_EQ(into, kEight);
}

TEST(Bytes, AppendKeepsExistingBytes)
{
    std::vector<std::byte> bytes{std::byte{9}};
    append(bytes, {});
    append(bytes, Bytes(kEight).first(2));
    EXPECT_EQ(bytes, (std::vector<std::byte>{std::byte{9}, std::byte{1}, std::byte{2}}));
}

TEST(ByteReader, AFailedReadConsumesNothing)
{
    ByteReader in(Bytes(kEight).first(3));
    EXPECT_FALSE(in.u32());
    EXPECT_FALSE(in.u64());
    EXPECT_FALSE(in.take(4));
    EXPECT_FALSE(in.take(SIZE_MAX));
    EXPECT_EQ(in.position(), 0U);
    EXPECT_EQ(in.u16(), 0x0201);
    EXPECT_FALSE(in.u16());
    EXPECT_EQ(in.u8(), 3);
    EXPECT_EQ(in.left(), 0U);
}

TEST(ByteReader, SkipsAndTakesAvailableBytes)
{
    ByteReader in(kEight, std::endian::big);
    EXPECT_TRUE(in.skip(2));
    EXPECT_EQ(in.u16(), 0x0304);
    EXPECT_EQ(in.take(4)->size(), 4U);
    EXPECT_FALSE(in.skip(1));
}

}  // namespace
}  // namespace pmukit
