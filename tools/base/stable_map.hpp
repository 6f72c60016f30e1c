// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// A hash table whose entries keep their addresses; only erase_if() removes entries, and it moves
// the others. The entries can be read in key order. Use it in place of std::map if a recording can
// have many keys: a lookup costs one hash instead of a tree walk, and several entries share a
// memory block.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <tuple>
#include <utility>
#include <vector>

#include "base/hash.hpp"

namespace pmukit {

// Hash: salted, see base/hash.hpp.
template <typename Key, typename Value, typename Hash = SaltedHash>
class StableMap {
public:
    using Entry = std::pair<const Key, Value>;

    // A view of all entries in key order, for one loop.
    class Sorted {
    public:
        class Iterator {
        public:
            explicit Iterator(Entry *const *at) : at_(at) {}
            Entry &operator*() const { return **at_; }
            Iterator &operator++()
            {
                ++at_;
                return *this;
            }
            bool operator!=(const Iterator &other) const { return at_ != other.at_; }

        private:
            Entry *const *at_;
        };

        explicit Sorted(std::vector<Entry *> entries) : entries_(std::move(entries)) {}
        Iterator begin() const { return Iterator(entries_.data()); }
        Iterator end() const { return Iterator(entries_.data() + entries_.size()); }

    private:
        std::vector<Entry *> entries_;
    };

    size_t size() const { return entries_.size(); }
    bool empty() const { return entries_.empty(); }
    // Returns nullptr if the table does not contain the key.
    Entry *find(const Key &key)
    {
        const uint32_t place = entries_.empty() ? 0 : slots_[slot_of(key)];
        return place ? &entries_[place - 1] : nullptr;
    }
    const Entry *find(const Key &key) const { return const_cast<StableMap *>(this)->find(key); }
    // An existing entry stays unchanged. At most 2^32 - 2 entries.
    template <typename... Args>
    std::pair<Entry &, bool> try_emplace(const Key &key, Args &&...args)
    {
        if (2 * (entries_.size() + 1) > slots_.size())
            grow();
        uint32_t &place = slots_[slot_of(key)];
        if (place)
            return {entries_[place - 1], false};
        entries_.emplace_back(std::piecewise_construct, std::forward_as_tuple(key),
                              std::forward_as_tuple(std::forward<Args>(args)...));
        place = static_cast<uint32_t>(entries_.size());
        return {entries_.back(), true};
    }
    Value &operator[](const Key &key) { return try_emplace(key).first.second; }
    // Removes the entries for which gone(entry) is true. The other entries get new addresses.
    template <typename Gone>
    void erase_if(Gone gone)
    {
        StableMap rest;
        for (; !entries_.empty(); entries_.pop_front())
            if (Entry &entry = entries_.front(); !gone(entry))
                rest.try_emplace(entry.first, std::move(entry.second));
        *this = std::move(rest);
    }
    Sorted sorted()
    {
        std::vector<Entry *> all;
        all.reserve(entries_.size());
        for (Entry &entry : entries_)
            all.push_back(&entry);
        const auto by_key = [](const Entry *a, const Entry *b) { return a->first < b->first; };
        if (!std::ranges::is_sorted(all, by_key))
            std::ranges::sort(all, by_key);
        return Sorted(std::move(all));
    }

private:
    void grow()
    {
        slots_.assign(std::max<size_t>(16, 2 * slots_.size()), 0);
        uint32_t place = 0;
        for (const Entry &entry : entries_)
            slots_[slot_of(entry.first)] = ++place;
    }
    // Returns the slot of the key, or the free slot where the key would be inserted.
    size_t slot_of(const Key &key) const
    {
        size_t slot = hash_(key) & (slots_.size() - 1);
        while (slots_[slot] && !(entries_[slots_[slot] - 1].first == key))
            slot = (slot + 1) & (slots_.size() - 1);
        return slot;
    }

    std::deque<Entry> entries_;    // in order of insertion
    std::vector<uint32_t> slots_;  // index into entries_ plus 1; 0: free. At least half are free
    Hash hash_;
};

}  // namespace pmukit
