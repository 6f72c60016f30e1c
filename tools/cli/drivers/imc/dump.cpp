// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Records of trace_imc, one per line: AUX offset, timebase, mode, program counter, the PIDR word
// and the four counters. For samples also the thread, the time, the sequence number and the loss
// count.
#include "cli/drivers/imc/handlers.hpp"
#include "cli/drivers/imc/mode.hpp"
#include "cli/dump_stream.hpp"
#include "decode/imc/imc_decode.hpp"
#include "session/samples.hpp"

namespace pmukit::cli {
namespace {

namespace imc = decode::imc;

std::string line_of(const imc::Record &record, imc::ModeRule rule)
{
    return fmt::format("{:>16} {:<12} {:#018x} val {:#x} cpmc {} {} {} {}", record.timebase,
                       imc_mode_name(mode_of(record, rule)), record.ip, record.val, record.cpmc[0],
                       record.cpmc[1], record.cpmc[2], record.cpmc[3]);
}

// Prints the records of one stream. Offsets count from the beginning of the stream.
class StreamText final : public imc::Sink {
public:
    StreamText(const DumpTo &to, const Stream &)
        : out_(to.out), rule_(imc_mode_rule(to.recording.reader())), decoder_(*this)
    {
    }
    StreamText(const StreamText &) = delete;
    StreamText &operator=(const StreamText &) = delete;

    imc::StreamDecoder &decoder() { return decoder_; }
    uint64_t skipped_bytes() const { return skipped_bytes_; }

    void records(uint64_t offset, imc::Records records) override
    {
        for (size_t i = 0; i < records.size(); i++)
            out_.print("{:#010x} {}\n", offset + i * imc::kRecordBytes, line_of(records[i], rule_));
    }
    void skipped(uint64_t offset, uint64_t bytes) override
    {
        skipped_bytes_ += bytes;
        out_.print("# skipped {} bytes at {:#x}: no record\n", bytes, offset);
    }

private:
    Output &out_;
    imc::ModeRule rule_;
    uint64_t skipped_bytes_ = 0;
    imc::StreamDecoder decoder_;
};

class ImcDump final : public StreamDump<StreamText> {
public:
    ImcDump(const Recording &recording, Output &out)
        : StreamDump({recording, out}, "IMC trace data")
    {
    }

    void aux_begin(const Stream &stream, uint64_t offset, uint64_t file_offset,
                   uint64_t size) override
    {
        StreamDump::aux_begin(stream, offset, file_offset, size);
        left_ = size;
    }
    void aux(const Stream &stream, Bytes data) override
    {
        StreamDump::aux(stream, data);
        left_ -= data.size();
        // The next piece may belong to another stream, so print the rest of this piece first.
        if (left_ == 0)
            of(stream).decoder().settle();
    }
    void sample(const Stream &, uint64_t, Bytes) override {}  // handled by bare_sample()
    void bare_sample(const Stream &stream, const perfdata::Record &record,
                     const perfdata::Sample &sample) override;

private:
    void print_payload(Bytes raw);

    uint64_t left_ = 0;  // bytes of the current piece that have not arrived
};

void ImcDump::bare_sample(const Stream &stream, const perfdata::Record &record,
                          const perfdata::Sample &sample)
{
    print_piece(to().recording, stream, "sample, ", record.offset, to().out);
    const perfdata::SampleId &sample_id = sample.sample_id;
    const uint64_t time_ns = sample_id.time_ns.value_or(0);
    to().out.print(
        "{}.{:09} {}/{} {} {:#018x} period {}\n", time_ns / 1'000'000'000, time_ns % 1'000'000'000,
        static_cast<int32_t>(sample_id.pid.value_or(UINT32_MAX)),
        static_cast<int32_t>(sample_id.tid.value_or(UINT32_MAX)),
        imc_mode_name(mode_of_misc(record.misc)), sample.ip.value_or(0), sample.period.value_or(1));
    if (sample.raw)
        print_payload(*sample.raw);
}

void ImcDump::print_payload(Bytes raw)
{
    const std::optional<Bytes> words = imc::words_of_raw(raw);
    const auto sample = words ? imc::parse_sample_record(*words) : std::nullopt;
    if (!sample)
        return skip_payload(raw.size());
    to().out.print("# record {}, {} records lost so far\n", sample->sequence, sample->lost);
    to().out.print("{:>10} {}\n", "",
                   line_of(sample->record, imc_mode_rule(to().recording.reader())));
}

}  // namespace

std::unique_ptr<DriverDump> make_imc_dump(const Recording &recording, const DumpOptions &,
                                          Output &out)
{
    return std::make_unique<ImcDump>(recording, out);
}

}  // namespace pmukit::cli
