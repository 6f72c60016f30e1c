// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The reader reads what the writer wrote; an incomplete file does not get the final name.
#include "perfdata/writer.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <chrono>
#include <ctime>
#include <filesystem>
#include <thread>

#include "base/file.hpp"
#include "base/test_folder.hpp"
#include "perfdata/aux.hpp"
#include "perfdata/format.hpp"
#include "perfdata/output/new_file.hpp"
#include "perfdata/reader.hpp"
#include "perfdata/recover.hpp"
#include "perfdata/testing/test_file.hpp"

namespace pmukit::perfdata {
namespace {

namespace fs = std::filesystem;
using testing::filled;

class WriterTest : public ::testing::Test {
protected:
    static std::vector<WriterEvent> events()
    {
        WriterEvent event{std::vector<std::byte>(136), {7, 8}, "cxl_hmu_mem0.0.0/x=1/"};
        store<uint32_t>(event.attr.data() + kAttrType, 24, std::endian::native);
        store<uint32_t>(event.attr.data() + kAttrSize, 136, std::endian::native);
        store<uint64_t>(event.attr.data() + kAttrSampleType, PERF_SAMPLE_IDENTIFIER,
                        std::endian::native);
        WriterEvent smaller{std::vector<std::byte>(128), {9}, "other"};
        store<uint32_t>(smaller.attr.data() + kAttrType, 1, std::endian::native);
        store<uint32_t>(smaller.attr.data() + kAttrSize, 128, std::endian::native);
        store<uint64_t>(smaller.attr.data() + kAttrSampleType, PERF_SAMPLE_IDENTIFIER,
                        std::endian::native);
        return {event, smaller};
    }
    static HostInfo host()
    {
        return {"host",
                "6.12",
                "pmukit",
                "x86_64",
                2,
                2,
                {"pmukit", "record"},
                {{24, "cxl_hmu_mem0.0.0"}}};
    }
    Writer create()
    {
        Result<Writer> writer = Writer::create(path_, events(), host());
        EXPECT_TRUE(writer);
        return std::move(*writer);
    }
    size_t files() const
    {
        return static_cast<size_t>(
            std::distance(fs::directory_iterator(folder_.dir()), fs::directory_iterator()));
    }

