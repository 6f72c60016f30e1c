// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "session/recording.hpp"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/budget.hpp"
#include "base/escape.hpp"
#include "base/limits.hpp"
#include "base/saturate.hpp"
#include "base/sentences.hpp"
#include "console/exit_status.hpp"
#include "console/output.hpp"
#include "console/terminal.hpp"
#include "perfdata/aux.hpp"
#include "perfdata/features.hpp"
#include "perfdata/format.hpp"
#include "perfdata/generic_events.hpp"

namespace pmukit::cli {
namespace {

using perfdata::Record;

constexpr size_t kGrowth = 2;  // the capacity of a vector is up to twice its size

// Notes the AUX records of drivers whose AUX data has entries of fixed size.
class GridNotes final : public perfdata::AuxSink {
public:
    explicit GridNotes(const Recording &recording) : recording_(recording) {}

    void aux_record(const perfdata::AuxStream &stream, const perfdata::AuxRecord &aux) override
    {
        const uint64_t bytes = recording_.entry_bytes(stream.event);
        if (bytes == 0)
            return;
        auto *known = grids.find(stream);
        if (!known && left_.take(sizeof *known + kNodeBytes))
            known = &grids.try_emplace(stream, bytes).first;
        if (known)
            known->second.note(aux, left_);
    }
    void aux_data(const perfdata::AuxStream &, uint64_t, uint64_t, Bytes) override {}
    void aux_loss(const perfdata::AuxStream &, uint64_t, uint64_t) override {}

    AuxGrids grids;

private:
    const Recording &recording_;
    Budget left_{limits::kChains};
};

Stream stream_of(const Recording &recording, const perfdata::AuxStream &stream,
                 const Driver *driver)
{
    return {stream.event,
            stream.cpu,
            driver,
            stream.tid,
            recording.config(stream.event),
            recording.decoder_version()};
}

// record: the record that aux was parsed from.
void tell_aux(const Recording &recording, const perfdata::AuxStream &stream,
              const perfdata::AuxRecord &aux, const Record &record, DriverSink &to)
{
    if (stream.event == perfdata::kUnknownEvent)
        return;
    const perfdata::Reader &reader = recording.reader();
    const auto sample_id =
        perfdata::parse_sample_id(record.body, reader.events()[stream.event].attr, reader.order());
    if (sample_id)
        to.aux_said(stream_of(recording, stream, recording.driver(stream.event)), aux, *sample_id);
}

// Reports AUX records, but delivers no AUX data.
class AuxListener final : public perfdata::AuxSink {
public:
    AuxListener(const Recording &recording, DriverSink &to)
        : recording_(recording), to_(to), merge_(recording.reader(), *this, Gives::kAuxRecords)
    {
    }
    void note(const Record &record)
    {
        record_ = &record;
        merge_.record(record);
    }
    void aux_record(const perfdata::AuxStream &stream, const perfdata::AuxRecord &aux) override
    {
        tell_aux(recording_, stream, aux, *record_, to_);
    }
    void aux_data(const perfdata::AuxStream &, uint64_t, uint64_t, Bytes) override {}
    void aux_loss(const perfdata::AuxStream &, uint64_t, uint64_t) override {}

private:
    using Gives = perfdata::AuxMerge::Gives;
    const Recording &recording_;
    DriverSink &to_;
    perfdata::AuxMerge merge_;
    const Record *record_ = nullptr;
};

class Walker final : public perfdata::AuxSink {
public:
    // grids: entry grids of the whole recording; nullopt: they are built during the walk.
    Walker(Recording &recording, DriverSink &sink, std::optional<AuxGrids> grids = std::nullopt)
        : recording_(recording),
          reader_(recording.reader()),
          sink_(sink),
          merge_(reader_, *this),
          grids_known_(grids.has_value()),
          notes_(recording)
    {
        if (grids)
            notes_.grids = std::move(*grids);
    }

    void record(const Record &record);
    RecordingTotals finish()
    {
        merge_.finish();
        for (auto &[stream, known] : streams_.sorted())
            release(stream, known);
        grow();
        give_lost_entries();
        totals_.lost_samples = lost_.samples();
        totals_.lost_not_repeated = lost_.not_repeated();
        totals_.throttles = lost_.throttles();
        return std::move(totals_);
    }

    void aux_record(const perfdata::AuxStream &stream, const perfdata::AuxRecord &aux) override;
    void aux_run(const perfdata::AuxStream &stream, uint64_t aux_offset, uint64_t file_offset,
                 uint64_t bytes) override;
    void aux_data(const perfdata::AuxStream &stream, uint64_t aux_offset, uint64_t file_offset,
                  Bytes data) override;
    void aux_loss(const perfdata::AuxStream &stream, uint64_t aux_offset, uint64_t bytes) override;

private:
    void grow();
    void sample(const Record &record);
    struct OfStream;
    bool is_unknown(OfStream &known);
    void give_lost_entries();
    Stream stream_of(const perfdata::AuxStream &stream, const Driver *driver) const
    {
        return cli::stream_of(recording_, stream, driver);
    }
    const Driver *driver_of(size_t event, Bytes data) const;
    const Driver *driver_of_sample(size_t event, const perfdata::Sample &sample) const;

