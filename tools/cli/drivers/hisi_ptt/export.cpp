// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Entries of a PCIe trace, one row each.
#include <array>
#include <cstring>

#include "cli/drivers/hisi_ptt/handlers.hpp"
#include "cli/drivers/hisi_ptt/layout.hpp"
#include "cli/export/driver_export.hpp"
#include "decode/hisi_ptt/hisi_ptt_decode.hpp"
#include "decode/hisi_ptt/hisi_ptt_record.hpp"
#include "session/stream_map.hpp"

namespace pmukit::cli {
namespace {

namespace ptt = decode::hisi_ptt;
using exporter::Value;

constexpr std::string_view kUnit = "hisi_ptt";

struct FlagLoss {
    uint64_t flag;
    std::string_view kind;
};
constexpr FlagLoss kFlagLosses[] = {
    {PMUKIT_HISI_PTT_F_OVERRUN, "device-overflow"},
    {PMUKIT_HISI_PTT_F_RESET, "device-reset"},
    {PMUKIT_HISI_PTT_F_FILTER_GONE, "device-gone"},
};

// A run is a sequence of entries without a gap. These fields differ between the rows of a run. In a
// row, they follow the fields that are the same in all rows of the run.
enum Field : size_t {
    kOffset,
    kTicks,
    kType,
    kRequester,
    kTag,
    kLength,
    kBytes,
    kAddress,
    kTarget,
    kCompleter,
    kStatus,
    kByteCount,
    kMessageCode,
    kTrafficClass,
    kPasid,
    kEach
};

void put_shape(const ptt::Tlp &tlp, Value *to)
{
    switch (tlp.kind.shape) {
        case ptt::TlpShape::kConfig:
            to[kTarget] = uint64_t{tlp.target};
            [[fallthrough]];
        case ptt::TlpShape::kMemory:
        case ptt::TlpShape::kIo:
            to[kAddress] = tlp.address;
            break;
        case ptt::TlpShape::kMessage:
            to[kMessageCode] = uint64_t{tlp.message_code};
            break;
        case ptt::TlpShape::kCompletion:
            to[kCompleter] = uint64_t{tlp.completer};
            to[kStatus] = uint64_t{tlp.status};
            to[kByteCount] = uint64_t{tlp.byte_count};
            break;
        case ptt::TlpShape::kUnknown:
            break;
    }
}

void put_packet(const ptt::Packet &packet, Value *to)
{
    const ptt::Tlp tlp = parse_tlp(packet);
    static constexpr std::array<Value, kEach> kNothing{};
    std::memcpy(to, kNothing.data(), sizeof kNothing);
    to[kOffset] = packet.offset;
    to[kTicks] = packet.time;
    to[kType] = ptt::name_of(tlp.kind.type);
    if (tlp.kind.shape == ptt::TlpShape::kUnknown)
        return;
    to[kRequester] = uint64_t{tlp.requester};
    to[kTag] = uint64_t{tlp.tag};
    to[kLength] = uint64_t{tlp.length_dw};
    to[kBytes] = uint64_t{tlp.kind.data ? ptt::data_bytes(tlp) : ptt::requested_bytes(tlp)};
    to[kTrafficClass] = uint64_t{tlp.traffic_class};
    if (tlp.pasid)
        to[kPasid] = uint64_t{tlp.pasid->pasid};
    put_shape(tlp, to);
}

class StreamRows final : public ptt::RunSink {
public:
    // All streams share the buffer `rest`, because there may be many streams.
    StreamRows(RowsOut &out, const Stream &stream, std::vector<Value> &rest)
        : out_(out),
          stream_(stream),
          numbers_(true, out.recording().continues()),
          at_least_(out.recording().continues()),
          rest_(rest),
          layout_(layout_of(stream)),
          framer_(*this, layout_.format)
    {
    }
    StreamRows(const StreamRows &) = delete;
    StreamRows &operator=(const StreamRows &) = delete;

    ptt::Framer &decoder() { return framer_; }
    uint64_t skipped_bytes() const { return skipped_bytes_; }

    void run(ptt::Format format, uint64_t offset, Bytes packets) override
    {
        const AuxThreads::Range *range = out_.announced(stream_, offset);
        put_run(format, offset, packets, range ? range->sample_id.time_ns : std::nullopt);
    }
    void record(const ptt::Record &record);
    void skipped(uint64_t offset, uint64_t bytes) override
    {
        skipped_bytes_ += bytes;
        out_.lose(stream_, {kUnit, "skipped", "bytes", bytes, offset});
    }
    void lost(uint64_t, uint64_t) override {}  // export.cpp reports losses of AUX data

private:
    void put_run(ptt::Format format, uint64_t offset, Bytes packets,
                 std::optional<uint64_t> time_ns);
    void tell_losses(const ptt::Record &record);

