// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/export/export.hpp"
#include "cli/export/stacks.hpp"
#include "export/writer.hpp"

namespace pmukit::cli {
namespace {

template <typename Range>
std::vector<std::string> names_of(const Range &range)
{
    std::vector<std::string> names;
    for (const auto &one : range)
        names.emplace_back(one.name);
    return names;
}

// Returns the list of formats for the end of the help. The shell completion does not use this list:
// it reads the names of the formats from the help of --format.
std::string about_formats()
{
    std::string text = "Formats:\n";
    for (const exporter::Format &format : exporter::formats())
        text += fmt::format("  {:<12} {}\n", format.name, format.meaning);
    for (const StackFormat &format : stack_formats())
        text += fmt::format("  {:<12} {}\n", format.name, format.meaning);
    return text;
}

std::vector<std::string> format_names()
{
    std::vector<std::string> names = names_of(exporter::formats());
    for (std::string &name : names_of(stack_formats()))
        names.push_back(std::move(name));
    return names;
}

}  // namespace

Command add_export(CLI::App &app)
{
    const auto owned = std::make_shared<ExportOptions>();
    ExportOptions &options = *owned;
    CLI::App *command = app.add_subcommand(
        "export", "convert the records and losses of a recording to CSV, SQLite and other formats");
    command
        ->add_option("-i,--input", options.input, "perf.data file or directory; -: standard input")
        ->capture_default_str();
    command
        ->add_option("-o,--output", options.output,
                     "output file or directory; -: standard output, for text formats")
        ->required();
    command->add_flag("--force", options.force, kForceHelp);
    CLI::Option *format =
        command->add_option("--format", options.format, "output format, see below")
            ->check(CLI::IsMember(format_names()));
    command
        ->add_flag_callback(
            "--openmetrics", [&options] { options.format = "openmetrics"; },
            "same as --format openmetrics")
        ->excludes(format);
    const CLI::IsMember is_table(names_of(exporter::tables()));
    command->add_option("--driver", options.driver, "export only this table")->check(is_table);
    command->add_option("--event", options.events,
                        "export only this event, or all events of a PMU; may be repeated");
    // --unit was the name of --driver until 0.2: hidden, to be removed in 1.0. --driver has
    // priority.
    command
        ->add_option_function<std::string>("--unit",
                                           [&options](const std::string &table) {
                                               if (options.driver.empty())
                                                   options.driver = table;
                                           })
        ->check(is_table)
        ->group("");
    command->add_option("--symfs", options.symfs,
                        "directory with the programs of the recorded machine");
    command->add_option(
        "--kallsyms", options.kallsyms,
        "copy of /proc/kallsyms of the recorded machine (default: of this one, if it runs the "
        "recorded kernel)");
    command->add_option("--hisi-ptt-headers", options.headers, kHeadersHelp)
        ->check(CLI::IsMember({"narrow", "wide"}));
    command
        ->add_option("--source", options.source,
                     "mark every row: 'model' if the device was emulated")
        ->check(CLI::IsMember({"model"}));
    command->footer(
        "Examples:\n  pmukit export --format csv -o tables; ls tables\n"
        "  pmukit export --format csv --driver cxl_hmu -o hot.csv\n"
        "  pmukit export --format jsonl -o - | jq -c 'select(.table == \"losses\")'\n"
        "  pmukit export --format sqlite -o trace.db; sqlite3 trace.db 'SELECT requester, "
        "sum(bytes) FROM hisi_ptt GROUP BY requester'\n"
        "  pmukit export --format folded --event cpu-clock -o - | flamegraph.pl > flame.svg\n" +
        about_formats() +
        "The table losses lists missing data. Exit status: 0 all records were written, 1 the "
        "recording is damaged (the readable part was written, and losses are reported) or writing "
        "failed, 2 usage.");
    return {command,
            [owned](const Invocation &invocation) { return run_export(*owned, invocation.out); }};
}

}  // namespace pmukit::cli
