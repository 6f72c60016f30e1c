// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Where programs and the kernel ran when trace_imc took samples, by function, command and thread.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <span>

#include "base/file.hpp"
#include "base/saturate.hpp"
#include "base/sentences.hpp"
#include "cli/drivers.hpp"
#include "cli/drivers/imc/figures.hpp"
#include "cli/drivers/imc/handlers.hpp"
#include "cli/drivers/imc/mode.hpp"
#include "cli/drivers/imc/profile.hpp"
#include "decode/imc/imc_decode.hpp"
#include "perfdata/features.hpp"
#include "perfdata/format.hpp"
#include "session/aux_threads.hpp"
#include "session/functions.hpp"
#include "session/samples.hpp"
#include "session/stream_map.hpp"
#include "session/symbols.hpp"
#include "session/threads.hpp"

namespace pmukit::cli {
namespace {

namespace imc = decode::imc;
using imc::Mode;
using nlohmann::ordered_json;

constexpr size_t kBarWidth = 24;
constexpr uint32_t kNoThread = UINT32_MAX;

// Counts

struct EventSamples {
    ImcProfile profile;
    uint64_t skipped_bytes = 0, bad_payloads = 0;
    // One entry per kernel event. Key: event id and, if threads inherit the event, TID.
    std::map<std::pair<uint64_t, uint32_t>, imc::SampleAccount> accounts;
};

struct AccountTotals {
    uint64_t missing = 0, lost = 0, duplicates = 0;
};

AccountTotals totals_of(const EventSamples &seen)
{
    AccountTotals totals;
    for (const auto &[id, account] : seen.accounts) {
        add_to(totals.missing, account.missing());
        add_to(totals.lost, account.lost());
        totals.duplicates += account.duplicates();
    }
    return totals;
}

// Sorts by number of samples, most first.
template <typename Key>
std::vector<const std::pair<const Key, uint64_t> *> ranked(const std::map<Key, uint64_t> &samples)
{
    std::vector<const std::pair<const Key, uint64_t> *> order;
    order.reserve(samples.size());
    for (const auto &entry : samples)
        order.push_back(&entry);
    std::ranges::stable_sort(order, std::ranges::greater(),
                             [](const auto *entry) { return entry->second; });
    return order;
}

// Text output

void print_functions(const ImcProfile &profile, size_t top, Output &out)
{
    const auto functions = ranked(profile.functions());
    out.print("\n  {:>5}  {:>10}  {:>6}  {:>6}  {:<12}  {:<20}  {}\n", "rank", "samples", "share",
              "sum", "mode", "object", "function");
    uint64_t sum = 0;
    for (size_t i = 0; i < functions.size() && (top == 0 || i < top); i++) {
        const auto &[function, samples] = *functions[i];
        const auto bar = samples * kBarWidth / functions.front()->second;
        sum += samples;
        out.print("  {:>5}  {:>10}  {:>6}  {:>6}  {:<12}  {:<20}  {}  {}\n", i + 1, samples,
                  share_text(samples, profile.samples()), share_text(sum, profile.samples()),
                  imc_mode_name(function.mode), base_name(function.object), function.name,
                  std::string(bar, '#'));
    }
    if (top && functions.size() > top)
        out.print("  {:>5}  {}\n", "...",
                  counted(functions.size() - top, "more functions; --top 0 shows all"));
}

void print_tasks(const ImcProfile &profile, size_t top, Output &out)
{
    const auto tasks = ranked(profile.tasks());
    out.print("\n  {:>10}  {:>6}  {:>6}  {:>10}  {:>10}  {}\n", "samples", "share", "sum", "pid",
              "tid", "command");
    uint64_t sum = 0;
    for (size_t i = 0; i < tasks.size() && (top == 0 || i < top); i++) {
        const auto &[task, samples] = *tasks[i];
        sum += samples;
        out.print("  {:>10}  {:>6}  {:>6}  {:>10}  {:>10}  {}\n", samples,
                  share_text(samples, profile.samples()), share_text(sum, profile.samples()),
                  static_cast<int32_t>(task.pid), static_cast<int32_t>(task.tid),
                  task.command.empty() ? "-" : task.command);
    }
    if (top && tasks.size() > top)
        out.print("  {:>10}  {}\n", "...",
                  counted(tasks.size() - top, "more threads; --top 0 shows all"));
}

std::vector<Remark> losses_of(const EventSamples &seen)
{
    const AccountTotals account = totals_of(seen);
    return {
        {account.lost, "records were lost in the driver; record with a larger -m"},
        {account.missing, sentences::kMissingSamples},
        {seen.skipped_bytes, sentences::kSkippedBytes},
        {seen.bad_payloads, "samples had a payload that is not a record"},
    };
}

void print_remarks(size_t event, const EventSamples &seen, const Verdict &verdict, Output &out)
{
    const AccountTotals account = totals_of(seen);
    const std::vector<Remark> losses = losses_of(seen);
    const Remark others[] = {
        {account.duplicates, "samples were read twice and counted once"},
        {seen.profile.without_symbol(),
         "samples have no symbol; --symfs and --kallsyms say where symbols are"},
        {seen.profile.undivided(), "of them are only counted per program: too many addresses"},
        {seen.profile.two_meanings(),
         "samples are at addresses with two mappings over time; the first is used"},
    };
    out.text(verdict.line(event, std::ranges::any_of(losses, &Remark::count)));
    for (const std::span<const Remark> remarks :
         {std::span<const Remark>(losses), std::span<const Remark>(others)})
        for (const Remark &remark : remarks)
            if (remark.count)
                out.print("  {}\n", counted_text(remark.count, remark.at_least, remark.text));
}

// JSON output

ordered_json json_of(const Function &function, uint64_t samples)
{
    return {{"object", function.object},
            {"function", function.name},
            {"symbol", function.has_symbol},
            {"mode", imc_mode_name(function.mode)},
            {"samples", samples}};
}

ordered_json json_of(const ImcProfile::Task &task, uint64_t samples)
{
    return {{"command", task.command},
            {"pid", static_cast<int32_t>(task.pid)},
            {"tid", static_cast<int32_t>(task.tid)},
            {"samples", samples}};
}

template <typename Key>
void write_ranked(JsonWriter &json, const char *name, const std::map<Key, uint64_t> &samples,
                  const ImcProfile &profile, size_t top)
{
    json.begin(name, JsonWriter::kArray);
    size_t shown = 0;
    uint64_t sum = 0;
    for (const auto *entry : ranked(samples)) {
        if (top != 0 && shown++ == top)
            break;
        sum += entry->second;
        ordered_json one = json_of(entry->first, entry->second);
        one["share"] = part_of(entry->second, profile.samples());
        one["share_sum"] = part_of(sum, profile.samples());
        json.element(one);
    }
    json.end();
}

// AUX data of one stream

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
            const perfdata::SampleId sample_id = range ? range->sample_id : perfdata::SampleId{};
            to_.profile.add({sample_id.pid.value_or(kNoThread), sample_id.tid.value_or(stream_.tid),
                             mode_of(record, rule_), record.ip},
                            sample_id.time_ns.value_or(0));
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

class ImcReport final : public DriverReport {
public:
    ImcReport(const Recording &recording, ReportOptions options, std::optional<SymbolTable> kernel)
        : recording_(recording),
          options_(std::move(options)),
          names_(recording.reader(), options_.symfs, std::move(kernel)),
          names_known_(!can_be_read_once_only(options_.input)),
          aux_(may_be_recorded(recording) ? AuxThreads::of_file(options_.input, recording.drivers(),
                                                                own_driver(), &threads_)
                                          : AuxThreads())
    {
    }

