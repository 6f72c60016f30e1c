// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Options of stock perf that the pmukit command of the same name does not have. pmukit knows them
// only to reject each by its name, with an alternative, and never to parse one as another option.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace pmukit::cli {

enum class Takes {
    kNothing,
    kValue,
    kPerhaps,  // optional value, only in the same word: -S, -SOPTIONS, --snapshot=OPTIONS
};

struct PerfOption {
    char letter;  // short option; 0: none
    std::string_view name;
    Takes takes;
    std::string_view instead;

    // Returns both names for messages: "-S, --snapshot".
    std::string written() const;
};

// Options that record or top rejects; empty for other commands.
std::span<const PerfOption> refused_options(std::string_view command);

}  // namespace pmukit::cli
