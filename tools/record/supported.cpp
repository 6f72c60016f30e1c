// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "record/supported.hpp"

#include <algorithm>
#include <bit>
#include <vector>

#include "base/number.hpp"

namespace pmukit::record {
namespace {

using Numbers = std::vector<uint64_t>;

// Reading the files of caps/

std::optional<Numbers> parse_numbers(std::string_view text, char separator)
{
    Numbers numbers;
    for (std::string_view part : split(trim(text), separator)) {
        const Result<uint64_t> number = parse_u64(trim(part));
        if (!number)
            return std::nullopt;
        numbers.push_back(*number);
    }
    if (numbers.empty())
        return std::nullopt;
    return numbers;
}

// Returns the numbers of a cap such as "1 2 4".
std::optional<Numbers> numbers_of(const Pmu &pmu, const char *cap)
{
    const auto found = pmu.caps.find(cap);
    return found == pmu.caps.end() ? std::nullopt : parse_numbers(found->second, ' ');
}

// Returns the numbers that follow `key` in a cap such as "0=0,1 1=2".
std::optional<Numbers> numbers_for(const Pmu &pmu, const char *cap, uint64_t key)
{
    const auto found = pmu.caps.find(cap);
    if (found == pmu.caps.end())
        return std::nullopt;
    for (std::string_view pair : split(found->second, ' ')) {
        const size_t equals = pair.find('=');
        const Result<uint64_t> number = parse_u64(pair.substr(0, equals));
        if (equals != pair.npos && number && *number == key)
            return parse_numbers(pair.substr(equals + 1), ',');
    }
    return std::nullopt;
}

uint64_t value_of(const Pmu &pmu, const char *term, const ConfigWords &words)
{
    const auto found = pmu.format.find(term);
    return found == pmu.format.end() ? 0 : get_field(found->second, words);
}

bool contains(const Numbers &numbers, uint64_t value)
{
    return std::ranges::find(numbers, value) != numbers.end();
}

std::string listed(const Numbers &numbers)
{
    std::string all;
    for (const uint64_t number : numbers)
        all += (all.empty() ? "" : ", ") + std::to_string(number);
    return all;
}

// Checks

struct Rule;
struct Question {
    const Pmu &pmu;
    const ConfigWords &words;
    const Rule &rule;

