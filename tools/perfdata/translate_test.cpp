// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Checks the new value of every number that a merge changes. Record layout: perf_event_open(2).
#include "perfdata/translate.hpp"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <vector>

#include "base/bytes.hpp"
#include "perfdata/format.hpp"

namespace pmukit::perfdata {
namespace {

constexpr uint64_t kGroup = PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_LOST |
                            PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;

class Translate : public ::testing::TestWithParam<std::endian> {
protected:
    Translate()
    {
        to_.ids.insert(7, 107);
        to_.ids.insert(8, 108);
        to_.threads.shift = 1000;
        to_.cpus.shift = 16;
        to_.rings.shift = 32;
        to_.cgroups = {uint64_t{1} << 48, uint64_t{1} << 48};
        to_.time_shift_ns = 500;
    }
    // A word of two 32-bit halves, in the order of storage.
    uint64_t halves(uint32_t first, uint32_t second) const
    {
        return GetParam() == std::endian::little ? first | uint64_t{second} << 32
                                                 : uint64_t{first} << 32 | second;
    }
    std::vector<uint64_t> translated(uint32_t type, const std::vector<uint64_t> &words,
                                     const Attr &attr = {}) const
    {
        std::vector<std::byte> body(words.size() * 8);
        for (size_t i = 0; i < words.size(); i++)
            store(body.data() + 8 * i, words[i], GetParam());
        // A body may end anywhere: nothing past its end is read.
        for (size_t size = 0; size < body.size(); size++) {
            std::vector<std::byte> cut(body.begin(), body.begin() + static_cast<ptrdiff_t>(size));
            EXPECT_TRUE(translate(type, cut, attr, GetParam(), to_));
        }
        EXPECT_TRUE(translate(type, body, attr, GetParam(), to_));
        std::vector<uint64_t> result;
        for (size_t i = 0; i < words.size(); i++)
            result.push_back(load<uint64_t>(body.data() + 8 * i, GetParam()));
        return result;
    }
    // Like translated(), for a record of 32-bit numbers.
    std::vector<uint32_t> translated_halves(uint32_t type, const std::vector<uint32_t> &halves,
                                            const Attr &attr = {}) const
    {
        std::vector<std::byte> body(halves.size() * 4);
        for (size_t i = 0; i < halves.size(); i++)
            store(body.data() + 4 * i, halves[i], GetParam());
        EXPECT_TRUE(translate(type, body, attr, GetParam(), to_));
        std::vector<uint32_t> result;
        for (size_t i = 0; i < halves.size(); i++)
            result.push_back(load<uint32_t>(body.data() + 4 * i, GetParam()));
        return result;
    }
    bool is_valid(uint32_t type, std::vector<uint64_t> words, const Attr &attr = {}) const
    {
        for (uint64_t &word : words)
            store(reinterpret_cast<std::byte *>(&word), word, GetParam());
        return translate(type, std::as_writable_bytes(std::span(words)), attr, GetParam(), to_);
    }
    static Attr attr_of(uint64_t sample_type, uint64_t read_format)
    {
        Attr attr;
        attr.sample_type = sample_type;
        attr.read_format = read_format;
        attr.sample_id_all = true;
        return attr;
    }

