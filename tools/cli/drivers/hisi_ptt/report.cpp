// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Report of a PCIe trace: TLPs and bytes by type, requester, address and time, TLP sizes, and the
// time from requests to their completions.
#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

#include "base/saturate.hpp"
#include "base/sentences.hpp"
#include "cli/drivers.hpp"
#include "cli/drivers/hisi_ptt/figures.hpp"
#include "cli/drivers/hisi_ptt/handlers.hpp"
#include "cli/drivers/hisi_ptt/layout.hpp"
#include "cli/join.hpp"
#include "decode/hisi_ptt/hisi_ptt_record.hpp"
#include "decode/hisi_ptt/hisi_ptt_traffic.hpp"
#include "session/aux_threads.hpp"
#include "session/stream_map.hpp"

namespace pmukit::cli {
namespace {

namespace ptt = decode::hisi_ptt;
using ptt::TlpCount;
using ptt::Traffic;

constexpr size_t kBarWidth = 24;

// Terms of the event, from its config: Documentation/devices/hisi_ptt.rst, "Terms".

struct Terms {
    uint64_t filter, direction, type, format;
};

Terms terms_of(uint64_t config)
{
    return {config & 0xfffff, config >> 20 & 0xf, config >> 24 & 0xff, config >> 32 & 0xf};
}

std::string filter_text(uint64_t filter)
{
    constexpr uint64_t kPorts = 0x80000;
    if (filter & kPorts)
        return fmt::format("filter {:#x} (ports)", filter);
    return fmt::format("filter {:#x} (requester {})", filter,
                       ptt::bdf_text(static_cast<uint16_t>(filter)));
}

const char *direction_text(const Terms &terms)
{
    constexpr const char *kNarrow[] = {
        "inbound", "outbound",
        "outbound and inbound P NP CPL B in one sum: entries do not distinguish them",
        "outbound and inbound CPL A in one sum: entries do not distinguish them"};
    constexpr const char *kWide[] = {"reserved", "outbound", "inbound P NP CPL B", "inbound CPL A"};
    if (terms.direction >= std::size(kNarrow))
        return "unknown";
    return terms.format ? kWide[terms.direction] : kNarrow[terms.direction];
}

std::string type_text(uint64_t type)
{
    std::string text;
    for (const auto &[bit, name] : {std::pair{1, "P"}, {2, "NP"}, {4, "CPL"}})
        if (type & static_cast<uint64_t>(bit))
            text.append(text.empty() ? "" : "+").append(name);
    return text.empty() ? "none" : text;
}

std::string terms_text(const Recording &recording, size_t event)
{
    const Terms terms = terms_of(recording.config(event));
    const std::string headers = headers_text(recording);
    return fmt::format("{}  direction {} ({})  type {}  format {}{}", filter_text(terms.filter),
                       terms.direction, direction_text(terms), type_text(terms.type),
                       terms.format ? "8DW" : "4DW", headers.empty() ? "" : "  " + headers);
}

// Traffic of one event, from AUX data and from samples.

struct EventTraffic {
    EventTraffic(unsigned range_log2, const ptt::TrafficRoom &room) : traffic(range_log2, room) {}