    void aux_begin(const Stream &stream, uint64_t offset, uint64_t, uint64_t) override
    {
        streams_.begin_at(stream, offset, event(stream.event), aux_, stream,
                          imc_mode_rule(recording_.reader()));
    }
    void aux(const Stream &stream, Bytes data) override { streams_.data(stream, data); }
    void aux_loss(const Stream &stream, uint64_t, uint64_t bytes) override
    {
        streams_.loss(stream, bytes);
    }
    void aux_said(const Stream &stream, const perfdata::AuxRecord &aux,
                  const perfdata::SampleId &sample_id) override
    {
        aux_.note(stream, aux, sample_id);
    }
    void record(const perfdata::Record &record) override
    {
        if (!names_known_)
            threads_.note(record, recording_.reader());
    }
    void sample(const Stream &, uint64_t, Bytes) override {}  // handled by bare_sample()
    void bare_sample(const Stream &stream, const perfdata::Record &record,
                     const perfdata::Sample &sample) override;
    void expect(size_t number) override { event(number); }
    void finish() override;

    void print(const Recording &recording, const Verdict &verdict, Output &out) override;
    void write_pmus(const Recording &recording, JsonWriter &pmus) override;
    void add_figures(const Recording &recording, const Verdict &verdict, html::Page &page) override;
    std::vector<std::string> troubles(const Recording &recording) const override;
    std::vector<std::string> warnings(const Recording &recording) const override
    {
        return names_.changed_warnings(recording.path());
    }

private:
    static const Driver *own_driver() { return driver_of_name("imc")->recorded; }
    // Returns true if the recording has or may have an event of imc. In this case, the names of
    // threads and programs are read before the data.
    static bool may_be_recorded(const Recording &recording)
    {
        const size_t events = recording.reader().events().size();
        bool may_be = recording.reader().is_pipe();
        for (size_t event = 0; event < events && !may_be; event++) {
            const Driver *driver = recording.driver(event);
            may_be = !driver || driver == own_driver();
        }
        return may_be;
    }
    EventSamples &event(size_t number)
    {
        // Only HTML pages show stacks.
        ImcProfile profile(names_, threads_, !options_.html.empty());
        return events_.try_emplace(number, EventSamples{std::move(profile), 0, 0, {}})
            .first->second;
    }
    bool note_payload(EventSamples &seen, const Stream &stream, const perfdata::Sample &sample);

