// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// hisi_ptt_judge: the packets of a recording against those the model traced and saw.
// Exit codes: 0 good, 1 judged and found wanting, 2 usage or unreadable input.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>

#include "hisi_ptt_judge.hpp"

namespace {

using namespace pmukit;
using namespace pmukit::judge::hisi_ptt;

constexpr int kExitFailed = 1, kExitUsage = 2;

struct Arguments {
    std::string dump, traced, seen, kernel;
    size_t run = 0;
    size_t at_least = 1;
};

// Everything that is compared, read and parsed.
struct Case {
    std::vector<Tlp> dump;
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

Result<Case> load_case(const Arguments &arguments)
{
    Case loaded;
    if (auto done = load(arguments.dump, loaded.dump, read_dump); !done)
        return done.error();
    if (auto done = load(arguments.traced, loaded.runs, read_traced); !done)
        return done.error();
    if (auto done = load(arguments.seen, loaded.seen, read_seen); !done)
        return done.error();
    if (arguments.run >= loaded.runs.size())
        return Error{Errc::kUsage, fmt::format("--run {}: {} has {} traces", arguments.run,
                                               arguments.traced, loaded.runs.size())};
    return loaded;
}

// One line a comparison; true when it holds.
bool check(const std::optional<std::string> &trouble, const std::string &text)
{
    fmt::print("judge: {}: {}{}{}\n", trouble ? "NOT OK" : "ok", text, trouble ? ": " : "",
               trouble.value_or(""));
    return !trouble;
}

std::optional<std::string> too_few(size_t packets, size_t wanted)
{
    if (packets >= wanted)
        return std::nullopt;
    return fmt::format("only {}, at least {} are wanted", packets, wanted);
}

bool judge_case(const Arguments &arguments, Case &loaded)
{
    const Trace &run = loaded.runs[arguments.run];
    const std::vector<Tlp> traced = told(run, run.packets);
    const std::vector<Tlp> due = told(run, ought_to_be_taken(run, loaded.seen));
    cut_times(run.selection.format_dwords, loaded.dump);
    const auto lost = std::ranges::count_if(run.packets, &Seen::lost);
    bool good = check(too_few(traced.size(), arguments.at_least),
                      fmt::format("{} packets were traced", traced.size()));
    good = check(lost ? std::optional("some could not be written") : std::nullopt,
                 fmt::format("{} of them lost on the way to memory", lost)) &&
           good;
    good =
        check(difference(due, traced), "filter, direction and type took what they should") && good;
    good =
        check(difference(traced, loaded.dump), "the recording has them, packet by packet") && good;
    fmt::print(
        "judge: unit=hisi_ptt source=model kernel={} run={} format={}dw packets={} equal={}\n",
        arguments.kernel, arguments.run, run.selection.format_dwords, loaded.dump.size(),
        good ? "yes" : "no");
    return good;
}

int run(int argc, char **argv)
{
    Arguments arguments;
    CLI::App app{"hisi_ptt_judge: the packets of a recording against those the model traced"};
    app.add_option("--dump", arguments.dump, "what pmukit dump --tlp printed")->required();
    app.add_option("--traced", arguments.traced, "the model's --traced-log")->required();
    app.add_option("--seen", arguments.seen, "the model's --seen-log")->required();
    app.add_option("--run", arguments.run, "which trace of the log, from 0")->capture_default_str();
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
        fmt::print(stderr, "hisi_ptt_judge: {}\n", loaded.error().message);
        return kExitUsage;
    }
    return judge_case(arguments, *loaded) ? 0 : kExitFailed;
}

}  // namespace

int main(int argc, char **argv)
{
    try {
        return run(argc, argv);
    } catch (const std::exception &failure) {
        std::fprintf(stderr, "hisi_ptt_judge: %s\n", failure.what());
        return kExitUsage;
    }
}
