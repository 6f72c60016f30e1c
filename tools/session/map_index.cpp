// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "session/map_index.hpp"

#include <algorithm>
#include <iterator>
#include <span>

namespace pmukit::cli {
namespace {

// Memory that is charged per map: two edges, two tree nodes per edge, and the numbers of the map at
// one or two nodes, where most maps are stored.
constexpr size_t kNodesPaid = 2;
constexpr size_t kMapBytes =
    sizeof(Map) + 2 * sizeof(uint64_t) + (4 + kNodesPaid) * sizeof(uint32_t);

}  // namespace

bool MapIndex::add(const Map &map, Budget &left)
{
    if (!has_room(maps_, left, kMapBytes))
        return false;
    maps_.push_back(map);
    return true;
}

size_t MapIndex::build(Budget &left)
{
    left.give_back(taken_);
    taken_ = 0;
    std::ranges::stable_sort(maps_, {}, &Map::time_ns);
    edges_.clear();
    edges_.reserve(2 * maps_.size());
    for (const Map &map : maps_) {
        edges_.push_back(map.begin);
        edges_.push_back(map.end);
    }
    std::ranges::sort(edges_);
    edges_.erase(std::unique(edges_.begin(), edges_.end()), edges_.end());
    // starts_ first holds the count of each node, then the end of its range, finally its start.
    starts_.assign(2 * edges_.size() + 1, 0);
    size_t without_room = 0;
    for (Map &map : maps_) {
        size_t nodes = 0;
        for_nodes_of(map, [&nodes](size_t) { nodes++; });
        const size_t bytes = (nodes - std::min(nodes, kNodesPaid)) * sizeof(uint32_t);
        if (!left.take(bytes)) {
            // An empty map is stored at no node.
            map.end = map.begin;
            without_room++;
            continue;
        }
        taken_ += bytes;
        for_nodes_of(map, [this](size_t node) { starts_[node]++; });
    }
    for (size_t node = 1; node < starts_.size(); node++)
        starts_[node] += starts_[node - 1];
    numbers_.assign(starts_.back(), 0);
    for (size_t number = maps_.size(); number-- > 0;)
        for_nodes_of(maps_[number], [this, number](size_t node) {
            numbers_[--starts_[node]] = static_cast<uint32_t>(number);
        });
    indexed_ = maps_.size();
    return without_room;
}

size_t MapIndex::piece_of(uint64_t address) const
{
    return static_cast<size_t>(std::ranges::upper_bound(edges_, address) - edges_.begin()) - 1;
}

// Visits the nodes that together cover the map, from the pieces upwards.
template <typename Each>
void MapIndex::for_nodes_of(const Map &map, Each each) const
{
    size_t first = piece_of(map.begin) + edges_.size(), end = piece_of(map.end) + edges_.size();
    for (; first < end; first /= 2, end /= 2) {
        if (first % 2)
            each(first++);
        if (end % 2)
            each(--end);
    }
}

const Map *MapIndex::find(uint64_t address, const Times &when) const
{
    const uint64_t time_ns = when.time_ns;
    const Map *best = nullptr, *first = nullptr;
    const bool is_indexed = !edges_.empty() && address >= edges_.front() && address < edges_.back();
    const auto indexed_end = maps_.begin() + static_cast<ptrdiff_t>(indexed_);
    const auto after = static_cast<uint32_t>(
        std::upper_bound(maps_.begin(), indexed_end, time_ns,
                         [](uint64_t time, const Map &map) { return time < map.time_ns; }) -
        maps_.begin());
    for (size_t node = is_indexed ? piece_of(address) + edges_.size() : 0; node > 0; node /= 2) {
        const std::span numbers(numbers_.begin() + starts_[node],
                                numbers_.begin() + starts_[node + 1]);
        const auto later = std::ranges::lower_bound(numbers, after);
        // The indexed maps are sorted by time, so pointers to them compare like their times.
        if (later != numbers.end() && (!first || &maps_[*later] < first))
            first = &maps_[*later];
        if (later != numbers.begin() && (!best || &maps_[*std::prev(later)] > best))
            best = &maps_[*std::prev(later)];
    }
    for (auto map = indexed_end; map != maps_.end(); ++map) {
        if (address < map->begin || address >= map->end)
            continue;
        if (map->time_ns <= time_ns && (!best || map->time_ns >= best->time_ns))
            best = &*map;
        else if (map->time_ns > time_ns && (!first || map->time_ns < first->time_ns))
            first = &*map;
    }
    if (best && best->time_ns >= when.since_ns)
        return best;
    return first && first->time_ns < when.until_ns ? first : nullptr;
}

}  // namespace pmukit::cli
