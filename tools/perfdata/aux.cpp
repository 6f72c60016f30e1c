// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "perfdata/aux.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "base/budget.hpp"
#include "base/limits.hpp"
#include "base/stable_map.hpp"
#include "perfdata/aux_stream_hash.hpp"
#include "perfdata/format.hpp"
#include "perfdata/lost_entries.hpp"

namespace pmukit::perfdata {
namespace {

constexpr uint32_t kAnyCpu = UINT32_MAX, kAnyTid = UINT32_MAX;
constexpr size_t kRingBytes = kNodeBytes + 4 * sizeof(uint64_t);

}  // namespace

struct __attribute__((visibility("hidden"))) AuxMerge::State {
    State(const Reader &reader, AuxSink &sink, Gives gives)
        : reader_(reader), sink_(sink), gives_(gives)
    {
    }
    void record(const Record &record);
    void finish();

    struct OfStream {
        uint64_t delivered = 0;  // bytes delivered or reported lost so far
        uint64_t announced = 0;  // end of the data that AUX records announced
        uint64_t run_end = 0;    // end of the run that was announced to the sink
        std::optional<uint64_t> first_announced;
        bool started = false;
        bool sink_knows = false;  // aux_start() was called
        bool overwrite = false;
        // Offsets of losses of unknown size; those before next_loss are already reported.
        std::vector<uint64_t> losses;
        size_t next_loss = 0;
    };

    // Entry of ID_INDEX for an event id.
    struct Ring {
        uint64_t index;
        uint32_t cpu, tid;
    };

    void on_aux(const Record &record);
    void on_id_index(const Record &record);
    AuxStream stream_of(const Record &aux) const;
    OfStream &state_of(AuxStream &stream);
    void on_auxtrace(const Record &record);
    void start(const AuxStream &stream, OfStream &state, uint64_t offset);
    void lose(const AuxStream &stream, OfStream &state, uint64_t offset, uint64_t bytes);
    void deliver(const AuxStream &stream, OfStream &state, uint64_t offset, const Record &record);
    void forget_losses(OfStream &state);
    static uint64_t loss_ahead(const OfStream &state);
    static uint64_t padding(const OfStream &state, uint64_t end);
    void give(const AuxStream &stream, OfStream &state, uint64_t offset, uint64_t file_offset,
              Bytes data, uint64_t behind);
    std::optional<size_t> guess_event(const AuxtraceRecord &trace);
    std::optional<size_t> only_event();

