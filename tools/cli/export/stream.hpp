// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Export for drivers whose records become rows. Each stream is decoded separately, and its AUX data
// separately from its samples.
#pragma once

#include "cli/export/driver_export.hpp"
#include "session/per_stream.hpp"

namespace pmukit::cli {

// StreamRows: constructed from RowsOut and the stream; provides decoder() and skipped_bytes().
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
    // Decoder for samples: records in samples are numbered separately from those in AUX data.
    StreamRows &samples_of(const Stream &stream) { return samples_.of(stream, this->to(), stream); }

private:
    StreamMap<StreamRows> samples_;
};

}  // namespace pmukit::cli
