// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Finds where entries begin in a stream of AUX data. While a trace runs, the driver delivers whole
// entries, so each PERF_RECORD_AUX begins with an entry. When the trace stops, the last record may
// end inside an entry. The data of the next trace then starts a new grid of entries.
//
//     AUX records   |-------------|-------------|-----|-------------|---
//     entries       |  |  |  |  |  |  |  |  |  |  |  :|  |  |  |  |  |
//                   one chain                        part of an entry
//
// If an AUX record did not fit into the ring, the range of its data is known only from the AUX
// records before and after it. If this range has a whole number of entries, its first entry begins
// where the data of the previous record ends. Otherwise, it is unknown where the entries begin.
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
        // Offset of an entry; further entries begin every entry_bytes bytes. nullopt: unknown.
        std::optional<uint64_t> base;
        // Range of the piece; end is UINT64_MAX if no later record is known.
        uint64_t begin, end;
    };

    explicit AuxGrid(uint64_t entry_bytes) : entry_bytes_(entry_bytes) {}

    // Call with the AUX records in stream order. A record that begins before announced() is
    // ignored.
    void note(const perfdata::AuxRecord &aux, Budget &left);
    // Returns the piece that contains offset. Before the stream's first AUX record, each buffer is
    // assumed to begin with an entry; the buffer that contains offset begins at buffer_begin.
    Piece at(uint64_t offset, uint64_t buffer_begin) const;
    // End of the last announced range; UINT64_MAX: records were dropped for lack of budget.
    uint64_t announced() const { return full_ ? UINT64_MAX : known_end(); }

private:
    uint64_t known_end() const { return chains_.empty() ? 0 : chains_.back().end; }

    // Adjacent AUX records; entries begin at multiples of entry_bytes_ from `begin`.
    struct Chain {
        uint64_t begin, end;
    };

    uint64_t entry_bytes_;
    bool full_ = false;
    std::vector<Chain> chains_;
};

}  // namespace pmukit::cli
