// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Samples of trace_imc, from AUX data and from samples, one row each.
#include <algorithm>

#include "cli/drivers/imc/handlers.hpp"
#include "cli/drivers/imc/mode.hpp"
#include "cli/export/stream.hpp"
#include "decode/imc/imc_decode.hpp"
#include "session/samples.hpp"

namespace pmukit::cli {
namespace {

namespace imc = decode::imc;
using exporter::Value;

constexpr std::string_view kUnit = "imc";

enum Field : size_t {
    kPid = exporter::kOriginColumns,
    kTid,
    kComm,
    kSequence,
    kTimebase,
    kMode,
    kIp,
    kVal,
    kCounter1,
    kFields = kCounter1 + imc::kCounters
};
using Row = std::array<Value, kFields>;

void put_record(const imc::Record &record, Row &row)
{
    row[kTimebase] = record.timebase;
    row[kIp] = record.ip;
    row[kVal] = record.val;
    std::copy(record.cpmc.begin(), record.cpmc.end(), row.begin() + kCounter1);
}

void put_task(const RowsOut &out, const perfdata::SampleId &sample_id, Row &row)
{
    row[kPid] = task_value(sample_id.pid);
    row[kTid] = task_value(sample_id.tid);
    const std::string_view comm =
        sample_id.tid
            ? out.threads().command(*sample_id.tid, sample_id.time_ns.value_or(UINT64_MAX))
            : std::string_view();
    row[kComm] = comm.empty() ? Value() : Value(comm);
}

// Writes a row. RowsOut::rows() can write several rows with equal first fields in one call, but
// neighboring rows of this table have almost no equal fields.
void put_row(RowsOut &out, size_t event, const perfdata::SampleId &sample_id, imc::Mode mode,
             Row &row)
{
    static const exporter::Table &table = *exporter::find_table(kUnit);
    row[kMode] = imc_mode_name(mode);
    const StackFrame frame{mode, row[kIp].number()};
    if (row[kIp].known)
        out.stack(table, event, sample_id, {&frame, 1});
    const exporter::Values all(row);
    out.rows(table, all.first(exporter::kOriginColumns), all.subspan(exporter::kOriginColumns));
}

class StreamRows final : public imc::Sink {
public:
    StreamRows(RowsOut &out, const Stream &stream)
        : out_(out),
          stream_(stream),
          rule_(imc_mode_rule(out.recording().reader())),
          decoder_(*this)
    {
    }
    StreamRows(const StreamRows &) = delete;
    StreamRows &operator=(const StreamRows &) = delete;

    imc::StreamDecoder &decoder() { return decoder_; }
    uint64_t skipped_bytes() const { return skipped_bytes_; }

    void records(uint64_t offset, imc::Records records) override
    {
        for (size_t i = 0; i < records.size(); i++) {
            const AuxThreads::Range *range =
                out_.announced(stream_, offset + i * imc::kRecordBytes);
            perfdata::SampleId sample_id = range ? range->sample_id : perfdata::SampleId{};
            if (!sample_id.tid && stream_.tid != UINT32_MAX)
                sample_id.tid = stream_.tid;
            Row row;
            out_.origin(stream_, sample_id.time_ns, row.data());
            put_task(out_, sample_id, row);
            put_record(records[i], row);
            put_row(out_, stream_.event, sample_id, mode_of(records[i], rule_), row);
        }
    }
    void skipped(uint64_t offset, uint64_t bytes) override
    {
        skipped_bytes_ += bytes;
        out_.lose(stream_, {kUnit, "skipped", "bytes", bytes, offset});
    }

private:
    RowsOut &out_;
    Stream stream_;
    imc::ModeRule rule_;
    uint64_t skipped_bytes_ = 0;
    imc::StreamDecoder decoder_;
};

class ImcExport final : public StreamExport<StreamRows> {
public:
    using StreamExport::StreamExport;

    void sample(const Stream &, uint64_t, Bytes) override {}  // handled by bare_sample()
    void bare_sample(const Stream &stream, const perfdata::Record &record,
                     const perfdata::Sample &sample) override;
    uint64_t finish() override { return StreamExport::finish() + skipped_bytes_; }

private:
    bool put_payload(const Stream &stream, const perfdata::Sample &sample, Row &row);

    uint64_t skipped_bytes_ = 0;  // bytes of payloads without a record
    // One entry per kernel event. Key: event id and, if threads inherit the event, TID.
    std::map<std::pair<uint64_t, uint32_t>, Numbers> numbers_;
};

// Returns false for a duplicate sample.
bool ImcExport::put_payload(const Stream &stream, const perfdata::Sample &sample, Row &row)
{
    constexpr uint64_t kInherit = 2;  // bit `inherit` of perf_event_attr
    const std::optional<Bytes> words = imc::words_of_raw(*sample.raw);
    const auto payload = words ? imc::parse_sample_record(*words) : std::nullopt;
    const std::optional<uint64_t> time_ns = sample.sample_id.time_ns;
    if (!payload) {
        skipped_bytes_ += sample.raw->size();
        to().lose(stream, {kUnit, "skipped", "bytes", sample.raw->size(), {}, time_ns});
        return true;
    }
    const bool inherited = to().recording().reader().events()[stream.event].attr.flags & kInherit;
    const uint32_t thread = inherited ? sample.sample_id.tid.value_or(UINT32_MAX) : UINT32_MAX;
    Numbers &numbers = numbers_
                           .try_emplace({sample.sample_id.id.value_or(0), thread}, false,
                                        to().recording().continues())
                           .first->second;
    if (!numbers.note(payload->sequence, payload->lost))
        return false;
    if (numbers.missing())
        to().lose(stream, {kUnit, "missing", "samples", numbers.missing(), {}, time_ns});
    if (numbers.lost())
        to().lose(stream, {kUnit, "driver-lost", "records", numbers.lost(), {}, time_ns});
    put_record(payload->record, row);
    row[kSequence] = payload->sequence;
    return true;
}

void ImcExport::bare_sample(const Stream &stream, const perfdata::Record &record,
                            const perfdata::Sample &sample)
{
    Row row;
    if (sample.raw && !put_payload(stream, sample, row))
        return;
    to().origin(stream, sample.sample_id.time_ns, row.data());
    put_task(to(), sample.sample_id, row);
    row[kIp] = value_of(sample.ip);
    put_row(to(), stream.event, sample.sample_id, mode_of_misc(record.misc), row);
}

}  // namespace

std::unique_ptr<DriverExport> make_imc_export(RowsOut &out)
{
    return std::make_unique<ImcExport>(out);
}

}  // namespace pmukit::cli
