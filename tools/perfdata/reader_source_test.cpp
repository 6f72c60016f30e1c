// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Reads the same records from memory, a file, a pipe, fed bytes and a directory, compressed or not.
// Each source is also truncated at every byte.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>
#include <optional>
#include <thread>

#include "base/limits.hpp"
#include "base/test_folder.hpp"
#include "perfdata/reader.hpp"
#include "perfdata/testing/test_file.hpp"

#ifdef PMUKIT_ZSTD
#include <zstd.h>
#endif

namespace pmukit::perfdata {
namespace {

namespace fs = std::filesystem;
using testing::FileBuilder;
using testing::filled;

constexpr uint64_t kSampleType = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_CPU | PERF_SAMPLE_RAW;

// One line per record: type, body bytes, payload bytes. The pieces of a payload are combined.
struct Lines {
    std::vector<std::string> records;
    std::optional<Damage> damage;
    std::optional<Error> error;
};

void add_line(Lines &lines, const Record &record, uint64_t &payload)
{
    payload = record.payload_at == 0 ? record.payload.size() : payload + record.payload.size();
    std::string line = std::string(record_name(record.type)) + " " +
                       std::to_string(record.body.size()) + " " + std::to_string(payload);
    if (record.payload_at != 0)
        lines.records.pop_back();
    lines.records.push_back(line);
}

Lines lines_of(Result<Reader> reader)
{
    Lines lines;
    if (!reader) {
        lines.error = reader.error();
        return lines;
    }
    uint64_t payload = 0;
    for (Record record;;) {
        if (!reader->next(record)) {
            lines.error = reader->error();
            break;
        }
        add_line(lines, record, payload);
    }
    lines.damage = reader->damage();
    return lines;
}

// Reads a pipe that delivers the bytes in portions.
Lines through_pipe(const std::vector<std::byte> &bytes)
{
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    std::thread writer([&bytes, out = Fd(ends[1])] {
        for (size_t at = 0; at < bytes.size();) {
            size_t size = std::min<size_t>(bytes.size() - at, 3001);
            if (::write(out.get(), bytes.data() + at, size) < 0)
                break;
            at += size;
        }
    });
    Lines lines = lines_of(Reader::open_fd(Fd(ends[0]), "pipe"));
    writer.join();
    return lines;
}

Lines through_feeding(Bytes bytes, size_t step)
{
    Result<Reader> reader = Reader::pushed();
    Lines lines;
    uint64_t payload = 0;
    for (Record record;;) {
        Result<Reader::Step> found = reader->step(record);
        if (!found)
            lines.error = found.error();
        if (!found || *found == Reader::Step::kEnd)
            break;
        if (*found == Reader::Step::kRecord) {
            add_line(lines, record, payload);
            continue;
        }
        size_t taken = reader->feed(bytes.first(std::min(step, bytes.size())));
        bytes = bytes.subspan(taken);
        if (bytes.empty())
            reader->end_feed();
    }
    lines.damage = reader->damage();
    return lines;
}

FileBuilder some_records(std::endian order = std::endian::little)
{
    FileBuilder file(order);
    file.event(24, kSampleType, {7}).pmu(24, "cxl_hmu_mem0.0.0");
    file.raw_sample(7, 2, filled(12, 0x11));
    file.auxtrace(7, 3, 0, filled(40, 0x22));
    file.record(kFinishedRound, {});
    return file;
}

const std::vector<std::string> kSomeLines = {"SAMPLE 32 0", "AUXTRACE 40 40", "FINISHED_ROUND 0 0"};

class ReaderSource : public ::testing::TestWithParam<std::endian> {
protected:
    std::string store_file(const std::string &name, const std::vector<std::byte> &bytes)
    {
        folder_.put(name, bytes);
        return folder_.path(name);
    }

