// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Converts records of a CXL hotness monitoring unit to samples, each with one record
// (include/uapi/pmukit/cxl_hmu.h).
#include "cli/drivers/cxl_hmu/handlers.hpp"
#include "cli/stream_inject.hpp"
#include "decode/cxl_hmu/cxl_hmu_decode.hpp"

namespace pmukit::cli {
namespace {

namespace hmu = decode::cxl_hmu;

class StreamSamples final : public hmu::Sink {
public:
    StreamSamples(RawSink &sink, const Stream &stream)
        : sink_(sink), stream_(stream), decoder_(*this)
    {
    }
    StreamSamples(const StreamSamples &) = delete;
    StreamSamples &operator=(const StreamSamples &) = delete;

    hmu::StreamDecoder &decoder() { return decoder_; }

    void record(const hmu::Record &record) override
    {
        raw_.assign(sizeof(pmukit_raw_header), std::byte{0});
        store_le<uint32_t>(raw_.data() + offsetof(pmukit_raw_header, tag), PMUKIT_RAW_TAG_CXL_HMU);
        put(record.word0);
        put(hmu::kMark);
        for (const hmu::Words &words : {record.extra, record.entries})
            for (size_t i = 0; i < words.size(); i++)
                put(words[i]);
        sink_.raw(stream_, record.offset, raw_);
    }
    void skipped(uint64_t, uint64_t bytes) override { sink_.skipped(bytes); }

private:
    void put(uint64_t word)
    {
        raw_.resize(raw_.size() + sizeof word);
        store_le(raw_.data() + raw_.size() - sizeof word, word);
    }

    RawSink &sink_;
    Stream stream_;
    hmu::StreamDecoder decoder_;
    std::vector<std::byte> raw_;
};

}  // namespace

std::unique_ptr<DriverInject> make_cxl_hmu_inject(const Recording &, RawSink &sink)
{
    return std::make_unique<StreamInject<StreamSamples>>(sink);
}

}  // namespace pmukit::cli
