// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Compares the records of a merged recording with expected lists.
#include "perfdata/merge.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.hpp"
#include "base/test_folder.hpp"
#include "perfdata/aux.hpp"
#include "perfdata/features.hpp"
#include "perfdata/format.hpp"
#include "perfdata/packer.hpp"
#include "perfdata/testing/test_file.hpp"
#include "perfdata/writer.hpp"

namespace pmukit::perfdata {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kSampleType =
    PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
constexpr uint64_t kId = 7, kNoId = 123456;

constexpr uint64_t kWithoutId = kSampleType & ~uint64_t{PERF_SAMPLE_IDENTIFIER};

struct Host {
    std::string name;
    std::string pmu;
    std::vector<uint64_t> times;
    std::optional<std::pair<uint64_t, uint64_t>> clock;  // wall clock and event clock at one moment
    uint64_t sample_type = kSampleType;
    uint32_t type = 24;
    std::optional<std::endian> order = {};  // nullopt: the byte order of the test
    std::vector<uint64_t> more_ids = {};
    std::vector<std::pair<std::string, HostInfo::Caps>> caps = {};
    std::vector<std::vector<uint64_t>> infos = {};  // payload words of each AUXTRACE_INFO
    std::string tracing_data = {};
    std::string cpu = {};
    std::string release = {};
    uint64_t kernel_at = 0;  // address of the kernel's map; 0: no map
    uint32_t cpus = 4;
    uint32_t thread = 100, on_cpu = 2;  // of the samples
    uint64_t cgroup = 0;                // id of a CGROUP record; 0: no record
    std::string late_name = {};  // of the event, after the first sample; empty: no such record
    bool names_buffer = true;    // the AUX buffer has the event id, as pmukit writes it
};

class MergeTest : public ::testing::TestWithParam<std::endian> {
protected:
    // Writes a recording: a COMM that names thread 100, one sample at each time, then an AUX
    // buffer.
    void write(const Host &host)
    {
        const std::endian order = host.order.value_or(GetParam());
        WriterEvent event{std::vector<std::byte>(128), {kId}, host.pmu + "//"};
        event.ids.insert(event.ids.end(), host.more_ids.begin(), host.more_ids.end());
        store(event.attr.data() + kAttrType, host.type, order);
        store(event.attr.data() + kAttrSampleType, host.sample_type, order);
        const unsigned bit = order == std::endian::little ? 18 : 63 - 18;
        store(event.attr.data() + kAttrFlags, uint64_t{1} << bit, order);
        paths_.push_back(folder_.path(std::to_string(paths_.size())));
        Result<Writer> to = Writer::create_copy(paths_.back(), order, {event});
        ASSERT_TRUE(to);
        to->section(kFeatHostname, Packer(order).string(host.name).take());
        to->section(kFeatNrCpus, Packer(order).put(host.cpus).put(4U).take());
        to->section(kFeatPmuMappings, Packer(order).put(1U).put(host.type).string(host.pmu).take());
        if (!host.cpu.empty())
            to->section(kFeatCpuDesc, Packer(order).string(host.cpu).take());
        if (!host.release.empty())
            to->section(kFeatOsRelease, Packer(order).string(host.release).take());
        if (host.clock)
            to->section(kFeatClockData, Packer(order)
                                            .put(1U)
                                            .put(1U)
                                            .put(host.clock->first)
                                            .put(host.clock->second)
                                            .take());
        if (!host.caps.empty())
            to->section(kFeatPmuCaps, packed_caps(host.caps, order));
        if (!host.tracing_data.empty())
            to->section(kFeatTracingData, Packer(order).put(as_bytes(host.tracing_data)).take());
        for (const std::vector<uint64_t> &info : host.infos)
            ASSERT_TRUE(to->auxtrace_info(6, info));
        if (host.kernel_at)
            ASSERT_TRUE(to->records(kernel_map(host.kernel_at, order)));
        const bool has_id = host.sample_type & PERF_SAMPLE_IDENTIFIER;
        const uint16_t trailer_bytes = has_id ? 32 : 24;
        const auto trailer = [&](Packer &packer, uint64_t time) {
            packer.put(100U).put(100U).put(time).put(2U).put(0U);
            if (has_id)
                packer.put(kId);
        };
        Packer comm(order);
        comm.record_header(PERF_RECORD_COMM, 0, 8 + 16 + trailer_bytes)
            .put(100U)
            .put(100U)
            .put(uint64_t{0});
        trailer(comm, host.times.front());
        ASSERT_TRUE(to->records(comm.bytes()));
        if (host.cgroup) {
            Packer cgroup(order);
            cgroup.record_header(PERF_RECORD_CGROUP, 0, 8 + 16 + trailer_bytes)
                .put(host.cgroup)
                .put(as_bytes(std::string_view("/system", 8)));
            trailer(cgroup, host.times.front());
            ASSERT_TRUE(to->records(cgroup.bytes()));
        }
        for (uint64_t time : host.times) {
            Packer sample(order);
            sample.record_header(PERF_RECORD_SAMPLE, 0, 8 + trailer_bytes);
            if (has_id)
                sample.put(kId);
            sample.put(host.thread).put(host.thread).put(time).put(host.on_cpu).put(0U);
            ASSERT_TRUE(to->records(sample.bytes()));
        }
        if (!host.late_name.empty()) {
            Packer name(order);
            name.record_header(kEventUpdate, 0, 8 + 16 + 8);
            name.put(uint64_t{EventUpdateRecord::kName}).put(kId).put(as_bytes(host.late_name));
            ASSERT_TRUE(to->records(name.pad_to(8 + 16 + 8).take()));
        }
        AuxtraceRecord trace;
        trace.reference = host.names_buffer ? kId : kNoId;
        if (!host.names_buffer) {
            Packer aux(order);
            aux.record_header(PERF_RECORD_AUX, 0, 8 + 24 + trailer_bytes);
            aux.put(uint64_t{0}).put(uint64_t{16}).put(uint64_t{0});
            trailer(aux, host.times.back());
            ASSERT_TRUE(to->records(aux.bytes()));
        }
        trace.tid = UINT32_MAX;
        trace.cpu = 2;
        ASSERT_TRUE(to->auxtrace(trace, std::vector<std::byte>(16), {}));
        ASSERT_TRUE(to->finished_round());
        ASSERT_TRUE(to->finish());
    }
    static std::vector<std::byte> kernel_map(uint64_t at, std::endian order)
    {
        constexpr std::string_view kName = "[kernel.kallsyms]_text";
        Packer map(order);
        map.record_header(PERF_RECORD_MMAP, 1, 8 + 32 + 24 + 32).put(UINT32_MAX).put(0U);
        map.put(at).put(uint64_t{4096}).put(at).put(as_bytes(kName));
        map.put(uint16_t{0});
        for (int word = 0; word < 4; word++)  // no time
            map.put(uint64_t{0});
        return map.take();
    }
    Result<std::vector<MergedInput>> merge()
    {
        std::vector<Reader> readers;
        for (const std::string &path : paths_)
            readers.push_back(Reader::open_path(path).value());
        Result<Merged> merged = merge_recordings(readers, folder_.path("merged"));
        if (!merged)
            return merged.error();
        EXPECT_TRUE(merged->file.finish());
        return merged->inputs;
    }
    Result<Reader> read_merged() { return Reader::open_path(folder_.path("merged")); }
    // "PMU tid cpu @time" of each sample, in file order.
    std::vector<std::string> samples()
    {
        std::vector<std::string> all;
        Result<Reader> reader = read_merged();
        for (Record record; reader->next(record);) {
            if (record.type != PERF_RECORD_SAMPLE)
                continue;
            const Event &event = reader->events()[*reader->event_of(record)];
            const Sample sample = *parse_sample(record.body, event.attr, reader->order());
            all.push_back(reader->pmu_name(event.attr.type) + " " +
                          std::to_string(*sample.sample_id.tid) + " " +
                          std::to_string(*sample.sample_id.cpu) + " @" +
                          std::to_string(*sample.sample_id.time_ns));
        }
        EXPECT_FALSE(reader->damage());
        EXPECT_TRUE(reader->warnings().empty());
        return all;
    }
    std::string refusal()
    {
        const auto done = merge();
        EXPECT_FALSE(fs::exists(folder_.path("merged")));
        return done ? std::string() : done.error().message;
    }

