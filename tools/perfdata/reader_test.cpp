// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Files of both layouts and byte orders; then invalid values in every part of a file.
#include "perfdata/reader.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <random>

#include "base/file.hpp"
#include "base/limits.hpp"
#include "base/test_folder.hpp"
#include "perfdata/copy.hpp"
#include "perfdata/packer.hpp"
#include "perfdata/testing/test_file.hpp"

namespace pmukit::perfdata {
namespace {

namespace fs = std::filesystem;
using testing::FileBuilder;
using testing::filled;

constexpr uint64_t kSampleType = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_CPU | PERF_SAMPLE_RAW;

FileBuilder two_events(std::endian order = std::endian::little)
{
    FileBuilder file(order);
    file.event(24, kSampleType, {7, 8}).event(1, kSampleType, {9});
    file.pmu(1, "software").pmu(24, "cxl_hmu_mem0.0.0");
    file.raw_sample(7, 2, filled(12, 0x11));
    file.aux(8, 3, 0, 16);
    file.auxtrace(8, 3, 0, filled(16, 0x22));
    file.record(kFinishedRound, {});
    file.record(500, {1, 2});  // an unknown type
    return file;
}

struct Walk {
    std::vector<uint32_t> types;
    std::vector<std::optional<size_t>> events;
    std::optional<Damage> damage;
    std::optional<Error> error;
};

Walk walk(Reader &reader)
{
    Walk walk;
    for (Record record;;) {
        if (!reader.next(record)) {
            walk.error = reader.error();
            break;
        }
        walk.types.push_back(record.type);
        walk.events.push_back(reader.event_of(record));
    }
    walk.damage = reader.damage();
    return walk;
}

Walk walk(const std::vector<std::byte> &bytes)
{
    Result<Reader> reader = Reader::open(bytes);
    if (!reader)
        return Walk{{}, {}, {}, reader.error()};
    return walk(*reader);
}

class ReaderOrder : public ::testing::TestWithParam<std::endian> {};
INSTANTIATE_TEST_SUITE_P(BothOrders, ReaderOrder,
                         ::testing::Values(std::endian::little, std::endian::big),
                         [](const auto &order) {
                             return order.param == std::endian::little ? "little" : "big";
                         });

TEST_P(ReaderOrder, ReadsAFile)
{
    std::vector<std::byte> bytes = two_events(GetParam()).file();
    Result<Reader> reader = Reader::open(bytes);
    ASSERT_TRUE(reader) << reader.error().message;
    ASSERT_EQ(reader->events().size(), 2U);
    EXPECT_EQ(reader->events()[0].ids, (std::vector<uint64_t>{7, 8}));
    EXPECT_EQ(reader->pmu_name(24), "cxl_hmu_mem0.0.0");
    EXPECT_EQ(reader->pmu_name(25), "");
    EXPECT_TRUE(reader->warnings().empty());

    Walk got = walk(*reader);
    EXPECT_EQ(got.types, (std::vector<uint32_t>{PERF_RECORD_SAMPLE, PERF_RECORD_AUX, kAuxtrace,
                                                kFinishedRound, 500}));
    EXPECT_EQ(got.events[0], 0U);
    EXPECT_EQ(got.events[1], 0U);
    EXPECT_FALSE(got.events[2]);
    EXPECT_FALSE(got.damage);
}

TEST_P(ReaderOrder, ReadsAPipe)
{
    std::vector<std::byte> bytes = two_events(GetParam()).pipe();
    Result<Reader> reader = Reader::open(bytes);
    ASSERT_TRUE(reader) << reader.error().message;
    Walk got = walk(*reader);
    EXPECT_EQ(got.types.size(), 9U);
    EXPECT_FALSE(got.damage);
    EXPECT_EQ(reader->events().size(), 2U);
    EXPECT_EQ(reader->pmu_name(24), "cxl_hmu_mem0.0.0");
    EXPECT_EQ(reader->event_of_id(9), 1U);
    EXPECT_TRUE(reader->warnings().empty());
}

TEST_P(ReaderOrder, EveryPrefixKeepsWholeRecordsAndReportsTheRest)
{
    FileBuilder builder = two_events(GetParam());
    std::vector<std::byte> bytes = builder.file();
    // End of each record of two_events().
    std::vector<uint64_t> ends = {builder.data_offset()};
    for (uint64_t size : {40, 48, 64, 8, 24})
        ends.push_back(ends.back() + size);
    for (size_t size = 0; size < ends.back(); size++) {
        Walk got = walk(
            std::vector<std::byte>(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size)));
        if (size < ends.front()) {
            EXPECT_TRUE(got.error) << size;
            continue;
        }
        size_t whole = 0;
        while (ends[whole + 1] <= size)
            whole++;
        EXPECT_EQ(got.types.size(), whole) << size;
        EXPECT_EQ(got.damage.has_value(), size != ends[whole]) << size;
        if (got.damage) {
            EXPECT_EQ(got.damage->offset, ends[whole]) << size;
            EXPECT_EQ(got.damage->lost_bytes, size - ends[whole]) << size;
        }
    }
}

TEST(Reader, WarnsThatATruncatedFileHasNoPmuNames)
{
    FileBuilder builder = two_events();
    std::vector<std::byte> bytes = builder.file();
    bytes.resize(builder.data_offset() + 40);
    Result<Reader> reader = Reader::open(bytes);
    ASSERT_TRUE(reader);
    ASSERT_EQ(reader->warnings().size(), 1U);
    EXPECT_EQ(reader->warnings()[0].offset, bytes.size());
    EXPECT_EQ(reader->pmu_name(24), "");
}

// The size of the data is 0 in the files of both recorders.
TEST_P(ReaderOrder, DistinguishesACompleteFileWithoutRecordsFromThatOfAKilledRecorder)
{
    FileBuilder builder(GetParam());
    builder.event(24, kSampleType, {7}).pmu(24, "cxl_hmu_mem0.0.0");
    std::vector<std::byte> bytes = builder.file();
    Result<Reader> complete = Reader::open(bytes);
    ASSERT_TRUE(complete);
    EXPECT_TRUE(complete->warnings().empty());
    EXPECT_EQ(complete->pmu_name(24), "cxl_hmu_mem0.0.0");
    EXPECT_EQ(complete->data_end(), complete->data_begin());
    EXPECT_TRUE(walk(*complete).types.empty());
    for (const size_t rest : {size_t{0}, kSectionBytes - 1, kSectionBytes}) {
        bytes.resize(builder.data_offset() + rest);
        const Result<Reader> killed = Reader::open(bytes);
        ASSERT_TRUE(killed);
        EXPECT_EQ(killed->warnings().size(), 1U) << rest;
        EXPECT_EQ(killed->pmu_name(24), "");
    }
}

TEST(Reader, ReadsTheFileOfAKilledRecorder)
{
    FileBuilder builder = two_events();
    std::vector<std::byte> bytes = builder.file();
    bytes.resize(builder.data_offset() + 40 + 48);
    store_le<uint64_t>(bytes.data() + 48, 0);  // the size of the data
    Result<Reader> reader = Reader::open(bytes);
    ASSERT_TRUE(reader);
    EXPECT_EQ(reader->warnings().size(), 1U);
    EXPECT_EQ(walk(*reader).types.size(), 2U);
}

TEST(Reader, InvalidRecordSizeEndsReadingAtTheOffsetOfTheRecord)
{
    for (int size : {0, 1, 4, 7}) {
        FileBuilder builder;
        builder.event(24, kSampleType, {7})
            .record(PERF_RECORD_SAMPLE, {7, 0, 0})
            .record(PERF_RECORD_SAMPLE, {7}, size);
        Walk got = walk(builder.file());
        EXPECT_EQ(got.types.size(), 1U);
        ASSERT_TRUE(got.damage);
        EXPECT_EQ(got.damage->offset, builder.data_offset() + 32);
        EXPECT_EQ(got.damage->lost_bytes, 16U);
    }
}

TEST(Reader, AuxtraceSizesBeyondTheEndOfTheFileAreDamage)
{
    for (uint64_t size : {uint64_t{1} << 40, UINT64_MAX, UINT64_MAX - 7, uint64_t{17}}) {
        FileBuilder builder;
        builder.event(24, kSampleType, {7})
            .record(kAuxtrace, {size, 0, 0, 0, 0})
            .record(kFinishedRound, {});
        Walk got = walk(builder.file());
        EXPECT_TRUE(got.types.empty()) << size;
        EXPECT_TRUE(got.damage) << size;
    }
}

TEST(Reader, AShortAuxtraceIsDamage)
{
    FileBuilder builder;
    builder.event(24, kSampleType, {7}).record(kAuxtrace, {0, 0});
    EXPECT_TRUE(walk(builder.file()).damage);
}

TEST(Reader, RefusesFilesThatAreNotPerfData)
{
    EXPECT_EQ(walk(filled(200, 0)).error->code, Errc::kDamaged);
    EXPECT_EQ(walk(filled(3, 0)).error->code, Errc::kTruncated);
    std::vector<std::byte> old = filled(200, 0);
    std::ranges::copy(std::as_bytes(std::span("PERFFILE", 8)), old.begin());
    EXPECT_EQ(walk(old).error->code, Errc::kUnsupported);
    EXPECT_NE(walk(old).error->message.find("Linux 3.4"), std::string::npos);
}

// An offset in the file header, and an invalid value.
struct Lie {
    const char *what;
    size_t at;
    uint64_t value;
};

TEST(Reader, EachInvalidFieldOfTheFileHeaderIsAnErrorWithAnOffset)
{
    const Lie lies[] = {
        {"header size", 8, 17},
        {"attribute size 0", 16, 0},
        {"attribute size huge", 16, UINT64_MAX},
        {"attributes outside", 24, UINT64_MAX},
        {"attributes too long", 32, UINT64_MAX},
        {"data outside", 40, uint64_t{1} << 40},
    };
    for (const Lie &lie : lies) {
        std::vector<std::byte> bytes = two_events().file();
        store_le(bytes.data() + lie.at, lie.value);
        Walk got = walk(bytes);
        ASSERT_TRUE(got.error) << lie.what;
        EXPECT_EQ(got.error->code, Errc::kDamaged) << lie.what;
        EXPECT_TRUE(got.error->offset) << lie.what;
    }
}

TEST(Reader, RefusesOverlappingIdSections)
{
    FileBuilder builder;
    builder.event(24, kSampleType, {7, 8}).event(24, kSampleType, {});
    std::vector<std::byte> bytes = builder.file();
    size_t second_ids = builder.data_offset() - kSectionBytes;
    store_le<uint64_t>(bytes.data() + second_ids, kFileHeaderBytes);
    store_le<uint64_t>(bytes.data() + second_ids + 8, 16);
    EXPECT_EQ(walk(bytes).error->code, Errc::kDamaged);
}

// In a hash table without a salt, all these ids would be in one bucket, and each id would be
// compared with all others.
TEST(Reader, EventIdsChosenToCollideCostNoMoreTimeThanOthers)
{
    constexpr uint64_t kIds = 350000, kBuckets = 351061;  // a bucket count of libstdc++
    std::vector<uint64_t> ids(kIds);
    for (uint64_t i = 0; i < kIds; i++)
        ids[i] = (i + 1) * kBuckets;
    const std::vector<std::byte> file = FileBuilder().event(24, kSampleType, ids).file();
    Result<Reader> reader = Reader::open(file);
    ASSERT_TRUE(reader);
    EXPECT_EQ(reader->event_of_id(kIds * kBuckets), 0U);
    EXPECT_EQ(reader->event_of_id(kBuckets + 1), std::nullopt);
}

TEST(Reader, InvalidHeaderSectionsGiveOnlyWarnings)
{
    std::vector<std::byte> bytes = two_events().file();
    size_t table = bytes.size() - (4 + 2 * 72) - kSectionBytes;
    store_le<uint64_t>(bytes.data() + table, UINT64_MAX);
    Result<Reader> reader = Reader::open(bytes);
    ASSERT_TRUE(reader);
    EXPECT_EQ(reader->warnings().size(), 1U);

    bytes = two_events().file();
    store_le<uint32_t>(bytes.data() + table + kSectionBytes, 3);  // one mapping more than exists
    reader = Reader::open(bytes);
    ASSERT_TRUE(reader);
    EXPECT_EQ(reader->warnings().size(), 1U);
    EXPECT_EQ(reader->pmu_name(24), "cxl_hmu_mem0.0.0") << "what is whole is kept";
}

WriterEvent event_of(uint64_t id, std::endian order)
{
    WriterEvent event{std::vector<std::byte>(128), {id}, ""};
    store<uint32_t>(event.attr.data() + kAttrSize, 128, order);
    store<uint64_t>(event.attr.data() + kAttrSampleType, PERF_SAMPLE_IDENTIFIER, order);
    return event;
}

// The feature bitmap consists of 32-bit longs.
TEST(Reader, ReadsTheHeaderOfA32BitBigEndianHost)
{
    constexpr std::endian kOrder = std::endian::big;
    const TestFolder folder;
    Result<Writer> to =
        Writer::create_copy(folder.path("perf.data"), kOrder, {event_of(7, kOrder)});
    ASSERT_TRUE(to);
    ASSERT_TRUE(to->finished_round());
    to->section(kFeatHostname, Packer(kOrder).string("small").take());
    to->section(kFeatPmuMappings, Packer(kOrder).put(1U).put(24U).string("hmu0").take());
    ASSERT_TRUE(to->finish());
    std::string file = read_small_file(folder.path("perf.data")).value();
    for (size_t word = 72; word < 72 + kFeatureBits / 8; word += 8)
        std::swap_ranges(&file[word], &file[word + 4], &file[word + 4]);
    Result<Reader> reader = Reader::open(as_bytes(file));
    ASSERT_TRUE(reader);
    EXPECT_EQ(reader->hostname(), "small");
    EXPECT_EQ(reader->pmu_name(24), "hmu0");
}

TEST_P(ReaderOrder, BranchCountersApplyToTheWholeGroup)
{
    std::vector<WriterEvent> events;
    for (const uint64_t id : {5, 6, 7, 8})
        events.push_back(event_of(id, GetParam()));
    store<uint64_t>(events[2].attr.data() + kAttrBranchSampleType, kBranchCounters, GetParam());
    const TestFolder folder;
    Result<Writer> to = Writer::create_copy(folder.path("perf.data"), GetParam(), events);
    ASSERT_TRUE(to);
    ASSERT_TRUE(to->finished_round());
    to->section(kFeatGroupDesc, Packer(GetParam()).put(1U).string("{a,b}").put(1U).put(2U).take());
    ASSERT_TRUE(to->finish());
    Result<Reader> reader = Reader::open_path(folder.path("perf.data"));
    ASSERT_TRUE(reader);
    EXPECT_TRUE(reader->warnings().empty());
    std::string with_counters;
    for (const Event &event : reader->events())
        with_counters += event.attr.branch_sample_type & kBranchCounters ? 'y' : 'n';
    EXPECT_EQ(with_counters, "nyyn");
}

// A sparse file of `bytes` bytes, with the given sections of the header at the given offsets, in
// the order of their numbers.
class SparseFile {
public:
    struct Place {
        unsigned feature;
        uint64_t offset, bytes;
    };