    Traffic traffic;
    StreamMap<ptt::StreamDecoder> aux, samples;
    std::map<Stream, ptt::RecordAccount> accounts;
    uint64_t bad_records = 0;
    // Losses of AUX data, from perf's records: AUX data has no records that count losses.
    perfdata::LostEntries aux_lost;
    uint64_t aux_unknown_losses = 0;
};

// Memory of a new event, and of a new stream: ptt::Traffic, ptt::StreamDecoder and
// ptt::RecordAccount have hidden members.
constexpr size_t kEventBytes = sizeof(EventTraffic) + 5120 + kNodeBytes;
constexpr size_t kStreamBytes = sizeof(Stream) + 512 + kNodeBytes;

// Sums over all CPUs and the AUX data.
struct AccountTotals {
    uint64_t records = 0, lost = 0, missing = 0, duplicates = 0, overruns = 0, resets = 0;
    uint64_t filter_gone = 0;
    bool at_least = false;  // lost is a lower bound
};

AccountTotals totals_of(const EventTraffic &event)
{
    AccountTotals totals;
    totals.lost = event.aux_lost.count();
    totals.at_least = event.aux_lost.at_least();
    for (const auto &[stream, account] : event.accounts) {
        totals.records += account.records();
        add_to(totals.lost, account.lost_entries());
        add_to(totals.missing, account.missing_records());
        totals.duplicates += account.duplicates();
        totals.overruns += account.overruns();
        totals.resets += account.resets();
        totals.filter_gone += account.filter_gone();
        totals.at_least |= account.at_least();
    }
    return totals;
}

// Text output

std::string bar(uint64_t part, uint64_t largest)
{
    const double width = part_of(part, largest) * kBarWidth;
    return std::string(static_cast<size_t>(std::lround(width)), '#');
}

void print_types(const Traffic &traffic, Output &out)
{
    out.print("\n  {:<8}  {:>12}  {:>6}  {:>15}  {:>15}\n", "type", "TLPs", "share", "bytes",
              "bytes asked for");
    for (size_t i = 0; i < ptt::kTlpTypes; i++) {
        const auto type = static_cast<ptt::TlpType>(i);
        const TlpCount &count = traffic.of(type);
        if (count.tlps)
            out.print("  {:<8}  {:>12}  {:>5.1f}%  {:>15}  {:>15}\n", name_of(type), count.tlps,
                      part_of(count.tlps, traffic.packets()) * 100, count.bytes, count.requested);
    }
}

void print_more(size_t shown, size_t all, const char *what, Output &out)
{
    if (shown < all)
        out.print("  {:>5}  {}; --top 0 shows all\n", "...", counted(all - shown, what));
}

size_t shown_of(size_t all, size_t top)
{
    return top ? std::min(all, top) : all;
}

void print_requesters(const Traffic &traffic, size_t top, Output &out)
{
    const std::vector<const ptt::RequesterTraffic *> all = traffic.requesters();
    const size_t shown = shown_of(all.size(), top);
    out.print(
        "\n  {:>5}  {:<9}  {:>12}  {:>6}  {:>6}  {:>12}  {:>12}  {:>12}  {:>15}  {:>12}  {:>12}\n",
        "rank", "requester", "TLPs", "share", "sum", "posted", "non-posted", "completions", "bytes",
        "mean latency", "max latency");
    uint64_t sum = 0;
    for (size_t i = 0; i < shown; i++) {
        const ptt::RequesterTraffic &one = *all[i];
        add_to(sum, one.tlps());
        out.print(
            "  {:>5}  {:<9}  {:>12}  {:>6}  {:>6}  {:>12}  {:>12}  {:>12}  {:>15}  {:>12}  "
            "{:>12}\n",
            i + 1, ptt::bdf_text(one.id), one.tlps(), share_text(one.tlps(), traffic.packets()),
            share_text(sum, traffic.packets()), one.posted.tlps, one.non_posted.tlps,
            one.completions.tlps, one.bytes(),
            one.latency.requests ? fmt::format("{:.1f}", one.latency.mean()) : "-",
            one.latency.requests ? std::to_string(one.latency.max) : "-");
    }
    print_more(shown, all.size(), "more requesters", out);
    if (traffic.other_requesters().tlps())
        out.print("  {:>5}  {}\n", "...",
                  counted(traffic.other_requesters().tlps(), "TLPs of further requesters"));
}

void print_ranges(const Traffic &traffic, size_t top, Output &out)
{
    const std::vector<ptt::RangeTraffic> all = traffic.ranges();
    if (all.empty())
        return;
    const size_t shown = shown_of(all.size(), top);
    out.print("\n  {:>5}  {:<37}  {:>12}  {:>12}  {:>15}  {:>12}  {:>15}\n", "rank",
              "address range", "TLPs", "reads", "bytes asked for", "writes", "bytes");
    for (size_t i = 0; i < shown; i++) {
        const ptt::RangeTraffic &one = all[i];
        out.print("  {:>5}  {:#018x}-{:#018x}  {:>12}  {:>12}  {:>15}  {:>12}  {:>15}\n", i + 1,
                  one.address, one.address + (traffic.range_bytes() - 1), one.tlps(),
                  one.reads.tlps, one.reads.requested, one.writes.tlps, one.writes.bytes);
    }
    print_more(shown, all.size(), "more ranges", out);
    if (traffic.elsewhere().tlps)
        out.print("  {:>5}  {}\n", "...",
                  counted(traffic.elsewhere().tlps, "TLPs at further addresses"));
}

void print_time(const ptt::TimeStrip &time, Output &out)
{
    constexpr std::string_view kShades = " .:-=+*#%@";
    uint64_t most = 1;
    for (size_t i = 0; i < time.columns(); i++)
        most = std::max(most, time.tlps(i));
    std::string strip;
    for (size_t i = 0; i < time.columns(); i++) {
        // A column with any TLP is never blank.
        const double shade = part_of(time.tlps(i), most) * static_cast<double>(kShades.size() - 1);
        const auto index = static_cast<size_t>(std::lround(shade));
        strip += kShades[time.tlps(i) ? std::max<size_t>(1, index) : 0];
    }
    out.print("\n  TLPs over time, one column is {} ticks:\n  |{}|\n", time.column_ticks(), strip);
}

void print_histogram(const char *title, const ptt::Histogram &histogram, Output &out)
{
    if (!histogram.count())
        return;
    const std::vector<ptt::Histogram::Bucket> buckets = histogram.buckets();
    uint64_t most = 0;
    for (const ptt::Histogram::Bucket &bucket : buckets)
        most = std::max(most, bucket.count);
    out.print("\n  {}\n", title);
    for (const ptt::Histogram::Bucket &bucket : buckets)
        out.print("  {:>8} {:<10}  {:>12}  {:>5.1f}%  {}\n", bucket.first,
                  bucket.last == bucket.first ? "" : fmt::format(".. {}", bucket.last),
                  bucket.count, part_of(bucket.count, histogram.count()) * 100,
                  bar(bucket.count, most));
}

void print_alignment(const Traffic &traffic, Output &out)
{
    uint64_t most = 0, all = 0;
    for (unsigned i = 0; i <= Traffic::kMaxAlignmentLog2; i++) {
        most = std::max(most, traffic.aligned(i));
        all += traffic.aligned(i);
    }
    if (!all)
        return;
    out.text("\n  alignment of memory requests, bytes\n");
    for (unsigned i = 0; i <= Traffic::kMaxAlignmentLog2; i++)
        if (traffic.aligned(i))
            out.print("  {:>8} {:<10}  {:>12}  {:>5.1f}%  {}\n", uint64_t{1} << i,
                      i == Traffic::kMaxAlignmentLog2 ? "and more" : "", traffic.aligned(i),
                      part_of(traffic.aligned(i), all) * 100, bar(traffic.aligned(i), most));
}

void print_latency(const Traffic &traffic, Output &out)
{
    const ptt::LatencyTotals &totals = traffic.latency_totals();
    const ptt::Histogram &latency = traffic.latency();
    if (!totals.requests && !totals.unmatched)
        return;
    out.print("\n  {}, {} answered, {} outstanding; {}\n",
              counted(totals.requests, "non-posted requests"), totals.answered,
              traffic.outstanding(), counted(totals.unmatched, "completions without a request"));
    if (latency.count())
        out.print("  latency, ticks: min {}  mean {:.1f}  median {}  90% {}  99% {}  max {}\n",
                  latency.min(), latency.mean(), latency.quantile(0.5), latency.quantile(0.9),
                  latency.quantile(0.99), latency.max());
    if (latency.count() && traffic.packets_of(ptt::Format::k4dw))
        out.text("  stamps of 4DW have 11 bits: a latency of 2048 ticks or more shows as less\n");
}

// Lines about losses, with advice. Each begins with a count.
std::vector<Remark> losses_of(const EventTraffic &event)
{
    const Traffic &traffic = event.traffic;
    const AccountTotals account = totals_of(event);
    return {
        {account.lost, "entries lost; a larger AUX area (-m ,AUXPAGES) or ring (-m PAGES) may help",
         account.at_least},
        {event.aux_unknown_losses, "losses of unknown size are marked"},
        {account.overruns,
         "times the device overwrote unread data, amount unknown; trace fewer types or ports"},
        {account.missing, sentences::kMissingRecords},
        {account.resets, "times the device lost its configuration while recording"},
        {traffic.losses(), "times data was lost; requests outstanding then are not counted"},
        {traffic.skipped_bytes(), sentences::kSkippedEntries},
        {event.bad_records, "samples held no record and were skipped"},
    };
}

void print_remarks(size_t index, const EventTraffic &event, const Verdict &verdict, Output &out)
{
    const Traffic &traffic = event.traffic;
    const AccountTotals account = totals_of(event);
    const ptt::LatencyTotals &latency = traffic.latency_totals();
    const std::vector<Remark> losses = losses_of(event);
    const Remark others[] = {
        {account.duplicates, sentences::kDuplicates},
        {account.filter_gone, "times the traced function was removed and the event ended"},
        {latency.failed, "requests were answered with an error"},
        {latency.reused, "requests had their tag reused before completion"},
        {latency.forgotten, "requests were outstanding when data was lost"},
        {latency.untracked, "requests were of too many requesters to be followed"},
        {traffic.other_requesters().tlps(), "TLPs were of too many requesters to be listed"},
        {traffic.poisoned(), "TLPs were poisoned"},
        {traffic.with_pasid(), "TLPs had a PASID"},
    };
    out.text(verdict.line(index, std::ranges::any_of(losses, &Remark::is_shown)));
    for (const std::span<const Remark> remarks :
         {std::span<const Remark>(losses), std::span<const Remark>(others)})
        for (const std::string &line : lines_of(remarks))
            out.print("  {}\n", line);
}

void print_event(const Recording &recording, size_t index, const EventTraffic &event,
                 const ReportOptions &options, const Verdict &verdict, Output &out)
{
    const Traffic &traffic = event.traffic;
    out.print("{}  {}", recording.pmu_name(index), terms_text(recording, index));
    if (const std::optional<std::string> source = recording.source(index))
        out.print("  source={}", *source);
    TlpCount all;
    for (size_t i = 0; i < ptt::kTlpTypes; i++) {
        all.bytes += traffic.of(static_cast<ptt::TlpType>(i)).bytes;
        all.requested += traffic.of(static_cast<ptt::TlpType>(i)).requested;
    }
    const ptt::TimeStrip &time = traffic.time();
    const std::string rate = rate_text(all.bytes, recording.duration_ns(), "B");
    out.print("\n  {}\n  {}, {}{}, {}, {}\n", event_line(recording, index, ""),
              counted(traffic.packets(), "TLPs"), counted(all.bytes, "bytes of payload"),
              rate.empty() ? "" : " (" + rate + ")", counted(all.requested, "bytes asked for"),
              counted(time.last() - time.first(), "ticks"));
    if (traffic.packets()) {
        print_types(traffic, out);
        print_requesters(traffic, options.top, out);
        print_ranges(traffic, options.top, out);
        print_time(time, out);
        print_histogram("payload, bytes", traffic.payload(), out);
        print_histogram("read size, bytes", traffic.requested(), out);
        print_alignment(traffic, out);
        print_latency(traffic, out);
    }
    print_remarks(index, event, verdict, out);
}

// JSON output

void write_count(JsonWriter &json, std::string_view name, const TlpCount &count)
{
    json.begin(name, JsonWriter::kObject);
    json.members(
        {{"tlps", count.tlps}, {"bytes", count.bytes}, {"requested_bytes", count.requested}});
    json.end();
}

void write_types(JsonWriter &json, const Traffic &traffic)
{
    json.begin("by_type", JsonWriter::kObject);
    for (size_t i = 0; i < ptt::kTlpTypes; i++) {
        const auto type = static_cast<ptt::TlpType>(i);
        if (traffic.of(type).tlps)
            write_count(json, name_of(type), traffic.of(type));
    }
    json.end();
}

void write_classes(JsonWriter &json, const Traffic &traffic)
{
    json.begin("by_class", JsonWriter::kObject);
    for (size_t i = 0; i < static_cast<size_t>(ptt::TlpClass::kCount); i++) {
        const auto queue = static_cast<ptt::TlpClass>(i);
        write_count(json, name_of(queue), traffic.of(queue));
    }
    json.end();
}

// A value that does not exist without a request that was answered: null in JSON.
template <typename Value>
std::optional<Value> if_any(uint64_t requests, Value value)
{
    return requests ? std::optional(value) : std::nullopt;
}

void write_requesters(JsonWriter &json, const Traffic &traffic, size_t top)
{
    json.begin("requesters", JsonWriter::kArray);
    const std::vector<const ptt::RequesterTraffic *> all = traffic.requesters();
    uint64_t sum = 0;
    for (size_t i = 0; i < shown_of(all.size(), top); i++) {
        const ptt::RequesterTraffic &one = *all[i];
        add_to(sum, one.tlps());
        json.begin_element();
        json.members({{"requester", ptt::bdf_text(one.id)},
                      {"share", part_of(one.tlps(), traffic.packets())},
                      {"share_sum", part_of(sum, traffic.packets())}});
        write_count(json, "posted", one.posted);
        write_count(json, "non_posted", one.non_posted);
        write_count(json, "completions", one.completions);
        json.members({{"answered", one.latency.requests},
                      {"latency_mean", if_any(one.latency.requests, one.latency.mean())},
                      {"latency_max", if_any(one.latency.requests, one.latency.max)}});
        json.end();
    }
    json.end();
}

void write_ranges(JsonWriter &json, const Traffic &traffic, size_t top)
{
    json.begin("ranges", JsonWriter::kArray);
    const std::vector<ptt::RangeTraffic> all = traffic.ranges();
    for (size_t i = 0; i < shown_of(all.size(), top); i++) {
        json.begin_element();
        json.members({{"address", all[i].address}, {"bytes", traffic.range_bytes()}});
        write_count(json, "reads", all[i].reads);
        write_count(json, "writes", all[i].writes);
        json.end();
    }
    json.end();
}

void write_time(JsonWriter &json, const ptt::TimeStrip &time)
{
    json.begin("time", JsonWriter::kObject);
    json.members(
        {{"first", time.first()}, {"last", time.last()}, {"column_ticks", time.column_ticks()}});
    json.begin("columns", JsonWriter::kArray);
    for (size_t i = 0; i < time.columns(); i++)
        json.element({{"tlps", time.tlps(i)}, {"bytes", time.bytes(i)}});
    json.end();
    json.end();
}

void write_histogram(JsonWriter &json, std::string_view name, const ptt::Histogram &histogram)
{
    json.begin(name, JsonWriter::kArray);
    for (const ptt::Histogram::Bucket &bucket : histogram.buckets())
        json.element({{"first", bucket.first}, {"last", bucket.last}, {"count", bucket.count}});
    json.end();
}

void write_alignment(JsonWriter &json, const Traffic &traffic)
{
    json.begin("alignment", JsonWriter::kObject);
    for (unsigned i = 0; i <= Traffic::kMaxAlignmentLog2; i++)
        if (traffic.aligned(i))
            json.member(std::to_string(uint64_t{1} << i), traffic.aligned(i));
    json.end();
}

void write_latency(JsonWriter &json, const Traffic &traffic)
{
    const ptt::LatencyTotals &totals = traffic.latency_totals();
    const ptt::Histogram &latency = traffic.latency();
    json.begin("latency", JsonWriter::kObject);
    json.members({{"requests", totals.requests},
                  {"answered", totals.answered},
                  {"outstanding", traffic.outstanding()},
                  {"unmatched", totals.unmatched},
                  {"failed", totals.failed},
                  {"reused", totals.reused},
                  {"forgotten", totals.forgotten},
                  {"untracked", totals.untracked},
                  {"min", if_any(latency.count(), latency.min())},
                  {"mean", if_any(latency.count(), latency.mean())},
                  {"median", if_any(latency.count(), latency.quantile(0.5))},
                  {"p90", if_any(latency.count(), latency.quantile(0.9))},
                  {"p99", if_any(latency.count(), latency.quantile(0.99))},
                  {"max", if_any(latency.count(), latency.max())}});
    write_histogram(json, "histogram", latency);
    json.end();
}

void write_loss(JsonWriter &json, const EventTraffic &event, const AccountTotals &account,
                bool marked)
{
    json.begin("lost", JsonWriter::kObject);
    json.members({{"entries", account.lost},
                  {"entries_at_least", account.at_least},
                  {"marked", marked},
                  {"unknown_losses", event.aux_unknown_losses},
                  {"overruns", account.overruns},
                  {"missing_records", account.missing},
                  {"duplicates", account.duplicates},
                  {"resets", account.resets},
                  {"losses", event.traffic.losses()},
                  {"bytes", event.traffic.lost_bytes()},
                  {"skipped_bytes", event.traffic.skipped_bytes()},
                  {"bad_records", event.bad_records}});
    json.end();
}

void write_pmu(JsonWriter &json, const Recording &recording, size_t index,
               const EventTraffic &event, size_t top)
{
    const Traffic &traffic = event.traffic;
    const Terms terms = terms_of(recording.config(index));
    const AccountTotals account = totals_of(event);
    begin_pmu(recording, index, "hisi_ptt", json);
    json.members({{"filter", terms.filter},
                  {"direction", terms.direction},
                  {"direction_text", direction_text(terms)},
                  {"type", terms.type},
                  {"format", terms.format ? "8DW" : "4DW"},
                  {"decoder_version", recording.decoder_version()},
                  {"version_in_file", recording.decoder_version_of_file()},
                  {"records", account.records},
                  {"tlps", traffic.packets()}});
    write_types(json, traffic);
    write_classes(json, traffic);
    write_requesters(json, traffic, top);
    json.member("other_requesters", traffic.other_requesters().tlps());
    write_ranges(json, traffic, top);
    write_count(json, "elsewhere", traffic.elsewhere());
    write_time(json, traffic.time());
    write_histogram(json, "payload_bytes", traffic.payload());
    write_histogram(json, "read_bytes", traffic.requested());
    write_alignment(json, traffic);
    write_latency(json, traffic);
    json.members({{"with_pasid", traffic.with_pasid()}, {"poisoned", traffic.poisoned()}});
    write_loss(json, event, account, recording.marks_losses(index));
    end_pmu(recording, index, json);
}

class HisiPttReport final : public DriverReport {
public:
    HisiPttReport(ReportOptions options, unsigned range_log2, bool continues)
        : options_(std::move(options)), range_log2_(range_log2), continues_(continues)
    {
    }

