// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// For drivers whose records become rows, each stream for itself: of AUX data, and of samples.
#pragma once

#include "cli/export/driver_export.hpp"
#include "session/per_stream.hpp"

namespace pmukit::cli {

// StreamRows: made of where rows go and of the stream, has the decoder() and counts
// skipped_bytes().
template <typename StreamRows>
class StreamExport : public PerStream<DriverExport, StreamRows, RowsOut &> {
public:
    using PerStream<DriverExport, StreamRows, RowsOut &>::PerStream;

    uint64_t finish() override
    {
        uint64_t skipped = 0;
        for (const auto &[stream, rows] : this->end_streams())
            skipped += rows.skipped_bytes();
        for (const auto &[stream, rows] : samples_.all())
            skipped += rows.skipped_bytes();
        return skipped;
    }

protected:
    // Samples have numbers of their own.
    StreamRows &samples_of(const Stream &stream) { return samples_.of(stream, this->to(), stream); }

private:
    StreamMap<StreamRows> samples_;
};

}  // namespace pmukit::cli
