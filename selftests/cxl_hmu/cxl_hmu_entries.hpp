// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Compares, entry by entry, what reached a recording with what the model says it put on a hot list.
// Shares no code with the decoder or the model.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace pmukit::checker {

// What an instance put on its list from one enable to the next.
struct ModelRun {
    std::vector<uint64_t> entries;  // raw, in order
    uint64_t epochs = 0;            // the last one that reported something, plus one
    uint64_t dropped = 0;           // hot, but the list was full
};

// "# pmukit entries log 1", then "# <instance> enabled" and "<instance> <epoch> <entry> [dropped]"
// lines; other instances and comments are passed over.
Result<std::vector<ModelRun>> read_entries_log(std::string_view text, std::string_view instance);

// The entries in the text of `pmukit dump`, or of the trace event cxl_hmu:cxl_hmu_record.
Result<std::vector<uint64_t>> read_dump(std::string_view text);
Result<std::vector<uint64_t>> read_trace(std::string_view text);

// What cxl_hmu_losses_test says of one case: "<key> <number>" lines, then the entries it got.
struct LossCase {
    uint64_t enables = 0;   // how often the event was enabled
    uint64_t handed = 0;    // entries the driver gave to perf, as perf counts them
    uint64_t lost = 0;      // entries the driver had and could not give
    uint64_t overflow = 0;  // 1: a record says that the list was full
    std::vector<uint64_t> entries;
};
Result<LossCase> read_loss_case(std::string_view text);

// `part` is what is left of `whole` when entries are taken out of it.
bool is_subsequence(const std::vector<uint64_t> &part, const std::vector<uint64_t> &whole);

// Runs [first, first + count) of a log as one.
Result<ModelRun> join_runs(const std::vector<ModelRun> &runs, size_t first, size_t count);

}  // namespace pmukit::checker
