// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "session/map_index.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace pmukit::cli {

MapIndex::MapIndex(std::vector<Map> maps) : maps_(std::move(maps))
{
    std::ranges::stable_sort(maps_, {}, &Map::time_ns);
    for (const Map &map : maps_) {
        edges_.push_back(map.begin);
        edges_.push_back(map.end);
    }
    std::ranges::sort(edges_);
    edges_.erase(std::unique(edges_.begin(), edges_.end()), edges_.end());
    nodes_.resize(2 * edges_.size());
    for (uint32_t number = 0; number < maps_.size(); number++)
        add(number);
}

size_t MapIndex::piece_of(uint64_t address) const
{
    return static_cast<size_t>(std::ranges::upper_bound(edges_, address) - edges_.begin()) - 1;
}

// From the pieces upwards, as long as there is something between the two ends.
void MapIndex::add(uint32_t number)
{
    const Map &map = maps_[number];
    size_t first = piece_of(map.begin) + edges_.size(), end = piece_of(map.end) + edges_.size();
    for (; first < end; first /= 2, end /= 2) {
        if (first % 2)
            nodes_[first++].push_back(number);
        if (end % 2)
            nodes_[--end].push_back(number);
    }
}

const Map *MapIndex::find(uint64_t address, uint64_t since_ns, uint64_t time_ns) const
{
    if (edges_.empty() || address < edges_.front() || address >= edges_.back())
        return nullptr;
    const auto after = static_cast<uint32_t>(
        std::ranges::upper_bound(maps_, time_ns, {}, &Map::time_ns) - maps_.begin());
    const Map *best = nullptr, *first = nullptr;
    for (size_t node = piece_of(address) + edges_.size(); node > 0; node /= 2) {
        const std::vector<uint32_t> &numbers = nodes_[node];
        const auto later = std::ranges::lower_bound(numbers, after);
        // The order of maps_ is that of time, so pointers into it compare as times do.
        if (later != numbers.end() && (!first || &maps_[*later] < first))
            first = &maps_[*later];
        if (later != numbers.begin() && (!best || &maps_[*std::prev(later)] > best))
            best = &maps_[*std::prev(later)];
    }
    return best && best->time_ns >= since_ns ? best : first;
}

}  // namespace pmukit::cli
