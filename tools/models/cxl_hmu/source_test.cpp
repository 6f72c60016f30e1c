// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Tests the synthetic workload alone: its option text, the sequence of its requests, and the
// distribution of each pattern.
#include "models/cxl_hmu/source.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>

namespace pmukit::models::cxl_hmu {
namespace {

Source make(std::string_view text)
{
    const Result<SourceParams> params = parse_source(text);
    EXPECT_TRUE(params) << (params ? "" : params.error().message);
    Result<Source> source = Source::create(params ? *params : SourceParams{});
    EXPECT_TRUE(source);
    return std::move(source).value();
}

std::vector<uint64_t> dpas(const Source &source, uint64_t epoch)
{
    std::vector<uint64_t> found;
    for (const Request &request : source.epoch(epoch))
        found.push_back(request.dpa);
    return found;
}

// Returns accesses by unit.
std::map<uint64_t, unsigned> tally(const Source &source, uint64_t epoch, uint64_t unit_bytes = 4096)
{
    std::map<uint64_t, unsigned> counts;
    for (const uint64_t dpa : dpas(source, epoch))
        counts[dpa / unit_bytes]++;
    return counts;
}

std::set<uint64_t> units_above(const std::map<uint64_t, unsigned> &counts, unsigned least)
{
    std::set<uint64_t> units;
    for (const auto &[unit, count] : counts) {
        if (count >= least)
            units.insert(unit);
    }
    return units;
}

uint64_t hottest(const std::map<uint64_t, unsigned> &counts)
{
    return std::max_element(counts.begin(), counts.end(),
                            [](const auto &a, const auto &b) { return a.second < b.second; })
        ->first;
}

// --- Option text

TEST(SourceOption, SetsEveryParameter)
{
    const Result<SourceParams> p = parse_source(
        "zipf:seed=7,accesses=100,units=64,unit-bytes=0x100,base=4096,epochs=8,writes=30,tee=5,"
        "room=10,skew=120");
    ASSERT_TRUE(p) << p.error().message;
    EXPECT_EQ(p->pattern, Pattern::kZipf);
    EXPECT_EQ(p->seed, 7u);
    EXPECT_EQ(p->accesses, 100u);
    EXPECT_EQ(p->units, 64u);
    EXPECT_EQ(p->unit_bytes, 256u);
    EXPECT_EQ(p->base, 4096u);
    EXPECT_EQ(p->epochs, 8u);
    EXPECT_EQ(p->writes, 30u);
    EXPECT_EQ(p->tee, 5u);
    EXPECT_EQ(p->room, 10u);
    EXPECT_EQ(p->skew, 120u);
    EXPECT_EQ(parse_source("phase:hot=3,period=9")->period, 9u);
    EXPECT_EQ(parse_source("bursts:burst=5")->burst, 5u);
    EXPECT_EQ(parse_source("replay:file=/a=b")->file, "/a=b");
    EXPECT_EQ(parse_source("uniform")->epochs, 0u);
}

class InvalidSourceOption : public testing::TestWithParam<const char *> {};

TEST_P(InvalidSourceOption, ReturnsOneErrorLine)
{
    const Result<SourceParams> params = parse_source(GetParam());
    ASSERT_FALSE(params);
    EXPECT_EQ(params.error().code, Errc::kUsage);
    EXPECT_EQ(params.error().message.find("--source: "), 0u);
    EXPECT_EQ(params.error().message.find('\n'), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(
    All, InvalidSourceOption,
    testing::Values("", ":", "gauss", "zipf=1", "uniform:seed", "uniform:seed=", "uniform:seed=x",
                    "uniform:seed=1,", "uniform:,seed=1", "uniform:sed=1",
                    "uniform:seed=18446744073709551616", "uniform:accesses=0",
                    "uniform:accesses=1048577", "uniform:units=0", "uniform:units=1048577",
                    "uniform:unit-bytes=32", "uniform:unit-bytes=96", "uniform:base=64",
                    "uniform:base=0xffffffff000", "uniform:units=1048576,unit-bytes=2097152",
                    "uniform:writes=101", "uniform:tee=101", "uniform:room=65535",
                    "uniform:skew=100", "sequential:burst=2", "zipf:skew=401", "phase:hot=0",
                    "phase:hot=65,units=64", "phase:period=0", "bursts:burst=0", "replay",
                    "replay:file=", "replay:file=x,seed=1", "uniform:file=x"));

// --- Sequences

class AnyPattern : public testing::TestWithParam<const char *> {};

TEST_P(AnyPattern, AddressesDependOnlyOnTheEpochAndNotOnEarlierCalls)
{
    const Source one = make(GetParam());
    const Source other = make(GetParam());
    std::vector<std::vector<uint64_t>> upwards;
    for (uint64_t epoch = 0; epoch < 6; epoch++)
        upwards.push_back(dpas(one, epoch));
    for (uint64_t epoch = 6; epoch-- > 0;) {
        EXPECT_EQ(dpas(other, epoch), upwards[epoch]);
        EXPECT_EQ(upwards[epoch].size(), 2000u);
    }
    EXPECT_NE(upwards[0], upwards[1]);
}

TEST_P(AnyPattern, AddressesStayWithinTheConfiguredUnits)
{
    const Source source = make(std::string(GetParam()) + ",base=0x100000,units=100");
    for (uint64_t epoch : {uint64_t{0}, uint64_t{5}, uint64_t{1} << 40, ~uint64_t{0}}) {
        for (const uint64_t dpa : dpas(source, epoch)) {
            ASSERT_GE(dpa, 0x100000u);
            ASSERT_LT(dpa, 0x100000u + 100 * 4096u);
            ASSERT_EQ(dpa % 64, 0u);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Made, AnyPattern,
                         testing::Values("uniform:seed=3", "zipf:seed=3", "sequential:seed=3",
                                         "phase:seed=3", "bursts:seed=3"));

TEST(Source, EndsAfterItsEpochs)
{
    const Source source = make("uniform:accesses=10,epochs=3");
    EXPECT_EQ(source.epoch(2).size(), 10u);
    EXPECT_FALSE(source.ended(2));
    EXPECT_TRUE(source.ended(3));
    EXPECT_TRUE(source.epoch(3).empty());
    EXPECT_FALSE(make("uniform:epochs=0").ended(~uint64_t{0}));
}

TEST(Source, SeedSelectsTheHotUnitsAndTheRandomAddresses)
{
    EXPECT_NE(hottest(tally(make("zipf:seed=1"), 0)), hottest(tally(make("zipf:seed=2"), 0)));
    const char *phase[] = {"phase:hot=16,seed=1", "phase:hot=16,seed=2"};
    EXPECT_NE(units_above(tally(make(phase[0]), 0), 50), units_above(tally(make(phase[1]), 0), 50));
    EXPECT_NE(dpas(make("uniform:seed=1"), 0), dpas(make("uniform:seed=2"), 0));
    EXPECT_NE(dpas(make("bursts:seed=1"), 0), dpas(make("bursts:seed=2"), 0));
}

TEST(Source, ShareOfWritesAndTeeAccessesMatchesTheParameters)
{
    const auto shares = [](std::string_view text) {
        unsigned writes = 0, tee = 0;
        for (const Request &request : make(text).epoch(0)) {
            writes += request.write;
            tee += request.tee;
        }
        return std::pair(writes, tee);
    };
    EXPECT_EQ(shares("uniform"), std::pair(0u, 0u));
    EXPECT_EQ(shares("uniform:writes=100,tee=100"), std::pair(2000u, 2000u));
    const auto [writes, tee] = shares("uniform:writes=25,tee=10");
    EXPECT_NEAR(writes, 500, 100);
    EXPECT_NEAR(tee, 200, 60);
    // The shares do not change the addresses.
    EXPECT_EQ(dpas(make("zipf"), 1), dpas(make("zipf:writes=50,tee=50"), 1));
}

// --- Shapes

TEST(SourceShape, UniformAccessesEveryUnitEqually)
{
    const auto counts = tally(make("uniform:units=20"), 0);
    ASSERT_EQ(counts.size(), 20u);
    for (const auto &[unit, count] : counts)
        EXPECT_NEAR(count, 100, 40) << unit;
}

TEST(SourceShape, ZipfAccessesOfAUnitFallWithItsRankAndTheSkew)
{
    const auto counts = tally(make("zipf:units=1000,accesses=100000"), 0);
    std::vector<unsigned> sorted;
    sorted.reserve(counts.size());
    for (const auto &[unit, count] : counts)
        sorted.push_back(count);
    std::sort(sorted.rbegin(), sorted.rend());
    // The harmonic sum of 1000 ranks is 7.485.
    EXPECT_NEAR(sorted[0], 100000 / 7.485, 700);
    EXPECT_NEAR(sorted[1], sorted[0] / 2.0, 500);
    EXPECT_NEAR(sorted[9], sorted[0] / 10.0, 200);
    const Source steeper = make("zipf:units=1000,accesses=100000,skew=200");
    EXPECT_NEAR(tally(steeper, 0)[hottest(counts)], 100000 / 1.644, 700);
}

TEST(SourceShape, ZipfHotUnitsAreTheSameInEveryEpoch)
{
    const Source source = make("zipf");
    EXPECT_EQ(hottest(tally(source, 0)), hottest(tally(source, 9)));
}

TEST(SourceShape, SequentialContinuesLineByLineAndWraps)
{
    const Source source = make("sequential:units=4,accesses=100");
    uint64_t expected = 0;
    for (uint64_t epoch = 0; epoch < 4; epoch++) {
        for (const uint64_t dpa : dpas(source, epoch)) {
            ASSERT_EQ(dpa, expected);
            expected = (expected + 64) % (4 * 4096);
        }
    }
    EXPECT_EQ(expected, uint64_t{400 - 256} * 64);  // it did wrap
}

TEST(SourceShape, PhaseMovesItsHotUnitsAfterEachPeriod)
{
    const Source source = make("phase:hot=16,period=3");
    const auto hot = [&](uint64_t epoch) { return units_above(tally(source, epoch), 50); };
    EXPECT_EQ(hot(0).size(), 16u);
    EXPECT_EQ(hot(0), hot(2));
    EXPECT_EQ(hot(3), hot(5));
    for (const uint64_t unit : hot(3))
        EXPECT_EQ(hot(0).count(unit), 0u);
    unsigned inside = 0;
    for (const uint64_t unit : hot(0))
        inside += tally(source, 0)[unit];
    EXPECT_NEAR(inside, 1800, 60);
}

TEST(SourceShape, BurstsAccessOneUnitAtATime)
{
    const std::vector<uint64_t> touched = dpas(make("bursts:burst=50"), 4);
    std::set<uint64_t> units;
    for (size_t i = 0; i < touched.size(); i++) {
        EXPECT_EQ(touched[i] / 4096, touched[i / 50 * 50] / 4096) << i;
        units.insert(touched[i] / 4096);
    }
    // Each of the 40 bursts selects one of 4096 units at random.
    EXPECT_GT(units.size(), 35u);
    EXPECT_GT(std::set<uint64_t>(touched.begin(), touched.end()).size(), 500u);
}

// --- Replay

class Replay : public testing::Test {
protected:
    void TearDown() override { ::unlink(path_.c_str()); }
    Result<Source> replay(const std::string &text, const std::string &settings = "")
    {
        std::ofstream(path_) << text;
        const Result<SourceParams> params = parse_source("replay:file=" + path_ + settings);
        EXPECT_TRUE(params);
        return Source::create(*params);
    }
    std::string path_ = testing::TempDir() + "pmukit_trace_" + std::to_string(::getpid());
};

TEST_F(Replay, ReturnsTraceLinesInOrder)
{
    const Result<Source> source = replay(
        "# pmukit access log 1\nR 0x1000 8\nW 0x2040 4\n\n# a word\nR 0x3000 64 T\nW 0x0 1 T\n"
        "R 0xffffffffff 1",
        ",accesses=2");
    ASSERT_TRUE(source) << source.error().message;
    EXPECT_EQ(dpas(*source, 0), (std::vector<uint64_t>{0x1000, 0x2040}));
    EXPECT_EQ(dpas(*source, 1), (std::vector<uint64_t>{0x3000, 0}));
    EXPECT_EQ(dpas(*source, 2), (std::vector<uint64_t>{0xffffffffff}));
    EXPECT_FALSE(source->epoch(0)[0].write);
    EXPECT_TRUE(source->epoch(0)[1].write);
    EXPECT_FALSE(source->epoch(0)[1].tee);
    EXPECT_TRUE(source->epoch(1)[0].tee);
    EXPECT_TRUE(source->epoch(1)[1].write);
    EXPECT_FALSE(source->ended(2));
    EXPECT_TRUE(source->ended(3));
    EXPECT_TRUE(source->ended(~uint64_t{0}));
}

TEST_F(Replay, EndsAtTheTraceEndOrTheEpochLimit)
{
    const std::string four = "R 0x0 8\nR 0x0 8\nR 0x0 8\nR 0x0 8\n";
    EXPECT_FALSE(replay(four, ",accesses=2")->ended(1));
    EXPECT_TRUE(replay(four, ",accesses=2")->ended(2));
    EXPECT_TRUE(replay(four, ",accesses=2,epochs=1")->ended(1));
}

TEST_F(Replay, ReportsTheInvalidLine)
{
    for (const char *line :
         {"X 0x0 8", "R 0 8", "R 0x 8", "R 0xg 8", "R 0x0", "R 0x0 0", "R 0x0 65", "R 0x0 8 S",
          "R 0x0 8 T T", "R 0x10000000000 8", "R  0x0 8", "RW 0x0 8"}) {
        const Result<Source> source = replay("R 0x0 8\n" + std::string(line) + "\nR 0x0 8\n");
        ASSERT_FALSE(source) << line;
        EXPECT_EQ(source.error().code, Errc::kDamaged);
        EXPECT_NE(source.error().message.find(path_ + ":2: "), std::string::npos);
    }
}

TEST_F(Replay, RejectsTracesWithoutAccesses)
{
    EXPECT_FALSE(replay(""));
    EXPECT_FALSE(replay("# pmukit access log 1\n"));
    ::unlink(path_.c_str());
    const Result<SourceParams> params = parse_source("replay:file=" + path_);
    const Result<Source> absent = Source::create(*params);
    ASSERT_FALSE(absent);
    EXPECT_EQ(absent.error().code, Errc::kNotFound);
}

}  // namespace
}  // namespace pmukit::models::cxl_hmu
