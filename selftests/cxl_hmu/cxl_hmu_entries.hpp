// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Compares the entries of a recording one by one with the entries that the model put on a hot list.
// Shares no code with the decoder or the model.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace pmukit::checker {

// The entries that an instance of the model put on its hot list from one enable to the next.
struct ModelRun {
    std::vector<uint64_t> entries;  // raw, in order
    uint64_t epochs = 0;            // the last epoch with an entry, plus one
    uint64_t dropped = 0;           // hot units that were dropped because the list was full
};

// Parses "# pmukit entries log 1", followed by lines "# <instance> enabled" and "<instance> <epoch>
// <entry> [dropped]". Skips lines of other instances, and other comments.
Result<std::vector<ModelRun>> read_entries_log(std::string_view text, std::string_view instance);

// Return the entries in the text of `pmukit dump`, or of the trace event cxl_hmu:cxl_hmu_record.
Result<std::vector<uint64_t>> read_dump(std::string_view text);
Result<std::vector<uint64_t>> read_trace(std::string_view text);

// The file of a case of cxl_hmu_losses_test: lines "<key> <number>", then the received entries.
struct LossCase {
    uint64_t enables = 0;   // how often the event was enabled
    uint64_t handed = 0;    // entries the driver delivered, as counted by perf
    uint64_t lost = 0;      // entries the driver could not deliver
    uint64_t overflow = 0;  // 1: a record reports that the list was full
    std::vector<uint64_t> entries;
};
Result<LossCase> read_loss_case(std::string_view text);

// True if `part` is `whole` with some entries removed.
bool is_subsequence(const std::vector<uint64_t> &part, const std::vector<uint64_t> &whole);

// Concatenates the runs of a log with the indexes [first, first + count).
Result<ModelRun> join_runs(const std::vector<ModelRun> &runs, size_t first, size_t count);

}  // namespace pmukit::checker
