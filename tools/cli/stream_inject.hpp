// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Conversion for drivers whose AUX data becomes samples record by record. Each stream is decoded
// separately.
#pragma once

#include "cli/driver_handlers.hpp"
#include "session/per_stream.hpp"

namespace pmukit::cli {

// StreamSamples: constructed from the sink and the stream; makes the samples and provides
// decoder().
template <typename StreamSamples>
class StreamInject final : public PerStream<DriverInject, StreamSamples, RawSink &> {
public:
    using PerStream<DriverInject, StreamSamples, RawSink &>::PerStream;

    void finish() override { this->end_streams(); }
};

}  // namespace pmukit::cli