    Recording &recording_;
    const perfdata::Reader &reader_;
    DriverSink &sink_;
    perfdata::AuxMerge merge_;
    struct Run {
        uint64_t aux_offset, file_offset, bytes;
        uint64_t end() const { return aux_offset + bytes; }
    };
    // AUX data of a driver with entries of fixed size, held until AUX records say where entries
    // begin.
    struct Held {
        Stream stream;
        Run run;
        std::vector<std::byte> bytes;
    };
    const AuxGrid &grid_of(const perfdata::AuxStream &stream) const;
    void give(const perfdata::AuxStream &key, const Stream &stream, uint64_t run_begin,
              uint64_t aux_offset, Bytes data);
    bool hold(const perfdata::AuxStream &key, OfStream &known, Bytes data);
    void release(const perfdata::AuxStream &key, OfStream &known);

    std::optional<Run> run_;          // the announced run, whose first bytes identify the driver
    const Record *record_ = nullptr;  // record that merge_ processes
    Stream stream_{};                 // stream of the current run
    uint64_t run_begin_ = 0;          // offset of the current run in the stream
    // Announced losses of unknown size that merge_ has not delivered yet.
    struct SaidLosses {
        std::vector<bool> is_unknown;  // true: not even the driver counted the loss
        size_t next = 0;
    };
    struct OfStream {
        bool has_data = false;
        const Driver *driver = nullptr;  // driver that wrote the stream's data
        SaidLosses said;
        std::unique_ptr<Held> held;
    };
    StableMap<perfdata::AuxStream, OfStream, perfdata::AuxStreamHash> streams_;
    FlatMap<perfdata::AuxStream> aux_events_;  // first stream of each event
    bool grids_known_;
    GridNotes notes_;
    Budget held_left_{limits::kHeld};
    RecordingTotals totals_;
    LostCount lost_;
};

// Adds counts for new events: in pipe layout, events arrive between the records.
void Walker::grow()
{
    for (auto *counts : {&totals_.aux_bytes, &totals_.samples})
        counts->resize(reader_.events().size());
}

void Walker::record(const Record &record)
{
    totals_.records += record.payload_at == 0;  // a long payload comes in pieces
    record_ = &record;
    if (totals_.samples.size() != reader_.events().size())
        grow();
    lost_.note(record, reader_);
    recording_.note_time_of(record);
    if (record.type == PERF_RECORD_SAMPLE)
        sample(record);
    else if (record.type == perfdata::kAuxtraceInfo)
        recording_.note_auxtrace_info(record);
    else
        merge_.record(record);
    if (record.type != PERF_RECORD_SAMPLE && record.type != perfdata::kAuxtrace)
        sink_.record(record);
    totals_.unknown_records += perfdata::record_name(record.type).empty();
    record_ = nullptr;
}

void Walker::sample(const Record &record)
{
    std::optional<size_t> event = reader_.event_of(record);
    if (!event) {
        totals_.unreadable_records++;
        return;
    }
    totals_.samples[*event]++;
    std::optional<perfdata::Sample> sample =
        perfdata::parse_sample(record.body, reader_.events()[*event].attr, reader_.order());
    if (!sample) {
        totals_.unreadable_records++;
        return;
    }
    const Driver *driver = driver_of_sample(*event, *sample);
    if (!driver)
        return;
    totals_.pieces++;
    const Stream stream =
        stream_of({*event, sample->sample_id.cpu.value_or(UINT32_MAX), UINT32_MAX}, driver);
    if (driver->bare_samples)
        sink_.bare_sample(stream, record, *sample);
    else
        sink_.sample(stream, record.offset, *driver->words_of_raw(*sample->raw));
}

// The raw payload of a sample identifies the driver. Without one, the PMU of the event does.
const Driver *Walker::driver_of_sample(size_t event, const perfdata::Sample &sample) const
{
    for (const Driver *driver : recording_.drivers())
        if (sample.raw && driver->words_of_raw(*sample.raw))
            return driver;
    const Driver *driver = recording_.driver(event);
    return driver && driver->bare_samples ? driver : nullptr;
}

// Normally the PMU name identifies the driver. A truncated file has lost its PMU names; then the
// data must identify the driver.
const Driver *Walker::driver_of(size_t event, Bytes data) const
{
    const bool known = event != perfdata::kUnknownEvent;
    const Driver *const named = known ? recording_.driver(event) : nullptr;
    if (named)
        return named;
    if (known && !reader_.pmu_name(reader_.events()[event].attr.type).empty())
        return nullptr;
    if (!known && recording_.auxtrace_driver())
        return recording_.auxtrace_driver();
    for (const Driver *driver : recording_.drivers())
        if (driver->looks_like(data))
            return driver;
    return nullptr;
}

// Returns true if the driver did not count the loss that merge_ delivers. merge_ delivers the loss
// of the current AUX record, or else the first pending loss.
bool Walker::is_unknown(OfStream &known)
{
    auto &[all, next] = known.said;
    if (all.empty())
        return false;
    const bool at_once = record_ && record_->type == PERF_RECORD_AUX;
    const bool unknown = at_once ? all.back() : all[next++];
    if (at_once)
        all.pop_back();
    if (next == all.size())
        known.said = {};
    return unknown;
}

// Called at the end of the recording: only then are lost entries known.
void Walker::give_lost_entries()
{
    std::set<size_t> events;
    for (size_t event = 0; event < reader_.events().size(); event++)
        if (const Driver *driver = recording_.driver(event); driver && driver->entry_bytes)
            events.insert(event);
    for (const auto &[stream, known] : streams_.sorted())
        if (known.driver && known.driver->entry_bytes)
            events.insert(stream.event);
    for (const auto &[event, lost] : lost_.take_entries(events)) {
        const perfdata::AuxStream *const aux = aux_events_.find(event);
        const bool has_samples = event < totals_.samples.size() && totals_.samples[event] != 0;
        if (!lost.any() || (!aux && !has_samples && lost.counted() == 0))
            continue;
        const perfdata::AuxStream stream = aux ? *aux : perfdata::AuxStream{event, UINT32_MAX};
        const auto *const known = streams_.find(stream);
        const bool has_data = known && known->second.has_data;
        const Driver *driver = has_data ? known->second.driver : recording_.driver(event);
        if (!driver)
            continue;
        totals_.aux_lost_of.insert(driver);
        sink_.entries_lost(stream_of(stream, driver), lost);
    }
}

void Walker::aux_record(const perfdata::AuxStream &stream, const perfdata::AuxRecord &aux)
{
    aux_events_.insert(stream.event, stream);
    OfStream &known = streams_[stream];
    if (aux.flags & perfdata::kAuxLossFlags) {
        known.said.is_unknown.push_back((aux.flags & PERF_AUX_FLAG_COLLISION) != 0);
        lost_.gap(stream.event, aux.flags);
    }
    if (!grids_known_)
        notes_.aux_record(stream, aux);
    if (known.held && grid_of(stream).announced() >= known.held->run.end())
        release(stream, known);
    tell_aux(recording_, stream, aux, *record_, sink_);
}

void Walker::aux_run(const perfdata::AuxStream &stream, uint64_t aux_offset, uint64_t file_offset,
                     uint64_t bytes)
{
    release(stream, streams_[stream]);
    run_ = Run{aux_offset, file_offset, bytes};
}

void Walker::aux_data(const perfdata::AuxStream &stream, uint64_t aux_offset, uint64_t, Bytes data)
{
    const std::optional<Run> begun = std::exchange(run_, std::nullopt);
    OfStream &known = streams_[stream];
    if (begun) {
        stream_ = stream_of(stream, driver_of(stream.event, data));
        known.driver = stream_.driver;
        known.has_data = true;
        aux_events_.insert(stream.event, stream);
    }
    if (!stream_.driver) {
        totals_.unknown_aux_bytes += data.size();
        return;
    }
    if (stream.event != perfdata::kUnknownEvent)
        totals_.aux_bytes[stream.event] += data.size();
    if (begun) {
        totals_.pieces++;
        run_begin_ = begun->aux_offset;
        const bool early = !grids_known_ && stream_.driver->entry_bytes &&
                           grid_of(stream).announced() < begun->end();
        if (early)
            known.held = std::make_unique<Held>(Held{stream_, *begun, {}});
        else
            sink_.aux_begin(stream_, begun->aux_offset, begun->file_offset, begun->bytes);
    }
    if (!hold(stream, known, data))
        give(stream, stream_, run_begin_, aux_offset, data);
}

const AuxGrid &Walker::grid_of(const perfdata::AuxStream &stream) const
{
    static const AuxGrid kNothing(1);
    const auto *const known = notes_.grids.find(stream);
    return known ? known->second : kNothing;
}

// Delivers data. At the start of a run, and at each change of the entry grid within a run, reports
// to the sink where entries begin.
void Walker::give(const perfdata::AuxStream &key, const Stream &stream, uint64_t run_begin,
                  uint64_t aux_offset, Bytes data)
{
    while (stream.driver->entry_bytes && !data.empty()) {
        const AuxGrid::Piece piece = grid_of(key).at(aux_offset, run_begin);
        if (aux_offset == run_begin || aux_offset == piece.begin)
            sink_.aux_entries(stream, piece.base);
        const uint64_t bytes = std::min<uint64_t>(data.size(), piece.end - aux_offset);
        sink_.aux(stream, data.first(bytes));
        data = data.subspan(bytes);
        aux_offset += bytes;
    }
    if (!data.empty())
        sink_.aux(stream, data);
}

// Holds more data of a stream. Returns false if the data of the stream is not held, or is released
// now because the budget is used up.
bool Walker::hold(const perfdata::AuxStream &key, OfStream &known, Bytes data)
{
    if (!known.held)
        return false;
    if (held_left_.take(kGrowth * data.size())) {
        append(known.held->bytes, data);
        return true;
    }
    release(key, known);
    return false;
}

// Delivers the held data of a stream with the AUX records known so far. Called when these suffice,
// when no more records follow, or when the budget is used up.
void Walker::release(const perfdata::AuxStream &key, OfStream &known)
{
    if (!known.held)
        return;
    const Held held = std::move(*std::exchange(known.held, nullptr));
    held_left_.give_back(kGrowth * held.bytes.size());
    sink_.aux_begin(held.stream, held.run.aux_offset, held.run.file_offset, held.run.bytes);
    give(key, held.stream, held.run.aux_offset, held.run.aux_offset, held.bytes);
}

void Walker::aux_loss(const perfdata::AuxStream &stream, uint64_t aux_offset, uint64_t bytes)
{
    OfStream &known = streams_[stream];
    const bool unknown = bytes == 0 && is_unknown(known);
    add_to(totals_.lost_aux_bytes, bytes);
    totals_.aux_unknown_losses += unknown;
    totals_.aux_truncations += bytes == 0 && !unknown;
    if (bytes == 0)
        totals_.aux_gaps_of.insert(stream.event);
    release(stream, known);
    const Driver *driver = known.has_data ? known.driver : driver_of(stream.event, {});
    totals_.aux_lost_of.insert(driver);
    if (unknown)
        sink_.aux_unknown_loss(stream_of(stream, driver), aux_offset);
    else
        sink_.aux_loss(stream_of(stream, driver), aux_offset, bytes);
}

}  // namespace

uint64_t RecordingTotals::throttled() const
{
    uint64_t all = 0;
    for (const auto &[event, times] : throttles)
        add_to(all, times);
    return all;
}

std::optional<size_t> event_of_loss(const perfdata::Record &record, const perfdata::Reader &reader)
{
    const auto throttle = record.type == PERF_RECORD_THROTTLE
                              ? perfdata::parse_throttle(record.body, reader.order())
                              : std::nullopt;
    const auto event = throttle ? reader.event_of_id(throttle->id) : std::nullopt;
    return event ? event : reader.event_of(record);
}

LostCount::Kind LostCount::note(const perfdata::Record &record, const perfdata::Reader &reader)
{
    // PERF_RECORD_MISC_LOST_SAMPLES_BPF: a BPF filter of the user dropped the samples.
    constexpr uint16_t kByFilter = 1 << 15;
    const auto counts_of = [this](Id id, std::optional<size_t> event) -> Counts & {
        const std::pair<Id, size_t> key(id, event.value_or(perfdata::kUnknownEvent));
        const bool fits =
            counts_.contains(key) || left_.take(sizeof key + sizeof(Counts) + kNodeBytes);
        return counts_[fits ? key : std::pair<Id, size_t>(std::nullopt, perfdata::kUnknownEvent)];
    };
    if (record.type == PERF_RECORD_LOST) {
        const auto lost = perfdata::parse_lost(record.body, reader.order());
        const auto event = lost ? reader.event_of_id(lost->id) : std::nullopt;
        const Id id = event ? Id(lost->id) : std::nullopt;
        add_to(counts_of(id, event).lost, lost ? lost->lost : 0);
        return Kind::kRecords;
    }
    if (record.type == PERF_RECORD_THROTTLE) {
        throttles_[event_of_loss(record, reader).value_or(perfdata::kUnknownEvent)]++;
        return Kind::kThrottled;
    }
    note_places(record, reader);
    if (record.type != PERF_RECORD_LOST_SAMPLES || (record.misc & kByFilter))
        return Kind::kNone;
    const bool by_recorder = reader.time_of(record).value_or(0) == 0;
    const uint64_t lost = perfdata::parse_lost_samples(record.body, reader.order()).value_or(0);
    if (!by_recorder) {
        add_to(by_hardware_, lost);
        return Kind::kSamples;
    }
    const std::optional<size_t> event = reader.event_of(record);
    const auto sample_id =
        event ? perfdata::parse_sample_id(record.body, reader.events()[*event].attr, reader.order())
              : std::nullopt;
    add_to(counts_of(sample_id ? sample_id->id : std::nullopt, event).counted, lost);
    return Kind::kRepeated;
}

// Notes which ring an event uses. pmukit stores the event's id in the reference of AUXTRACE; perf
// stores something else there.
void LostCount::note_places(const perfdata::Record &record, const perfdata::Reader &reader)
{
    const auto put = [&](uint64_t id, RingKey ring) {
        const std::optional<size_t> event = reader.event_of_id(id);
        if (event && (places_.contains(id) || left_.take(sizeof(Place) + kNodeBytes)))
            places_[id] = {ring, *event};
    };
    if (record.type == perfdata::kIdIndex) {
        const auto index = perfdata::parse_id_index(record.body, reader.order());
        for (size_t i = 0; index && i < index->size(); i++)
            put((*index)[i].id, {RingBy::kIndex, (*index)[i].index});
    }
    if (record.type != perfdata::kAuxtrace || record.payload_at != 0)
        return;
    const auto trace = perfdata::parse_auxtrace(record.body, reader.order());
    const std::optional<Bytes> content = reader.feature(perfdata::kFeatVersion);
    const auto version =
        content ? perfdata::parse_text_feature(*content, reader.order()) : std::nullopt;
    if (trace && version && version->starts_with("pmukit "))
        put(trace->reference, {RingBy::kOwn, trace->reference});
}

std::map<LostCount::RingKey, LostCount::Ring> LostCount::rings() const
{
    // perf writes LOST_SAMPLES without an id if a recording has one event. Such a count may repeat
    // the LOST of any ring of the event, so these rings count as one.
    std::set<size_t> without_id;
    for (const auto &[of, counts] : counts_)
        if (!of.first && counts.counted != 0)
            without_id.insert(of.second);
    const auto ring_of = [&](const Place &place) {
        return without_id.contains(place.event) ? RingKey{} : place.ring;
    };
    std::map<RingKey, Ring> rings;
    for (const auto &[of, counts] : counts_) {
        const auto place = of.first ? places_.find(*of.first) : places_.end();
        Ring &ring = rings[place == places_.end() ? RingKey{} : ring_of(place->second)];
        add_to(ring.lost, counts.lost);
        add_to(ring.counted, counts.counted);
        add_to(ring.by_event[of.second], counts.counted);
    }
    for (const auto &[id, place] : places_)
        if (const auto ring = rings.find(ring_of(place)); ring != rings.end())
            ring->second.by_event.try_emplace(place.event, 0);
    for (auto &[key, ring] : rings) {
        for (const auto &[event, counted] : ring.by_event)
            add_to(ring.entries, with_entries_.contains(event) ? counted : 0);
        ring.entries = std::min(ring.entries, ring.counted - std::min(ring.counted, ring.lost));
    }
    return rings;
}

std::map<size_t, perfdata::LostEntries> LostCount::take_entries(const std::set<size_t> &events)
{
    std::map<size_t, perfdata::LostEntries> taken;
    for (const size_t event : events) {
        perfdata::LostEntries &lost = taken[event];
        if (const auto gap = gaps_.find(event); gap != gaps_.end()) {
            lost.gap(gap->second);
            with_entries_.insert(event);
        }
    }
    std::set<size_t> placed;
    for (const auto &[id, place] : places_)
        placed.insert(place.event);
    for (auto &[key, ring] : rings()) {
        uint64_t of_others = ring.counted;
        for (const auto &[event, counted] : ring.by_event)
            of_others -= with_entries_.contains(event) ? std::min(of_others, counted) : 0;
        for (const auto &[event, counted] : ring.by_event)
            if (const auto own = taken.find(event); own != taken.end())
                own->second.ring(counted, ring.lost, of_others);
        // Events whose ring is unknown are assumed to use the ring kNothing.
        if (key.first != RingBy::kNothing)
            continue;
        for (auto &[event, lost] : taken)
            if (!ring.by_event.contains(event) && !placed.contains(event))
                lost.ring(0, ring.lost);
    }
    return taken;
}

uint64_t LostCount::samples() const
{
    uint64_t all = by_hardware_;
    for (const auto &[key, ring] : rings())
        add_to(all, std::max(ring.lost, ring.counted - ring.entries));
    return all;
}

std::map<size_t, uint64_t> LostCount::not_repeated() const
{
    std::map<size_t, uint64_t> more;
    for (const auto &[key, ring] : rings()) {
        const uint64_t records = ring.counted - ring.entries;
        const auto has_some = [](const auto &of) { return of.second != 0; };
        const bool is_of_one = std::ranges::count_if(ring.by_event, has_some) == 1;
        // LOST does not say which events lost the records.
        const bool is_of_each = ring.lost == 0 && ring.entries == 0;
        if (records <= ring.lost)
            continue;
        for (const auto &[event, counted] : ring.by_event) {
            if (counted != 0 && (is_of_one || is_of_each))
                add_to(more[event], is_of_each ? counted : records - ring.lost);
        }
        if (!is_of_one && !is_of_each)
            add_to(more[perfdata::kUnknownEvent], records - ring.lost);
    }
    return more;
}

Verdict::Verdict(const Recording &recording, const RecordingTotals &totals, const Driver *driver)
    : recording_(recording),
      totals_(totals),
      whole_(totals.lost_samples == 0 && !totals.aux_lost_of.contains(driver) &&
             !totals.aux_lost_of.contains(nullptr) && totals.unreadable_records == 0 &&
             totals.unknown_records == 0 && totals.throttles.empty() &&
             recording.damage().empty() && recording.missing(totals).empty())
{
}

bool Verdict::has_anything(size_t event) const
{
    return event >= totals_.samples.size() || totals_.samples[event] != 0 ||
           totals_.aux_bytes[event] != 0;
}

std::string_view Verdict::line(size_t event, bool driver_lost) const
{
    if (driver_lost)
        return "\n";
    if (totals_.aux_gaps_of.contains(event) ||
        totals_.aux_gaps_of.contains(perfdata::kUnknownEvent))
        return "\n  AUX data is missing; what is known of it is below\n";
    if (!has_anything(event))
        return {};
    if (totals_.throttles.contains(event))
        return "\n  samples are missing; what is known of them is below\n";
    if (!recording_.marks_losses(event))
        return "\n  no loss is marked; the recording does not state that its driver marks losses\n";
    return whole_ ? "\n  nothing lost\n"
                  : "\n  the driver lost nothing; what the recording lacks is below\n";
}

const char *Verdict::badge(size_t event) const
{
    if (!has_anything(event))
        return "nothing recorded";
    return recording_.marks_losses(event) ? sentences::kNothingLost : sentences::kNoLossMarked;
}

Error in_file(const std::string &path, const Error &error)
{
    std::string where = error.offset ? fmt::format(" (at offset {:#x})", *error.offset) : "";
    return Error{error.code, path + ": " + error.message + where, error.offset};
}

std::string recording_name(const std::string &path)
{
    return path == "-" ? "standard input" : path;
}

bool can_be_read_once_only(const std::string &path)
{
    struct stat status = {};
    if (path == "-")
        return true;
    return ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) &&
           !S_ISDIR(status.st_mode);
}

