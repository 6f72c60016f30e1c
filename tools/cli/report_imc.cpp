// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Where programs and the kernel spent what trace_imc counts, by function, command and thread.
//
// Samples are added up by thread, mode and address as they come; what lay at an address is asked at
// the end, because maps may stand behind the samples that need them. Memory grows with the number
// of different addresses, not with the recording.
#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <tuple>

#include "base/file.hpp"
#include "base/plain.hpp"
#include "cli/aux_threads.hpp"
#include "cli/figures.hpp"
#include "cli/functions.hpp"
#include "cli/imc_mode.hpp"
#include "cli/symbols.hpp"
#include "cli/threads.hpp"
#include "cli/unit_handlers.hpp"
#include "decode/imc/imc_decode.hpp"
#include "perfdata/features.hpp"
#include "perfdata/format.hpp"

namespace pmukit::cli {
namespace {

namespace imc = decode::imc;
using imc::Mode;
using nlohmann::ordered_json;

constexpr size_t kModes = 4;
constexpr size_t kBarWidth = 24;
constexpr uint32_t kNobody = UINT32_MAX;

// What was counted

struct Spot {
    uint32_t pid, tid;
    Mode mode;
    uint64_t ip;
    auto operator<=>(const Spot &) const = default;
};

struct Seen {
    uint64_t samples = 0;
    uint64_t first_ns = UINT64_MAX, last_ns = 0;
};

struct EventSamples {
    std::map<Spot, Seen> spots;
    uint64_t samples = 0, skipped_bytes = 0, bad_payloads = 0;
    std::array<uint64_t, kModes> by_mode{};
    // By event id and, where threads inherit the event, thread: as the kernel has events.
    std::map<std::pair<uint64_t, uint32_t>, imc::SampleAccount> accounts;

