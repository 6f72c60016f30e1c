// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/export/export.hpp"
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

// Printed after the examples, so that completion reads format names from the option only.
std::string about_formats()
{
    std::string text = "Formats:\n";
    for (const exporter::Format &format : exporter::formats())
        text += fmt::format("  {:<12} {}\n", format.name, format.meaning);
    return text + fmt::format("  {:<12} stacks of imc and ordinary samples, for flame graphs\n",
                              kFoldedFormat);
}

std::vector<std::string> format_names()
{
    std::vector<std::string> names = names_of(exporter::formats());
    names.emplace_back(kFoldedFormat);
    return names;
}

}  // namespace

Command add_export(CLI::App &app)
{
    const auto owned = std::make_shared<ExportOptions>();
    ExportOptions &options = *owned;
    CLI::App *command = app.add_subcommand(
        "export", "the records of a recording, and its losses, as tables for other programs");
    command
        ->add_option("-i,--input", options.input, "perf.data file or directory; -: standard input")
        ->capture_default_str();
    command
        ->add_option("-o,--output", options.output,
                     "file or folder to write; -: standard output, for formats that are text")
        ->required();
    CLI::Option *format =
        command->add_option("--format", options.format, "what to write, see below")
            ->check(CLI::IsMember(format_names()));
    command
        ->add_flag_callback(
            "--openmetrics", [&options] { options.format = "openmetrics"; },
            "the same as --format openmetrics")
        ->excludes(format);
    const CLI::IsMember is_table(names_of(exporter::tables()));
    command->add_option("--driver", options.driver, "only this table")->check(is_table);
    command->add_option("--event", options.events,
                        "event by its name, or all of a PMU (may be given several times)");
    // Name of --driver until 0.2: hidden, to be removed in 1.0. If both are given, --driver wins.
    command
        ->add_option_function<std::string>("--unit",
                                           [&options](const std::string &table) {
                                               if (options.driver.empty())
                                                   options.driver = table;
                                           })
        ->check(is_table)
        ->group("");
    command->add_option("--symfs", options.symfs,
                        "folder that holds the programs of the recorded machine");
    command->add_option("--kallsyms", options.kallsyms,
                        "a copy of /proc/kallsyms of the recorded machine");
    command->add_option("--hisi-ptt-headers", options.headers, kHeadersHelp)
        ->check(CLI::IsMember({"narrow", "wide"}));
    command
        ->add_option("--source", options.source,
                     "stamp every row: 'model' when the device was emulated")
        ->check(CLI::IsMember({"model"}));
    command->footer(
        "Examples:\n  pmukit export --format csv -o tables; ls tables\n"
        "  pmukit export --format csv --driver cxl_hmu -o hot.csv\n"
        "  pmukit export --format jsonl -o - | jq -c 'select(.table == \"losses\")'\n"
        "  pmukit export --format sqlite -o trace.db; sqlite3 trace.db 'SELECT requester, "
        "sum(bytes) FROM hisi_ptt GROUP BY requester'\n"
        "  pmukit export --format folded --event cpu-clock -o - | flamegraph.pl > flame.svg\n" +
        about_formats() +
        "What is missing is in the table losses. Exit status: 0 all of it was written, 1 the "
        "recording is damaged (the rest was written, and what is missing is said) or something "
        "failed, 2 usage.");
    return {command,
            [owned](const Invocation &invocation) { return run_export(*owned, invocation.out); }};
}

}  // namespace pmukit::cli