Error explain_open(const std::string &path, const Error &error)
{
    if (error.code == Errc::kNotFound)
        return Error{Errc::kNotFound, error.message + "; record first, or name a file with -i"};
    // Messages of system errors already name the file.
    const bool of_system = error.code == Errc::kDenied || error.code == Errc::kIo;
    return of_system ? error : in_file(recording_name(path), error);
}

Result<perfdata::Reader> open_recording(const std::string &path)
{
    Result<perfdata::Reader> reader = perfdata::Reader::open_path(path);
    if (!reader)
        return explain_open(path, reader.error());
    return reader;
}

Result<Recording> Recording::open(const std::string &path, Drivers drivers)
{
    Result<perfdata::Reader> reader = open_recording(path);
    if (!reader)
        return reader.error();
    Recording recording(recording_name(path), std::move(*reader), drivers);
    recording.read_once_ = can_be_read_once_only(path);
    return recording;
}

uint64_t Recording::entry_bytes(size_t event) const
{
    const bool is_known = event < reader_.events().size();
    const Driver *driver = is_known ? this->driver(event) : auxtrace_driver_;
    const bool has_name = is_known && !reader_.pmu_name(reader_.events()[event].attr.type).empty();
    // Only the data will identify the driver of this event, so assume a driver with entries.
    if (!driver && !has_name) {
        const auto any = std::ranges::find_if(
            drivers_, [](const Driver *one) { return one->entry_bytes != nullptr; });
        driver = any == drivers_.end() ? nullptr : *any;
    }
    return driver && driver->entry_bytes ? driver->entry_bytes(config(event)) : 0;
}

