// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The driver's reader of a discovery table, its reader of event terms for every unit that comes
// out, and the reader of pmukit discover, on any bytes.
#include <cstdio>
#include <cstdlib>

#include "fuzz/uncore_pmon_compare.hpp"

namespace {

// Whatever the table says, what is derived from a unit stays within 256 + 8 * 8 bytes of its
// address, and an event has a counter of the unit, or is refused.
void try_terms(const uncore_pmon_unit &unit, u64 config)
{
    uncore_pmon_config cfg;
    const char *wrong = uncore_pmon_config_parse(&unit, true, config, 0, 0, &cfg);
    const u32 counters = (1U << unit.counters) - 1;
    if (!wrong && cfg.kind == UNCORE_PMON_GENERAL && (!cfg.slots || cfg.slots & ~counters))
        std::abort();
    if (uncore_pmon_unit_bytes(&unit) > 256 + 64 || uncore_pmon_fold_ns(unit.width_bits) < 1000000)
        std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const pmukit::Bytes bytes = std::as_bytes(std::span(data, size));
    // A BAR that is longer than the bytes, and one that is not.
    for (const uint64_t bar_bytes : {uint64_t{size}, uint64_t{1} << 21}) {
        const std::string differs = pmukit::fuzz::compare_table(bytes, bar_bytes);
        if (!differs.empty()) {
            std::fprintf(stderr, "%s\n", differs.c_str());
            std::abort();
        }
    }
    uncore_pmon_entry entry;
    u64 words[7] = {};
    for (size_t i = 0; i < 7 && size >= (i + 1) * 8; i++)
        words[i] = pmukit::load_le<uint64_t>(bytes.data() + i * 8);
    const uncore_pmon_global global = {
        .stride_words = 3, .max_units = 1, .access = 0, .control = 1};
    uncore_pmon_table_decode(words, &global, &entry);
    if (entry.used && !entry.wrong)
        try_terms(entry.unit, words[6]);
    return 0;
}
