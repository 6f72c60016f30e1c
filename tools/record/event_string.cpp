// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "record/event_string.hpp"

#include <linux/perf_event.h>

#include <algorithm>

#include "base/number.hpp"
#include "base/suggest.hpp"
#include "record/supported.hpp"

namespace pmukit::record {
namespace {

constexpr const char *kShape = "expected pmu/term=value,.../modifiers";

Error bad_event(std::string_view text, const std::string &why)
{
    return Error{Errc::kUsage, "event '" + std::string(text) + "': " + why};
}

Error bad_event_at(std::string_view text, size_t at, const std::string &why)
{
    Error error = bad_event(text, "character " + std::to_string(at + 1) + ": " + why);
    error.offset = at;
    return error;
}

// Parsing

// Parses terms. `at` is the offset of the text in the event string.
std::vector<Term> parse_terms(std::string_view text, size_t at)
{
    std::vector<Term> terms;
    const char *begin = text.data();
    for (std::string_view part : split(text, ',')) {
        // Users may break a long event string over several lines, as the examples in the
        // documentation do.
        const std::string_view word = trim(part);
        if (!word.empty())
            part = word;
        const size_t equals = part.find('=');
        Term term{std::string(trim(part.substr(0, equals))), std::nullopt,
                  at + static_cast<size_t>(part.data() - begin)};
        if (equals != part.npos)
            term.value = trim(part.substr(equals + 1));
        terms.push_back(std::move(term));
    }
    return terms;
}

bool is_pmu_name(std::string_view name)
{
    // A PMU is one directory below the root: other paths are refused.
    return !name.empty() && name != "." && name != ".." &&
           name.find_first_of(std::string_view(",\0", 2)) == name.npos;
}

// Offsets of the parts of the event at the front of a text.
struct Extent {
    // The first slash or colon, or the end of the event.
    size_t name_end;
    // The first term, and the slash after the terms. Both are name_end if there are no slashes.
    size_t terms, close;
    // The first modifier, and the end of the event: the comma after it, or the end of the text.
    size_t letters, end;
};

// Returns the error for a name that has no slash and is not the name of a known event.
Error unknown_name(std::string_view all, size_t from, std::string_view text)
{
    const std::string_view word = trim(text);
    if (word.starts_with('{'))
        return bad_event_at(all, from, "groups need libpfm4 names: --pfm-events '{A,B}'");
    if (word.starts_with("mem:"))
        return bad_event_at(all, from, "breakpoints are not recorded here; perf record does it");
    if (const size_t colon = word.find(':');
        colon != word.npos && !perfdata::generic_event(word.substr(0, colon)))
        return bad_event_at(all, from,
                            "trace events are not recorded here; perf record does it, and `pmukit "
                            "top` shows those of pmukit's PMUs");
    return bad_event_at(all, from,
                        std::string(kShape) + " or a name such as cycles or cpu-clock" +
                            did_you_mean(word, perfdata::generic_names()) +
                            "; names of libpfm4 go to --pfm-events");
}

// Finds the extent of an event without slashes: name, or name:letters.
Result<Extent> find_plain_event(std::string_view all, size_t from)
{
    const size_t end = std::min(all.find(',', from), all.size());
    const size_t colon = std::min(all.find(':', from), end);
    if (!perfdata::generic_event(trim(all.substr(from, colon - from))))
        return unknown_name(all, from, all.substr(from, end - from));
    return Extent{colon, colon, colon, std::min(colon + 1, end), end};
}

// Finds the extent of an event with slashes: name/terms/letters.
Result<Extent> find_event(std::string_view all, size_t from)
{
    const size_t open = all.find('/', from);
    if (open == all.npos || all.find(',', from) < open || trim(all.substr(from)).starts_with('{'))
        return find_plain_event(all, from);
    const size_t close = all.find('/', open + 1);
    if (close == all.npos)
        return bad_event_at(all, open, "the '/' that closes this one is missing");
    return Extent{open, open + 1, close, close + 1, std::min(all.find(',', close + 1), all.size())};
}

// Removes the term name=, by which users of perf name an event.
void take_name(EventString &event)
{
    event.name = event.text;
    std::erase_if(event.terms, [&event](const Term &term) {
        const bool is_name = term.name == "name" && term.value && !term.value->empty();
        if (is_name)
            event.name = *term.value;
        return is_name;
    });
}

Result<EventString> parse_event(std::string_view all, size_t from, const Extent &extent)
{
    const std::string_view whole = trim(all.substr(from, extent.end - from));
    const size_t start = static_cast<size_t>(whole.data() - all.data());
    EventString event;
    event.text = whole;
    event.pmu = trim(all.substr(from, extent.name_end - from));
    event.generic = perfdata::generic_event(event.pmu);
    if (!is_pmu_name(event.pmu))
        return bad_event_at(
            all, from,
            wrong_text(Errc::kUsage, event.pmu, "is not the name of a PMU").message + "; " +
                kShape);
    event.terms =
        parse_terms(all.substr(extent.terms, extent.close - extent.terms), extent.terms - start);
    take_name(event);
    const std::string_view letters = trim(all.substr(extent.letters, extent.end - extent.letters));
    if (const auto fault = parse_modifiers(letters, event.modifiers))
        return bad_event_at(all, static_cast<size_t>(letters.data() - all.data()) + fault->at,
                            fault->why);
    return event;
}

// Encoding

std::vector<std::string> names_of_terms(const Pmu &pmu)
{
    std::vector<std::string> names;
    for (const auto &[name, field] : pmu.format)
        names.push_back(name);
    for (const auto &[name, terms] : pmu.events)
        names.push_back(name);
    return names;
}

std::string known_terms(const Pmu &pmu)
{
    std::string all;
    for (const std::string &name : names_of_terms(pmu))
        all += (all.empty() ? "" : ", ") + name;
    return all.empty() ? "none" : all;
}

// Returns the field for config, config1 ... config4. Like perf, pmukit accepts these names for
// every PMU.
std::optional<Field> whole_word(const std::string &name)
{
    Result<Field> field = parse_format(name + ":0-63");
    if (!field)
        return std::nullopt;
    return *field;
}

std::optional<Field> field_of(const Pmu &pmu, const std::string &name)
{
    if (auto found = pmu.format.find(name); found != pmu.format.end())
        return found->second;
    return whole_word(name);
}

// Returns the setting for a term that perf, not a PMU, defines: the sampling period or frequency.
std::optional<uint64_t> *sampling_term(const std::string &name, EventSettings &settings)
{
    if (name == "period")
        return &settings.period;
    return name == "freq" ? &settings.frequency_hz : nullptr;
}

// Terms that perf accepts for every PMU (perf-list(1), perf-record(1)), and pmukit does not.
constexpr std::pair<std::string_view, const char *> kTermsOfPerf[] = {
    {"call-graph", "-g or --call-graph applies to all events"},
    {"stack-size", "--call-graph dwarf,BYTES applies to all events"},
    {"time", "time stamps are always recorded; omit the term"},
    {"inherit", "child tasks are recorded unless -i is given; omit the term"},
    {"no-inherit", "-i applies to all events"},
    {"overwrite", "record --interval SECONDS,KEEP keeps the newest complete files"},
    {"no-overwrite", "nothing is overwritten; omit the term"},
    {"max-stack", "use perf record"},
    {"nr", "use perf record"},
    {"branch_type", "use perf record"},
    {"percore", "perf stat counts per core"},
    {"aux-output", "use perf record"},
    {"aux-sample-size", "use perf record"},
    {"aux-action", "use perf record"},
    {"metric-id", "use perf stat"},
};

const char *instead_of(const std::string &term)
{
    const auto *known =
        std::ranges::find(kTermsOfPerf, term, [](const auto &entry) { return entry.first; });
    return known == std::end(kTermsOfPerf) ? nullptr : known->second;
}

Result<void> apply_term(const EventString &event, const Pmu &pmu, const Term &term,
                        EventSettings &settings)
{
    const std::optional<Field> field = field_of(pmu, term.name);
    std::optional<uint64_t> *sampling = field ? nullptr : sampling_term(term.name, settings);
    if (const char *instead = field || sampling ? nullptr : instead_of(term.name))
        return bad_event_at(event.text, term.at,
                            "the term '" + term.name + "' is not supported; " + instead);
    if (!field && !sampling)
        return bad_event_at(event.text, term.at,
                            pmu.name + " has no " + (term.value ? "term '" : "event or term '") +
                                term.name + "'; it has: " + known_terms(pmu) +
                                did_you_mean(term.name, names_of_terms(pmu)));
    const Result<uint64_t> value = term.value ? parse_u64(*term.value) : Result<uint64_t>(1);
    if (!value)
        return bad_event_at(event.text, term.at, term.name + ": " + value.error().message);
    if (sampling && *value == 0)
        return bad_event_at(event.text, term.at, term.name + " must be at least 1");
    if (sampling) {
        *sampling = *value;
        return {};
    }
    if (Result<void> set = set_field(*field, *value, settings.words); !set)
        return bad_event_at(event.text, term.at,
                            term.name + "=" + term.value.value_or("1") + " " + set.error().message);
    return {};
}

bool is_given(const EventString &event, const std::string &name)
{
    return std::ranges::any_of(
        event.terms, [&name](const Term &term) { return term.name == name && term.value; });
}

// Sets the terms of an alias. For an alias with a term such as filter=?, the event string must give
// the value.
Result<void> apply_alias(const EventString &event, const Pmu &pmu, const Term &alias,
                         const std::string &text, EventSettings &settings)
{
    for (Term &part : parse_terms(text, 0)) {
        part.at = alias.at;
        if (part.value == "?" && is_given(event, part.name))
            continue;  // the user's term sets the value
        if (part.value == "?")
            return bad_event_at(event.text, alias.at,
                                alias.name + " needs a value of " + part.name + ": " + event.pmu +
                                    "/" + alias.name + "," + part.name + "=.../");
        if (Result<void> done = apply_term(event, pmu, part, settings); !done)
            return done;
    }
    return {};
}

size_t place_of(const EventString &event, const std::string &name)
{
    const auto found = std::ranges::find(event.terms, name, &Term::name);
    return found == event.terms.end() ? 0 : found->at;
}

}  // namespace

Result<std::vector<EventString>> parse_event_strings(std::string_view text)
{
    std::vector<EventString> events;
    if (trim(text).empty())
        return Error{Errc::kUsage, std::string("an event is empty; ") + kShape};
    for (size_t from = 0; from <= text.size();) {
        if (trim(text.substr(from)).empty())
            return bad_event_at(text, from - 1, "an event must follow this comma");
        const Result<Extent> extent = find_event(text, from);
        if (!extent)
            return extent.error();
        Result<EventString> event = parse_event(text, from, *extent);
        if (!event)
            return event.error();
        events.push_back(std::move(*event));
        from = extent->end + 1;
    }
    return events;
}

Result<Pmu> pmu_of(const std::string &root, const EventString &event)
{
    constexpr const char *kCorePmu = "cpu";
    if (!event.generic)
        return read_pmu(root, event.pmu);
    Pmu pmu;
    pmu.name = event.pmu;
    pmu.type = event.generic->type;
    if (pmu.type != PERF_TYPE_SOFTWARE)
        if (const Result<Pmu> core = read_pmu(root, kCorePmu))
            pmu.caps = core->caps;
    return pmu;
}

Result<EventSettings> encode_event(const EventString &event, const Pmu &pmu)
{
    EventSettings settings;
    settings.modifiers = event.modifiers;
    if (event.generic)
        settings.words[0] = event.generic->config;
    for (const Term &term : event.terms) {
        const auto alias = pmu.events.find(term.name);
        Result<void> done = term.value || alias == pmu.events.end()
                                ? apply_term(event, pmu, term, settings)
                                : apply_alias(event, pmu, term, alias->second, settings);
        if (!done)
            return done.error();
    }
    if (settings.period && settings.frequency_hz)
        return bad_event(event.text, "period and freq exclude each other; give one");
    if (const auto refusal = find_unsupported(pmu, settings.words))
        return bad_event_at(event.text, place_of(event, refusal->term), refusal->why);
    if (const auto why = fit_modifiers(pmu, settings.modifiers))
        return bad_event(event.text, *why);
    return settings;
}

}  // namespace pmukit::record
