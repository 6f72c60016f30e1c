// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Records of cache_qos_aux, one a line: where it is in its piece of data, time, number, who and
// what, the value, and what it is to be taken with. Of a header what holds for the readings behind
// it.
#include <map>

#include "cli/unit_handlers.hpp"
#include "decode/cache_qos/cache_qos_decode.hpp"

namespace pmukit::cli {
namespace {

namespace cache_qos = decode::cache_qos;

std::string words_of_status(uint32_t status)
{
    std::string words;
    for (; status; status &= status - 1)
        words += fmt::format(" {}", cache_qos::status_name(status));
    return words;
}

std::string text_of(const cache_qos::Header &header)
{
    return fmt::format(
        "header {} L3 {} of {} bytes, registers {}, unit {}, {} RMIDs, counters of "
        "{} bits, {} records lost so far\n",
        header.sequence, header.domain, header.cache_bytes, cache_qos::backend_name(header.backend),
        header.scale, header.rmids, header.width, header.lost);
}

std::string text_of(const cache_qos::Reading &reading)
{
    return fmt::format(
        "{}.{:09} {} {} {} L3 {} {} {} bytes raw {} bound {} age {} generation {}{}\n",
        reading.time_ns / 1'000'000'000, reading.time_ns % 1'000'000'000, reading.sequence,
        cache_qos::kind_name(reading.kind), reading.monitor, reading.domain,
        cache_qos::event_name(reading.event), reading.bytes, reading.raw, reading.bound,
        reading.age_ns, reading.generation, words_of_status(reading.status));
}

// Prints the records of one stream. Offsets are those in the stream.
class StreamText final : public cache_qos::Sink {
public:
    explicit StreamText(Output &out) : out_(out), decoder_(*this) {}
    StreamText(const StreamText &) = delete;
    StreamText &operator=(const StreamText &) = delete;

    cache_qos::StreamDecoder &decoder() { return decoder_; }
    uint64_t skipped_bytes() const { return skipped_bytes_; }

    void header(uint64_t offset, const cache_qos::Header &header) override
    {
        out_.print("{:#010x} {}", offset, text_of(header));
    }
    void reading(uint64_t offset, const cache_qos::Reading &reading) override
    {
        out_.print("{:#010x} {}", offset, text_of(reading));
    }
    void skipped(uint64_t offset, uint64_t bytes) override
    {
        skipped_bytes_ += bytes;
        out_.print("# skipped {} bytes at {:#x}: no record\n", bytes, offset);
    }

private:
    Output &out_;
    uint64_t skipped_bytes_ = 0;
    cache_qos::StreamDecoder decoder_;
};

class CacheQosDump final : public UnitDump {
public:
    CacheQosDump(const Recording &recording, Output &out) : recording_(recording), out_(out) {}

    void aux_begin(const Stream &stream, uint64_t offset, uint64_t file_offset,
                   uint64_t size) override
    {
        print_piece(recording_, stream, fmt::format("AUX offset {:#x}, ", offset), file_offset,
                    out_);
        out_.print(". ... cache_qos snapshots: size {} bytes\n", size);
        auto [at, fresh] = streams_.try_emplace(stream, out_);
        if (fresh)
            at->second.decoder().start(offset);
    }
    void aux(const Stream &stream, Bytes data) override
    {
        streams_.at(stream).decoder().data(data);
    }
    void aux_loss(const Stream &stream, uint64_t offset, uint64_t bytes) override
    {
        print_loss(recording_, stream, offset, bytes, out_);
        if (auto at = streams_.find(stream); at != streams_.end())
            at->second.decoder().loss(bytes);
    }
    void sample(const Stream &stream, uint64_t file_offset, Bytes words) override
    {
        print_piece(recording_, stream, "sample, ", file_offset, out_);
        const auto record = cache_qos::parse_record(words);
        if (record) {
            out_.print("{:>10} {}", "",
                       std::visit([](const auto &one) { return text_of(one); }, *record));
            return;
        }
        skipped_bytes_ += words.size();
        out_.print("# skipped {} bytes of payload: no record\n", words.size());
    }
    uint64_t finish() override
    {
        uint64_t skipped = skipped_bytes_;
        for (auto &[stream, text] : streams_) {
            text.decoder().end();
            skipped += text.skipped_bytes();
        }
        return skipped;
    }

private:
    const Recording &recording_;
    Output &out_;
    uint64_t skipped_bytes_ = 0;
    std::map<Stream, StreamText> streams_;
};

}  // namespace

std::unique_ptr<UnitDump> make_cache_qos_dump(const Recording &recording, const DumpOptions &,
                                              Output &out)
{
    return std::make_unique<CacheQosDump>(recording, out);
}

}  // namespace pmukit::cli
