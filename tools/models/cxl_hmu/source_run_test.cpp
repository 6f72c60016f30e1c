// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// An instance with a synthetic source: the entries of its hot list, and its logs.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <memory>
#include <sstream>

#include "models/cxl_hmu/options.hpp"
#include "models/fake_machine.hpp"

namespace pmukit::models::cxl_hmu {
namespace {

constexpr uint64_t kEpochNs = 100'000'000;
constexpr unsigned kWidth = 16;

struct Settings {
    uint64_t requests = 6;
    uint64_t threshold = 2;
    uint64_t downsampling = 0;
    bool randomized = false;
    uint64_t mode = kModeEpoch;
    uint64_t ranges = 1;
};

class SourceRun : public testing::Test {
protected:
    void TearDown() override
    {
        for (const char *kind : {"entries", "source", "stats"})
            ::unlink(path(kind).c_str());
    }

    void build(std::string_view source)
    {
        const Result<SourceParams> params = parse_source(source);
        ASSERT_TRUE(params) << params.error().message;
        Result<Source> created = Source::create(*params);
        ASSERT_TRUE(created);
        source_ = std::make_unique<Source>(std::move(created).value());
        params_.source = source_.get();
        params_.logs = &logs_;
        unit_ = std::make_unique<Instance>(params_, "chmu0.0", 1, host_);
    }
    void pass_ns(uint64_t ns)
    {
        host_.now += ns;
        unit_->advance(host_.now);
    }
    void start(const Settings &s = {})
    {
        unit_->write(kConfig1, 8,
                     kConfig1UnitSize.put(12) | kConfig1Downsampling.put(s.downsampling) |
                         kConfig1Mode.put(s.mode) | kConfig1EpochScale.put(4) |
                         kConfig1EpochValue.put(1));
        unit_->write(params_.bitmap_offset(), 8, s.ranges);
        unit_->write(kConfig0, 8,
                     kConfig0Requests.put(s.requests) | kConfig0Randomized.put(s.randomized) |
                         kConfig0Threshold.put(s.threshold) | kConfig0Enable.mask() |
                         kConfig0ResetCounters.mask());
        pass_ns(2 * params_.operation_ns);
        ASSERT_EQ(kStatusEnabled.get(unit_->read(kStatus, 8)), 1u)
            << (host_.lines.empty() ? "" : host_.lines.back());
    }
    void stop()
    {
        unit_->write(kConfig0, 8, 0);
        pass_ns(params_.operation_ns);
        ASSERT_EQ(kStatusEnabled.get(unit_->read(kStatus, 8)), 0u);
    }
    // Drains the list; returns the raw entries.
    std::vector<uint64_t> drain()
    {
        std::vector<uint64_t> found;
        uint64_t head = unit_->read(kHead, 2);
        const uint64_t tail = unit_->read(kTail, 2);
        for (; head != tail; head = (head + 1) % params_.hot_list_entries)
            found.push_back(unit_->read(params_.hot_list_offset() + head * 8, 8));
        unit_->write(kHead, 2, head);
        return found;
    }
    // Tracks for `epochs` epochs and drains the list after each; returns the raw entries.
    std::vector<uint64_t> run(unsigned epochs, const Settings &s = {})
    {
        std::vector<uint64_t> found;
        start(s);
        for (unsigned i = 0; i < epochs; i++) {
            pass_ns(kEpochNs);
            const std::vector<uint64_t> drained = drain();
            found.insert(found.end(), drained.begin(), drained.end());
        }
        stop();
        return found;
    }
    // Returns counts by unit.
    static std::map<uint64_t, uint64_t> counts(const std::vector<uint64_t> &entries)
    {
        std::map<uint64_t, uint64_t> found;
        for (const uint64_t entry : entries)
            found[entry >> kWidth] += entry & 0xffff;
        return found;
    }
    static uint64_t sum(const std::vector<uint64_t> &entries)
    {
        uint64_t all = 0;
        for (const uint64_t entry : entries)
            all += entry & 0xffff;
        return all;
    }

    static std::string path(const std::string &kind)
    {
        return testing::TempDir() + "pmukit_run_" + kind + std::to_string(::getpid());
    }
    static std::vector<std::string> lines(const std::string &kind)
    {
        std::ifstream in(path(kind));
        std::vector<std::string> found;
        for (std::string line; std::getline(in, line);)
            found.push_back(line);
        return found;
    }
    void open_logs()
    {
        ASSERT_TRUE(logs_.open_entries(path("entries")));
        ASSERT_TRUE(logs_.open_source(path("source")));
        ASSERT_TRUE(logs_.open_stats(path("stats")));
    }

