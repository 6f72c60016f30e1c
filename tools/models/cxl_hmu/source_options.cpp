// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Parses the text of --source.
#include <fmt/core.h>

#include <algorithm>
#include <bit>

#include "base/number.hpp"
#include "models/cxl_hmu/source.hpp"

namespace pmukit::models::cxl_hmu {

namespace {

constexpr uint64_t kMaxUnits = uint64_t{1} << 20;
constexpr uint64_t kMaxAccesses = uint64_t{1} << 20;
constexpr uint64_t kNoLimit = ~uint64_t{0};

struct PatternName {
    std::string_view name;
    Pattern pattern;
};
constexpr PatternName kPatterns[] = {
    {"uniform", Pattern::kUniform},       {"zipf", Pattern::kZipf},
    {"sequential", Pattern::kSequential}, {"phase", Pattern::kPhase},
    {"bursts", Pattern::kBursts},         {"replay", Pattern::kReplay},
};

constexpr unsigned only(Pattern pattern)
{
    return 1u << static_cast<unsigned>(pattern);
}
constexpr unsigned kReplay = only(Pattern::kReplay);
constexpr unsigned kAll = ~0u;
constexpr unsigned kMade = kAll & ~kReplay;  // patterns that generate accesses

struct Key {
    std::string_view name;
    uint64_t SourceParams::*value;
    uint64_t min;
    uint64_t max;
    unsigned patterns;  // patterns that have this key
};
constexpr Key kKeys[] = {
    {"accesses", &SourceParams::accesses, 1, kMaxAccesses, kAll},
    {"epochs", &SourceParams::epochs, 0, kNoLimit, kAll},
    {"room", &SourceParams::room, 0, 0xfffe, kAll},
    {"seed", &SourceParams::seed, 0, kNoLimit, kMade},
    {"units", &SourceParams::units, 1, kMaxUnits, kMade},
    {"unit-bytes", &SourceParams::unit_bytes, 64, uint64_t{1} << 31, kMade},
    {"base", &SourceParams::base, 0, kSourceMaxDpa - 1, kMade},
    {"writes", &SourceParams::writes, 0, 100, kMade},
    {"tee", &SourceParams::tee, 0, 100, kMade},
    {"skew", &SourceParams::skew, 0, 400, only(Pattern::kZipf)},
    {"hot", &SourceParams::hot, 1, kMaxUnits, only(Pattern::kPhase)},
    {"period", &SourceParams::period, 1, kNoLimit, only(Pattern::kPhase)},
    {"burst", &SourceParams::burst, 1, kMaxAccesses, only(Pattern::kBursts)},
};

Error usage(std::string message)
{
    return Error{Errc::kUsage, "--source: " + std::move(message)};
}

Result<void> apply(std::string_view word, std::string_view pattern, SourceParams &params)
{
    const unsigned self = only(params.pattern);
    const size_t equals = std::min(word.find('='), word.size());
    const std::string_view name = word.substr(0, equals);
    const std::string_view text = word.substr(std::min(equals + 1, word.size()));
    if (name == "file" && (self & kReplay) != 0 && !text.empty()) {
        params.file = text;
        return {};
    }
    const auto key = std::find_if(std::begin(kKeys), std::end(kKeys),
                                  [name](const Key &known) { return known.name == name; });
    if (key == std::end(kKeys) || (key->patterns & self) == 0)
        return usage(fmt::format("'{}': {} has no such setting", word, pattern));
    const Result<uint64_t> value = parse_u64(text);
    if (!value || *value < key->min || *value > key->max)
        return usage(fmt::format("'{}': must be {} to {}", word, key->min, key->max));
    params.*key->value = *value;
    return {};
}

Result<void> check_together(const SourceParams &p)
{
    if (p.pattern == Pattern::kReplay) {
        if (p.file.empty())
            return usage("replay needs file=PATH");
        return {};
    }
    if (!std::has_single_bit(p.unit_bytes))
        return usage(fmt::format("unit-bytes={}: must be a power of two", p.unit_bytes));
    if (p.base % p.unit_bytes != 0)
        return usage(fmt::format("base={:#x}: must be a multiple of unit-bytes", p.base));
    if (p.units > (kSourceMaxDpa - p.base) / p.unit_bytes)
        return usage("base + units x unit-bytes is beyond 1 TiB");
    if (p.pattern == Pattern::kPhase && p.hot > p.units)
        return usage(fmt::format("hot={}: there are only {} units", p.hot, p.units));
    return {};
}

}  // namespace

Result<SourceParams> parse_source(std::string_view text)
{
    const size_t colon = std::min(text.find(':'), text.size());
    const std::string_view name = text.substr(0, colon);
    const auto found =
        std::find_if(std::begin(kPatterns), std::end(kPatterns),
                     [name](const PatternName &known) { return known.name == name; });
    if (found == std::end(kPatterns))
        return usage(
            fmt::format("'{}': must be uniform, zipf, sequential, phase, bursts or replay", name));
    SourceParams params;
    params.pattern = found->pattern;
    for (const std::string_view word : split(text.substr(std::min(colon + 1, text.size())), ',')) {
        if (const Result<void> applied = apply(word, name, params); !applied)
            return applied.error();
    }
    if (const Result<void> checked = check_together(params); !checked)
        return checked.error();
    return params;
}

}  // namespace pmukit::models::cxl_hmu
