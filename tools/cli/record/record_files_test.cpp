// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/record/record_files.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "base/test_folder.hpp"
#include "perfdata/format.hpp"
#include "perfdata/reader.hpp"

namespace pmukit::cli {
namespace {

namespace fs = std::filesystem;

perfdata::WriterEvent an_event()
{
    perfdata::WriterEvent event{std::vector<std::byte>(128), {7}, "an event"};
    store<uint32_t>(event.attr.data() + perfdata::kAttrSize, 128, std::endian::native);
    return event;
}

// A PERF_RECORD_LOST whose count identifies it.
std::vector<std::byte> numbered(uint64_t number)
{
    std::vector<std::byte> record(24);
    const perf_event_header header{PERF_RECORD_LOST, 0, static_cast<uint16_t>(record.size())};
    std::memcpy(record.data(), &header, sizeof header);
    store<uint64_t>(record.data() + 16, number, std::endian::native);
    return record;
}

std::vector<uint64_t> numbers_in(const std::string &path)
{
    std::vector<uint64_t> numbers;
    Result<perfdata::Reader> reader = perfdata::Reader::open_path(path);
    EXPECT_TRUE(reader) << path;
    if (!reader)
        return numbers;
    for (perfdata::Record record;;) {
        const bool more = reader->next(record);
        EXPECT_FALSE(reader->error() || reader->damage()) << path;
        if (!more)
            return numbers;
        if (const auto lost = perfdata::parse_lost(record.body, reader->order());
            record.type == PERF_RECORD_LOST && lost)
            numbers.push_back(lost->lost);
    }
}

class RecordFilesTest : public testing::Test {
protected:
    RecordFiles files(std::optional<Interval> interval)
    {
        return RecordFiles(
            folder_.path("data"), interval,
            [this](const std::string &path, size_t part) {
                parts_.push_back(part);
                return perfdata::Writer::create(path, {an_event()}, {});
            },
            [this](perfdata::Writer &, record::RecordSink &sink, size_t part) {
                EXPECT_EQ(part, parts_.back());
                return sink.records(numbered(99));
            },
            [this](perfdata::Writer &, record::RecordSink &sink) {
                return back_ ? sink.records(numbered(back_++)) : Result<void>();
            });
    }
    std::vector<std::string> names() const
    {
        std::vector<std::string> names;
        for (const auto &entry : fs::directory_iterator(folder_.dir()))
            names.push_back(entry.path().filename());
        std::sort(names.begin(), names.end());
        return names;
    }