    // Entries have only ticks of the device, so the time of an entry is that of its AUX record.
    void join(Join &join) override
    {
        join_ = &join;
        aux_ = AuxThreads::of_file(options_.input, recorded_drivers());
    }
    void aux_said(const Stream &stream, const perfdata::AuxRecord &aux,
                  const perfdata::SampleId &sample_id) override
    {
        if (join_)
            aux_.note(stream, aux, sample_id);
    }

    void aux_begin(const Stream &stream, uint64_t offset, uint64_t, uint64_t) override
    {
        EventTraffic *const event = event_of(stream.event);
        if (event && has_room(event->aux.find(stream)))
            event->aux.begin_at(stream, offset, event->traffic, layout_of(stream));
    }
    void aux(const Stream &stream, Bytes data) override
    {
        now_ = {&stream, std::nullopt};
        if (ptt::StreamDecoder *const decoder = decoder_of(stream))
            decoder->data(data);
        else
            left_out_bytes_ += data.size();
    }
    void aux_entries(const Stream &stream, std::optional<uint64_t> base) override
    {
        now_ = {&stream, std::nullopt};
        if (ptt::StreamDecoder *const decoder = decoder_of(stream))
            decoder->align(base);
    }
    void aux_loss(const Stream &stream, uint64_t offset, uint64_t bytes) override
    {
        EventTraffic *const event = event_of(stream.event);
        now_ = {&stream, std::nullopt};
        if (event && has_room(event->aux.find(stream)))
            event->aux.begin_at(stream, offset, event->traffic, layout_of(stream)).loss(bytes);
    }
    void aux_unknown_loss(const Stream &stream, uint64_t offset) override
    {
        aux_loss(stream, offset, 0);
        if (EventTraffic *const event = event_of(stream.event))
            event->aux_unknown_losses++;
    }
    void entries_lost(const Stream &stream, const perfdata::LostEntries &lost) override
    {
        if (EventTraffic *const event = event_of(stream.event))
            event->aux_lost = lost;
    }
    void sample(const Stream &stream, uint64_t file_offset, Bytes words) override;
    void expect(size_t event) override { event_of(event); }
    void finish() override
    {
        for (auto &[index, event] : events_)
            for (auto &[stream, decoder] : event.aux.all()) {
                now_ = {&stream, std::nullopt};
                decoder.end();
            }
    }