    void add(const Spot &spot, uint64_t time_ns)
    {
        Seen &seen = spots[spot];
        seen.samples++;
        seen.first_ns = std::min(seen.first_ns, time_ns);
        seen.last_ns = std::max(seen.last_ns, time_ns);
        samples++;
        by_mode[static_cast<size_t>(spot.mode)]++;
    }
};

// What it means

struct Profile {
    std::vector<std::pair<Function, uint64_t>> functions;  // most samples first
    struct Task {
        std::string command;
        uint32_t pid, tid;
        uint64_t samples;
    };
    std::vector<Task> tasks;
    std::map<ImcStack, uint64_t> stacks;
    uint64_t without_symbol = 0;  // samples
    uint64_t two_meanings = 0;
};

// Of what was seen under two meanings the first counts.
Profile explain(const EventSamples &seen, const Threads &threads, Programs &programs,
                const SymbolTable *kernel)
{
    Profile profile;
    Explainer explainer(threads, programs, kernel);
    std::map<Function, uint64_t> functions;
    std::map<std::tuple<std::string, uint32_t, uint32_t>, uint64_t> tasks;
    for (const auto &[spot, counts] : seen.spots) {
        const Function function =
            explainer.function_at(spot.pid, spot.mode, spot.ip, counts.first_ns);
        if (counts.last_ns != counts.first_ns &&
            explainer.function_at(spot.pid, spot.mode, spot.ip, counts.last_ns) != function)
            profile.two_meanings += counts.samples;
        functions[function] += counts.samples;
        profile.without_symbol += function.has_symbol ? 0 : counts.samples;
        const std::string command(threads.command(spot.tid, counts.first_ns));
        tasks[{command, spot.pid, spot.tid}] += counts.samples;
        profile
            .stacks[{command, spot.pid, spot.tid, function.mode, function.object, function.name}] +=
            counts.samples;
    }
    profile.functions.assign(functions.begin(), functions.end());
    std::ranges::stable_sort(profile.functions, std::ranges::greater(),
                             &std::pair<Function, uint64_t>::second);
    for (const auto &[task, samples] : tasks)
        profile.tasks.push_back({std::get<0>(task), std::get<1>(task), std::get<2>(task), samples});
    std::ranges::stable_sort(profile.tasks, std::ranges::greater(), &Profile::Task::samples);
    return profile;
}

struct AccountTotals {
    uint64_t missing = 0, lost = 0, duplicates = 0;
};

AccountTotals totals_of(const EventSamples &seen)
{
    AccountTotals totals;
    for (const auto &[id, account] : seen.accounts) {
        totals.missing += account.missing();
        totals.lost += account.lost();
        totals.duplicates += account.duplicates();
    }
    return totals;
}

double share_of(uint64_t part, uint64_t all)
{
    return all ? static_cast<double>(part) / static_cast<double>(all) : 0;
}

// For people

void print_functions(const Profile &profile, uint64_t all, size_t top, Output &out)
{
    out.print("\n  {:>5}  {:>10}  {:>6}  {:<12}  {:<20}  {}\n", "rank", "samples", "share", "mode",
              "object", "function");
    for (size_t i = 0; i < profile.functions.size() && (top == 0 || i < top); i++) {
        const auto &[function, samples] = profile.functions[i];
        const auto bar = samples * kBarWidth / profile.functions.front().second;
        out.print("  {:>5}  {:>10}  {:>5.1f}%  {:<12}  {:<20}  {}  {}\n", i + 1, samples,
                  share_of(samples, all) * 100, imc_mode_name(function.mode),
                  plain(base_name(function.object)), plain(function.name), std::string(bar, '#'));
    }
    if (top && profile.functions.size() > top)
        out.print("  {:>5}  {} more functions; --top 0 shows all\n", "...",
                  profile.functions.size() - top);
}

void print_tasks(const Profile &profile, uint64_t all, size_t top, Output &out)
{
    out.print("\n  {:>10}  {:>6}  {:>10}  {:>10}  {}\n", "samples", "share", "pid", "tid",
              "command");
    for (size_t i = 0; i < profile.tasks.size() && (top == 0 || i < top); i++) {
        const Profile::Task &task = profile.tasks[i];
        out.print("  {:>10}  {:>5.1f}%  {:>10}  {:>10}  {}\n", task.samples,
                  share_of(task.samples, all) * 100, static_cast<int32_t>(task.pid),
                  static_cast<int32_t>(task.tid), task.command.empty() ? "-" : plain(task.command));
    }
    if (top && profile.tasks.size() > top)
        out.print("  {:>10}  {} more threads; --top 0 shows all\n", "...",
                  profile.tasks.size() - top);
}

std::vector<Remark> losses_of(const EventSamples &seen)
{
    const AccountTotals account = totals_of(seen);
    return {
        {account.lost, "records were lost in the driver; record with a larger -m"},
        {account.missing, "samples are missing by their numbers"},
        {seen.skipped_bytes, "bytes held no record and were skipped"},
        {seen.bad_payloads, "samples had a payload that is no record"},
    };
}

void print_remarks(const EventSamples &seen, const Profile &profile, Output &out)
{
    const AccountTotals account = totals_of(seen);
    const std::vector<Remark> losses = losses_of(seen);
    const Remark others[] = {
        {account.duplicates, "samples came twice and were counted once"},
        {profile.without_symbol,
         "samples have no symbol; --symfs and --kallsyms say where symbols are"},
        {profile.two_meanings,
         "samples are at addresses that meant two things in the course of time; the first counts"},
    };
    const bool lost = std::ranges::any_of(losses, [](const Remark &r) { return r.count != 0; });
    out.text(lost ? "\n" : "\n  nothing lost\n");
    for (const std::span<const Remark> remarks :
         {std::span<const Remark>(losses), std::span<const Remark>(others)})
        for (const Remark &remark : remarks)
            if (remark.count)
                out.print("  {} {}\n", remark.count, remark.text);
}

// For programs

ordered_json json_of(const Profile &profile, uint64_t all, size_t top)
{
    ordered_json hot = ordered_json::array(), tasks = ordered_json::array();
    for (const auto &[function, samples] : profile.functions)
        if (top == 0 || hot.size() < top)
            hot.push_back({{"object", function.object},
                           {"function", function.name},
                           {"symbol", function.has_symbol},
                           {"mode", imc_mode_name(function.mode)},
                           {"samples", samples},
                           {"share", share_of(samples, all)}});
    for (const Profile::Task &task : profile.tasks)
        if (top == 0 || tasks.size() < top)
            tasks.push_back({{"command", task.command},
                             {"pid", static_cast<int32_t>(task.pid)},
                             {"tid", static_cast<int32_t>(task.tid)},
                             {"samples", task.samples}});
    return {{"hot", hot}, {"threads", tasks}};
}

// Of one stream of AUX data

class StreamSamples final : public imc::Sink {
public:
    StreamSamples(EventSamples &to, const AuxThreads &aux, const Stream &stream, imc::ModeRule rule)
        : to_(to), aux_(aux), stream_(stream), rule_(rule), decoder_(*this)
    {
    }
    StreamSamples(const StreamSamples &) = delete;
    StreamSamples &operator=(const StreamSamples &) = delete;

