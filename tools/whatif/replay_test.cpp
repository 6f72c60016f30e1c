// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Compares replays with logs whose results were computed by hand, with a simulation that has only
// maps and sorted lists, and with the model of a whole device.
#include "whatif/replay.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <random>
#include <set>
#include <string>

#include "base/text.hpp"
#include "models/cxl_hmu/instance.hpp"
#include "models/fake_machine.hpp"

namespace pmukit::whatif {
namespace {

namespace hmu = models::cxl_hmu;
using hmu::Request;

std::vector<Combination> combinations(const std::map<std::string, std::string> &values,
                                      Input input = kLog)
{
    std::vector<std::string> texts;
    for (const Dimension &dimension : dimensions()) {
        const auto value = values.find(dimension.name);
        texts.push_back(value == values.end() ? "" : value->second);
    }
    Result<std::vector<Combination>> made = combinations_of(texts, input, false);
    EXPECT_TRUE(made) << (made ? "" : made.error().message);
    return made ? *made : std::vector<Combination>();
}

std::vector<Request> requests(const std::vector<uint64_t> &dpas)
{
    std::vector<Request> all;
    for (const uint64_t dpa : dpas)
        all.push_back({.dpa = dpa, .write = false, .tee = false});
    return all;
}

// Replays a log in pieces of different sizes.
std::vector<Outcome> replay(const std::vector<Combination> &all, const Common &common,
                            const std::vector<uint64_t> &dpas)
{
    Result<std::unique_ptr<LogReplay>> made = LogReplay::create(all, common);
    EXPECT_TRUE(made) << (made ? "" : made.error().message);
    if (!made)
        return {};
    const std::vector<Request> accesses = requests(dpas);
    size_t at = 0;
    for (size_t piece = 1; at < accesses.size(); piece = piece * 3 % 101) {
        const size_t now = std::min(piece, accesses.size() - at);
        EXPECT_TRUE((*made)->feed(std::span(accesses).subspan(at, now)));
        at += now;
    }
    EXPECT_TRUE((*made)->finish());
    EXPECT_EQ((*made)->accesses(), dpas.size());
    return (*made)->outcomes();
}

std::vector<uint64_t> pages(std::initializer_list<uint64_t> numbers)
{
    std::vector<uint64_t> dpas;
    for (const uint64_t number : numbers)
        dpas.push_back(number * 4096 + 64);
    return dpas;
}

// By hand

// Epochs of 6 accesses, threshold 2, the fast memory has one page.
//   epoch 0: A A A B B C    list A 3, B 2                   A is promoted
//   epoch 1: A B B B C C    the unit sees B 3, C 2          A was accessed: nothing moves
//   epoch 2: B B B C C C    B 3, C 3                        A was idle: B replaces it
//   epoch 3: B B C C A A    the last epoch: nothing moves behind it
// Slow: 6, 5, 6, 4. A had 1 access on the fast node, B 2: with a cost of 2, A's stay is useless.
TEST(LogReplay, GivesWhatWasComputedByHand)
{
    const std::vector<Combination> all =
        combinations({{"epoch", "6"}, {"threshold", "2"}, {"fast", "1"}});
    const std::vector<Outcome> outcomes =
        replay(all, {.hot_units = 1, .move_cost = 2},
               pages({0, 0, 0, 1, 1, 2, 0, 1, 1, 1, 2, 2, 1, 1, 1, 2, 2, 2, 1, 1, 2, 2, 0, 0}));
    ASSERT_EQ(outcomes.size(), 1u);
    const PlacementTotals &placement = outcomes[0].placement;
    EXPECT_EQ(placement.slow, 21u);
    EXPECT_EQ(placement.fast, 3u);
    EXPECT_EQ(placement.promotions, 2u);
    EXPECT_EQ(placement.demotions, 1u);
    EXPECT_EQ(placement.useless, 2u);
    // B has the most accesses of the log: 2 + 3 + 3 + 2 of 24.
    EXPECT_EQ(outcomes[0].slow_static, 14u);
    // If nothing moves, the unit sees every access. Hot is one unit of each epoch: A, B; B or C;
    // A, B or C. The lists are A B, B C, B C, A B C.
    ASSERT_TRUE(outcomes[0].accuracy);
    const AccuracyTotals &accuracy = *outcomes[0].accuracy;
    EXPECT_EQ(accuracy.epochs, 4u);
    EXPECT_EQ(accuracy.hot, 4u);
    EXPECT_EQ(accuracy.found, 4u);
    EXPECT_EQ(accuracy.listed, 9u);
    EXPECT_EQ(accuracy.listed_right, 7u);
}

TEST(LogReplay, MissesUnitsThatHaveNoCounter)
{
    // One counter, which the first unit has: the second one is hotter, and never counted.
    const std::vector<Combination> all = combinations({{"epoch", "5"},
                                                       {"threshold", "1"},
                                                       {"counters", "1"},
                                                       {"replacement", "none"},
                                                       {"fast", "1"}});
    const std::vector<Outcome> outcomes =
        replay(all, {.hot_units = 1}, pages({0, 1, 1, 1, 1, 0, 1, 1, 1, 1}));
    EXPECT_EQ(outcomes[0].accuracy->found, 0u);
    EXPECT_EQ(outcomes[0].accuracy->hot, 2u);
    EXPECT_EQ(outcomes[0].accuracy->listed, 2u);
    EXPECT_EQ(outcomes[0].placement.slow, 9u) << "page 0 is on the fast node in the second epoch";
}

TEST(LogReplay, CountsEntriesThatDoNotFitIntoTheList)
{
    std::vector<uint64_t> dpas;
    for (uint64_t page = 0; page < 200; page++)
        dpas.push_back(page * 4096);
    const std::vector<Outcome> outcomes = replay(
        combinations({{"epoch", "100"}, {"threshold", "1"}, {"hot-list", "64"}, {"fast", "1"}}), {},
        dpas);
    EXPECT_EQ(outcomes[0].accuracy->dropped, 2 * (100u - 63));
    EXPECT_EQ(outcomes[0].accuracy->listed, 2 * 63u);
}

TEST(LogReplay, MovesALargeUnitAsAWhole)
{
    // Units of 16 KiB are 4 pages. The fast memory of 7 pages has room for one unit.
    const std::vector<Outcome> outcomes = replay(
        combinations({{"epoch", "2"}, {"threshold", "1"}, {"unit-bytes", "16K"}, {"fast", "7"}}),
        {}, pages({0, 1, 2, 3, 8}));
    EXPECT_EQ(outcomes[0].fast_bytes, 16384u);
    EXPECT_EQ(outcomes[0].placement.promotions, 4u);
    EXPECT_EQ(outcomes[0].placement.fast, 2u);
}

TEST(LogReplay, TakesAPercentageOfThePages)
{
    const std::vector<Outcome> outcomes =
        replay(combinations({{"epoch", "1"}, {"fast", "10%,50%"}}), {.pages = 40}, pages({0, 1}));
    EXPECT_EQ(outcomes[0].fast_bytes, 4 * 4096u);
    EXPECT_EQ(outcomes[1].fast_bytes, 20 * 4096u);
}

TEST(LogReplay, RefusesWhatCannotBeReplayed)
{
    const auto refusal = [](const std::vector<Combination> &all) {
        const auto made = LogReplay::create(all, {.pages = 3, .memory_bytes = 2 << 20});
        return made ? "" : made.error().message;
    };
    EXPECT_EQ(refusal(combinations({{"fast", "20%"}})),
              "--fast 20%: smaller than one unit of 4096 bytes");
    EXPECT_EQ(refusal(combinations({{"fast", "511"}, {"unit-bytes", "2M"}})),
              "--fast 511: smaller than one unit of 2097152 bytes");
    EXPECT_EQ(refusal(combinations({{"fast", "1"}, {"counters", "65536"}})),
              "--counters 65536: the limit of 2 MiB is reached; give fewer counters or fewer "
              "combinations");

    auto made = LogReplay::create(combinations({{"fast", "1"}, {"epoch", "3"}}), {});
    ASSERT_TRUE(made);
    EXPECT_FALSE((*made)->feed(requests({uint64_t{1} << 52})));
    EXPECT_TRUE((*made)->feed(requests({(uint64_t{1} << 52) - 1, 0})));
    const Result<void> finished = (*made)->finish();
    ASSERT_FALSE(finished);
    EXPECT_EQ(finished.error().message,
              "--epoch 3: the log has only 2 accesses, and no epoch ends");
}

TEST(LogReplay, EndsWithAnErrorWhenTheMemoryIsUsedUp)
{
    auto made = LogReplay::create(combinations({{"fast", "1"}}), {.memory_bytes = 2 << 20});
    ASSERT_TRUE(made);
    std::vector<Request> piece(64);
    uint64_t page = 0;
    for (;;) {
        for (Request &access : piece)
            access.dpa = page++ * 4096;
        if (const Result<void> fed = (*made)->feed(piece); !fed) {
            EXPECT_NE(fed.error().message.find("the limit of 2 MiB is reached"), std::string::npos);
            break;
        }
        ASSERT_LT(page, 100'000u);
    }
    EXPECT_GT(page, 10'000u);
}

// With maps

// Replays with exact counts: as a unit with a counter for every unit of memory does.
class Simulation {
public:
    Simulation(uint64_t unit_bytes, uint64_t page_bytes, uint64_t epoch, uint64_t threshold,
               uint64_t capacity, const Common &common)
        : unit_(unit_bytes),
          page_(std::max(unit_bytes, page_bytes)),
          epoch_(epoch),
          threshold_(threshold),
          capacity_(capacity),
          common_(common),
          cost_(common.move_cost * (page_ / page_bytes))
    {
    }

    void run(const std::vector<uint64_t> &dpas)
    {
        for (size_t i = 0; i < dpas.size(); i++) {
            if (i % epoch_ == 0 && i != 0)
                end_epoch();
            access(dpas[i]);
        }
        if (dpas.size() % epoch_ == 0)
            compare();
        for (const auto &[page, accesses] : stay_)
            totals.useless += accesses < cost_;
    }

    PlacementTotals totals;
    AccuracyTotals accuracy;

private:
    void access(uint64_t dpa)
    {
        const uint64_t page = dpa / page_;
        order_.try_emplace(page, order_.size());
        all_[dpa / unit_]++;
        if (!stay_.contains(page)) {
            totals.slow++;
            seen_[dpa / unit_]++;
            return;
        }
        totals.fast++;
        stay_[page]++;
        if (used_.insert(page).second) {
            std::erase(coldest_, page);
            coldest_.push_back(page);
        }
    }
    void compare()
    {
        std::vector<uint64_t> counts;
        for (const auto &[unit, count] : all_)
            counts.push_back(count);
        std::ranges::sort(counts, std::greater<>());
        counts.resize(std::min<size_t>(counts.size(), common_.hot_units));
        uint64_t right = 0;
        for (const auto &[unit, count] : all_) {
            accuracy.listed += count >= threshold_;
            right += count >= threshold_ && count >= counts.back();
        }
        accuracy.epochs++;
        accuracy.hot += counts.size();
        accuracy.listed_right += right;
        accuracy.found += std::min<uint64_t>(right, counts.size());
        all_.clear();
    }
    void end_epoch()
    {
        compare();
        std::map<uint64_t, uint64_t> heat;
        for (const auto &[unit, count] : seen_)
            if (count >= threshold_)
                heat[unit * unit_ / page_] += count;
        std::vector<uint64_t> hot;
        for (const auto &[page, sum] : heat)
            hot.push_back(page);
        std::ranges::sort(hot, [&](uint64_t a, uint64_t b) {
            return heat[a] != heat[b] ? heat[a] > heat[b] : order_[a] < order_[b];
        });
        std::vector<uint64_t> promoted;
        for (const uint64_t page : hot) {
            if (stay_.size() + promoted.size() == capacity_) {
                if (coldest_.empty() || used_.contains(coldest_.front()))
                    break;
                totals.demotions++;
                totals.useless += stay_[coldest_.front()] < cost_ ? 2 : 0;
                stay_.erase(coldest_.front());
                coldest_.erase(coldest_.begin());
            }
            promoted.push_back(page);
        }
        for (const uint64_t page : promoted) {
            totals.promotions++;
            stay_[page] = 0;
            coldest_.push_back(page);
        }
        used_.clear();
        seen_.clear();
    }

    uint64_t unit_, page_, epoch_, threshold_, capacity_;
    Common common_;
    uint64_t cost_;
    std::map<uint64_t, uint64_t> order_;       // of the first access to a page
    std::map<uint64_t, uint64_t> all_, seen_;  // accesses to units in the epoch
    std::map<uint64_t, uint64_t> stay_;        // accesses of the pages of the fast node
    std::vector<uint64_t> coldest_;
    std::set<uint64_t> used_;  // pages of the fast node that were accessed in the epoch
};

// A hot set of a few pages that moves, and accesses to the rest.
std::vector<uint64_t> moving_log(uint32_t seed, size_t accesses, uint64_t bytes)
{
    std::mt19937_64 random(seed);
    std::vector<uint64_t> dpas;
    for (size_t i = 0; i < accesses; i++) {
        const uint64_t hot = (i / 400 * 5 + random() % 5) * 4096 + random() % 4096;
        dpas.push_back((random() % 4 ? hot : random()) % bytes / 64 * 64);
    }
    return dpas;
}

TEST(LogReplay, AgreesWithASimulationOfMaps)
{
    constexpr uint64_t kBytes = 256 * 4096;
    struct Case {
        uint64_t unit, page, epoch, threshold, capacity;
        const char *fast;
    };
    const Case cases[] = {{4096, 4096, 100, 3, 8, "8"},    {4096, 4096, 350, 10, 3, "3"},
                          {1024, 4096, 100, 2, 8, "8"},    {16384, 4096, 100, 3, 2, "8"},
                          {4096, 4096, 1, 1, 2, "2"},      {65536, 65536, 64, 16, 3, "3"},
                          {4096, 4096, 1500, 16, 20, "20"}};
    for (const Case &c : cases)
        for (uint32_t seed = 1; seed <= 2; seed++) {
            const std::vector<uint64_t> dpas = moving_log(seed, 2999 + seed, kBytes);
            const Common common{.page_log2 = static_cast<unsigned>(std::countr_zero(c.page)),
                                .hot_units = 5,
                                .move_cost = 7,
                                .pages = 0};
            Simulation simulation(c.unit, c.page, c.epoch, c.threshold, c.capacity, common);
            simulation.run(dpas);
            const Outcome outcome = replay(combinations({{"unit-bytes", std::to_string(c.unit)},
                                                         {"counters", "1024"},
                                                         {"ways", "1024"},
                                                         {"hot-list", "2000"},
                                                         {"epoch", std::to_string(c.epoch)},
                                                         {"threshold", std::to_string(c.threshold)},
                                                         {"fast", c.fast}}),
                                           common, dpas)
                                        .front();
            const uint64_t moves = c.unit > c.page ? c.unit / c.page : 1;
            SCOPED_TRACE(testing::Message() << "unit " << c.unit << " epoch " << c.epoch);
            EXPECT_EQ(outcome.placement.slow, simulation.totals.slow);
            EXPECT_EQ(outcome.placement.fast, simulation.totals.fast);
            EXPECT_EQ(outcome.placement.promotions, simulation.totals.promotions * moves);
            EXPECT_EQ(outcome.placement.demotions, simulation.totals.demotions * moves);
            EXPECT_EQ(outcome.placement.useless, simulation.totals.useless * moves);
            EXPECT_EQ(outcome.accuracy->epochs, simulation.accuracy.epochs);
            EXPECT_EQ(outcome.accuracy->hot, simulation.accuracy.hot);
            EXPECT_EQ(outcome.accuracy->found, simulation.accuracy.found);
            EXPECT_EQ(outcome.accuracy->listed, simulation.accuracy.listed);
            EXPECT_EQ(outcome.accuracy->listed_right, simulation.accuracy.listed_right);
            EXPECT_EQ(outcome.accuracy->dropped, 0u);
        }
}

// Combinations that are replayed at once share what they have in common, and nothing else.
TEST(LogReplay, CombinationsDoNotChangeEachOther)
{
    const std::vector<uint64_t> dpas = moving_log(9, 20'000, 512 * 4096);
    const Common common{.hot_units = 8, .move_cost = 4, .pages = 512};
    const std::vector<Combination> all =
        combinations({{"unit-bytes", "1024,16384"},
                      {"counters", "16,256"},
                      {"mode", "epoch,always-on"},
                      {"downsampling", "1,4"},
                      {"epoch", "500,1000"},
                      {"threshold", "4"},
                      {"fast", "5%,20%"},
                      {"policy", "hottest-first,cost-benefit,hysteresis"}});
    ASSERT_EQ(all.size(), 192u);
    const std::vector<Outcome> together = replay(all, common, dpas);
    for (size_t i = 0; i < all.size(); i += 7) {
        const Outcome alone = replay({all[i]}, common, dpas).front();
        EXPECT_EQ(together[i].placement.slow, alone.placement.slow) << i;
        EXPECT_EQ(together[i].placement.promotions, alone.placement.promotions) << i;
        EXPECT_EQ(together[i].placement.useless, alone.placement.useless) << i;
        EXPECT_EQ(together[i].accuracy->found, alone.accuracy->found) << i;
        EXPECT_EQ(together[i].accuracy->listed, alone.accuracy->listed) << i;
        EXPECT_EQ(together[i].slow_static, alone.slow_static) << i;
    }
}

// With the model

// The hot lists of a replay are those that software reads from the device of tools/models, which is
// programmed through its registers and whose epochs end by its clock.
std::vector<std::map<uint64_t, uint64_t>> lists_of_device(const ChmuSetup &setup,
                                                          const std::vector<uint64_t> &dpas)
{
    constexpr hmu::EpochLength kEpoch{4, 1};
    hmu::InstanceParams params;
    params.counters = setup.counters;
    params.hot_list_entries = setup.hot_list_entries;
    models::FakeMachine host;
    hmu::Instance unit(params, "chmu0.0", 0, host);
    unit.write(params.bitmap_offset(), 8, 1);
    unit.write(
        hmu::kConfig1, 8,
        hmu::kConfig1UnitSize.put(setup.tracker.unit_log2) |
            hmu::kConfig1Downsampling.put(setup.tracker.downsampling_log2) |
            hmu::kConfig1Mode.put(setup.tracker.always_on ? hmu::kModeAlwaysOn : hmu::kModeEpoch) |
            hmu::kConfig1EpochScale.put(kEpoch.scale) | hmu::kConfig1EpochValue.put(kEpoch.value));
    unit.write(hmu::kConfig0, 8,
               hmu::kConfig0Requests.put(3) | hmu::kConfig0Enable.put(1) |
                   hmu::kConfig0Randomized.put(setup.tracker.randomized) |
                   hmu::kConfig0Threshold.put(setup.tracker.threshold));
    host.now += params.operation_ns;
    unit.advance(host.now);
    const uint64_t width = hmu::kStatusCounterWidth.get(unit.read(hmu::kStatus, 8));
    std::vector<std::map<uint64_t, uint64_t>> lists;
    for (size_t i = 1; i <= dpas.size(); i++) {
        unit.request({dpas[i - 1], false, false});
        if (i % setup.epoch != 0)
            continue;
        host.now += kEpoch.ns();
        unit.advance(host.now);
        uint64_t head = unit.read(hmu::kHead, 2);
        auto &list = lists.emplace_back();
        for (; head != unit.read(hmu::kTail, 2); head = (head + 1) % params.hot_list_entries) {
            const uint64_t entry = unit.read(params.hot_list_offset() + head * 8, 8);
            list[entry >> width] += (entry & ((uint64_t{1} << width) - 1))
                                    << setup.tracker.downsampling_log2;
        }
        unit.write(hmu::kHead, 2, head);
    }
    return lists;
}

TEST(Chmu, MakesTheListsOfTheDevice)
{
    const std::vector<uint64_t> dpas = moving_log(3, 10'000, 4096 * 4096);
    for (const char *mode : {"epoch", "always-on"})
        for (Combination combination : combinations({{"unit-bytes", "1024,4096,65536"},
                                                     {"counters", "16,64,1024"},
                                                     {"replacement", "credit,none,least"},
                                                     {"hot-list", "64"},
                                                     {"downsampling", "1,8"},
                                                     {"epoch", "1000"},
                                                     {"threshold", "1,5"},
                                                     {"mode", mode}})) {
            combination.chmu.tracker.randomized = combination.chmu.counters.number == 64;
            Chmu chmu(combination.chmu);
            std::vector<std::map<uint64_t, uint64_t>> lists;
            for (size_t i = 1; i <= dpas.size(); i++) {
                chmu.access(dpas[i - 1]);
                if (i % combination.chmu.epoch != 0)
                    continue;
                auto &list = lists.emplace_back();
                for (const Chmu::Entry &entry : chmu.end_epoch())
                    list[entry.unit] += entry.heat;
            }
            EXPECT_EQ(lists, lists_of_device(combination.chmu, dpas))
                << joined(combination.words, " ");
        }
}

// Recordings

constexpr uint64_t kMs = 1'000'000;

// Intervals of 10 ms, one fast page. Interval 0: page 0 with 9, page 1 with 5: page 0 is promoted.
// Interval 1: page 0 with 3 (fast), page 1 with 5. Page 0 was accessed and stays. Interval 2: page
// 1 with 5 replaces page 0, which is idle. Interval 7: page 1 has 2 (fast).
TEST(RecordingReplay, GivesWhatWasComputedByHand)
{
    auto made = RecordingReplay::create(
        combinations({{"interval-ms", "10"}, {"fast", "1"}}, kRecording), {.move_cost = 4}, 12);
    ASSERT_TRUE(made);
    const auto add = [&](uint64_t page, uint64_t ms, uint64_t accesses) {
        EXPECT_TRUE((*made)->add(page * 4096, 1000 * kMs + ms * kMs, accesses));
    };
    add(0, 0, 9);
    add(1, 3, 5);
    add(0, 11, 3);
    add(1, 19, 5);
    add(1, 15, 0);  // earlier than the unit before: the same interval
    add(1, 20, 5);
    add(1, 75, 2);
    (*made)->finish();
    const Outcome outcome = (*made)->outcomes().front();
    EXPECT_FALSE(outcome.accuracy);
    EXPECT_EQ(outcome.placement.slow, 9u + 5 + 5 + 5);
    EXPECT_EQ(outcome.placement.fast, 3u + 2);
    EXPECT_EQ(outcome.placement.promotions, 2u);
    EXPECT_EQ(outcome.placement.demotions, 1u);
    EXPECT_EQ(outcome.placement.useless, 3u) << "both stays have less than 4 accesses";
    EXPECT_EQ(outcome.slow_static, 12u);
}

TEST(RecordingReplay, PassesALongTimeWithoutUnitsAtOnce)
{
    auto made = RecordingReplay::create(
        combinations({{"interval-ms", "1"}, {"fast", "1"}}, kRecording), {}, 12);
    ASSERT_TRUE(made);
    EXPECT_TRUE((*made)->add(0, 0, 9));
    EXPECT_TRUE((*made)->add(4096, UINT64_MAX, 9));
    (*made)->finish();
    EXPECT_EQ((*made)->outcomes().front().placement.promotions, 1u);
}

}  // namespace
}  // namespace pmukit::whatif