    TestFolder folder_;
    const std::string path_ = folder_.path("perf.data");
};

TEST_F(WriterTest, ReaderReadsTheWrittenFile)
{
    {
        Writer writer = create();
        AuxtraceRecord trace;
        trace.offset = 64;
        trace.reference = 8;
        trace.cpu = 3;
        ASSERT_TRUE(writer.auxtrace(trace, filled(8, 1), filled(16, 2)));
        ASSERT_TRUE(writer.auxtrace(trace, filled(5, 3), {}));  // padded to a word
        ASSERT_TRUE(writer.finished_round());
        ASSERT_TRUE(writer.finish());
    }
    Result<MappedFile> file = MappedFile::open(path_);
    ASSERT_TRUE(file);
    Result<Reader> reader = Reader::open(file->bytes());
    ASSERT_TRUE(reader) << reader.error().message;
    EXPECT_TRUE(reader->warnings().empty());
    ASSERT_EQ(reader->events().size(), 2U);
    EXPECT_EQ(reader->events()[0].name, "cxl_hmu_mem0.0.0/x=1/");
    EXPECT_EQ(reader->events()[1].name, "other");
    EXPECT_EQ(reader->pmu_name(24), "cxl_hmu_mem0.0.0");
    EXPECT_EQ(reader->hostname(), "host");
    EXPECT_EQ(reader->os_release(), "6.12");
    EXPECT_EQ(reader->event_of_id(9), 1U);

    Record record;
    ASSERT_TRUE(reader->next(record));
    EXPECT_EQ(record.payload.size(), 24U);
    std::optional<AuxtraceRecord> trace = parse_auxtrace(record.body, reader->order());
    ASSERT_TRUE(trace);
    EXPECT_EQ(trace->offset, 64U);
    EXPECT_EQ(trace->reference, 8U);
    EXPECT_EQ(trace->cpu, 3U);
    EXPECT_EQ(record.payload[7], std::byte{1});
    EXPECT_EQ(record.payload[8], std::byte{2});
    ASSERT_TRUE(reader->next(record));
    EXPECT_EQ(record.payload.size(), 8U);
    ASSERT_TRUE(reader->next(record));
    EXPECT_EQ(record.type, kFinishedRound);
    EXPECT_FALSE(reader->next(record));
    EXPECT_FALSE(reader->damage());
}

TEST_F(WriterTest, WritesClockDataAndResolution)
{
    HostInfo timed = host();
    timed.clock = {1, CLOCK_MONOTONIC_RAW, 500000, 10};
    timed.clock_resolution_ns = 1;
    Result<Writer> writer = Writer::create(path_, events(), timed);
    ASSERT_TRUE(writer && writer->finished_round() && writer->finish());
    Result<Reader> reader = Reader::open_path(path_);
    ASSERT_TRUE(reader);
    const std::optional<Bytes> data = reader->feature(kFeatClockData),
                               resolution = reader->feature(kFeatClockId);
    ASSERT_TRUE(data && resolution);
    const auto clock = parse_clock_data(*data, reader->order());
    ASSERT_TRUE(clock);
    EXPECT_EQ(clock->version, 1U);
    EXPECT_EQ(clock->clock_id, uint32_t{CLOCK_MONOTONIC_RAW});
    EXPECT_EQ(clock->wall_ns, 500000U);
    EXPECT_EQ(clock->clock_ns, 10U);
    EXPECT_EQ(parse_word_feature(*resolution, reader->order()), 1U);
}

TEST_F(WriterTest, WritesAuxtraceInfo)
{
    {
        Writer writer = create();
        ASSERT_TRUE(writer.auxtrace_info(6, {24, 0x123456789abcdef0}));
        ASSERT_TRUE(writer.finish());
    }
    Result<MappedFile> file = MappedFile::open(path_);
    Result<Reader> reader = Reader::open(file->bytes());
    Record record;
    ASSERT_TRUE(reader->next(record));
    EXPECT_EQ(record.type, kAuxtraceInfo);
    std::optional<AuxtraceInfoRecord> info = parse_auxtrace_info(record.body, reader->order());
    ASSERT_TRUE(info);
    EXPECT_EQ(info->type, 6U);
    ASSERT_EQ(info->priv.size(), 2U);
    EXPECT_EQ(info->priv[0], 24U);
    EXPECT_EQ(info->priv[1], 0x123456789abcdef0U);
}

// With 8 bytes of header and 8 bytes of fixed fields, 8189 words give 65528 bytes.
TEST_F(WriterTest, RefusesTooManyWordsOfAuxtraceInfo)
{
    Writer writer = create();
    EXPECT_TRUE(writer.auxtrace_info(6, std::vector<uint64_t>(8189)));
    const uint64_t before = writer.data_bytes();
    const Result<void> refused = writer.auxtrace_info(6, std::vector<uint64_t>(8190));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::kUnsupported);
    EXPECT_EQ(writer.data_bytes(), before);
}

TEST_F(WriterTest, AttributesHaveTheSmallestCommonSize)
{
    for (bool used : {false, true}) {
        std::vector<WriterEvent> wanted = events();
        if (used)
            store<uint64_t>(wanted[0].attr.data() + kAttrConfig3, 1, std::endian::native);
        Result<Writer> writer = Writer::create(path_, wanted, host());
        ASSERT_TRUE(writer);
        ASSERT_TRUE(writer->finish());
        Result<MappedFile> file = MappedFile::open(path_);
        const std::byte *header = file->bytes().data();
        const uint64_t size = used ? 136 : 128;
        ASSERT_EQ(load<uint64_t>(header + 16, std::endian::native), size + kSectionBytes);
        uint64_t attrs = load<uint64_t>(header + 24, std::endian::native);
        for (uint64_t at : {attrs, attrs + size + kSectionBytes})
            EXPECT_EQ(load<uint32_t>(header + at + kAttrSize, std::endian::native), size);
    }
}

TEST_F(WriterTest, ReaderReadsTheWrittenPipe)
{
    {
        Fd out(::open(path_.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
        Result<Writer> writer = Writer::create_pipe(std::move(out), events(), host());
        ASSERT_TRUE(writer);
        ASSERT_TRUE(writer->auxtrace_info(6, {24}));
        ASSERT_TRUE(writer->auxtrace({}, filled(16, 2), {}));
        ASSERT_TRUE(writer->finish());
    }
    Result<Reader> reader = Reader::open_path(path_);
    ASSERT_TRUE(reader) << reader.error().message;
    std::vector<uint32_t> types;
    for (Record record; reader->next(record);)
        if (record.type != kHeaderFeature)
            types.push_back(record.type);
    EXPECT_EQ(types, (std::vector<uint32_t>{kHeaderAttr, kEventUpdate, kHeaderAttr, kEventUpdate,
                                            kAuxtraceInfo, kAuxtrace}));
    EXPECT_FALSE(reader->damage());
    EXPECT_TRUE(reader->warnings().empty());
    EXPECT_EQ(reader->events()[0].name, "cxl_hmu_mem0.0.0/x=1/");
    EXPECT_EQ(reader->pmu_name(24), "cxl_hmu_mem0.0.0");
    EXPECT_EQ(reader->hostname(), "host");
}

TEST_F(WriterTest, RefusesMoreEventIdsThanARecordOfAPipeHolds)
{
    std::vector<WriterEvent> many = events();
    many[0].ids.assign(8000, 7);
    EXPECT_TRUE(Writer::create_pipe(Fd(::open("/dev/null", O_WRONLY | O_CLOEXEC)), many, host()));
    many[0].ids.assign(8190, 7);  // header and ids have 65528 bytes, with no space for attributes
    Result<Writer> refused =
        Writer::create_pipe(Fd(::open("/dev/null", O_WRONLY | O_CLOEXEC)), many, host());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::kUnsupported);
}

TEST_F(WriterTest, WritesPayloadsLargerThanTheBuffer)
{
    {
        Writer writer = create();
        for (int i = 0; i < 3; i++)
            ASSERT_TRUE(writer.auxtrace({}, filled(size_t{3} << 20, i), {}));
        ASSERT_TRUE(writer.finish());
    }
    Result<MappedFile> file = MappedFile::open(path_);
    Result<Reader> reader = Reader::open(file->bytes());
    ASSERT_TRUE(reader);
    Record record;
    for (int i = 0; i < 3; i++) {
        ASSERT_TRUE(reader->next(record));
        EXPECT_EQ(record.payload.back(), static_cast<std::byte>(i));
    }
}

TEST_F(WriterTest, KeepsTheOldFileIfFinishIsNotCalled)
{
    ASSERT_TRUE(write_all(Fd(::open(path_.c_str(), O_CREAT | O_WRONLY, 0600)).get(),
                          as_bytes("old"), path_));
    {
        Writer writer = create();
        ASSERT_TRUE(writer.finished_round());
        EXPECT_EQ(files(), 2U);
    }
    EXPECT_EQ(files(), 1U);
    EXPECT_EQ(*read_small_file(path_), "old");
}

// Until finish(), the file is the same as that of a killed recorder.
TEST_F(WriterTest, FileOfAKilledRecorderCanBeRecovered)
{
    Writer writer = create();
    AuxtraceRecord trace;
    trace.reference = 8;
    ASSERT_TRUE(writer.auxtrace(trace, filled(8, 1), {}));
    ASSERT_TRUE(writer.finished_round());
    const Result<DamagedRecording> left = DamagedRecording::open(NewFile::part_name(path_));
    ASSERT_TRUE(left) << left.error().message;
    const Recovery &found = left->parts()[0].found;
    EXPECT_EQ(found.records, 2U);
    EXPECT_EQ(found.aux_buffers, 1U);
    EXPECT_TRUE(found.lost.empty());
    EXPECT_FALSE(found.header_whole);

    Result<Writer> saved = left->write(folder_.path("saved"));
    ASSERT_TRUE(saved && saved->finish());
    const Result<Reader> reader = Reader::open_path(folder_.path("saved"));
    ASSERT_TRUE(reader);
    EXPECT_EQ(reader->events().size(), 2U);
    EXPECT_EQ(reader->event_of_id(9), 1U);
    EXPECT_TRUE(reader->warnings().empty());
}

TEST_F(WriterTest, RecordsOlderThanASecondAreInTheUnfinishedFile)
{
    Writer writer = create();
    ASSERT_TRUE(writer.finished_round());
    const uintmax_t before = fs::file_size(NewFile::part_name(path_));
    std::this_thread::sleep_for(std::chrono::milliseconds(1100));
    ASSERT_TRUE(writer.finished_round());
    EXPECT_EQ(fs::file_size(NewFile::part_name(path_)), before + kRecordHeaderBytes);
}

// Sets RLIMIT_FSIZE of this process while an object exists.
class FileLimit {
public:
    explicit FileLimit(rlim_t bytes) : handler_(::signal(SIGXFSZ, SIG_IGN))
    {
        EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &before_), 0);
        const rlimit small{bytes, before_.rlim_max};
        EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    }
    ~FileLimit()
    {
        ::setrlimit(RLIMIT_FSIZE, &before_);
        ::signal(SIGXFSZ, handler_);
    }

private:
    sighandler_t handler_;
    rlimit before_{};
};

