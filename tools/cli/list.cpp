// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The suite's PMUs on this machine, what each can do, and a line that records it.
#include "base/number.hpp"
#include "cli/commands.hpp"
#include "cli/units.hpp"
#include "record/pfm_events.hpp"
#include "record/sysfs_pmu.hpp"

namespace pmukit::cli {
namespace {

std::string joined(const std::vector<int> &cpus)
{
    return fmt::format("{}", fmt::join(cpus, ","));
}

void print_pmu(const record::Pmu &pmu, const Unit &unit, Output &out)
{
    out.print("{}  unit {}", pmu.name, unit.name);
    if (pmu.cpumask)
        out.print("  cpumask {}", joined(*pmu.cpumask));
    out.print("\n  terms:");
    for (const auto &[term, field] : pmu.format)
        out.print(" {}", term);
    out.text("\n");
    if (!pmu.caps.empty())
        out.text("  caps:\n");
    for (const auto &[name, value] : pmu.caps)
        out.print("    {} = {}\n", name, value);
    out.print("  record: pmukit record -a -e {}/{}/ -- sleep 1\n", pmu.name, unit.example_terms);
}

Result<int> list_pfm(Output &out)
{
    const Result<std::vector<record::PfmListed>> events = record::list_pfm_events();
    if (!events)
        return events.error();
    for (const record::PfmListed &event : *events)
        out.print("{}  {}\n", event.name, event.description);
    return kExitGood;
}

}  // namespace

Result<int> run_list(const ListOptions &options, Output &out)
{
    if (options.pfm)
        return list_pfm(out);
    auto pmus = record::list_pmus(options.sysfs_root);
    if (!pmus)
        return pmus.error();
    size_t found = 0;
    for (const auto &[name, type] : *pmus) {
        const Unit *unit = unit_of_pmu(name);
        if (!unit)
            continue;
        Result<record::Pmu> pmu = record::read_pmu(options.sysfs_root, name);
        if (!pmu)
            return pmu.error();
        print_pmu(*pmu, *unit, out);
        found++;
    }
    if (found)
        return kExitGood;
    std::string units;
    for (const Unit &unit : kUnits)
        units += (units.empty() ? "" : ", ") + std::string(unit.name);
    return Error{
        Errc::kNotFound,
        fmt::format("no PMU of the suite ({}) in {}; load a module and check dmesg for its device",
                    units, options.sysfs_root)};
}

}  // namespace pmukit::cli
