// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "vfu/dma_map.hpp"

#include <fstream>
#include <string>

#include "vfu/test_support.hpp"

namespace pmukit::vfu {
namespace {

using test::make_memory;

constexpr DmaMap::Access kReadWrite{true, true};
constexpr uint64_t kPage = DmaMap::kPageBytes;

class DmaMapTest : public testing::Test {
protected:
    // A file of four pages; byte i holds i mod 251.
    DmaMapTest()
    {
        std::vector<unsigned char> pattern(4 * kPage);
        for (size_t i = 0; i < pattern.size(); i++)
            pattern[i] = static_cast<unsigned char>(i % 251);
        EXPECT_EQ(pwrite(memory.get(), pattern.data(), pattern.size(), 0),
                  static_cast<ssize_t>(pattern.size()));
    }
    std::errc add(uint64_t address, uint64_t size, uint64_t offset = 0,
                  DmaMap::Access access = kReadWrite)
    {
        return map.map({address, size}, access, memory.get(), offset);
    }
    static std::byte pattern_at(uint64_t offset) { return static_cast<std::byte>(offset % 251); }

    Fd memory = make_memory(4 * kPage);
    DmaMap map;
};

TEST_F(DmaMapTest, ReadsAndWritesTheFileOfAWindow)
{
    ASSERT_EQ(add(0x100000, 2 * kPage, kPage), std::errc{});
    std::array<std::byte, 3> bytes{};
    ASSERT_TRUE(map.read(0x100005, bytes));
    EXPECT_EQ(bytes[0], pattern_at(kPage + 5));
    bytes.fill(std::byte{0xee});
    ASSERT_TRUE(map.write(0x100000 + 2 * kPage - 3, bytes));
    unsigned char stored = 0;
    ASSERT_EQ(pread(memory.get(), &stored, 1, 3 * kPage - 1), 1);
    EXPECT_EQ(stored, 0xee);
}

TEST_F(DmaMapTest, TheDescriptorMayBeClosedAfterMapping)
{
    ASSERT_EQ(add(0, kPage), std::errc{});
    memory.reset();
    std::array<std::byte, 1> byte{};
    EXPECT_TRUE(map.read(7, byte));
    EXPECT_EQ(byte[0], pattern_at(7));
}

// A copy past the truncated end would kill the process.
TEST_F(DmaMapTest, SealableMemoryFileCannotShrinkWhileMapped)
{
    memory = Fd(memfd_create("sealable", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    ASSERT_EQ(ftruncate(memory.get(), 2 * kPage), 0);
    ASSERT_EQ(add(0, kPage), std::errc{});
    EXPECT_NE(ftruncate(memory.get(), 0), 0);
    EXPECT_EQ(errno, EPERM);
    EXPECT_EQ(ftruncate(memory.get(), 4 * kPage), 0) << "it may grow";
    EXPECT_EQ(add(kPage, kPage, kPage), std::errc{});
}

TEST_F(DmaMapTest, CopySpansAdjacentWindowsInAddressOrder)
{
    // The windows are adjacent in address; in the file they are in reverse order.
    ASSERT_EQ(add(0x2000, kPage, 0), std::errc{});
    ASSERT_EQ(add(0x1000, kPage, kPage), std::errc{});
    ASSERT_EQ(add(0x3000, kPage, 3 * kPage), std::errc{});
    std::vector<std::byte> bytes(kPage + 20);
    ASSERT_TRUE(map.read(0x1ff6, bytes));
    EXPECT_EQ(bytes[9], pattern_at(2 * kPage - 1));
    EXPECT_EQ(bytes[10], pattern_at(0));
    EXPECT_EQ(bytes[kPage + 9], pattern_at(kPage - 1));
    EXPECT_EQ(bytes[kPage + 10], pattern_at(3 * kPage));

    const std::vector<std::byte> ones(kPage + 2, std::byte{0xff});
    ASSERT_TRUE(map.write(0x1fff, ones));
    ASSERT_TRUE(map.read(0x1fff, std::span(bytes).first(ones.size())));
    EXPECT_TRUE(std::equal(ones.begin(), ones.end(), bytes.begin()));
}

TEST_F(DmaMapTest, CopyAcrossAGapIsRefusedAsAWhole)
{
    ASSERT_EQ(add(0x1000, kPage), std::errc{});
    ASSERT_EQ(add(0x3000, kPage, kPage), std::errc{});
    std::vector<std::byte> bytes(2 * kPage + 1, std::byte{0x5a});
    EXPECT_FALSE(map.read(0x1fff, bytes));
    EXPECT_EQ(bytes[0], std::byte{0x5a});
    EXPECT_FALSE(map.write(0x1fff, std::span(bytes).first(2)));
    std::array<std::byte, 1> last{};
    ASSERT_TRUE(map.read(0x1fff, last));
    EXPECT_EQ(last[0], pattern_at(kPage - 1));  // the refused write copied nothing
}

TEST_F(DmaMapTest, AccessAcrossTheEdgeOfAWindowIsRefused)
{
    ASSERT_EQ(add(0x1000, kPage), std::errc{});
    std::vector<std::byte> bytes(kPage + 1);
    EXPECT_TRUE(map.read(0x1000, std::span(bytes).first(0)));
    EXPECT_TRUE(map.read(0x1000, std::span(bytes).first(kPage - 1)));
    EXPECT_TRUE(map.read(0x1000, std::span(bytes).first(kPage)));
    EXPECT_FALSE(map.read(0x1000, bytes));
    EXPECT_FALSE(map.read(0x0fff, std::span(bytes).first(2)));
    EXPECT_FALSE(map.read(0x2000, std::span(bytes).first(1)));
    EXPECT_FALSE(map.read(~uint64_t{0}, std::span(bytes).first(2)));
}

TEST_F(DmaMapTest, TheTopOfTheAddressSpaceCanBeMapped)
{
    const uint64_t top = ~uint64_t{0} - kPage + 1;
    ASSERT_EQ(add(top, kPage), std::errc{});
    std::vector<std::byte> bytes(kPage + 1);
    EXPECT_TRUE(map.read(top, std::span(bytes).first(kPage)));
    ASSERT_EQ(add(0, kPage), std::errc{});  // the top and address 0 are not adjacent
    EXPECT_FALSE(map.read(top, bytes));
    EXPECT_EQ(map.unmap({top, kPage}).size_bytes, kPage);
}

TEST_F(DmaMapTest, OverlappingWindowsAreRefused)
{
    ASSERT_EQ(add(0x2000, 2 * kPage), std::errc{});
    for (const uint64_t address : {0x1000u, 0x2000u, 0x3000u})
        EXPECT_EQ(add(address, 2 * kPage), std::errc::file_exists) << address;
    EXPECT_EQ(add(0x1000, 4 * kPage), std::errc::file_exists);
    EXPECT_EQ(add(0x1000, kPage), std::errc{});
    EXPECT_EQ(add(0x4000, kPage), std::errc{});
    EXPECT_EQ(map.windows(), 3u);
}

TEST_F(DmaMapTest, InvalidWindowsAreRefused)
{
    EXPECT_EQ(add(0, 0), std::errc::invalid_argument);
    EXPECT_EQ(add(~uint64_t{0} - kPage + 1, 2 * kPage), std::errc::invalid_argument);
    EXPECT_EQ(add(1, kPage), std::errc::invalid_argument);
    EXPECT_EQ(add(0, kPage + 1), std::errc::invalid_argument);
    EXPECT_EQ(add(0, kPage, 1), std::errc::invalid_argument);
    EXPECT_EQ(map.windows(), 0u);
}

TEST_F(DmaMapTest, WindowPastTheEndOfItsFileIsRefused)
{
    EXPECT_EQ(add(0, 5 * kPage), std::errc::invalid_argument);
    EXPECT_EQ(add(0, kPage, 4 * kPage), std::errc::invalid_argument);
    EXPECT_EQ(add(0, kPage, ~uint64_t{0} - kPage + 1), std::errc::invalid_argument);
    EXPECT_EQ(add(0, kPage, 3 * kPage), std::errc{});
}

TEST_F(DmaMapTest, OnlyRegularFilesAreMapped)
{
    const Fd event = test::make_eventfd();
    EXPECT_EQ(map.map({0, kPage}, kReadWrite, event.get(), 0), std::errc::invalid_argument);
    const Fd folder(open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    EXPECT_EQ(map.map({0, kPage}, {true, false}, folder.get(), 0), std::errc::invalid_argument);
}

TEST_F(DmaMapTest, UnmapReleasesTheMapping)
{
    const auto mappings = [] {
        std::ifstream maps("/proc/self/maps");
        size_t count = 0;
        for (std::string line; std::getline(maps, line);)
            count += line.find("pmukit-test") != line.npos;
        return count;
    };
    for (uint64_t i = 0; i < 3; i++)
        ASSERT_EQ(add(2 * i * kPage, kPage, i * kPage, {true, i % 2 == 0}), std::errc{});
    EXPECT_EQ(mappings(), 3u);
    EXPECT_EQ(map.unmap({0, kPage}).size_bytes, kPage);
    EXPECT_EQ(mappings(), 2u);
    map.clear();
    EXPECT_EQ(mappings(), 0u);
}

TEST_F(DmaMapTest, AccessRightsAreEnforced)
{
    ASSERT_EQ(add(0x1000, kPage, 0, {true, false}), std::errc{});
    ASSERT_EQ(add(0x2000, kPage, kPage, {false, true}), std::errc{});
    std::array<std::byte, 1> byte{};
    EXPECT_TRUE(map.read(0x1000, byte));
    EXPECT_FALSE(map.write(0x1000, byte));
    EXPECT_FALSE(map.read(0x2000, byte));
    EXPECT_TRUE(map.write(0x2000, byte));
}

TEST_F(DmaMapTest, AReadOnlyFileCannotBeMappedForWriting)
{
    const std::string path = "/proc/self/fd/" + std::to_string(memory.get());
    const Fd read_only(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    ASSERT_TRUE(read_only);
    EXPECT_EQ(map.map({0, kPage}, kReadWrite, read_only.get(), 0), std::errc::permission_denied);
    EXPECT_EQ(map.map({0, kPage}, {true, false}, read_only.get(), 0), std::errc{});
}

TEST_F(DmaMapTest, UnmapRemovesWholeWindowsOnly)
{
    ASSERT_EQ(add(0x1000, 2 * kPage), std::errc{});
    EXPECT_EQ(map.unmap({0x1000, kPage}).error, std::errc::invalid_argument);
    EXPECT_EQ(map.unmap({0x2000, kPage}).error, std::errc::invalid_argument);
    EXPECT_EQ(map.unmap({0x1000, 0}).error, std::errc::invalid_argument);
    EXPECT_EQ(map.unmap({0x1000, ~uint64_t{0}}).error, std::errc::invalid_argument);
    EXPECT_EQ(map.windows(), 1u);
    EXPECT_EQ(map.unmap({0x1000, 2 * kPage}).size_bytes, 2 * kPage);
    EXPECT_EQ(map.windows(), 0u);
    std::array<std::byte, 1> byte{};
    EXPECT_FALSE(map.read(0x1000, byte));
}

TEST_F(DmaMapTest, UnmapRemovesSeveralWindowsAndAcceptsARangeWithoutWindows)
{
    for (uint64_t i = 0; i < 4; i++)
        ASSERT_EQ(add(0x10000 + 2 * i * kPage, kPage, i * kPage), std::errc{});
    const auto done = map.unmap({0x10000 + 2 * kPage, 4 * kPage});
    EXPECT_EQ(done.error, std::errc{});
    EXPECT_EQ(done.size_bytes, 2 * kPage);
    EXPECT_EQ(map.windows(), 2u);
    EXPECT_EQ(map.unmap({0x10000 + 2 * kPage, 4 * kPage}).error, std::errc{});
}

TEST_F(DmaMapTest, TheNumberOfWindowsIsBounded)
{
    for (uint64_t i = 0; i < DmaMap::kMaxWindows; i++)
        ASSERT_EQ(map.map({i * kPage, kPage}, kReadWrite, -1, 0), std::errc{});
    EXPECT_EQ(map.map({DmaMap::kMaxWindows * kPage, kPage}, kReadWrite, -1, 0),
              std::errc::no_space_on_device);
    map.clear();
    EXPECT_EQ(add(0, kPage), std::errc{});
}

}  // namespace
}  // namespace pmukit::vfu
