// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Synthesizes records from a temporary /proc and /sys, and parses them as a reader of recordings
// does.
#include "record/synthesize.hpp"

#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <sys/mman.h>

#include <algorithm>
#include <thread>

#include "base/file.hpp"
#include "base/notes.hpp"
#include "base/test_folder.hpp"
#include "perfdata/records.hpp"
#include "record/perf_event.hpp"

namespace pmukit::record {
namespace {

TEST(MapsLine, ParsesRangePermissionsAndFile)
{
    const auto map = parse_maps_line(
        "7f0a10028000-7f0a101bd000 r-xp 00028000 fe:10 1742                       "
        "/usr/lib/libc.so.6");
    ASSERT_TRUE(map);
    EXPECT_EQ(map->begin, 0x7f0a10028000U);
    EXPECT_EQ(map->end, 0x7f0a101bd000U);
    EXPECT_EQ(map->file_offset, 0x28000U);
    EXPECT_EQ(map->major, 0xfeU);
    EXPECT_EQ(map->minor, 0x10U);
    EXPECT_EQ(map->inode, 1742U);
    EXPECT_TRUE(map->readable && map->executable);
    EXPECT_FALSE(map->writable || map->shared);
    EXPECT_EQ(map->path, "/usr/lib/libc.so.6");
    EXPECT_EQ(parse_maps_line("1000-2000 rwxs 0 0:0 0 /a file (deleted)")->path,
              "/a file (deleted)");
    EXPECT_EQ(parse_maps_line("1000-2000 rwxp 00000000 00:00 0 ")->path, "");
}

TEST(MapsLine, RejectsMalformedLines)
{
    const std::string whole = "1000-2000 r-xp 3 fe:0 7";
    ASSERT_TRUE(parse_maps_line(whole));
    for (size_t bytes = 0; bytes < whole.size(); bytes++)
        EXPECT_FALSE(parse_maps_line(whole.substr(0, bytes))) << bytes;
    for (const char *line :
         {"2000-1000 r-xp 0 0:0 0", "1000-1000 r-xp 0 0:0 0", "1000-2000 r-x 0 0:0 0",
          "1000-20000000000000000 r-xp 0 0:0 0", "x000-2000 r-xp 0 0:0 0", "1000-2000 r-xp 0 00 0"})
        EXPECT_FALSE(parse_maps_line(line)) << line;
}

std::vector<std::byte> note(std::string_view owner, uint32_t type, const std::string &content)
{
    const auto padded = [](std::string text) {
        text.resize((text.size() + 3) / 4 * 4);
        return text;
    };
    std::vector<std::byte> bytes(12);
    store(bytes.data(), static_cast<uint32_t>(owner.size()), std::endian::native);
    store(bytes.data() + 4, static_cast<uint32_t>(content.size()), std::endian::native);
    store(bytes.data() + 8, type, std::endian::native);
    append(bytes, as_bytes(padded(std::string(owner)) + padded(content)));
    return bytes;
}

constexpr std::string_view kGnu("GNU", 4);
const std::string kId = "twenty bytes of id..";

TEST(BuildIdOfNotes, IsFoundAfterOtherNotes)
{
    std::vector<std::byte> notes = note("Linux", 3, "abc");
    append(notes, note(kGnu, 1, "version"));
    append(notes, note(kGnu, 3, kId));
    const Bytes found = build_id_of_notes(notes);
    EXPECT_TRUE(std::ranges::equal(found, as_bytes(kId)));
    for (size_t bytes = 0; bytes < notes.size(); bytes++)
        EXPECT_TRUE(build_id_of_notes(Bytes(notes).first(bytes)).empty()) << bytes;
}

TEST(BuildIdOfNotes, InvalidSizeOfANoteEndsTheSearch)
{
    std::vector<std::byte> notes = note(kGnu, 1, "version");
    store(notes.data(), UINT32_MAX, std::endian::native);
    append(notes, note(kGnu, 3, kId));
    EXPECT_TRUE(build_id_of_notes(notes).empty());
}

struct Kept {
    uint32_t type;
    uint16_t misc;
    std::vector<std::byte> body;  // without the trailer, which is zeros
};

class Keeper final : public RecordSink {
public:
    Result<void> records(Bytes bytes) override
    {
        const size_t size = load<uint16_t>(bytes.data() + 6, std::endian::native);
        EXPECT_EQ(size, bytes.size()) << "one record, whole";
        EXPECT_EQ(size % 8, 0U);
        const Bytes trailer = bytes.last(kTrailerBytes);
        EXPECT_TRUE(std::ranges::all_of(trailer, [](std::byte b) { return b == std::byte{0}; }));
        const Bytes body = bytes.subspan(8, size - 8 - kTrailerBytes);
        kept.push_back({load<uint32_t>(bytes.data(), std::endian::native),
                        load<uint16_t>(bytes.data() + 4, std::endian::native),
                        {body.begin(), body.end()}});
        return {};
    }
    Result<void> aux(const AuxChunk &) override { return Error{Errc::kIo, "there is none"}; }
    Result<void> round() override { return {}; }

