// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Clocks for the time stamps of an event (attr.clockid of perf_event_open(2)), and their names in
// perf record -k.
#pragma once

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pmukit {

struct NamedClock {
    int32_t id;             // CLOCK_*
    std::string_view name;  // as in <time.h>, in lower case and without CLOCK_
    std::string_view brief;
};

// The first two clocks work with every event. The kernel accepts the others only for events that
// never interrupt as an NMI.
constexpr NamedClock kClocks[] = {
    {CLOCK_MONOTONIC, "monotonic", "mono"},
    {CLOCK_MONOTONIC_RAW, "monotonic_raw", "raw"},
    {CLOCK_REALTIME, "realtime", "real"},
    {CLOCK_BOOTTIME, "boottime", "boot"},
    {CLOCK_TAI, "tai", "tai"},
};

// Returns the long and the brief names of all clocks, without repetitions.
inline std::vector<std::string> clock_words()
{
    std::vector<std::string> words;
    for (const NamedClock &clock : kClocks)
        for (std::string_view word : {clock.name, clock.brief})
            if (words.empty() || words.back() != word)
                words.emplace_back(word);
    return words;
}

// Converts to lower case and removes a "clock_" prefix: perf also accepts CLOCK_MONOTONIC.
inline std::string plain_clock_word(std::string word)
{
    constexpr std::string_view kPrefix = "clock_";
    for (char &c : word)
        if (c >= 'A' && c <= 'Z')
            c = static_cast<char>(c - 'A' + 'a');
    return word.starts_with(kPrefix) ? word.substr(kPrefix.size()) : word;
}

// Returns nullopt if no clock has this name.
inline std::optional<int32_t> clock_of_word(std::string_view word)
{
    const std::string plain = plain_clock_word(std::string(word));
    const NamedClock *clock = std::ranges::find_if(kClocks, [&plain](const NamedClock &known) {
        return known.name == plain || known.brief == plain;
    });
    return clock == std::end(kClocks) ? std::nullopt : std::optional(clock->id);
}

// Returns a name such as "CLOCK_MONOTONIC"; "clock 7" for an id that kClocks does not have.
inline std::string clock_name(int32_t id)
{
    const NamedClock *clock = std::ranges::find(kClocks, id, &NamedClock::id);
    if (clock == std::end(kClocks))
        return "clock " + std::to_string(id);
    std::string name = "CLOCK_";
    for (char c : clock->name)
        name += c == '_' ? c : static_cast<char>(c - 'a' + 'A');
    return name;
}

}  // namespace pmukit