TEST_F(WriterTest, FileKeptAfterAFailedFinishHasTheRecordsAndNoIncompleteSections)
{
    std::string part;
    {
        Writer writer = create();
        ASSERT_TRUE(writer.finished_round());
        const FileLimit limit(fs::file_size(NewFile::part_name(path_)) + 20);
        ASSERT_FALSE(writer.finish());
        part = writer.keep();
    }
    EXPECT_EQ(part, NewFile::part_name(path_));
    EXPECT_EQ(files(), 1U);
    const Result<DamagedRecording> left = DamagedRecording::open(part);
    ASSERT_TRUE(left) << left.error().message;
    EXPECT_EQ(left->parts()[0].found.records, 1U);
    EXPECT_TRUE(left->parts()[0].found.lost.empty());
}

TEST_F(WriterTest, KeepsACompleteFileThatCannotBeRenamed)
{
    std::string part;
    {
        Writer writer = create();
        ASSERT_TRUE(writer.finished_round());
        fs::create_directory(path_);
        ASSERT_FALSE(writer.finish());
        part = writer.keep();
    }
    const Result<Reader> reader = Reader::open_path(part);
    ASSERT_TRUE(reader) << reader.error().message;
    EXPECT_TRUE(reader->warnings().empty());
    EXPECT_EQ(reader->hostname(), "host");
}

