// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// What a replay varies: each option has one or more values, and every combination is replayed.
// dimensions() is the table of the options; a new one is a row there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "tier/plan.hpp"
#include "tier/policy.hpp"
#include "whatif/chmu.hpp"

namespace pmukit::whatif {

// One combination.
struct Combination {
    ChmuSetup chmu{};
    const tier::PolicyKind *policy = nullptr;
    tier::Budget fast{};       // of the pages of the log
    uint64_t interval_ms = 0;  // recordings: how often the policy is asked
    // The values as given, in the order of dimensions().
    std::vector<std::string> words{};
};

// What can be replayed.
enum Input : unsigned { kLog = 1, kRecording = 2 };

struct Dimension {
    const char *name;   // of the option, without --
    const char *usual;  // its value if it is not given
    const char *help;
    unsigned inputs;  // Input bits: a recording has the values of the unit that recorded it
    Result<void> (*set)(Combination &combination, std::string_view word);
};

std::span<const Dimension> dimensions();

// Each combination is a replay of its own.
constexpr size_t kMostCombinations = 256;

// texts: the values of each dimension, separated by commas; empty: its usual value. Returns all
// combinations; the last dimension varies fastest. Error: a value is invalid, or does not fit the
// input or another value; there are more than kMostCombinations combinations.
Result<std::vector<Combination>> combinations_of(std::span<const std::string> texts, Input input,
                                                 bool randomized);

// Parses a size in bytes, such as 4096, 64K or 2M, that must be a power of two from `least` to
// `most`. Returns its log2. name: of the option.
Result<unsigned> parse_size_log2(std::string_view name, std::string_view word, uint64_t least,
                                 uint64_t most);

}  // namespace pmukit::whatif
