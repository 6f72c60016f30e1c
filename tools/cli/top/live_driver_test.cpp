// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Tests the rows and losses that top derives from trace records, for events that top opened and for
// events that were already open.
#include <gtest/gtest.h>
#include <pmukit/cache_qos.h>
#include <pmukit/cxl_hmu.h>
#include <pmukit/hisi_ptt.h>

#include <algorithm>
#include <memory>
#include <ostream>
#include <span>
#include <tuple>
#include <vector>

#include "cli/drivers/cache_qos/handlers.hpp"
#include "cli/drivers/cxl_hmu/handlers.hpp"
#include "cli/drivers/hisi_ptt/handlers.hpp"

namespace pmukit::cli {
namespace {

constexpr const char *kPmu = "pmu0";

std::string no_name(const Stream &)
{
    return "unknown";
}

// The format of a trace event with the fields that top reads.
record::TraceFormat trace_format()
{
    record::TraceFormat format;
    format.fields = {{"pmu", {8, 32, false}}, {"words", {40, 4, true}}};
    format.fixed_bytes = 48;
    return format;
}

std::vector<std::byte> trace_record(const std::vector<uint64_t> &words)
{
    constexpr size_t kWordsAt = 48;
    std::vector<std::byte> record(kWordsAt + 8 * words.size());
    const std::string_view pmu = kPmu;
    std::ranges::copy(std::as_bytes(std::span(pmu)), record.begin() + 8);
    store(record.data() + 40, static_cast<uint32_t>(8 * words.size() << 16 | kWordsAt),
          std::endian::native);
    for (size_t i = 0; i < words.size(); i++)
        store_le(record.data() + kWordsAt + 8 * i, words[i]);
    return record;
}

std::vector<uint64_t> hot_list(uint64_t time_ns, uint64_t sequence, uint64_t lost)
{
    return {1 | uint64_t{16} << PMUKIT_CXL_HMU_W0_COUNTER_WIDTH_SHIFT |
                uint64_t{PMUKIT_CXL_HMU_EXTRA_WORDS} << PMUKIT_CXL_HMU_W0_EXTRA_WORDS_SHIFT,
            PMUKIT_CXL_HMU_MARK,
            time_ns,
            /* unit */ 12,
            /* flags */ 0,
            sequence,
            lost,
            3 << 16 | 7};
}

// Returns a hisi_ptt record with 8DW entries. `tlps` has the first two dwords of each TLP.
std::vector<uint64_t> trace_entries(uint64_t time_ns, uint64_t sequence, uint64_t lost,
                                    const std::vector<std::pair<uint32_t, uint32_t>> &tlps)
{
    std::vector<uint64_t> words = {
        tlps.size() | uint64_t{32} << PMUKIT_HISI_PTT_W0_ENTRY_BYTES_SHIFT |
            uint64_t{PMUKIT_HISI_PTT_EXTRA_WORDS} << PMUKIT_HISI_PTT_W0_EXTRA_WORDS_SHIFT,
        PMUKIT_HISI_PTT_MARK,
        time_ns,
        /* flags */ 0,
        sequence,
        lost};
    for (const auto &[first, second] : tlps)
        words.insert(words.end(), {UINT32_MAX, first | uint64_t{second} << 32, 0, 0});
    return words;
}

uint64_t count_of(const LiveDriver &driver, std::string_view what)
{
    for (const LiveLoss &loss : driver.losses())
        if (loss.text.find(what) != std::string_view::npos)
            return loss.count;
    ADD_FAILURE() << what;
    return 0;
}

bool is_bound(const LiveDriver &driver, std::string_view what)
{
    for (const LiveLoss &loss : driver.losses())
        if (loss.text.find(what) != std::string_view::npos)
            return loss.at_least;
    ADD_FAILURE() << what;
    return false;
}

struct Numbered {
    const char *name;
    std::unique_ptr<LiveDriver> (*make)(PmuNames names);
    std::vector<uint64_t> (*words)(uint64_t time_ns, uint64_t sequence, uint64_t lost);
};

const Numbered kNumbered[] = {
    {"CxlHmu", make_cxl_hmu_live, hot_list},
    {"HisiPtt", make_hisi_ptt_live,
     [](uint64_t time_ns, uint64_t sequence, uint64_t lost) {
         return trace_entries(time_ns, sequence, lost, {});
     }},
};

class LiveNumbers : public testing::TestWithParam<Numbered> {
protected:
    void give(uint64_t sequence, uint64_t lost)
    {
        time_ns_ += 1000;
        live_->traced(trace_format(), trace_record(GetParam().words(time_ns_, sequence, lost)));
    }
    uint64_t lost() const { return count_of(*live_, "entries"); }
    uint64_t missing() const { return count_of(*live_, "missing (sequence gaps)"); }

