// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Compares what the kernel wrote into an AUX area (PERF_RECORD_AUX) with what the file holds
// (AUXTRACE). Delivers one stream per event and CPU, with data and losses in order.
//
//     kernel  |---- AUX ----|--- AUX, truncated ---|        |- AUX -|
//     file    |------- AUXTRACE -------|-- AUXTRACE --|  gap
//     sink    start, data ............. data, loss(?)    loss(n), end
//
// Offsets are AUX bytes since the start of the event. Overwritten (snapshot) areas can begin at any
// offset and are not compared. An AUXTRACE record does not name its event. AuxMerge finds the event
// by the record's reference (pmukit's writer stores the event id there), by ID_INDEX (as perf
// does), by the CPU of an AUX record, or because only one event can have an AUX area; the first of
// these that identifies an event decides.
#pragma once

#include <cstdint>
#include <memory>

#include "perfdata/reader.hpp"

namespace pmukit::perfdata {

constexpr size_t kUnknownEvent = SIZE_MAX;

struct AuxStream {
    size_t event;               // index into Reader::events(), or kUnknownEvent
    uint32_t cpu;               // UINT32_MAX: belongs to a thread, not to a CPU
    uint32_t tid = UINT32_MAX;  // UINT32_MAX: belongs to a CPU, or is unknown
};
inline uint64_t ring_of(const AuxStream &stream)
{
    return uint64_t{stream.cpu} << 32 | stream.tid;
}
inline bool operator==(const AuxStream &a, const AuxStream &b)
{
    return a.event == b.event && ring_of(a) == ring_of(b);
}
inline bool operator<(const AuxStream &a, const AuxStream &b)
{
    return a.event != b.event ? a.event < b.event : ring_of(a) < ring_of(b);
}

class AuxSink {
public:
    virtual ~AuxSink() = default;
    // aux_start() is called before the first data or loss of a stream, aux_end() after the last.
    virtual void aux_start(const AuxStream &, uint64_t /* aux_offset */) {}
    virtual void aux_end(const AuxStream &, uint64_t /* aux_offset */) {}
    // Called for each AUX record in file order. Its flags report overwriting, collisions and the
    // format.
    virtual void aux_record(const AuxStream &, const AuxRecord &) {}
    // Announces `bytes` contiguous bytes of one buffer. They follow in one call of aux_data(), or
    // in several if the reader returns the payload in pieces.
    virtual void aux_run(const AuxStream &, uint64_t /* aux_offset */, uint64_t /* file_offset */,
                         uint64_t /* bytes */)
    {
    }
    virtual void aux_data(const AuxStream &stream, uint64_t aux_offset, uint64_t file_offset,
                          Bytes data) = 0;
    // bytes: number of missing bytes; 0: the kernel reports a loss of unknown size.
    virtual void aux_loss(const AuxStream &stream, uint64_t aux_offset, uint64_t bytes) = 0;
};

class AuxMerge {
public:
    enum class Gives {
        kAll,
        kAuxRecords,  // calls only aux_record(), and stores nothing per stream
    };
    AuxMerge(const Reader &reader, AuxSink &sink, Gives gives = Gives::kAll);
    AuxMerge(AuxMerge &&) noexcept;
    AuxMerge &operator=(AuxMerge &&) noexcept;
    ~AuxMerge();

    // Call with every record of the file, in order. Records that do not concern AUX data are
    // ignored.
    void record(const Record &record);
    // Call after the last record: reports data as lost that AUX records announced and no buffer
    // contained.
    void finish();

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace pmukit::perfdata
