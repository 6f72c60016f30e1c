// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "session/threads.hpp"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <random>

#include "perfdata/packer.hpp"
#include "perfdata/testing/test_file.hpp"
#include "session/map_index.hpp"

namespace pmukit::cli {
namespace {

constexpr uint64_t kSampleType = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TIME;

// Feeds Threads with records whose sample_id trailer is time and id.
class ThreadsTest : public testing::Test {
protected:
    void mmap(uint32_t pid, uint64_t address, uint64_t bytes, uint64_t offset,
              std::string_view path, uint64_t time_ns)
    {
        perfdata::Packer body;
        body.put(pid).put(pid).put(address).put(bytes).put(offset);
        text(body, path);
        note(PERF_RECORD_MMAP, 0, body, time_ns);
    }
    void comm(uint32_t pid, uint32_t tid, std::string_view name, uint64_t time_ns, bool exec)
    {
        perfdata::Packer body;
        body.put(pid).put(tid);
        text(body, name);
        note(PERF_RECORD_COMM, exec ? PERF_RECORD_MISC_COMM_EXEC : 0, body, time_ns);
    }
    void fork(uint32_t pid, uint32_t parent, uint32_t tid, uint32_t parent_tid, uint64_t time_ns,
              uint16_t misc = 0)
    {
        perfdata::Packer body;
        body.put(pid).put(parent).put(tid).put(parent_tid).put(time_ns);
        note(PERF_RECORD_FORK, misc, body, time_ns);
    }
    void exit(uint32_t pid, uint32_t tid, uint64_t time_ns)
    {
        perfdata::Packer body;
        body.put(pid).put(uint32_t{1}).put(tid).put(uint32_t{1}).put(time_ns);
        note(PERF_RECORD_EXIT, 0, body, time_ns);
    }
    // Starts so many tasks from this PID on, which exit at once, that all earlier exits may be
    // forgotten.
    void end_many(uint32_t pid, uint64_t time_ns)
    {
        for (uint32_t i = 0; i < 2 * Threads::kLastExits; i++) {
            comm(pid + i, pid + i, "filler", time_ns, true);
            exit(pid + i, pid + i, time_ns + 1);
        }
    }
    std::string at(uint32_t pid, uint64_t address, uint64_t time_ns)
    {
        const auto place = threads.find(pid, address, time_ns);
        return place ? threads.objects()[place->object].path + "+" +
                           std::to_string(place->file_offset)
                     : "nothing";
    }

    Threads threads;

private:
    static void text(perfdata::Packer &to, std::string_view text)
    {
        const size_t end = to.bytes().size() + text.size() / 8 * 8 + 8;
        to.put(as_bytes(text)).pad_to(end);
    }
    void note(uint32_t type, uint16_t misc, perfdata::Packer &body, uint64_t time_ns)
    {
        body.put(time_ns).put(uint64_t{7});
        perfdata::Record record;
        record.type = type;
        record.misc = misc;
        record.body = body.bytes();
        threads.note(record, *reader_);
    }

