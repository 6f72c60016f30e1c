// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The units of the suite as the command knows them: which PMU belongs to which, how to record it,
// and how its data is told from others'.
#pragma once

#include <optional>
#include <string_view>

#include "base/bytes.hpp"
#include "decode/cache_qos/cache_qos_decode.hpp"
#include "decode/cxl_hmu/cxl_hmu_decode.hpp"
#include "decode/hisi_ptt/hisi_ptt_decode.hpp"
#include "decode/hisi_ptt/hisi_ptt_record.hpp"
#include "decode/imc/imc_decode.hpp"

namespace pmukit::cli {

struct Unit {
    std::string_view name;
    std::string_view pmu_prefix;
    std::string_view example_terms;  // of the record line that `pmukit list` shows
    // The number that stock perf has for its AUX data, in AUXTRACE_INFO. 0: none.
    uint32_t auxtrace_type;
    // AUX data of a PMU whose name the file has lost.
    bool (*looks_like)(Bytes data);
    // The words in the raw payload of a sample. nullopt: it is another unit's.
    std::optional<Bytes> (*words_of_raw)(Bytes raw);
    // Its samples say something without a payload, too: where the program was.
    bool bare_samples = false;
};

inline constexpr Unit kUnits[] = {
    {"cache_qos", "cache_qos_aux", "snapshot", 0, decode::cache_qos::looks_like_records,
     decode::cache_qos::words_of_raw},
    {"cxl_hmu", "cxl_hmu_mem",
     "epoch_type=0,access_type=3,hotness_threshold=16,epoch_multiplier=1,epoch_scale=4,hotness_"
     "granual=12",
     0, decode::cxl_hmu::looks_like_record, decode::cxl_hmu::words_of_raw},
    {"hisi_ptt", "hisi_ptt", "filter=0000:00:10.0,type=1,direction=1,format=1", 6,
     decode::hisi_ptt::looks_like_entries, decode::hisi_ptt::words_of_raw},
    {"imc", "trace_imc", "trace_cycles", 0, decode::imc::looks_like_records,
     decode::imc::words_of_raw, true},
};

// nullptr: not one of ours.
constexpr const Unit *unit_of_pmu(std::string_view pmu)
{
    for (const Unit &unit : kUnits)
        if (pmu.starts_with(unit.pmu_prefix))
            return &unit;
    return nullptr;
}

constexpr const Unit *unit_of_auxtrace_type(uint32_t type)
{
    for (const Unit &unit : kUnits)
        if (type != 0 && unit.auxtrace_type == type)
            return &unit;
    return nullptr;
}

constexpr const Unit *unit_of_name(std::string_view name)
{
    for (const Unit &unit : kUnits)
        if (unit.name == name)
            return &unit;
    return nullptr;
}

}  // namespace pmukit::cli
