// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "record/modifiers.hpp"

#include <algorithm>
#include <cctype>

#include "base/number.hpp"
#include "record/sysfs_pmu.hpp"

namespace pmukit::record {
namespace {

constexpr unsigned kMostPrecise = 3;  // precise_ip has two bits
constexpr const char *kMaxPreciseCap = "max_precise";

// Which groups of mode letters (levels, sides) occurred. As in perf, the first letter of a group
// excludes all modes of the group, and each letter includes its own mode again.
struct Named {
    bool level = false, side = false;
};

void only_levels(Named &named, Modifiers &to)
{
    if (!named.level)
        to.exclude_user = to.exclude_kernel = to.exclude_hv = true;
    named.level = true;
}

void only_sides(Named &named, Modifiers &to)
{
    if (!named.side)
        to.exclude_guest = to.exclude_host = true;
    named.side = true;
}

struct Letter {
    char letter;
    void (*apply)(Named &, Modifiers &);  // nullptr: perf knows the letter, but pmukit refuses it
    const char *meaning;                  // for a refused letter: the reason for the refusal
};

constexpr Letter kLetters[] = {
    {'u', [](Named &n, Modifiers &m) { only_levels(n, m), m.exclude_user = false; }, "user"},
    {'k', [](Named &n, Modifiers &m) { only_levels(n, m), m.exclude_kernel = false; }, "kernel"},
    {'h', [](Named &n, Modifiers &m) { only_levels(n, m), m.exclude_hv = false; }, "hypervisor"},
    {'G', [](Named &n, Modifiers &m) { only_sides(n, m), m.exclude_guest = false; }, "guests"},
    {'H', [](Named &n, Modifiers &m) { only_sides(n, m), m.exclude_host = false; }, "host"},
    {'I', [](Named &, Modifiers &m) { m.exclude_idle = true; }, "not while idle"},
    {'p', [](Named &, Modifiers &m) { m.precise++; }, "precise, up to ppp"},
    {'P', [](Named &, Modifiers &m) { m.most_precise = true; }, "as precise as it can"},
    {'S', [](Named &, Modifiers &m) { m.sample_value = true; }, "count in each sample"},
    {'D', [](Named &, Modifiers &m) { m.pinned = true; }, "pinned"},
    {'e', [](Named &, Modifiers &m) { m.exclusive = true; }, "exclusive"},
    {'W', nullptr, "(weak group) is about groups of events, and this one is in none"},
    {'b', nullptr, "(BPF counters) counts only, and this records; use perf stat"},
    {'R', nullptr, "(retire latency) counts only, and this records; use perf stat"},
    {'X', nullptr, "(own group) is about groups of events, and this one is in none"},
};

std::string known_letters()
{
    std::string all;
    for (const Letter &known : kLetters)
        if (known.apply)
            all.append(all.empty() ? "" : ", ")
                .append(1, known.letter)
                .append(" ")
                .append(known.meaning);
    return all;
}

std::string unknown_letter(char letter)
{
    const auto other_case = std::ranges::find_if(kLetters, [letter](const Letter &known) {
        return known.apply && std::tolower(static_cast<unsigned char>(known.letter)) ==
                                  std::tolower(static_cast<unsigned char>(letter));
    });
    std::string why = wrong_text(Errc::kUsage, {&letter, 1}, "is not a modifier; known: ").message;
    why += known_letters();
    if (other_case != std::end(kLetters))
        why.append("; did you mean ").append(1, other_case->letter).append("?");
    return why;
}

std::optional<std::string> fault_of(std::string_view letters, size_t at)
{
    const char letter = letters[at];
    const Letter *known = std::ranges::find(kLetters, letter, &Letter::letter);
    if (known == std::end(kLetters))
        return unknown_letter(letter);
    if (!known->apply)
        return wrong_text(Errc::kUsage, {&letter, 1}, known->meaning).message;
    const auto seen = std::ranges::count(letters.substr(0, at), letter);
    if (seen >= (letter == 'p' ? kMostPrecise : 1))
        return wrong_text(Errc::kUsage, {&letter, 1}, "is given too often").message;
    if ((letter == 'p' || letter == 'P') &&
        letters.substr(0, at).find(letter == 'p' ? 'P' : 'p') != letters.npos)
        return "'p' and 'P' exclude each other; give one";
    return std::nullopt;
}

unsigned max_precise(const Pmu &pmu)
{
    const auto cap = pmu.caps.find(kMaxPreciseCap);
    const Result<uint64_t> most = parse_u64(cap == pmu.caps.end() ? "0" : cap->second);
    return most ? static_cast<unsigned>(std::min<uint64_t>(*most, kMostPrecise)) : 0;
}

}  // namespace

std::optional<ModifierFault> parse_modifiers(std::string_view letters, Modifiers &result)
{
    Named named;
    result = {};
    for (size_t at = 0; at < letters.size(); at++) {
        if (std::optional<std::string> why = fault_of(letters, at))
            return ModifierFault{at, *why};
        std::ranges::find(kLetters, letters[at], &Letter::letter)->apply(named, result);
    }
    result.usual_sides = !named.side;
    // Precise events cannot sample guests, so guests are excluded, as in perf.
    if (result.precise && !named.side)
        result.exclude_guest = true;
    return std::nullopt;
}

std::optional<std::string> fit_modifiers(const Pmu &pmu, Modifiers &modifiers)
{
    const unsigned most = max_precise(pmu);
    if (modifiers.precise > most)
        return std::string(modifiers.precise, 'p') + " is not supported by " + pmu.name +
               "; supported: " + (most ? "up to " + std::string(most, 'p') : "none of them") +
               " (caps/max_precise)";
    if (modifiers.most_precise)
        modifiers.precise = most;
    modifiers.most_precise = false;
    const bool by_whom = modifiers.exclude_user || modifiers.exclude_kernel ||
                         modifiers.exclude_hv || modifiers.exclude_guest ||
                         modifiers.exclude_host || modifiers.exclude_idle;
    if (pmu.cpumask && by_whom)
        return pmu.name +
               " is system-wide (cpumask) and cannot select tasks or modes; drop u, k, h, G, H and "
               "I";
    return std::nullopt;
}

}  // namespace pmukit::record
