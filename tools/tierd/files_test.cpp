// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// What tierd reads of the kernel: fake files.
#include <gtest/gtest.h>
#include <linux/kernel-page-flags.h>

#include <span>

#include "base/test_folder.hpp"
#include "tierd/idle_pages.hpp"
#include "tierd/memory_policies.hpp"
#include "tierd/other_migrators.hpp"
#include "tierd/page_flags.hpp"
#include "tierd/targets.hpp"

namespace pmukit::tierd {
namespace {

constexpr uint64_t bit(unsigned number)
{
    return uint64_t{1} << number;
}

TEST(Targets, AreTheProcessesOfACgroupAndItsChildren)
{
    TestFolder folder;
    folder.put("a/cgroup.procs", "30\n10\n");
    folder.put("a/b/cgroup.procs", "20\n");
    folder.put("other/cgroup.procs", "40\n");
    const auto pids = find_processes({{10, 5}, folder.path("a"), false}, "/none");
    ASSERT_TRUE(pids) << pids.error().message;
    EXPECT_EQ(*pids, (std::vector<uint32_t>{5, 10, 20, 30}));
    const auto missing = find_processes({{}, folder.path("c"), false}, "/none");
    EXPECT_EQ(missing.error().message, folder.path("c") + ": the cgroup does not exist");
}

TEST(Targets, CanBeAllProcesses)
{
    TestFolder folder;
    for (const char *name : {"1", "234", "self", "sys", "12x"})
        folder.folder(name);
    EXPECT_EQ(*find_processes({{}, "", true}, folder.dir()), (std::vector<uint32_t>{1, 234}));
}

TEST(OtherMigrators, AreNumaBalancingAndDamonSchemesThatMigrate)
{
    TestFolder folder;
    const auto others = [&] { return other_migrators(folder.path("proc"), folder.path("sys")); };
    EXPECT_TRUE(others().empty());
    folder.put("proc/sys/kernel/numa_balancing", "0\n");
    const std::string kdamond = "sys/kernel/mm/damon/admin/kdamonds/0/";
    folder.put(kdamond + "state", "off\n");
    folder.put(kdamond + "contexts/0/schemes/0/action", "pageout\n");
    folder.put(kdamond + "contexts/0/schemes/1/action", "migrate_hot\n");
    EXPECT_TRUE(others().empty());

    folder.put("proc/sys/kernel/numa_balancing", "2\n");
    folder.put(kdamond + "state", "on\n");
    ASSERT_EQ(others().size(), 2u);
    EXPECT_EQ(others()[0],
              "NUMA balancing of the kernel migrates pages (mode 2): sysctl "
              "kernel.numa_balancing=0");
    EXPECT_EQ(others()[1], "DAMON has a scheme that migrates pages: echo off > " +
                               folder.path(kdamond + "state"));

    folder.put(kdamond + "contexts/0/schemes/1/action", "stat\n");
    EXPECT_EQ(others().size(), 1u);
}

TEST(LockFile, IsForOneHolder)
{
    TestFolder folder;
    const std::string path = folder.path("lock");
    Result<Fd> first = lock_file(path);
    ASSERT_TRUE(first) << first.error().message;
    EXPECT_EQ(lock_file(path).error().code, Errc::kBusy);
    first->reset();
    EXPECT_TRUE(lock_file(path));
}

TEST(LockFile, FollowsNoLink)
{
    TestFolder folder;
    folder.put("file", "text");
    folder.link("lock", folder.path("file"));
    EXPECT_FALSE(lock_file(folder.path("lock")));
}

class Flags : public testing::Test {
protected:
    PageFlags open(const std::vector<uint64_t> &flags)
    {
        folder.put("kpageflags", std::as_bytes(std::span(flags)));
        Result<PageFlags> opened = PageFlags::open(folder.path("kpageflags"));
        EXPECT_TRUE(opened);
        return std::move(*opened);
    }
    TestFolder folder;
};

TEST_F(Flags, APageIsItsOwnFolio)
{
    PageFlags flags = open({0, bit(KPF_ANON)});
    const Result<Folio> folio = flags.folio_of(1);
    ASSERT_TRUE(folio);
    EXPECT_EQ(folio->first_frame, 1u);
    EXPECT_EQ(folio->pages, 1u);
    EXPECT_FALSE(folio->stays);
}

TEST_F(Flags, AHugePageIsFoundByEachOfItsFrames)
{
    std::vector<uint64_t> words(2048, bit(KPF_THP) | bit(KPF_COMPOUND_TAIL));
    words[1024] = bit(KPF_THP) | bit(KPF_COMPOUND_HEAD);
    words[1028] = bit(KPF_THP) | bit(KPF_COMPOUND_HEAD);
    words[1536] = 0;
    PageFlags flags = open(words);
    for (const uint64_t frame : {1028, 1029, 1535}) {
        const Result<Folio> folio = flags.folio_of(frame);
        ASSERT_TRUE(folio);
        EXPECT_EQ(folio->first_frame, 1028u) << frame;
        EXPECT_EQ(folio->pages, 508u) << frame;
    }
    EXPECT_EQ(flags.folio_of(1027)->pages, 4u);
    EXPECT_EQ(flags.folio_of(1536)->pages, 1u);
}

// As Linux 6.12 reports each anonymous page.
TEST_F(Flags, TheFlagOfKsmDoesNotKeepAPage)
{
    PageFlags flags = open({bit(KPF_LRU) | bit(KPF_ANON) | bit(KPF_KSM)});
    EXPECT_FALSE(flags.folio_of(0)->stays);
}

TEST_F(Flags, PagesThatTheKernelKeepsInPlaceStay)
{
    constexpr unsigned kMlocked = 33;
    for (const unsigned flag :
         {unsigned{KPF_UNEVICTABLE}, kMlocked, unsigned{KPF_HUGE}, unsigned{KPF_HWPOISON}}) {
        PageFlags flags = open({bit(KPF_LRU) | bit(flag)});
        EXPECT_TRUE(flags.folio_of(0)->stays) << flag;
    }
    // The flag of a huge page is that of its first frame.
    PageFlags flags = open({bit(KPF_COMPOUND_HEAD) | bit(kMlocked), bit(KPF_COMPOUND_TAIL)});
    EXPECT_TRUE(flags.folio_of(1)->stays);
    EXPECT_TRUE(flags.folio_of(7)->stays);  // no such memory
}

TEST(IdlePages, ReturnsTheBitOfEachFrameAndMarksAllAsIdle)
{
    TestFolder folder;
    const std::vector<uint64_t> bitmap = {bit(3), 0, bit(0) | bit(63)};
    folder.put("bitmap", std::as_bytes(std::span(bitmap)));
    Result<IdlePages> pages = IdlePages::open(folder.path("bitmap"));
    ASSERT_TRUE(pages);
    const std::vector<uint64_t> frames = {191, 3, 4, 128, 130, 999999};
    EXPECT_EQ(*pages->check(frames), (std::vector<bool>{true, true, false, true, false, false}));
    // A fake file has the words that were written; the kernel would add to the bits it has.
    EXPECT_EQ(*pages->check(frames), (std::vector<bool>{true, true, true, true, true, false}));
}

TEST(IdlePages, MissingBitmapIsNotFound)
{
    EXPECT_EQ(IdlePages::open("/none/bitmap").error().code, Errc::kNotFound);
}

TEST(MemoryPolicies, AllowNodesByTheMappingOfAnAddress)
{
    const MemoryPolicies policies(
        "1000 default file=/bin/a:b mapped=3\n"
        "2000 bind:1 anon=3 dirty=3 N1=3\n"
        "3000 prefer (many):0,2 anon=1\n"
        "4000 weighted interleave:0-1 anon=1\n"
        "5000 local anon=1 N0=1\n"
        "6000 bind=static:0 heap anon=1\n"
        "7000 bind anon=1\n");
    struct Row {
        uint64_t address;
        std::vector<bool> nodes;  // 0, 1, 2
    };
    const Row rows[] = {
        {0x1000, {true, true, true}},    {0x1fff, {true, true, true}},
        {0x2000, {false, true, false}},  {0x3000, {true, false, true}},
        {0x4000, {true, true, false}},   {0x5000, {true, true, true}},
        {0x6000, {true, false, false}},  {0x7000, {false, false, false}},
        {0x0fff, {false, false, false}},
    };
    for (const Row &row : rows)
        for (uint32_t node = 0; node < 3; node++)
            EXPECT_EQ(policies.allows(row.address, node), row.nodes[node])
                << std::hex << row.address << " node " << node;
}

}  // namespace
}  // namespace pmukit::tierd