    std::vector<std::byte> file_ =
        perfdata::testing::FileBuilder(std::endian::native).event(1, kSampleType, {7}).file();
    Result<perfdata::Reader> reader_ = perfdata::Reader::open(file_);
};

TEST_F(ThreadsTest, FindsFileAndOffsetOfAnAddress)
{
    mmap(10, 0x1000, 0x100, 0x40, "/bin/a", 5);
    EXPECT_EQ(at(10, 0xfff, 9), "nothing");
    EXPECT_EQ(at(10, 0x1000, 9), "/bin/a+64");
    EXPECT_EQ(at(10, 0x10ff, 9), "/bin/a+319");
    EXPECT_EQ(at(10, 0x1100, 9), "nothing");
    EXPECT_EQ(at(11, 0x1000, 9), "nothing");
    EXPECT_EQ(at(10, 0x1000, 1), "/bin/a+64") << "reported later than it was mapped";
}

TEST_F(ThreadsTest, FindsTheLatestMapUpToTheTimeOfTheQuery)
{
    mmap(10, 0x1000, 0x100, 0, "/lib/late", 20);
    mmap(10, 0x1000, 0x100, 0, "/lib/early", 10);
    EXPECT_EQ(at(10, 0x1000, 15), "/lib/early+0");
    EXPECT_EQ(at(10, 0x1000, 20), "/lib/late+0");
    EXPECT_EQ(at(10, 0x1000, 25), "/lib/late+0");
}

TEST_F(ThreadsTest, ChildHasItsParentsMapsUntilExec)
{
    mmap(10, 0x1000, 0x100, 0, "/bin/shell", 5);
    fork(20, 10, 20, 10, 30);
    mmap(10, 0x1000, 0x100, 0, "/lib/later", 40);
    comm(20, 20, "busy", 50, true);
    mmap(20, 0x5000, 0x100, 0, "/bin/busy", 51);
    EXPECT_EQ(at(20, 0x1000, 45), "/bin/shell+0") << "what the parent maps later is its own";
    EXPECT_EQ(at(20, 0x1000, 55), "nothing");
    EXPECT_EQ(at(20, 0x5000, 55), "/bin/busy+0");
    EXPECT_EQ(at(10, 0x1000, 55), "/lib/later+0");
}

// While the kernel replaces a program, its caller is the program before, as perf shows it.
TEST_F(ThreadsTest, CallerOfTheKernelIsFoundInTheProgramBeforeTheLastExec)
{
    const auto caller = [this](uint32_t pid, uint64_t address, uint64_t time_ns) {
        const auto place = threads.find(pid, address, time_ns, true);
        return place ? threads.objects()[place->object].path : "nothing";
    };
    mmap(10, 0x1000, 0x100, 0, "/bin/shell", 5);
    fork(20, 10, 20, 10, 30);
    comm(20, 20, "first", 50, true);
    EXPECT_EQ(caller(20, 0x1000, 52), "/bin/shell");
    mmap(20, 0x5000, 0x100, 0, "/bin/first", 53);
    comm(20, 20, "second", 60, true);
    mmap(20, 0x7000, 0x100, 0, "/bin/second", 61);
    EXPECT_EQ(caller(20, 0x7000, 62), "/bin/second");
    EXPECT_EQ(caller(20, 0x5000, 62), "/bin/first");
    EXPECT_EQ(caller(20, 0x1000, 62), "nothing") << "two programs before";
    EXPECT_EQ(at(20, 0x5000, 62), "nothing") << "not a caller of the kernel";
}

// A server that forks reuses PIDs: the process of the second fork executes nothing.
TEST_F(ThreadsTest, ReusedPidHasTheMapsOfItsOwnParentOnly)
{
    mmap(10, 0x1000, 0x100, 0, "/bin/server", 5);
    fork(30, 10, 30, 10, 20);
    comm(30, 30, "before", 21, true);
    mmap(30, 0x1000, 0x100, 0, "/bin/before", 22);
    mmap(30, 0x2000, 0x100, 0, "/lib/before", 22);
    fork(30, 10, 30, 10, 50);
    fork(30, 40, 30, 40, 70);
    comm(30, 30, "after", 71, true);
    mmap(30, 0x1000, 0x100, 0, "/bin/after", 72);
    EXPECT_EQ(at(30, 0x1000, 20), "/bin/server+0");
    EXPECT_EQ(at(30, 0x1000, 49), "/bin/before+0");
    EXPECT_EQ(at(30, 0x1000, 50), "/bin/server+0");
    EXPECT_EQ(at(30, 0x2000, 60), "nothing");
    EXPECT_EQ(at(30, 0x1000, 70), "nothing") << "a process without known maps forked it";
    EXPECT_EQ(at(30, 0x1000, 72), "/bin/after+0");
    EXPECT_EQ(threads.since_ns(30, 30, 60), 50U);
}

TEST_F(ThreadsTest, WhatAChildMapsAtAnAddressOfItsParentIsItsOwnFromThenOn)
{
    mmap(10, 0x1000, 0x100, 0, "/lib/parent", 5);
    fork(20, 10, 20, 10, 30);
    mmap(20, 0x1000, 0x100, 0, "/lib/child", 40);
    EXPECT_EQ(at(20, 0x1000, 39), "/lib/parent+0");
    EXPECT_EQ(at(20, 0x1000, 40), "/lib/child+0");
}

TEST_F(ThreadsTest, MapsRecordedLateAreNotThoseOfAnEarlierProgram)
{
    mmap(10, 0x1000, 0x100, 0, "/bin/first", 10);
    comm(10, 10, "second", 20, true);
    mmap(10, 0x2000, 0x100, 0, "/bin/second", 21);
    EXPECT_EQ(at(10, 0x1000, 5), "/bin/first+0");
    EXPECT_EQ(at(10, 0x2000, 5), "nothing");
}

TEST_F(ThreadsTest, NamesAreInheritedUntilTheyChange)
{
    comm(10, 10, "shell", 5, false);
    fork(10, 10, 11, 10, 20);
    fork(30, 10, 30, 10, 20);
    comm(30, 30, "busy", 40, true);
    comm(10, 11, "worker", 30, false);
    EXPECT_EQ(threads.command(10, 100), "shell");
    EXPECT_EQ(threads.command(11, 25), "shell");
    EXPECT_EQ(threads.command(11, 30), "worker");
    EXPECT_EQ(threads.command(30, 39), "shell");
    EXPECT_EQ(threads.command(30, 40), "busy");
    EXPECT_EQ(threads.command(99, 40), "");
}

TEST_F(ThreadsTest, FirstNameAppliesToEarlierTimesUnlessSetByExecOrFork)
{
    comm(10, 10, "shell", 20, false);
    comm(11, 11, "busy", 20, true);
    fork(10, 10, 12, 10, 20);
    EXPECT_EQ(threads.command(10, 10), "shell");
    EXPECT_EQ(threads.command(11, 10), "") << "it executed something else";
    EXPECT_EQ(threads.command(12, 10), "") << "it was not there";
}

TEST_F(ThreadsTest, ReusedTidHasANewName)
{
    comm(10, 10, "shell", 5, false);
    comm(30, 30, "before", 6, true);
    fork(30, 10, 30, 10, 50);
    comm(30, 30, "after", 60, true);
    EXPECT_EQ(threads.command(30, 49), "before");
    EXPECT_EQ(threads.command(30, 55), "shell");
    EXPECT_EQ(threads.command(30, 60), "after");
    fork(40, 10, 40, 10, 70);
    comm(40, 40, "as it began", 70, false);
    EXPECT_EQ(threads.command(40, 70), "as it began");
}

TEST_F(ThreadsTest, FindsTheTimeOfTheLastChangeOfNameOrProgram)
{
    comm(10, 10, "shell", 5, false);
    comm(10, 10, "busy", 20, true);
    comm(10, 11, "worker", 30, false);
    EXPECT_EQ(threads.since_ns(10, 10, 1), 0U);
    EXPECT_EQ(threads.since_ns(10, 10, 19), 5U);
    EXPECT_EQ(threads.since_ns(10, 10, 20), 20U);
    EXPECT_EQ(threads.since_ns(10, 11, 29), 20U) << "its process has another program";
    EXPECT_EQ(threads.since_ns(10, 11, 31), 30U);
    EXPECT_EQ(threads.since_ns(77, 77, 31), 0U);
}

TEST_F(ThreadsTest, ThreadZeroIsSwapper)
{
    EXPECT_EQ(threads.command(0, 1), "swapper");
    comm(0, 0, "swapper/0", 5, false);
    EXPECT_EQ(threads.command(0, 6), "swapper/0");
}

TEST_F(ThreadsTest, LastOfNamesWithEqualTimestampsApplies)
{
    for (const char *name : {"first", "last"})
        comm(10, 10, name, 20, false);
    EXPECT_EQ(threads.command(10, 20), "last");
    EXPECT_EQ(threads.command(10, 10), "first") << "it was so before";
    comm(10, 10, "earlier", 15, false);
    EXPECT_EQ(threads.command(10, 10), "earlier");
    EXPECT_EQ(threads.command(10, 19), "earlier");
}

// The second of two queries finds a map that was noted between them.
TEST_F(ThreadsTest, FindsAMapThatWasAddedAfterAnEarlierQuery)
{
    for (uint64_t i = 0; i < 20; i++) {
        const std::string path = "/lib/" + std::to_string(i);
        mmap(10, 0x1000, 0x100, 0, path, i);
        EXPECT_EQ(at(10, 0x1000, i), path + "+0");
    }
}

// Reference implementation without an index: a search of all maps.
const Map *find_slowly(const std::vector<Map> &maps, uint64_t address, const MapIndex::Times &when)
{
    const auto &[since_ns, time_ns, until_ns] = when;
    const Map *best = nullptr;
    for (const Map &map : maps) {
        if (address < map.begin || address >= map.end || map.time_ns < since_ns ||
            (map.time_ns > time_ns && map.time_ns >= until_ns))
            continue;
        const bool fits = map.time_ns <= time_ns, best_fits = best && best->time_ns <= time_ns;
        if (!best || (fits && (!best_fits || map.time_ns >= best->time_ns)) ||
            (!fits && !best_fits && map.time_ns < best->time_ns))
            best = &map;
    }
    return best;
}

MapIndex index_of(const std::vector<Map> &maps)
{
    Budget left(limits::kThreads);
    MapIndex index;
    for (const Map &map : maps)
        EXPECT_TRUE(index.add(map, left));
    EXPECT_EQ(index.build(left), 0U);
    return index;
}

TEST(MapIndex, AgreesWithLinearSearch)
{
    std::mt19937 random(2026);
    for (size_t round = 0; round < 300; round++) {
        std::vector<Map> maps;
        for (uint32_t i = 0; i < round % 40; i++) {
            const uint64_t begin = random() % 60;
            maps.push_back({random() % 12, begin, begin + 1 + random() % 30, 0, i});
        }
        const MapIndex index = index_of(maps);
        for (int i = 0; i < 500; i++) {
            const uint64_t address = random() % 100, time_ns = random() % 14,
                           since_ns = random() % (time_ns + 1);
            const MapIndex::Times when{since_ns, time_ns, random() % 16};
            const Map *found = index.find(address, when),
                      *expected = find_slowly(maps, address, when);
            ASSERT_EQ(found != nullptr, expected != nullptr);
            if (found)
                ASSERT_EQ(found->object, expected->object) << "round " << round;
        }
    }
}

TEST(MapIndex, FindsMapsAddedAfterTheBuild)
{
    std::mt19937 random(37);
    for (size_t round = 0; round < 200; round++) {
        Budget left(limits::kThreads);
        MapIndex index;
        std::vector<Map> maps;
        for (uint32_t i = 0; i < 40; i++) {
            const uint64_t begin = random() % 60;
            maps.push_back({random() % 12, begin, begin + 1 + random() % 30, 0, i});
            ASSERT_TRUE(index.add(maps.back(), left));
            if (i == round % 40)
                EXPECT_EQ(index.build(left), 0U);
        }
        for (int i = 0; i < 200; i++) {
            const uint64_t address = random() % 100, time_ns = random() % 14,
                           since_ns = random() % (time_ns + 1);
            const MapIndex::Times when{since_ns, time_ns, random() % 16};
            const Map *found = index.find(address, when),
                      *expected = find_slowly(maps, address, when);
            ASSERT_EQ(found != nullptr, expected != nullptr);
            if (found)
                ASSERT_EQ(found->object, expected->object) << "round " << round;
        }
    }
}

TEST(MapIndex, CoversTheWholeAddressRange)
{
    constexpr MapIndex::Times kAny{0, 0, UINT64_MAX};
    const MapIndex index = index_of({{0, UINT64_MAX - 1, UINT64_MAX, 0, 1}, {0, 0, 1, 0, 2}});
    EXPECT_EQ(index.find(UINT64_MAX - 1, kAny)->object, 1U);
    EXPECT_EQ(index.find(UINT64_MAX, kAny), nullptr);
    EXPECT_EQ(index.find(0, kAny)->object, 2U);
    EXPECT_EQ(index.find(1, kAny), nullptr);
}

// Without an index, each query of this test would search all maps, and each query of the next test
// all names. The tests would take minutes.
TEST_F(ThreadsTest, ManyMapsOfOneAddressAreSearchedQuickly)
{
    constexpr uint64_t kMaps = 65536, kQuestions = 50000, kMiddle = 0x100000;
    for (uint64_t i = 0; i < kMaps; i++)
        mmap(10, kMiddle - 1 - i, 2 * i + 2, 0, "/lib/a", i);
    for (uint64_t i = 0; i < kQuestions; i++)
        ASSERT_EQ(threads.find(10, kMiddle, i)->file_offset, i + 1);
}

TEST_F(ThreadsTest, ManyNamesOfManyAncestorsAreSearchedQuickly)
{
    constexpr uint32_t kThreads = 30;
    constexpr uint64_t kNames = 4096, kQuestions = 60000;
    for (uint32_t tid = 1; tid <= kThreads; tid++) {
        fork(1, 1, tid, tid + 1, 1);
        for (uint64_t i = 0; i < kNames; i++)
            comm(1, tid, "late", 100 * kNames + i, false);
    }
    comm(1, kThreads + 1, "ancestor", 1, false);
    for (uint64_t i = 0; i < kQuestions; i++)
        ASSERT_EQ(threads.command(1, kNames + i), "ancestor");
}

// perf and pmukit record synthesize such forks for processes from before the recording.
TEST_F(ThreadsTest, ForkRecordWithTheExecFlagInheritsNoMaps)
{
    mmap(10, 0x1000, 0x1000, 0, "/bin/shell", 0);
    fork(20, 10, 20, 10, 0, PERF_RECORD_MISC_FORK_EXEC);
    fork(30, 10, 30, 10, 0);
    EXPECT_EQ(at(20, 0x1000, 50), "nothing");
    EXPECT_EQ(at(30, 0x1000, 50), "/bin/shell+0");
}

TEST_F(ThreadsTest, QueriesTerminateIfThreadsAreParentsOfEachOther)
{
    fork(1, 2, 1, 2, 5);
    fork(2, 1, 2, 1, 5);
    EXPECT_EQ(at(1, 0x1000, 9), "nothing");
    EXPECT_EQ(threads.command(1, 9), "");
}

TEST_F(ThreadsTest, EmptyAndOverflowingMapsAreDropped)
{
    mmap(10, UINT64_MAX - 5, 100, 0, "/bin/a", 5);
    mmap(10, 0x1000, 0, 0, "/bin/a", 5);
    EXPECT_EQ(threads.dropped(), 2U);
    EXPECT_TRUE(threads.objects().empty());
}

// Each round adds a name, a fork and a map of a new thread.
TEST_F(ThreadsTest, NamesAndMapsBeyondTheMemoryLimitAreDropped)
{
    constexpr uint32_t kLeast = limits::kThreads / 1024, kMost = limits::kThreads / 100;
    uint32_t task = 1;
    comm(task, task, "first", 5, false);
    while (threads.dropped() == 0 && task < kMost) {
        task++;
        comm(task, task, "next", 5, true);
        fork(task, 1, task, 1, 4);
        mmap(task, 0x1000, 0x1000, 0, "/bin/" + std::to_string(task), 5);
    }
    EXPECT_GT(task, kLeast);
    EXPECT_LT(task, kMost);
    const uint64_t dropped = threads.dropped();
    comm(kMost + 1, kMost + 1, "late", 5, false);
    mmap(kMost + 1, 0x1000, 0x1000, 0, "/bin/late", 5);
    EXPECT_EQ(threads.dropped(), dropped + 2);
    EXPECT_EQ(threads.command(1, 9), "first");
    EXPECT_EQ(threads.command(kMost + 1, 9), "");
}

// The maps of a server: each process maps some of the same libraries, at consecutive addresses.
TEST_F(ThreadsTest, KeepsAllMapsOf16000ProcessesButNotOf32000)
{
    constexpr uint32_t kLibraries = 300, kMapsOfAProcess = 25, kProcesses = 16000;
    constexpr uint32_t kFarTooMany = 2 * kProcesses;
    const auto library_of = [](uint32_t pid, uint64_t map) {
        return "/usr/lib/x86_64-linux-gnu/lib" + std::to_string((pid + map) % kLibraries) + ".so";
    };
    const auto address_of = [](uint32_t pid, uint64_t map) {
        return 0x7f0000000000 + pid * 0x100000 + map * 0x2000;
    };
    const auto begin = [&](uint32_t pid) {
        comm(pid, pid, "server", 5, true);
        for (uint64_t map = 0; map < kMapsOfAProcess; map++)
            mmap(pid, address_of(pid, map), 0x2000, 0x1000, library_of(pid, map), 6);
    };
    static_assert(kProcesses * kMapsOfAProcess >= 400000);
    for (uint32_t pid = 1; pid <= kProcesses; pid++)
        begin(pid);
    for (uint32_t pid = 1; pid <= kProcesses; pid++)
        for (uint64_t map = 0; map < kMapsOfAProcess; map += 8)
            ASSERT_EQ(at(pid, address_of(pid, map), 9), library_of(pid, map) + "+4096");
    EXPECT_EQ(threads.dropped(), 0U);
    for (uint32_t pid = kProcesses + 1; pid <= kFarTooMany; pid++)
        begin(pid);
    EXPECT_GT(threads.dropped(), 0U);
    EXPECT_EQ(at(1, address_of(1, 3), 9), library_of(1, 3) + "+4096");
    EXPECT_EQ(at(kFarTooMany, address_of(kFarTooMany, 3), 9), "nothing");
}

// Each map is stored at two nodes of every level of the tree.
TEST(MapIndex, OverlappingMapsAreFoundUpToTheLimit)
{
    constexpr uint64_t kMaps = 4096, kMiddle = 0x100000;
    Budget left(100 * kMaps);
    MapIndex index;
    for (uint64_t i = 0; i < kMaps; i++)
        ASSERT_TRUE(index.add({i, kMiddle - 1 - i, kMiddle + 1 + i, 0, 0}, left));
    const size_t without_room = index.build(left), found = kMaps - without_room;
    EXPECT_GT(without_room, 0U);
    EXPECT_GT(found, kMaps / 100);
    EXPECT_GE(index.find(kMiddle, {0, UINT64_MAX, UINT64_MAX})->time_ns, found - 1);
    EXPECT_LT(index.build(left), kMaps / 100) << "dropped maps return their memory";
}

TEST_F(ThreadsTest, NamesOfFewThreadsAreDroppedBeyondTheMemoryLimit)
{
    constexpr uint32_t kTasks = 100, kNameBytes = 200, kNames = limits::kThreads / kNameBytes;
    const std::string name(kNameBytes, 'n');
    for (uint32_t i = 0; i < kNames; i++)
        comm(1 + i % kTasks, 1 + i % kTasks, name + std::to_string(i), 5 + i, false);
    EXPECT_GT(threads.dropped(), 0U);
    EXPECT_LT(threads.dropped(), kNames);
}

TEST_F(ThreadsTest, MapsOfLargeProcessesAreDroppedBeyondTheMemoryLimit)
{
    constexpr uint32_t kProcesses = 3200, kMapsOfAProcess = 100;
    for (uint32_t pid = 1; pid <= kProcesses; pid++)
        for (uint64_t map = 1; map <= kMapsOfAProcess; map++)
            mmap(pid, map * 0x2000, 0x2000, 0, "/lib/a", 6);
    EXPECT_GT(threads.dropped(), 0U);
    EXPECT_LT(threads.dropped(), kProcesses * kMapsOfAProcess / 4);
}

// A server that starts a thread for each request, with one name.
TEST_F(ThreadsTest, KeepsTheNamesOf200000ThreadsButNotOf300000)
{
    constexpr uint32_t kKept = 200000, kFarTooMany = 300000;
    comm(1, 1, "server", 1, true);
    uint32_t tid = 1;
    const auto start_until = [&](uint32_t last) {
        while (tid < last && threads.dropped() == 0) {
            tid++;
            fork(1, 1, tid, 1, tid);
            comm(1, tid, "worker", tid, false);
        }
    };
    start_until(kKept);
    EXPECT_EQ(threads.dropped(), 0U);
    for (uint32_t i = 2; i <= kKept; i += 1000)
        ASSERT_EQ(threads.command(i, i), "worker");
    start_until(kFarTooMany);
    EXPECT_GT(threads.dropped(), 0U);
}

// Forgetting

constexpr uint32_t kFillers = 1000000;  // PIDs of end_many()

// Each task has a long name and a program of its own, at the address of all others.
TEST_F(ThreadsTest, NamesOf60000ShortTasksAreRightWithinTheLimit)
{
    constexpr uint32_t kTasks = 60000, kPids = 25000, kRunning = 16;
    constexpr size_t kNameBytes = 250;
    threads.note_exits();
    comm(1, 1, "server", 1, true);
    for (uint32_t i = 0; i < kTasks; i++) {
        const uint32_t pid = 2 + i % kPids;
        const uint64_t time_ns = 10 + 10 * uint64_t{i};
        std::string name = "task" + std::to_string(i);
        name.resize(kNameBytes, '.');
        fork(pid, 1, pid, 1, time_ns);
        comm(pid, pid, name, time_ns + 1, true);
        mmap(pid, 0x1000, 0x1000, 0, i % 2 ? "/bin/odd" : "/bin/even", time_ns + 2);
        ASSERT_EQ(threads.command(pid, time_ns + 9), name);
        ASSERT_EQ(at(pid, 0x1000, time_ns + 9), i % 2 ? "/bin/odd+0" : "/bin/even+0");
        if (i >= kRunning)
            exit(2 + (i - kRunning) % kPids, 2 + (i - kRunning) % kPids, time_ns + 9);
        if (threads.should_forget())
            threads.forget_until(time_ns);
    }
    EXPECT_EQ(threads.dropped(), 0U);
    EXPECT_EQ(threads.command(1, UINT64_MAX), "server");
}

// The tasks of the test before.
TEST_F(ThreadsTest, ShortTasksAreDroppedBeyondTheLimitUnlessTheyAreForgotten)
{
    threads.note_exits();
    uint32_t pid = 1;
    for (; pid < 60000 && threads.dropped() == 0; pid++) {
        std::string name = "task" + std::to_string(pid);
        name.resize(250, '.');
        comm(pid, pid, name, pid, true);
        exit(pid, pid, pid);
    }
    EXPECT_GT(threads.dropped(), 0U);
    EXPECT_GT(pid, 3 * Threads::kLastExits);
}

TEST_F(ThreadsTest, ForgetsATaskThatExitedButNotOneOfTheLastExits)
{
    threads.note_exits();
    comm(10, 10, "ended", 5, true);
    mmap(10, 0x1000, 0x1000, 0, "/bin/ended", 6);
    exit(10, 10, 20);
    threads.forget_until(30);
    EXPECT_EQ(threads.command(10, 21), "ended") << "it may have samples after its exit";
    end_many(kFillers, 40);
    threads.forget_until(19);
    EXPECT_EQ(threads.command(10, 20), "ended") << "its exit is later";
    threads.forget_until(50);
    EXPECT_EQ(threads.command(10, 50), "");
    EXPECT_EQ(at(10, 0x1000, 50), "nothing");
}

TEST_F(ThreadsTest, ReusedPidKeepsItsNameAndMapsWhenTheEarlierTaskIsForgotten)
{
    threads.note_exits();
    comm(10, 10, "before", 5, true);
    mmap(10, 0x1000, 0x1000, 0, "/bin/before", 6);
    mmap(10, 0x5000, 0x1000, 0, "/lib/before", 6);
    exit(10, 10, 20);
    fork(10, 1, 10, 1, 30);
    comm(10, 10, "after", 31, true);
    mmap(10, 0x1000, 0x1000, 0, "/bin/after", 32);
    end_many(kFillers, 40);
    threads.forget_until(50);
    EXPECT_EQ(threads.command(10, 50), "after");
    EXPECT_EQ(at(10, 0x1000, 50), "/bin/after+0");
    EXPECT_EQ(at(10, 0x5000, 50), "nothing");
    EXPECT_EQ(threads.since_ns(10, 10, 50), 31U);
}

TEST_F(ThreadsTest, ChildKeepsNameAndMapsOfItsForgottenParent)
{
    threads.note_exits();
    comm(10, 10, "parent", 5, true);
    mmap(10, 0x1000, 0x1000, 0, "/bin/parent", 6);
    fork(11, 10, 11, 10, 7);
    comm(10, 10, "renamed", 8, false);
    exit(10, 10, 20);
    end_many(kFillers, 40);
    threads.forget_until(50);
    EXPECT_EQ(threads.command(10, 50), "");
    EXPECT_EQ(threads.command(11, 50), "parent");
    EXPECT_EQ(at(11, 0x1000, 50), "/bin/parent+0");
    exit(11, 11, 60);
    end_many(2 * kFillers, 70);
    threads.forget_until(80);
    EXPECT_EQ(at(11, 0x1000, 80), "nothing");
    EXPECT_EQ(at(10, 0x1000, 80), "nothing") << "no child needs it now";
}

TEST_F(ThreadsTest, ProcessIsKeptUntilItsLastThreadExits)
{
    threads.note_exits();
    comm(10, 10, "server", 5, true);
    mmap(10, 0x1000, 0x1000, 0, "/bin/server", 6);
    fork(10, 10, 11, 10, 7);
    exit(10, 10, 20);
    end_many(kFillers, 40);
    threads.forget_until(50);
    EXPECT_EQ(threads.command(11, 50), "server");
    EXPECT_EQ(at(10, 0x1000, 50), "/bin/server+0");
    exit(10, 11, 60);
    end_many(2 * kFillers, 70);
    threads.forget_until(80);
    EXPECT_EQ(at(10, 0x1000, 80), "nothing");
}

TEST_F(ThreadsTest, NamesOfARunningThreadAreForgottenButTheCurrentOne)
{
    threads.note_exits();
    for (uint64_t i = 0; i < 4000; i++)
        comm(10, 10, "name" + std::to_string(i), 5 + i, false);
    end_many(kFillers, 5000);
    threads.forget_until(6000);
    for (uint64_t i = 4000; i < 8000; i++)
        comm(10, 10, "name" + std::to_string(i), 6000 + i, false);
    EXPECT_EQ(threads.dropped(), 0U);
    EXPECT_EQ(threads.command(10, 6000), "name3999");
    EXPECT_EQ(threads.command(10, UINT64_MAX), "name7999");
}

}  // namespace
}  // namespace pmukit::cli
