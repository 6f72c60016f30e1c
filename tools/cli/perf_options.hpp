// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Options of stock perf that the pmukit command of the same name does not have. They are parsed so
// that none is taken for another option: each is rejected by its name, with an alternative.
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

    // For messages: "-S, --snapshot"
    std::string written() const;
};

// For record and top; other commands have none.
std::span<const PerfOption> refused_options(std::string_view command);

}  // namespace pmukit::cli