    void print(const Recording &recording, const Verdict &verdict, Output &out) override
    {
        for (const auto &[index, event] : events_)
            print_event(recording, index, event, options_, verdict, out);
    }
    void write_pmus(const Recording &recording, JsonWriter &pmus) override
    {
        for (const auto &[index, event] : events_)
            write_pmu(pmus, recording, index, event, options_.top);
    }
    void add_figures(const Recording &recording, const Verdict &verdict, html::Page &page) override
    {
        for (const auto &[index, event] : events_) {
            if (!page.has_room())
                continue;
            const FigureHead head{recording.pmu_name(index), recording.source(index).value_or(""),
                                  lines_of(losses_of(event)), verdict.badge(index)};
            std::vector<html::Figure> figures = traffic_figures(head, event.traffic, options_.top);
            figures.front().words.push_back(terms_text(recording, index));
            for (const html::Figure &figure : figures)
                page.add(figure);
        }
    }
    std::vector<std::string> troubles(const Recording &recording) const override;

private:
    // The stream that is being decoded, and the time if the data is a sample.
    struct Now {
        const Stream *stream = nullptr;
        std::optional<uint64_t> time_ns;
    };

    ptt::StreamDecoder *decoder_of(const Stream &stream)
    {
        EventTraffic *const event = event_of(stream.event);
        return event ? event->aux.find(stream) : nullptr;
    }
    EventTraffic *event_of(size_t index);
    bool has_room(bool known);
    std::optional<uint64_t> time_of(uint64_t offset) const;

