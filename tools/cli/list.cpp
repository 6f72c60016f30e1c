// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// pmukit list: the PMUs of pmukit's drivers on this machine, the terms of each, and a command that
// records or counts with the PMU.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/escape.hpp"
#include "base/number.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/drivers.hpp"
#include "cli/suite.hpp"
#include "record/pfm_events.hpp"
#include "record/sysfs_pmu.hpp"

namespace pmukit::cli {
namespace {

using nlohmann::ordered_json;

std::string recorded_with(const record::Pmu &pmu, const DriverDescription &driver)
{
    return fmt::format("pmukit record -a -e {}/{}/ -- sleep 1", pmu.name, driver.example_terms);
}

// Returns a perf stat command. A PMU without a cpumask counts for tasks, so -a is left out.
std::string counted_with(const record::Pmu &pmu)
{
    return fmt::format("perf stat {}-e {}/{}/ -- sleep 1", pmu.cpumask ? "-a " : "", pmu.name,
                       pmu.events.empty() ? "config=1" : pmu.events.begin()->first);
}

// Values of a term that the PMU supports, if the file of the same name in caps/ lists some.
std::vector<TermValue> values_of(const record::Pmu &pmu, const Term &term)
{
    const auto cap = pmu.caps.find(std::string(term.name));
    const std::vector<std::string_view> supported =
        cap == pmu.caps.end() ? std::vector<std::string_view>() : split(cap->second, ' ');
    std::vector<TermValue> values;
    for (const TermValue &one : term.values)
        if (supported.empty() ||
            std::ranges::find(supported, std::to_string(one.value)) != supported.end())
            values.push_back(one);
    return values;
}

// nullptr: the PMU only counts, or the term is unknown.
const Term *find_term(const record::Pmu &pmu, std::string_view name)
{
    const DriverDescription *const driver = recorder_of_pmu(pmu.name);
    if (!driver)
        return nullptr;
    const auto found = std::ranges::find(driver->terms, name, &Term::name);
    return found == driver->terms.end() ? nullptr : &*found;
}

std::string meaning_of(const record::Pmu &pmu, std::string_view name)
{
    const Term *const term = find_term(pmu, name);
    if (!term)
        return {};
    std::string meaning;
    for (const TermValue &one : values_of(pmu, *term))
        meaning += fmt::format("{}{} {}", meaning.empty() ? "" : ", ", one.value, one.meaning);
    return meaning.empty() ? std::string(term->unit) : meaning;
}

void print_pmu(const record::Pmu &pmu, std::string_view driver, Output &out)
{
    out.print("{}  driver {}", pmu.name, driver);
    if (pmu.cpumask)
        out.print("  cpumask {}", joined(*pmu.cpumask, ","));
    out.print("\n  terms:");
    for (const auto &[name, field] : pmu.format)
        out.print(" {}", name);
    out.text("\n");
    for (const auto &[name, field] : pmu.format)
        if (const std::string meaning = meaning_of(pmu, name); !meaning.empty())
            out.print("    {}: {}\n", name, meaning);
    if (!pmu.caps.empty())
        out.text("  caps:\n");
    for (const auto &[name, value] : pmu.caps)
        out.print("    {} = {}\n", name, value);
    if (const DriverDescription *recorded = recorder_of_pmu(pmu.name))
        out.print("  record: {}\n", recorded_with(pmu, *recorded));
    else
        out.print("  count: {}\n", counted_with(pmu));
}

ordered_json json_of(const record::Pmu &pmu, std::string_view driver)
{
    ordered_json terms = ordered_json::array(), values = ordered_json::object();
    for (const auto &[name, field] : pmu.format) {
        terms.push_back(name);
        if (const Term *const term = find_term(pmu, name))
            for (const TermValue &one : values_of(pmu, *term))
                values[name][std::to_string(one.value)] = one.meaning;
    }
    ordered_json json = {{"name", pmu.name},   {"type", pmu.type},  {"driver", driver},
                         {"cpumask", nullptr}, {"terms", terms},    {"term_values", values},
                         {"caps", pmu.caps},   {"record", nullptr}, {"count", nullptr}};
    if (pmu.cpumask)
        json["cpumask"] = *pmu.cpumask;
    if (const DriverDescription *recorded = recorder_of_pmu(pmu.name))
        json["record"] = recorded_with(pmu, *recorded);
    else
        json["count"] = counted_with(pmu);
    return json;
}

std::string recorded_with(const OtherSource &source)
{
    return fmt::format("pmukit record -e {}// -- sleep 1", source.name);
}

void print_source(const OtherSource &source, std::string_view driver, const ListedSource &listed,
                  Output &out)
{
    out.print("{}  driver {}  mounted on {}\n", source.name, driver, listed.mounted_on);
    out.print("  events: {}\n  domains: {}\n", joined(listed.events, " "),
              joined(listed.domains, " "));
    if (listed.rmids)
        out.print("  RMIDs: {}\n", listed.rmids);
    if (!listed.assign_mode.empty())
        out.print("  bandwidth counters: assigned ({})\n", listed.assign_mode);
    out.text("  groups:\n");
    for (const ListedSource::Group &group : listed.groups)
        out.print("    {}{}{}{}\n", escape(group.path), group.mode.empty() ? "" : "  ", group.mode,
                  group.members.empty() ? "" : "  " + escape(group.members));
    out.print("  {}\n  record: {}\n", listed.meaning, recorded_with(source));
}

ordered_json json_of(const OtherSource &source, std::string_view driver, const ListedSource &listed)
{
    ordered_json groups = ordered_json::array();
    for (const ListedSource::Group &group : listed.groups)
        groups.push_back({{"path", group.path}, {"mode", group.mode}, {"members", group.members}});
    return {{"name", source.name},
            {"driver", driver},
            {"mounted_on", listed.mounted_on},
            {"events", listed.events},
            {"domains", listed.domains},
            {"rmids", listed.rmids},
            {"assign_mode", listed.assign_mode},
            {"groups", groups},
            {"meaning", listed.meaning},
            {"record", recorded_with(source)}};
}

// Lists the other sources that this machine has. Returns their number.
size_t list_sources(const Host &host, ordered_json *json, Output &out)
{
    size_t found = 0;
    for (const DriverDescription *driver : drivers()) {
        const std::optional<ListedSource> listed =
            driver->other_source ? driver->other_source->list(host) : std::nullopt;
        if (!listed)
            continue;
        if (json)
            (*json)["sources"].push_back(json_of(*driver->other_source, driver->name, *listed));
        else
            print_source(*driver->other_source, driver->name, *listed, out);
        found++;
    }
    return found;
}

Result<int> list_pfm(const ListOptions &options, Output &out)
{
    const Result<std::vector<record::PfmListed>> events = record::list_pfm_events();
    if (!events)
        return events.error();
    ordered_json json;
    if (options.json)
        json["events"] = ordered_json::array();
    for (const record::PfmListed &event : *events)
        if (options.json)
            json["events"].push_back({{"name", event.name}, {"description", event.description}});
        else
            out.print("{}  {}\n", event.name, event.description);
    if (options.json)
        print_json(json, out);
    return kExitGood;
}

}  // namespace

Result<int> run_list(const ListOptions &options, Output &out)
{
    if (options.pfm)
        return list_pfm(options, out);
    const Host host(options.root);
    const std::string folder = host.path(kPmus);
    auto pmus = record::list_pmus(folder);
    if (!pmus)
        return pmus.error();
    size_t found = 0;
    ordered_json json;
    if (options.json)
        json = {{"pmus", ordered_json::array()}, {"sources", ordered_json::array()}};
    for (const auto &[name, type] : *pmus) {
        const std::optional<std::string_view> driver = driver_on(host, name);
        if (!driver)
            continue;
        Result<record::Pmu> pmu = record::read_pmu(folder, name);
        if (!pmu)
            return pmu.error();
        if (options.json)
            json["pmus"].push_back(json_of(*pmu, *driver));
        else
            print_pmu(*pmu, *driver, out);
        found++;
    }
    found += list_sources(host, options.json ? &json : nullptr, out);
    if (options.json)
        print_json(json, out);
    if (found)
        return kExitGood;
    return Error{Errc::kNotFound,
                 fmt::format("no PMU of pmukit in {}; load a module and check dmesg for its "
                             "device, or see pmukit doctor",
                             folder)};
}

}  // namespace pmukit::cli