    RowsOut &out_;
    Stream stream_;
    const exporter::Table &table_ = *exporter::find_table(kUnit);
    Numbers numbers_;
    bool at_least_ = false;  // flag F_AT_LEAST of the last record
    ptt::Clock clock_;
    uint64_t entries_offset_ = 0;  // offset of the entries in samples
    uint64_t skipped_bytes_ = 0;
    std::vector<Value> &rest_;
    ptt::Layout layout_;
    ptt::Framer framer_;
};

void StreamRows::put_run(ptt::Format format, uint64_t offset, Bytes packets,
                         std::optional<uint64_t> time_ns)
{
    const size_t size = packet_bytes(format), count = packets.size() / size;
    std::array<Value, exporter::kOriginColumns + 1> common;
    out_.origin(stream_, time_ns, common.data());
    common.back() = std::string_view(format == ptt::Format::k8dw ? "8dw" : "4dw");
    rest_.resize(count * kEach);
    for (size_t i = 0; i < count; i++)
        put_packet(ptt::unpack({format, layout_.wide_tags}, offset + i * size,
                               packets.data() + i * size, clock_),
                   rest_.data() + i * kEach);
    out_.rows(table_, common, rest_);
}

void StreamRows::tell_losses(const ptt::Record &record)
{
    const bool at_least = (record.flags & PMUKIT_HISI_PTT_F_AT_LEAST) != 0;
    const auto lose = [&](std::string_view kind, std::string_view measure,
                          std::optional<uint64_t> amount, bool is_bound = false) {
        out_.lose(stream_,
                  {kUnit, kind, measure, amount, entries_offset_, record.time_ns, is_bound});
    };
    if (numbers_.missing())
        lose("missing", "records", numbers_.missing());
    if (numbers_.lost() || (at_least && !at_least_))
        lose("entries-lost", "entries", numbers_.lost(), at_least);
    at_least_ = at_least;
    for (const FlagLoss &row : kFlagLosses)
        if (record.flags & row.flag)
            lose(row.kind, {}, {});
}

void StreamRows::record(const ptt::Record &record)
{
    if (!numbers_.note(record.sequence, record.lost))
        return;
    tell_losses(record);
    put_run(record.format, entries_offset_, record.entries, record.time_ns);
    entries_offset_ += record.entries.size();
}

class HisiPttExport final : public DriverExport {
public:
    explicit HisiPttExport(RowsOut &out) : out_(out) {}

    void aux_begin(const Stream &stream, uint64_t offset, uint64_t, uint64_t) override
    {
        streams_.begin_at(stream, offset, out_, stream, rest_);
    }
    void aux(const Stream &stream, Bytes data) override { streams_.data(stream, data); }
    void aux_entries(const Stream &stream, std::optional<uint64_t> base) override
    {
        streams_.at(stream).decoder().align(base);
    }
    void aux_loss(const Stream &stream, uint64_t, uint64_t bytes) override
    {
        streams_.loss(stream, bytes);
    }
    void entries_lost(const Stream &stream, const perfdata::LostEntries &lost) override
    {
        Loss loss{kUnit, "entries-lost", "entries", lost.count()};
        loss.at_least = lost.at_least();
        out_.lose(stream, loss);
    }
    void sample(const Stream &stream, uint64_t, Bytes words) override;
    uint64_t finish() override
    {
        uint64_t skipped = skipped_bytes_;
        streams_.end();
        for (const auto &[stream, rows] : streams_.all())
            skipped += rows.skipped_bytes();
        return skipped;
    }

private:
    RowsOut &out_;
    uint64_t skipped_bytes_ = 0;
    std::vector<Value> rest_;  // shared buffer for the fields of a run's rows
    StreamMap<StreamRows> streams_, samples_;
};

void HisiPttExport::sample(const Stream &stream, uint64_t, Bytes words)
{
    if (const std::optional<ptt::Record> record = ptt::parse_record(words)) {
        samples_.of(stream, out_, stream, rest_).record(*record);
        return;
    }
    skipped_bytes_ += words.size();
    out_.lose(stream, {kUnit, "skipped", "bytes", words.size()});
}

}  // namespace

std::unique_ptr<DriverExport> make_hisi_ptt_export(RowsOut &out)
{
    return std::make_unique<HisiPttExport>(out);
}

}  // namespace pmukit::cli