    const Reader &reader_;
    AuxSink &sink_;
    Gives gives_;
    Budget left_{limits::kStreams};
    StableMap<AuxStream, OfStream, AuxStreamHash> streams_;
    std::set<size_t> per_thread_;  // events whose AUX areas belong to threads
    FlatMap<Ring> ring_by_id_;
    FlatMap<size_t> event_by_index_;  // ring index -> event
    FlatMap<size_t> event_by_cpu_;    // the first event that an AUX record named for a CPU
    size_t events_seen_ = 0;          // events of the reader that only_event() has checked
    size_t device_events_ = 0;        // number of device events among events_seen_
    size_t device_event_ = 0;         // the last device event
};

AuxMerge::AuxMerge(const Reader &reader, AuxSink &sink, Gives gives)
    : state_(std::make_unique<State>(reader, sink, gives))
{
}
AuxMerge::AuxMerge(AuxMerge &&) noexcept = default;
AuxMerge &AuxMerge::operator=(AuxMerge &&) noexcept = default;
AuxMerge::~AuxMerge() = default;

void AuxMerge::record(const Record &record)
{
    state_->record(record);
}

void AuxMerge::finish()
{
    state_->finish();
}

void AuxMerge::State::record(const Record &record)
{
    if (record.type == PERF_RECORD_AUX)
        on_aux(record);
    else if (record.type == kAuxtrace)
        on_auxtrace(record);
    else if (record.type == kIdIndex)
        on_id_index(record);
}

void AuxMerge::State::on_id_index(const Record &record)
{
    std::optional<IdIndexView> index = parse_id_index(record.body, reader_.order());
    for (size_t i = 0; index && i < index->size(); i++) {
        const IdIndexView::Entry entry = (*index)[i];
        const std::optional<size_t> event = reader_.event_of_id(entry.id);
        if (!event || reader_.events()[*event].attr.type < PERF_TYPE_MAX)
            continue;  // the kernel's own event types have no AUX area
        if (!ring_by_id_.find(entry.id) && !left_.take(kRingBytes))
            return;
        ring_by_id_.put(entry.id, {entry.index, entry.cpu, entry.tid});
        if (!event_by_index_.find(entry.index) && !left_.take(kRingBytes))
            return;
        event_by_index_.put(entry.index, *event);
    }
}

AuxStream AuxMerge::State::stream_of(const Record &aux) const
{
    AuxStream stream{reader_.event_of(aux).value_or(kUnknownEvent), kAnyCpu};
    if (stream.event == kUnknownEvent)
        return stream;
    const Attr &attr = reader_.events()[stream.event].attr;
    std::optional<SampleId> sample_id = parse_sample_id(aux.body, attr, reader_.order());
    if (!sample_id)
        return stream;
    if (const Ring *const ring = sample_id->id ? ring_by_id_.find(*sample_id->id) : nullptr) {
        stream.cpu = ring->cpu;
        stream.tid = stream.cpu == kAnyCpu ? ring->tid : kAnyTid;
    } else if (per_thread_.contains(stream.event)) {
        stream.tid = sample_id->tid.value_or(kAnyTid);
    } else {
        stream.cpu = sample_id->cpu.value_or(kAnyCpu);
    }
    return stream;
}

void AuxMerge::State::on_aux(const Record &record)
{
    std::optional<AuxRecord> aux = parse_aux(record.body, reader_.order());
    if (!aux || aux->size > UINT64_MAX - aux->offset)
        return;
    AuxStream stream = stream_of(record);
    OfStream *const known = gives_ == Gives::kAll ? &state_of(stream) : nullptr;
    if (stream.event != kUnknownEvent && !event_by_cpu_.find(stream.cpu) && left_.take(kRingBytes))
        event_by_cpu_.insert(stream.cpu, stream.event);
    sink_.aux_record(stream, *aux);
    if (!known)
        return;
    OfStream &state = *known;
    uint64_t end = aux->offset + aux->size;
    state.overwrite |= (aux->flags & PERF_AUX_FLAG_OVERWRITE) != 0;
    state.announced = std::max(state.announced, end);
    if (!state.first_announced)
        state.first_announced = aux->offset;
    if (!(aux->flags & kAuxLossFlags))
        return;
    if (end <= state.delivered || !left_.take(sizeof end))
        lose(stream, state, end, 0);
    else
        state.losses.push_back(end);
}

// Finds the event of an AUXTRACE record, which does not name it. pmukit's writer stores the event
// id in the reference; otherwise the ring or the CPU identifies the event.
std::optional<size_t> AuxMerge::State::guess_event(const AuxtraceRecord &trace)
{
    if (std::optional<size_t> event = reader_.event_of_id(trace.reference))
        return event;
    if (const size_t *const event = event_by_index_.find(trace.index))
        return *event;
    if (const size_t *const event = event_by_cpu_.find(trace.cpu))
        return *event;
    return only_event();
}

// Returns the event that can have an AUX area, if it is the only one: the kernel's own event types
// have none. In pipe layout, events arrive between records; each event is checked once.
std::optional<size_t> AuxMerge::State::only_event()
{
    for (; events_seen_ < reader_.events().size(); events_seen_++) {
        if (reader_.events()[events_seen_].attr.type < PERF_TYPE_MAX)
            continue;
        device_events_++;
        device_event_ = events_seen_;
    }
    return device_events_ == 1 ? std::optional(device_event_) : std::nullopt;
}

void AuxMerge::State::on_auxtrace(const Record &record)
{
    std::optional<AuxtraceRecord> trace = parse_auxtrace(record.body, reader_.order());
    if (!trace || record.payload_bytes > UINT64_MAX - trace->offset)
        return;
    if (gives_ == Gives::kAuxRecords && trace->cpu != kAnyCpu)
        return;
    AuxStream stream{guess_event(*trace).value_or(kUnknownEvent), trace->cpu};
    if (trace->cpu == kAnyCpu) {
        per_thread_.insert(stream.event);
        stream.tid = trace->tid;
    }
    if (gives_ == Gives::kAll)
        deliver(stream, state_of(stream), trace->offset + record.payload_at, record);
}

// A file can name any number of threads. Above the limit, further streams become one stream without
// event and CPU.
AuxMerge::State::OfStream &AuxMerge::State::state_of(AuxStream &stream)
{
    if (auto *const known = streams_.find(stream))
        return known->second;
    if (left_.take(sizeof stream + sizeof(OfStream) + kNodeBytes))
        return streams_[stream];
    stream = {kUnknownEvent, kAnyCpu};
    return streams_[stream];
}

void AuxMerge::State::start(const AuxStream &stream, OfStream &state, uint64_t offset)
{
    if (!state.sink_knows)
        sink_.aux_start(stream, offset);
    state.sink_knows = true;
}

void AuxMerge::State::lose(const AuxStream &stream, OfStream &state, uint64_t offset,
                           uint64_t bytes)
{
    start(stream, state, offset);
    sink_.aux_loss(stream, offset, bytes);
}

// Returns the number of padding bytes before `end`. perf pads a buffer to a multiple of 8 bytes.
// The announced data ends before the padding, and the next buffer begins at that end.
uint64_t AuxMerge::State::padding(const OfStream &state, uint64_t end)
{
    constexpr uint64_t kMultiple = 8;
    const bool is_padded = state.announced < end && end - state.announced < kMultiple;
    return is_padded && !state.overwrite ? end - state.announced : 0;
}

// record: contains the piece of a payload that begins at this offset of the stream.
void AuxMerge::State::deliver(const AuxStream &stream, OfStream &state, uint64_t offset,
                              const Record &record)
{
    if (record.payload_at == 0)
        state.run_end = 0;
    if (state.overwrite)
        state.delivered = offset;  // an overwritten area can begin anywhere
    if (!state.started && !state.overwrite)
        state.delivered = state.first_announced.value_or(offset);
    state.started = true;
    if (offset > state.delivered) {
        lose(stream, state, state.delivered, offset - state.delivered);
        state.delivered = offset;
    }
    uint64_t left = record.payload_bytes - record.payload_at;
    left -= std::min(left, padding(state, offset + left));
    const Bytes payload = record.payload.first(std::min<uint64_t>(record.payload.size(), left));
    const uint64_t known =  // bytes that were already delivered
        std::min<uint64_t>(state.delivered - offset, payload.size());
    const uint64_t file_offset =
        record.offset + kRecordHeaderBytes + record.body.size() + record.payload_at;
    give(stream, state, offset + known, file_offset + known, payload.subspan(known),
         left - payload.size());
}

void AuxMerge::State::forget_losses(OfStream &state)
{
    left_.give_back(sizeof(uint64_t) * state.losses.size());
    state.losses.clear();
    state.next_loss = 0;
}

// Offset of the next loss; UINT64_MAX if there is none.
uint64_t AuxMerge::State::loss_ahead(const OfStream &state)
{
    return state.next_loss == state.losses.size() ? UINT64_MAX : state.losses[state.next_loss];
}

// Delivers data, and reports the losses before and inside it. behind: bytes of the same buffer that
// follow in later pieces.
void AuxMerge::State::give(const AuxStream &stream, OfStream &state, uint64_t offset,
                           uint64_t file_offset, Bytes data, uint64_t behind)
{
    while (!data.empty()) {
        while (loss_ahead(state) <= offset)
            lose(stream, state, state.losses[state.next_loss++], 0);
        if (state.next_loss == state.losses.size())
            forget_losses(state);
        const uint64_t next_loss = loss_ahead(state) - offset;
        start(stream, state, offset);
        if (state.run_end <= offset) {
            const uint64_t run = std::min(data.size() + behind, next_loss);
            sink_.aux_run(stream, offset, file_offset, run);
            state.run_end = offset + run;
        }
        const uint64_t part = std::min<uint64_t>(data.size(), next_loss);
        sink_.aux_data(stream, offset, file_offset, data.first(part));
        data = data.subspan(part);
        offset += part;
        file_offset += part;
        state.delivered = offset;
    }
}

void AuxMerge::State::finish()
{
    for (auto &[stream, state] : streams_.sorted()) {
        bool counted_elsewhere = per_thread_.contains(stream.event) && stream.cpu != kAnyCpu;
        if (counted_elsewhere)
            continue;
        if (!state.started)
            state.delivered = state.first_announced.value_or(0);
        if (!state.overwrite && state.announced > state.delivered)
            lose(stream, state, state.delivered, state.announced - state.delivered);
        while (state.next_loss < state.losses.size())
            lose(stream, state, state.losses[state.next_loss++], 0);
        forget_losses(state);
        if (state.sink_knows)
            sink_.aux_end(stream, std::max(state.delivered, state.announced));
        state.sink_knows = false;
    }
}

}  // namespace pmukit::perfdata
