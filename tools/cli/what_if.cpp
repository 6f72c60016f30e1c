// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Options of pmukit what-if, and the passes over its input.
#include "cli/what_if.hpp"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <set>

#include "base/fd.hpp"
#include "base/file.hpp"
#include "base/sentences.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "cli/drivers.hpp"
#include "cli/drivers/cxl_hmu/hot_lists.hpp"
#include "console/temp_file.hpp"
#include "html/page.hpp"
#include "models/cxl_hmu/access_reader.hpp"
#include "session/recording.hpp"

namespace pmukit::cli {
namespace {

using decode::cxl_hmu::HotList;
using decode::cxl_hmu::HotTotals;
using models::cxl_hmu::AccessReader;
using models::cxl_hmu::Request;

constexpr size_t kWatchedUnits = 64;  // the second pass watches, and needs no table of units
constexpr size_t kPiece = 4096;       // accesses that a replay gets at once
constexpr uint64_t kLeastPage_bytes = 64, kMostPage_bytes = uint64_t{1} << 31;

// Returns what the input is. Only a file can be looked at before it is read; other inputs are logs.
Result<whatif::Input> kind_of(const std::string &path)
{
    if (can_be_read_once_only(path))
        return whatif::kLog;
    std::error_code ignored;  // of a file that open_for_reading() reports
    if (std::filesystem::is_directory(path, ignored))
        return whatif::kRecording;
    const Result<Fd> file = open_for_reading(path);
    if (!file)
        return explain_open(path, file.error());
    char begin[64] = {};
    const ssize_t got = ::read(file->get(), begin, sizeof begin);
    if (got < 0)
        return system_error(path, errno);
    const std::string_view text(begin, static_cast<size_t>(got));
    if (is_recording(text))
        return whatif::kRecording;
    if (models::cxl_hmu::begins_as_access_log(text))
        return whatif::kLog;
    return Error{Errc::kUnsupported, path +
                                         ": neither a recording nor an access log, whose first "
                                         "line is '# pmukit access log 1'"};
}

bool needs_pages(const std::vector<whatif::Combination> &combinations)
{
    return std::ranges::any_of(combinations,
                               [](const auto &combination) { return combination.fast.percent; });
}

// Access logs

// Calls each() for the accesses of the log, in pieces. Returns true if the log ends inside a line.
template <typename Each>
Result<bool> read_log(const std::string &path, Each each)
{
    Result<AccessReader> reader = AccessReader::open(path);
    if (!reader)
        return reader.error();
    std::vector<Request> piece(kPiece);
    for (;;) {
        const Result<size_t> got = reader->read(piece);
        if (!got)
            return got.error();
        if (*got == 0)
            return reader->is_cut();
        if (Result<void> done = each(std::span<const Request>(piece).first(*got)); !done)
            return done.error();
    }
}

Error no_accesses(const std::string &path)
{
    return Error{Errc::kNotFound, recording_name(path) + ": it has no accesses"};
}

Result<void> count_pages(const std::string &path, whatif::Common &common)
{
    if (can_be_read_once_only(path))
        return Error{Errc::kUsage, recording_name(path) +
                                       ": a percentage of --fast needs a log that can be read "
                                       "twice; give --fast PAGES, or a file"};
    whatif::PageCount count(common);
    const Result<bool> cut = read_log(path, [&](std::span<const Request> accesses) {
        Result<void> done;
        for (const Request &access : accesses)
            if (done)
                done = count.add(access.dpa);
        return done;
    });
    if (!cut)
        return cut.error();
    common.pages = count.pages();
    if (common.pages == 0)
        return no_accesses(path);
    return {};
}

Result<void> replay_log(const WhatIfOptions &options, WhatIf &result)
{
    if (!options.pmu.empty())
        return Error{Errc::kUsage, "--pmu: only for recordings; an access log names no PMU"};
    if (needs_pages(result.combinations))
        if (Result<void> done = count_pages(options.input, result.common); !done)
            return done.error();
    Result<std::unique_ptr<whatif::LogReplay>> replay =
        whatif::LogReplay::create(result.combinations, result.common);
    if (!replay)
        return replay.error();
    (*replay)->watch([&](uint64_t epoch, uint64_t dpa, uint64_t accesses) {
        result.heat.add(dpa, epoch, accesses);
    });
    const Result<bool> cut = read_log(options.input, [&](std::span<const Request> accesses) {
        return (*replay)->feed(accesses);
    });
    if (!cut)
        return cut.error();
    if ((*replay)->accesses() == 0)
        return no_accesses(options.input);
    if (Result<void> done = (*replay)->finish(); !done)
        return done.error();
    result.accesses = (*replay)->accesses();
    result.outcomes = (*replay)->outcomes();
    result.unit_log2 = static_cast<unsigned>(result.combinations.front().chmu.tracker.unit_log2);
    result.source = kSourceModel;
    if (*cut)
        result.losses.push_back("the log ends inside a line, which was not counted");
    result.notes = {
        "a log has no times: an epoch is a number of accesses, and moves take no time",
        "a page that was promoted is no longer seen by the unit; of its accesses, the policy "
        "knows only since when there were none",
    };
    return {};
}

// Recordings

Result<Recording> open_again(const std::string &path)
{
    Result<Recording> recording = Recording::open(path, recorded_drivers());
    if (recording)
        if (Result<void> front = recording->read_front(); !front)
            return front.error();
    return recording;
}

// The event of --pmu, or of the only PMU with hot units.
Result<std::string> pmu_of(const Recording &recording, const HotLists &lists,
                           const WhatIfOptions &options)
{
    std::set<std::string> pmus;
    for (const auto &[event, list] : lists.by_event())
        if (list.units())
            pmus.insert(recording.pmu_name(event));
    if (pmus.empty())
        return Error{Errc::kNotFound, recording.path() + ": it has no hot units of device memory"};
    if (!options.pmu.empty() && !pmus.contains(options.pmu))
        return Error{Errc::kUsage, fmt::format("--pmu {}: has no hot units in {}; these have: {}",
                                               options.pmu, recording.path(), joined(pmus, ", "))};
    if (options.pmu.empty() && pmus.size() > 1)
        return Error{Errc::kUsage, fmt::format("{}: hot units of several devices; give --pmu, one "
                                               "of {}",
                                               recording.path(), joined(pmus, ", "))};
    return options.pmu.empty() ? *pmus.begin() : options.pmu;
}

void add_losses(const HotList &list, const RecordingTotals &totals, WhatIf &result)
{
    const HotTotals &hot = list.totals();
    const Remark remarks[] = {
        {hot.lost, sentences::kLostEntries},
        {hot.sequence_gaps, sentences::kMissingRecords},
        {hot.overflows, sentences::kListFull},
        {hot.saturated, "counts are the largest the counter can hold"},
        {hot.without_unit, sentences::kWithoutUnit},
        {hot.invalid, "entries had an invalid address and were skipped"},
        {totals.lost_aux_bytes, sentences::kLostAux},
        {totals.lost_samples, sentences::kLostSamples},
        {totals.throttled(), sentences::kThrottled},
    };
    for (const Remark &remark : remarks)
        if (remark.is_shown())
            result.losses.push_back(counted_text(remark.count, remark.at_least, remark.text));
}

// The first pass: PMU, unit size, pages and losses.
Result<void> look_at(const WhatIfOptions &options, WhatIf &result)
{
    Result<Recording> recording = open_again(options.input);
    if (!recording)
        return recording.error();
    HotLists lists(*recording);
    const Result<RecordingTotals> totals = recording->walk(lists);
    if (!totals)
        return totals.error();
    lists.finish();
    const Result<std::string> pmu = pmu_of(*recording, lists, options);
    if (!pmu)
        return pmu.error();
    result.pmu = *pmu;
    whatif::PageCount count(result.common);
    for (const auto &[event, list] : lists.by_event()) {
        if (recording->pmu_name(event) != *pmu || !list.units())
            continue;
        result.source = recording->source(event);
        result.unit_log2 = *list.totals().unit_log2;
        result.always_on |= list.totals().always_on;
        result.accesses += list.totals().always_on ? list.totals().entries : list.totals().accesses;
        add_losses(list, *totals, result);
        if (const std::string text = left_out_text(list); !text.empty())
            result.losses.push_back(text);
        for (const decode::cxl_hmu::HotUnit &unit : list.all())
            if (Result<void> done = count.add(unit.dpa); !done)
                return done.error();
    }
    // A unit larger than a page is as many pages.
    const unsigned page_log2 = std::max(result.common.page_log2, result.unit_log2);
    result.common.pages = count.pages() << (page_log2 - result.common.page_log2);
    return {};
}

Result<std::string> replay_recording(const WhatIfOptions &options, WhatIf &result)
{
    if (Result<void> done = look_at(options, result); !done)
        return done.error();
    Result<std::unique_ptr<whatif::RecordingReplay>> replay =
        whatif::RecordingReplay::create(result.combinations, result.common, result.unit_log2);
    if (!replay)
        return replay.error();
    Result<Recording> recording = open_again(options.input);
    if (!recording)
        return recording.error();
    Result<void> done;
    HotLists lists(
        *recording,
        [&](size_t event, HotList &list) {
            if (recording->pmu_name(event) != result.pmu)
                return;
            list.watch([&](uint64_t dpa, uint64_t time_ns, uint64_t accesses) {
                if (!done)
                    return;
                if (list.totals().unit_log2 != result.unit_log2)
                    done = Error{Errc::kUnsupported,
                                 result.name +
                                     ": units of several sizes cannot be replayed; see "
                                     "pmukit cut --time"};
                else
                    done = (*replay)->add(dpa, time_ns, accesses);
                result.heat.add(dpa, time_ns, accesses);
            });
        },
        kWatchedUnits);
    const Result<RecordingTotals> totals = recording->walk(lists);
    if (!totals)
        return totals.error();
    lists.finish();
    if (!done)
        return done.error();
    (*replay)->finish();
    result.outcomes = (*replay)->outcomes();
    result.notes = {
        "a recording has only what the unit reported: recall and precision are unknown, and "
        "accesses to other memory are not counted",
        "the counters, epoch and threshold are those of the recording; only an access log can be "
        "replayed with others",
        "the device would not have reported a page after its promotion; here it goes on, and "
        "counts as fast",
    };
    return recording->damage();
}

Result<WhatIf> replay(const WhatIfOptions &options, std::string &damage)
{
    const Result<unsigned> page_log2 = whatif::parse_size_log2("page-bytes", options.page_bytes,
                                                               kLeastPage_bytes, kMostPage_bytes);
    if (!page_log2)
        return page_log2.error();
    if (options.hot_units == 0)
        return Error{Errc::kUsage, "--hot-units 0: must be at least 1"};
    if (options.move_cost > UINT32_MAX)
        return Error{Errc::kUsage, fmt::format("--move-cost {}: must be at most {}",
                                               options.move_cost, UINT32_MAX)};
    const Result<whatif::Input> input = kind_of(options.input);
    if (!input)
        return input.error();
    Result<std::vector<whatif::Combination>> combinations =
        whatif::combinations_of(options.values, *input, options.randomized);
    if (!combinations)
        return combinations.error();
    if (*input == whatif::kRecording && options.randomized)
        return Error{Errc::kUsage,
                     "--randomized: a recording has the values of the unit that made it"};
    WhatIf result;
    result.input = *input;
    result.name = recording_name(options.input);
    result.combinations = std::move(*combinations);
    result.common = {
        .page_log2 = *page_log2, .hot_units = options.hot_units, .move_cost = options.move_cost};
    if (*input == whatif::kLog) {
        if (Result<void> done = replay_log(options, result); !done)
            return done.error();
        return result;
    }
    const Result<std::string> found = replay_recording(options, result);
    if (!found)
        return found.error();
    damage = *found;
    return result;
}

}  // namespace

Command add_what_if(CLI::App &app)
{
    const auto owned = std::make_shared<WhatIfOptions>();
    WhatIfOptions &options = *owned;
    CLI::App *what_if = app.add_subcommand(
        "what-if", "replay accesses through a model of the hotness unit and placement policies");
    what_if
        ->add_option("-i,--input", options.input,
                     "access log of a model, -: from standard input; or a perf.data file or "
                     "directory of cxl_hmu")
        ->capture_default_str();
    for (size_t i = 0; i < whatif::dimensions().size(); i++) {
        const whatif::Dimension &dimension = whatif::dimensions()[i];
        what_if->add_option("--" + std::string(dimension.name), options.values[i], dimension.help)
            ->default_str(dimension.usual);
    }
    what_if->add_flag("--randomized", options.randomized,
                      "downsampling at random intervals, with the same mean");
    what_if
        ->add_option("--page-bytes", options.page_bytes,
                     "size of the pages that move; a larger unit moves as a whole")
        ->capture_default_str();
    what_if
        ->add_option("--hot-units", options.hot_units,
                     "for recall and precision: the N most accessed units of an epoch are hot")
        ->capture_default_str();
    what_if
        ->add_option("--move-cost", options.move_cost,
                     "accesses that must be fast to pay for moving a page once")
        ->capture_default_str();
    what_if->add_option("--pmu", options.pmu, "recordings: PMU to replay (default: the only one)");
    what_if->add_flag("--json", options.json, "print one JSON object instead of text");
    what_if->add_option("--html", options.html,
                        "write an HTML page to this file instead of text to standard output");
    what_if->add_flag("--force", options.force, kForceHelp);
    what_if->footer(
        "Examples:\n  pmukit what-if -i access.log --threshold 16,64,256 --counters 256,1024\n"
        "  pmukit what-if -i access.log --policy hottest-first,hysteresis --fast 5%,10%,20%\n"
        "  pmukit what-if -i perf.data --policy cost-benefit --json\n"
        "Options from --unit-bytes to --policy accept several values, separated by commas; every "
        "combination is a row. `pmukit-model cxl_hmu --access-log FILE` writes an access log.\n"
        "Exit status: 0 the whole input was replayed, 1 it is damaged (what is missing is "
        "reported) or cannot be read, 2 usage.");
    return {what_if,
            [owned](const Invocation &invocation) { return run_what_if(*owned, invocation.out); },
            Shows::kText};
}

Result<int> run_what_if(const WhatIfOptions &options, Output &out)
{
    if (options.html == "-")
        return Error{Errc::kUsage, "--html -: name a file"};
    if (Result<void> begun = begin_output(options.html, {options.input},
                                          {"a page of pmukit", html::is_page}, options.force);
        !begun)
        return begun.error();
    std::string damage;
    const Result<WhatIf> result = replay(options, damage);
    if (!result)
        return result.error();
    std::optional<perfdata::NewFile> page;
    if (!options.html.empty()) {
        Result<perfdata::NewFile> written = write_what_if_page(*result, options.html);
        if (!written)
            return written.error();
        page.emplace(std::move(*written));
    }
    if (options.json)
        write_what_if_json(*result, options, out);
    else if (options.html.empty())
        print_what_if(*result, out);
    const bool is_cut_log = result->input == whatif::kLog && !result->losses.empty();
    const int status = say_troubles(
        {damage, is_cut_log ? result->name + ": " + result->losses.front() : std::string()});
    return page ? named_last(*page, status) : status;
}

}  // namespace pmukit::cli