    InstanceParams params_;
    FakeMachine host_;
    RunLogs logs_;
    std::unique_ptr<Source> source_;
    std::unique_ptr<Instance> unit_;
};

TEST_F(SourceRun, EveryEnableRepeatsTheSameEntries)
{
    build("zipf:epochs=8");
    const std::vector<uint64_t> first = run(10);
    EXPECT_GT(first.size(), 100u);
    EXPECT_EQ(run(10), first);
    build("zipf:epochs=8");
    EXPECT_EQ(run(12), first);
    build("zipf:epochs=8,seed=2");
    EXPECT_NE(run(10), first);
}

TEST_F(SourceRun, RandomizedDownsamplingIsReproducible)
{
    build("zipf:accesses=8000,units=64,epochs=8");
    const Settings settings{.downsampling = 2, .randomized = true};
    const std::vector<uint64_t> first = run(8, settings);
    EXPECT_GT(first.size(), 100u);
    EXPECT_EQ(run(8, settings), first);
}

TEST_F(SourceRun, CountsAreExactWithEnoughCounters)
{
    build("uniform:units=100,epochs=1");
    const auto found = counts(run(1, {.threshold = 1}));
    std::map<uint64_t, uint64_t> expected;
    for (const Request &request : source_->epoch(0))
        expected[request.dpa / 4096]++;
    EXPECT_EQ(found, expected);
}

TEST_F(SourceRun, EntriesDoNotDependOnTheTimesOfDrains)
{
    build("zipf:epochs=4");
    const std::vector<uint64_t> smooth = run(4);
    start();
    std::vector<uint64_t> found;
    for (const uint64_t wait_ns : {kEpochNs / 3, 5 * kEpochNs, kEpochNs, kEpochNs / 2, kEpochNs / 2,
                                   31 * kEpochNs + 17, kEpochNs}) {
        pass_ns(wait_ns);
        const std::vector<uint64_t> drained = drain();
        found.insert(found.end(), drained.begin(), drained.end());
    }
    EXPECT_EQ(found, smooth);
}

TEST_F(SourceRun, GuestAccessesAreCountedInTheSourcesEpoch)
{
    build("sequential:accesses=64,epochs=1");
    start();
    unit_->request({.dpa = 0});
    unit_->request({.dpa = 4096});
    pass_ns(kEpochNs);
    EXPECT_EQ(counts(drain()), (std::map<uint64_t, uint64_t>{{0, 65}}));
}

TEST_F(SourceRun, FirstEpochIsReportedAtItsEnd)
{
    build("uniform:epochs=1");
    start();
    const uint64_t end = *unit_->next_deadline_ns();
    host_.now = end - 1;
    unit_->advance(host_.now);
    EXPECT_TRUE(drain().empty());
    pass_ns(1);
    EXPECT_FALSE(drain().empty());
}

TEST_F(SourceRun, NoDeadlineAfterTheLastEpoch)
{
    build("uniform:epochs=3");
    start();
    for (unsigned i = 0; i < 3; i++) {
        ASSERT_TRUE(unit_->next_deadline_ns());
        pass_ns(kEpochNs);
        EXPECT_FALSE(drain().empty());
    }
    EXPECT_FALSE(unit_->next_deadline_ns());
    pass_ns(10 * kEpochNs);
    EXPECT_TRUE(drain().empty());
}

TEST_F(SourceRun, SourceWithoutAnEpochLimitHasAccessesInEveryEpoch)
{
    build("uniform:accesses=4,units=1");
    EXPECT_EQ(run(300).size(), 300u);
}

TEST_F(SourceRun, EnableRestartsTheSource)
{
    build("sequential:accesses=64,units=8,epochs=8");
    EXPECT_EQ(counts(run(3)), (std::map<uint64_t, uint64_t>{{0, 64}, {1, 64}, {2, 64}}));
    EXPECT_EQ(counts(run(2)), (std::map<uint64_t, uint64_t>{{0, 64}, {1, 64}}));
}

TEST_F(SourceRun, RequestTypeSelectsReadsWritesAndTee)
{
    build("uniform:units=10,writes=25,tee=20,epochs=1");
    const std::vector<Request> all = source_->epoch(0);
    for (const uint64_t type : {1u, 2u, 3u, 4u, 5u, 6u}) {
        const bool reads = type % 3 == 1 || type % 3 == 0;
        const bool writes = type % 3 == 2 || type % 3 == 0;
        const auto wanted = std::count_if(all.begin(), all.end(), [&](const Request &request) {
            return (request.write ? writes : reads) && (!request.tee || type > 3);
        });
        EXPECT_EQ(sum(run(1, {.requests = type, .threshold = 1})), static_cast<uint64_t>(wanted))
            << type;
    }
}

TEST_F(SourceRun, RangeBitmapFiltersTheSource)
{
    build("uniform:units=10,base=0x10000000,epochs=1");
    EXPECT_TRUE(run(1, {.ranges = 1}).empty());
    EXPECT_EQ(run(1, {.ranges = 2}).size(), 10u);
}

TEST_F(SourceRun, AlwaysOnModeReportsAUnitSeveralTimesPerEpoch)
{
    build("sequential:accesses=64,epochs=1");
    EXPECT_EQ(run(1, {.threshold = 16, .mode = kModeAlwaysOn}).size(), 4u);
}

TEST_F(SourceRun, PerCounterEpochsAreReproducible)
{
    params_.per_counter_epochs = true;
    build("zipf:epochs=4");
    const std::vector<uint64_t> first = run(8);
    EXPECT_GT(first.size(), 100u);
    // The second run has irregular intervals between calls.
    start();
    std::vector<uint64_t> found;
    for (unsigned i = 0; i < 40; i++) {
        pass_ns(kEpochNs / 7 * (1 + i % 9));
        const std::vector<uint64_t> drained = drain();
        found.insert(found.end(), drained.begin(), drained.end());
    }
    EXPECT_EQ(found, first);
}

TEST_F(SourceRun, SourceThatWaitsForFreeEntriesAvoidsLoss)
{
    params_.hot_list_entries = 64;
    const std::string source = "uniform:units=20,epochs=4";
    build(source);
    start();
    for (unsigned i = 0; i < 5; i++)
        pass_ns(kEpochNs);
    EXPECT_EQ(unit_->entries_stored(), 63u);
    EXPECT_EQ(unit_->entries_dropped(), 17u);

    build(source);
    const std::vector<uint64_t> smooth = run(4);
    EXPECT_EQ(smooth.size(), 80u);

    build(source + ",room=20");
    start();
    for (unsigned i = 0; i < 6; i++)
        pass_ns(kEpochNs);
    EXPECT_EQ(unit_->entries_stored(), 60u);
    std::vector<uint64_t> found = drain();
    pass_ns(kEpochNs);
    const std::vector<uint64_t> rest = drain();
    found.insert(found.end(), rest.begin(), rest.end());
    EXPECT_EQ(found, smooth);
    EXPECT_EQ(unit_->entries_dropped(), 0u);
}

TEST_F(SourceRun, RefusesToWaitForMoreEntriesThanTheListHas)
{
    build("uniform:room=1024");
    Options options;
    options.instance = params_;
    const Result<void> checked = check(options);
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().code, Errc::kUsage);
    build("uniform:room=1023");
    options.instance = params_;
    EXPECT_TRUE(check(options));
}

// --- Logs

TEST_F(SourceRun, EntriesLogMatchesTheEntriesRead)
{
    open_logs();
    build("sequential:accesses=128,units=4,epochs=2");
    const std::vector<uint64_t> found = run(3);
    ASSERT_EQ(found.size(), 4u);
    run(1);
    ASSERT_TRUE(logs_.close());
    const std::vector<std::string> log = lines("entries");
    ASSERT_EQ(log.size(), 9u);
    EXPECT_EQ(log[0], "# pmukit entries log 1");
    EXPECT_EQ(log[1], "# chmu0.0 enabled");
    for (unsigned i = 0; i < 4; i++) {
        std::istringstream line(log[2 + i]);
        std::string name, raw;
        unsigned epoch = 9;
        line >> name >> epoch >> raw;
        EXPECT_EQ(name, "chmu0.0");
        EXPECT_EQ(epoch, i / 2);
        EXPECT_EQ(raw.size(), 16u);
        EXPECT_EQ(std::stoull(raw, nullptr, 16), found[i]);
        EXPECT_TRUE(line.eof());
    }
    EXPECT_EQ(log[6], "# chmu0.0 enabled");
    EXPECT_EQ(log[7], log[2]);
}

TEST_F(SourceRun, DroppedEntriesAreMarkedInTheEntriesLog)
{
    params_.hot_list_entries = 64;
    open_logs();
    build("uniform:units=70,accesses=20000,epochs=1");
    EXPECT_EQ(run(1).size(), 63u);
    ASSERT_TRUE(logs_.close());
    const std::vector<std::string> log = lines("entries");
    ASSERT_EQ(log.size(), 2 + 70u);
    for (size_t i = 0; i < 70; i++)
        EXPECT_EQ(log[2 + i].ends_with(" dropped"), i >= 63) << log[2 + i];
}

TEST_F(SourceRun, PostponedEntriesAreLoggedWhenInsertedOrDropped)
{
    params_.hot_list_entries = 64;
    params_.postponed = true;
    open_logs();
    build("uniform:units=200,accesses=20000,epochs=1");
    start();
    pass_ns(kEpochNs);
    // After the first drain, the model inserts 63 postponed entries into the empty list.
    std::vector<uint64_t> found = drain();
    const std::vector<uint64_t> more = drain();
    found.insert(found.end(), more.begin(), more.end());
    ASSERT_EQ(found.size(), 126u);
    // The list holds the next 63 entries. The last 11 are still postponed, and stop() drops them.
    stop();
    ASSERT_TRUE(logs_.close());
    const std::vector<std::string> log = lines("entries");
    ASSERT_EQ(log.size(), 2 + 200u);
    for (size_t i = 0; i < 126; i++)
        EXPECT_EQ(std::stoull(log[2 + i].substr(10), nullptr, 16), found[i]);
    for (size_t i = 0; i < 200; i++)
        EXPECT_EQ(log[2 + i].ends_with(" dropped"), i >= 189) << log[2 + i];
}

TEST_F(SourceRun, EntriesLogCountsEpochsFromTheEnableIfThereIsNoSource)
{
    open_logs();
    build("uniform");
    params_.source = nullptr;
    unit_ = std::make_unique<Instance>(params_, "chmu1.2", 1, host_);
    start({.threshold = 1});
    pass_ns(3 * kEpochNs);
    unit_->request({.dpa = 0x5000});
    pass_ns(2 * kEpochNs);
    ASSERT_TRUE(logs_.close());
    EXPECT_EQ(lines("entries").back(), "chmu1.2 3 0000000000050001");
}

TEST_F(SourceRun, TheSourceLogCanBeReplayed)
{
    open_logs();
    build("zipf:epochs=3,writes=30,tee=10");
    const std::vector<uint64_t> first = run(3);
    ASSERT_TRUE(logs_.close());
    EXPECT_EQ(lines("source")[0], "# pmukit source log 1");
    EXPECT_EQ(lines("source")[1], "# chmu0.0 0");
    EXPECT_EQ(lines("source").size(), 1 + 3 * 2001u);
    build("replay:file=" + path("source"));
    EXPECT_EQ(run(4), first);
}

TEST_F(SourceRun, StatsLogCountsAccessesPerDrain)
{
    open_logs();
    build("uniform:units=20,epochs=1");
    // Writes three registers, then reads the status once.
    start();
    pass_ns(kEpochNs);
    EXPECT_EQ(drain().size(), 20u);
    unit_->write(kStatus, 8, kStatusLevel.mask());
    drain();
    stop();
    ASSERT_TRUE(logs_.close());
    const std::vector<std::string> expected = {
        "# pmukit stats log 1", "chmu0.0 enabled 0 0 3",
        "chmu0.0 head 20 23 1",  // reads of status, head, tail, entries; write of head
        "chmu0.0 head 0 2 2",   "chmu0.0 disabled 0 0 1",
    };
    EXPECT_EQ(lines("stats"), expected);
}

TEST_F(SourceRun, ReportsUnwritableLogs)
{
    EXPECT_FALSE(logs_.open_entries("/nonexistent/log"));
    ASSERT_TRUE(logs_.open_stats("/dev/full"));
    const Result<void> closed = logs_.close();
    ASSERT_FALSE(closed);
    EXPECT_NE(closed.error().message.find("stats log /dev/full"), std::string::npos);
}

}  // namespace
}  // namespace pmukit::models::cxl_hmu
