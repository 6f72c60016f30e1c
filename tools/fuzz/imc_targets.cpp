// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Fuzz targets of the imc driver. Its catalog parser must refuse a catalog or return valid units
// and events. Its reader of the trace buffer must deliver or count every record, whatever the
// buffer contains and even if the contents change at any time.
extern "C" {
#include "imc/imc_core.h"
}

#include <algorithm>
#include <cstring>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/targets.hpp"

namespace pmukit::fuzz {
namespace {

bool printable(const char *text)
{
    return std::ranges::all_of(std::string_view(text), [](char c) { return c >= ' ' && c < 0x7f; });
}

void check_events(const imc_catalog &catalog, const imc_unit &unit)
{
    hold(unit.first_event + unit.nr_events <= catalog.nr_events);
    std::set<std::string> names;
    for (u32 i = 0; i < unit.nr_events; i++) {
        const imc_event_desc &event = catalog.events[unit.first_event + i];
        hold(*event.name && names.insert(event.name).second);
        const std::string_view name = event.name;
        hold(!name.starts_with('.') && name.find_first_of("/@ ") == name.npos);
        hold(std::ranges::none_of(name, [](char c) { return c >= 'A' && c <= 'Z'; }));
        for (const char *suffix : {".scale", ".unit", ".per-pkg", ".snapshot"})
            hold(!name.ends_with(suffix));
        hold(unit.type == IMC_TYPE_TRACE || event.value + 8ULL <= unit.bytes);
        hold(!event.scale || printable(event.scale));
        hold(!event.unit || printable(event.unit));
    }
}

}  // namespace

void imc_catalog_blob(Bytes bytes)
{
    // An aligned copy of exactly the same size, so that sanitizers detect a read beyond its end.
    const std::vector<std::byte> blob(bytes.begin(), bytes.end());
    // These arrays are static and not zeroed for each input, because zeroing would take most of the
    // time.
    static std::vector<imc_unit> units(IMC_MAX_UNITS);
    static std::vector<imc_event_desc> events(IMC_MAX_EVENTS);
    imc_catalog catalog = {};
    catalog.units = units.data();
    catalog.events = events.data();
    const char *wrong = ::imc_catalog_parse(blob.data(), blob.size(), &catalog);
    hold(printable(catalog.path));
    for (u32 i = 0; i < catalog.nr_skipped && i < IMC_MAX_SKIPPED; i++)
        hold(printable(catalog.skipped[i].path) && catalog.skipped[i].why);
    if (wrong)
        return;
    hold(catalog.nr_units && catalog.nr_units <= IMC_MAX_UNITS);
    for (u32 i = 0; i < catalog.nr_units; i++)
        check_events(catalog, units[i]);
}

// Each step takes one input byte. A write takes nine more: one selects the word, and eight are its
// value.
void imc_ring_any(Bytes bytes)
{
    constexpr u32 kRecords = 8;
    std::vector<u64> words(kRecords * IMC_RECORD_WORDS);
    imc_ring ring;
    imc_ring_init(&ring, words.data(), static_cast<u32>(words.size() * sizeof(u64)));
    u64 record[IMC_RECORD_WORDS];

    while (!bytes.empty()) {
        const auto step = static_cast<unsigned>(bytes.front()) % 4;
        bytes = bytes.subspan(1);
        imc_ring_tally tally = {};
        const u64 before = ring.taken;
        if (step == 0 && bytes.size() >= 9) {
            std::memcpy(&words[static_cast<size_t>(bytes[0]) % words.size()], &bytes[1],
                        sizeof(u64));
            bytes = bytes.subspan(9);
        } else if (step == 1) {
            const bool elsewhere = ring.restarted;
            ::imc_ring_look(&ring, &tally);
            hold(ring.written - ring.taken <= kRecords);
            hold(elsewhere || ring.taken - before == tally.lost);
        } else if (step == 2) {
            const bool got = ::imc_ring_take(&ring, record, &tally) == IMC_RING_RECORD;
            hold(ring.taken - before == got + tally.lost + tally.rejected);
        } else if (step == 3) {
            ::imc_ring_drop(&ring, &tally);
            hold(ring.taken - before == tally.lost);
            // A restart skips records that imc_ring_look() has not seen. The reader does not count
            // these records as lost.
            ::imc_ring_restart(&ring);
            hold(ring.taken == ring.written);
        }
    }
}

}  // namespace pmukit::fuzz
