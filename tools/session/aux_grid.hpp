// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Where the entries in a stream of AUX data begin. A driver hands over whole entries while a trace
// runs, so each PERF_RECORD_AUX begins with one. The last record of a run may end inside of one, as
// the device left it: what follows it has a grid of its own.
//
//     AUX records   |-------------|-------------|-----|-------------|---
//     entries       |  |  |  |  |  |  |  |  |  |  |  :|  |  |  |  |  |
//                   one chain                        part of an entry
//
// Of AUX data without a record, because that did not fit into the ring, only both ends are known:
// its entries follow the record before, unless that leaves part of one in front of the next.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/budget.hpp"
#include "perfdata/records.hpp"

namespace pmukit::cli {

class AuxGrid {
public:
    struct Piece {
        // Entries begin here, behind or before the piece, and every entry_bytes; nullopt: it is
        // unknown where.
        std::optional<uint64_t> base;
        // Of the piece; UINT64_MAX: nothing that is known lies behind it.
        uint64_t begin, end;
    };

    explicit AuxGrid(uint64_t entry_bytes) : entry_bytes_(entry_bytes) {}

    // In order; one that lies before what is known is passed over.
    void note(const perfdata::AuxRecord &aux, Budget &left);
    // What the byte at this offset is part of. Before anything is known of a stream each of its
    // buffers begins with an entry; this one begins at buffer_begin.
    Piece at(uint64_t offset, uint64_t buffer_begin) const;
    // The end of what AUX records announce; UINT64_MAX: there were more than the budget allows.
    uint64_t announced() const { return full_ ? UINT64_MAX : known_end(); }

private:
    uint64_t known_end() const { return chains_.empty() ? 0 : chains_.back().end; }

    // Records that follow each other on one grid.
    struct Chain {
        uint64_t begin, end;
    };

    uint64_t entry_bytes_;
    bool full_ = false;
    std::vector<Chain> chains_;
};

}  // namespace pmukit::cli
