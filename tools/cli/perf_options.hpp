// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Options of stock perf that our command of the same name does not have. They are parsed, so that
// none is taken for something else: each is refused by its name, with what to use instead.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace pmukit::cli {

enum class Takes {
    kNothing,
    kValue,
    kPerhaps,  // a value, but only in the same word: -S, -SOPTIONS, --snapshot=OPTIONS
};

struct PerfOption {
    char letter;  // 0: none
    std::string_view name;
    Takes takes;
    std::string_view instead;

    // As people write it: -S, --snapshot
    std::string written() const;
};

// Of record or top; of any other command there are none.
std::span<const PerfOption> refused_options(std::string_view command);

}  // namespace pmukit::cli