    const Recording &recording_;
    ReportOptions options_;
    Names names_;
    bool names_known_;  // true: all names were read before the first sample
    Threads threads_;
    AuxThreads aux_;
    std::map<size_t, EventSamples> events_;
    StreamMap<StreamSamples> streams_;
};

// Returns false for a duplicate sample.
bool ImcReport::note_payload(EventSamples &seen, const Stream &stream,
                             const perfdata::Sample &sample)
{
    constexpr uint64_t kInherit = 2;  // bit `inherit` of perf_event_attr
    const auto words = imc::words_of_raw(*sample.raw);
    const auto payload = words ? imc::parse_sample_record(*words) : std::nullopt;
    if (!payload) {
        seen.bad_payloads++;
        return true;
    }
    const bool inherited = recording_.reader().events()[stream.event].attr.flags & kInherit;
    const uint32_t thread = inherited ? sample.sample_id.tid.value_or(kNoThread) : kNoThread;
    return seen.accounts[{sample.sample_id.id.value_or(0), thread}].note(*payload);
}

void ImcReport::bare_sample(const Stream &stream, const perfdata::Record &record,
                            const perfdata::Sample &sample)
{
    EventSamples &seen = event(stream.event);
    if (sample.raw && !note_payload(seen, stream, sample))
        return;
    seen.profile.add(
        {sample.sample_id.pid.value_or(kNoThread), sample.sample_id.tid.value_or(kNoThread),
         mode_of_misc(record.misc), sample.ip.value_or(0)},
        sample.sample_id.time_ns.value_or(0));
}

void ImcReport::finish()
{
    streams_.end();
    for (auto &[number, seen] : events_)
        seen.profile.finish();
    if (const std::string trouble = names_.debuginfod_trouble(); !trouble.empty())
        warn(trouble);
}

void ImcReport::print(const Recording &recording, const Verdict &verdict, Output &out)
{
    for (const auto &[number, seen] : events_) {
        out.print("{}", recording.pmu_name(number));
        if (const auto source = recording.source(number))
            out.print("  source={}", *source);
        const ImcProfile &profile = seen.profile;
        const std::string rate = rate_text(profile.samples(), recording.duration_ns(), "samples");
        out.print("\n  {}\n  {}{}", event_line(recording, number, terms_of(recording, number)),
                  counted(profile.samples(), "samples"), rate.empty() ? "" : " (" + rate + ")");
        for (size_t mode = ImcProfile::kModes; mode-- > 0;)
            if (profile.of_mode(mode))
                out.print(", {} {:.1f}%", imc_mode_name(static_cast<Mode>(mode)),
                          part_of(profile.of_mode(mode), profile.samples()) * 100);
        out.text("\n");
        if (profile.samples()) {
            print_functions(profile, options_.top, out);
            print_tasks(profile, options_.top, out);
        }
        print_remarks(number, seen, verdict, out);
    }
}

void ImcReport::add_figures(const Recording &recording, const Verdict &verdict, html::Page &page)
{
    for (const auto &[number, seen] : events_)
        if (page.has_room())
            page.add(
                flame_figure({recording.pmu_name(number), recording.source(number).value_or(""),
                              lines_of(losses_of(seen)), verdict.badge(number)},
                             seen.profile.stacks(), options_.top));
}

void ImcReport::write_pmus(const Recording &recording, JsonWriter &pmus)
{
    for (const auto &[number, seen] : events_) {
        const AccountTotals account = totals_of(seen);
        ordered_json pmu = {{"samples", seen.profile.samples()}};
        for (size_t mode = 0; mode < ImcProfile::kModes; mode++)
            pmu["modes"][std::string(imc_mode_name(static_cast<Mode>(mode)))] =
                seen.profile.of_mode(mode);
        pmu["lost"] = account.lost;
        pmu["missing"] = account.missing;
        pmu["duplicates"] = account.duplicates;
        pmu["skipped_bytes"] = seen.skipped_bytes;
        pmu["bad_payloads"] = seen.bad_payloads;
        pmu["without_symbol"] = seen.profile.without_symbol();
        pmu["undivided"] = seen.profile.undivided();
        pmu["two_meanings"] = seen.profile.two_meanings();
        begin_pmu(recording, number, "imc", pmus);
        pmus.members(pmu);
        write_ranked(pmus, "hot", seen.profile.functions(), seen.profile, options_.top);
        write_ranked(pmus, "threads", seen.profile.tasks(), seen.profile, options_.top);
        end_pmu(recording, number, pmus);
    }
}

std::vector<std::string> ImcReport::troubles(const Recording &recording) const
{
    std::vector<std::string> troubles = {aux_.left_out(recording.path())};
    for (const auto &[number, seen] : events_)
        troubles.push_back(skipped_text(where_of(recording, number), seen.skipped_bytes));
    troubles.push_back(names_not_kept(recording.path(), threads_.dropped()));
    return troubles;
}

}  // namespace

ReportResult make_imc_report(const Recording &recording, const ReportOptions &options)
{
    Result<std::optional<SymbolTable>> kernel = read_kallsyms(options.kallsyms);
    if (!kernel)
        return kernel.error();
    std::unique_ptr<DriverReport> report =
        std::make_unique<ImcReport>(recording, options, std::move(*kernel));
    return report;
}

}  // namespace pmukit::cli
