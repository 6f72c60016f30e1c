// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "whatif/combinations.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "base/escape.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "models/cxl_hmu/cxl_hmu_regs.hpp"

namespace pmukit::whatif {
namespace {

using models::cxl_hmu::Replacement;

constexpr uint64_t kMaxCounters = uint64_t{1} << 20;
constexpr uint64_t kMaxWays = 1024;
// With more bits, the id of a unit at 4 PiB would not fit into an entry of 64 bits.
constexpr uint64_t kMaxCounterWidth_4k = 24;
constexpr uint64_t kMaxDownsampling = 32768;
constexpr uint64_t kMaxHotList = 65535;
constexpr uint64_t kMaxInterval_ms = 3'600'000;

Error wrong(std::string_view name, std::string_view word, std::string_view why)
{
    return Error{Errc::kUsage, fmt::format("--{} {}: {}", name, escape(word), why)};
}

Result<uint64_t> number(std::string_view name, std::string_view word, uint64_t least, uint64_t most)
{
    const Result<uint64_t> value = parse_u64(word);
    if (!value || *value < least || *value > most)
        return wrong(name, word, fmt::format("must be a number from {} to {}", least, most));
    return value;
}

// Sets a member to a number within limits.
template <typename To>
Result<void> put(To &to, std::string_view name, std::string_view word, uint64_t least,
                 uint64_t most)
{
    const Result<uint64_t> value = number(name, word, least, most);
    if (!value)
        return value.error();
    to = static_cast<To>(*value);
    return {};
}

template <typename To>
struct Word {
    std::string_view name;
    To value;
};
constexpr Word<Replacement> kReplacements[] = {
    {"credit", Replacement::kCredit}, {"none", Replacement::kNone}, {"least", Replacement::kLeast}};
constexpr Word<bool> kModes[] = {{"epoch", false}, {"always-on", true}};

template <typename To, size_t N>
Result<void> put_word(To &to, const Word<To> (&words)[N], std::string_view name,
                      std::string_view word)
{
    std::vector<std::string> known;
    for (const Word<To> &each : words) {
        known.emplace_back(each.name);
        if (each.name != word)
            continue;
        to = each.value;
        return {};
    }
    return wrong(name, word, "must be one of " + joined(known, ", "));
}

Result<void> set_unit(Combination &combination, std::string_view word)
{
    const Result<unsigned> log2 =
        parse_size_log2("unit-bytes", word, uint64_t{1} << models::cxl_hmu::kMinUnitLog2,
                        uint64_t{1} << models::cxl_hmu::kMaxUnitLog2);
    if (!log2)
        return log2.error();
    combination.chmu.tracker.unit_log2 = *log2;
    return {};
}

Result<void> set_downsampling(Combination &combination, std::string_view word)
{
    const Result<unsigned> log2 = parse_size_log2("downsampling", word, 1, kMaxDownsampling);
    if (!log2)
        return log2.error();
    combination.chmu.tracker.downsampling_log2 = *log2;
    return {};
}

Result<void> set_policy(Combination &combination, std::string_view word)
{
    combination.policy = tier::policy_of_name(word);
    if (combination.policy)
        return {};
    std::vector<std::string> known;
    for (const tier::PolicyKind &kind : tier::policies())
        known.emplace_back(kind.name);
    return wrong("policy", word, "must be one of " + joined(known, ", "));
}

Result<void> set_fast(Combination &combination, std::string_view word)
{
    const Result<tier::Budget> budget = tier::parse_budget(word);
    if (!budget || budget->value == 0)
        return wrong("fast", word, "must be a number of pages, or a percentage such as 20%");
    combination.fast = *budget;
    return {};
}

constexpr Dimension kDimensions[] = {
    {"unit-bytes", "4096", "unit of memory that a counter counts, a power of two: 256 to 2G", kLog,
     set_unit},
    {"counters", "1024", "counters of the unit", kLog,
     [](Combination &combination, std::string_view word) {
         return put(combination.chmu.counters.number, "counters", word, 1, kMaxCounters);
     }},
    {"ways", "16", "counters that a unit of memory can have; 1: direct mapped", kLog,
     [](Combination &combination, std::string_view word) {
         return put(combination.chmu.counters.ways, "ways", word, 1, kMaxWays);
     }},
    {"replacement", "credit", "replacement when no counter is free: credit, none, least", kLog,
     [](Combination &combination, std::string_view word) {
         return put_word(combination.chmu.counters.replacement, kReplacements, "replacement", word);
     }},
    {"counter-width", "16", "bits of a counter at units of 4 KiB, one more for each doubling", kLog,
     [](Combination &combination, std::string_view word) {
         return put(combination.chmu.tracker.counter_width, "counter-width", word, 1,
                    kMaxCounterWidth_4k);
     }},
    {"hot-list", "1024", "entries of the hot list, which is read at the end of each epoch", kLog,
     [](Combination &combination, std::string_view word) {
         return put(combination.chmu.hot_list_entries, "hot-list", word,
                    models::cxl_hmu::kMinHotList, kMaxHotList);
     }},
    {"mode", "epoch", "epoch: report at the end of the epoch; always-on: at the threshold", kLog,
     [](Combination &combination, std::string_view word) {
         return put_word(combination.chmu.tracker.always_on, kModes, "mode", word);
     }},
    {"downsampling", "1", "count one of so many accesses, a power of two: 1 to 32768", kLog,
     set_downsampling},
    {"epoch", "10000", "accesses of an epoch; a log has no times", kLog,
     [](Combination &combination, std::string_view word) {
         return put(combination.chmu.epoch, "epoch", word, 1, UINT32_MAX);
     }},
    {"threshold", "16", "count at which a unit is hot", kLog,
     [](Combination &combination, std::string_view word) {
         return put(combination.chmu.tracker.threshold, "threshold", word, 1, UINT32_MAX);
     }},
    {"interval-ms", "100", "recordings: time after which the policy is asked", kRecording,
     [](Combination &combination, std::string_view word) {
         return put(combination.interval_ms, "interval-ms", word, 1, kMaxInterval_ms);
     }},
    {"fast", "20%", "size of the fast memory: PAGES, or PERCENT% of the accessed pages",
     kLog | kRecording, set_fast},
    {"policy", "hottest-first", "placement policy: hottest-first, cost-benefit, hysteresis",
     kLog | kRecording, set_policy},
};

// Checks values that are valid alone, but maybe not together. The counter width becomes that at the
// unit size.
Result<void> check(Combination &combination)
{
    ChmuSetup &chmu = combination.chmu;
    const unsigned counters = chmu.counters.number, ways = chmu.counters.ways;
    if (counters > ways && counters % ways != 0)
        return Error{Errc::kUsage,
                     fmt::format("--counters {}: not a multiple of --ways {}", counters, ways)};
    chmu.tracker.counter_width =
        models::cxl_hmu::counter_width_of(chmu.tracker.counter_width, chmu.tracker.unit_log2);
    if (uint64_t{chmu.tracker.threshold} >> chmu.tracker.counter_width != 0)
        return Error{Errc::kUsage,
                     fmt::format("--threshold {}: does not fit a counter of {} bits; see "
                                 "--counter-width and --unit-bytes",
                                 chmu.tracker.threshold, chmu.tracker.counter_width)};
    return {};
}

// Replaces each combination by one for each value of the dimension.
Result<void> multiply(std::vector<Combination> &combinations, const Dimension &dimension,
                      std::string_view values)
{
    std::vector<Combination> more;
    const std::vector<std::string_view> words = split(values, ',');
    for (const Combination &combination : combinations)
        for (size_t i = 0; i < words.size(); i++) {
            if (more.size() == kMostCombinations)
                return Error{Errc::kUsage, fmt::format("more than {} combinations of values: give "
                                                       "fewer values",
                                                       kMostCombinations)};
            if (std::find(words.begin(), words.begin() + static_cast<ptrdiff_t>(i), words[i]) !=
                words.begin() + static_cast<ptrdiff_t>(i))
                return wrong(dimension.name, values, "has a value twice");
            more.push_back(combination);
            if (Result<void> done = dimension.set(more.back(), words[i]); !done)
                return done.error();
            more.back().words.emplace_back(words[i]);
        }
    combinations = std::move(more);
    return {};
}

}  // namespace

std::span<const Dimension> dimensions()
{
    return kDimensions;
}

Result<unsigned> parse_size_log2(std::string_view name, std::string_view word, uint64_t least,
                                 uint64_t most)
{
    constexpr std::string_view kPrefixes = "KMG";
    std::string_view digits = word;
    const size_t prefix = word.empty() ? kPrefixes.npos : kPrefixes.find(word.back());
    unsigned shift = 0;
    if (prefix != kPrefixes.npos) {
        digits.remove_suffix(1);
        shift = 10 * (static_cast<unsigned>(prefix) + 1);
    }
    const Result<uint64_t> value = parse_u64(digits);
    if (!value || *value > most >> shift || *value << shift < least)
        return wrong(name, word, fmt::format("must be a number from {} to {}", least, most));
    if (!std::has_single_bit(*value))
        return wrong(name, word, "not a power of two");
    return static_cast<unsigned>(std::countr_zero(*value)) + shift;
}

Result<std::vector<Combination>> combinations_of(std::span<const std::string> texts, Input input,
                                                 bool randomized)
{
    std::vector<Combination> combinations(1);
    combinations.front().chmu.tracker.randomized = randomized;
    for (size_t i = 0; i < std::size(kDimensions); i++) {
        const Dimension &dimension = kDimensions[i];
        if (!texts[i].empty() && !(dimension.inputs & input))
            return Error{Errc::kUsage,
                         fmt::format("--{}: {}", dimension.name,
                                     input == kRecording
                                         ? "a recording has the values of the unit that made it; "
                                           "replay an access log"
                                         : "only for recordings; a log has no times")};
        const std::string_view values =
            texts[i].empty() ? dimension.usual : std::string_view(texts[i]);
        if (Result<void> done = multiply(combinations, dimension, values); !done)
            return done.error();
    }
    for (Combination &combination : combinations)
        if (Result<void> done = check(combination); !done)
            return done.error();
    return combinations;
}

}  // namespace pmukit::whatif
