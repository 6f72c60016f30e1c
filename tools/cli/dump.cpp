// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The text of the CXL HMU RFC's raw dump: a line for each piece of data, the header words of each
// record, its entries one per line. Lines that begin with # are ours: where the data is, and what
// is missing.
#include <map>

#include "cli/commands.hpp"
#include "cli/recording.hpp"
#include "decode/cxl_hmu/cxl_hmu_decode.hpp"

namespace pmukit::cli {
namespace {

class Dumper final : public UnitSink, public decode::cxl_hmu::Sink {
public:
    Dumper(const Recording &recording, Output &out) : recording_(recording), out_(out) {}

    void aux_begin(const Stream &stream, uint64_t offset, uint64_t file_offset,
                   uint64_t size) override
    {
        print_piece(stream, fmt::format("AUX offset {:#x}, ", offset), file_offset, size);
        auto [at, fresh] = streams_.try_emplace(stream, *this);
        if (fresh)
            at->second.start(offset);
    }

    void aux(const Stream &stream, Bytes data) override { streams_.at(stream).data(data); }

    void aux_loss(const Stream &stream, uint64_t offset, uint64_t bytes) override
    {
        std::string size = bytes ? fmt::format("{} bytes", bytes) : "an unknown number of bytes";
        out_.print("# {}: lost {} at AUX offset {:#x}\n", recording_.pmu_name(stream.event), size,
                   offset);
        if (auto at = streams_.find(stream); at != streams_.end())
            at->second.loss(bytes);
    }

    void sample(const Stream &stream, uint64_t file_offset, Bytes words) override
    {
        print_piece(stream, "sample, ", file_offset, words.size());
        decode::cxl_hmu::StreamDecoder decoder(*this);
        decoder.start(0);
        decoder.data(words);
        decoder.end();
    }

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

    // Returns the bytes in which no record was found.
    uint64_t finish()
    {
        for (auto &[stream, decoder] : streams_)
            decoder.end();
        return skipped_bytes_;
    }

private:
    void print_piece(const Stream &stream, const std::string &kind, uint64_t file_offset,
                     uint64_t size)
    {
        out_.print("# {}", recording_.pmu_name(stream.event));
        if (stream.cpu != UINT32_MAX)
            out_.print(" cpu {}", stream.cpu);
        out_.print(": {}file offset {:#x}\n", kind, file_offset);
        out_.print(". ... CXL_HMU data: size {} bytes\n", size);
    }

    const Recording &recording_;
    Output &out_;
    std::map<Stream, decode::cxl_hmu::StreamDecoder> streams_;
    uint64_t skipped_bytes_ = 0;
};

}  // namespace

Result<int> run_dump(const DumpOptions &options, Output &out)
{
    Result<Recording> recording = Recording::open(options.input);
    if (!recording)
        return recording.error();
    Dumper dumper(*recording, out);
    Result<RecordingTotals> totals = recording->walk(dumper);
    uint64_t skipped = dumper.finish();
    if (!totals)
        return totals.error();
    if (totals->lost_samples)
        out.print("# lost {} samples\n", totals->lost_samples);

    int status = kExitGood;
    for (const std::string &trouble : {recording->missing(*totals), recording->damage()})
        if (!trouble.empty()) {
            complain(trouble);
            status = kExitFailed;
        }
    if (skipped) {
        complain(
            fmt::format("{}: {} bytes hold no record and were skipped", options.input, skipped));
        status = kExitFailed;
    }
    return status;
}

}  // namespace pmukit::cli