    TestFolder folder_;
    std::vector<size_t> parts_;
    uint64_t back_ = 0;  // number of the record that ends a file; 0: no such record
};

TEST_F(RecordFilesTest, WritesOneFileWithoutAnInterval)
{
    RecordFiles all = files(std::nullopt);
    ASSERT_TRUE(all.begin());
    for (uint64_t number : {1, 2}) {
        ASSERT_TRUE(all.records(numbered(number)));
        ASSERT_TRUE(all.round());
    }
    EXPECT_EQ(names().size(), 1U);
    EXPECT_FALSE(fs::exists(folder_.path("data"))) << "it is not whole yet";
    ASSERT_TRUE(all.finish());
    EXPECT_EQ(names(), std::vector<std::string>{"data"});
    EXPECT_EQ(numbers_in(folder_.path("data")), (std::vector<uint64_t>{99, 1, 2}));
    EXPECT_EQ(parts_, std::vector<size_t>{0});
}

TEST_F(RecordFilesTest, EachFileEndsWithTheRecordsThatTheEndCallbackWrites)
{
    back_ = 50;
    RecordFiles one = files(std::nullopt);
    ASSERT_TRUE(one.begin());
    ASSERT_TRUE(one.records(numbered(1)));
    ASSERT_TRUE(one.round());
    ASSERT_TRUE(one.finish());
    EXPECT_EQ(numbers_in(folder_.path("data")), (std::vector<uint64_t>{99, 1, 50}));

    RecordFiles each = files(Interval{std::chrono::seconds(0), 0});
    ASSERT_TRUE(each.begin());
    ASSERT_TRUE(each.records(numbered(1)));
    ASSERT_TRUE(each.round());
    ASSERT_TRUE(each.records(numbered(2)));
    ASSERT_TRUE(each.finish());
    EXPECT_EQ(numbers_in(folder_.path("data.000001")), (std::vector<uint64_t>{99, 1, 51}));
    EXPECT_EQ(numbers_in(folder_.path("data.000002")), (std::vector<uint64_t>{99, 2, 52}));
}

TEST_F(RecordFilesTest, SeriesHoldsEachRecordOnce)
{
    RecordFiles all = files(Interval{std::chrono::seconds(0), 0});
    ASSERT_TRUE(all.begin());
    for (uint64_t number : {1, 2, 3}) {
        ASSERT_TRUE(all.records(numbered(number)));
        ASSERT_TRUE(all.round());
    }
    ASSERT_TRUE(all.records(numbered(4)));
    ASSERT_TRUE(all.finish());
    for (uint64_t number : {1, 2, 3})
        EXPECT_EQ(numbers_in(folder_.path(fmt::format("data.{:06}", number))),
                  (std::vector<uint64_t>{99, number}));
    EXPECT_EQ(names(), (std::vector<std::string>{"data.000001", "data.000002", "data.000003",
                                                 "data.000004"}));
    EXPECT_EQ(numbers_in(folder_.path("data.000004")), (std::vector<uint64_t>{99, 4}));
    EXPECT_EQ(parts_, (std::vector<size_t>{1, 2, 3, 4}));
    EXPECT_EQ(all.bytes() % 4, 0U);
}

TEST_F(RecordFilesTest, DeletesTheOldestFilesBeyondTheLimit)
{
    RecordFiles all = files(Interval{std::chrono::seconds(0), 2});
    ASSERT_TRUE(all.begin());
    for (int i = 0; i < 4; i++)
        ASSERT_TRUE(all.round());
    ASSERT_TRUE(all.finish());
    EXPECT_EQ(names(), (std::vector<std::string>{"data.000004", "data.000005"}));
}

TEST_F(RecordFilesTest, FileNumbersContinueAfterAnEarlierRecording)
{
    const std::vector<std::string> others = {"data",        "data.000009.part-1", "data.12",
                                             "data.000x12", "data.0000012",       "other.000099"};
    for (const std::string &name : others)
        folder_.put(name, "of another recording");
    for (const char *name : {"data.000003", "data.000007"})
        folder_.put(name, "of the recording before");
    RecordFiles all = files(Interval{std::chrono::hours(1), 0});
    ASSERT_TRUE(all.begin());
    ASSERT_TRUE(all.finish());
    EXPECT_TRUE(fs::exists(folder_.path("data.000008")));
    EXPECT_EQ(names().size(), others.size() + 3);
    EXPECT_EQ(parts_, std::vector<size_t>{1}) << "it continues nothing";
}

TEST_F(RecordFilesTest, SeriesHasOnlyRegularFiles)
{
    folder_.put("data.000003", "of the recording before");
    folder_.link("data.900001", folder_.path("data.000003"));
    folder_.folder("data.999999999999");
    RecordFiles all = files(Interval{std::chrono::hours(1), 2});
    ASSERT_TRUE(all.begin());
    ASSERT_TRUE(all.finish());
    EXPECT_EQ(names(), (std::vector<std::string>{"data.000003", "data.000004", "data.900001",
                                                 "data.999999999999"}));
}

TEST_F(RecordFilesTest, FilesOfAnotherUserInASharedFolderAreNotPartOfTheSeries)
{
    if (::geteuid() != 0)
        GTEST_SKIP() << "only root can give a file to another user";
    constexpr uid_t kOther = 65534;
    ASSERT_EQ(::chmod(folder_.dir().c_str(), 01777), 0);
    folder_.put("data.000003", "of the recording before");
    for (const char *planted : {"data.900001", "data.900002"}) {
        folder_.put(planted, "planted");
        ASSERT_EQ(::chown(folder_.path(planted).c_str(), kOther, kOther), 0);
    }
    RecordFiles all = files(Interval{std::chrono::hours(1), 2});
    ASSERT_TRUE(all.begin());
    ASSERT_TRUE(all.finish());
    EXPECT_EQ(names(), (std::vector<std::string>{"data.000003", "data.000004", "data.900001",
                                                 "data.900002"}));
}

TEST_F(RecordFilesTest, UnfinishedFilesOfExitedRecordersAreNumberedAndDeletedLikeOthers)
{
    const pid_t ended = ::fork();
    if (ended == 0)
        ::_exit(0);
    ASSERT_EQ(::waitpid(ended, nullptr, 0), ended);
    const std::string left = fmt::format("data.000002.part-{}", ended);
    const std::string running = fmt::format("data.000001.part-{}", ::getpid());
    for (const std::string &name : {left, running, std::string("data.000001")})
        folder_.put(name, "of the recording before");
    RecordFiles all = files(Interval{std::chrono::seconds(0), 1});
    ASSERT_TRUE(all.begin());
    ASSERT_TRUE(all.finish());
    EXPECT_EQ(names(), (std::vector<std::string>{running, "data.000003"}));
}

TEST_F(RecordFilesTest, RejectsASeriesWhoseLastFileHasTheHighestNumber)
{
    folder_.put("data.999999999999", "of the recording before");
    RecordFiles all = files(Interval{std::chrono::seconds(0), 1});
    const Result<void> begun = all.begin();
    ASSERT_FALSE(begun);
    EXPECT_NE(begun.error().message.find("data.999999999999: has the highest number"),
              std::string::npos);
}

TEST_F(RecordFilesTest, AlsoDeletesTheOldestFilesOfEarlierRecordings)
{
    for (const char *name : {"data.999998", "data.000003", "data.000007"})
        folder_.put(name, "of the recording before");
    RecordFiles all = files(Interval{std::chrono::seconds(0), 3});
    testing::internal::CaptureStderr();
    ASSERT_TRUE(all.begin());
    const std::string path = folder_.path("data.");
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              "pmukit: " + path + "000003 to " + path +
                  "999998 (3 files) are of earlier recordings and count among the 3 to keep; the "
                  "oldest are deleted\n");
    ASSERT_TRUE(all.round());
    ASSERT_TRUE(all.finish());
    EXPECT_EQ(names(), (std::vector<std::string>{"data.1000000", "data.999998", "data.999999"}));
}

// A file instead of a folder cannot be listed: root can list every folder.
TEST_F(RecordFilesTest, RejectsAFolderThatCannotBeListed)
{
    folder_.put("folder", "");
    bool made = false;
    RecordFiles all(
        folder_.path("folder/data"), Interval{std::chrono::hours(1), 0},
        [this, &made](const std::string &, size_t) {
            made = true;
            return perfdata::Writer::create(folder_.path("data"), {an_event()}, {});
        },
        [](perfdata::Writer &, record::RecordSink &, size_t) { return Result<void>(); });
    const Result<void> begun = all.begin();
    ASSERT_FALSE(begun);
    EXPECT_NE(begun.error().message.find(folder_.path("folder") + ": "), std::string::npos);
    EXPECT_FALSE(made);
}

TEST_F(RecordFilesTest, BeginsTheNextFileOnlyAfterTheInterval)
{
    RecordFiles all = files(Interval{std::chrono::hours(1), 0});
    ASSERT_TRUE(all.begin());
    ASSERT_TRUE(all.round());
    ASSERT_TRUE(all.round());
    ASSERT_TRUE(all.finish());
    EXPECT_EQ(names(), std::vector<std::string>{"data.000001"});
}

TEST(Interval, ParsesSecondsAndNumberOfFiles)
{
    ASSERT_TRUE(parse_interval("60"));
    EXPECT_EQ(parse_interval("60")->length, std::chrono::seconds(60));
    EXPECT_EQ(parse_interval("60")->keep, 0U);
    EXPECT_EQ(parse_interval("1,10")->keep, 10U);
    for (const char *wrong : {"", "0", "x", "1,", "1,0", "1,x", "1,2,3", ",2", "99999999999"})
        EXPECT_FALSE(parse_interval(wrong)) << wrong;
}

}  // namespace
}  // namespace pmukit::cli
