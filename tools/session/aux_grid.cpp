// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "session/aux_grid.hpp"

#include <algorithm>

namespace pmukit::cli {

void AuxGrid::note(const perfdata::AuxRecord &aux, Budget &left)
{
    const uint64_t end = aux.offset + aux.size;
    if (aux.size == 0 || end < aux.offset || aux.offset < announced())
        return;
    if (!chains_.empty() && aux.offset == chains_.back().end &&
        (aux.offset - chains_.back().begin) % entry_bytes_ == 0)
        chains_.back().end = end;
    else if (has_room(chains_, left))
        chains_.push_back({aux.offset, end});
    else
        full_ = true;
}

AuxGrid::Piece AuxGrid::at(uint64_t offset, uint64_t buffer_begin) const
{
    const auto behind = std::ranges::upper_bound(chains_, offset, {}, &Chain::begin);
    const Chain *before = behind == chains_.begin() ? nullptr : &*std::prev(behind);
    if (before && offset < before->end)
        return {before->begin, before->begin, before->end};
    if (behind == chains_.end() && full_)
        return {std::nullopt, known_end(), UINT64_MAX};
    const uint64_t base = before ? before->end : buffer_begin;
    if (behind == chains_.end())
        return {base, base, UINT64_MAX};
    const bool is_whole = (behind->begin - base) % entry_bytes_ == 0;
    return {is_whole ? std::optional(base) : std::nullopt, base, behind->begin};
}

}  // namespace pmukit::cli
