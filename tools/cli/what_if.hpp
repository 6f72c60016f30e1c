// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// pmukit what-if: replays an access log or a recording of hot memory through the model of the
// hotness monitoring unit and through placement policies.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "console/output.hpp"
#include "decode/time_grid.hpp"
#include "whatif/combinations.hpp"
#include "whatif/replay.hpp"

namespace pmukit::cli {

struct WhatIfOptions {
    std::string input = "perf.data";
    // The values of whatif::dimensions(); empty: the usual value.
    std::vector<std::string> values = std::vector<std::string>(whatif::dimensions().size());
    bool randomized = false;
    std::string page_bytes = "4096";
    uint64_t hot_units = 64;
    uint64_t move_cost = 64;
    std::string pmu;  // recordings: the PMU to replay; empty: the only one
    bool json = false;
    std::string html;    // HTML file to write instead of text; empty: prints text
    bool force = false;  // see begin_output()
};

// What a replay found, for output.
struct WhatIf {
    whatif::Input input = whatif::kLog;
    std::string name;                   // of the input, for messages
    std::string pmu;                    // of a recording
    std::optional<std::string> source;  // "model": the unit is emulated, as for every log
    std::vector<whatif::Combination> combinations{};
    std::vector<whatif::Outcome> outcomes{};  // in the same order
    whatif::Common common{};
    uint64_t accesses = 0;
    bool always_on = false;  // recordings: times seen are counted, not accesses
    unsigned unit_log2 = 0;  // of the first combination
    // Heat by address and by time in ns (recordings) or by the number of the epoch (logs).
    decode::AddressGrid heat{};
    // What is missing, or what the input cannot tell: lines of text.
    std::vector<std::string> losses{}, notes{};
};

void print_what_if(const WhatIf &result, Output &out);
void write_what_if_json(const WhatIf &result, const WhatIfOptions &options, Output &out);
Result<perfdata::NewFile> write_what_if_page(const WhatIf &result, const std::string &path);

Result<int> run_what_if(const WhatIfOptions &options, Output &out);

}  // namespace pmukit::cli
