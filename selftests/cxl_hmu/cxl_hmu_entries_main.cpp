// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// cxl_hmu_entries_checker: compares recordings with the model's log of hot-list entries, separately
// for each enable of the device. Exit codes: 0 all checks passed, 1 a check failed, 2 wrong usage
// or unreadable input.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>

#include "cxl_hmu_entries.hpp"

namespace {

using namespace pmukit;

constexpr int kExitFailed = 1, kExitUsage = 2;

struct Arguments {
    std::string log, instance = "chmu0.0";
    std::vector<std::string> dumps, traces, losses;
    uint64_t epochs = 0;
};

Result<std::string> slurp(const std::string &path)
{
    std::ifstream in(path, std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(in), {}};
    if (!in.is_open() || in.bad())
        return Error{Errc::kIo, fmt::format("cannot read {}", path)};
    return text;
}

template <typename Parse>
auto load(const std::string &path, Parse parse) -> decltype(parse(std::string_view()))
{
    auto text = slurp(path);
    if (!text)
        return text.error();
    auto parsed = parse(*text);
    if (!parsed)
        return Error{parsed.error().code, fmt::format("{}: {}", path, parsed.error().message)};
    return parsed;
}

bool check(bool holds, const std::string &text)
{
    fmt::print("checker: {}: {}\n", holds ? "ok" : "NOT OK", text);
    return holds;
}

// Compares recordings, in the order of the arguments, with the runs of the log. A run has the
// entries from one enable of the device to the next.
class Checker {
public:
    Checker(std::vector<checker::ModelRun> runs, uint64_t epochs)
        : runs_(std::move(runs)), epochs_(epochs)
    {
    }

    // Checks a recording without losses.
    Result<bool> whole(const std::string &path, const std::vector<uint64_t> &entries)
    {
        auto run = next(1);
        if (!run)
            return run.error();
        auto differ =
            std::mismatch(entries.begin(), entries.end(), run->entries.begin(), run->entries.end());
        bool good = check(run->epochs == epochs_ && run->dropped == 0 && !run->entries.empty(),
                          fmt::format("{}: the model made {} entries in {} epochs, {} dropped",
                                      path, run->entries.size(), run->epochs, run->dropped));
        good &= check(entries == run->entries,
                      fmt::format("{}: {} entries recorded, the first {} as the model's", path,
                                  entries.size(), differ.first - entries.begin()));
        return good;
    }

    // Checks a recording with losses, all of which must be counted.
    Result<bool> losses(const std::string &path, const checker::LossCase &seen)
    {
        auto run = next(seen.enables);
        if (!run)
            return run.error();
        bool good = check(seen.handed + seen.lost == run->entries.size(),
                          fmt::format("{}: {} handed to perf + {} lost, {} made by the model", path,
                                      seen.handed, seen.lost, run->entries.size()));
        good &= check(
            checker::is_subsequence(seen.entries, run->entries),
            fmt::format("{}: {} entries got, in the model's order", path, seen.entries.size()));
        good &= check((seen.overflow != 0) == (run->dropped != 0),
                      fmt::format("{}: overflow {} reported, {} dropped by the model", path,
                                  seen.overflow ? "was" : "was not", run->dropped));
        return good;
    }

    bool all_used() const
    {
        return check(
            used_ == runs_.size(),
            fmt::format("{} of the model's {} enables were recorded", used_, runs_.size()));
    }

private:
    Result<checker::ModelRun> next(size_t count)
    {
        auto run = checker::join_runs(runs_, used_, count);
        used_ += count;
        return run;
    }

    std::vector<checker::ModelRun> runs_;
    uint64_t epochs_;
    size_t used_ = 0;
};

// Checks every file of one kind.
template <typename Read, typename Compare>
Result<bool> each(const std::vector<std::string> &paths, Read read, Compare compare)
{
    bool good = true;
    for (const std::string &path : paths) {
        auto seen = load(path, read);
        if (!seen)
            return seen.error();
        auto checked = compare(path, *seen);
        if (!checked)
            return checked;
        good &= *checked;
    }
    return good;
}

Result<bool> check_all(const Arguments &arguments)
{
    auto runs = load(arguments.log, [&](std::string_view text) {
        return checker::read_entries_log(text, arguments.instance);
    });
    if (!runs)
        return runs.error();
    Checker checker(std::move(*runs), arguments.epochs);
    auto whole = [&](const std::string &path, const std::vector<uint64_t> &entries) {
        return checker.whole(path, entries);
    };
    auto dumps = each(arguments.dumps, checker::read_dump, whole);
    if (!dumps)
        return dumps;
    auto traces = each(arguments.traces, checker::read_trace, whole);
    if (!traces)
        return traces;
    auto losses = each(arguments.losses, checker::read_loss_case,
                       [&](const std::string &path, const checker::LossCase &seen) {
                           return checker.losses(path, seen);
                       });
    if (!losses)
        return losses;
    return checker.all_used() && *dumps && *traces && *losses;
}

int run(int argc, char **argv)
{
    Arguments arguments;
    CLI::App app{"cxl_hmu_entries_checker: recordings against the model's log of hot-list entries"};
    app.add_option("--log", arguments.log, "entries log of the model")->required();
    app.add_option("--instance", arguments.instance, "whose entries")->capture_default_str();
    app.add_option("--epochs", arguments.epochs, "epochs in which the source made accesses");
    app.add_option("--dump", arguments.dumps, "text of 'pmukit dump', one enable each");
    app.add_option("--trace", arguments.traces,
                   "text of a trace, one enable each, after the dumps");
    app.add_option("--losses", arguments.losses, "cases of cxl_hmu_losses_test, after those");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &error) {
        int code = app.exit(error);
        return code == 0 ? 0 : kExitUsage;
    }
    auto good = check_all(arguments);
    if (!good) {
        fmt::print(stderr, "cxl_hmu_entries_checker: {}\n", good.error().message);
        return kExitUsage;
    }
    return *good ? 0 : kExitFailed;
}

}  // namespace

int main(int argc, char **argv)
{
    try {
        return run(argc, argv);
    } catch (const std::exception &failure) {  // thrown by a library
        std::fprintf(stderr, "cxl_hmu_entries_checker: %s\n", failure.what());
        return kExitUsage;
    }
}
