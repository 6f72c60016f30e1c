// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Readings of cache_qos_aux, one row each, with the properties from the last header of their L3.
#include <variant>

#include "cli/drivers/cache_qos/handlers.hpp"
#include "cli/drivers/cache_qos/missing.hpp"
#include "cli/export/stream.hpp"
#include "decode/cache_qos/cache_qos_decode.hpp"

namespace pmukit::cli {
namespace {

namespace cache_qos = decode::cache_qos;
using exporter::Value;

constexpr std::string_view kUnit = "cache_qos";

class StreamRows final : public cache_qos::Sink {
public:
    StreamRows(RowsOut &out, const Stream &stream)
        : out_(out), stream_(stream), numbers_(false, out.recording().continues()), decoder_(*this)
    {
    }
    StreamRows(const StreamRows &) = delete;
    StreamRows &operator=(const StreamRows &) = delete;

    cache_qos::StreamDecoder &decoder() { return decoder_; }
    uint64_t skipped_bytes() const { return skipped_bytes_; }

    void header(uint64_t offset, const cache_qos::Header &header) override
    {
        if (!numbers_.note(header.sequence, header.lost))
            return;
        tell_losses(offset, std::nullopt);
        missing_.header(header);
        headers_[header.domain] = header;
    }
    void reading(uint64_t offset, const cache_qos::Reading &reading) override;
    void name(uint64_t offset, const cache_qos::NamePart &part) override
    {
        if (!numbers_.note(part.sequence, std::nullopt))
            return;
        tell_losses(offset, std::nullopt);
        tell_missing(missing_.name(part), offset, last_ns_);
        names_.note(part);
    }
    void skipped(uint64_t offset, uint64_t bytes) override
    {
        skipped_bytes_ += bytes;
        out_.lose(stream_, {kUnit, "skipped", "bytes", bytes, offset});
    }

private:
    void tell_losses(uint64_t offset, std::optional<uint64_t> time_ns)
    {
        if (numbers_.missing())
            out_.lose(stream_, {kUnit, "missing", "records", numbers_.missing(), offset, time_ns});
        if (numbers_.lost())
            out_.lose(stream_, {kUnit, "driver-lost", "records", numbers_.lost(), offset, time_ns});
    }

    void tell_missing(std::optional<Missing> what, uint64_t offset, std::optional<uint64_t> time_ns)
    {
        if (!what)
            return;
        const MissingWords &words = kMissing[static_cast<size_t>(*what)];
        out_.lose(stream_,
                  {kUnit, words.kind, "readings",
                   words.is_counted ? std::optional<uint64_t>(1) : std::nullopt, offset, time_ns});
    }

    RowsOut &out_;
    Stream stream_;
    const exporter::Table &table_ = *exporter::find_table(kUnit);
    Numbers numbers_;
    std::map<uint16_t, cache_qos::Header> headers_;  // newest header, by L3
    cache_qos::Names names_;
    MissingValues missing_;
    std::optional<uint64_t> last_ns_;  // time of the last reading: names have no time
    uint64_t skipped_bytes_ = 0;
    cache_qos::StreamDecoder decoder_;
};

void StreamRows::reading(uint64_t offset, const cache_qos::Reading &reading)
{
    if (!numbers_.note(reading.sequence, std::nullopt))
        return;
    tell_losses(offset, reading.time_ns);
    tell_missing(missing_.reading(reading), offset, reading.time_ns);
    last_ns_ = reading.time_ns;
    const auto header = headers_.find(reading.domain);
    const bool known = header != headers_.end();
    const cache_qos::Name *name = names_.find(reading.monitor, reading.domain);
    const bool named = name && name->kind == reading.kind;
    const bool has_bound = reading.event == PMUKIT_CACHE_QOS_EVENT_OCCUPANCY &&
                           !(known && header->second.backend == PMUKIT_CACHE_QOS_BACKEND_RESCTRL);
    std::array<Value, exporter::kOriginColumns> common;
    out_.origin(stream_, reading.time_ns, common.data());
    const Value rest[] = {
        reading.sequence,
        cache_qos::kind_name(reading.kind),
        uint64_t{reading.monitor},
        uint64_t{reading.domain},
        cache_qos::event_name(reading.event),
        cache_qos::has_value(reading) ? Value(reading.bytes) : Value(),
        cache_qos::has_value(reading) ? Value(reading.raw) : Value(),
        has_bound ? Value(reading.bound) : Value(),
        reading.age_ns,
        uint64_t{reading.generation},
        uint64_t{reading.status},
        known ? Value(header->second.cache_bytes) : Value(),
        known ? Value(cache_qos::backend_name(header->second.backend)) : Value(),
        named ? Value(std::string_view(name->text)) : Value(),
        named && name->id ? Value(name->id) : Value(),
        named ? Value(uint64_t{name->life}) : Value(),
    };
    out_.rows(table_, common, rest);
}

class CacheQosExport final : public StreamExport<StreamRows> {
public:
    using StreamExport::StreamExport;

    void sample(const Stream &stream, uint64_t, Bytes words) override;
};

void CacheQosExport::sample(const Stream &stream, uint64_t, Bytes words)
{
    StreamRows &rows = samples_of(stream);
    const std::optional<cache_qos::Record> record = cache_qos::parse_record(words);
    if (!record)
        rows.skipped(0, words.size());
    else if (const auto *header = std::get_if<cache_qos::Header>(&*record))
        rows.header(0, *header);
    else if (const auto *part = std::get_if<cache_qos::NamePart>(&*record))
        rows.name(0, *part);
    else
        rows.reading(0, std::get<cache_qos::Reading>(*record));
}

}  // namespace

std::unique_ptr<DriverExport> make_cache_qos_export(RowsOut &out)
{
    return std::make_unique<CacheQosExport>(out);
}

}  // namespace pmukit::cli
