// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Interprets the input of a target as a sequence of steps: numbers and contents are read from the
// front of the input. After the end of the input, all values are zero.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "base/bytes.hpp"

namespace pmukit::fuzz {

class Script {
public:
    explicit Script(Bytes bytes) : left_(bytes) {}

    bool ended() const { return left_.empty(); }
    // The bytes are little endian, so that a seed has the same meaning on every machine.
    uint64_t number(size_t width_bytes)
    {
        uint64_t value = 0;
        const Bytes bytes = take(width_bytes);
        for (size_t i = 0; i < bytes.size(); i++)
            value |= static_cast<uint64_t>(bytes[i]) << (8 * i);
        return value;
    }
    uint64_t below(uint64_t limit, size_t width_bytes = 1) { return number(width_bytes) % limit; }
    // Returns fewer bytes than `size` at the end of the input.
    Bytes take(size_t size)
    {
        const Bytes taken = left_.first(std::min(size, left_.size()));
        left_ = left_.subspan(taken.size());
        return taken;
    }
    void fill(std::span<std::byte> into)
    {
        const Bytes bytes = take(into.size());
        std::ranges::fill(std::ranges::copy(bytes, into.begin()).out, into.end(), std::byte{0});
    }

private:
    Bytes left_;
};

}  // namespace pmukit::fuzz
