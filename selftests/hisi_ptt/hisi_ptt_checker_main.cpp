// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// hisi_ptt_checker: compares the packets of a recording with the packets that the model traced, and
// with all packets that it received. Exit codes: 0 all checks passed, 1 a check failed, 2 wrong
// usage or unreadable input.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>

#include "hisi_ptt_checker.hpp"
#include "hisi_ptt_entries.hpp"

namespace {

using namespace pmukit;
using namespace pmukit::checker::hisi_ptt;

constexpr int kExitFailed = 1, kExitUsage = 2;

struct Arguments {
    std::string dump, perf_report, entries, traced, seen, kernel;
    bool low_byte_first = false;
    size_t run = 0;
    size_t runs = 1;
    size_t at_least = 1;
};

// All inputs, parsed
struct Case {
    std::vector<Tlp> found;
    uint64_t gaps = 0;  // number of losses that the recorder reports
    std::vector<Trace> runs;
    std::vector<Seen> seen;
};

template <typename T, typename Parse>
Result<void> load(const std::string &path, T &into, Parse parse)
{
    std::ifstream in(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    if (!in.is_open() || in.bad())
        return Error{Errc::kIo, fmt::format("cannot read {}", path)};
    auto parsed = parse(text);
    if (!parsed)
        return Error{parsed.error().code, fmt::format("{}: {}", path, parsed.error().message)};
    into = std::move(*parsed);
    return {};
}

// Loads the recording in the given form.
Result<void> load_recording(const Arguments &arguments, Case &loaded)
{
    if (!arguments.dump.empty())
        return load(arguments.dump, loaded.found, read_dump);
    if (!arguments.entries.empty())
        return load(arguments.entries, loaded.found, [&](const std::string &bytes) {
            return read_entries(bytes, loaded.runs[0].selection.format_dwords);
        });
    PerfReport report;
    const ByteOrder order = arguments.low_byte_first ? ByteOrder::kMemory : ByteOrder::kNumber;
    Result<void> done = load(arguments.perf_report, report, [order](const std::string &text) {
        return read_perf_report(text, order);
    });
    loaded.found = std::move(report.tlps);
    loaded.gaps = report.gaps;
    return done;
}

// Drops all traces except the requested ones.
Result<void> choose_runs(const Arguments &arguments, Case &loaded)
{
    const size_t all = loaded.runs.size();
    const size_t wanted = arguments.runs == 0 ? 1 : arguments.runs;
    if (arguments.run > all || wanted > all - arguments.run)
        return Error{Errc::kUsage, fmt::format("--run {} --runs {}: {} has {} traces",
                                               arguments.run, wanted, arguments.traced, all)};
    const auto first = loaded.runs.begin() + static_cast<long>(arguments.run);
    if (arguments.runs != 0)
        loaded.runs.erase(first + static_cast<long>(wanted), loaded.runs.end());
    loaded.runs.erase(loaded.runs.begin(), first);
    return {};
}

Result<Case> load_case(const Arguments &arguments)
{
    Case loaded;
    if (auto done = load(arguments.traced, loaded.runs, read_traced); !done)
        return done.error();
    if (auto done = choose_runs(arguments, loaded); !done)
        return done.error();
    if (auto done = load(arguments.seen, loaded.seen, read_seen); !done)
        return done.error();
    if (auto done = load_recording(arguments, loaded); !done)
        return done.error();
    return loaded;
}

// Prints one line for a comparison; returns true if there is no `trouble`.
bool check(const std::optional<std::string> &trouble, const std::string &text)
{
    fmt::print("checker: {}: {}{}{}\n", trouble ? "NOT OK" : "ok", text, trouble ? ": " : "",
               trouble.value_or(""));
    return !trouble;
}

std::optional<std::string> too_few(size_t packets, size_t wanted)
{
    if (packets >= wanted)
        return std::nullopt;
    return fmt::format("only {}, at least {} are wanted", packets, wanted);
}

std::vector<Tlp> due_in_all(const Case &loaded)
{
    std::vector<Tlp> all;
    for (const Trace &run : loaded.runs) {
        const std::vector<Tlp> due = logged(run, ought_to_be_taken(run, loaded.seen));
        all.insert(all.end(), due.begin(), due.end());
    }
    return all;
}

size_t lost_in_all(const Case &loaded)
{
    size_t lost = 0;
    for (const Trace &run : loaded.runs)
        lost += static_cast<size_t>(std::ranges::count_if(run.packets, &Seen::lost));
    return lost;
}

bool check_case(const Arguments &arguments, Case &loaded)
{
    const unsigned dwords = loaded.runs[0].selection.format_dwords;
    const std::vector<Tlp> traced = logged_of_all(loaded.runs);
    const size_t lost = lost_in_all(loaded);
    cut_times(dwords, loaded.found);
    bool good = check(too_few(traced.size(), arguments.at_least),
                      fmt::format("{} packets were traced", traced.size()));
    good = check(lost ? std::optional("some could not be written") : std::nullopt,
                 fmt::format("{} of them lost on the way to memory", lost)) &&
           good;
    good = check(loaded.gaps ? std::optional("it has gaps") : std::nullopt,
                 fmt::format("the recorder tells of {} losses", loaded.gaps)) &&
           good;
    good = check(difference(due_in_all(loaded), traced),
                 "filter, direction and type took what they should") &&
           good;
    good =
        check(difference(traced, loaded.found), "the recording has them, packet by packet") && good;
    fmt::print(
        "checker: driver=hisi_ptt source=model kernel={} run={} runs={} format={}dw packets={} "
        "lost={} equal={}\n",
        arguments.kernel, arguments.run, loaded.runs.size(), dwords, loaded.found.size(),
        lost + loaded.gaps, good ? "yes" : "no");
    return good;
}

int run(int argc, char **argv)
{
    Arguments arguments;
    CLI::App app{"hisi_ptt_checker: the packets of a recording against those the model traced"};
    CLI::Option_group *const recording = app.add_option_group("recording");
    recording->add_option("--dump", arguments.dump, "what pmukit dump --tlp printed");
    recording->add_option("--perf-report", arguments.perf_report,
                          "what stock perf report -D printed");
    recording->add_option("--entries", arguments.entries, "entries as the driver wrote them");
    recording->require_option(1);
    app.add_flag("--low-byte-first", arguments.low_byte_first,
                 "perf printed the bytes of a dword as they are in memory (up to 6.12)");
    app.add_option("--traced", arguments.traced, "the model's --traced-log")->required();
    app.add_option("--seen", arguments.seen, "the model's --seen-log")->required();
    app.add_option("--run", arguments.run, "which trace of the log, from 0")->capture_default_str();
    app.add_option("--runs", arguments.runs, "how many from there on, 0: all")
        ->capture_default_str();
    app.add_option("--at-least", arguments.at_least, "packets that have to be there")
        ->capture_default_str();
    app.add_option("--kernel", arguments.kernel, "for the last line");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &error) {
        return app.exit(error) == 0 ? 0 : kExitUsage;
    }
    auto loaded = load_case(arguments);
    if (!loaded) {
        fmt::print(stderr, "hisi_ptt_checker: {}\n", loaded.error().message);
        return kExitUsage;
    }
    return check_case(arguments, *loaded) ? 0 : kExitFailed;
}

}  // namespace

int main(int argc, char **argv)
{
    try {
        return run(argc, argv);
    } catch (const std::exception &failure) {
        std::fprintf(stderr, "hisi_ptt_checker: %s\n", failure.what());
        return kExitUsage;
    }
}