TEST_F(WriterTest, Keep_ReturnsNoPathForFinishedAndEmptyFiles)
{
    {
        Writer writer = create();
        EXPECT_EQ(writer.keep(), "");
    }
    EXPECT_EQ(files(), 0U);
    Writer writer = create();
    ASSERT_TRUE(writer.finished_round() && writer.finish());
    EXPECT_EQ(writer.keep(), "");
    EXPECT_EQ(files(), 1U);
}

TEST_F(WriterTest, Complete_WritesAllDataButDoesNotRenameTheFile)
{
    {
        Writer writer = create();
        ASSERT_TRUE(writer.complete());
        EXPECT_FALSE(fs::exists(path_));
        EXPECT_EQ(files(), 1U);
    }
    EXPECT_EQ(files(), 0U) << "the file was never given a name";
    Writer writer = create();
    ASSERT_TRUE(writer.complete());
    Writer moved = std::move(writer);
    ASSERT_TRUE(moved.finish());
    EXPECT_TRUE(Reader::open_path(path_));
    EXPECT_EQ(files(), 1U);
}

// Writes through a link, as sort -o and the redirection of a shell do.
TEST_F(WriterTest, ReplacesTheTargetOfALinkAndKeepsTheLink)
{
    folder_.folder("elsewhere");
    const std::string target = folder_.path("elsewhere/target");
    fs::create_symlink("elsewhere/second", path_);
    folder_.link("elsewhere/second", "target");
    for (const char *what : {"to nothing", "to an older file"}) {
        ASSERT_TRUE(create().finish()) << what;
        EXPECT_TRUE(fs::is_symlink(path_) && fs::is_symlink(folder_.path("elsewhere/second")));
        EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(target))) << what;
        EXPECT_TRUE(Reader::open_path(target)) << what;
        ASSERT_TRUE(write_all(Fd(::open(target.c_str(), O_TRUNC | O_WRONLY)).get(), as_bytes("old"),
                              target));
    }
    EXPECT_EQ(files(), 2U);
}

TEST_F(WriterTest, DoesNotFollowALinkAtTheUnfinishedName)
{
    const std::string victim = folder_.path("victim");
    ASSERT_TRUE(write_all(Fd(::open(victim.c_str(), O_CREAT | O_WRONLY, 0600)).get(),
                          as_bytes("old"), victim));
    fs::create_symlink("victim", NewFile::part_name(path_));
    ASSERT_TRUE(create().finish());
    EXPECT_EQ(*read_small_file(victim), "old");
    EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(path_)));
    EXPECT_TRUE(Reader::open_path(path_));
}

TEST_F(WriterTest, FifoIsWrittenInPipeLayoutAndCopyingToItIsRefused)
{
    ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
    const Fd reader(::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    ASSERT_TRUE(reader);
    std::byte bytes[4096];
    {
        Result<Writer> copy = Writer::create_copy(path_, std::endian::native, events());
        ASSERT_FALSE(copy);
        EXPECT_EQ(copy.error().code, Errc::kUsage);
        EXPECT_LE(::read(reader.get(), bytes, sizeof bytes), 0) << "refused before it began";
    }
    ASSERT_TRUE(create().finish());
    const ssize_t got = ::read(reader.get(), bytes, sizeof bytes);
    ASSERT_GT(got, 0);
    Result<Reader> piped = Reader::open(Bytes(bytes, static_cast<size_t>(got)));
    ASSERT_TRUE(piped) << piped.error().message;
    EXPECT_TRUE(piped->is_pipe());
    ASSERT_TRUE(piped->read_front());
    EXPECT_EQ(piped->events().size(), 2U);
    EXPECT_TRUE(fs::is_fifo(path_));
}

TEST_F(WriterTest, ErrorContainsThePathThatCannotBeCreated)
{
    Result<Writer> writer = Writer::create(folder_.path("no/file"), events(), host());
    ASSERT_FALSE(writer);
    EXPECT_NE(writer.error().message.find("no/file"), std::string::npos);
}

}  // namespace
}  // namespace pmukit::perfdata