    imc::StreamDecoder &decoder() { return decoder_; }

    void records(uint64_t offset, imc::Records records) override
    {
        for (size_t i = 0; i < records.size(); i++) {
            const imc::Record record = records[i];
            const AuxThreads::Range *range = aux_.find(stream_, offset + i * imc::kRecordBytes);
            const perfdata::SampleId who = range ? range->who : perfdata::SampleId{};
            to_.add({who.pid.value_or(kNobody), who.tid.value_or(stream_.tid),
                     mode_of(record, rule_), record.ip},
                    who.time_ns.value_or(0));
        }
    }
    void skipped(uint64_t, uint64_t bytes) override { to_.skipped_bytes += bytes; }

private:
    EventSamples &to_;
    const AuxThreads &aux_;
    Stream stream_;
    imc::ModeRule rule_;
    imc::StreamDecoder decoder_;
};

// The report

class ImcReport final : public UnitReport {
public:
    ImcReport(const Recording &recording, ReportOptions options, std::optional<SymbolTable> kernel)
        : recording_(recording),
          options_(std::move(options)),
          kernel_(std::move(kernel)),
          aux_(AuxThreads::of_file(options_.input))
    {
    }

    void aux_begin(const Stream &stream, uint64_t offset, uint64_t, uint64_t) override
    {
        auto [at, fresh] = streams_.try_emplace(stream, events_[stream.event], aux_, stream,
                                                imc_mode_rule(recording_.reader()));
        if (fresh)
            at->second.decoder().start(offset);
    }
    void aux(const Stream &stream, Bytes data) override
    {
        streams_.at(stream).decoder().data(data);
    }
    void aux_loss(const Stream &stream, uint64_t, uint64_t bytes) override
    {
        if (auto at = streams_.find(stream); at != streams_.end())
            at->second.decoder().loss(bytes);
    }
    void aux_said(const Stream &stream, const perfdata::AuxRecord &aux,
                  const perfdata::SampleId &who) override
    {
        aux_.note(stream, aux, who);
    }
    void record(const perfdata::Record &record) override
    {
        threads_.note(record, recording_.reader());
    }
    void sample(const Stream &, uint64_t, Bytes) override {}  // all come as bare samples
    void bare_sample(const Stream &stream, const perfdata::Record &record,
                     const perfdata::Sample &sample) override;
    void expect(size_t event) override { events_.try_emplace(event); }
    void finish() override;

    void print(const Recording &recording, Output &out) override;
    void add_pmus(const Recording &recording, ordered_json &pmus) override;
    void add_figures(const Recording &recording, std::vector<html::Figure> &figures) override;
    std::vector<std::string> troubles(const Recording &recording) const override;

private:
    bool note_payload(EventSamples &seen, const Stream &stream, const perfdata::Sample &sample);

