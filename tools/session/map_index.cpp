// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "session/map_index.hpp"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

namespace pmukit::cli {
namespace {

// Memory of the tree that is charged per map: two edges, two tree nodes per edge, and the numbers
// of the map at one or two nodes, where most maps are stored.
constexpr size_t kNodesPaid = 2;
constexpr size_t kTreeBytes = 2 * sizeof(uint64_t) + (4 + kNodesPaid) * sizeof(uint32_t);

}  // namespace

bool MapIndex::add(const Map &map, Budget &left)
{
    const bool needs_tree = maps_.size() >= kFew;
    const size_t before = left.left();
    if (!has_room(maps_, left, sizeof map + (needs_tree ? kTreeBytes : 0)))
        return false;
    if (maps_.size() == kFew && !left.take(kFew * kTreeBytes)) {
        added_bytes_ += before - left.left();
        return false;
    }
    maps_.push_back(map);
    added_bytes_ += before - left.left();
    return true;
}

void MapIndex::forget_until(uint64_t time_ns, Budget &left)
{
    left.give_back(taken());
    const MapIndex all = std::exchange(*this, {});
    for (const Map &map : all.maps_)
        if (map.time_ns > time_ns)
            add(map, left);  // fits, as all maps did
}

size_t MapIndex::build(Budget &left)
{
    if (!tree_)
        tree_ = std::make_unique<Tree>();
    Tree &tree = *tree_;
    left.give_back(std::exchange(tree.taken, 0));
    std::ranges::stable_sort(maps_, {}, &Map::time_ns);
    tree.edges.clear();
    tree.edges.reserve(2 * maps_.size());
    for (const Map &map : maps_) {
        tree.edges.push_back(map.begin);
        tree.edges.push_back(map.end);
    }
    std::ranges::sort(tree.edges);
    tree.edges.erase(std::unique(tree.edges.begin(), tree.edges.end()), tree.edges.end());
    // `starts` first holds the count of each node, then the end of its range, finally its start.
    tree.starts.assign(2 * tree.edges.size() + 1, 0);
    size_t without_room = 0;
    for (Map &map : maps_) {
        size_t nodes = 0;
        tree.for_nodes_of(map, [&nodes](size_t) { nodes++; });
        const size_t bytes = (nodes - std::min(nodes, kNodesPaid)) * sizeof(uint32_t);
        if (!left.take(bytes)) {
            // An empty map is stored at no node.
            map.end = map.begin;
            without_room++;
            continue;
        }
        tree.taken += bytes;
        tree.for_nodes_of(map, [&tree](size_t node) { tree.starts[node]++; });
    }
    for (size_t node = 1; node < tree.starts.size(); node++)
        tree.starts[node] += tree.starts[node - 1];
    tree.numbers.assign(tree.starts.back(), 0);
    for (size_t number = maps_.size(); number-- > 0;)
        tree.for_nodes_of(maps_[number], [&tree, number](size_t node) {
            tree.numbers[--tree.starts[node]] = static_cast<uint32_t>(number);
        });
    tree.maps = maps_.size();
    return without_room;
}

size_t MapIndex::Tree::piece_of(uint64_t address) const
{
    return static_cast<size_t>(std::ranges::upper_bound(edges, address) - edges.begin()) - 1;
}

// Visits the nodes that together cover the map, from the pieces upwards.
template <typename Each>
void MapIndex::Tree::for_nodes_of(const Map &map, Each each) const
{
    size_t first = piece_of(map.begin) + edges.size(), end = piece_of(map.end) + edges.size();
    for (; first < end; first /= 2, end /= 2) {
        if (first % 2)
            each(first++);
        if (end % 2)
            each(--end);
    }
}

const Map *MapIndex::find(uint64_t address, const Times &when) const
{
    static const Tree kEmpty;
    const Tree &tree = tree_ ? *tree_ : kEmpty;
    const uint64_t time_ns = when.time_ns;
    const Map *best = nullptr, *first = nullptr;
    const bool is_indexed =
        !tree.edges.empty() && address >= tree.edges.front() && address < tree.edges.back();
    const auto indexed_end = maps_.begin() + static_cast<ptrdiff_t>(tree.maps);
    const auto after = static_cast<uint32_t>(
        std::upper_bound(maps_.begin(), indexed_end, time_ns,
                         [](uint64_t time, const Map &map) { return time < map.time_ns; }) -
        maps_.begin());
    for (size_t node = is_indexed ? tree.piece_of(address) + tree.edges.size() : 0; node > 0;
         node /= 2) {
        const std::span numbers(tree.numbers.begin() + tree.starts[node],
                                tree.numbers.begin() + tree.starts[node + 1]);
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