// Reads the AUX records of the whole file a second time, if any event has entries. In pipe layout
// this is unknown, as events arrive between the records.
std::optional<AuxGrids> Recording::read_grids() const
{
    if (read_once_)
        return std::nullopt;
    bool any = reader_.is_pipe();
    for (size_t event = 0; event < reader_.events().size(); event++)
        any |= entry_bytes(event) != 0;
    if (!any)
        return AuxGrids();
    Result<Recording> again = open(path_, drivers_);
    // Errors of the file are not reported here, but by the walk that reads the data.
    if (!again)
        return AuxGrids();
    GridNotes notes(*again);
    perfdata::AuxMerge merge(again->reader_, notes, perfdata::AuxMerge::Gives::kAuxRecords);
    for (Record record;;) {
        if (!again->reader_.next(record))
            return std::move(notes.grids);
        merge.record(record);
    }
}

Result<void> Recording::read_front()
{
    Result<void> read = reader_.read_front();
    return read ? read : in_file(path_, read.error());
}

Result<RecordingTotals> Recording::walk(DriverSink &sink, const EachRecord &each)
{
    Walker walker(*this, sink, read_grids());
    Progress progress("reading " + path_, reader_.is_pipe() ? 0 : reader_.data_end());
    for (Record record;;) {
        progress.at(record.offset);
        if (!reader_.next(record)) {
            if (reader_.error())
                return in_file(path_, *reader_.error());
            return walker.finish();
        }
        if (Result<void> done = each ? each(record) : Result<void>(); !done)
            return in_file(path_, done.error());
        walker.record(record);
    }
}

