// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Converts the snapshots in the AUX data of cache_qos_aux to samples. A sample has one record: a
// header, a reading or a part of a name (include/uapi/pmukit/cache_qos.h).
#include <array>

#include "cli/drivers/cache_qos/handlers.hpp"
#include "cli/stream_inject.hpp"
#include "decode/cache_qos/cache_qos_decode.hpp"

namespace pmukit::cli {
namespace {

namespace cache_qos = decode::cache_qos;

using Words = std::array<uint64_t, PMUKIT_CACHE_QOS_WORDS>;

constexpr uint64_t at_bit(uint64_t value, unsigned shift)
{
    return value << shift;
}

Words words_of(const cache_qos::Header &header)
{
    Words words{};
    words[PMUKIT_CACHE_QOS_H_MARK] = PMUKIT_CACHE_QOS_MARK;
    words[PMUKIT_CACHE_QOS_H_SEQUENCE] = header.sequence;
    words[PMUKIT_CACHE_QOS_H_FORMAT] =
        at_bit(PMUKIT_CACHE_QOS_VERSION, PMUKIT_CACHE_QOS_FORMAT_VERSION_SHIFT) |
        at_bit(cache_qos::kRecordBytes, PMUKIT_CACHE_QOS_FORMAT_BYTES_SHIFT) |
        at_bit(header.domain, PMUKIT_CACHE_QOS_FORMAT_DOMAIN_SHIFT) |
        at_bit(header.backend, PMUKIT_CACHE_QOS_FORMAT_BACKEND_SHIFT);
    words[PMUKIT_CACHE_QOS_H_SCALE] = header.scale;
    words[PMUKIT_CACHE_QOS_H_START] = header.start_ns;
    words[PMUKIT_CACHE_QOS_H_HARDWARE] =
        at_bit(header.rmids, PMUKIT_CACHE_QOS_HARDWARE_RMIDS_SHIFT) |
        at_bit(header.width, PMUKIT_CACHE_QOS_HARDWARE_WIDTH_SHIFT);
    words[PMUKIT_CACHE_QOS_H_CACHE_BYTES] = header.cache_bytes;
    words[PMUKIT_CACHE_QOS_H_LOST] = header.lost;
    return words;
}

Words words_of(const cache_qos::Reading &reading)
{
    Words words{};
    words[PMUKIT_CACHE_QOS_R_TIME] = reading.time_ns;
    words[PMUKIT_CACHE_QOS_R_SEQUENCE] = reading.sequence;
    words[PMUKIT_CACHE_QOS_R_WHAT] = at_bit(reading.monitor, PMUKIT_CACHE_QOS_WHAT_MONITOR_SHIFT) |
                                     at_bit(reading.domain, PMUKIT_CACHE_QOS_WHAT_DOMAIN_SHIFT) |
                                     at_bit(reading.event, PMUKIT_CACHE_QOS_WHAT_EVENT_SHIFT) |
                                     at_bit(reading.kind, PMUKIT_CACHE_QOS_WHAT_KIND_SHIFT);
    words[PMUKIT_CACHE_QOS_R_STATE] =
        at_bit(reading.generation, PMUKIT_CACHE_QOS_STATE_GENERATION_SHIFT) |
        at_bit(reading.status, PMUKIT_CACHE_QOS_STATE_STATUS_SHIFT);
    words[PMUKIT_CACHE_QOS_R_RAW] = reading.raw;
    words[PMUKIT_CACHE_QOS_R_BYTES] = reading.bytes;
    words[PMUKIT_CACHE_QOS_R_BOUND] = reading.bound;
    words[PMUKIT_CACHE_QOS_R_AGE] = reading.age_ns;
    return words;
}

Words words_of(const cache_qos::NamePart &name)
{
    Words words{};
    words[PMUKIT_CACHE_QOS_N_MARK] = PMUKIT_CACHE_QOS_NAME_MARK;
    words[PMUKIT_CACHE_QOS_N_SEQUENCE] = name.sequence;
    words[PMUKIT_CACHE_QOS_N_WHAT] = at_bit(name.monitor, PMUKIT_CACHE_QOS_WHAT_MONITOR_SHIFT) |
                                     at_bit(name.domain, PMUKIT_CACHE_QOS_WHAT_DOMAIN_SHIFT) |
                                     at_bit(name.kind, PMUKIT_CACHE_QOS_WHAT_KIND_SHIFT);
    words[PMUKIT_CACHE_QOS_N_ID] = name.id;
    words[PMUKIT_CACHE_QOS_N_LIFE] = at_bit(name.life, PMUKIT_CACHE_QOS_LIFE_NUMBER_SHIFT) |
                                     at_bit(name.part, PMUKIT_CACHE_QOS_LIFE_PART_SHIFT) |
                                     at_bit(name.parts, PMUKIT_CACHE_QOS_LIFE_PARTS_SHIFT);
    for (size_t i = 0; i < name.text.size(); i++)
        words[PMUKIT_CACHE_QOS_N_TEXT + i / 8] |=
            at_bit(static_cast<uint8_t>(name.text[i]), static_cast<unsigned>(i % 8 * 8));
    return words;
}

class StreamSamples final : public cache_qos::Sink {
public:
    StreamSamples(RawSink &sink, const Stream &stream)
        : sink_(sink), stream_(stream), decoder_(*this)
    {
    }
    StreamSamples(const StreamSamples &) = delete;
    StreamSamples &operator=(const StreamSamples &) = delete;

    cache_qos::StreamDecoder &decoder() { return decoder_; }

    void header(uint64_t offset, const cache_qos::Header &header) override
    {
        give(offset, words_of(header));
    }
    void reading(uint64_t offset, const cache_qos::Reading &reading) override
    {
        give(offset, words_of(reading));
    }
    void name(uint64_t offset, const cache_qos::NamePart &part) override
    {
        give(offset, words_of(part));
    }
    void skipped(uint64_t, uint64_t bytes) override { sink_.skipped(bytes); }

private:
    void give(uint64_t offset, const Words &words)
    {
        std::array<std::byte, sizeof(pmukit_raw_header) + sizeof words> raw{};
        store_le<uint32_t>(raw.data() + offsetof(pmukit_raw_header, tag), PMUKIT_RAW_TAG_CACHE_QOS);
        for (size_t i = 0; i < words.size(); i++)
            store_le(raw.data() + sizeof(pmukit_raw_header) + i * sizeof(uint64_t), words[i]);
        sink_.raw(stream_, offset, raw);
    }

    RawSink &sink_;
    Stream stream_;
    cache_qos::StreamDecoder decoder_;
};

}  // namespace

std::unique_ptr<DriverInject> make_cache_qos_inject(const Recording &, RawSink &sink)
{
    return std::make_unique<StreamInject<StreamSamples>>(sink);
}

}  // namespace pmukit::cli
