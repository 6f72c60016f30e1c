// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Prints the format of the raw dump in the CXL HMU RFC: one line per piece of data, then the header
// words and the entries of each record, one per line.

#include "cli/drivers/cxl_hmu/handlers.hpp"
#include "decode/cxl_hmu/cxl_hmu_decode.hpp"
#include "session/stream_map.hpp"

namespace pmukit::cli {
namespace {

class CxlHmuDump final : public DriverDump, public decode::cxl_hmu::Sink {
public:
    CxlHmuDump(const Recording &recording, Output &out) : recording_(recording), out_(out) {}

    void aux_begin(const Stream &stream, uint64_t offset, uint64_t file_offset,
                   uint64_t size) override
    {
        begin_piece(stream, fmt::format("AUX offset {:#x}, ", offset), file_offset, size);
        streams_.begin_at(stream, offset, *this);
    }

    void aux(const Stream &stream, Bytes data) override { streams_.data(stream, data); }

    void aux_loss(const Stream &stream, uint64_t offset, uint64_t bytes) override
    {
        print_loss(recording_, stream, offset, bytes, out_);
        streams_.loss(stream, bytes);
    }

    void sample(const Stream &stream, uint64_t file_offset, Bytes words) override
    {
        begin_piece(stream, "sample, ", file_offset, words.size());
        decode::cxl_hmu::StreamDecoder decoder(*this);
        decoder.start(0);
        decoder.data(words);
        decoder.end();
    }

    using DriverDump::record;  // the overload for perf records, which prints nothing
    void record(const decode::cxl_hmu::Record &record) override
    {
        out_.print("Header 0: units: {:x} counter_width {:x}\n", record.entries.size(),
                   record.counter_width);
        out_.print("Header 1 : {:x}\n", decode::cxl_hmu::kMark);
        for (size_t i = 0; i < record.extra.size(); i++)
            out_.print("Header {} : {:x}\n", i + 2, record.extra[i]);
        for (size_t i = 0; i < record.entries.size(); i++)
            out_.hex16_line(record.entries[i]);
    }

    void skipped(uint64_t offset, uint64_t bytes) override
    {
        skipped_bytes_ += bytes;
        out_.print("# skipped {} bytes at {:#x}: no record\n", bytes, offset);
    }

    uint64_t finish() override
    {
        streams_.end();
        return skipped_bytes_;
    }

private:
    void begin_piece(const Stream &stream, const std::string &kind, uint64_t file_offset,
                     uint64_t size)
    {
        print_piece(recording_, stream, kind, file_offset, out_);
        out_.print(". ... CXL_HMU data: size {} bytes\n", size);
    }

    const Recording &recording_;
    Output &out_;
    StreamMap<decode::cxl_hmu::StreamDecoder> streams_;
    uint64_t skipped_bytes_ = 0;
};

}  // namespace

std::unique_ptr<DriverDump> make_cxl_hmu_dump(const Recording &recording, const DumpOptions &,
                                              Output &out)
{
    return std::make_unique<CxlHmuDump>(recording, out);
}

}  // namespace pmukit::cli
