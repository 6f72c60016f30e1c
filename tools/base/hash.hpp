// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Hash tables for untrusted numbers: event ids of a file, addresses sent by a virtual machine or a
// device. A sender that knows the hash function can choose numbers that all fall into one bucket,
// which makes the time quadratic. These hashes therefore use a random seed. The iteration order
// differs in each run: sort before printing.
#pragma once

#include <sys/random.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace pmukit {

// The finalizer of SplitMix64: each input bit flips about half of the output bits.
constexpr uint64_t mixed(uint64_t number)
{
    number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9;
    number = (number ^ number >> 27) * 0x94d049bb133111eb;
    return number ^ number >> 31;
}

// A random seed, drawn once per process, that is unknown to other processes.
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
        // Soon after boot the kernel may have no random bytes yet; the time and an address then
        // replace them.
        const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
        return static_cast<uint64_t>(now) ^ reinterpret_cast<uintptr_t>(&seed);
    }
};

class SaltedHash {
public:
    size_t operator()(uint64_t number) const noexcept { return mixed(number ^ seed_); }

private:
    // Stored per table: a shared library and its program may have drawn different seeds.
    uint64_t seed_ = ProcessSeed::get();
};

// A fast hash for hot paths: it multiplies the number by an odd random number, which each table
// draws for itself. This is multiply-shift hashing (Dietzfelbinger et al. 1997). Two keys have the
// same of n slots with a probability of at most 2/n.
class MultiplyHash {
public:
    MultiplyHash() : odd_(next_number() | 1) {}
    size_t operator()(uint64_t number) const noexcept { return number * odd_; }
    // Returns a slot index for a table of 2^slots_log2 slots, at most 2^63.
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
using AddressMap = std::unordered_map<uint64_t, Value, MultiplyHash>;

// A hash table for many numbers: needs a third of the memory and time of a table that allocates a
// node per entry.
template <typename Value>
class FlatMap {
public:
    size_t size() const { return entries_.size(); }
    // Returns nullptr if the table does not contain the number.
    const Value *find(uint64_t number) const
    {
        const uint32_t place = entries_.empty() ? 0 : slots_[slot_of(number)];
        return place ? &entries_[place - 1].value : nullptr;
    }
    // Returns false if the number is present. At most 2^32 - 2 entries.
    bool insert(uint64_t number, Value value)
    {
        if (find(number))
            return false;
        entries_.push_back({number, value});
        if (2 * entries_.size() > slots_.size()) {
            slots_.assign(std::max<size_t>(16, 2 * slots_.size()), 0);
            for (uint32_t i = 0; i < entries_.size(); i++)
                slots_[slot_of(entries_[i].number)] = i + 1;
        } else {
            slots_[slot_of(number)] = static_cast<uint32_t>(entries_.size());
        }
        return true;
    }
    // Inserts the number or overwrites its value.
    void put(uint64_t number, Value value)
    {
        if (!insert(number, value))
            entries_[slots_[slot_of(number)] - 1].value = value;
    }
    // Removes the entry that was inserted last. Its slot can be cleared: no entry was inserted
    // after it, so no probe sequence passes the slot.
    void pop_back()
    {
        slots_[slot_of(entries_.back().number)] = 0;
        entries_.pop_back();
    }

private:
    struct Entry {
        uint64_t number;
        [[no_unique_address]] Value value;
    };
    // Returns the slot of the number, or the free slot where the number would be inserted.
    size_t slot_of(uint64_t number) const
    {
        size_t slot = hash_(number) & (slots_.size() - 1);
        while (slots_[slot] && entries_[slots_[slot] - 1].number != number)
            slot = (slot + 1) & (slots_.size() - 1);
        return slot;
    }

    std::vector<Entry> entries_;   // in order of insertion
    std::vector<uint32_t> slots_;  // index into entries_ plus 1; 0: free. At least half are free
    SaltedHash hash_;
};

}  // namespace pmukit