    ReportOptions options_;
    unsigned range_log2_;
    bool continues_;
    ptt::TrafficRoom room_;
    std::map<size_t, EventTraffic> events_;
    uint64_t left_out_bytes_ = 0;
    Join *join_ = nullptr;
    AuxThreads aux_;  // only for --join
    Now now_;
};

// Returns nullptr if the memory budget does not allow another event.
EventTraffic *HisiPttReport::event_of(size_t index)
{
    if (const auto known = events_.find(index); known != events_.end())
        return &known->second;
    if (!room_.requesters->take(kEventBytes))
        return nullptr;
    EventTraffic &event = events_.try_emplace(index, range_log2_, room_).first->second;
    if (join_)
        event.traffic.watch([this](uint64_t offset, const ptt::Tlp &tlp, const TlpCount &count) {
            join_->request(tlp, count, time_of(offset));
        });
    return &event;
}

// Takes memory for a new stream from the budget. Returns false if the budget does not suffice. A
// known stream needs no memory.
bool HisiPttReport::has_room(bool known)
{
    return known || room_.requesters->take(kStreamBytes);
}

std::optional<uint64_t> HisiPttReport::time_of(uint64_t offset) const
{
    if (now_.time_ns)
        return now_.time_ns;
    const AuxThreads::Range *range = aux_.find(*now_.stream, offset);
    return range ? range->sample_id.time_ns : std::nullopt;
}

void HisiPttReport::sample(const Stream &stream, uint64_t, Bytes words)
{
    EventTraffic *const found = event_of(stream.event);
    const std::optional<ptt::Record> record = ptt::parse_record(words);
    if (found && !record) {
        found->bad_records++;
        return;
    }
    if (!found || !has_room(found->accounts.contains(stream))) {
        left_out_bytes_ += words.size();
        return;
    }
    EventTraffic &event = *found;
    const auto [known, first] = event.accounts.try_emplace(stream);
    ptt::RecordAccount &account = known->second;
    if (first && continues_)
        account.begins_later();
    const uint64_t before = account.lost_entries() + account.missing_records() + account.overruns();
    if (!account.note(*record))
        return;
    ptt::StreamDecoder &decoder =
        event.samples.begin_at(stream, 0, event.traffic, layout_of(stream));
    if (account.lost_entries() + account.missing_records() + account.overruns() != before)
        decoder.loss(0);
    now_ = {&stream, record->time_ns};
    decoder.entries(record->format, record->entries);
}

std::vector<std::string> HisiPttReport::troubles(const Recording &recording) const
{
    std::vector<std::string> troubles;
    if (left_out_bytes_)
        troubles.push_back(
            fmt::format("{}: {} bytes belong to events or streams beyond the limit; select fewer "
                        "with pmukit cut --event, --cpu",
                        recording.path(), left_out_bytes_));
    for (const auto &[index, event] : events_) {
        const std::string where = where_of(recording, index);
        troubles.push_back(
            skipped_text(where, event.traffic.skipped_bytes(), sentences::kSkippedEntries));
        if (event.bad_records)
            troubles.push_back(
                fmt::format("{}: {}", where, counted(event.bad_records, "samples held no record")));
    }
    return troubles;
}

}  // namespace

ReportResult make_hisi_ptt_report(const Recording &recording, const ReportOptions &options)
{
    if (!std::has_single_bit(options.range_bytes))
        return Error{Errc::kUsage,
                     fmt::format("--range-bytes {}: not a power of two", options.range_bytes)};
    const auto range_log2 = static_cast<unsigned>(std::countr_zero(options.range_bytes));
    std::unique_ptr<DriverReport> report =
        std::make_unique<HisiPttReport>(options, range_log2, recording.continues());
    return report;
}

}  // namespace pmukit::cli
