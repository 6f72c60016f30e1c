// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// For units whose AUX data becomes samples record by record, each stream for itself.
#pragma once

#include <map>

#include "cli/unit_handlers.hpp"

namespace pmukit::cli {

// StreamSamples: made of the sink and the stream, gives the samples, and has the decoder().
template <typename StreamSamples>
class StreamInject final : public UnitInject {
public:
    explicit StreamInject(RawSink &sink) : sink_(sink) {}

    void aux_begin(const Stream &stream, uint64_t offset, uint64_t, uint64_t) override
    {
        auto [at, fresh] = streams_.try_emplace(stream, sink_, stream);
        if (fresh)
            at->second.decoder().start(offset);
    }
    void aux(const Stream &stream, Bytes data) override
    {
        streams_.at(stream).decoder().data(data);
    }
    void aux_loss(const Stream &stream, uint64_t, uint64_t bytes) override
    {
        if (auto at = streams_.find(stream); at != streams_.end())
            at->second.decoder().loss(bytes);
    }
    void finish() override
    {
        for (auto &[stream, samples] : streams_)
            samples.decoder().end();
    }

private:
    RawSink &sink_;
    std::map<Stream, StreamSamples> streams_;
};

}  // namespace pmukit::cli
