// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "tier/process_pages.hpp"

#include <gtest/gtest.h>

#include <map>
#include <span>

#include "base/test_folder.hpp"

namespace pmukit::tier {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kMine = uint64_t{1} << 63 | uint64_t{1} << 56;
constexpr uint64_t kShared = uint64_t{1} << 63;
constexpr uint64_t kSwapped = uint64_t{1} << 62;

TEST(Maps, IgnoresInaccessibleMappingsAndThoseOfTheKernel)
{
    const auto maps = parse_maps(
        "1000-3000 r-xp 00000000 08:01 42                         /usr/bin/a program\n"
        "5000-6000 ---p 00000000 00:00 0 \n"
        "7000-9000 rw-p 00000000 00:00 0                          [heap]\n"
        "a000-b000 r-xp 00000000 00:00 0                          [vdso]\n"
        "c000-d000 r--p 00000000 00:00 0                          [vvar]\n"
        "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0  [vsyscall]\n");
    ASSERT_TRUE(maps) << maps.error().message;
    ASSERT_EQ(maps->size(), 2u);
    EXPECT_EQ((*maps)[0].start, 0x1000u);
    EXPECT_EQ((*maps)[0].end, 0x3000u);
    EXPECT_EQ((*maps)[1].start, 0x7000u);
}

TEST(Maps, RejectsMalformedLines)
{
    for (const char *wrong : {"1000-3000\n", "3000-1000 r--p 0 0 0 \n", "x-3000 r--p 0 0 0 \n",
                              "1000 r--p 0 0 0 \n", "1000-2000-3000 r--p 0 0 0 \n"})
        EXPECT_FALSE(parse_maps(wrong)) << wrong;
    EXPECT_TRUE(parse_maps("")->empty());
}

// A simulated /proc/PID, in regular files.
class Process : public testing::Test {
protected:
    void maps(const std::string &text) const { folder_.put("maps", text); }
    void pagemap(const std::vector<uint64_t> &entries) const
    {
        folder_.put("pagemap", std::as_bytes(std::span(entries)));
    }
    Result<PageCounts> walk()
    {
        return walk_pages(folder_.dir(), kPage,
                          [this](uint64_t address, uint64_t hpa) { seen[address] = hpa; });
    }

    TestFolder folder_;
    std::map<uint64_t, uint64_t> seen;  // virtual to physical address
};

TEST_F(Process, VisitsOnlyPagesThatNoOtherProcessMaps)
{
    maps("1000-5000 rw-p 00000000 00:00 0 \n7000-8000 rw-p 00000000 00:00 0 \n");
    pagemap({kMine | 1, kMine | 0x100, kShared | 0x200, kSwapped | 5, 0, kMine | 2, kMine | 3,
             kMine | 0x300});
    const Result<PageCounts> counts = walk();
    ASSERT_TRUE(counts) << counts.error().message;
    EXPECT_EQ(seen, (std::map<uint64_t, uint64_t>{{0x1000, 0x100000}, {0x7000, 0x300000}}));
    EXPECT_EQ(counts->present, 3u);
    EXPECT_EQ(counts->shared, 1u);
    EXPECT_EQ(counts->swapped, 1u);
}

TEST_F(Process, ReadsPagemapInChunks)
{
    constexpr uint64_t kPages = 20000;
    maps("0-4e20000 rw-p 00000000 00:00 0 \n");  // 20000 pages
    std::vector<uint64_t> entries;
    for (uint64_t i = 0; i < kPages; i++)
        entries.push_back(kMine | (i + 1));
    pagemap(entries);
    ASSERT_TRUE(walk());
    EXPECT_EQ(seen.size(), kPages);
    EXPECT_EQ(seen[(kPages - 1) * kPage], kPages * kPage);
}

TEST_F(Process, SkipsPagesUnmappedDuringTheWalk)
{
    maps("1000-5000 rw-p 00000000 00:00 0 \n");
    pagemap({0, kMine | 1});
    ASSERT_TRUE(walk());
    EXPECT_EQ(seen.size(), 1u);
}

TEST_F(Process, SkipsMappingsLargerThanOneTebibyte)
{
    maps("0-10000001000 rw-p 00000000 00:00 0 \n0-10000000000 rw-p 00000000 00:00 0 \n");
    pagemap({kMine | 1});
    const Result<PageCounts> counts = walk();
    ASSERT_TRUE(counts);
    EXPECT_EQ(counts->vast_mappings, 1u);
    EXPECT_EQ(counts->present, 1u);
}

TEST_F(Process, ReturnsDeniedIfFrameNumbersAreHidden)
{
    maps("0-1000 rw-p 00000000 00:00 0 \n");
    pagemap({kMine});
    const Result<PageCounts> counts = walk();
    ASSERT_FALSE(counts);
    EXPECT_EQ(counts.error().code, Errc::kDenied);
    EXPECT_NE(counts.error().message.find("CAP_SYS_ADMIN"), std::string::npos);
}

TEST_F(Process, MissingProcessAndMalformedMapsFileAreErrors)
{
    const Result<PageCounts> none =
        walk_pages(folder_.path("none"), kPage, [](uint64_t, uint64_t) {});
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, Errc::kNotFound);
    maps("what is this\n");
    pagemap({});
    EXPECT_FALSE(walk());
}

// Runs on the real /proc; the permission to read its frame numbers may be missing.
TEST(ThisProcess, PagesAreReadOrPermissionIsDenied)
{
    const Result<PageCounts> counts = walk_pages("/proc/self", kPage, [](uint64_t, uint64_t) {});
    if (counts) {
        EXPECT_GT(counts->present, 0u);
    } else {
        EXPECT_EQ(counts.error().code, Errc::kDenied) << counts.error().message;
    }
}

}  // namespace
}  // namespace pmukit::tier