Result<void> Recording::listen(DriverSink &sink)
{
    AuxListener listener(*this, sink);
    for (Record record;;) {
        if (!reader_.next(record)) {
            if (reader_.error())
                return in_file(path_, *reader_.error());
            return {};
        }
        if (record.type == perfdata::kAuxtraceInfo)
            note_auxtrace_info(record);
        else
            listener.note(record);
        if (record.type != PERF_RECORD_SAMPLE && record.type != perfdata::kAuxtrace)
            sink.record(record);
    }
}

// Pushed recordings

struct PushedRecording::State {
    State(std::string name, perfdata::Reader reader, Drivers drivers, DriverSink &sink)
        : recording(std::move(name), std::move(reader), drivers), walker(recording, sink)
    {
    }
    // Walks until the reader needs more bytes. False: the recording has ended.
    Result<bool> walk()
    {
        for (Record record;;) {
            const Result<perfdata::Reader::Step> step = recording.reader_.step(record);
            if (!step)
                return in_file(recording.path_, step.error());
            if (*step != perfdata::Reader::Step::kRecord)
                return *step == perfdata::Reader::Step::kMore;
            walker.record(record);
        }
    }

    Recording recording;
    Walker walker;
};

PushedRecording::PushedRecording(std::unique_ptr<State> state) : state_(std::move(state)) {}
PushedRecording::PushedRecording(PushedRecording &&) noexcept = default;
PushedRecording::~PushedRecording() = default;