    TestFolder folder_;
    std::vector<std::string> paths_;
};

INSTANTIATE_TEST_SUITE_P(Orders, MergeTest,
                         ::testing::Values(std::endian::little, std::endian::big),
                         [](const auto &order) {
                             return order.param == std::endian::little ? "little" : "big";
                         });

// One recording has 400 KB of records from two rings in a round. Its queue must hold them, even if
// 200 recordings share the memory for queues.
TEST_P(MergeTest, SortsALargeRoundOfOneOf200Recordings)
{
    constexpr uint64_t kSamples = 10000;
    Host large{"large", "hmu0", {}, {}};
    for (uint64_t ring = 0; ring < 2; ring++)
        for (uint64_t i = 0; i < kSamples / 2; i++)
            large.times.push_back(1000 + 2 * i + (1 - ring));
    write(large);
    for (int i = 1; i < 200; i++)
        write({"small" + std::to_string(i), "hmu0", {1}, {}});
    const auto merged = merge();
    ASSERT_TRUE(merged) << merged.error().message;
    EXPECT_EQ(merged->front().late_records, 0U);
    Result<Reader> reader = read_merged();
    uint64_t newest_ns = 0, samples = 0, inversions = 0;
    for (Record record; reader->next(record);) {
        if (record.type != PERF_RECORD_SAMPLE)
            continue;
        const uint64_t time_ns = *reader->time_of(record);
        inversions += time_ns < newest_ns;
        newest_ns = time_ns;
        samples++;
    }
    EXPECT_EQ(samples, kSamples + 199);
    EXPECT_EQ(inversions, 0U);
}

TEST_P(MergeTest, RefusesDifferentMachinesWithTheSameName)
{
    Host one{"localhost", "hmu0", {10}, {}}, other{"localhost", "hmu0", {20}, {}};
    one.cpu = "Xeon";
    write(one);
    write(other);
    EXPECT_TRUE(merge()) << "which CPU the other has is not known";
    fs::remove(folder_.path("merged"));
    other.cpu = "Kunpeng-920";
    write(other);
    EXPECT_NE(refusal().find("localhost, and another CPU: they cannot be distinguished"),
              std::string::npos);
}

TEST_P(MergeTest, RenumbersConflictingPmuTypes)
{
    const auto typed = [](std::string name, uint32_t type, uint64_t time) {
        Host host{std::move(name), "hmu0", {time}, {}};
        host.type = type;
        return host;
    };
    write(typed("green", UINT32_MAX, 10));
    write(typed("blue", UINT32_MAX, 20));
    write(typed("red", UINT32_MAX, 30));
    write(typed("grey", PERF_TYPE_MAX + 1, 40));
    const auto merged = merge();
    ASSERT_TRUE(merged) << merged.error().message;
    std::set<uint32_t> types;
    const Result<Reader> reader = read_merged();
    for (const Event &event : reader->events()) {
        EXPECT_GE(event.attr.type, PERF_TYPE_MAX) << "one of the kernel's own";
        EXPECT_TRUE(types.insert(event.attr.type).second) << event.attr.type;
    }
    const std::vector<std::string> all = samples();
    ASSERT_EQ(all.size(), 4U);
    const char *const kPmus[] = {"hmu0@green ", "hmu0@blue ", "hmu0@red ", "hmu0@grey "};
    for (size_t i = 0; i < all.size(); i++)
        EXPECT_TRUE(all[i].starts_with(kPmus[i])) << all[i];
}

// Thread 100 of the second host becomes 2^22 + 100; its CPU 2 follows four CPUs of the first host.
TEST_P(MergeTest, DistinguishesThreadsCpusAndPmusOfTwoHosts)
{
    write({"green", "hmu0", {10, 30}, {}});
    write({"blue", "hmu0", {20, 40}, {}});
    const auto merged = merge();
    ASSERT_TRUE(merged) << merged.error().message;
    EXPECT_EQ(samples(),
              (std::vector<std::string>{"hmu0@green 100 2 @10", "hmu0@blue 4194404 6 @20",
                                        "hmu0@green 100 2 @30", "hmu0@blue 4194404 6 @40"}));
    EXPECT_EQ((*merged)[1].host, "blue");
    EXPECT_EQ((*merged)[0].clock, ClockRelation::kReference);
    EXPECT_EQ((*merged)[1].clock, ClockRelation::kUnknown);
    Result<Reader> reader = read_merged();
    EXPECT_EQ(reader->hostname(), "green+blue");
    EXPECT_EQ(parse_cpu_counts(*reader->feature(kFeatNrCpus), GetParam())->available, 8U);
    EXPECT_EQ(reader->events()[1].name, "hmu0//@blue");
    EXPECT_NE(reader->events()[0].ids, reader->events()[1].ids);
}

TEST_P(MergeTest, AuxBuffersStayWithTheirEvent)
{
    write({"green", "hmu0", {10}, {}});
    write({"blue", "hmu1", {20}, {}});
    ASSERT_TRUE(merge());
    Result<Reader> reader = read_merged();
    std::vector<std::string> pmus;
    for (Record record; reader->next(record);)
        if (record.type == kAuxtrace) {
            const AuxtraceRecord trace = *parse_auxtrace(record.body, GetParam());
            const size_t event = *reader->event_of_id(trace.reference);
            pmus.push_back(reader->pmu_name(reader->events()[event].attr.type) + " " +
                           std::to_string(trace.cpu));
        }
    EXPECT_EQ(pmus, (std::vector<std::string>{"hmu0@green 2", "hmu1@blue 6"}));
}

// perf records no id for a single event.
TEST_P(MergeTest, RecordsOfTheOnlyEventGetItsId)
{
    write({"green", "hmu0", {10, 30}, {}, kWithoutId});
    write({"blue", "hmu1", {20}, {}, kWithoutId});
    write({"blue", "hmu2", {40}, {}});
    const auto merged = merge();
    ASSERT_TRUE(merged) << merged.error().message;
    EXPECT_EQ(samples(),
              (std::vector<std::string>{"hmu0@green 100 2 @10", "hmu1@blue 4194404 6 @20",
                                        "hmu0@green 100 2 @30", "hmu2@blue 4194404 6 @40"}));
    Result<Reader> reader = read_merged();
    std::vector<uint64_t> times;
    for (Record record; reader->next(record);)
        if (record.type == PERF_RECORD_COMM) {
            EXPECT_TRUE(reader->event_of(record));
            times.push_back(*reader->time_of(record));
        }
    EXPECT_EQ(times, (std::vector<uint64_t>{10, 20, 40}));
}

// The records of two events, which have ids at another place.
TEST_P(MergeTest, RecordsWithAnIdAtAnotherPlaceGetItAtThePlaceOfAll)
{
    constexpr uint64_t kFields = PERF_SAMPLE_TIME | PERF_SAMPLE_ID;
    testing::FileBuilder builder(GetParam());
    builder.event(24, kFields, {8}).event(25, kFields, {9}).pmu(24, "first").pmu(25, "second");
    for (uint64_t time = 1; time <= 4; time++)
        builder.record(PERF_RECORD_SAMPLE, {time, 8 + time % 2});
    paths_.push_back(folder_.path("two_events"));
    folder_.put("two_events", builder.file());
    write({"green", "hmu0", {10}, {}});
    const auto merged = merge();
    ASSERT_TRUE(merged) << merged.error().message;
    Result<Reader> reader = read_merged();
    std::vector<std::string> found;
    for (Record record; reader->next(record);)
        if (record.type == PERF_RECORD_SAMPLE)
            found.push_back(
                reader->pmu_name(reader->events()[*reader->event_of(record)].attr.type) +
                std::to_string(*reader->time_of(record)));
    EXPECT_EQ(found, (std::vector<std::string>{"second@host11", "first@host12", "second@host13",
                                               "first@host14", "hmu0@green10"}));
}

class FoundAux final : public AuxSink {
public:
    explicit FoundAux(const Reader &reader) : reader_(reader) {}
    void aux_run(const AuxStream &stream, uint64_t, uint64_t, uint64_t bytes) override
    {
        found.push_back((stream.event == kUnknownEvent
                             ? "unknown"
                             : reader_.pmu_name(reader_.events()[stream.event].attr.type)) +
                        " " + std::to_string(stream.cpu) + " " + std::to_string(bytes));
    }
    void aux_data(const AuxStream &, uint64_t, uint64_t, Bytes) override {}
    void aux_loss(const AuxStream &, uint64_t, uint64_t) override { found.emplace_back("loss"); }

