// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// What the kernel put into an AUX area (PERF_RECORD_AUX) against what the file holds (AUXTRACE), as
// one stream per event and CPU of data and losses, in order.
//
//     kernel  |---- AUX ----|--- AUX, truncated ---|        |- AUX -|
//     file    |------- AUXTRACE -------|-- AUXTRACE --|  gap
//     sink    data .................... data, loss(?)    loss(n) at the end
//
// Bytes are AUX bytes since the event began. Overwritten (snapshot) areas are given as they are.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "perfdata/reader.hpp"

namespace pmukit::perfdata {

constexpr size_t kUnknownEvent = SIZE_MAX;

struct AuxStream {
    size_t event;  // index into Reader::events(), or kUnknownEvent
    uint32_t cpu;  // UINT32_MAX: of a thread, not of a CPU
};
inline bool operator<(const AuxStream &a, const AuxStream &b)
{
    return std::tie(a.event, a.cpu) < std::tie(b.event, b.cpu);
}

class AuxSink {
public:
    virtual ~AuxSink() = default;
    virtual void aux_data(const AuxStream &stream, uint64_t aux_offset, uint64_t file_offset,
                          Bytes data) = 0;
    // bytes: how many are missing; 0: the kernel says that some are, not how many.
    virtual void aux_loss(const AuxStream &stream, uint64_t aux_offset, uint64_t bytes) = 0;
};

class AuxMerge {
public:
    AuxMerge(const Reader &reader, AuxSink &sink) : reader_(reader), sink_(sink) {}

    // Every record of the file, in order; those that are not about AUX are passed over.
    void record(const Record &record);
    // After the last record: what the kernel announced and no buffer brought is lost.
    void finish();

private:
    struct State {
        uint64_t delivered = 0;  // bytes given or reported lost so far
        uint64_t announced = 0;  // the end of what the kernel says it wrote
        std::optional<uint64_t> first_announced;
        bool started = false;
        bool overwrite = false;
        std::deque<uint64_t> losses;  // places of unknown losses not reached yet
    };

    void on_aux(const Record &record);
    void on_auxtrace(const Record &record);
    void deliver(const AuxStream &stream, State &state, uint64_t offset, uint64_t file_offset,
                 Bytes data);
    std::optional<size_t> guess_event(const AuxtraceRecord &trace) const;

    const Reader &reader_;
    AuxSink &sink_;
    std::map<AuxStream, State> streams_;
    std::set<size_t> per_thread_;  // events whose AUX areas belong to threads
};

}  // namespace pmukit::perfdata
