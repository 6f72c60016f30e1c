// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Hash tables of numbers that others chose, such as event ids of a file. Whoever knows the hash can
// choose them so that all fall into one bucket; these tables hash with a number that every process
// draws anew. So the order in them is another each time: sort what is printed. Tables of addresses,
// which lie beside each other, have no salt: it scatters what is used together, and cost the hot
// list 40 % of its speed.
#pragma once

#include <sys/random.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>

namespace pmukit {

class SaltedHash {
public:
    // The finalizer of SplitMix64: each bit of the number, and of the seed, changes half of all.
    size_t operator()(uint64_t number) const noexcept
    {
        number ^= seed_;
        number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9;
        number = (number ^ number >> 27) * 0x94d049bb133111eb;
        return number ^ number >> 31;
    }

private:
    static uint64_t draw()
    {
        uint64_t seed = 0;
        if (::getrandom(&seed, sizeof seed, GRND_NONBLOCK) == sizeof seed)
            return seed;
        // A machine that just started has none yet.
        const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
        return static_cast<uint64_t>(now) ^ reinterpret_cast<uintptr_t>(&seed);
    }
    static uint64_t of_process()
    {
        static const uint64_t seed = draw();
        return seed;
    }

    // A table keeps its own: a library and its user may each have drawn one.
    uint64_t seed_ = of_process();
};

template <typename Value>
using NumberMap = std::unordered_map<uint64_t, Value, SaltedHash>;
using NumberSet = std::unordered_set<uint64_t, SaltedHash>;

}  // namespace pmukit
