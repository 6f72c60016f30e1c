// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// A synthetic workload that knows epochs instead of time: epoch n is a list of requests that
// depends on the parameters and on n, and on nothing else. So it does not matter which caller asks,
// how often or when, and two runs can be compared entry by entry.
//
//   uniform     every unit alike
//   zipf        a few units much, most hardly; which are hot, the seed says
//   sequential  line after line, from where the epoch before ended
//   phase       nine accesses of ten go to a hot set, which moves every `period` epochs
//   bursts      one unit `burst` times in a row, then another
//   replay      a text trace, `accesses` of its lines an epoch
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "models/cxl_hmu/request.hpp"

namespace pmukit::models::cxl_hmu {

// What the largest range bitmap covers.
inline constexpr uint64_t kSourceMaxDpa = uint64_t{1} << 40;

enum class Pattern { kUniform, kZipf, kSequential, kPhase, kBursts, kReplay };

struct SourceParams {
    Pattern pattern = Pattern::kUniform;
    uint64_t seed = 1;
    uint64_t accesses = 2000;    // of an epoch
    uint64_t epochs = 0;         // 0: goes on
    uint64_t room = 0;           // an epoch waits for so many free entries of the hot list
    uint64_t units = 4096;       // from base on; what it touches
    uint64_t unit_bytes = 4096;  // a power of two; need not be the unit that software programs
    uint64_t base = 0;           // DPA, a multiple of unit_bytes
    uint64_t writes = 0;         // percent; the others are reads
    uint64_t tee = 0;            // percent; made by a trusted execution environment
    uint64_t skew = 100;         // zipf: the exponent in hundredths
    uint64_t hot = 64;           // phase: units of the hot set
    uint64_t period = 4;         // phase: epochs until it moves
    uint64_t burst = 32;         // bursts: accesses in a row
    std::string file{};          // replay
};

// PATTERN[:KEY=VALUE[,KEY=VALUE]...], as zipf:seed=1,accesses=2000,epochs=8. A wrong text is
// answered with one line that names the word and its limits.
Result<SourceParams> parse_source(std::string_view text);

class Source {
public:
    // Reads the trace of a replay. params are as parse_source() made them.
    static Result<Source> create(SourceParams params);

    // The requests of an epoch, in order; none once ended(epoch).
    std::vector<Request> epoch(uint64_t number) const;
    bool ended(uint64_t epoch) const;
    uint64_t room() const { return params_.room; }

private:
    class Random;

    explicit Source(SourceParams params);
    Result<void> read_trace();
    void shuffle_units();
    void add_weights();
    uint64_t offset(Random &random, uint64_t epoch, uint64_t access) const;
    uint64_t unit(Random &random, uint64_t epoch, uint64_t access) const;

    SourceParams params_;
    std::vector<Request> trace_;     // replay
    std::vector<uint32_t> order_;    // the units, hottest first
    std::vector<double> weight_to_;  // zipf: sum of the weights up to this rank
};

}  // namespace pmukit::models::cxl_hmu
