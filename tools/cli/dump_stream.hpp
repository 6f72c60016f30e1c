// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Dump for drivers whose records are printed one per line; each stream is decoded separately.
#pragma once

#include "cli/driver_handlers.hpp"
#include "session/per_stream.hpp"

namespace pmukit::cli {

struct DumpTo {
    const Recording &recording;
    Output &out;
};

// StreamText: constructed from DumpTo and the stream; provides decoder() and skipped_bytes().
template <typename StreamText>
class StreamDump : public PerStream<DriverDump, StreamText, DumpTo> {
    using Base = PerStream<DriverDump, StreamText, DumpTo>;

public:
    // `what` is the text for a piece of AUX data in the output.
    StreamDump(const DumpTo &to, const char *what) : Base(to), what_(what) {}

    void aux_begin(const Stream &stream, uint64_t offset, uint64_t file_offset,
                   uint64_t size) override
    {
        const DumpTo &to = this->to();
        print_piece(to.recording, stream, fmt::format("AUX offset {:#x}, ", offset), file_offset,
                    to.out);
        to.out.print(". ... {}: size {} bytes\n", what_, size);
        Base::aux_begin(stream, offset, file_offset, size);
    }
    void aux_loss(const Stream &stream, uint64_t offset, uint64_t bytes) override
    {
        print_loss(this->to().recording, stream, offset, bytes, this->to().out);
        Base::aux_loss(stream, offset, bytes);
    }
    void aux_unknown_loss(const Stream &stream, uint64_t offset) override
    {
        print_unknown_loss(this->to().recording, stream, offset, this->to().out);
        Base::aux_loss(stream, offset, 0);
    }
    uint64_t finish() override
    {
        uint64_t skipped = skipped_bytes_;
        for (const auto &[stream, text] : this->end_streams())
            skipped += text.skipped_bytes();
        return skipped;
    }

protected:
    // Counts and reports a sample payload that holds no record of the driver.
    void skip_payload(uint64_t bytes)
    {
        skipped_bytes_ += bytes;
        this->to().out.print("# skipped {} bytes of payload: no record\n", bytes);
    }

private:
    const char *what_;
    uint64_t skipped_bytes_ = 0;
};

}  // namespace pmukit::cli
