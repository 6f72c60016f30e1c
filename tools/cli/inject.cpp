// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// pmukit inject: writes a copy of a recording that stock perf can read, because the copy has no AUX
// data. AUX data becomes samples with PERF_SAMPLE_RAW, as the kernel driver writes them without an
// AUX area.
#include <linux/perf_event.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "base/budget.hpp"
#include "base/limits.hpp"
#include "base/saturate.hpp"
#include "base/stable_map.hpp"
#include "cli/drivers.hpp"
#include "cli/drivers/hisi_ptt/layout.hpp"
#include "console/temp_file.hpp"
#include "perfdata/aux_stream_hash.hpp"
#include "perfdata/copy.hpp"
#include "perfdata/format.hpp"
#include "session/aux_threads.hpp"

namespace pmukit::cli {
namespace {

bool makes_samples(const Driver *recorded)
{
    const DriverDescription *driver = recorded ? driver_of_name(recorded->name) : nullptr;
    return driver && driver->inject;
}

constexpr uint32_t kAuxTypes[] = {PERF_RECORD_AUX, perfdata::kAuxtraceInfo, perfdata::kAuxtrace,
                                  perfdata::kAuxtraceError};

// True for an AUXTRACE_INFO that specifies the layout of the AUX data. It must be copied, because
// the samples have the same layout.
bool says_layout(const perfdata::Record &record, const perfdata::Reader &reader)
{
    if (record.type != perfdata::kAuxtraceInfo)
        return false;
    const auto info = perfdata::parse_auxtrace_info(record.body, reader.order());
    const Driver *driver = info ? driver_of_auxtrace_type(recorded_drivers(), info->type) : nullptr;
    return driver && driver->decoder_version && info->priv.size() > 1;
}

// Writes an AUXTRACE_INFO with the layout from --hisi-ptt-headers: readers of the copy need it.
Result<void> say_claimed_layout(const Recording &recording, perfdata::Writer &to)
{
    const std::optional<uint64_t> version = recording.claimed_decoder_version();
    const std::vector<perfdata::Event> &events = recording.reader().events();
    for (size_t event = 0; version && event < events.size(); event++)
        if (const Driver *driver = recording.driver(event); driver && driver->word_of_version)
            return to.auxtrace_info(driver->auxtrace_type,
                                    {events[event].attr.type, driver->word_of_version(*version)});
    return {};
}

// Converts a time stamp to perf time, as described in struct perf_event_mmap_page of
// <linux/perf_event.h>. Returns nullopt if the parameters are not valid.
std::optional<uint64_t> time_of_stamp(const perfdata::TimeConvRecord &conv, uint64_t stamp)
{
    if (conv.shift >= 32 || conv.mult == 0 || conv.zero == 0)
        return std::nullopt;
    if (conv.user_time_short)
        stamp = conv.cycles + ((stamp - conv.cycles) & conv.mask);
    const uint64_t rest = stamp & ((uint64_t{1} << conv.shift) - 1);
    return conv.zero + (stamp >> conv.shift) * conv.mult + (rest * conv.mult >> conv.shift);
}

class Injector final : public RawSink {
public:
    // `aux` has the threads of the file's AUX data. `aux_known` is true if `aux` is complete
    // because the file could be read in advance.
    Injector(const Recording &recording, AuxThreads aux, bool aux_known)
        : recording_(recording),
          events_(perfdata::events_for_copy(recording.reader())),
          aux_(std::move(aux)),
          aux_known_(aux_known)
    {
        for (const perfdata::Event &event : recording.reader().events())
            types_.push_back(event.attr.sample_type);
    }

    // Changes the attributes of events with AUX data: their samples get a payload, and lose the
    // fields that only the kernel could fill.
    void change_events()
    {
        for (size_t event = 0; event < events_.size(); event++) {
            const Driver *driver = recording_.driver(event);
            // An event without AUX data keeps its samples.
            const bool has_samples =
                driver && driver->bare_samples && aux_known_ && !aux_.knows(event);
            if (!makes_samples(driver) || has_samples)
                continue;
            types_[event] = (types_[event] & perfdata::kComposable) | PERF_SAMPLE_RAW;
            if (driver->bare_samples)
                types_[event] |= kPointFields;
            store(events_[event].attr.data() + perfdata::kAttrSampleType, types_[event],
                  recording_.reader().order());
        }
    }
    const std::vector<perfdata::WriterEvent> &events() const { return events_; }
    void write_to(perfdata::Writer &to) { to_ = &to; }

