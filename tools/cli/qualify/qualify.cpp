// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// pmukit qualify: checks on this machine the statements about hardware that so far only models and
// simulators are known to satisfy.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/number.hpp"
#include "cli/commands.hpp"
#include "cli/qualify/bundle.hpp"
#include "cli/qualify/check.hpp"
#include "cli/qualify/machine.hpp"
#include "cli/version.hpp"
#include "console/temp_file.hpp"

namespace pmukit::cli {
namespace {

using namespace qualify;
using nlohmann::ordered_json;

struct QualifyOptions {
    std::string driver;  // empty: all drivers, which needs --list
    std::string root = "/";
    std::string bundle;  // file to write; empty: none
    bool force = false;  // see begin_output()
    bool list = false, active = false, full = false, json = false;
};

constexpr size_t kColumns = 96;

// Prints a text in lines of kColumns, of which all but the first are indented.
void print_wrapped(std::string_view text, size_t indent, Output &out)
{
    size_t column = indent;
    for (std::string_view word : split(text, ' ')) {
        if (column > indent && column + 1 + word.size() > kColumns) {
            out.print("\n{:{}}", "", indent);
            column = indent;
        }
        const std::string_view before = column > indent ? " " : "";
        out.print("{}{}", before, word);
        column += before.size() + word.size();
    }
    out.text("\n");
}

void print_list(const Driver &driver, Output &out)
{
    for (const Statement &statement : driver.statements()) {
        out.print("{:>3}  {:<7}  ", statement.number, name_of(statement.kind));
        print_wrapped(statement.text, 14, out);
        out.print("{:14}", "");
        print_wrapped(text_of("source: {}", statement.source), 14, out);
        out.print("{:14}", "");
        print_wrapped(
            text_of("{}: {}", statement.kind == Kind::kOutside ? "needs" : "check", statement.how),
            14, out);
    }
}

ordered_json json_list(const Driver &driver)
{
    ordered_json list = ordered_json::array();
    for (const Statement &statement : driver.statements())
        list.push_back({{"number", statement.number},
                        {"kind", name_of(statement.kind)},
                        {"statement", statement.text},
                        {"source", statement.source},
                        {"how", statement.how}});
    return {{"driver", driver.name}, {"statements", list}};
}

int show_lists(const QualifyOptions &options, Output &out)
{
    ordered_json json = ordered_json::array();
    for (const Driver &driver : drivers()) {
        if (!options.driver.empty() && options.driver != driver.name)
            continue;
        if (options.json) {
            json.push_back(json_list(driver));
            continue;
        }
        if (options.driver.empty())
            out.print("{}\n", driver.name);
        print_list(driver, out);
    }
    if (options.json)
        print_json({{"version", kVersion}, {"drivers", json}}, out);
    return kExitGood;
}

size_t count(const std::vector<DeviceReport> &reports, Verdict verdict)
{
    size_t all = 0;
    for (const DeviceReport &report : reports)
        all += static_cast<size_t>(std::ranges::count(
            report.lines, verdict, [](const Line &line) { return line.outcome.verdict; }));
    return all;
}

ordered_json json_report(const Driver &driver, const std::vector<DeviceReport> &reports)
{
    ordered_json devices = ordered_json::array();
    for (const DeviceReport &report : reports) {
        ordered_json lines = ordered_json::array();
        for (const Line &line : report.lines)
            lines.push_back({{"number", line.statement.number},
                             {"verdict", name_of(line.outcome.verdict)},
                             {"statement", line.statement.text},
                             {"seen", line.outcome.seen}});
        devices.push_back({{"device", report.device}, {"checks", lines}});
    }
    return {{"version", kVersion},
            {"driver", driver.name},
            {"pass", count(reports, Verdict::kPass)},
            {"fail", count(reports, Verdict::kFail)},
            {"not_tested", count(reports, Verdict::kNotTested)},
            {"devices", devices}};
}

constexpr Paint kPaints[] = {Paint::kGreen, Paint::kRed, Paint::kYellow};  // indexed by Verdict

void print_report(const Driver &driver, const std::vector<DeviceReport> &reports, Output &out)
{
    for (const DeviceReport &report : reports) {
        out.print("{}: {}\n", driver.name, report.device);
        for (const Line &line : report.lines) {
            const std::string verdict = text_of("{:<10}", name_of(line.outcome.verdict));
            out.paint(kPaints[static_cast<size_t>(line.outcome.verdict)], verdict);
            out.print("  {:>2}  ", line.statement.number);
            print_wrapped(line.statement.text, 16, out);
            out.print("{:16}", "");
            print_wrapped(line.outcome.seen, 16, out);
        }
    }
    out.print("{} PASS, {} FAIL, {} NOT TESTED\n", count(reports, Verdict::kPass),
              count(reports, Verdict::kFail), count(reports, Verdict::kNotTested));
}

const Driver *driver_of(std::string_view name)
{
    for (const Driver &driver : drivers())
        if (driver.name == name)
            return &driver;
    return nullptr;
}

std::string names(std::string_view between)
{
    std::string all;
    for (const Driver &driver : drivers())
        all += text_of("{}{}", all.empty() ? "" : between, driver.name);
    return all;
}

// RFC 8878, 3.1.1: the magic number of a frame.
bool is_zstd(std::string_view front)
{
    return front.starts_with("\x28\xb5\x2f\xfd");
}

Result<int> run_qualify(const QualifyOptions &options, Output &out)
{
    const Driver *driver = driver_of(options.driver);
    if (!driver && !options.driver.empty())
        return wrong_text(Errc::kUsage, options.driver,
                          "is not a driver; expected one of " + names(", "));
    if (!driver && !options.list)
        return Error{Errc::kUsage, "name a driver: " + names(", ")};
    if (options.list)
        return show_lists(options, out);
    if (options.full && options.bundle.empty())
        return Error{Errc::kUsage, "--full: it is for --bundle"};
    if (is_standard_output(options.bundle))
        return Error{Errc::kUsage, "--bundle: the report is on standard output; name a file"};
    constexpr Replaceable kBundles{"a compressed archive", is_zstd};
    if (Result<void> begun =
            begin_output(options.bundle, {}, kBundles, options.force, {options.root});
        !begun)
        return begun.error();
    const Machine machine(Host(options.root), options.active, options.full);
    if (!machine.host().has("sys"))
        return Error{Errc::kNotFound, text_of("--root {}: it has no sys directory", options.root)};
    const Result<std::vector<DeviceReport>> reports = driver->examine(machine, options.full);
    if (!reports)  // there is no hardware to check, or this user has no access
        return Error{Errc::kEnvironment, text_of("{}: {}", driver->name, reports.error().message)};
    const ordered_json json = json_report(*driver, *reports);
    if (!options.bundle.empty())
        if (Result<void> written = write_bundle(options.bundle, machine, driver->name, *reports,
                                                json.dump(1) + "\n", options.full);
            !written)
            return written.error();
    if (options.json)
        print_json(json, out);
    else
        print_report(*driver, *reports, out);
    return count(*reports, Verdict::kFail) ? kExitFailed : kExitGood;
}

}  // namespace

Command add_qualify(CLI::App &app)
{
    const auto owned = std::make_shared<QualifyOptions>();
    CLI::App *command = app.add_subcommand(
        "qualify", "check on this machine the hardware behavior that a driver assumes");
    // The name is not checked here, so that an unknown option is reported first.
    command->add_option("driver", owned->driver, "driver whose hardware is checked")
        ->type_name("TEXT:{" + names(",") + "}");
    command->add_flag("--list", owned->list,
                      "print the numbered statements and how each is checked; access no hardware");
    command->add_flag("--active", owned->active,
                      "also write registers that no driver, resctrl or event uses, restore each "
                      "value, and open events briefly; writes of MSRs (cache_qos, uncore_pmon) "
                      "taint the kernel until the next boot (default: only read)");
    command->add_option("--bundle", owned->bundle,
                        "also write a bundle for bug reports to this file (.tar.zst)");
    command->add_flag("--force", owned->force, kForceHelp);
    command->add_flag("--full", owned->full,
                      "include memory addresses and the host name in the bundle");
    command->add_flag("--json", owned->json, "print one JSON object instead of text");
    command->add_option("--root", owned->root, "copy of another machine's proc, sys and dev")
        ->capture_default_str();
    command->footer(
        "Examples:\n  pmukit qualify --list cxl_hmu\n  pmukit qualify cxl_hmu\n"
        "  pmukit qualify --active --bundle report.tar.zst uncore_pmon\n"
        "Exit status: 0 no statement failed, 1 a statement failed, 2 usage, 69 this machine has no "
        "such hardware, or this user may not see it.");
    return {command,
            [owned](const Invocation &invocation) { return run_qualify(*owned, invocation.out); },
            Shows::kText};
}

}  // namespace pmukit::cli