    Translation to_;
};
INSTANTIATE_TEST_SUITE_P(BothOrders, Translate,
                         ::testing::Values(std::endian::little, std::endian::big),
                         [](const auto &order) {
                             return order.param == std::endian::little ? "little" : "big";
                         });

TEST_P(Translate, ShiftsThreadsCpusAndRings)
{
    using Halves = std::vector<uint32_t>;
    const Halves ones(10, 1);
    EXPECT_EQ(translated_halves(PERF_RECORD_COMM, {1, 2, 3}), (Halves{1001, 1002, 3}));
    EXPECT_EQ(translated_halves(PERF_RECORD_COMM, {0, UINT32_MAX, 3}), (Halves{0, UINT32_MAX, 3}));
    EXPECT_EQ(translated_halves(PERF_RECORD_FORK, {1, 2, 3, 4, 0, 0}),
              (Halves{1001, 1002, 1003, 1004, 0, 0}));
    EXPECT_EQ(translated_halves(kAuxtrace, ones), (Halves{1, 1, 1, 1, 1, 1, 33, 1001, 17, 1}));
    EXPECT_EQ(translated_halves(kAuxtrace, {1, 1, 1, 1, 1, 1, 1}), (Halves{1, 1, 1, 1, 1, 1, 33}))
        << "what is not there stays away";
    const Attr attr = attr_of(PERF_SAMPLE_TID | PERF_SAMPLE_CPU, 0);
    EXPECT_EQ(translated_halves(PERF_RECORD_SWITCH, {1, 2, 3, 4}, attr),
              (Halves{1001, 1002, 19, 4}));
    EXPECT_EQ(translated_halves(PERF_RECORD_SAMPLE, {1, 2, 3, 4, 5}, attr),
              (Halves{1001, 1002, 19, 4, 5}));
}

TEST_P(Translate, ShiftsTimesBackwards)
{
    to_.time_shift_ns = static_cast<uint64_t>(-10);
    EXPECT_EQ(translated(PERF_RECORD_SAMPLE, {7, 70, /* value, id */ 7, 8},
                         attr_of(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TIME | PERF_SAMPLE_READ,
                                 PERF_FORMAT_ID)),
              (std::vector<uint64_t>{107, 60, 7, 108}))
        << "a count is no id";
}

TEST_P(Translate, TranslatesIdsInTheCountsOfAGroup)
{
    const Attr attr = attr_of(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                                  PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ,
                              kGroup);
    EXPECT_EQ(translated(PERF_RECORD_SAMPLE,
                         {7, halves(20, 21), 90, halves(3, 0), 8, /* of two events */ 2, 7, 8,
                          /* value, id, lost */ 7, 7, 8, 8, 8, 7},
                         attr),
              (std::vector<uint64_t>{7, halves(1020, 1021), 590, halves(19, 0), 8, 2, 7, 8, 7, 107,
                                     8, 8, 108, 7}));
}

TEST_P(Translate, TranslatesNoMoreCountsThanTheRecordHolds)
{
    const Attr attr = attr_of(PERF_SAMPLE_READ, PERF_FORMAT_GROUP | PERF_FORMAT_ID);
    EXPECT_EQ(translated(PERF_RECORD_SAMPLE, {UINT64_MAX, 7, 7, 8}, attr),
              (std::vector<uint64_t>{UINT64_MAX, 7, 107, 8}));
}

TEST_P(Translate, TranslatesAReadRecordAndItsTrailer)
{
    const uint64_t trailer = PERF_SAMPLE_TIME | PERF_SAMPLE_IDENTIFIER;
    EXPECT_EQ(translated(PERF_RECORD_READ, {halves(20, 21), 8, 7, 90, 8},
                         attr_of(trailer, PERF_FORMAT_ID)),
              (std::vector<uint64_t>{halves(1020, 1021), 8, 107, 590, 108}));
    EXPECT_EQ(translated(PERF_RECORD_READ, {halves(20, 21), 8, 90, 8}, attr_of(trailer, 0)),
              (std::vector<uint64_t>{halves(1020, 1021), 8, 590, 108}));
}

TEST_P(Translate, TranslatesEntriesOfAnIdIndex)
{
    EXPECT_EQ(translated(kIdIndex, {2, 7, 1, 3, UINT64_MAX, 9, 2, UINT64_MAX, 20}),
              (std::vector<uint64_t>{2, 107, 33, 19, UINT64_MAX, 9, 34, UINT64_MAX, 1020}));
}

// Layout of the samples: enum perf_event_type in linux/perf_event.h.
TEST_P(Translate, ShiftsCgroupsOfRecordsAndSamples)
{
    constexpr uint64_t kShifted = 1ULL << 48 | 9;
    EXPECT_EQ(translated(PERF_RECORD_CGROUP, {9, 9}), (std::vector<uint64_t>{kShifted, 9}));
    EXPECT_EQ(translated(PERF_RECORD_CGROUP, {0, 9}), (std::vector<uint64_t>{0, 9}));
    EXPECT_EQ(
        translated(PERF_RECORD_SAMPLE, {5, 9, 9},
                   attr_of(PERF_SAMPLE_IP | PERF_SAMPLE_CGROUP | PERF_SAMPLE_DATA_PAGE_SIZE, 0)),
        (std::vector<uint64_t>{5, kShifted, 9}));
    EXPECT_EQ(translated(PERF_RECORD_SAMPLE,
                         {/* callchain */ 2, 9, 9, /* raw: 4 bytes */ halves(4, 9),
                          /* physical address, cgroup */ 9, 9,
                          /* page sizes */ 9, 9, /* AUX data */ 8, 9},
                         attr_of(PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW | PERF_SAMPLE_PHYS_ADDR |
                                     PERF_SAMPLE_CGROUP | PERF_SAMPLE_DATA_PAGE_SIZE |
                                     PERF_SAMPLE_CODE_PAGE_SIZE | PERF_SAMPLE_AUX,
                                 0)),
              (std::vector<uint64_t>{2, 9, 9, halves(4, 9), 9, kShifted, 9, 9, 8, 9}));
}

TEST_P(Translate, IdIndexWithATooLargeCountIsTranslatedToTheEndOfItsBody)
{
    EXPECT_EQ(translated(kIdIndex, {uint64_t{1} << 60, 7, 1, 2, 3, 7, 1}),
              (std::vector<uint64_t>{uint64_t{1} << 60, 107, 33, 18, 1003, 7, 1}));
}

TEST_P(Translate, UnknownThreadsCpusAndTimesAreLeftUnknown)
{
    EXPECT_EQ(translated(PERF_RECORD_FORK, {halves(0, UINT32_MAX), halves(5, 0), UINT64_MAX}),
              (std::vector<uint64_t>{halves(0, UINT32_MAX), halves(1005, 0), UINT64_MAX}));
    EXPECT_EQ(translated(kStat, {7, halves(UINT32_MAX, 4)}),
              (std::vector<uint64_t>{107, halves(UINT32_MAX, 4)}));
}

TEST_P(Translate, NumbersOutsideOfTheirRangeAreRefused)
{
    to_.threads.size = 1 << 22;
    to_.cpus.size = 8;
    to_.rings.size = 100;
    const Attr attr = attr_of(PERF_SAMPLE_TID | PERF_SAMPLE_CPU, 0);
    const auto sample = [&](uint32_t pid, uint32_t tid, uint32_t cpu) {
        return is_valid(PERF_RECORD_SAMPLE, {halves(pid, tid), halves(cpu, 0)}, attr);
    };
    EXPECT_TRUE(sample((1 << 22) - 1, (1 << 22) - 1, 7));
    EXPECT_TRUE(sample(UINT32_MAX, UINT32_MAX, UINT32_MAX)) << "a thread that has exited";
    EXPECT_FALSE(sample(1 << 22, 1, 7));
    EXPECT_FALSE(sample(1, UINT32_MAX - 1, 7));
    EXPECT_FALSE(sample(1, 1, 8));
    EXPECT_FALSE(sample(1, 1, 70000));
    EXPECT_TRUE(is_valid(kAuxtrace, {1, 1, 1, halves(99, 1), 1}));
    EXPECT_FALSE(is_valid(kAuxtrace, {1, 1, 1, halves(100, 1), 1}));
    EXPECT_FALSE(is_valid(kAuxtrace, {1, 1, 1, halves(UINT32_MAX, 1), 1}));
    EXPECT_FALSE(is_valid(kIdIndex, {1, 7, 100, 1, 1}));
    EXPECT_TRUE(is_valid(PERF_RECORD_CGROUP, {(1ULL << 48) - 1}));
    EXPECT_FALSE(is_valid(PERF_RECORD_CGROUP, {1ULL << 48}));
    EXPECT_FALSE(is_valid(PERF_RECORD_SAMPLE, {1ULL << 48}, attr_of(PERF_SAMPLE_CGROUP, 0)));
}

TEST_P(Translate, AnIdOfAnotherInputIsRefused)
{
    FlatMap<std::monostate> all;
    for (const uint64_t id : {107, 108, 9})
        all.insert(id, {});
    to_.all_ids = &all;
    const Attr attr = attr_of(PERF_SAMPLE_IDENTIFIER, 0);
    EXPECT_TRUE(is_valid(PERF_RECORD_SAMPLE, {7}, attr));
    EXPECT_TRUE(is_valid(PERF_RECORD_SAMPLE, {10}, attr)) << "no input has this id";
    EXPECT_FALSE(is_valid(PERF_RECORD_SAMPLE, {9}, attr));
    EXPECT_FALSE(is_valid(PERF_RECORD_LOST, {9, 1, 7}, attr));
    EXPECT_TRUE(is_valid(PERF_RECORD_THROTTLE, {1, 7, 9, 7}, attr))
        << "the stream id of an inherited event is in no header";
    to_.is_own = [](uint64_t id) { return id == 9; };
    EXPECT_TRUE(is_valid(PERF_RECORD_SAMPLE, {9}, attr)) << "this input has the id, too";
    EXPECT_FALSE(is_valid(PERF_RECORD_SAMPLE, {108}, attr));
}

}  // namespace
}  // namespace pmukit::perfdata
