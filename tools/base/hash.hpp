// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Hash tables of numbers that others chose: event ids of a file, addresses that a virtual machine
// or a device sends. Who knows the hash can choose them so that all fall into one bucket, which
// makes the time quadratic; these hashes have a number that is drawn anew. So the order in the
// tables is another each time: sort what is printed.
#pragma once

#include <sys/random.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>

namespace pmukit {

// The finalizer of SplitMix64: each bit of the number changes half of all.
constexpr uint64_t mixed(uint64_t number)
{
    number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9;
    number = (number ^ number >> 27) * 0x94d049bb133111eb;
    return number ^ number >> 31;
}

// A number of this process that no one outside of it knows.
class ProcessSeed {
public:
    static uint64_t get()
    {
        static const uint64_t seed = draw();
        return seed;
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
};

class SaltedHash {
public:
    size_t operator()(uint64_t number) const noexcept { return mixed(number ^ seed_); }

private:
    // A table keeps its own: a library and its user may each have drawn one.
    uint64_t seed_ = ProcessSeed::get();
};

// For hot paths: one multiplication, by an odd number of each table's own (multiply-shift hashing,
// Dietzfelbinger et al. 1997: two keys share one of n slots with a probability of at most 2/n).
class MultiplyHash {
public:
    MultiplyHash() : odd_(next_number() | 1) {}
    size_t operator()(uint64_t number) const noexcept { return number * odd_; }
    // Of 2^slots_log2 slots, at most 2^63.
    size_t slot(uint64_t number, unsigned slots_log2) const
    {
        return (number * odd_) >> (64 - slots_log2);
    }

private:
    static uint64_t next_number()
    {
        static std::atomic<uint64_t> drawn;
        return mixed(ProcessSeed::get() + drawn.fetch_add(0x9e3779b97f4a7c15));
    }

    uint64_t odd_;
};

template <typename Value>
using NumberMap = std::unordered_map<uint64_t, Value, SaltedHash>;
using NumberSet = std::unordered_set<uint64_t, SaltedHash>;
template <typename Value>
using AddressMap = std::unordered_map<uint64_t, Value, MultiplyHash>;

}  // namespace pmukit
