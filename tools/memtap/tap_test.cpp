// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "memtap/tap.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <thread>
#include <vector>

#include "base/fd.hpp"

namespace pmukit::memtap {
namespace {

constexpr uint64_t kBase = 0x30000000, kBytes = 0x10000;

// Maps the file as a writer (the plugin in QEMU) does.
class Writer {
public:
    explicit Writer(const std::string &path)
    {
        const Fd file(::open(path.c_str(), O_RDWR));
        void *at =
            ::mmap(nullptr, sizeof(Layout), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
        EXPECT_NE(at, MAP_FAILED);
        layout = static_cast<Layout *>(at);
    }
    Writer(const Writer &) = delete;
    Writer &operator=(const Writer &) = delete;
    ~Writer() { ::munmap(layout, sizeof(Layout)); }

    Layout *layout;
};

class TapFile : public testing::Test {
protected:
    std::vector<Access> take(size_t most)
    {
        std::vector<Access> taken(most);
        taken.resize(tap.take(taken));
        return taken;
    }

    std::string path = testing::TempDir() + "tap-" + std::to_string(::getpid());
    Result<Tap> made = Tap::create(path, kBase, kBytes);
    Tap &tap = *made;
    Writer writer{path};
    Ring &ring = writer.layout->rings[0];
};

TEST(TapWord, DecodedWordEqualsEncodedAccess)
{
    for (const Access &access : {Access{0, 0, false}, Access{0x1234, 3, true},
                                 Access{(uint64_t{1} << kOffsetBits) - 1, 6, false}}) {
        const Access back = access_of(word_of(access));
        EXPECT_EQ(back.offset, access.offset);
        EXPECT_EQ(back.log2_width, access.log2_width);
        EXPECT_EQ(back.store, access.store);
    }
}

TEST_F(TapFile, HeaderHasTheRangeAndTheMagicNumber)
{
    EXPECT_EQ(writer.layout->header.magic, kMagic);
    EXPECT_EQ(writer.layout->header.base, kBase);
    EXPECT_EQ(writer.layout->header.bytes, kBytes);
}

TEST_F(TapFile, ReturnsAccessesInOrder)
{
    ASSERT_TRUE(offer(ring, word_of({0x10, 3, false})));
    ASSERT_TRUE(offer(ring, word_of({0x20, 2, true})));
    const std::vector<Access> taken = take(8);
    ASSERT_EQ(taken.size(), 2u);
    EXPECT_EQ(taken[0].offset, 0x10u);
    EXPECT_EQ(taken[1].offset, 0x20u);
    EXPECT_FALSE(taken[0].store);
    EXPECT_TRUE(taken[1].store);
    EXPECT_TRUE(take(8).empty());
}

TEST_F(TapFile, TakeWithSmallBufferLeavesOtherAccessesForTheNextTake)
{
    for (uint64_t i = 0; i < 5; i++)
        ASSERT_TRUE(offer(ring, word_of({i, 0, false})));
    EXPECT_EQ(take(3).size(), 3u);
    const std::vector<Access> rest = take(3);
    ASSERT_EQ(rest.size(), 2u);
    EXPECT_EQ(rest[0].offset, 3u);
}

TEST_F(TapFile, ReturnsAccessesFromEveryRing)
{
    for (Ring &each : writer.layout->rings)
        ASSERT_TRUE(offer(each, word_of({1, 0, false})));
    EXPECT_EQ(take(2 * kRings).size(), kRings);
}

TEST_F(TapFile, RingAcceptsAsManyAccessesAsItHasEntries)
{
    for (uint64_t i = 0; i < kRingEntries; i++)
        ASSERT_TRUE(offer(ring, word_of({i % kBytes, 0, false})));
    EXPECT_FALSE(offer(ring, word_of({0, 0, false})));
    EXPECT_EQ(take(1).size(), 1u);
    EXPECT_TRUE(offer(ring, word_of({0, 0, false})));
    EXPECT_FALSE(offer(ring, word_of({0, 0, false})));
    EXPECT_EQ(take(2 * kRingEntries).size(), kRingEntries);
    EXPECT_EQ(tap.refused(), 0u);
}

TEST_F(TapFile, RejectsOutOfRangeOffsetsAndWidths)
{
    ASSERT_TRUE(offer(ring, word_of({kBytes - 1, 0, false})));
    ASSERT_TRUE(offer(ring, word_of({kBytes, 0, false})));
    ASSERT_TRUE(offer(ring, word_of({0, 7, false})));
    EXPECT_EQ(take(8).size(), 1u);
    EXPECT_EQ(tap.refused(), 2u);
}

TEST_F(TapFile, RejectsAnInvalidHead)
{
    ring.head.store(kRingEntries + 1);
    EXPECT_TRUE(take(8).empty());
    EXPECT_EQ(tap.refused(), 1u);
    ASSERT_TRUE(offer(ring, word_of({5, 0, false})));
    EXPECT_EQ(take(8).size(), 1u);
    // The head decreases, which is invalid.
    ring.head.store(0);
    EXPECT_TRUE(take(8).empty());
    EXPECT_EQ(tap.refused(), 2u);
}

TEST_F(TapFile, ReaderThreadGetsEveryAccessOfWriterThreadInOrder)
{
    constexpr uint64_t kMany = 4 * kRingEntries;
    std::thread cpu([this] {
        for (uint64_t i = 0; i < kMany; i++)
            while (!offer(ring, word_of({i % kBytes, 0, false})))
                std::this_thread::yield();
    });
    uint64_t seen = 0;
    bool in_order = true;
    while (seen < kMany) {
        for (const Access &access : take(1000))
            in_order = in_order && access.offset == seen++ % kBytes;
    }
    cpu.join();
    EXPECT_TRUE(in_order);
    EXPECT_TRUE(take(1).empty());
}

TEST_F(TapFile, TakeAfterCloseReturnsOnlyAccessesWrittenBeforeClose)
{
    for (uint64_t i = 0; i < 3; i++)
        EXPECT_TRUE(offer(ring, word_of({i, 0, false})));
    EXPECT_TRUE(offer(writer.layout->rings[7], word_of({7, 0, false})));
    tap.close();
    EXPECT_EQ(writer.layout->header.reader_left.load(), 1u);
    EXPECT_TRUE(offer(ring, word_of({3, 0, false})));
    EXPECT_EQ(take(2).size(), 2u);
    EXPECT_TRUE(offer(ring, word_of({4, 0, false})));
    const std::vector<Access> rest = take(8);
    ASSERT_EQ(rest.size(), 2u);
    EXPECT_EQ(rest[0].offset, 2u);
    EXPECT_EQ(rest[1].offset, 7u);
    EXPECT_TRUE(take(8).empty());
    EXPECT_EQ(tap.refused(), 0u);
}

TEST_F(TapFile, DestructorMarksTheReaderAsGoneAndRemovesTheFile)
{
    EXPECT_EQ(writer.layout->header.reader_left.load(), 0u);
    {
        const Tap gone = std::move(tap);
    }
    EXPECT_EQ(writer.layout->header.reader_left.load(), 1u);
    EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(TapRange, CreateRejectsInvalidRangesAndPaths)
{
    const std::string path = testing::TempDir() + "tap-range-" + std::to_string(::getpid());
    EXPECT_FALSE(Tap::create(path, 0, 0));
    EXPECT_FALSE(Tap::create(path, UINT64_MAX, 2));
    EXPECT_TRUE(Tap::create(path, UINT64_MAX, 1));
    EXPECT_FALSE(Tap::create("/nowhere/at/all", 0, 4096));
}

}  // namespace
}  // namespace pmukit::memtap