Result<PushedRecording> PushedRecording::begin(std::string name, Drivers drivers, DriverSink &sink)
{
    Result<perfdata::Reader> reader = perfdata::Reader::pushed();
    if (!reader)
        return in_file(name, reader.error());
    return PushedRecording(
        std::make_unique<State>(std::move(name), std::move(*reader), drivers, sink));
}

Result<void> PushedRecording::feed(Bytes bytes)
{
    while (!bytes.empty()) {
        bytes = bytes.subspan(state_->recording.reader_.feed(bytes));
        const Result<bool> more = state_->walk();
        if (!more)
            return more.error();
        if (!*more)  // bytes after the end do not belong to the recording
            return {};
    }
    return {};
}

Result<RecordingTotals> PushedRecording::finish()
{
    state_->recording.reader_.end_feed();
    const Result<bool> walked = state_->walk();
    if (!walked)
        return walked.error();
    if (state_->recording.reader_.data_begin() == 0)
        return in_file(state_->recording.path_,
                       Error{Errc::kTruncated, "it ends before a recording begins"});
    return state_->walker.finish();
}

const Recording &PushedRecording::recording() const
{
    return state_->recording;
}

// Parses PMU_CAPS and caches the result: the list may be long, and is needed for each event. In a
// pipe this section may arrive late.
const Recording::OwnCaps &Recording::own_caps() const
{
    const std::optional<Bytes> content = reader_.feature(perfdata::kFeatPmuCaps);
    if (!content || content->data() == own_caps_.of)
        return own_caps_;
    own_caps_ = {};
    own_caps_.of = content->data();
    const auto pmus = perfdata::parse_pmu_caps(*content, reader_.order());
    for (const perfdata::PmuCaps &caps : pmus.value_or(std::vector<perfdata::PmuCaps>())) {
        const Driver *driver = driver_of_pmu(drivers_, caps.pmu);
        for (const auto &[name, value] : caps.caps) {
            if (name == kSourceCap && value == kSourceModel)
                own_caps_.of_models.emplace(caps.pmu);
            own_caps_.continues |= name == kPartCap;
            if (driver && name == driver->loss_cap)
                own_caps_.marking.emplace(caps.pmu);
        }
    }
    return own_caps_;
}

