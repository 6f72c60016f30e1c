// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "perfdata/aux.hpp"

#include <algorithm>

#include "perfdata/format.hpp"

namespace pmukit::perfdata {
namespace {

constexpr uint32_t kAnyCpu = UINT32_MAX;
constexpr size_t kMaxPendingLosses = 65536;  // against files that only announce

}  // namespace

void AuxMerge::record(const Record &record)
{
    if (record.type == PERF_RECORD_AUX)
        on_aux(record);
    else if (record.type == kAuxtrace)
        on_auxtrace(record);
}

void AuxMerge::on_aux(const Record &record)
{
    std::optional<AuxRecord> aux = parse_aux(record.body, reader_.order());
    if (!aux || aux->size > UINT64_MAX - aux->offset)
        return;
    AuxStream stream{reader_.event_of(record).value_or(kUnknownEvent), kAnyCpu};
    if (stream.event != kUnknownEvent) {
        const Attr &attr = reader_.events()[stream.event].attr;
        std::optional<SampleId> who = parse_sample_id(record.body, attr, reader_.order());
        if (who && who->cpu && !per_thread_.contains(stream.event))
            stream.cpu = *who->cpu;
    }

    State &state = streams_[stream];
    uint64_t end = aux->offset + aux->size;
    state.overwrite |= (aux->flags & PERF_AUX_FLAG_OVERWRITE) != 0;
    state.announced = std::max(state.announced, end);
    if (!state.first_announced)
        state.first_announced = aux->offset;
    if (!(aux->flags & (PERF_AUX_FLAG_TRUNCATED | PERF_AUX_FLAG_PARTIAL)))
        return;
    if (end <= state.delivered || state.losses.size() >= kMaxPendingLosses)
        sink_.aux_loss(stream, end, 0);
    else
        state.losses.push_back(end);
}

// The record itself names no event. Ours keep the id in the reference; otherwise the CPU must do.
std::optional<size_t> AuxMerge::guess_event(const AuxtraceRecord &trace) const
{
    if (std::optional<size_t> event = reader_.event_of_id(trace.reference))
        return event;
    for (const auto &[stream, state] : streams_)
        if (stream.cpu == trace.cpu && stream.event != kUnknownEvent)
            return stream.event;
    std::optional<size_t> only;
    for (size_t i = 0; i < reader_.events().size(); i++) {
        if (reader_.events()[i].attr.type < PERF_TYPE_MAX)
            continue;  // the kernel's own event types have no AUX area
        if (only)
            return std::nullopt;
        only = i;
    }
    return only;
}

void AuxMerge::on_auxtrace(const Record &record)
{
    std::optional<AuxtraceRecord> trace = parse_auxtrace(record.body, reader_.order());
    if (!trace || record.payload.size() > UINT64_MAX - trace->offset)
        return;
    AuxStream stream{guess_event(*trace).value_or(kUnknownEvent), trace->cpu};
    if (trace->cpu == kAnyCpu)
        per_thread_.insert(stream.event);
    uint64_t file_offset = record.offset + kRecordHeaderBytes + record.body.size();
    deliver(stream, streams_[stream], trace->offset, file_offset, record.payload);
}

void AuxMerge::deliver(const AuxStream &stream, State &state, uint64_t offset, uint64_t file_offset,
                       Bytes data)
{
    if (state.overwrite)
        state.delivered = offset;  // an overwritten area begins anywhere
    if (!state.started && !state.overwrite)
        state.delivered = state.first_announced.value_or(offset);
    state.started = true;
    if (offset > state.delivered) {
        sink_.aux_loss(stream, state.delivered, offset - state.delivered);
        state.delivered = offset;
    }
    uint64_t known = std::min<uint64_t>(state.delivered - offset, data.size());  // given before
    data = data.subspan(known);
    offset += known;
    file_offset += known;

    while (!data.empty()) {
        while (!state.losses.empty() && state.losses.front() <= offset) {
            sink_.aux_loss(stream, state.losses.front(), 0);
            state.losses.pop_front();
        }
        uint64_t part = data.size();
        if (!state.losses.empty())
            part = std::min(part, state.losses.front() - offset);
        sink_.aux_data(stream, offset, file_offset, data.first(part));
        data = data.subspan(part);
        offset += part;
        file_offset += part;
        state.delivered = offset;
    }
}

void AuxMerge::finish()
{
    for (auto &[stream, state] : streams_) {
        bool counted_elsewhere = per_thread_.contains(stream.event) && stream.cpu != kAnyCpu;
        if (counted_elsewhere)
            continue;
        if (!state.started)
            state.delivered = state.first_announced.value_or(0);
        if (!state.overwrite && state.announced > state.delivered)
            sink_.aux_loss(stream, state.delivered, state.announced - state.delivered);
        for (uint64_t place : state.losses)
            sink_.aux_loss(stream, place, 0);
        state.losses.clear();
    }
}

}  // namespace pmukit::perfdata
