// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "disk_log.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string_view>

namespace pmukit::power_cut {
namespace {

constexpr size_t kSector = 512, kBlock = 4096;

// A log as QEMU writes it.
class Log {
public:
    Log() : bytes_(kSector)
    {
        store_le<uint64_t>(&bytes_[0], 0x6a736677736872);
        store_le<uint64_t>(&bytes_[8], 1);
        store_le<uint32_t>(&bytes_[24], kSector);
    }
    Log &write(uint64_t offset, const std::vector<std::byte> &data)
    {
        header(offset, data.size(), 0);
        bytes_.insert(bytes_.end(), data.begin(), data.end());
        return *this;
    }
    Log &flush()
    {
        header(0, 0, 1);
        return *this;
    }
    Log &discard(uint64_t offset, uint64_t length)
    {
        header(offset, length, 4);
        return *this;
    }
    std::vector<std::byte> bytes() const { return bytes_; }

private:
    void header(uint64_t offset, uint64_t length, uint64_t flags)
    {
        store_le<uint64_t>(&bytes_[16], load_le<uint64_t>(&bytes_[16]) + 1);
        const size_t at = bytes_.size();
        bytes_.resize(at + kSector);
        store_le<uint64_t>(&bytes_[at], offset / kSector);
        store_le<uint64_t>(&bytes_[at + 8], length / kSector);
        store_le<uint64_t>(&bytes_[at + 16], flags);
    }

    std::vector<std::byte> bytes_;
};

std::vector<std::byte> filled(size_t size, unsigned value)
{
    return std::vector<std::byte>(size, static_cast<std::byte>(value));
}

std::vector<std::byte> text_block(std::string_view text)
{
    std::vector<std::byte> block(kBlock);
    std::ranges::copy(std::as_bytes(std::span(text)), block.begin());
    return block;
}

// The image of four blocks after a cut, as one digit per block.
std::string image_after(const Log &log, const Cut &cut)
{
    const std::vector<std::byte> bytes = log.bytes();
    const auto requests = parse_log(bytes);
    EXPECT_TRUE(requests);
    std::vector<std::byte> image(4 * kBlock);
    EXPECT_TRUE(apply(*requests, cut, image));
    std::string digits;
    for (size_t at = 0; at < image.size(); at += kBlock)
        digits += fmt::format("{}", static_cast<unsigned>(image[at]));
    return digits;
}

TEST(DiskLog, ParsesWritesFlushesAndDiscards)
{
    const auto bytes = Log()
                           .write(kBlock, filled(kBlock, 1))
                           .discard(0, kBlock)
                           .flush()
                           .write(0, filled(kSector, 2))
                           .bytes();
    const auto requests = parse_log(bytes);
    ASSERT_TRUE(requests);
    ASSERT_EQ(requests->size(), 4U);
    EXPECT_EQ((*requests)[0].offset, kBlock);
    EXPECT_EQ((*requests)[0].data.size(), kBlock);
    EXPECT_FALSE((*requests)[0].is_flush);
    EXPECT_TRUE((*requests)[1].data.empty());
    EXPECT_TRUE((*requests)[2].is_flush);
    EXPECT_EQ((*requests)[3].data[0], std::byte{2});
}

TEST(DiskLog, RejectsTruncatedLogs)
{
    const auto bytes = Log().write(0, filled(kBlock, 1)).flush().bytes();
    for (size_t size = 0; size < bytes.size(); size += kSector / 2)
        EXPECT_FALSE(parse_log(Bytes(bytes).first(size))) << size;
    EXPECT_TRUE(parse_log(bytes));
}

TEST(DiskLog, RejectsAnotherMagicVersionOrSectorSize)
{
    for (const size_t at : {0U, 8U, 24U}) {
        auto bytes = Log().flush().bytes();
        bytes[at] ^= std::byte{2};
        EXPECT_FALSE(parse_log(bytes)) << at;
    }
}

TEST(DiskLog, RejectsRequestsBeyondTheDisk)
{
    for (const uint64_t offset : {uint64_t{kBlock}, uint64_t{1} << 62}) {
        const auto bytes = Log().write(offset, filled(kBlock, 1)).bytes();
        const auto requests = parse_log(bytes);
        ASSERT_TRUE(requests);
        std::vector<std::byte> image(kBlock);
        EXPECT_FALSE(apply(*requests, {1, 0, Fate::kKept, 0}, image)) << offset;
    }
}

TEST(DiskLog, FlushedWritesAreOnTheDiskAndLaterOnesMayBeLost)
{
    const Log log =
        Log().write(0, filled(2 * kBlock, 1)).flush().write(kBlock, filled(3 * kBlock, 2)).flush();
    EXPECT_EQ(image_after(log, {3, 2, Fate::kLost, 0}), "1100");
    EXPECT_EQ(image_after(log, {3, 2, Fate::kKept, 0}), "1222");
    EXPECT_EQ(image_after(log, {2, 2, Fate::kKept, 0}), "1100") << "the cut is before the write";
    std::set<std::string> seen;
    for (uint64_t seed = 0; seed < 100; seed++)
        seen.insert(image_after(log, {3, 2, Fate::kSomeBlocks, seed}));
    EXPECT_EQ(seen.size(), 8U) << "each block may be lost or not, independently of the others";
}

TEST(DiskLog, CountsTheBlocksThatACutLoses)
{
    const auto bytes =
        Log().write(0, filled(kBlock, 1)).flush().write(0, filled(2 * kBlock, 2)).bytes();
    const auto requests = parse_log(bytes);
    ASSERT_TRUE(requests);
    std::vector<std::byte> image(2 * kBlock);
    const auto lost = apply(*requests, {3, 2, Fate::kLost, 0}, image);
    ASSERT_TRUE(lost);
    EXPECT_EQ(*lost, 2U);
}

TEST(DiskLog, SeedChoosesEveryMomentAndFateAfterTheFirstRequest)
{
    const auto bytes = Log()
                           .write(0, filled(kBlock, 1))
                           .flush()
                           .write(0, filled(kBlock, 2))
                           .write(0, filled(kBlock, 3))
                           .flush()
                           .bytes();
    const auto requests = parse_log(bytes);
    ASSERT_TRUE(requests);
    std::set<size_t> moments;
    std::set<Fate> fates;
    for (uint64_t seed = 0; seed < 200; seed++) {
        const Cut cut = make_cut(*requests, 2, seed);
        moments.insert(cut.requests);
        fates.insert(cut.fate);
        EXPECT_EQ(cut.flushed, cut.requests == 5 ? 5U : 2U);
        EXPECT_EQ(make_cut(*requests, 2, seed).requests, cut.requests);
    }
    EXPECT_EQ(moments, (std::set<size_t>{3, 4, 5}));
    EXPECT_EQ(fates.size(), 3U);
}

TEST(DiskLog, MarkIsAWriteThatBeginsWithItsText)
{
    const auto mark = text_block("power-cut mark 12\n"), other = text_block("power-cut mark x\n"),
               unended = text_block("power-cut mark 12");
    EXPECT_EQ(mark_of({0, mark}), 12U);
    EXPECT_EQ(mark_of({0, Bytes(mark).first(10)}), std::nullopt);
    EXPECT_EQ(mark_of({0, other}), std::nullopt);
    EXPECT_EQ(mark_of({0, unended}), std::nullopt);
    EXPECT_EQ(mark_of({}), std::nullopt);
}

}  // namespace
}  // namespace pmukit::power_cut