    std::vector<std::string> found;

private:
    const Reader &reader_;
};

// AUX buffers have no time: in the merged recording, they precede the AUX records that name their
// events.
TEST_P(MergeTest, AuxBuffersThatDoNotNameTheirEventStayWithIt)
{
    for (const uint64_t fields : {kSampleType, kWithoutId}) {
        paths_.clear();
        Host host{"green", "hmu0", {10}, {}, fields};
        host.names_buffer = false;
        write(host);
        host = {"blue", "hmu1", {20}, {}, fields};
        host.names_buffer = false;
        write(host);
        const auto merged = merge();
        ASSERT_TRUE(merged) << merged.error().message;
        Result<Reader> reader = read_merged();
        FoundAux sink(*reader);
        AuxMerge aux(*reader, sink);
        for (Record record; reader->next(record);)
            aux.record(record);
        aux.finish();
        EXPECT_EQ(sink.found, (std::vector<std::string>{"hmu0@green 2 16", "hmu1@blue 6 16"}));
        fs::remove(folder_.path("merged"));
    }
}

TEST_P(MergeTest, ThreadIdsInCommRecordsAreDistinctForEachHost)
{
    write({"green", "hmu0", {10}, {}});
    write({"blue", "hmu0", {5}, {}});
    ASSERT_TRUE(merge());
    Result<Reader> reader = read_merged();
    std::vector<uint32_t> threads;
    for (Record record; reader->next(record);)
        if (record.type == PERF_RECORD_COMM)
            threads.push_back(parse_comm(record.body, GetParam())->tid);
    EXPECT_EQ(threads, (std::vector<uint32_t>{4194404, 100}));
}

// green's clock is 1000 at wall time 500000, and blue's clock is 100 at wall time 500050. So 100 on
// blue's clock is 1050 on green's.
TEST_P(MergeTest, ClocksAreAlignedByTheWallClock)
{
    write({"green", "hmu0", {1000, 1100}, std::pair(500000, 1000)});
    write({"blue", "hmu0", {100, 200}, std::pair(500050, 100)});
    const auto merged = merge();
    ASSERT_TRUE(merged);
    EXPECT_EQ((*merged)[1].clock, ClockRelation::kAligned);
    EXPECT_EQ((*merged)[1].shift_ns, 950);
    EXPECT_EQ(samples(),
              (std::vector<std::string>{"hmu0@green 100 2 @1000", "hmu0@blue 4194404 6 @1050",
                                        "hmu0@green 100 2 @1100", "hmu0@blue 4194404 6 @1150"}));
    const Result<Reader> reader = read_merged();
    const auto clock = parse_clock_data(*reader->feature(kFeatClockData), GetParam());
    EXPECT_EQ(clock->wall_ns, 500000U);
    EXPECT_EQ(clock->clock_ns, 1000U);
}

// CLOCK_DATA of the first recording would give the times of the others a wrong wall clock time.
TEST_P(MergeTest, ClocksThatCannotBeRelatedLeaveNoClockData)
{
    write({"green", "hmu0", {1000}, std::pair(500000, 1000)});
    write({"green", "hmu0", {1100}, std::pair(500000, 1000)});
    ASSERT_TRUE(merge());
    EXPECT_TRUE(read_merged()->feature(kFeatClockData)) << "one host, one clock";
    write({"blue", "hmu0", {100}, {}});
    ASSERT_TRUE(merge());
    EXPECT_FALSE(read_merged()->feature(kFeatClockData)) << "blue has no CLOCK_DATA";
}

TEST_P(MergeTest, RecordingOfTheSameHostWithoutClockDataLeavesNone)
{
    write({"green", "hmu0", {1000}, std::pair(500000, 1000)});
    write({"green", "hmu0", {1100}, {}});
    ASSERT_TRUE(merge());
    EXPECT_FALSE(read_merged()->feature(kFeatClockData));
}

// perf's CPU numbers reach up to the number of CPUs, and pids up to 2^22. -1 is a thread that has
// exited.
TEST_P(MergeTest, NumbersThatNoHostHasDoNotReachAnotherHost)
{
    const auto on = [](std::string name, uint64_t time, uint32_t thread, uint32_t cpu) {
        Host host{std::move(name), "hmu0", {time}, {}};
        host.thread = thread;
        host.on_cpu = cpu;
        return host;
    };
    write(on("green", 10, (1 << 22) + 100, 2));
    write(on("green", 20, 100, 6));
    write(on("green", 30, 100, 70000));
    write(on("green", 40, UINT32_MAX, UINT32_MAX));
    write(on("green", 50, (1 << 22) - 1, 3));
    write(on("blue", 60, 100, 2));
    const auto merged = merge();
    ASSERT_TRUE(merged) << merged.error().message;
    EXPECT_EQ(samples(),
              (std::vector<std::string>{"hmu0@green 4294967295 4294967295 @40",
                                        "hmu0@green 4194303 3 @50", "hmu0@blue 4194404 6 @60"}));
    std::vector<uint64_t> foreign;
    for (const MergedInput &input : *merged)
        foreign.push_back(input.foreign_records);
    EXPECT_EQ(foreign, (std::vector<uint64_t>{1, 1, 1, 0, 0, 0}));
}

TEST_P(MergeTest, CgroupsOfEachHostHaveTheirOwnIds)
{
    constexpr uint64_t kIdsOfAHost = uint64_t{1} << 48;
    const auto write_one = [this](std::string name, uint64_t time, uint64_t cgroup) {
        Host host{std::move(name), "hmu0", {time}, {}};
        host.cgroup = cgroup;
        write(host);
    };
    const auto ids = [this] {
        std::vector<uint64_t> found;
        Result<Reader> reader = read_merged();
        for (Record record; reader->next(record);)
            if (record.type == PERF_RECORD_CGROUP)
                found.push_back(load<uint64_t>(record.body.data(), GetParam()));
        return found;
    };
    write_one("green", 10, 5);
    write_one("green", 20, 5);
    ASSERT_TRUE(merge());
    EXPECT_EQ(ids(), (std::vector<uint64_t>{5, 5})) << "one host";
    write_one("blue", 30, 5);
    write_one("green", 40, kIdsOfAHost + 5);
    const auto merged = merge();
    ASSERT_TRUE(merged) << merged.error().message;
    EXPECT_EQ(ids(), (std::vector<uint64_t>{5, 5, kIdsOfAHost + 5}));
    EXPECT_EQ((*merged)[3].foreign_records, 1U) << "this id would be that of blue";
}

TEST_P(MergeTest, ThreadsAndCpusOfASingleHostAreNotLimited)
{
    Host host{"green", "hmu0", {10}, {}};
    host.thread = 1 << 22;
    host.on_cpu = 70000;
    write(host);
    write({"green", "hmu0", {20}, {}});
    ASSERT_TRUE(merge());
    EXPECT_EQ(samples(), (std::vector<std::string>{"hmu0 4194304 70000 @10", "hmu0 100 2 @20"}));
}

TEST_P(MergeTest, RecordingsOfOneHostKeepTheirClockThreadsAndCpus)
{
    write({"green", "hmu0", {10}, {}});
    write({"green", "hmu0", {5, 15}, {}});
    const auto merged = merge();
    ASSERT_TRUE(merged);
    EXPECT_EQ((*merged)[1].clock, ClockRelation::kSameHost) << "no file has CLOCK_DATA";
    EXPECT_EQ(samples(),
              (std::vector<std::string>{"hmu0 100 2 @5", "hmu0 100 2 @10", "hmu0 100 2 @15"}));
}

TEST_P(MergeTest, OneBootIsKnownByItsClock)
{
    write({"green", "hmu0", {10}, std::pair(uint64_t{1} << 50, uint64_t{100})});
    write({"green", "hmu0", {20}, std::pair((uint64_t{1} << 50) + 999999999, uint64_t{100})});
    const auto merged = merge();
    ASSERT_TRUE(merged);
    EXPECT_EQ((*merged)[1].clock, ClockRelation::kSame);
    EXPECT_EQ(samples(), (std::vector<std::string>{"hmu0 100 2 @10", "hmu0 100 2 @20"}));
}

TEST_P(MergeTest, RefusesTwoBootsOfAHostByItsClock)
{
    constexpr uint64_t kHour_ns = 3600000000000;
    write({"blue", "hmu0", {10}, {}});
    write({"green", "hmu0", {10 + kHour_ns}, std::pair(uint64_t{1} << 50, kHour_ns)});
    write({"green", "hmu0", {10}, std::pair((uint64_t{1} << 50) + kHour_ns, uint64_t{0})});
    EXPECT_NE(refusal().find("host green was restarted"), std::string::npos);
}

TEST_P(MergeTest, RefusesTwoBootsOfAHostByItsKernel)
{
    Host first{"green", "hmu0", {10}, {}}, second{"green", "hmu0", {20}, {}};
    first.release = "6.1.0";
    write(first);
    write(second);
    EXPECT_TRUE(merge()) << "one file does not name its kernel";
    fs::remove(folder_.path("merged"));
    second.release = "6.12.0";
    write(second);
    EXPECT_NE(refusal().find("another kernel release"), std::string::npos);
}

TEST_P(MergeTest, RefusesTwoBootsOfAHostByTheAddressOfItsKernel)
{
    const auto at = [](std::string name, uint64_t address) {
        Host host{std::move(name), "hmu0", {10}, {}};
        host.kernel_at = address;
        return host;
    };
    write(at("green", 0xffffffff81000000));
    write(at("green", 0xffffffff81000000));
    write(at("blue", 0xffffffffa2000000));
    EXPECT_TRUE(merge()) << "each host has one address";
    fs::remove(folder_.path("merged"));
    write(at("blue", 0xffffffff93000000));
    EXPECT_NE(refusal().find("the kernel of host blue is at 0xffffffff93000000 here"),
              std::string::npos);
}

TEST_P(MergeTest, KeepsNamesThatFollowTheFirstSample)
{
    const std::pair<std::string, std::string> kCases[] = {{"green", "late"}, {"blue", "late@blue"}};
    for (const auto &[host, expected] : kCases) {
        paths_.clear();
        Host named{host, "ptt0", {20}, {}};
        named.late_name = "late";
        write({"green", "hmu0", {10}, {}});
        write(named);
        ASSERT_TRUE(merge());
        Result<Reader> reader = read_merged();
        for (Record record; reader->next(record);)
            continue;
        EXPECT_EQ(reader->events()[1].name, expected);
    }
}

Host of_boot(const std::string &name, const std::string &pmu, const std::string &boot)
{
    Host host{name, pmu, {10}, {}};
    host.caps = {{pmu, {{"boot", boot}}}};
    return host;
}

TEST_P(MergeTest, RefusesTwoBootsOfAHostByTheirIds)
{
    write(of_boot("green", "hmu0", "6b8f-first"));
    write(of_boot("green", "ptt0", "91c2-second"));
    const std::string message = refusal();
    for (const char *part : {"/1: boot 91c2-second of host green", "/0 is of its boot 6b8f-first"})
        EXPECT_NE(message.find(part), std::string::npos) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
}

TEST_P(MergeTest, KeepsTheBootIdOfEachHost)
{
    const std::pair<std::string, std::vector<std::string>> kCases[] = {
        {"green", {"hmu0 a"}}, {"blue", {"hmu0@green a", "hmu0@blue b"}}};
    for (const auto &[other, expected] : kCases) {
        paths_.clear();
        write(of_boot("green", "hmu0", "a"));
        write(of_boot(other, "hmu0", other == "green" ? "a" : "b"));
        ASSERT_TRUE(merge());
        Result<Reader> reader = read_merged();
        const auto caps = parse_pmu_caps(*reader->feature(kFeatPmuCaps), reader->order());
        ASSERT_TRUE(caps);
        std::vector<std::string> boots;
        for (const PmuCaps &pmu : *caps)
            for (const auto &[cap, value] : pmu.caps)
                boots.push_back(std::string(pmu.pmu) + " " + std::string(value));
        EXPECT_EQ(boots, expected);
    }
}

TEST_P(MergeTest, RefusesTwoMachinesWithAnotherNumberOfCpus)
{
    Host other{"localhost", "hmu0", {20}, {}};
    other.cpus = 8;
    write({"localhost", "hmu0", {10}, {}});
    write(other);
    EXPECT_NE(refusal().find("another number of CPUs"), std::string::npos);
}

TEST_P(MergeTest, DistinguishesPmusOfTheSameType)
{
    write({"green", "hmu0", {10}, {}});
    write({"green", "ptt0", {20}, {}});
    ASSERT_TRUE(merge());
    EXPECT_EQ(samples(), (std::vector<std::string>{"hmu0 100 2 @10", "ptt0 100 2 @20"}));
}

// With this many PMUs, comparing each with all others would take minutes. Every hundredth PMU has
// capabilities.
TEST_P(MergeTest, CapabilitiesOfAPmuInBothRecordingsAreCombined)
{
    constexpr size_t kPmus = 8000, kSecond = kPmus / 2, kAll = kSecond + kPmus;
    using Caps = HostInfo::Caps;
    const Caps said_first = {{"a", "1"}}, said_then = {{"b", "2"}, {"a", "1"}};
    Host first{"green", "hmu0", {10}, {}}, second{"green", "hmu0", {20}, {}};
    for (size_t i = 0; i < kPmus; i++)
        first.caps.push_back({"p" + std::to_string(i), i % 100 ? Caps() : said_first});
    for (size_t i = kSecond; i < kAll; i++)
        second.caps.push_back({"p" + std::to_string(i), i % 100 ? Caps() : said_then});
    write(first);
    write(second);
    ASSERT_TRUE(merge());
    Result<Reader> reader = read_merged();
    const auto caps = parse_pmu_caps(*reader->feature(kFeatPmuCaps), reader->order());
    ASSERT_TRUE(caps);
    ASSERT_EQ(caps->size(), kAll);
    for (size_t i = 0; i < kAll; i++) {
        ASSERT_EQ((*caps)[i].pmu, "p" + std::to_string(i));
        const Caps expected = i % 100       ? Caps()
                              : i < kSecond ? said_first
                              : i < kPmus   ? Caps{{"a", "1"}, {"b", "2"}}
                                            : said_then;
        ASSERT_EQ(Caps((*caps)[i].caps.begin(), (*caps)[i].caps.end()), expected) << i;
    }
}

// In a hash table without a salt, all these ids would be in one bucket, and each id would be
// compared with all others.
TEST_P(MergeTest, EventIdsChosenToCollideCostNoMoreTimeThanOthers)
{
    constexpr uint64_t kIds = 170000, kBuckets = 172933;  // a bucket count of libstdc++
    Host host{"green", "hmu0", {10}, {}};
    for (uint64_t i = 1; i <= kIds; i++)
        host.more_ids.push_back(i * kBuckets);
    write(host);
    host.times = {20};
    write(host);
    ASSERT_TRUE(merge());
    EXPECT_EQ(samples(), (std::vector<std::string>{"hmu0 100 2 @10", "hmu0 100 2 @20"}));
}

// A pipe can describe an event at any time. This one has no id in its samples, so merge would have
// to choose one for it.
TEST_P(MergeTest, RefusesAnEventThatIsDescribedAfterTheFirstRecord)
{
    std::vector<uint64_t> attr(16);
    attr[0] = GetParam() == std::endian::little ? 24 | uint64_t{128} << 32
                                                : uint64_t{24} << 32 | 128;  // type and size
    attr.push_back(9);                                                       // its id
    testing::FileBuilder late(GetParam());
    late.event(24, PERF_SAMPLE_ID, {kId}).record(PERF_RECORD_SAMPLE, {kId});
    late.record(kHeaderAttr, attr).record(PERF_RECORD_SAMPLE, {9});
    folder_.put("late", Bytes(late.pipe()));
    write({"green", "hmu0", {10}, {}});
    paths_.push_back(folder_.path("late"));
    EXPECT_NE(refusal().find("late: an event is described after the first record"),
              std::string::npos);
}

TEST_P(MergeTest, RefusesIncompatibleRecordings)
{
    write({"green", "hmu0", {10}, {}});
    paths_.push_back(folder_.path("two_events"));
    folder_.put("two_events", testing::FileBuilder(GetParam())
                                  .event(24, kWithoutId, {8})
                                  .event(24, kWithoutId, {9})
                                  .file());
    EXPECT_NE(refusal().find("--sample-identifier"), std::string::npos);
    paths_.pop_back();
    const std::endian other =
        GetParam() == std::endian::little ? std::endian::big : std::endian::little;
    write({"blue", "hmu0", {10}, {}, kSampleType, 24, other});
    EXPECT_NE(refusal().find("byte order"), std::string::npos);
    paths_.pop_back();
    write({"blue", "sched", {10}, {}, kSampleType, 2});
    EXPECT_NE(refusal().find("trace events"), std::string::npos);
}

TEST_P(MergeTest, RefusesDifferentTraceEventFormats)
{
    Host traced{"green", "sched", {10}, {}, kSampleType, 2};
    traced.tracing_data = "a layout";
    write({"green", "hmu0", {10}, {}});
    write(traced);
    write(traced);
    ASSERT_TRUE(merge());
    Result<Reader> reader = read_merged();
    const auto layout = reader->feature(kFeatTracingData);
    ASSERT_TRUE(layout);
    EXPECT_TRUE(std::ranges::equal(*layout, as_bytes("a layout")));
    fs::remove(folder_.path("merged"));
    traced.tracing_data = "another one";
    write(traced);
    EXPECT_NE(refusal().find("different trace events"), std::string::npos);
}

TEST_P(MergeTest, KernelPmusKeepTheirNames)
{
    write({"green", "cpu", {10}, {}, kSampleType, PERF_TYPE_RAW});
    write({"green", "hmu0", {20}, {}});
    ASSERT_TRUE(merge());
    EXPECT_EQ(samples(), (std::vector<std::string>{"cpu 100 2 @10", "hmu0 100 2 @20"}));
}

// Two records of 40 kB: together they would exceed the size of a record.
TEST_P(MergeTest, UsesTheLastAuxtraceInfo)
{
    Host host{"green", "hmu0", {10}, {}};
    std::vector<uint64_t> last(5000, 2);
    last[0] = host.type;
    host.infos = {std::vector<uint64_t>(5000, 1), last};
    write(host);
    host.times = {20};
    write(host);
    ASSERT_TRUE(merge());
    EXPECT_EQ(samples(), (std::vector<std::string>{"hmu0 100 2 @10", "hmu0 100 2 @20"}));
    Result<Reader> reader = read_merged();
    std::vector<std::vector<uint64_t>> infos;
    for (Record record; reader->next(record);)
        if (record.type == kAuxtraceInfo) {
            const AuxtraceInfoRecord info = *parse_auxtrace_info(record.body, GetParam());
            EXPECT_EQ(info.type, 6U);
            infos.emplace_back();
            for (size_t i = 0; i < info.priv.size(); i++)
                infos.back().push_back(info.priv[i]);
        }
    EXPECT_EQ(infos, (std::vector<std::vector<uint64_t>>{last}));
}

TEST_P(MergeTest, RefusesRecordingsWithDifferentAuxtraceInfo)
{
    Host host{"green", "hmu0", {10}, {}};
    host.infos = {{host.type}};
    write(host);
    host.infos = {{host.type, 1}};
    write(host);
    const auto merged = merge();
    ASSERT_FALSE(merged);
    EXPECT_NE(merged.error().message.find("inputs 1 and 2"), std::string::npos)
        << merged.error().message;
}

// Each recording has two rings, drained one after the other. There are more recordings than MiB of
// memory for the queues.
TEST_P(MergeTest, SortsManyRecordings)
{
    constexpr size_t kInputs = 40;
    const std::vector<uint64_t> times = {10, 30, 50, 20, 40, 60};
    write({"green", "hmu0", times, {}});
    paths_.resize(kInputs, paths_.front());
    const auto merged = merge();
    ASSERT_TRUE(merged) << merged.error().message;
    for (const MergedInput &input : *merged)
        EXPECT_EQ(input.late_records, 0U);
    std::vector<std::string> expected;
    for (uint64_t time : {10, 20, 30, 40, 50, 60})
        expected.insert(expected.end(), kInputs, "hmu0 100 2 @" + std::to_string(time));
    EXPECT_EQ(samples(), expected);
}

}  // namespace
}  // namespace pmukit::perfdata
