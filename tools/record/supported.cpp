// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "record/supported.hpp"

#include <algorithm>
#include <bit>
#include <vector>

#include "base/number.hpp"

namespace pmukit::record {
namespace {

using Numbers = std::vector<uint64_t>;

// Reading caps/

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

// "1 2 4"
std::optional<Numbers> numbers_of(const Pmu &pmu, const char *cap)
{
    const auto found = pmu.caps.find(cap);
    return found == pmu.caps.end() ? std::nullopt : parse_numbers(found->second, ' ');
}

// "0=0,1 1=2": the numbers behind key.
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
    std::optional<Unsupported> refuse(const std::string &supported,
                                      const std::string &with = "") const;
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

Answer Question::refuse(const std::string &supported, const std::string &with) const
{
    return Unsupported{rule.term, std::string(rule.term) + "=" + std::to_string(value()) +
                                      " is not supported by " + pmu.name + with +
                                      "; supported: " + supported + " (caps/" + rule.cap + ")"};
}

// 0 is what a term that is left out has; then the driver takes its default.
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

// Its counters' width depends on the unit, which is the smallest one when it is left out.
Answer cxl_hmu_threshold(const Question &asked)
{
    uint64_t unit = value_of(asked.pmu, "hotness_granual", asked.words);
    if (const auto units = numbers_of(asked.pmu, "hotness_granual"); unit == 0 && units)
        unit = std::ranges::min(*units);
    const std::optional<Numbers> most = numbers_for(asked.pmu, asked.rule.cap, unit);
    if (!most || asked.value() <= most->front())
        return std::nullopt;
    return asked.refuse("up to " + std::to_string(most->front()),
                        " with hotness_granual=" + std::to_string(unit));
}

Answer cxl_hmu_range(const Question &asked)
{
    const std::optional<Numbers> limit = numbers_of(asked.pmu, asked.rule.cap);
    const uint64_t base = value_of(asked.pmu, "range_base", asked.words), size = asked.value();
    const uint64_t room = limit ? limit->front() : 0;
    if (!limit || (base < room && size <= room - base && (size || !base)))
        return std::nullopt;
    return asked.refuse("range_base + range_size up to " + std::to_string(room),
                        " with range_base=" + std::to_string(base));
}

// Documentation/ABI, epoch_scale: 1 is 100 us, each further one ten times as much.
std::optional<uint64_t> epoch_us(uint64_t scale, uint64_t multiplier)
{
    constexpr uint64_t kScales_us[] = {100, 1000, 10000, 100000, 1000000};
    if (scale < 1 || scale > std::size(kScales_us) || multiplier < 1 || multiplier > 4095)
        return std::nullopt;
    return kScales_us[scale - 1] * multiplier;
}

// "epoch_scale=1,epoch_multiplier=1"
std::optional<uint64_t> epoch_of_cap(const Pmu &pmu, const char *cap)
{
    const auto found = pmu.caps.find(cap);
    uint64_t scale = 0, multiplier = 0;
    if (found == pmu.caps.end())
        return std::nullopt;
    for (std::string_view part : split(found->second, ',')) {
        const size_t equals = std::min(part.find('='), part.size());
        const Result<uint64_t> number = parse_u64(part.substr(std::min(equals + 1, part.size())));
        if (number)
            (part.substr(0, equals) == "epoch_scale" ? scale : multiplier) = *number;
    }
    return epoch_us(scale, multiplier);
}

Answer cxl_hmu_epoch(const Question &asked)
{
    const uint64_t multiplier = value_of(asked.pmu, "epoch_multiplier", asked.words);
    const auto least = epoch_of_cap(asked.pmu, "epoch_min"),
               most = epoch_of_cap(asked.pmu, "epoch_max");
    if (!least || !most || (asked.value() == 0 && multiplier == 0))
        return std::nullopt;
    const std::optional<uint64_t> wanted = epoch_us(asked.value(), multiplier);
    if (wanted && *wanted >= *least && *wanted <= *most)
        return std::nullopt;
    return asked.refuse(asked.pmu.caps.at("epoch_min") + " to " + asked.pmu.caps.at("epoch_max"),
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

// Several types at once only where these directions are traced.
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

// In an order in which a check may rely on those before it.
constexpr Rule kRules[] = {
    {kCxlHmu, "epoch_type", "epoch_type", one_of},
    {kCxlHmu, "access_type", "access_type", one_of_or_default},
    {kCxlHmu, "randomized_downsampling", "randomized_downsampling", one_of_or_default},
    {kCxlHmu, "downsampling_factor", "downsampling_factor", one_of_or_default},
    {kCxlHmu, "hotness_granual", "hotness_granual", one_of_or_default},
    {kCxlHmu, "hotness_threshold", "hotness_threshold", cxl_hmu_threshold},
    {kCxlHmu, "epoch_scale", "epoch_min", cxl_hmu_epoch},
    {kCxlHmu, "range_size", "range_size", cxl_hmu_range},
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