// An event whose PMU name is lost may belong to any of the PMUs.
std::optional<std::string> Recording::source(size_t event) const
{
    if (claimed_source_)
        return claimed_source_;
    std::string pmu;
    if (event < reader_.events().size())
        pmu = reader_.pmu_name(reader_.events()[event].attr.type);
    const auto &of_models = own_caps().of_models;
    const bool is_of_model = pmu.empty() ? !of_models.empty() : of_models.contains(pmu);
    return is_of_model ? std::optional<std::string>(kSourceModel) : std::nullopt;
}

std::optional<std::string> Recording::source() const
{
    return source(perfdata::kUnknownEvent);
}

std::optional<std::string> Recording::common_source() const
{
    std::optional<std::string> common = claimed_source_;
    for (size_t event = 0; event < reader_.events().size(); event++)
        if (driver(event)) {
            common = source(event);
            if (!common)
                return std::nullopt;
        }
    return common;
}

bool Recording::marks_losses(size_t event) const
{
    const Driver *driver = this->driver(event);
    return !driver || driver->loss_cap.empty() ||
           own_caps().marking.contains(reader_.pmu_name(reader_.events()[event].attr.type));
}

bool Recording::marks_losses() const
{
    for (size_t event = 0; event < reader_.events().size(); event++)
        if (!marks_losses(event))
            return false;
    return true;
}

bool Recording::continues() const
{
    return own_caps().continues;
}