    TestFolder folder_;
};
INSTANTIATE_TEST_SUITE_P(BothOrders, ReaderSource,
                         ::testing::Values(std::endian::little, std::endian::big),
                         [](const auto &order) {
                             return order.param == std::endian::little ? "little" : "big";
                         });

TEST_P(ReaderSource, ReadsAFileByPath)
{
    Lines lines = lines_of(Reader::open_path(store_file("f", some_records(GetParam()).file())));
    EXPECT_EQ(lines.records, kSomeLines);
    EXPECT_FALSE(lines.damage);
}

TEST_P(ReaderSource, PipeAndFedBytesGiveTheSameRecords)
{
    std::vector<std::byte> bytes = some_records(GetParam()).pipe();
    Lines whole = lines_of(Reader::open(bytes));
    EXPECT_EQ(whole.records.size(), 6U);
    EXPECT_EQ(through_pipe(bytes).records, whole.records);
    for (size_t step : {size_t{1}, size_t{7}, bytes.size()})
        EXPECT_EQ(through_feeding(bytes, step).records, whole.records) << step;
}

TEST_P(ReaderSource, EveryPrefixOfAPipeGivesWholeRecordsAndReportsTheLoss)
{
    std::vector<std::byte> bytes = some_records(GetParam()).pipe();
    for (size_t size = 0; size < bytes.size(); size++) {
        Lines memory = lines_of(Reader::open(Bytes(bytes).first(size)));
        Lines fed = through_feeding(Bytes(bytes).first(size), size < 100 ? 1 : 13);
        if (size < kPipeHeaderBytes) {
            EXPECT_TRUE(memory.error) << size;
            EXPECT_TRUE(fed.records.empty()) << size;
            continue;
        }
        EXPECT_EQ(memory.damage.has_value(), fed.damage.has_value()) << size;
        // A reader of memory drops a truncated payload; a reader of a stream returns its available
        // bytes.
        if (memory.damage && memory.damage->record_type != kAuxtrace) {
            EXPECT_EQ(memory.damage->offset, fed.damage->offset) << size;
            EXPECT_EQ(memory.damage->lost_bytes, fed.damage->lost_bytes) << size;
        }
        EXPECT_LE(fed.records.size() - memory.records.size(), 1U) << size;
    }
}

TEST_P(ReaderSource, LongPayloadsAreReturnedInPieces)
{
    FileBuilder builder(GetParam());
    builder.event(24, kSampleType, {7})
        .auxtrace(7, 3, 0, filled((size_t{9} << 20) + 8, 0x22))
        .record(kFinishedRound, {});
    const std::vector<std::string> expect = {"AUXTRACE 40 9437192", "FINISHED_ROUND 0 0"};
    Result<Reader> reader = Reader::open_path(store_file("f", builder.file()));
    ASSERT_TRUE(reader);
    std::vector<uint64_t> places;
    Record record;
    while (reader->next(record) && record.type == kAuxtrace) {
        places.push_back(record.payload_at);
        EXPECT_EQ(record.payload_bytes, (uint64_t{9} << 20) + 8);
        EXPECT_EQ(parse_auxtrace(record.body, GetParam())->reference, 7U);
    }
    EXPECT_EQ(places, (std::vector<uint64_t>{0, uint64_t{4} << 20, uint64_t{8} << 20}));
    EXPECT_EQ(record.type, kFinishedRound);

    Lines piped = through_pipe(builder.pipe());
    EXPECT_EQ(std::vector<std::string>(piped.records.end() - 2, piped.records.end()), expect);
    EXPECT_EQ(through_feeding(builder.pipe(), 1 << 16).records, piped.records);
}

TEST_P(ReaderSource, RecordsStayValidWhenTheReaderObjectIsMovedBetweenPartsOfAPayload)
{
    FileBuilder builder(GetParam());
    builder.event(24, kSampleType, {7})
        .auxtrace(7, 3, 0, filled((size_t{9} << 20) + 8, 0x22))
        .record(kFinishedRound, {});
    Result<Reader> opened = Reader::open_path(store_file("f", builder.file()));
    ASSERT_TRUE(opened);
    auto first = std::make_unique<Reader>(std::move(*opened));
    Record record;
    ASSERT_TRUE(first->next(record));
    Reader moved = std::move(*first);
    first.reset();
    EXPECT_EQ(parse_auxtrace(record.body, GetParam())->reference, 7U);
    ASSERT_TRUE(moved.next(record));
    EXPECT_EQ(record.payload_at, uint64_t{4} << 20);
    EXPECT_EQ(parse_auxtrace(record.body, GetParam())->reference, 7U);
}

TEST_P(ReaderSource, SpecialFilesOfADirectoryAreNotOpened)
{
    fs::create_directory(folder_.path("d"));
    store_file("d/data", some_records(GetParam()).file());
    ASSERT_EQ(::mkfifo(folder_.path("d/data.0").c_str(), 0600), 0);  // opening it would block
    const Lines lines = lines_of(Reader::open_path(folder_.path("d")));
    ASSERT_TRUE(lines.error);
    EXPECT_NE(lines.error->message.find("data.0: not a regular file"), std::string::npos)
        << lines.error->message;
    fs::remove(folder_.path("d/data"));
    fs::create_symlink("/dev/zero", folder_.path("d/data"));
    EXPECT_FALSE(Reader::open_path(folder_.path("d")));
}

// next() ends a loop in both cases; error() tells them apart, even after further calls.
TEST_P(ReaderSource, NextReturnsFalseAtTheEndAndAfterAnError)
{
    fs::create_directory(folder_.path("d"));
    store_file("d/data", some_records(GetParam()).file());
    for (const bool broken : {false, true}) {
        if (broken)
            ASSERT_EQ(::mkfifo(folder_.path("d/data.0").c_str(), 0600), 0);
        Result<Reader> reader = Reader::open_path(folder_.path("d"));
        ASSERT_TRUE(reader);
        size_t records = 0;
        Record record;
        while (reader->next(record))
            ASSERT_LT(records++, 1000U);
        EXPECT_GT(records, 0U);
        EXPECT_EQ(reader->error().has_value(), broken);
        EXPECT_FALSE(reader->next(record));
        EXPECT_EQ(reader->error().has_value(), broken);
    }
}

TEST_P(ReaderSource, LimitsTheBytesOfHeaderRecordsOfAPipe)
{
    constexpr size_t kWords = 8000;
    for (const uint64_t kind : {EventUpdateRecord::kScale, EventUpdateRecord::kName})
        for (const size_t count : {size_t{120}, size_t{300}}) {
            const size_t most = kind == EventUpdateRecord::kName ? limits::kEvents : limits::kFront;
            std::vector<uint64_t> words(kWords, 0x7878787878787878);
            words[0] = kind;
            words[1] = 7;
            words.back() = 0;
            FileBuilder builder(GetParam());
            builder.event(24, kSampleType, {7});
            for (size_t i = 0; i < count; i++)
                builder.record(kEventUpdate, words);
            builder.raw_sample(7, 0, filled(4, 0));
            const std::vector<std::byte> bytes = builder.pipe();
            Result<Reader> reader = Reader::open(bytes);
            ASSERT_TRUE(reader);
            ASSERT_TRUE(reader->read_front());
            const bool over = count * kWords * 8 > most;
            EXPECT_EQ(reader->warnings().size(), over ? 1U : 0U) << kind << " " << count;
            size_t kept = 0;
            for (Record record; reader->next(record);)
                kept += record.body.size();
            EXPECT_LE(kept, limits::kFront + 2 * kWords * 8);
        }
}

TEST_P(ReaderSource, RefusesFileLayoutFromAPipe)
{
    Lines lines = through_pipe(some_records(GetParam()).file());
    ASSERT_TRUE(lines.error);
    EXPECT_EQ(lines.error->code, Errc::kUnsupported);
}

TEST_P(ReaderSource, ADirectoryIsReadPartByPart)
{
    store_file("d/data", some_records(GetParam()).file());
    FileBuilder part(GetParam());
    part.record(kFinishedRound, {}).raw_sample(7, 1, filled(4, 0));
    store_file("d/data.0", part.records());
    std::vector<std::byte> cut = part.records();
    cut.resize(cut.size() - 1);
    store_file("d/data.1", cut);
    store_file("d/data.2", part.records());

    Result<Reader> reader = Reader::open_path(folder_.path("d"));
    ASSERT_TRUE(reader) << reader.error().message;
    Record record;
    std::vector<uint32_t> types;
    while (reader->next(record)) {
        types.push_back(record.type);
        EXPECT_EQ(reader->pmu_name(24), "cxl_hmu_mem0.0.0");
        EXPECT_EQ(reader->feature(kFeatPmuMappings)->size(), 76U);
    }
    EXPECT_EQ(types, (std::vector<uint32_t>{PERF_RECORD_SAMPLE, kAuxtrace, kFinishedRound,
                                            kFinishedRound, PERF_RECORD_SAMPLE, kFinishedRound,
                                            kFinishedRound, PERF_RECORD_SAMPLE}));
    ASSERT_TRUE(reader->damage());
    EXPECT_NE(reader->damage()->reason.find("d/data.1"), std::string::npos);
    EXPECT_EQ(reader->damage()->offset, 8U);
}

TEST_P(ReaderSource, ReadsPastAMissingFileOfADirectoryAndReportsIt)
{
    store_file("d/data", some_records(GetParam()).file());
    FileBuilder part(GetParam());
    part.record(kFinishedRound, {});
    for (const char *name :
         {"d/data.0", "d/data.2", "d/data.10", "d/data.03", "d/data.x", "d/data."})
        store_file(name, part.records());

    Result<Reader> reader = Reader::open_path(folder_.path("d"));
    ASSERT_TRUE(reader) << reader.error().message;
    EXPECT_EQ(reader->later_parts(),
              (std::vector<std::string>{folder_.path("d/data.0"), folder_.path("d/data.2"),
                                        folder_.path("d/data.10")}));
    EXPECT_EQ(reader->missing_part(), folder_.path("d/data.1"));
    ASSERT_EQ(reader->warnings().size(), 1U);
    EXPECT_EQ(reader->warnings()[0].code, Errc::kNotFound);
    EXPECT_EQ(reader->warnings()[0].message, folder_.path("d/data.1") + " is missing");
}

// Removes the effective capabilities of the process while an object exists, so that file modes also
// apply to root.
class NoCapability {
public:
    NoCapability()
    {
        EXPECT_EQ(::syscall(SYS_capget, &header_, sets_), 0);
        __user_cap_data_struct none[2] = {sets_[0], sets_[1]};
        none[0].effective = none[1].effective = 0;
        EXPECT_EQ(::syscall(SYS_capset, &header_, none), 0);
    }
    NoCapability(const NoCapability &) = delete;
    NoCapability &operator=(const NoCapability &) = delete;
    ~NoCapability() { EXPECT_EQ(::syscall(SYS_capset, &header_, sets_), 0); }

private:
    __user_cap_header_struct header_{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct sets_[2] = {};
};

TEST_P(ReaderSource, RefusesADirectoryThatCannotBeListed)
{
    store_file("d/data", some_records(GetParam()).file());
    ASSERT_EQ(::chmod(folder_.path("d").c_str(), 0111), 0);
    {
        const NoCapability unprivileged;
        EXPECT_TRUE(Reader::open_path(folder_.path("d/data")));
        const Result<Reader> reader = Reader::open_path(folder_.path("d"));
        ASSERT_FALSE(reader);
        EXPECT_EQ(reader.error().code, Errc::kDenied);
        EXPECT_EQ(reader.error().message, folder_.path("d") + ": Permission denied");
    }
    ASSERT_EQ(::chmod(folder_.path("d").c_str(), 0755), 0);
}

TEST_P(ReaderSource, MissingFilesAreNotFoundAndADirectoryDescriptorIsUnsupported)
{
    EXPECT_EQ(Reader::open_path(folder_.path("no")).error().code, Errc::kNotFound);
    EXPECT_EQ(Reader::open_path(folder_.dir()).error().code, Errc::kNotFound) << "no data inside";
    Fd folder(::open(folder_.dir().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    EXPECT_EQ(Reader::open_fd(std::move(folder), "it").error().code, Errc::kUnsupported);
}

TEST_P(ReaderSource, RefusesMoreEventIdsThanItsLimit)
{
    std::vector<uint64_t> ids(limits::kIds / sizeof(uint64_t));
    std::iota(ids.begin(), ids.end(), 1);
    FileBuilder file(GetParam());
    file.event(24, kSampleType, ids);
    EXPECT_FALSE(lines_of(Reader::open(file.file())).error);
    file.event(24, kSampleType, {UINT64_MAX});
    const Lines lines = lines_of(Reader::open(file.file()));
    ASSERT_TRUE(lines.error);
    EXPECT_EQ(lines.error->code, Errc::kDamaged);
    EXPECT_NE(lines.error->message.find("more events or event ids"), std::string::npos);
}

TEST_P(ReaderSource, ListsHeaderSectionsIncludingUnknownOnes)
{
    std::vector<std::byte> bytes = some_records(GetParam()).file();
    Result<Reader> reader = Reader::open(bytes);
    ASSERT_EQ(reader->features().size(), 1U);
    EXPECT_EQ(reader->features()[0].feature, kFeatPmuMappings);
    EXPECT_EQ(reader->features()[0].bytes, 76U);
    EXPECT_EQ(reader->feature(kFeatPmuMappings)->size(), 76U);
    EXPECT_FALSE(reader->feature(200));

    FileBuilder future(GetParam());
    future.event(24, kSampleType, {7});
    std::vector<std::byte> pipe = future.pipe();
    FileBuilder more(GetParam());
    more.record(kHeaderFeature, {200, 1, 2});
    append(pipe, more.records());
    reader = Reader::open(pipe);
    Record record;
    while (reader->next(record))
        ;
    ASSERT_TRUE(reader->feature(200));
    EXPECT_EQ(reader->feature(200)->size(), 16U);
    EXPECT_TRUE(reader->warnings().empty());
}

// The empty feature that ends a pipe's header has the number of a feature in later tools.
TEST_P(ReaderSource, EmptyFeatureRecordEndsTheHeaderWhateverItsNumber)
{
    for (uint64_t number : {uint64_t{kFeatPmuMappings}, uint64_t{kFeatHostname}, uint64_t{250}}) {
        FileBuilder builder(GetParam());
        builder.event(24, kSampleType, {7}).pmu(24, "known");
        std::vector<std::byte> pipe = builder.pipe();
        FileBuilder end(GetParam());
        end.record(kHeaderFeature, {number}).record(PERF_RECORD_LOST, {7, 1, 0, 7});
        append(pipe, end.records());
        Result<Reader> reader = Reader::open(pipe);
        ASSERT_TRUE(reader);
        ASSERT_TRUE(reader->read_front());
        EXPECT_EQ(reader->pmu_name(24), "known") << number;
        EXPECT_EQ(reader->hostname(), "") << number;
        EXPECT_EQ(reader->features().size(), 1U) << number;
        EXPECT_TRUE(reader->warnings().empty()) << number;
        Record record;
        ASSERT_TRUE(reader->next(record));
        EXPECT_EQ(record.type, uint32_t{PERF_RECORD_LOST}) << "behind the header: " << number;
    }
}

#ifdef PMUKIT_ZSTD

// Splits the records every `step` bytes, and compresses each part as perf does: all parts belong to
// one zstd stream, which is flushed after each part.
std::vector<std::vector<std::byte>> pack(const std::vector<std::byte> &records, size_t step,
                                         int level = 1)
{
    std::vector<std::vector<std::byte>> packed;
    ZSTD_CStream *stream = ZSTD_createCStream();
    ZSTD_initCStream(stream, level);
    for (size_t at = 0; at < records.size(); at += step) {
        std::vector<std::byte> room(65536);
        ZSTD_inBuffer in{records.data() + at, std::min(step, records.size() - at), 0};
        ZSTD_outBuffer out{room.data(), room.size(), 0};
        ZSTD_compressStream(stream, &out, &in);
        EXPECT_EQ(ZSTD_flushStream(stream, &out), 0U);
        room.resize(out.pos);
        packed.push_back(room);
    }
    ZSTD_freeCStream(stream);
    return packed;
}

// A window descriptor of zstd: (1 + eighths / 8) * 2^log bytes (RFC 8878, 3.1.1.1.2).
std::byte window_descriptor(unsigned log, unsigned eighths)
{
    return static_cast<std::byte>((log - 10) << 3 | eighths);
}

// Without a window, zstd's default for the level.
FileBuilder packed_file(uint32_t type, std::endian order, size_t step, int level = 1,
                        std::optional<std::byte> window = {})
{
    FileBuilder inner(order);
    for (int i = 0; i < 200; i++)
        inner.raw_sample(7, 2, filled(12 + static_cast<size_t>(i % 3) * 8, i));
    FileBuilder file(order);
    file.event(24, kSampleType, {7});
    std::vector<std::vector<std::byte>> parts = pack(inner.records(), step, level);
    constexpr size_t kWindowDescriptor = 5;
    if (window)
        parts[0][kWindowDescriptor] = *window;
    for (const std::vector<std::byte> &part : parts)
        file.packed(type, part);
    file.record(kFinishedRound, {});
    return file;
}

TEST_P(ReaderSource, DecompressesBothTypesAcrossRecordBoundaries)
{
    for (uint32_t type : {kCompressed, kCompressed2})
        for (size_t step : {size_t{33}, size_t{1000}, size_t{100000}}) {
            std::vector<std::byte> bytes = packed_file(type, GetParam(), step).file();
            Lines lines = lines_of(Reader::open(bytes));
            EXPECT_FALSE(lines.error) << lines.error->message;
            EXPECT_FALSE(lines.damage) << lines.damage->reason;
            ASSERT_EQ(lines.records.size(), 201U) << type << " " << step;
            EXPECT_EQ(lines.records[199], "SAMPLE 40 0");
            EXPECT_EQ(lines.records[200], "FINISHED_ROUND 0 0");
            std::vector<std::byte> pipe = packed_file(type, GetParam(), step).pipe();
            EXPECT_EQ(through_feeding(pipe, 999).records.size(), 204U);
        }
}

// perf record -z 22 compresses with a window of 128 MiB. That takes seconds here, so the other
// files are compressed with level 1 and only claim such a window.
TEST_P(ReaderSource, EnforcesTheZstdWindowLimit)
{
    static_assert(limits::kWindow == size_t{1} << 27);
    for (const FileBuilder &file :
         {packed_file(kCompressed2, GetParam(), 1000, 22),
          packed_file(kCompressed2, GetParam(), 1000, 1, window_descriptor(27, 0))}) {
        const Lines lines = lines_of(Reader::open(file.file()));
        EXPECT_FALSE(lines.error);
        EXPECT_FALSE(lines.damage);
        EXPECT_EQ(lines.records.size(), 201U);
    }
    for (const std::byte window :
         {window_descriptor(27, 1), window_descriptor(28, 0), window_descriptor(41, 7)}) {
        const Lines beyond =
            lines_of(Reader::open(packed_file(kCompressed2, GetParam(), 1000, 1, window).file()));
        EXPECT_EQ(beyond.records.size(), 1U);
        ASSERT_TRUE(beyond.damage);
        EXPECT_NE(beyond.damage->reason.find("window of more than 128 MiB"), std::string::npos)
            << beyond.damage->reason;
    }
}

TEST_P(ReaderSource, EndsAtDamageEvenIfMoreIsFed)
{
    FileBuilder file(GetParam());
    file.event(24, kSampleType, {7}).record(kFinishedRound, {}, 0);
    const std::vector<std::byte> bytes = file.pipe(), more(4096);
    Result<Reader> reader = Reader::pushed();
    ASSERT_EQ(reader->feed(bytes), bytes.size());
    Record record;
    Reader::Step step = Reader::Step::kRecord;
    while (step == Reader::Step::kRecord)
        step = reader->step(record).value();
    EXPECT_EQ(step, Reader::Step::kEnd);
    reader->feed(more);
    EXPECT_EQ(reader->step(record).value(), Reader::Step::kEnd);
}

TEST_P(ReaderSource, HandlesEveryPrefixOfACompressedFile)
{
    FileBuilder builder = packed_file(kCompressed2, GetParam(), 1000);
    std::vector<std::byte> bytes = builder.file();
    size_t before = 0;
    for (size_t size = builder.data_offset(); size < bytes.size(); size++) {
        Lines lines = lines_of(Reader::open(Bytes(bytes).first(size)));
        EXPECT_GE(lines.records.size(), before) << size;
        before = lines.records.size();
    }
    EXPECT_EQ(before, 201U);
}

TEST_P(ReaderSource, UncompressedRecordsAreKeptIfCompressedDataAreDamaged)
{
    FileBuilder builder = packed_file(kCompressed2, GetParam(), 1000);
    std::vector<std::byte> bytes = builder.file();
    bytes[builder.data_offset() + 16] ^= std::byte{0xff};  // the magic number of zstd
    Lines lines = lines_of(Reader::open(bytes));
    EXPECT_FALSE(lines.error);
    ASSERT_TRUE(lines.damage);
    EXPECT_EQ(lines.damage->offset, builder.data_offset());
    EXPECT_EQ(lines.records, (std::vector<std::string>{"FINISHED_ROUND 0 0"}));
}

TEST_P(ReaderSource, CompressedDataEndingInsideARecordIsALoss)
{
    FileBuilder inner(GetParam());
    inner.raw_sample(7, 2, filled(12, 1));
    std::vector<std::byte> records = inner.records();
    records.resize(records.size() - 4);
    FileBuilder file(GetParam());
    file.event(24, kSampleType, {7}).packed(kCompressed, pack(records, 1000)[0]);
    Lines lines = lines_of(Reader::open(file.file()));
    ASSERT_TRUE(lines.damage);
    EXPECT_EQ(lines.damage->lost_bytes, records.size());
    EXPECT_EQ(lines.damage->record_type, kCompressed);
}

TEST_P(ReaderSource, RefusesNestedCompressedRecords)
{
    FileBuilder inner(GetParam());
    inner.packed(kCompressed, filled(8, 0));
    FileBuilder file(GetParam());
    file.event(24, kSampleType, {7}).packed(kCompressed, pack(inner.records(), 1000)[0]);
    Lines lines = lines_of(Reader::open(file.file()));
    EXPECT_TRUE(lines.damage);
    EXPECT_TRUE(lines.records.empty());
}

// If the reader accepted them, a few bytes of the file could produce any number of header records.
TEST_P(ReaderSource, RefusesCompressedHeaderRecords)
{
    for (const uint32_t type : {kHeaderAttr, kHeaderEventType, kEventUpdate, kHeaderFeature}) {
        FileBuilder inner(GetParam());
        inner.raw_sample(7, 2, filled(12, 1)).record(type, std::vector<uint64_t>(40, 7));
        FileBuilder file(GetParam());
        file.event(24, kSampleType, {7})
            .packed(kCompressed, pack(inner.records(), 1000)[0])
            .record(kFinishedRound, {});
        Lines lines = lines_of(Reader::open(file.file()));
        EXPECT_FALSE(lines.error);
        ASSERT_TRUE(lines.damage) << type;
        EXPECT_EQ(lines.records, (std::vector<std::string>{"SAMPLE 32 0", "FINISHED_ROUND 0 0"}));
    }
}

TEST_P(ReaderSource, InvalidRecordSizeEndsTheCompressedData)
{
    FileBuilder inner(GetParam());
    inner.raw_sample(7, 2, filled(12, 1))
        .record(PERF_RECORD_LOST, {}, 7)
        .raw_sample(7, 2, filled(12, 1));
    FileBuilder file(GetParam());
    file.event(24, kSampleType, {7})
        .packed(kCompressed, pack(inner.records(), 1000)[0])
        .record(kFinishedRound, {});
    Lines lines = lines_of(Reader::open(file.file()));
    EXPECT_FALSE(lines.error);
    ASSERT_TRUE(lines.damage);
    EXPECT_NE(lines.damage->reason.find("claims a size of 7 bytes"), std::string::npos)
        << lines.damage->reason;
    EXPECT_EQ(lines.records, (std::vector<std::string>{"SAMPLE 32 0", "FINISHED_ROUND 0 0"}));
}

TEST_P(ReaderSource, OversizedCompressedRecordIsALoss)
{
    FileBuilder file(GetParam());
    file.event(24, kSampleType, {7})
        .record(kCompressed2, {9, 0})
        .record(kCompressed2, {UINT64_MAX, 0})
        .record(kFinishedRound, {});
    Lines lines = lines_of(Reader::open(file.file()));
    ASSERT_TRUE(lines.damage);
    EXPECT_EQ(lines.records, (std::vector<std::string>{"FINISHED_ROUND 0 0"}));
}

#endif

// Resident bytes of this process.
uint64_t resident_bytes()
{
    uint64_t pages = 0;
    std::ifstream statm("/proc/self/statm");
    statm >> pages >> pages;
    return pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

// Accesses all pages of a payload that is much larger than the limit on resident memory. The reader
// must drop the pages of each piece once it returns the next one.
TEST(ReaderMemory, DoesNotGrowWithThePayload)
{
    constexpr uint64_t kPayload = uint64_t{256} << 20, kMost = uint64_t{48} << 20;
    const TestFolder folder;
    const std::string path = folder.path("sparse");
    FileBuilder file;
    file.event(24, kSampleType, {7}).record(kAuxtrace, {kPayload, 0, 7, 0, 0});
    const std::vector<std::byte> front = file.pipe();
    folder.put("sparse", front);
    fs::resize_file(path, front.size() + kPayload);
    Result<Reader> reader = Reader::open_path(path);
    ASSERT_TRUE(reader);
    const uint64_t before = resident_bytes();
    uint64_t seen = 0, sum = 0, most = before;
    for (Record record; reader->next(record);) {
        for (size_t at = 0; at < record.payload.size(); at += 4096)
            sum += std::to_integer<uint64_t>(record.payload[at]);
        seen += record.payload.size();
        most = std::max(most, resident_bytes());
    }
    EXPECT_EQ(seen, kPayload);
    EXPECT_EQ(sum, 0U);
    EXPECT_LE(most - before, kMost);
}

}  // namespace
}  // namespace pmukit::perfdata
