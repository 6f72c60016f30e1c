// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Runs three parsers on any bytes: the driver's parser of a discovery table, the driver's parser of
// event terms for a unit from this table, and the parser of `pmukit discover`.
#include "fuzz/targets.hpp"
#include "fuzz/uncore_pmon_compare.hpp"

namespace pmukit::fuzz {

namespace {

// The offset of a unit's first register has 8 bits, and at most 8 registers of 8 bytes follow.
constexpr u32 kMostUnitBytes = 255 + 8 * 8;
constexpr uint64_t kLongBar = uint64_t{1} << 21;
constexpr size_t kEntryWords = 3;
constexpr u32 kAllKinds =
    1U << UNCORE_PMON_GENERAL | 1U << UNCORE_PMON_FIXED | 1U << UNCORE_PMON_FREE;

// Checks that the driver assigns counters of the unit to an event or refuses the event, whatever
// the table contains.
void try_terms(const uncore_pmon_unit &unit, u64 config)
{
    uncore_pmon_config cfg;
    const char *wrong = uncore_pmon_config_parse(&unit, kAllKinds, config, 0, 0, &cfg);
    const u32 counters = (1U << unit.counters) - 1;
    if (!wrong && cfg.kind == UNCORE_PMON_GENERAL)
        hold(cfg.slots != 0 && (cfg.slots & ~counters) == 0);
    hold(uncore_pmon_unit_bytes(&unit, kAllKinds) <= kMostUnitBytes);
    hold(uncore_pmon_fold_ns(unit.width_bits) >= 1'000'000);
}

}  // namespace

// The input is a table. Its first three words are also parsed as a unit, and its fourth word as the
// terms of an event.
void uncore_pmon_table(Bytes bytes)
{
    for (const uint64_t bar_bytes : {uint64_t{bytes.size()}, kLongBar})
        hold(compare_table(bytes, bar_bytes).empty());

    u64 words[2 * kEntryWords + 1] = {};
    for (size_t i = 0; i <= kEntryWords && bytes.size() >= (i + 1) * sizeof(u64); i++)
        words[kEntryWords + i] = load_le<uint64_t>(bytes.data() + i * sizeof(u64));
    const uncore_pmon_global global = {
        .stride_words = kEntryWords, .max_units = 1, .access = 0, .control = 1};
    uncore_pmon_entry entry;
    uncore_pmon_table_decode(words, &global, &entry);
    if (entry.used && !entry.wrong)
        try_terms(entry.unit, words[2 * kEntryWords]);
}

}  // namespace pmukit::fuzz