    SparseFile(const std::vector<Place> &places, uint64_t bytes)
    {
        std::vector<std::byte> front = FileBuilder().event(24, kSampleType, {7}).file();
        front.resize(FileBuilder().event(24, kSampleType, {7}).data_offset());
        put(front, uint64_t{8} << 48 | kFinishedRound);  // the only record
        store_le<uint64_t>(front.data() + 48, 8);
        uint64_t bitmap[kFeatureBits / 64] = {};
        for (const Place &place : places) {
            bitmap[place.feature / 64] |= uint64_t{1} << place.feature % 64;
            put(front, place.offset);
            put(front, place.bytes);
        }
        for (size_t i = 0; i < kFeatureBits / 64; i++)
            store_le<uint64_t>(front.data() + 72 + 8 * i, bitmap[i]);
        std::string pattern = ::testing::TempDir() + "pmukit_reader.XXXXXX";
        Fd fd(::mkstemp(pattern.data()));
        path_ = pattern;
        EXPECT_TRUE(write_all(fd.get(), front, path_));
        EXPECT_EQ(::ftruncate(fd.get(), static_cast<off_t>(bytes)), 0);
    }
    SparseFile(const SparseFile &) = delete;
    SparseFile &operator=(const SparseFile &) = delete;
    ~SparseFile()
    {
        fs::remove(path_);
        fs::remove(copy());
    }