    void entries_accounted(size_t event) override { accounted_.insert(event); }

    // Copies a record. Drops AUX data, and counts of losses that write_counts() writes.
    Result<void> record(const perfdata::Record &record);
    // Call after all samples. Writes the counts of losses that no sample reports.
    Result<void> write_counts();
    // Returns the first error that occurred when samples were written.
    const Result<void> &state() const { return state_; }
    uint64_t samples() const { return samples_; }
    uint64_t skipped_bytes() const { return skipped_bytes_; }
    uint64_t unowned() const { return unowned_; }
    uint64_t aux_bytes() const { return aux_bytes_; }
    const AuxThreads &aux() const { return aux_; }

    void aux_said(const Stream &stream, const perfdata::AuxRecord &aux,
                  const perfdata::SampleId &sample_id) override
    {
        aux_.note(stream, aux, sample_id);
    }
    void sample(const Stream &stream, const SamplePoint &point, Bytes payload) override;
    void skipped(uint64_t bytes) override { skipped_bytes_ += bytes; }
    uint64_t time_ns(const Stream &stream, std::optional<uint64_t> offset) const override
    {
        SamplePoint point;
        point.aux_offset = offset;
        return sample_id(stream, point).time_ns.value_or(0);
    }

private:
    // Fields of the program's position and the period: only samples have them.
    static constexpr uint64_t kPointFields = PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD;

    // True if change_events() gave samples of the event a payload. False for an event that the file
    // does not describe, and for one whose driver is known only from its data (a truncated file
    // lacks the PMU names).
    bool can_have(size_t event) const
    {
        return event < types_.size() && types_[event] & PERF_SAMPLE_RAW &&
               !(types_[event] & ~(perfdata::kComposable | kPointFields));
    }
    void note_aux(const perfdata::Record &record);
    // True if the record may be a driver's count of lost entries, which the samples made from its
    // AUX data report, too.
    bool counts_entries(const perfdata::Record &record) const;
    // Adds a record to counts_. Returns false if it is malformed or the memory budget is used up.
    bool keep_count(const perfdata::Record &record);
    perfdata::SampleId sample_id(const Stream &stream) const;
    perfdata::SampleId sample_id(const Stream &stream, const SamplePoint &point) const;
    void put_point(size_t event, const SamplePoint &point, size_t raw_bytes,
                   std::vector<std::byte> &body) const;