    uint64_t value() const;
    std::optional<Unsupported> refuse(const std::string &supported, const std::string &with = "",
                                      const std::string &cap = "") const;
};
using Answer = std::optional<Unsupported>;

struct Rule {
    std::string_view pmu_prefix;
    const char *term;
    const char *cap;
    Answer (*check)(const Question &);
};

uint64_t Question::value() const
{
    return value_of(pmu, rule.term, words);
}

Answer Question::refuse(const std::string &supported, const std::string &with,
                        const std::string &cap) const
{
    return Unsupported{rule.term, std::string(rule.term) + "=" + std::to_string(value()) +
                                      " is not supported by " + pmu.name + with + "; supported: " +
                                      supported + " (caps/" + (cap.empty() ? rule.cap : cap) + ")"};
}

// Checks a term for which 0 selects the default of the driver. An omitted term is 0.
Answer one_of_or_default(const Question &asked)
{
    const std::optional<Numbers> numbers = numbers_of(asked.pmu, asked.rule.cap);
    if (!numbers || asked.value() == 0 || contains(*numbers, asked.value()))
        return std::nullopt;
    return asked.refuse(listed(*numbers));
}

Answer one_of(const Question &asked)
{
    const std::optional<Numbers> numbers = numbers_of(asked.pmu, asked.rule.cap);
    if (!numbers || contains(*numbers, asked.value()))
        return std::nullopt;
    return asked.refuse(listed(*numbers));
}

Answer some_of(const Question &asked)
{
    const std::optional<Numbers> numbers = numbers_of(asked.pmu, asked.rule.cap);
    uint64_t all = 0;
    for (const uint64_t number : numbers.value_or(Numbers{}))
        all |= number;
    if (!numbers || (asked.value() && !(asked.value() & ~all)))
        return std::nullopt;
    return asked.refuse(listed(*numbers) + " and their sums");
}

// Checks a threshold against the counter width, which depends on the unit size. If the unit size is
// omitted, it is the smallest one.
Answer cxl_hmu_threshold(const Question &asked)
{
    uint64_t unit = value_of(asked.pmu, "hotness_granual", asked.words);
    if (const auto units = numbers_of(asked.pmu, "hotness_granual"); unit == 0 && units)
        unit = std::ranges::min(*units);
    const std::string cap = "counter_width_" + std::to_string(unit);
    const std::optional<Numbers> width = numbers_of(asked.pmu, cap.c_str());
    if (!width || width->front() > 63)
        return std::nullopt;
    const uint64_t most = std::min<uint64_t>((uint64_t{1} << width->front()) - 1, UINT32_MAX);
    if (asked.value() <= most)
        return std::nullopt;
    return asked.refuse("up to " + std::to_string(most),
                        " with hotness_granual=" + std::to_string(unit), cap);
}

// Checks range_base, the start of a range. The end is not checked, because only the driver knows
// where its bitmap ends.
Answer cxl_hmu_range(const Question &asked)
{
    const std::optional<Numbers> limit = numbers_of(asked.pmu, asked.rule.cap);
    const uint64_t base = asked.value(), size = value_of(asked.pmu, "range_size", asked.words);
    if (!limit || (base < limit->front() && (size || !base)))
        return std::nullopt;
    return asked.refuse("less than " + std::to_string(limit->front()),
                        " with range_size=" + std::to_string(size));
}

// Converts an epoch to microseconds. epoch_scale 1 is 100 us, and each further scale is ten times
// as long (Documentation/ABI).
std::optional<uint64_t> epoch_us(uint64_t scale, uint64_t multiplier)
{
    constexpr uint64_t kScales_us[] = {100, 1000, 10000, 100000, 1000000};
    if (scale < 1 || scale > std::size(kScales_us) || multiplier < 1 || multiplier > 4095)
        return std::nullopt;
    return kScales_us[scale - 1] * multiplier;
}

Answer cxl_hmu_epoch(const Question &asked)
{
    const uint64_t multiplier = value_of(asked.pmu, "epoch_multiplier", asked.words);
    const auto least = numbers_of(asked.pmu, "epoch_min_us"),
               most = numbers_of(asked.pmu, "epoch_max_us");
    if (!least || !most || (asked.value() == 0 && multiplier == 0))
        return std::nullopt;
    const std::optional<uint64_t> wanted = epoch_us(asked.value(), multiplier);
    if (wanted && *wanted >= least->front() && *wanted <= most->front())
        return std::nullopt;
    return asked.refuse(std::to_string(least->front()) + " us to " + std::to_string(most->front()) +
                            " us, epoch_scale 1 is 100 us, each further one ten times as much",
                        " with epoch_multiplier=" + std::to_string(multiplier));
}

Answer hisi_ptt_direction(const Question &asked)
{
    const uint64_t format = value_of(asked.pmu, "format", asked.words);
    const std::optional<Numbers> numbers = numbers_for(asked.pmu, asked.rule.cap, format);
    if (!numbers || contains(*numbers, asked.value()))
        return std::nullopt;
    return asked.refuse(listed(*numbers), " with format=" + std::to_string(format));
}

// Checks that the direction supports several types at once, if the event has several.
Answer hisi_ptt_several_types(const Question &asked)
{
    const uint64_t type = value_of(asked.pmu, "type", asked.words);
    if (std::popcount(type) < 2)
        return std::nullopt;
    const uint64_t format = value_of(asked.pmu, "format", asked.words);
    const std::optional<Numbers> numbers = numbers_for(asked.pmu, asked.rule.cap, format);
    if (!numbers || contains(*numbers, asked.value()))
        return std::nullopt;
    return asked.refuse(listed(*numbers), " with type=" + std::to_string(type) +
                                              " and format=" + std::to_string(format));
}

constexpr std::string_view kCxlHmu = "cxl_hmu_mem", kHisiPtt = "hisi_ptt";

// A check may rely on the checks before it.
constexpr Rule kRules[] = {
    {kCxlHmu, "epoch_type", "epoch_type", one_of},
    {kCxlHmu, "access_type", "access_type", one_of_or_default},
    {kCxlHmu, "randomized_downsampling", "randomized_downsampling", one_of_or_default},
    {kCxlHmu, "downsampling_factor", "downsampling_factor", one_of_or_default},
    {kCxlHmu, "hotness_granual", "hotness_granual", one_of_or_default},
    {kCxlHmu, "hotness_threshold", "counter_width", cxl_hmu_threshold},
    {kCxlHmu, "epoch_scale", "epoch_min_us", cxl_hmu_epoch},
    {kCxlHmu, "range_base", "range_size", cxl_hmu_range},
    {kHisiPtt, "format", "format", one_of},
    {kHisiPtt, "type", "type", some_of},
    {kHisiPtt, "direction", "direction", hisi_ptt_direction},
    {kHisiPtt, "direction", "multitype_direction", hisi_ptt_several_types},
};

}  // namespace

std::optional<Unsupported> find_unsupported(const Pmu &pmu, const ConfigWords &words)
{
    for (const Rule &rule : kRules) {
        if (!pmu.name.starts_with(rule.pmu_prefix) || !pmu.format.contains(rule.term))
            continue;
        if (Answer refused = rule.check({pmu, words, rule}))
            return refused;
    }
    return std::nullopt;
}

}  // namespace pmukit::record