    const std::string &path() const { return path_; }
    std::string copy() const { return path_ + ".copy"; }

private:
    static void put(std::vector<std::byte> &to, uint64_t word)
    {
        to.resize(to.size() + sizeof word);
        store_le(to.data() + to.size() - sizeof word, word);
    }

    std::string path_;
};

constexpr uint64_t kMiB = uint64_t{1} << 20;

std::vector<unsigned> features_of(const Reader &reader)
{
    std::vector<unsigned> numbers;
    for (const FeatureSection &section : reader.features())
        if (reader.feature(section.feature))
            numbers.push_back(section.feature);
    return numbers;
}

TEST(ReaderFeatures, LimitsTheSizeOfASection)
{
    const SparseFile file({{40, kMiB, 16 * kMiB}, {41, 20 * kMiB, 16 * kMiB + 1}}, 50 * kMiB);
    Result<Reader> reader = Reader::open_path(file.path());
    ASSERT_TRUE(reader);
    EXPECT_EQ(features_of(*reader), (std::vector<unsigned>{40}));
    ASSERT_EQ(reader->warnings().size(), 1U);
    EXPECT_EQ(reader->warnings()[0].message, "header feature 41 is too large");
}

TEST(ReaderFeatures, LimitsTheSizeOfCapabilities)
{
    for (const uint64_t more : {0, 1}) {
        const SparseFile file({{kFeatPmuCaps, kMiB, limits::kCaps + more}}, 50 * kMiB);
        Result<Reader> reader = Reader::open_path(file.path());
        ASSERT_TRUE(reader);
        EXPECT_EQ(features_of(*reader).size(), 1 - more);
        EXPECT_EQ(reader->warnings().size(), more);
    }
}

TEST(ReaderFeatures, LimitsTheTotalSizeOfSectionsToTheFileSize)
{
    const SparseFile file({{40, 0, 3 * kMiB}, {41, 0, kMiB}, {42, 0, 1}}, 4 * kMiB);
    Result<Reader> reader = Reader::open_path(file.path());
    ASSERT_TRUE(reader);
    EXPECT_EQ(features_of(*reader), (std::vector<unsigned>{40, 41}));
    ASSERT_EQ(reader->warnings().size(), 1U);
    EXPECT_EQ(reader->warnings()[0].code, Errc::kDamaged);
}

// The copy has only the sections that can be read.
TEST(ReaderFeatures, CopyOfASparseFileStaysSmall)
{
    std::vector<SparseFile::Place> places;
    for (unsigned feature = 40; feature < 200; feature++)
        places.push_back({feature, (feature - 40) * 16 * kMiB, 16 * kMiB});
    const SparseFile file(places, 160 * 16 * kMiB);
    Result<Reader> reader = Reader::open_path(file.path());
    ASSERT_TRUE(reader);
    EXPECT_EQ(features_of(*reader), (std::vector<unsigned>{40, 41, 42, 43}));
    Result<Writer> copy = Writer::create_copy(file.copy(), reader->order(), {});
    ASSERT_TRUE(copy && RecordCopier::run(*reader, *copy) && copy->finish());
    EXPECT_LT(fs::file_size(file.copy()), 65 * kMiB);
}

TEST(Reader, SurvivesRandomDamage)
{
    const std::vector<std::byte> good = two_events().file();
    std::mt19937 random(2026);
    for (int round = 0; round < 3000; round++) {
        std::vector<std::byte> bytes = good;
        for (unsigned i = 0; i < 1 + random() % 4; i++)
            bytes[random() % bytes.size()] = static_cast<std::byte>(random());
        Walk got = walk(bytes);
        EXPECT_LE(got.types.size(), bytes.size() / 8);
    }
}

// An event that shares an id with another is refused, and none of its ids are known.
TEST(ReaderPipe, EventWithADuplicateIdIsRefusedWithAllItsIds)
{
    FileBuilder file;
    file.event(24, kSampleType, {7}).event(24, kSampleType, {8}).event(1, kSampleType, {9, 7});
    file.raw_sample(9, 0, filled(12, 0x11)).raw_sample(8, 0, filled(12, 0x11));
    const std::vector<std::byte> bytes = file.pipe();
    Result<Reader> reader = Reader::open(bytes);
    ASSERT_TRUE(reader);
    std::vector<std::optional<size_t>> events;
    for (Record record; reader->next(record);)
        if (record.type == PERF_RECORD_SAMPLE)
            events.push_back(reader->event_of(record));
    EXPECT_EQ(reader->events().size(), 2U);
    EXPECT_EQ(reader->warnings().size(), 1U);
    EXPECT_EQ(events, (std::vector<std::optional<size_t>>{std::nullopt, 1}));
}

// If there is only one event, every kernel record belongs to it. Records that perf adds do not.
TEST(ReaderPipe, RecordsThatPerfAddsBelongToNoEvent)
{
    FileBuilder file;
    file.event(24, kSampleType, {7}).raw_sample(7, 0, filled(12, 0x11));
    const std::vector<std::byte> bytes = file.pipe();
    Result<Reader> reader = Reader::open(bytes);
    ASSERT_TRUE(reader);
    const Walk got = walk(*reader);
    ASSERT_FALSE(got.error);
    EXPECT_EQ(got.types.front(), uint32_t{kHeaderAttr});
    EXPECT_EQ(got.types.back(), uint32_t{PERF_RECORD_SAMPLE});
    for (size_t i = 0; i < got.types.size(); i++)
        EXPECT_EQ(got.events[i].has_value(), got.types[i] < kHeaderAttr) << got.types[i];
}

// A writer pads all attributes to the size of the largest, so one large attribute would cost memory
// for each event.
TEST(ReaderPipe, LimitsAttributesToOnePage)
{
    for (const size_t bytes : {kAttrMaxBytes, kAttrMaxBytes + 8, size_t{65520}}) {
        std::vector<uint64_t> attr(bytes / 8);
        attr[0] = uint64_t{bytes} << 32 | 1;
        FileBuilder file;
        file.event(24, kSampleType, {7}).record(kHeaderAttr, attr).record(kFinishedRound, {});
        const std::vector<std::byte> pipe = file.pipe();
        Result<Reader> reader = Reader::open(pipe);
        ASSERT_TRUE(reader);
        EXPECT_FALSE(walk(*reader).error);
        const bool fits = bytes <= kAttrMaxBytes;
        EXPECT_EQ(reader->events().size(), fits ? 2U : 1U) << bytes;
        ASSERT_EQ(reader->warnings().size(), fits ? 0U : 1U) << bytes;
        if (!fits) {
            EXPECT_EQ(reader->warnings()[0].code, Errc::kDamaged);
        }
    }
}

// Each invalid record has 8 bytes, and its warning takes ten times as much memory.
TEST(ReaderPipe, NumberOfWarningsIsLimited)
{
    FileBuilder file;
    file.event(24, kSampleType, {7});
    for (int i = 0; i < 1000; i++)
        file.record(kHeaderAttr, {});
    file.record(kFinishedRound, {});
    const std::vector<std::byte> pipe = file.pipe();
    Result<Reader> reader = Reader::open(pipe);
    ASSERT_TRUE(reader);
    const Walk got = walk(*reader);
    EXPECT_EQ(got.types.back(), kFinishedRound);
    EXPECT_FALSE(got.damage);
    EXPECT_EQ(reader->warnings().size(), 256U);
}

}  // namespace
}  // namespace pmukit::perfdata
