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
#include <memory>

#include "base/hash.hpp"
#include "perfdata/reader.hpp"

namespace pmukit::perfdata {

constexpr size_t kUnknownEvent = SIZE_MAX;

struct AuxStream {
    size_t event;               // index into Reader::events(), or kUnknownEvent
    uint32_t cpu;               // UINT32_MAX: of a thread, not of a CPU
    uint32_t tid = UINT32_MAX;  // UINT32_MAX: of a CPU, or the file does not say
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
class AuxStreamHash {
public:
    size_t operator()(const AuxStream &stream) const
    {
        return hash_(hash_(stream.event) ^ ring_of(stream));
    }

private:
    SaltedHash hash_;
};

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
    AuxMerge(const Reader &reader, AuxSink &sink, Gives gives = Gives::kAll);
    AuxMerge(AuxMerge &&) noexcept;
    AuxMerge &operator=(AuxMerge &&) noexcept;
    ~AuxMerge();

    // Every record of the file, in order; those that are not about AUX are passed over.
    void record(const Record &record);
    // After the last record: what the kernel announced and no buffer brought is lost.
    void finish();

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace pmukit::perfdata
