// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The pmukit program: parses the command line, runs a subcommand, and returns the exit status.
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iterator>
#include <memory>
#include <new>
#include <string_view>

#include "base/clocks.hpp"
#include "base/file.hpp"
#include "base/number.hpp"
#include "base/suggest.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/option_words.hpp"
#include "cli/version.hpp"
#include "console/inherited.hpp"
#include "console/temp_file.hpp"
#include "console/terminal.hpp"

namespace pmukit::cli {

namespace {

constexpr const char *kInputHelp = "perf.data file or directory; -: standard input";

// Rejects "-" for an output that must be a file: the command writes the file under a temporary
// name, and renames it when it is complete.
CLI::Validator a_file()
{
    return CLI::Validator(
        [](const std::string &text) {
            return text == "-" ? std::string("'-' is not supported here: name a file")
                               : std::string();
        },
        "");
}

void add_force(CLI::App *command, bool &force)
{
    command->add_flag("--force", force, kForceHelp);
}

int status_of(const Error &error)
{
    if (error.code == Errc::kUsage)
        return kExitUsage;
    return error.code == Errc::kEnvironment ? kExitEnvironment : kExitFailed;
}

Command add_list(CLI::App &app)
{
    const auto owned = std::make_shared<ListOptions>();
    ListOptions &options = *owned;
    CLI::App *list = app.add_subcommand(
        "list",
        "list pmukit's PMUs on this machine, and resctrl if mounted, with an example for each");
    list->add_flag("--pfm", options.pfm,
                   "list libpfm4's event names for this machine, one per line");
    list->add_flag("--json", options.json, "print one JSON object instead of text");
    list->footer(
        "Examples:\n  pmukit list\n  pmukit list --pfm | grep -i 'llc\\|l3'\n"
        "`pmukit record --pfm-events` takes the names that --pfm prints. Exit status 1: no PMU "
        "found, and resctrl is not mounted.");
    return {list,
            [owned](const Invocation &invocation) { return run_list(*owned, invocation.out); },
            Shows::kText};
}

// Adds --hisi-ptt-headers to a command that reads TLP headers of a PCIe trace.
void add_headers(CLI::App *command, std::string &headers)
{
    command->add_option("--hisi-ptt-headers", headers, kHeadersHelp)
        ->check(CLI::IsMember({"narrow", "wide"}));
}

Command add_dump(CLI::App &app)
{
    const auto owned = std::make_shared<DumpOptions>();
    DumpOptions &options = *owned;
    CLI::App *dump = app.add_subcommand("dump", "print the raw records of a recording");
    dump->add_option("-i,--input", options.input, kInputHelp)->capture_default_str();
    dump->add_flag("--tlp", options.tlp,
                   "hisi_ptt: print one decoded line per TLP instead of perf's text");
    dump->add_option("--perf", options.perf,
                     "hisi_ptt: print as perf report -D of Linux 7.2 (most significant byte of a "
                     "dword first) or 6.12 (bytes in memory order)")
        ->check(CLI::IsMember({"6.12", "7.2"}))
        ->capture_default_str();
    add_headers(dump, options.headers);
    dump->footer(
        "Examples:\n  pmukit dump | less\n  pmukit dump --tlp -i ptt.data\n"
        "Exit status: 0 the whole recording was printed, 1 it is damaged (losses are reported) or "
        "cannot be read, 2 usage.");
    return {dump,
            [owned](const Invocation &invocation) { return run_dump(*owned, invocation.out); },
            Shows::kText};
}

Command add_recover(CLI::App &app)
{
    const auto owned = std::make_shared<RecoverOptions>();
    RecoverOptions &options = *owned;
    CLI::App *recover = app.add_subcommand(
        "recover", "list the readable parts of a damaged recording and write them to a new file");
    recover->add_option("-i,--input", options.input, "perf.data file")->capture_default_str();
    recover->add_option("--write", options.output, "write the readable parts to this file")
        ->check(a_file());
    add_force(recover, options.force);
    recover->add_flag("--json", options.json, "print one JSON object instead of lines");
    recover->footer(
        "Examples:\n  pmukit recover -i cut.data\n"
        "  pmukit recover -i cut.data --write whole.data; pmukit report -i whole.data\n"
        "  pmukit recover -i cut.data --json | jq '.parts[].lost'\n"
        "Exit status: 0 nothing is lost, 1 some bytes are lost (each range is listed) or the file "
        "cannot be read, 2 usage.");
    return {recover,
            [owned](const Invocation &invocation) { return run_recover(*owned, invocation.out); },
            Shows::kText};
}

Command add_cut(CLI::App &app)
{
    const auto owned = std::make_shared<CutOptions>();
    CutOptions &options = *owned;
    CLI::App *cut =
        app.add_subcommand("cut", "copy a part of a recording, by time, CPU, event or AUX buffer");
    cut->add_option("-i,--input", options.input, "perf.data file or directory")
        ->capture_default_str();
    cut->add_option("-o,--output", options.output, "output file")
        ->check(a_file())
        ->capture_default_str();
    add_force(cut, options.force);
    cut->add_option(
        "--time", options.time,
        "time range FROM,TO in seconds, as perf script prints it; either may be omitted");
    cut->add_option("--cpu", options.cpus, "copy only these CPUs, such as 0-3,8");
    cut->add_option("--event", options.events,
                    "copy only this event, or all events of a PMU; may be repeated")
        ->allow_extra_args(false);
    cut->add_option("--buffer", options.buffers,
                    "copy only these AUX buffers, numbered from 0, such as 0-3,8");
    cut->footer(
        "Examples:\n  pmukit cut --time 120.5,121 -o half.data; pmukit report -i half.data\n"
        "  pmukit cut --event hisi_ptt0_2 --buffer 7 -o one.data");
    return {cut, [owned](const Invocation &invocation) { return run_cut(*owned, invocation.out); }};
}

Command add_inject(CLI::App &app)
{
    const auto owned = std::make_shared<InjectOptions>();
    InjectOptions &options = *owned;
    CLI::App *inject = app.add_subcommand(
        "inject", "convert AUX data to samples, so that stock perf can read the recording");
    inject->add_option("-i,--input", options.input, kInputHelp)->capture_default_str();
    inject->add_option("-o,--output", options.output, "output file")
        ->check(a_file())
        ->capture_default_str();
    add_force(inject, options.force);
    inject->add_flag("!--no-samples", options.samples, "drop AUX data without writing samples");
    add_headers(inject, options.headers);
    inject->footer(
        "Examples:\n  pmukit inject -o plain.data; perf script -i plain.data\n"
        "  pmukit inject -i perf.data --no-samples -o small.data");
    return {inject,
            [owned](const Invocation &invocation) { return run_inject(*owned, invocation.out); }};
}

Command add_merge(CLI::App &app)
{
    const auto owned = std::make_shared<MergeOptions>();
    MergeOptions &options = *owned;
    CLI::App *merge =
        app.add_subcommand("merge", "merge recordings, of one or several hosts, into one");
    merge->add_option("inputs", options.inputs, "perf.data files")->required();
    merge->add_option("-o,--output", options.output, "output file")
        ->check(a_file())
        ->capture_default_str();
    add_force(merge, options.force);
    merge->footer(
        "Examples:\n  pmukit merge -o both.data green.data blue.data; pmukit report -i both.data\n"
        "  pmukit merge perf.data.old perf.data\n"
        "The result has the clock of the first recording; one line per input says whether its time "
        "stamps could be aligned with it.");
    return {merge,
            [owned](const Invocation &invocation) { return run_merge(*owned, invocation.out); }};
}

// CLI11 fills these values; the command copies those that were given to the std::optional members
// of ReportOptions.
struct ReportWords {
    ReportOptions options;
    uint64_t unit_bytes = 0;
    std::string source, cxl_topology;
};

Command add_report(CLI::App &app)
{
    const auto owned = std::make_shared<ReportWords>();
    CLI::App *report = app.add_subcommand(
        "report", "summarize a recording: hottest memory, PCIe traffic, hottest functions, losses");
    ReportOptions &options = owned->options;
    report->add_option("-i,--input", options.input, kInputHelp)->capture_default_str();
    report->add_flag("--json", options.json, "print one JSON object instead of tables");
    report->add_flag("--join", options.join,
                     "combine all drivers: hot host ranges with the PCIe requesters that access "
                     "them, nodes, tiers and cache groups of the same time; needs --cxl-topology");
    report
        ->add_option("--html", options.html,
                     "write an HTML page to this file instead of text to standard output")
        ->check(a_file());
    add_force(report, options.force);
    report->add_option("--top", options.top, "units to show; 0: all")->capture_default_str();
    report->add_option("--unit-bytes", owned->unit_bytes,
                       "unit size of records without one, in bytes");
    report
        ->add_option("--source", owned->source,
                     "mark all output: 'model' if the device was emulated")
        ->check(CLI::IsMember({"model"}));
    report->add_option(
        "--cxl-topology", owned->cxl_topology,
        "sysfs, or a saved copy: translate units to host addresses, NUMA nodes and memory tiers");
    report->add_option("--host", options.host, kHostHelp);
    report
        ->add_option("--range-bytes", options.range_bytes,
                     "hisi_ptt and --join: size of address ranges in bytes, a power of two")
        ->capture_default_str();
    add_headers(report, options.headers);
    report->add_option("--symfs", options.symfs,
                       "imc: directory with the programs of the recorded machine");
    report->add_option(
        "--kallsyms", options.kallsyms,
        "imc: copy of /proc/kallsyms of the recorded machine (default: of this one, if it runs the "
        "recorded kernel)");
    report
        ->add_option(
            "--by", options.by,
            "rank units by device address (dpa), or host ranges (hpa) or nodes of all devices")
        ->check(CLI::IsMember({"dpa", "hpa", "node"}))
        ->capture_default_str();
    report->footer(
        "Examples:\n  pmukit report --cxl-topology /sys --by node\n"
        "  pmukit report -i perf.data --json --top 0 > hot.json\n"
        "  pmukit report --join --cxl-topology /sys\n"
        "  pmukit report --html report.html --cxl-topology /sys\n"
        "Exit status: 0 the whole recording was read, 1 it is damaged (losses are reported) or "
        "cannot be read, 2 usage.");
    return {report,
            [owned, report](const Invocation &invocation) {
                if (report->count("--unit-bytes"))
                    owned->options.unit_bytes = owned->unit_bytes;
                if (report->count("--source"))
                    owned->options.source = owned->source;
                if (report->count("--cxl-topology"))
                    owned->options.cxl_topology = owned->cxl_topology;
                return run_report(owned->options, invocation.out);
            },
            Shows::kText};
}

Command add_tune(CLI::App &app)
{
    const auto owned = std::make_shared<TuneOptions>();
    TuneOptions &options = *owned;
    CLI::App *tune = app.add_subcommand("tune", "show or set the tune files of hisi_ptt PMUs");
    tune->add_option("settings", options.settings,
                     "value to set, [PMU/]FILE=VALUE; without PMU, for all PMUs");
    tune->add_option("--save", options.save, "save all values to this file")->check(a_file());
    add_force(tune, options.force);
    tune->add_option("--restore", options.restore, "restore the values of a saved file");
    tune->add_flag("--json", options.json, "print one JSON object instead of a table");
    tune->footer(
        "Examples:\n  pmukit tune\n  pmukit tune hisi_ptt0_2/qos_tx_cpl=2\n"
        "  pmukit tune --save before; pmukit tune qos_tx_cpl=2; pmukit tune --restore before\n"
        "Exit status 1: a value could not be read, or the hardware has another value than "
        "requested.");
    return {tune,
            [owned](const Invocation &invocation) { return run_tune(*owned, invocation.out); },
            Shows::kText};
}

Command add_discover(CLI::App &app)
{
    const auto owned = std::make_shared<DiscoverOptions>();
    DiscoverOptions &options = *owned;
    CLI::App *discover =
        app.add_subcommand("discover", "print Intel uncore discovery tables; needs no module");
    discover
        ->add_option(
            "folder", options.root,
            "sysfs directory of one PCI function or of all, or a directory written by --save")
        ->capture_default_str();
    discover->add_flag("--addresses", options.addresses,
                       "also print the address of each counter's control and count register");
    discover->add_flag("--json", options.json, "print one JSON array instead of text");
    discover->add_option("--save", options.save,
                         "write configuration space and tables to this directory");
    discover->footer(
        "Examples:\n  pmukit discover --addresses\n  pmukit discover --save table; "
        "pmukit discover table\n"
        "Reads device memory and never writes it. Exit status 1: no table, or an invalid entry; "
        "one line per reason.");
    return {discover,
            [owned](const Invocation &invocation) { return run_discover(*owned, invocation.out); },
            Shows::kText};
}

// In the order of `pmukit --help`, one per line.
// clang-format off
constexpr AddCommand kCommands[] = {
    add_list,
    add_record,
    add_dump,
    add_cut,
    add_export,
    add_inject,
    add_merge,
    add_recover,
    add_report,
    add_tier,
    add_tierd,
    add_what_if,
    add_tune,
    add_discover,
    add_doctor,
    add_qualify,
    add_top,
};
// clang-format on

// Reports an unknown subcommand, with a similar name. CLI11 would only report that a subcommand is
// missing.
Result<void> check_subcommand(const std::vector<std::string> &words, const CLI::App &app)
{
    std::vector<std::string> known;
    for (const CLI::App *command : app.get_subcommands({}))
        known.push_back(command->get_name());
    if (words.size() < 2)
        return Error{Errc::kUsage,
                     fmt::format("which command? {}; see pmukit --help", joined(known, ", "))};
    if (words[1].starts_with('-') || std::ranges::find(known, words[1]) != known.end())
        return {};
    const std::string near = did_you_mean(words[1], known);
    return Error{Errc::kUsage, "'" + words[1] + "' is not a command" +
                                   (near.empty() ? "; see pmukit --help" : near)};
}

// Message about unexpected arguments: a misspelled option, or an input without -i.
std::string about_extras(const CLI::App &command)
{
    const std::vector<std::string> extras = command.remaining();
    std::vector<std::string> options;
    for (const CLI::Option *option : command.get_options())
        for (const std::string &name : option->get_lnames())
            options.push_back("--" + name);
    for (const std::string &extra : extras) {
        if (extra.starts_with('-'))
            return wrong_text(Errc::kUsage, extra, "is not an option").message +
                   did_you_mean(extra.substr(0, extra.find('=')), options);
        if (command.get_option_no_throw("--input"))
            return wrong_text(Errc::kUsage, extra, "is not expected; did you mean -i ").message +
                   extra + "?";
    }
    return wrong_text(Errc::kUsage, extras.empty() ? "" : extras.front(), "is not expected")
        .message;
}

Error explain(const CLI::ParseError &error, const CLI::App &app)
{
    const std::vector<const CLI::App *> chosen =
        app.get_subcommands([](const CLI::App *command) { return command->parsed(); });
    const CLI::App &command = chosen.empty() ? app : *chosen.front();
    // A required argument may be missing because it is misspelled.
    const bool may_be_misspelt =
        chosen.empty() || dynamic_cast<const CLI::RequiredError *>(&error) != nullptr;
    const bool extras = dynamic_cast<const CLI::ExtrasError *>(&error) ||
                        (may_be_misspelt && !command.remaining().empty());
    return Error{Errc::kUsage, (extras ? about_extras(command) : std::string(error.what())) +
                                   "; see pmukit " +
                                   (chosen.empty() ? "" : command.get_name() + " ") + "--help"};
}

// CLI11 would parse -1 as the largest unsigned number.
void refuse_negative_numbers(CLI::App &command)
{
    const CLI::Validator positive(
        [](const std::string &text) {
            return text.starts_with('-') ? "'" + text + "' is negative" : std::string();
        },
        "");
    for (CLI::Option *option : command.get_options())
        if (option->get_type_name().starts_with("UINT"))
            option->check(positive);
}

// Options that precede the subcommand, as those of git do.
struct GlobalOptions {
    std::string color = "auto";
    bool pager = true;
};

void add_global_options(CLI::App &app, GlobalOptions &options)
{
    app.add_option("--color", options.color, "auto: on a terminal, and without NO_COLOR")
        ->check(CLI::IsMember({"auto", "always", "never"}))
        ->capture_default_str();
    app.add_flag_callback(
        "--no-pager", [&options] { options.pager = false; },
        "do not pipe long output into $PMUKIT_PAGER, $PAGER or less");
}

Result<int> run(const std::vector<std::string> &words, CLI::App &app, Output &out, Pager &pager)
{
    GlobalOptions global;
    add_global_options(app, global);
    std::vector<Command> commands;
    for (const AddCommand add : kCommands) {
        commands.push_back(add(app));
        refuse_negative_numbers(*commands.back().words);
    }
    if (Result<void> known = check_subcommand(words, app); !known)
        return known.error();
    const Result<std::vector<std::string>> words_in_full = arranged(words, app);
    if (!words_in_full)
        return words_in_full.error();
    try {
        app.parse(
            std::vector<std::string>(words_in_full->rbegin(),
                                     words_in_full->rend() - 1));  // CLI11 expects reverse order
    } catch (const CLI::CallForHelp &) {
        const std::vector<CLI::App *> chosen = app.get_subcommands();
        out.text(chosen.empty() ? app.help() : chosen.front()->help(app.get_name()));
        return kExitGood;
    } catch (const CLI::CallForVersion &version) {
        out.print("{}\n", version.what());
        return kExitGood;
    } catch (const CLI::ParseError &error) {
        return explain(error, app);
    }
    const auto chosen = std::ranges::find(commands, app.get_subcommands().front(), &Command::words);
    out.set_color(wants_color(global.color, STDOUT_FILENO));
    if (global.pager && chosen->shows == Shows::kText)
        pager.begin();
    out.end_with_reader(!pager.is_on());
    return chosen->run({words, out});
}

int run_program(const std::vector<std::string> &words)
{
    CLI::App app("pmukit: record and report events of PMUs that kernels lack", "pmukit");
    app.set_version_flag("--version", std::string("pmukit ") + kVersion);
    app.require_subcommand(1);
    app.footer(
        "Exit status: 0 success, 1 failure or a damaged recording, 2 usage error, 69 environment "
        "error.\n"
        "Try: pmukit COMMAND --help");
    Output out(STDOUT_FILENO, "standard output");
    out.end_with_reader(true);
    Pager pager;
    Result<int> status = run(words, app, out, pager);
    Result<void> written = out.finish();
    // The output is not complete if the user closes the pager: that is not an error.
    if (pager.is_on() && out.reader_left())
        written = {};
    pager.end();
    if (!status && status.error().code == Errc::kReaderLeft)
        end_without_reader();
    if (!status)
        warn(status.error().message);
    // The command may have failed with the same output error: print it once.
    if (!written && (status || status.error().message != written.error().message))
        warn(written.error().message);
    if (!status)
        return status_of(status.error());
    return written ? *status : static_cast<int>(kExitFailed);
}

// Called by std::terminate(). Destructors of JSON values allocate memory; if that fails, the
// exception leaves a destructor, and C++ calls std::terminate().
[[noreturn]] void end_without_memory()
{
    try {
        if (const std::exception_ptr failure = std::current_exception())
            std::rethrow_exception(failure);
    } catch (const std::bad_alloc &failure) {
        std::fprintf(stderr, "pmukit: %s\n", failure.what());
        ::_exit(kExitEnvironment);
    } catch (...) {  // a bug of pmukit: abort, as without this handler
    }
    std::abort();
}

// Inputs are mapped: the kernel raises SIGBUS for a page that no longer exists, as after a
// truncation. The faulting code cannot return an error, so the program ends here. Several threads
// may fault at once.
void end_without_input(int signal, siginfo_t *info, void *)
{
    static std::atomic_flag is_ending;
    if (info->si_code != BUS_ADRERR) {  // a bug of pmukit: take the default action
        ::signal(signal, SIG_DFL);
        ::raise(signal);
        return;
    }
    while (is_ending.test_and_set())
        ::pause();
    remove_temp_file();
    wait_for_pager();
    for (const std::string_view text :
         {std::string_view("pmukit: "), kInputIsGone, std::string_view("\n")})
        if (::write(STDERR_FILENO, text.data(), text.size()) < 0)
            break;
    ::_exit(kExitFailed);
}

void catch_lost_input()
{
    struct sigaction action {};
    action.sa_sigaction = end_without_input;
    action.sa_flags = SA_SIGINFO;
    ::sigaction(SIGBUS, &action, nullptr);
}

}  // namespace
}  // namespace pmukit::cli

int main(int argc, char **argv)
{
    std::set_terminate(pmukit::cli::end_without_memory);
    pmukit::cli::note_inherited();
    // An exceeded file size limit is reported as an error, like a full disk. A closed pipe ends the
    // program later (end_without_reader()), when unfinished files are removed.
    ::signal(SIGPIPE, SIG_IGN);
    ::signal(SIGXFSZ, SIG_IGN);
    ::signal(SIGCHLD, SIG_DFL);  // if ignored, waitpid() returns no exit status
    pmukit::cli::catch_lost_input();
    try {
        return pmukit::cli::run_program({argv, argv + argc});
    } catch (const std::exception &failure) {  // thrown by a library, most likely std::bad_alloc
        std::fprintf(stderr, "pmukit: %s\n", failure.what());
        return pmukit::cli::kExitEnvironment;
    }
}
