// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// cxl_hmu_checker: compares a recording's hottest units with the access log (recall and precision).
// Exit codes: 0 all checks passed, 1 a check failed, 2 wrong usage or unreadable input.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>

#include "cxl_hmu_checker.hpp"

namespace {

using namespace pmukit;

constexpr int kExitFailed = 1, kExitUsage = 2;

struct Arguments {
    std::string report, log, tally, model, kernel, moved_from;
    double require = 0.95;
    size_t rank = 32;
};

// Parsed inputs of the comparison.
struct Case {
    checker::Report report;
    checker::Truth log, tally, other_log;
    checker::ModelSummary model;
};

Result<std::string> slurp(const std::string &path)
{
    std::ifstream in(path, std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(in), {}};
    if (!in.is_open() || in.bad())
        return Error{Errc::kIo, fmt::format("cannot read {}", path)};
    return text;
}

// Reads and parses a file into `into`; an error begins with the file name.
template <typename T, typename Parse>
Result<void> load(const std::string &path, T &into, Parse parse)
{
    auto text = slurp(path);
    if (!text)
        return text.error();
    auto parsed = parse(*text);
    if (!parsed)
        return Error{parsed.error().code, fmt::format("{}: {}", path, parsed.error().message)};
    into = std::move(*parsed);
    return {};
}

Result<Case> load_case(const Arguments &arguments)
{
    Case loaded;
    if (auto done = load(arguments.report, loaded.report, checker::read_report); !done)
        return done.error();
    auto read_log = [&](std::string_view text) {
        return checker::read_access_log(text, loaded.report.unit_bytes);
    };
    if (auto done = load(arguments.log, loaded.log, read_log); !done)
        return done.error();
    if (auto done = load(arguments.tally, loaded.tally, checker::read_tally); !done)
        return done.error();
    if (auto done = load(arguments.model, loaded.model, checker::read_model_summary); !done)
        return done.error();
    if (arguments.moved_from.empty())
        return loaded;
    if (auto done = load(arguments.moved_from, loaded.other_log, read_log); !done)
        return done.error();
    return loaded;
}

// Prints one line per comparison. Returns `holds`.
bool check(bool holds, const std::string &text)
{
    fmt::print("checker: {}: {}\n", holds ? "ok" : "NOT OK", text);
    return holds;
}

bool check_case(const Arguments &arguments, const Case &seen)
{
    uint64_t accesses = checker::sum_of(seen.log);
    std::set<uint64_t> truly_hot = checker::hottest(seen.log, arguments.rank);
    checker::Score score = checker::score(truly_hot, seen.report.hot, arguments.rank);

    bool good = check(seen.log == seen.tally,
                      fmt::format("access log: {} accesses, workload: {}; both have the same count "
                                  "for each unit",
                                  accesses, checker::sum_of(seen.tally)));
    good &= check(accesses == seen.model.accesses,
                  fmt::format("the model counted {}", seen.model.accesses));
    good &= check(
        seen.report.entries + seen.report.lost == seen.model.entries,
        fmt::format("hot-list entries: {} decoded, {} reported lost; the model inserted {} (and "
                    "dropped {} because the list was full)",
                    seen.report.entries, seen.report.lost, seen.model.entries, seen.model.dropped));
    good &=
        check(truly_hot.size() >= arguments.rank,
              fmt::format("the access log has at least {} units; the reference is its hottest {} "
                          "(ties included)",
                          arguments.rank, truly_hot.size()));
    if (!arguments.moved_from.empty()) {
        std::set<uint64_t> before = checker::hottest(seen.other_log, arguments.rank), both;
        std::set_intersection(before.begin(), before.end(), truly_hot.begin(), truly_hot.end(),
                              std::inserter(both, both.end()));
        good &= check(both.size() * 2 < arguments.rank,
                      fmt::format("the hottest units differ from those of the first recording "
                                  "(another seed): {} of {} are in both",
                                  both.size(), truly_hot.size()));
    }
    good &= check(score.recall >= arguments.require && score.precision >= arguments.require,
                  fmt::format("recall and precision at least {:.2f}", arguments.require));
    fmt::print(
        "demo: driver=cxl_hmu source=model kernel={} accesses={} entries={} lost={} recall={:.3f} "
        "precision={:.3f}\n",
        arguments.kernel, accesses, seen.report.entries, seen.report.lost, score.recall,
        score.precision);
    return good;
}

int run(int argc, char **argv)
{
    Arguments arguments;
    CLI::App app{"cxl_hmu_checker: a recording's hottest units against the model's access log"};
    app.add_option("--report", arguments.report, "output of 'pmukit report --json'")->required();
    app.add_option("--log", arguments.log, "access log of the model")->required();
    app.add_option("--tally", arguments.tally, "counts of the workload")->required();
    app.add_option("--model", arguments.model, "output of the model")->required();
    app.add_option("--kernel", arguments.kernel, "version of the guest's kernel, for the last line")
        ->required();
    app.add_option("--require", arguments.require, "least recall and precision")
        ->capture_default_str();
    app.add_option("--rank", arguments.rank, "how many units count as hottest")
        ->capture_default_str();
    app.add_option("--moved-from", arguments.moved_from,
                   "access log of another seed, whose hottest units must be others");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &error) {
        int code = app.exit(error);
        return code == 0 ? 0 : kExitUsage;
    }
    auto loaded = load_case(arguments);
    if (!loaded) {
        fmt::print(stderr, "cxl_hmu_checker: {}\n", loaded.error().message);
        return kExitUsage;
    }
    return check_case(arguments, *loaded) ? 0 : kExitFailed;
}

}  // namespace

int main(int argc, char **argv)
{
    try {
        return run(argc, argv);
    } catch (const std::exception &failure) {  // thrown by a library
        std::fprintf(stderr, "cxl_hmu_checker: %s\n", failure.what());
        return kExitUsage;
    }
}
