// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// A hash for tables of untrusted texts, with a random seed like those of hash.hpp.
#pragma once

#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/hash.hpp"

namespace pmukit {

// For tables of std::string that are searched with a std::string_view.
class SaltedTextHash {
public:
    using is_transparent = void;
    size_t operator()(std::string_view text) const noexcept
    {
        uint64_t hash = mixed(seed_ ^ text.size());
        for (; !text.empty(); text.remove_prefix(std::min(text.size(), sizeof hash))) {
            uint64_t word = 0;
            std::memcpy(&word, text.data(), std::min(text.size(), sizeof word));
            hash = mixed(hash ^ word);
        }
        return hash;
    }

private:
    uint64_t seed_ = ProcessSeed::get();
};

}  // namespace pmukit
