// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Options that are lists of numbers: KEY=VALUE[,KEY=VALUE]..., each with its limits.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/number.hpp"
#include "base/result.hpp"

namespace pmukit::models::hisi_ptt {

template <typename Params>
struct Key {
    std::string_view name;
    uint64_t Params::*value;
    uint64_t min;
    uint64_t max;
};

// An error message is one line that names the option, the KEY=VALUE word and its limits.
template <typename Params>
Result<Params> parse_keys(std::string_view option, std::string_view text,
                          std::span<const Key<Params>> keys)
{
    Params params;
    if (text.empty())
        return Error{Errc::kUsage,
                     fmt::format("{}: must be KEY=VALUE, as {}=1000", option, keys.front().name)};
    for (const std::string_view word : split(text, ',')) {
        const size_t equals = std::min(word.find('='), word.size());
        const auto key = std::ranges::find(keys, word.substr(0, equals), &Key<Params>::name);
        if (key == keys.end())
            return Error{Errc::kUsage,
                         fmt::format("{}: '{}': there is no such setting", option, word)};
        const Result<uint64_t> value = parse_u64(word.substr(std::min(equals + 1, word.size())));
        if (!value || *value < key->min || *value > key->max)
            return Error{Errc::kUsage, fmt::format("{}: '{}': must be {} to {}", option, word,
                                                   key->min, key->max)};
        params.*key->value = *value;
    }
    return params;
}

}  // namespace pmukit::models::hisi_ptt
