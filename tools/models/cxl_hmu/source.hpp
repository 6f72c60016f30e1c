// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// A synthetic workload whose requests belong to epochs and have no times. The requests of epoch n
// depend only on the parameters and on n, not on the caller, the order or the time of calls. So two
// runs can be compared entry by entry.
//
//   uniform     every unit equally often
//   zipf        few units often, most units rarely; the seed selects the hot ones
//   sequential  line after line, continuing from the previous epoch
//   phase       nine of ten accesses go to a hot set, which moves every `period` epochs
//   bursts      one unit `burst` times in a row, then another
//   replay      a text trace, `accesses` lines per epoch
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "models/cxl_hmu/request.hpp"

namespace pmukit::models::cxl_hmu {

// Memory that the largest range bitmap covers.
inline constexpr uint64_t kSourceMaxDpa = uint64_t{1} << 40;

enum class Pattern { kUniform, kZipf, kSequential, kPhase, kBursts, kReplay };

struct SourceParams {
    Pattern pattern = Pattern::kUniform;
    uint64_t seed = 1;
    uint64_t accesses = 2000;    // accesses per epoch
    uint64_t epochs = 0;         // 0: unlimited
    uint64_t room = 0;           // an epoch starts once the hot list has so many free entries
    uint64_t units = 4096;       // number of units accessed, beginning at base
    uint64_t unit_bytes = 4096;  // a power of two; software may program another unit size
    uint64_t base = 0;           // first DPA, a multiple of unit_bytes
    uint64_t writes = 0;         // percentage of writes; the other accesses are reads
    uint64_t tee = 0;            // percentage of accesses by a trusted execution environment
    uint64_t skew = 100;         // zipf: the exponent in hundredths
    uint64_t hot = 64;           // phase: number of units in the hot set
    uint64_t period = 4;         // phase: epochs until the hot set moves
    uint64_t burst = 32;         // bursts: accesses to one unit in a row
    std::string file{};          // replay: path of the trace
};

// Parses PATTERN[:KEY=VALUE[,KEY=VALUE]...], for example zipf:seed=1,accesses=2000,epochs=8. An
// error message is one line that names the KEY=VALUE word and its limits.
Result<SourceParams> parse_source(std::string_view text);

class Source {
public:
    // Reads the trace of a replay. params must come from parse_source().
    static Result<Source> create(SourceParams params);

    // The requests of an epoch, in order; none if ended(number).
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
    std::vector<Request> trace_;     // replay: the requests of the trace
    std::vector<uint32_t> order_;    // the units, hottest first
    std::vector<double> weight_to_;  // zipf: sum of the weights up to this rank
};

}  // namespace pmukit::models::cxl_hmu