    const Recording &recording_;
    ReportOptions options_;
    std::optional<SymbolTable> kernel_;
    AuxThreads aux_;
    Threads threads_;
    std::map<size_t, EventSamples> events_;
    std::map<Stream, StreamSamples> streams_;
    std::map<size_t, Profile> profiles_;
    std::vector<std::string> changed_;
};

// False: this sample came before.
bool ImcReport::note_payload(EventSamples &seen, const Stream &stream,
                             const perfdata::Sample &sample)
{
    constexpr uint64_t kInherit = 2;  // of the attribute's flags
    const auto words = imc::words_of_raw(*sample.raw);
    const auto payload = words ? imc::parse_sample_record(*words) : std::nullopt;
    if (!payload) {
        seen.bad_payloads++;
        return true;
    }
    const bool inherited = recording_.reader().events()[stream.event].attr.flags & kInherit;
    const uint32_t thread = inherited ? sample.who.tid.value_or(kNobody) : kNobody;
    return seen.accounts[{sample.who.id.value_or(0), thread}].note(*payload);
}

void ImcReport::bare_sample(const Stream &stream, const perfdata::Record &record,
                            const perfdata::Sample &sample)
{
    EventSamples &seen = events_[stream.event];
    if (sample.raw && !note_payload(seen, stream, sample))
        return;
    seen.add({sample.who.pid.value_or(kNobody), sample.who.tid.value_or(kNobody),
              imc_mode_of_misc(record.misc), sample.ip.value_or(0)},
             sample.who.time_ns.value_or(0));
}

void ImcReport::finish()
{
    for (auto &[stream, samples] : streams_)
        samples.decoder().end();
    Programs programs(threads_, options_.symfs, recording_.reader());
    for (const auto &[event, seen] : events_)
        profiles_[event] = explain(seen, threads_, programs, kernel_ ? &*kernel_ : nullptr);
    changed_ = programs.changed();
}

void ImcReport::print(const Recording &recording, Output &out)
{
    for (const auto &[event, seen] : events_) {
        out.print("{}", recording.pmu_name(event));
        if (options_.source)
            out.print("  source={}", *options_.source);
        out.print("\n  {} samples", seen.samples);
        for (size_t mode = kModes; mode-- > 0;)
            if (seen.by_mode[mode])
                out.print(", {} {:.1f}%", imc_mode_name(static_cast<Mode>(mode)),
                          share_of(seen.by_mode[mode], seen.samples) * 100);
        out.text("\n");
        const Profile &profile = profiles_[event];
        if (seen.samples) {
            print_functions(profile, seen.samples, options_.top, out);
            print_tasks(profile, seen.samples, options_.top, out);
        }
        print_remarks(seen, profile, out);
    }
}

void ImcReport::add_figures(const Recording &recording, std::vector<html::Figure> &figures)
{
    for (const auto &[event, seen] : events_)
        figures.push_back(flame_figure(
            {recording.pmu_name(event), options_.source.value_or(""), lines_of(losses_of(seen))},
            profiles_[event].stacks, options_.top));
}

void ImcReport::add_pmus(const Recording &recording, ordered_json &pmus)
{
    for (const auto &[event, seen] : events_) {
        const AccountTotals account = totals_of(seen);
        ordered_json pmu = {
            {"pmu", recording.pmu_name(event)}, {"unit", "imc"}, {"samples", seen.samples}};
        for (size_t mode = 0; mode < kModes; mode++)
            pmu["modes"][std::string(imc_mode_name(static_cast<Mode>(mode)))] = seen.by_mode[mode];
        pmu["lost"] = account.lost;
        pmu["missing"] = account.missing;
        pmu["duplicates"] = account.duplicates;
        pmu["skipped_bytes"] = seen.skipped_bytes;
        pmu["bad_payloads"] = seen.bad_payloads;
        pmu["without_symbol"] = profiles_[event].without_symbol;
        pmu["two_meanings"] = profiles_[event].two_meanings;
        pmu.update(json_of(profiles_[event], seen.samples, options_.top));
        pmus.push_back(std::move(pmu));
    }
}

std::vector<std::string> ImcReport::troubles(const Recording &recording) const
{
    std::vector<std::string> troubles;
    for (const auto &[event, seen] : events_)
        if (seen.skipped_bytes)
            troubles.push_back(fmt::format("{}: {}: {} bytes hold no record and were skipped",
                                           recording.path(), recording.pmu_name(event),
                                           seen.skipped_bytes));
    for (const std::string &path : changed_)
        troubles.push_back(
            fmt::format("{}: {}: not the build that was recorded; its symbols are not used",
                        recording.path(), path));
    if (threads_.dropped())
        troubles.push_back(fmt::format("{}: {} maps or threads more than a machine can have",
                                       recording.path(), threads_.dropped()));
    return troubles;
}

}  // namespace

ReportResult make_imc_report(const Recording &recording, const ReportOptions &options)
{
    Result<std::optional<SymbolTable>> kernel = read_kallsyms(options.kallsyms);
    if (!kernel)
        return kernel.error();
    std::unique_ptr<UnitReport> report =
        std::make_unique<ImcReport>(recording, options, std::move(*kernel));
    return report;
}

}  // namespace pmukit::cli