    const Recording &recording_;
    std::vector<perfdata::WriterEvent> events_;
    std::vector<uint64_t> types_;  // sample_type of each event in the copy
    AuxThreads aux_;
    bool aux_known_;
    std::optional<perfdata::TimeConvRecord> conversion_;
    perfdata::Writer *to_ = nullptr;
    // Sample id of the last AUX record, by event and CPU, and by event alone (CPU UINT32_MAX).
    StableMap<perfdata::AuxStream, perfdata::SampleId, perfdata::AuxStreamHash> last_aux_;
    struct Count {
        size_t event = 0;
        uint64_t lost = 0;
        std::vector<std::byte> body;  // body of the first LOST_SAMPLES
    };
    std::map<std::optional<uint64_t>, Count> counts_;  // sums of LOST_SAMPLES, by event id
    std::set<size_t> accounted_;
    Budget counts_left_{limits::kStreams};
    Result<void> state_;
    uint64_t samples_ = 0, skipped_bytes_ = 0, unowned_ = 0, aux_bytes_ = 0;
};

void Injector::note_aux(const perfdata::Record &record)
{
    constexpr size_t kMaxStreams = 65536;
    const perfdata::Reader &reader = recording_.reader();
    const std::optional<size_t> event = reader.event_of(record);
    if (!event || last_aux_.size() > kMaxStreams)
        return;
    const auto sample_id =
        perfdata::parse_sample_id(record.body, reader.events()[*event].attr, reader.order());
    if (!sample_id)
        return;
    last_aux_[{*event, UINT32_MAX}] = *sample_id;
    last_aux_[{*event, sample_id->cpu.value_or(UINT32_MAX)}] = *sample_id;
}

bool Injector::counts_entries(const perfdata::Record &record) const
{
    if (record.type != PERF_RECORD_LOST_SAMPLES)
        return false;
    const std::optional<size_t> event = recording_.reader().event_of(record);
    const Driver *driver = event ? recording_.driver(*event) : nullptr;
    return driver && driver->entry_bytes && record.misc == 0 &&
           recording_.reader().time_of(record).value_or(0) == 0 &&
           (aux_.knows(*event) || last_aux_.find({*event, UINT32_MAX}));
}

// Sums the counts of LOST_SAMPLES by event id. Each counts the losses of a whole recording, so one
// record per id, with the sum, is enough in the copy.
bool Injector::keep_count(const perfdata::Record &record)
{
    const perfdata::Reader &reader = recording_.reader();
    const size_t event = *reader.event_of(record);
    const auto lost = perfdata::parse_lost_samples(record.body, reader.order());
    const auto sample_id =
        perfdata::parse_sample_id(record.body, reader.events()[event].attr, reader.order());
    const std::optional<uint64_t> id = sample_id ? sample_id->id : std::nullopt;
    if (!lost || (!counts_.contains(id) &&
                  !counts_left_.take(sizeof(Count) + record.body.size() + 2 * kNodeBytes)))
        return false;
    const auto [at, first] = counts_.try_emplace(id);
    at->second.event = event;
    add_to(at->second.lost, *lost);
    if (first)
        at->second.body.assign(record.body.begin(), record.body.end());
    return true;
}

Result<void> Injector::write_counts()
{
    for (auto &[id, count] : counts_) {
        if (accounted_.contains(count.event) || count.lost == 0)
            continue;
        store(count.body.data(), count.lost, recording_.reader().order());
        perfdata::Record record;
        record.type = PERF_RECORD_LOST_SAMPLES;
        record.body = count.body;
        if (Result<void> done = to_->copy(record); !done)
            return done;
    }
    return {};
}

Result<void> Injector::record(const perfdata::Record &record)
{
    const perfdata::Reader &reader = recording_.reader();
    if (record.type == PERF_RECORD_AUX)
        note_aux(record);
    if (record.type == perfdata::kTimeConv)
        conversion_ = perfdata::parse_time_conv(record.body, reader.order());
    if (record.type == perfdata::kAuxtrace)
        aux_bytes_ += record.payload.size();
    if (std::ranges::find(kAuxTypes, record.type) != std::end(kAuxTypes) &&
        (recording_.claimed_decoder_version() || !says_layout(record, reader)))
        return {};
    if (counts_entries(record) && keep_count(record))
        return {};
    const std::optional<size_t> event =
        record.type == PERF_RECORD_SAMPLE ? reader.event_of(record) : std::nullopt;
    if (event && types_[*event] != reader.events()[*event].attr.sample_type)
        return Error{Errc::kUnsupported,
                     recording_.pmu_name(*event) +
                         " has samples of another format and AUX data; use --no-samples",
                     record.offset};
    return to_->copy(record);
}

// AUXTRACE records have neither a time nor a thread. This function returns those of the preceding
// AUX record.
perfdata::SampleId Injector::sample_id(const Stream &stream) const
{
    const auto *found = last_aux_.find({stream.event, stream.cpu});
    if (!found)
        found = last_aux_.find({stream.event, UINT32_MAX});
    perfdata::SampleId sample_id = found ? found->second : perfdata::SampleId{};
    const std::vector<perfdata::Event> &events = recording_.reader().events();
    if (!sample_id.id && stream.event < events.size() && !events[stream.event].ids.empty())
        sample_id.id = events[stream.event].ids.front();
    if (!sample_id.cpu && stream.cpu != UINT32_MAX)
        sample_id.cpu = stream.cpu;
    return sample_id;
}

// Uses the thread of the AUX record that covers the data, and the time stamp in the data if the
// file has the parameters to convert it to perf time.
perfdata::SampleId Injector::sample_id(const Stream &stream, const SamplePoint &point) const
{
    perfdata::SampleId sample_id = this->sample_id(stream);
    const AuxThreads::Range *range =
        point.aux_offset ? aux_.find(stream, *point.aux_offset) : nullptr;
    if (!range) {
        if (stream.tid != UINT32_MAX)
            sample_id.tid = stream.tid;
        return sample_id;
    }
    const std::optional<uint64_t> id = sample_id.id;
    sample_id = range->sample_id;
    sample_id.id = sample_id.id ? sample_id.id : id;
    const bool own_clock = recording_.reader().events()[stream.event].attr.use_clockid;
    if (!point.timebase || !conversion_ || own_clock)
        return sample_id;
    const std::optional<uint64_t> time_ns = time_of_stamp(*conversion_, *point.timebase);
    if (time_ns && *time_ns > range->before_ns && *time_ns <= sample_id.time_ns.value_or(0))
        sample_id.time_ns = time_ns;
    return sample_id;
}

// Overwrites the fields ip and period, for which compose_sample() writes 0 and 1. The period is the
// last field before the payload.
void Injector::put_point(size_t event, const SamplePoint &point, size_t raw_bytes,
                         std::vector<std::byte> &body) const
{
    const std::endian order = recording_.reader().order();
    const perfdata::Attr &attr = recording_.reader().events()[event].attr;
    const size_t raw_field = (sizeof(uint32_t) + raw_bytes + 7) / 8 * 8;
    store<uint64_t>(body.data() + (types_[event] & PERF_SAMPLE_IDENTIFIER ? 8 : 0), point.ip,
                    order);
    if (attr.sample_period && !attr.freq)
        store<uint64_t>(body.data() + body.size() - raw_field - 8, attr.sample_period, order);
}

void Injector::sample(const Stream &stream, const SamplePoint &point, Bytes payload)
{
    if (!state_)
        return;
    const std::endian order = recording_.reader().order();
    if (!can_have(stream.event)) {
        unowned_++;
        return;
    }
    auto body =
        perfdata::compose_sample(types_[stream.event], sample_id(stream, point), payload, order);
    if (!body) {
        skipped_bytes_ += payload.size();
        return;
    }
    if ((types_[stream.event] & kPointFields) == kPointFields && stream.driver->bare_samples)
        put_point(stream.event, point, payload.size(), *body);
    perfdata::Record sample;
    sample.type = PERF_RECORD_SAMPLE;
    sample.misc = point.misc;
    sample.body = *body;
    state_ = to_->copy(sample);
    samples_ += static_cast<bool>(state_);
}

std::string unowned_text(const InjectOptions &options, uint64_t records)
{
    if (records == 0)
        return {};
    return fmt::format(
        "{}: {} records of AUX data belong to unnamed PMUs and were not converted; pmukit report "
        "and export read them",
        options.input, records);
}

}  // namespace

Result<int> run_inject(const InjectOptions &options, Output &out)
{
    if (Result<void> begun =
            begin_output(options.output, {options.input}, kRecordings, options.force);
        !begun)
        return begun.error();
    Result<Recording> recording = Recording::open(options.input, recorded_drivers());
    if (!recording)
        return recording.error();
    if (Result<void> front = recording->read_front(); !front)
        return front.error();
    claim_headers(*recording, options.headers);
    Injector injector(*recording, AuxThreads::of_file(options.input, recorded_drivers()),
                      !can_be_read_once_only(options.input));
    DriverRouter<DriverInject> injects;
    if (options.samples) {
        injector.change_events();
        add_handlers(injects, &DriverDescription::inject, *recording, injector);
    }
    Result<perfdata::Writer> to = perfdata::Writer::create_copy(
        options.output, recording->reader().order(), injector.events());
    if (!to)
        return to.error();
    injector.write_to(*to);
    if (Result<void> said = say_claimed_layout(*recording, *to); !said)
        return said.error();
    perfdata::RecordCopier copier(
        recording->reader(), *to,
        [&injector](const perfdata::Record &record) { return injector.record(record); });

    Result<RecordingTotals> totals =
        recording->walk(injects, [&](const perfdata::Record &record) -> Result<void> {
            return injector.state() ? copier.record(record) : injector.state();
        });
    if (!totals)
        return totals.error();
    for (const auto &[driver, inject] : injects.all())
        inject->finish();
    if (!injector.state())
        return injector.state().error();
    if (Result<void> done = injector.write_counts(); !done)
        return done.error();
    copier.finish();
    if (Result<void> done = to->complete(); !done)
        return done.error();

    out.print("{}: {} bytes of AUX data removed, {} samples written\n", options.output,
              injector.aux_bytes(), injector.samples());
    if (totals->lost_aux_bytes)
        out.print("{}: {}\n", options.input,
                  counted_text(totals->lost_aux_bytes, false,
                               "bytes of AUX data never reached the recording"));
    const int status =
        say_troubles({recording->damage(), injector.aux().left_out(options.input),
                      skipped_text(options.input, injector.skipped_bytes(), sentences::kSkippedAux),
                      unowned_text(options, injector.unowned())});
    return named_last(*to, status);
}

}  // namespace pmukit::cli
