// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Records of cache_qos_aux, one per line: AUX offset, time, sequence number, monitor, L3, event,
// value and its qualifiers. A header is one line, with the properties of the readings that follow.
#include <map>

#include "cli/drivers/cache_qos/handlers.hpp"
#include "cli/dump_stream.hpp"
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
        "{} bits, {} records lost so far",
        header.sequence, header.domain, header.cache_bytes, cache_qos::backend_name(header.backend),
        header.scale, header.rmids, header.width, header.lost);
}

std::string text_of(const cache_qos::Reading &reading)
{
    return fmt::format("{}.{:09} {} {} {} L3 {} {} {} bytes raw {} bound {} age {} generation {}{}",
                       reading.time_ns / 1'000'000'000, reading.time_ns % 1'000'000'000,
                       reading.sequence, cache_qos::kind_name(reading.kind), reading.monitor,
                       reading.domain, cache_qos::event_name(reading.event), reading.bytes,
                       reading.raw, reading.bound, reading.age_ns, reading.generation,
                       words_of_status(reading.status));
}

std::string text_of(const cache_qos::NamePart &name)
{
    return fmt::format("name {} of {} {} L3 {}, life {}, id {}, part {} of {}: {}", name.sequence,
                       cache_qos::kind_name(name.kind), name.monitor, name.domain, name.life,
                       name.id, name.part + 1, name.parts, name.text);
}

// Prints the records of one stream. Offsets count from the beginning of the stream.
class StreamText final : public cache_qos::Sink {
public:
    StreamText(const DumpTo &to, const Stream &) : out_(to.out), decoder_(*this) {}
    StreamText(const StreamText &) = delete;
    StreamText &operator=(const StreamText &) = delete;

    cache_qos::StreamDecoder &decoder() { return decoder_; }
    uint64_t skipped_bytes() const { return skipped_bytes_; }

    void header(uint64_t offset, const cache_qos::Header &header) override
    {
        out_.print("{:#010x} {}\n", offset, text_of(header));
    }
    void reading(uint64_t offset, const cache_qos::Reading &reading) override
    {
        out_.print("{:#010x} {}\n", offset, text_of(reading));
    }
    void name(uint64_t offset, const cache_qos::NamePart &part) override
    {
        out_.print("{:#010x} {}\n", offset, text_of(part));
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

class CacheQosDump final : public StreamDump<StreamText> {
public:
    CacheQosDump(const Recording &recording, Output &out)
        : StreamDump({recording, out}, "cache_qos snapshots")
    {
    }

    void sample(const Stream &stream, uint64_t file_offset, Bytes words) override
    {
        Output &out = to().out;
        print_piece(to().recording, stream, "sample, ", file_offset, out);
        const auto record = cache_qos::parse_record(words);
        if (!record)
            return skip_payload(words.size());
        out.print("{:>10} {}\n", "",
                  std::visit([](const auto &one) { return text_of(one); }, *record));
    }
};

}  // namespace

std::unique_ptr<DriverDump> make_cache_qos_dump(const Recording &recording, const DumpOptions &,
                                                Output &out)
{
    return std::make_unique<CacheQosDump>(recording, out);
}

}  // namespace pmukit::cli