    std::vector<Kept> kept;
};

class SynthesizerTest : public testing::Test {
protected:
    perfdata::MmapRecord map_at(size_t at) const
    {
        const Kept &record = keeper_.kept.at(at);
        const auto map = record.type == PERF_RECORD_MMAP
                             ? perfdata::parse_mmap(record.body, std::endian::native)
                             : perfdata::parse_mmap2(record.body, record.misc, std::endian::native);
        return map.value_or(perfdata::MmapRecord());
    }

    TestFolder root_;
    Keeper keeper_;
};

TEST_F(SynthesizerTest, WritesMapRecordsOfTheKernelWithItsBuildIdAndOfModules)
{
    root_.put("proc/kallsyms",
              "ffffffff81000000 T _stext\nffffffff81000000 T _text\nffffffff81100000 t _etext_not\n"
              "ffffffff82000000 T _etext\nffffffff83000000 T _text\n");
    root_.put("proc/modules",
              "imc 40960 1 imc_engine, Live 0xffffffffc0200000 (O)\nodd line\n"
              "hidden 8192 0 - Live 0x0000000000000000\n");
    const std::vector<std::byte> notes = note(kGnu, 3, kId);
    root_.put("sys/kernel/notes", notes);
    ASSERT_TRUE(Synthesizer(keeper_, root_.dir()).kernel());
    ASSERT_EQ(keeper_.kept.size(), 2U);
    EXPECT_EQ(keeper_.kept[0].type, uint32_t{PERF_RECORD_MMAP2});
    EXPECT_EQ(keeper_.kept[0].misc, PERF_RECORD_MISC_KERNEL | PERF_RECORD_MISC_MMAP_BUILD_ID);
    const perfdata::MmapRecord kernel = map_at(0);
    EXPECT_EQ(kernel.pid, UINT32_MAX);
    EXPECT_EQ(kernel.address, 0xffffffff81000000U);
    EXPECT_EQ(kernel.bytes, 0x1000000U);
    EXPECT_EQ(kernel.file_offset, 0xffffffff81000000U);
    EXPECT_EQ(kernel.path, "[kernel.kallsyms]_text");
    EXPECT_TRUE(std::ranges::equal(kernel.build_id, as_bytes(kId)));
    EXPECT_EQ(keeper_.kept[1].misc, PERF_RECORD_MISC_KERNEL);
    EXPECT_EQ(map_at(1).path, "[imc]");
    EXPECT_EQ(map_at(1).address, 0xffffffffc0200000U);
    EXPECT_EQ(map_at(1).bytes, 40960U);
}

TEST_F(SynthesizerTest, SkipsAKernelThatHidesItsAddresses)
{
    root_.put("proc/kallsyms", "0000000000000000 T _text\n0000000000000000 T _etext\n");
    ASSERT_TRUE(Synthesizer(keeper_, root_.dir()).kernel());
    EXPECT_TRUE(keeper_.kept.empty());
}

TEST_F(SynthesizerTest, WritesForkCommAndCodeMapRecordsOfEachProcess)
{
    root_.put("proc/70/status", "Name:\tbusy\nPid:\t70\nPPid:\t3\n");
    root_.put("proc/70/task/70/comm", "busy\n");
    root_.put("proc/70/task/71/comm", "worker\n");
    root_.put(
        "proc/70/maps",
        "1000-2000 r--p 00000000 fe:00 9 /bin/busy\n2000-3000 r-xp 00001000 fe:00 9 /bin/busy\n"
        "5000-6000 rwxp 00000000 00:00 0 \n");
    root_.put("proc/version", "not a process\n");
    root_.put("proc/90/stat", "one that has just ended\n");
    ASSERT_TRUE(Synthesizer(keeper_, root_.dir()).processes());
    ASSERT_EQ(keeper_.kept.size(), 6U);
    const auto fork = [this](size_t at) {
        return *perfdata::parse_task(keeper_.kept[at].body, std::endian::native);
    };
    EXPECT_EQ(keeper_.kept[0].misc, PERF_RECORD_MISC_FORK_EXEC);
    EXPECT_EQ(fork(0).parent_pid, 3U);
    EXPECT_EQ(fork(2).tid, 71U);
    EXPECT_EQ(fork(2).parent_tid, 70U);
    const auto comm = perfdata::parse_comm(keeper_.kept[3].body, std::endian::native);
    EXPECT_EQ(comm->pid, 70U);
    EXPECT_EQ(comm->tid, 71U);
    EXPECT_EQ(comm->name, "worker");
    EXPECT_EQ(keeper_.kept[4].misc, PERF_RECORD_MISC_USER);
    EXPECT_EQ(map_at(4).address, 0x2000U);
    EXPECT_EQ(map_at(4).file_offset, 0x1000U);
    EXPECT_EQ(map_at(4).protection, static_cast<uint32_t>(PROT_READ | PROT_EXEC));
    EXPECT_EQ(map_at(4).path, "/bin/busy");
    EXPECT_EQ(map_at(5).path, "//anon");
}

// perf unwinds a stack only with call frame information in a map, and linkers put that information
// into a read-only segment.
TEST_F(SynthesizerTest, WritesReadableDataMapsIfStacksAreCopied)
{
    root_.put("proc/70/status", "PPid:\t3\n");
    root_.put("proc/70/maps",
              "1000-2000 r--p 00000000 fe:00 9 /bin/busy\n2000-3000 r-xp 1000 fe:00 9 /bin/busy\n"
              "3000-4000 ---p 00000000 00:00 0 \n4000-5000 rw-p 00000000 00:00 0 [heap]\n");
    ASSERT_TRUE(Synthesizer(keeper_, root_.dir(), {}, true).processes());
    ASSERT_EQ(keeper_.kept.size(), 3U);
    EXPECT_EQ(keeper_.kept[0].misc, PERF_RECORD_MISC_USER | PERF_RECORD_MISC_MMAP_DATA);
    EXPECT_EQ(map_at(0).address, 0x1000U);
    EXPECT_EQ(map_at(0).protection, static_cast<uint32_t>(PROT_READ));
    EXPECT_EQ(keeper_.kept[1].misc, PERF_RECORD_MISC_USER);
    EXPECT_EQ(map_at(2).path, "[heap]");
}

TEST_F(SynthesizerTest, SkipsAMapWhosePathIsTooLongForARecord)
{
    root_.put("proc/70/status", "PPid:\t3\n");
    root_.put("proc/70/maps", "1000-2000 r-xp 0 fe:00 9 /" + std::string(70000, 'x') +
                                  "\n2000-3000 r-xp 0 fe:00 9 /bin/busy\n");
    ASSERT_TRUE(Synthesizer(keeper_, root_.dir()).processes());
    ASSERT_EQ(keeper_.kept.size(), 1U);
    EXPECT_EQ(map_at(0).path, "/bin/busy");
}

// A recorder drains its rings in this callback. Without the callback, the rings would overflow
// while /proc is read.
TEST_F(SynthesizerTest, CallsTheDrainCallbackBetweenRecords)
{
    root_.put("proc/70/status", "PPid:\t3\n");
    for (int tid = 70; tid < 90; tid++)
        root_.put("proc/70/task/" + std::to_string(tid) + "/comm", "worker\n");
    const auto pause = [] { std::this_thread::sleep_for(std::chrono::milliseconds(3)); };
    // Each record takes longer than the allowed time between two calls of the callback.
    class Slow final : public RecordSink {
    public:
        explicit Slow(std::function<void()> pause) : pause_(std::move(pause)) {}
        Result<void> records(Bytes) override
        {
            pause_();
            count++;
            return {};
        }
        Result<void> aux(const AuxChunk &) override { return {}; }
        Result<void> round() override { return {}; }
        size_t count = 0;

    private:
        std::function<void()> pause_;
    } slow(pause);
    size_t meanwhile = 0;
    Synthesizer synthesizer(slow, root_.dir(), [&meanwhile]() -> Result<void> {
        meanwhile++;
        return {};
    });
    ASSERT_TRUE(synthesizer.processes());
    EXPECT_EQ(slow.count, 40U);
    EXPECT_GE(meanwhile, slow.count);
    Synthesizer failing(slow, root_.dir(), []() -> Result<void> {
        return Error{Errc::kIo, "the disk is full"};
    });
    EXPECT_FALSE(failing.processes()) << "what went wrong meanwhile ends it";
}

// The callback must be called during the listing, because listing ten thousand threads takes longer
// than the time in which a small ring fills.
TEST_F(SynthesizerTest, CallsTheDrainCallbackWhileItListsADirectory)
{
    root_.put("proc/version", "not a process\n");
    for (int i = 0; i < 20000; i++)
        std::ofstream(root_.path("proc/no process " + std::to_string(i)));
    size_t meanwhile = 0;
    Synthesizer synthesizer(keeper_, root_.dir(), [&meanwhile]() -> Result<void> {
        meanwhile++;
        return {};
    });
    ASSERT_TRUE(synthesizer.processes());
    EXPECT_GE(meanwhile, 1U);
    EXPECT_TRUE(keeper_.kept.empty());
}

TEST_F(SynthesizerTest, ProcessOfAThreadIsWrittenWithAllItsThreads)
{
    root_.put("proc/70/status", "Tgid:\t70\nPPid:\t3\n");
    root_.put("proc/71/status", "Tgid:\t70\nPPid:\t3\n");
    root_.put("proc/70/task/70/comm", "busy\n");
    root_.put("proc/70/task/71/comm", "worker\n");
    root_.put("proc/80/status", "Tgid:\t80\nPPid:\t3\n");
    root_.put("proc/80/task/80/comm", "other\n");
    ASSERT_TRUE(Synthesizer(keeper_, root_.dir()).process_of(71));
    EXPECT_EQ(keeper_.kept.size(), 4U);
}

TEST_F(SynthesizerTest, NameOfACommandThatHasNotStartedIsOneCommRecord)
{
    root_.put("proc/70/task/70/comm", "pmukit\n");
    Synthesizer synthesizer(keeper_, root_.dir());
    ASSERT_TRUE(synthesizer.name_of(70, 70));
    ASSERT_TRUE(synthesizer.name_of(71, 71)) << "it has ended";
    ASSERT_EQ(keeper_.kept.size(), 1U);
    const auto comm = perfdata::parse_comm(keeper_.kept[0].body, std::endian::native);
    EXPECT_EQ(comm->tid, 70U);
    EXPECT_EQ(comm->name, "pmukit");
}

TEST_F(SynthesizerTest, ReadsKernelSymbolsOnceForAllFiles)
{
    root_.put("proc/kallsyms", "ffffffff81000000 T _text\nffffffff82000000 T _etext\n");
    Synthesizer synthesizer(keeper_, root_.dir());
    ASSERT_TRUE(synthesizer.kernel());
    root_.remove("proc/kallsyms");
    ASSERT_TRUE(synthesizer.kernel());
    ASSERT_EQ(keeper_.kept.size(), 2U);
    EXPECT_EQ(map_at(1).address, map_at(0).address);
}

}  // namespace
}  // namespace pmukit::record
