// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Common part of the sinks of AUX data: one decoder per stream, started where its data begins.
#pragma once

#include "session/stream_map.hpp"

namespace pmukit::cli {

// Role is the sink interface that the command expects. To is the destination of decoded records.
// Each is the state of one stream: it is constructed from a To and the stream, and provides
// decoder().
template <typename Role, typename Each, typename To>
class PerStream : public Role {
public:
    explicit PerStream(To to) : to_(to) {}
    PerStream(const PerStream &) = delete;
    PerStream &operator=(const PerStream &) = delete;

    void aux_begin(const Stream &stream, uint64_t offset, uint64_t, uint64_t) override
    {
        streams_.begin_at(stream, offset, to_, stream);
    }
    void aux(const Stream &stream, Bytes data) override { streams_.data(stream, data); }
    void aux_loss(const Stream &stream, uint64_t, uint64_t bytes) override
    {
        streams_.loss(stream, bytes);
    }

protected:
    To &to() { return to_; }
    // Requires an earlier aux_begin() of the stream.
    Each &of(const Stream &stream) { return streams_.at(stream); }
    // Ends all decoders. Returns each stream with its Each.
    auto end_streams()
    {
        streams_.end();
        return streams_.all();
    }

private:
    To to_;
    StreamMap<Each> streams_;
};

// An Each that only holds the decoder; To::sink_of() returns the sink of its records.
template <typename Decoder>
class PlainDecoder {
public:
    template <typename To>
    PlainDecoder(To &to, const Stream &stream) : decoder_(to.sink_of(stream))
    {
    }
    Decoder &decoder() { return decoder_; }

private:
    Decoder decoder_;
};

}  // namespace pmukit::cli
