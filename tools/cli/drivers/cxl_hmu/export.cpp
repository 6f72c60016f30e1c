// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Entries of hot lists, one row each.
#include <algorithm>

#include "cli/drivers/cxl_hmu/handlers.hpp"
#include "cli/drivers/cxl_hmu/hot_lists.hpp"
#include "cli/export/stream.hpp"
#include "decode/cxl_hmu/cxl_hmu_decode.hpp"

namespace pmukit::cli {
namespace {

namespace hmu = decode::cxl_hmu;
using exporter::Value;

constexpr std::string_view kUnit = "cxl_hmu";

struct FlagLoss {
    uint64_t flag;
    std::string_view kind;
};
constexpr FlagLoss kFlagLosses[] = {
    {PMUKIT_CXL_HMU_F_OVERFLOW, "device-overflow"},
    {PMUKIT_CXL_HMU_F_RESET, "device-reset"},
};

class StreamRows final : public hmu::Sink {
public:
    StreamRows(RowsOut &out, const Stream &stream)
        : out_(out),
          stream_(stream),
          numbers_(true, out.recording().continues()),
          asked_unit_log2_(asked_unit_log2(out.recording(), stream.event)),
          decoder_(*this)
    {
    }
    StreamRows(const StreamRows &) = delete;
    StreamRows &operator=(const StreamRows &) = delete;

    hmu::StreamDecoder &decoder() { return decoder_; }
    uint64_t skipped_bytes() const { return skipped_bytes_; }
    // Decodes the words of a sample, which holds only complete records.
    void words(Bytes words)
    {
        decoder_.start(0);
        decoder_.data(words);
        decoder_.end();
    }

    void record(const hmu::Record &record) override;
    void skipped(uint64_t offset, uint64_t bytes) override
    {
        skipped_bytes_ += bytes;
        out_.lose(stream_, {kUnit, "skipped", "bytes", bytes, offset});
    }

private:
    static constexpr size_t kEach = 4;  // fields that differ between entries of a record

    std::optional<unsigned> unit_log2(const hmu::Record &record) const
    {
        return record.unit_log2 ? record.unit_log2 : asked_unit_log2_;
    }
    void tell_losses(const hmu::Record &record);
    void put_entries(const hmu::Record &record, std::optional<uint64_t> factor);

    RowsOut &out_;
    Stream stream_;
    const exporter::Table &table_ = *exporter::find_table(kUnit);
    Numbers numbers_;
    std::optional<unsigned> asked_unit_log2_;  // for records without a unit size
    uint64_t skipped_bytes_ = 0;
    std::vector<Value> rest_;
    hmu::StreamDecoder decoder_;
};

void StreamRows::tell_losses(const hmu::Record &record)
{
    const auto lose = [&](std::string_view kind, std::string_view measure,
                          std::optional<uint64_t> amount) {
        out_.lose(stream_, {kUnit, kind, measure, amount, record.offset, record.time_ns});
    };
    if (numbers_.missing())
        lose("missing", "records", numbers_.missing());
    if (numbers_.lost())
        lose("driver-lost", "entries", numbers_.lost());
    for (const FlagLoss &row : kFlagLosses)
        if (record.flags & row.flag)
            lose(row.kind, {}, {});
}

// `factor` is the number of accesses per count; nullopt if the counts are not valid.
void StreamRows::put_entries(const hmu::Record &record, std::optional<uint64_t> factor)
{
    const uint64_t most = factor ? UINT64_MAX / *factor : 0;
    const unsigned log2 = unit_log2(record).value_or(64);
    rest_.resize(record.entries.size() * kEach);
    Value *to = rest_.data();
    for (size_t i = 0; i < record.entries.size(); i++) {
        const uint64_t unit = record.unit_of(record.entries[i]);
        const uint64_t count = record.count_of(record.entries[i]);
        *to++ = unit;
        *to++ = log2 < 64 && unit <= UINT64_MAX >> log2 ? Value(unit << log2) : Value();
        *to++ = count;
        *to++ = factor ? Value(count > most ? UINT64_MAX : count * *factor) : Value();
    }
}

void StreamRows::record(const hmu::Record &record)
{
    if (!numbers_.note(record.sequence, record.lost))
        return;
    tell_losses(record);
    const std::optional<uint64_t> downsampling = record.downsampling_log2
                                                     ? known_power(record.downsampling_log2)
                                                     : std::optional<uint64_t>(1);
    std::array<Value, exporter::kOriginColumns + 4> common;
    out_.origin(stream_, record.time_ns, common.data());
    Value *own = common.data() + exporter::kOriginColumns;
    *own++ = value_of(record.sequence);
    *own++ = value_of(known_power(unit_log2(record)));
    *own++ = value_of(downsampling);
    *own++ = record.flags;
    put_entries(record, record.flags & PMUKIT_CXL_HMU_F_ALWAYS_ON ? std::nullopt : downsampling);
    out_.rows(table_, common, rest_);
}

class CxlHmuExport final : public StreamExport<StreamRows> {
public:
    using StreamExport::StreamExport;

    void sample(const Stream &stream, uint64_t, Bytes words) override
    {
        samples_of(stream).words(words);
    }
};

}  // namespace

std::unique_ptr<DriverExport> make_cxl_hmu_export(RowsOut &out)
{
    return std::make_unique<CxlHmuExport>(out);
}

}  // namespace pmukit::cli