void Recording::note_auxtrace_info(const Record &record)
{
    const auto info = perfdata::parse_auxtrace_info(record.body, reader_.order());
    if (!info || info->priv.empty())
        return;
    auxtrace_driver_ = driver_of_auxtrace_type(drivers_, info->type);
    auxtrace_pmu_type_ = info->priv[0];
    if (!auxtrace_driver_ || !auxtrace_driver_->decoder_version)
        return;
    decoder_version_ = auxtrace_driver_->decoder_version(info->priv.size() > 1 ? info->priv[1] : 0);
    const uint64_t newest = auxtrace_driver_->newest_decoder;
    if (decoder_version_ > newest && !claimed_version_)
        warn(fmt::format("{}: decoder version {} is not known: read as {}", path_, decoder_version_,
                         newest));
}

uint64_t Recording::config(size_t event) const
{
    const std::vector<perfdata::Event> &events = reader_.events();
    if (event < events.size())
        return events[event].attr.config;
    const auto meant = std::ranges::find_if(events, [&](const perfdata::Event &known) {
        return auxtrace_driver_ && known.attr.type == auxtrace_pmu_type_;
    });
    return meant == events.end() ? 0 : meant->attr.config;
}

const Driver *Recording::driver(size_t event) const
{
    if (event >= reader_.events().size())
        return nullptr;
    const uint32_t type = reader_.events()[event].attr.type;
    const std::string &name = reader_.pmu_name(type);
    if (name.empty())
        return type == auxtrace_pmu_type_ ? auxtrace_driver_ : nullptr;
    return driver_of_pmu(drivers_, name);
}

// Records about the time before the recording have the time 0.
void Recording::note_time_of(const Record &record)
{
    const uint64_t time_ns = measures_duration_ ? reader_.time_of(record).value_or(0) : 0;
    if (time_ns == 0)
        return;
    first_ns_ = std::min(first_ns_, time_ns);
    last_ns_ = std::max(last_ns_, time_ns);
}

std::optional<uint64_t> Recording::duration_ns() const
{
    if (last_ns_ <= first_ns_)
        return std::nullopt;
    return last_ns_ - first_ns_;
}

std::string Recording::pmu_name(size_t event) const
{
    if (event >= reader_.events().size())
        return "unknown";
    const perfdata::Event &known = reader_.events()[event];
    std::string name = escape(reader_.pmu_name(known.attr.type));
    if (!name.empty())
        return name;
    name = perfdata::type_name(known.attr.type);
    return name.empty() ? fmt::format("type{}", known.attr.type) : name;
}

std::string Recording::missing(const RecordingTotals &totals) const
{
    for (size_t event = 0; event < reader_.events().size(); event++) {
        if (!driver(event))
            continue;
        if (driver(event)->bare_samples)
            continue;
        const bool asked = reader_.events()[event].attr.sample_type & PERF_SAMPLE_RAW;
        const bool aux = totals.aux_bytes[event] != 0 || driver(event) == auxtrace_driver_;
        if (!asked && !aux && totals.samples[event] != 0)
            return fmt::format(
                "{}: {}: recorded without -R, so {} samples came without their payload; "
                "record with: perf record -R -a -e {}/.../",
                path_, pmu_name(event), totals.samples[event], pmu_name(event));
    }
    return {};
}

std::string Recording::not_decoded(const RecordingTotals &totals) const
{
    bool ours = totals.pieces != 0;
    for (size_t event = 0; event < reader_.events().size(); event++)
        ours |= driver(event) != nullptr;
    if (ours || !nothing_recorded(totals).empty())
        return {};
    return path_ +
           ": no PMU of pmukit was recorded here; read its samples with perf report, or pmukit "
           "export --format folded";
}

std::string Recording::nothing_recorded(const RecordingTotals &totals) const
{
    const auto is_zero = [](uint64_t count) { return count == 0; };
    const bool is_empty = totals.pieces == 0 && totals.unreadable_records == 0 &&
                          totals.unknown_aux_bytes == 0 &&
                          std::ranges::all_of(totals.samples, is_zero) &&
                          std::ranges::all_of(totals.aux_bytes, is_zero) && damage().empty();
    return is_empty ? path_ + ": no sample was recorded" : std::string();
}

std::string damage_of(const perfdata::Reader &reader, const std::string &path)
{
    if (const auto &damage = reader.damage())
        return fmt::format(
            "{}: {} (at offset {:#x}); {} bytes after it are lost, what came before was read", path,
            damage->reason, damage->offset, damage->lost_bytes);
    for (const Error &warning : reader.warnings())
        return in_file(path, warning).message;
    return {};
}

std::string names_not_kept(const std::string &path, uint64_t dropped)
{
    if (dropped == 0)
        return {};
    return fmt::format(
        "{}: {} names, forks or maps of programs dropped (memory limit); cut the recording by "
        "time: pmukit cut --time",
        path, dropped);
}

void say_nothing_recorded(const Recording &recording, const RecordingTotals &totals)
{
    if (const std::string text = recording.nothing_recorded(totals); !text.empty())
        warn(text);
}

int say_troubles(const std::vector<std::string> &troubles)
{
    int status = kExitGood;
    for (const std::string &trouble : troubles)
        if (!trouble.empty()) {
            warn(trouble);
            status = kExitFailed;
        }
    return status;
}

}  // namespace pmukit::cli