    std::unique_ptr<LiveDriver> live_ = GetParam().make(no_name);
    uint64_t time_ns_ = 0;
};

TEST_P(LiveNumbers, LossBeforeTheFirstRecordSeenIsNotCounted)
{
    give(500, 12);
    EXPECT_EQ(lost(), 0U);
    EXPECT_EQ(missing(), 0U);
    give(502, 15);
    EXPECT_EQ(lost(), 3U);
    EXPECT_EQ(missing(), 1U);
}

TEST_P(LiveNumbers, LossOfALaterEventOfTheSamePmuIsCounted)
{
    give(500, 12);
    give(0, 2);
    EXPECT_EQ(lost(), 2U);
    give(3, 4);
    EXPECT_EQ(lost(), 4U);
    EXPECT_EQ(missing(), 2U);
}

TEST_P(LiveNumbers, LossInTheFirstRecordOfAnEventIsCounted)
{
    give(0, 5);
    EXPECT_EQ(lost(), 5U);
}

TEST_P(LiveNumbers, LossBeforeTheFirstRecordSeenIsCountedIfTopOpenedTheEvent)
{
    live_->opened(kPmu);
    give(2, 7);
    EXPECT_EQ(lost(), 7U);
    EXPECT_EQ(missing(), 2U);
}

void PrintTo(const Numbered &value, std::ostream *out)
{
    *out << value.name;
}
std::string name_of_driver(const testing::TestParamInfo<Numbered> &info)
{
    return info.param.name;
}
INSTANTIATE_TEST_SUITE_P(Of, LiveNumbers, testing::ValuesIn(kNumbered), name_of_driver);

TEST(LiveHisiPtt, TlpOfUnknownTypeIsCountedForNoRequester)
{
    constexpr uint32_t kWrite = 0x40000001, kUnknown = 0x7f000000;
    const std::unique_ptr<LiveDriver> live = make_hisi_ptt_live(no_name);
    live->traced(trace_format(),
                 trace_record(trace_entries(1000, 0, 0, {{kWrite, 0x0100000f}, {kUnknown, 0}})));
    const std::vector<LiveRow> rows = live->rows(Span::kAll, 0);
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_EQ(rows[0].id, 0x100U);
    EXPECT_EQ(rows[0].value, 1U);
    EXPECT_EQ(live->sum(Span::kAll), 1U);
    EXPECT_EQ(count_of(*live, "of no known type"), 1U);
}

std::vector<uint64_t> flagged_record(uint64_t sequence, uint64_t lost, uint64_t flags)
{
    std::vector<uint64_t> words = trace_entries(1000 + sequence, sequence, lost, {});
    words[3] = flags;
    return words;
}

TEST(LiveHisiPtt, LossIsALowerBoundAfterARecordWithTheAtLeastFlag)
{
    const std::unique_ptr<LiveDriver> live = make_hisi_ptt_live(no_name);
    const auto give = [&](uint64_t sequence, uint64_t lost, uint64_t flags) {
        live->traced(trace_format(), trace_record(flagged_record(sequence, lost, flags)));
    };
    give(0, 4, 0);
    EXPECT_FALSE(is_bound(*live, "entries lost"));
    give(1, 4, PMUKIT_HISI_PTT_F_AT_LEAST);
    EXPECT_TRUE(is_bound(*live, "entries lost"));
    EXPECT_EQ(count_of(*live, "entries lost"), 4U);
}

TEST(LiveHisiPtt, AtLeastFlagAlreadyInTheFirstRecordSeenDoesNotMakeTheLossALowerBound)
{
    const std::unique_ptr<LiveDriver> live = make_hisi_ptt_live(no_name);
    const auto give = [&](uint64_t sequence, uint64_t lost, uint64_t flags) {
        live->traced(trace_format(), trace_record(flagged_record(sequence, lost, flags)));
    };
    give(500, 12, PMUKIT_HISI_PTT_F_AT_LEAST);
    give(501, 14, PMUKIT_HISI_PTT_F_AT_LEAST);
    EXPECT_EQ(count_of(*live, "entries lost"), 2U);
    EXPECT_FALSE(is_bound(*live, "entries lost"));
    give(502, 14, PMUKIT_HISI_PTT_F_AT_LEAST | PMUKIT_HISI_PTT_F_OVERRUN);
    EXPECT_TRUE(is_bound(*live, "entries lost"));
}

// A reading of the occupancy of a monitor: 0 is the whole machine, others are groups.
std::vector<std::byte> occupancy(uint64_t sequence, uint64_t monitor, uint64_t bytes)
{
    const uint64_t kind = monitor ? PMUKIT_CACHE_QOS_KIND_GROUP : PMUKIT_CACHE_QOS_KIND_MACHINE;
    const uint64_t words[] = {
        /* time */ 1000 + sequence,
        sequence,
        monitor | uint64_t{PMUKIT_CACHE_QOS_EVENT_OCCUPANCY} << PMUKIT_CACHE_QOS_WHAT_EVENT_SHIFT |
            kind << PMUKIT_CACHE_QOS_WHAT_KIND_SHIFT,
        /* state */ 0,
        /* raw */ 1,
        bytes,
        /* bound */ 0,
        /* age */ 0};
    std::vector<std::byte> record(sizeof words);
    for (size_t i = 0; i < std::size(words); i++)
        store_le(record.data() + 8 * i, words[i]);
    return record;
}

TEST(LiveCacheQos, IntervalOmitsMonitorsThatACompletePassOverAllMonitorsDidNotRead)
{
    const std::unique_ptr<LiveDriver> live = make_cache_qos_live(no_name);
    const Stream stream{};
    uint64_t sequence = 0;
    const auto read = [&](uint64_t monitor) {
        live->sample(stream, 0, occupancy(sequence++, monitor, 100 + monitor));
    };
    for (uint64_t monitor : {0, 1, 2})
        read(monitor);
    live->next_interval();
    EXPECT_EQ(live->rows(Span::kNow, 0).size(), 3U);  // this interval has no reading yet
    read(0);
    EXPECT_EQ(live->rows(Span::kNow, 0).size(), 3U);  // the second pass is not complete
    read(2);
    read(0);
    const std::vector<LiveRow> now = live->rows(Span::kNow, 0);
    ASSERT_EQ(now.size(), 2U);
    EXPECT_EQ(now[0].id, 2U);
    EXPECT_EQ(now[1].id, 0U);
    EXPECT_EQ(live->rows(Span::kAll, 0).size(), 3U);
    read(1);
    EXPECT_EQ(live->rows(Span::kNow, 0).size(), 3U);
}

// The same reading of another event.
std::vector<std::byte> of_event(std::vector<std::byte> reading, uint64_t event)
{
    std::byte *what = reading.data() + 8 * PMUKIT_CACHE_QOS_R_WHAT;
    constexpr uint64_t kMask = uint64_t{0xff} << PMUKIT_CACHE_QOS_WHAT_EVENT_SHIFT;
    store_le(what, (load_le<uint64_t>(what) & ~kMask) | event << PMUKIT_CACHE_QOS_WHAT_EVENT_SHIFT);
    return reading;
}

TEST(LiveCacheQos, OccupancyAndTrafficAreRankedSeparatelyWithTheirOwnLimit)
{
    const std::unique_ptr<LiveDriver> live = make_cache_qos_live(no_name);
    uint64_t sequence = 0;
    for (const uint64_t growth : {0, 1})
        for (const uint64_t monitor : {1, 2, 3}) {
            live->sample({}, 0, occupancy(sequence++, monitor, monitor * 10));
            live->sample({}, 0,
                         of_event(occupancy(sequence++, monitor, 1000 + growth * (400 - monitor)),
                                  PMUKIT_CACHE_QOS_EVENT_TOTAL));
        }
    using Rows = std::vector<std::tuple<size_t, uint64_t, uint64_t>>;
    const auto rows = [&](size_t most) {
        Rows found;
        for (const LiveRow &row : live->rows(Span::kAll, most))
            found.emplace_back(row.list, row.id, row.value);
        return found;
    };
    EXPECT_EQ(rows(0),
              (Rows{{0, 3, 30}, {0, 2, 20}, {0, 1, 10}, {1, 1, 399}, {1, 2, 398}, {1, 3, 397}}));
    EXPECT_EQ(rows(2), (Rows{{0, 3, 30}, {0, 2, 20}, {1, 1, 399}, {1, 2, 398}}));
    ASSERT_EQ(live->view().lists.size(), 2U);
    EXPECT_EQ(live->view().lists[0].now, "last bytes");
    EXPECT_EQ(live->view().lists[0].all, "most bytes");
    EXPECT_EQ(live->view().lists[1].all, "bytes moved");
}

// Changes the status of a reading.
std::vector<std::byte> with_status(std::vector<std::byte> reading, uint64_t status)
{
    store_le(reading.data() + 8 * PMUKIT_CACHE_QOS_R_STATE,
             status << PMUKIT_CACHE_QOS_STATE_STATUS_SHIFT);
    return reading;
}

TEST(LiveCacheQos, ReadingWithoutAValueKeepsTheLastValueAndMakesNoRow)
{
    const std::unique_ptr<LiveDriver> live = make_cache_qos_live(no_name);
    const Stream stream{};
    live->sample(stream, 0, occupancy(0, 7, 500));
    for (const uint64_t status : {PMUKIT_CACHE_QOS_S_UNAVAILABLE, PMUKIT_CACHE_QOS_S_ERROR}) {
        live->sample(stream, 0, with_status(occupancy(status, 7, 0), status));
        live->sample(stream, 0, with_status(occupancy(status + 1, 8, 0), status));
    }
    const std::vector<LiveRow> rows = live->rows(Span::kNow, 0);
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_EQ(rows[0].value, 500U);
}

// A record with the whole name of a group.
std::vector<std::byte> name_of_group(uint64_t sequence, uint64_t monitor, uint64_t life,
                                     std::string_view text)
{
    std::vector<std::byte> record(PMUKIT_CACHE_QOS_RECORD_BYTES);
    const uint64_t words[] = {
        PMUKIT_CACHE_QOS_NAME_MARK, sequence,
        monitor | uint64_t{PMUKIT_CACHE_QOS_KIND_GROUP} << PMUKIT_CACHE_QOS_WHAT_KIND_SHIFT,
        /* id */ 1234, life | uint64_t{1} << PMUKIT_CACHE_QOS_LIFE_PARTS_SHIFT};
    for (size_t i = 0; i < std::size(words); i++)
        store_le(record.data() + 8 * i, words[i]);
    for (size_t i = 0; i < text.size(); i++)
        record[8 * PMUKIT_CACHE_QOS_N_TEXT + i] = static_cast<std::byte>(text[i]);
    return record;
}

TEST(LiveCacheQos, R67_RowShowsTheNameAndRestartsItsMaximumIfTheMonitorNumberIsReused)
{
    const std::unique_ptr<LiveDriver> live = make_cache_qos_live(no_name);
    const Stream stream{};
    const auto row = [&] { return live->rows(Span::kAll, 0).at(0); };
    live->sample(stream, 0, occupancy(0, 7, 500));
    EXPECT_EQ(row().name, "group 7, 0, llc_occupancy");
    live->sample(stream, 0, name_of_group(1, 7, 1, "/a"));
    live->sample(stream, 0, occupancy(2, 7, 100));
    EXPECT_EQ(row().name, "group 7 /a, 0, llc_occupancy");
    EXPECT_EQ(row().value, 500U);  // the maximum of group /a
    live->sample(stream, 0, name_of_group(3, 7, 2, "/b"));
    live->sample(stream, 0, occupancy(4, 7, 200));
    EXPECT_EQ(row().name, "group 7 /b, 0, llc_occupancy");
    EXPECT_EQ(row().value, 200U);
}

TEST(LiveCacheQos, IntervalOmitsMonitorsThatANameOfTheNextLifeEnds)
{
    const std::unique_ptr<LiveDriver> live = make_cache_qos_live(no_name);
    const Stream stream{};
    live->sample(stream, 0, name_of_group(0, 7, 1, "/a"));
    live->sample(stream, 0, occupancy(1, 7, 100));
    EXPECT_EQ(live->rows(Span::kNow, 0).size(), 1U);
    live->sample(stream, 0, name_of_group(2, 7, 2, ""));
    EXPECT_TRUE(live->rows(Span::kNow, 0).empty());
    EXPECT_EQ(live->rows(Span::kAll, 0).size(), 1U);
}

std::vector<std::byte> header_of(uint64_t sequence, uint64_t backend)
{
    std::vector<std::byte> header(PMUKIT_CACHE_QOS_RECORD_BYTES);
    store_le(header.data(), uint64_t{PMUKIT_CACHE_QOS_MARK});
    store_le(header.data() + 8 * PMUKIT_CACHE_QOS_H_SEQUENCE, sequence);
    store_le(header.data() + 8 * PMUKIT_CACHE_QOS_H_FORMAT,
             uint64_t{PMUKIT_CACHE_QOS_VERSION} |
                 uint64_t{PMUKIT_CACHE_QOS_RECORD_BYTES} << PMUKIT_CACHE_QOS_FORMAT_BYTES_SHIFT |
                 backend << PMUKIT_CACHE_QOS_FORMAT_BACKEND_SHIFT);
    return header;
}

TEST(LiveCacheQos, FailedReadsRemovedGroupsAndAnUnmountAreLosses)
{
    for (const uint64_t backend :
         {PMUKIT_CACHE_QOS_BACKEND_RESCTRL, PMUKIT_CACHE_QOS_BACKEND_MSR}) {
        const std::unique_ptr<LiveDriver> live = make_cache_qos_live(no_name);
        const bool of_resctrl = backend == PMUKIT_CACHE_QOS_BACKEND_RESCTRL;
        for (const std::vector<std::byte> &record :
             {header_of(0, backend), name_of_group(1, 7, 1, "/a"), name_of_group(2, 8, 1, "/"),
              with_status(occupancy(3, 7, 0), PMUKIT_CACHE_QOS_S_ERROR),
              with_status(occupancy(4, 8, 0), PMUKIT_CACHE_QOS_S_UNAVAILABLE),
              name_of_group(5, 7, 2, "")})
            live->sample(Stream{}, 0, record);
        EXPECT_EQ(count_of(*live, "the read failed"), 1U);
        EXPECT_EQ(count_of(*live, "groups of resctrl were removed"), of_resctrl ? 1U : 0U);
        EXPECT_EQ(count_of(*live, "unmounted"), 0U);
        live->sample(Stream{}, 0, name_of_group(6, 8, 2, ""));
        EXPECT_EQ(count_of(*live, "groups of resctrl were removed"), of_resctrl ? 1U : 0U);
        EXPECT_EQ(count_of(*live, "unmounted"), of_resctrl ? 1U : 0U);
    }
}

TEST(LiveCacheQos, NoteSaysWhatResctrlAsASourceMeans)
{
    const std::unique_ptr<LiveDriver> live = make_cache_qos_live(no_name);
    live->sample(Stream{}, 0, header_of(0, PMUKIT_CACHE_QOS_BACKEND_MSR));
    EXPECT_EQ(live->note(), "");
    live->sample(Stream{}, 0, header_of(1, PMUKIT_CACHE_QOS_BACKEND_RESCTRL));
    EXPECT_TRUE(live->note().starts_with("source resctrl: counted by group"));
}

}  // namespace
}  // namespace pmukit::cli
