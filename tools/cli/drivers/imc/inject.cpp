// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Converts records of trace_imc to samples, each with one record: the program counter and the mode
// are in fields that stock perf knows, and the payload is the record as the kernel driver writes it
// (include/uapi/pmukit/imc.h). AUX data has no sequence numbers and loss counts, so they are
// counted here.
#include <map>

#include "base/saturate.hpp"
#include "cli/drivers/imc/handlers.hpp"
#include "cli/drivers/imc/mode.hpp"
#include "decode/imc/imc_decode.hpp"
#include "session/stream_map.hpp"

namespace pmukit::cli {
namespace {

namespace imc = decode::imc;

// Sequence number and loss count of the samples of one kernel event.
struct Numbers {
    uint64_t sequence = 0, lost = 0;
};

class InjectedStream final : public imc::Sink {
public:
    InjectedStream(RawSink &sink, const Stream &stream, imc::ModeRule rule, Numbers &numbers)
        : sink_(sink), stream_(stream), rule_(rule), numbers_(numbers), decoder_(*this)
    {
    }
    InjectedStream(const InjectedStream &) = delete;
    InjectedStream &operator=(const InjectedStream &) = delete;

    imc::StreamDecoder &decoder() { return decoder_; }

    void records(uint64_t offset, imc::Records records) override
    {
        for (size_t i = 0; i < records.size(); i++) {
            const imc::Record record = records[i];
            sink_.sample(stream_,
                         {record.ip, misc_of_imc_mode(mode_of(record, rule_)),
                          offset + i * imc::kRecordBytes, record.timebase},
                         payload(records.bytes(i)));
        }
    }
    void skipped(uint64_t, uint64_t bytes) override { sink_.skipped(bytes); }
    void lost(uint64_t bytes)
    {
        decoder_.loss(bytes);
        add_to(numbers_.lost, bytes / imc::kRecordBytes);
    }

private:
    Bytes payload(Bytes record)
    {
        raw_.assign(sizeof(pmukit_raw_header) + 2 * sizeof(uint64_t), std::byte{0});
        store_le<uint32_t>(raw_.data() + offsetof(pmukit_raw_header, tag), PMUKIT_RAW_TAG_IMC);
        std::byte *words = raw_.data() + sizeof(pmukit_raw_header);
        store_le(words + PMUKIT_IMC_W_SEQUENCE * sizeof(uint64_t), numbers_.sequence++);
        store_le(words + PMUKIT_IMC_W_LOST * sizeof(uint64_t), numbers_.lost);
        append(raw_, record);
        return raw_;
    }

    RawSink &sink_;
    Stream stream_;
    imc::ModeRule rule_;
    Numbers &numbers_;
    imc::StreamDecoder decoder_;
    std::vector<std::byte> raw_;
};

class ImcInject final : public DriverInject {
public:
    ImcInject(const Recording &recording, RawSink &sink) : recording_(recording), sink_(sink) {}

    void aux_begin(const Stream &stream, uint64_t offset, uint64_t, uint64_t size) override
    {
        streams_.begin_at(stream, offset, sink_, stream, imc_mode_rule(recording_.reader()),
                          numbers_[as_opened(stream)]);
        left_ = size;
    }
    void aux(const Stream &stream, Bytes data) override
    {
        imc::StreamDecoder &decoder = streams_.at(stream).decoder();
        decoder.data(data);
        left_ -= data.size();
        if (left_ == 0)  // write the samples of this piece before later data
            decoder.settle();
    }
    void aux_loss(const Stream &stream, uint64_t, uint64_t bytes) override
    {
        if (InjectedStream *samples = streams_.find(stream))
            samples->lost(bytes);
    }
    void aux_said(const Stream &stream, const perfdata::AuxRecord &aux,
                  const perfdata::SampleId &sample_id) override
    {
        sink_.aux_said(stream, aux, sample_id);
    }
    void finish() override { streams_.end(); }

private:
    // An event with several ids is one kernel event per CPU or per thread.
    Stream as_opened(const Stream &stream) const
    {
        const auto &events = recording_.reader().events();
        const bool one = stream.event < events.size() && events[stream.event].ids.size() == 1;
        return one ? Stream{stream.event, UINT32_MAX} : stream;
    }

    const Recording &recording_;
    RawSink &sink_;
    uint64_t left_ = 0;  // bytes of the current piece that have not arrived
    std::map<Stream, Numbers> numbers_;
    StreamMap<InjectedStream> streams_;
};

}  // namespace

std::unique_ptr<DriverInject> make_imc_inject(const Recording &recording, RawSink &sink)
{
    return std::make_unique<ImcInject>(recording, sink);
}

}  // namespace pmukit::cli
