// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// pmukit doctor: checks whether this machine can record, with a fix for each problem.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/doctor_checks.hpp"
#include "cli/version.hpp"

namespace pmukit::cli {
namespace {

size_t count(const std::vector<Finding> &findings, Health health)
{
    return static_cast<size_t>(std::ranges::count(findings, health, &Finding::health));
}

constexpr Paint kPaints[] = {Paint::kGreen, Paint::kYellow, Paint::kRed};  // indexed by Health

void print_human(const std::vector<Finding> &findings, Output &out)
{
    for (const Finding &finding : findings) {
        const std::string health = fmt::format("{:<4}", health_name(finding.health));
        out.paint(kPaints[static_cast<size_t>(finding.health)], health);
        out.print("  {:<9}  {}\n", finding.check, finding.what);
        if (!finding.fix.empty())
            out.print("{:<4}  {:<9}  fix: {}\n", "", "", finding.fix);
    }
    out.print("{} good, {} noted, {} bad\n", count(findings, Health::kGood),
              count(findings, Health::kNote), count(findings, Health::kBad));
}

void print_machine(const std::vector<Finding> &findings, Output &out)
{
    nlohmann::ordered_json checks = nlohmann::ordered_json::array();
    for (const Finding &finding : findings) {
        checks.push_back({{"check", finding.check},
                          {"state", health_name(finding.health)},
                          {"what", finding.what},
                          {"fix", nullptr}});
        if (!finding.fix.empty())
            checks.back()["fix"] = finding.fix;
    }
    print_json({{"version", kVersion},
                {"good", count(findings, Health::kGood)},
                {"notes", count(findings, Health::kNote)},
                {"bad", count(findings, Health::kBad)},
                {"checks", checks}},
               out);
}

}  // namespace

Result<int> run_doctor(const DoctorOptions &options, Output &out)
{
    const Host host(options.root);
    if (!host.has("proc"))
        return Error{Errc::kNotFound,
                     fmt::format("--root {}: it has no proc directory", options.root)};
    const std::vector<Finding> findings = examine(host);
    if (options.json)
        print_machine(findings, out);
    else
        print_human(findings, out);
    return count(findings, Health::kBad) ? kExitFailed : kExitGood;
}

Command add_doctor(CLI::App &app)
{
    const auto owned = std::make_shared<DoctorOptions>();
    CLI::App *doctor = app.add_subcommand(
        "doctor", "check whether this machine can record, and how to fix each problem");
    doctor->add_option("--root", owned->root, "copy of another machine's proc and sys")
        ->capture_default_str();
    doctor->add_flag("--json", owned->json, "print one JSON object instead of text");
    doctor->footer(
        "Examples:\n  pmukit doctor\n  pmukit doctor --json | jq '.checks[] | select(.state == "
        "\"bad\")'\n"
        "Opens an event of each PMU briefly to test whether it is free. Exit status: 0 no check is "
        "bad, 1 some check is bad.");
    return {doctor,
            [owned](const Invocation &invocation) { return run_doctor(*owned, invocation.out); },
            Shows::kText};
}

}  // namespace pmukit::cli
