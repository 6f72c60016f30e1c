// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "record/event_string.hpp"

#include "base/number.hpp"
#include "base/suggest.hpp"

namespace pmukit::record {
namespace {

Error bad_event(std::string_view text, const std::string &why)
{
    return Error{Errc::kUsage, "event '" + std::string(text) + "': " + why};
}

std::vector<Term> parse_terms(std::string_view text)
{
    std::vector<Term> terms;
    for (std::string_view part : split(text, ',')) {
        // People break long event strings over lines, as the examples do.
        part = trim(part);
        size_t equals = part.find('=');
        Term term{std::string(part.substr(0, equals)), std::nullopt};
        if (equals != part.npos)
            term.value = part.substr(equals + 1);
        terms.push_back(std::move(term));
    }
    return terms;
}

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

// config .. config4 are understood for every PMU, as perf does it.
std::optional<Field> whole_word(const std::string &name)
{
    Result<Field> field = parse_format(name + ":0-63");
    if (!field)
        return std::nullopt;
    return *field;
}

Result<void> apply_term(const EventString &event, const Pmu &pmu, const Term &term,
                        ConfigWords &words)
{
    std::optional<Field> field;
    if (auto found = pmu.format.find(term.name); found != pmu.format.end())
        field = found->second;
    else
        field = whole_word(term.name);
    if (!field)
        return bad_event(event.text, pmu.name + " has no term '" + term.name +
                                         "'; it has: " + known_terms(pmu) +
                                         did_you_mean(term.name, names_of_terms(pmu)));
    Result<uint64_t> value = term.value ? parse_u64(*term.value) : Result<uint64_t>(1);
    if (!value)
        return bad_event(event.text, term.name + ": " + value.error().message);
    if (Result<void> set = set_field(*field, *value, words); !set)
        return bad_event(event.text,
                         term.name + "=" + term.value.value_or("1") + " " + set.error().message);
    return {};
}

}  // namespace

Result<std::vector<EventString>> parse_event_strings(std::string_view text)
{
    std::vector<EventString> events;
    while (!text.empty()) {
        size_t open = text.find('/');
        if (open == text.npos || open == 0)
            return bad_event(text, "expected pmu/term=value,.../");
        size_t close = text.find('/', open + 1);
        if (close == text.npos)
            return bad_event(text, "the closing '/' is missing");
        EventString event;
        event.text = text.substr(0, close + 1);
        event.pmu = trim(text.substr(0, open));
        event.terms = parse_terms(text.substr(open + 1, close - open - 1));
        // A PMU is one folder below its root, whatever the caller writes.
        if (event.pmu.empty() || event.pmu == "." || event.pmu == ".." ||
            event.pmu.find(',') != std::string::npos)
            return bad_event(event.text, "'" + event.pmu + "' is not the name of a PMU");
        events.push_back(std::move(event));
        text.remove_prefix(close + 1);
        if (text.empty())
            break;
        if (text.front() != ',' || text.size() == 1)
            return bad_event(
                text,
                "expected a comma and another event behind the '/'; modifiers are not supported");
        text.remove_prefix(1);
    }
    if (events.empty())
        return Error{Errc::kUsage, "an event is empty; expected pmu/term=value,.../"};
    return events;
}

Result<ConfigWords> encode_terms(const EventString &event, const Pmu &pmu)
{
    ConfigWords words{};
    for (const Term &term : event.terms) {
        auto alias = pmu.events.find(term.name);
        if (term.value || alias == pmu.events.end()) {
            if (Result<void> done = apply_term(event, pmu, term, words); !done)
                return done.error();
            continue;
        }
        for (const Term &part : parse_terms(alias->second))
            if (Result<void> done = apply_term(event, pmu, part, words); !done)
                return done.error();
    }
    return words;
}

}  // namespace pmukit::record
