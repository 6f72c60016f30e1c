// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// What the kernel put into an AUX area (PERF_RECORD_AUX) against what the file holds (AUXTRACE), as
// one stream per event and CPU of data and losses, in order.
//
//     kernel  |---- AUX ----|--- AUX, truncated ---|        |- AUX -|
//     file    |------- AUXTRACE -------|-- AUXTRACE --|  gap
//     sink    start, data ............. data, loss(?)    loss(n), end
//
// Bytes are AUX bytes since the event began. Overwritten (snapshot) areas are given as they are.
// AUXTRACE names no event. It is found by, in this order: the reference (our writer puts the event
// id there), the ID_INDEX record (perf's way), the CPU of an AUX record, the only event that can
// be.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "base/budget.hpp"
#include "base/hash.hpp"
#include "base/limits.hpp"
#include "perfdata/reader.hpp"

namespace pmukit::perfdata {

constexpr size_t kUnknownEvent = SIZE_MAX;

struct AuxStream {
    size_t event;               // index into Reader::events(), or kUnknownEvent
    uint32_t cpu;               // UINT32_MAX: of a thread, not of a CPU
    uint32_t tid = UINT32_MAX;  // UINT32_MAX: of a CPU, or the file does not say
};
inline bool operator<(const AuxStream &a, const AuxStream &b)
{
    return std::tie(a.event, a.cpu, a.tid) < std::tie(b.event, b.cpu, b.tid);
}

class AuxSink {
public:
    virtual ~AuxSink() = default;
    // Before the first data or loss of a stream, and after the last.
    virtual void aux_start(const AuxStream &, uint64_t /* aux_offset */) {}
    virtual void aux_end(const AuxStream &, uint64_t /* aux_offset */) {}
    // What the kernel says, as it comes: its flags tell of overwriting, collisions and the format.
    virtual void aux_record(const AuxStream &, const AuxRecord &) {}
    // So many bytes of one buffer follow each other, in one call of aux_data() or, when the reader
    // gives its payload in pieces, in several.
    virtual void aux_run(const AuxStream &, uint64_t /* aux_offset */, uint64_t /* file_offset */,
                         uint64_t /* bytes */)
    {
    }
    virtual void aux_data(const AuxStream &stream, uint64_t aux_offset, uint64_t file_offset,
                          Bytes data) = 0;
    // bytes: how many are missing; 0: the kernel says that some are, not how many.
    virtual void aux_loss(const AuxStream &stream, uint64_t aux_offset, uint64_t bytes) = 0;
};

class AuxMerge {
public:
    enum class Gives {
        kAll,
        kAuxRecords,  // nothing is kept of a stream
    };
    AuxMerge(const Reader &reader, AuxSink &sink, Gives gives = Gives::kAll)
        : reader_(reader), sink_(sink), gives_(gives)
    {
    }

    // Every record of the file, in order; those that are not about AUX are passed over.
    void record(const Record &record);
    // After the last record: what the kernel announced and no buffer brought is lost.
    void finish();

private:
    struct State {
        uint64_t delivered = 0;  // bytes given or reported lost so far
        uint64_t announced = 0;  // the end of what the kernel says it wrote
        uint64_t run_end = 0;    // of the run that was announced to the sink
        std::optional<uint64_t> first_announced;
        bool started = false;
        bool sink_knows = false;  // the sink knows the stream
        bool overwrite = false;
        // Places of unknown losses; those before next_loss are behind us.
        std::vector<uint64_t> losses;
        size_t next_loss = 0;
    };

    // What ID_INDEX says of an event id.
    struct Ring {
        uint64_t index;
        uint32_t cpu, tid;
    };

    void on_aux(const Record &record);
    void on_id_index(const Record &record);
    AuxStream stream_of(const Record &aux) const;
    State &state_of(AuxStream &stream);
    void on_auxtrace(const Record &record);
    void start(const AuxStream &stream, State &state, uint64_t offset);
    void lose(const AuxStream &stream, State &state, uint64_t offset, uint64_t bytes);
    void deliver(const AuxStream &stream, State &state, uint64_t offset, const Record &record);
    void forget_losses(State &state);
    static uint64_t loss_ahead(const State &state);
    static uint64_t padding(const State &state, uint64_t end);
    void give(const AuxStream &stream, State &state, uint64_t offset, uint64_t file_offset,
              Bytes data, uint64_t behind);
    std::optional<size_t> guess_event(const AuxtraceRecord &trace);
    std::optional<size_t> only_event();

    const Reader &reader_;
    AuxSink &sink_;
    Gives gives_;
    Budget left_{limits::kStreams};
    std::map<AuxStream, State> streams_;
    std::set<size_t> per_thread_;  // events whose AUX areas belong to threads
    FlatMap<Ring> ring_by_id_;
    FlatMap<size_t> event_by_index_;  // of a ring
    FlatMap<size_t> event_by_cpu_;    // the first that an AUX record named
    size_t events_seen_ = 0;          // of the reader's
    size_t device_events_ = 0;        // of them: those of devices
    size_t device_event_ = 0;         // the last of these
};

}  // namespace pmukit::perfdata
