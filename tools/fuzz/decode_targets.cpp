// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Fuzz targets of the decoders. An input is passed to a decoder in pieces; the first input byte is
// the size of a piece minus 1. Every byte must be part of a record or be reported as skipped, and
// offsets must never decrease.
#include <algorithm>

#include "decode/cache_qos/cache_qos_decode.hpp"
#include "decode/cache_qos/cache_qos_series.hpp"
#include "decode/cxl_hmu/cxl_hmu_decode.hpp"
#include "decode/hisi_ptt/hisi_ptt_decode.hpp"
#include "decode/imc/imc_decode.hpp"
#include "fuzz/targets.hpp"

namespace pmukit::fuzz {
namespace {

class Accounts {
public:
    void passed(uint64_t offset, uint64_t bytes)
    {
        hold(offset >= end_);
        end_ = offset + bytes;
        bytes_ += bytes;
    }
    uint64_t bytes() const { return bytes_; }

private:
    uint64_t end_ = 0, bytes_ = 0;
};

class QosSink final : public decode::cache_qos::Sink {
public:
    void header(uint64_t offset, const decode::cache_qos::Header &) override
    {
        accounts.passed(offset, decode::cache_qos::kRecordBytes);
    }
    void reading(uint64_t offset, const decode::cache_qos::Reading &reading) override
    {
        accounts.passed(offset, decode::cache_qos::kRecordBytes);
        numbers.note(reading.sequence);
        (void)series.add(reading);
    }
    void name(uint64_t offset, const decode::cache_qos::NamePart &part) override
    {
        accounts.passed(offset, decode::cache_qos::kRecordBytes);
        numbers.note(part.sequence);
        hold(part.text.size() <= PMUKIT_CACHE_QOS_NAME_PART_BYTES);
        series.name(part);
    }
    void skipped(uint64_t offset, uint64_t bytes) override { accounts.passed(offset, bytes); }
    Accounts accounts;
    decode::cache_qos::SequenceAccount numbers;
    decode::cache_qos::SeriesTable series;
};

class HmuSink final : public decode::cxl_hmu::Sink {
public:
    void record(const decode::cxl_hmu::Record &record) override
    {
        const size_t words = 2 + record.extra.size() + record.entries.size();
        accounts.passed(record.offset, words * decode::cxl_hmu::kWordBytes);
        for (size_t i = 0; i < record.entries.size(); i++)
            sum += record.unit_of(record.entries[i]) + record.count_of(record.entries[i]);
    }
    void skipped(uint64_t offset, uint64_t bytes) override { accounts.passed(offset, bytes); }
    Accounts accounts;
    uint64_t sum = 0;
};

class PttSink final : public decode::hisi_ptt::Sink {
public:
    void packet(const decode::hisi_ptt::Packet &packet) override
    {
        accounts.passed(packet.offset, packet_bytes(packet.format));
        const decode::hisi_ptt::Tlp tlp = parse_tlp(packet);
        sum += tlp.address + tlp.byte_count;
    }
    void skipped(uint64_t offset, uint64_t bytes) override { accounts.passed(offset, bytes); }
    void lost(uint64_t, uint64_t) override {}
    Accounts accounts;
    uint64_t sum = 0;
};

class ImcSink final : public decode::imc::Sink {
public:
    void records(uint64_t offset, decode::imc::Records records) override
    {
        accounts.passed(offset, records.size() * decode::imc::kRecordBytes);
        for (size_t i = 0; i < records.size(); i++) {
            hold(records[i].timebase > last_);
            last_ = records[i].timebase;
        }
    }
    void skipped(uint64_t offset, uint64_t bytes) override { accounts.passed(offset, bytes); }
    uint64_t last() const { return last_; }
    Accounts accounts;

private:
    uint64_t last_ = 0;
};

void feed(decode::Decoder &decoder, Bytes bytes, size_t step)
{
    decoder.start(0);
    while (!bytes.empty()) {
        const size_t size = std::min(step, bytes.size());
        decoder.data(bytes.first(size));
        bytes = bytes.subspan(size);
    }
    decoder.end();
}

// Passes each piece to the decoder as if the device had been restarted before it. For every seventh
// piece, the decoder is not informed of the offset of the first entry.
constexpr unsigned kPttRuns = 4;
void feed_runs(decode::hisi_ptt::StreamDecoder &decoder, Bytes bytes, size_t step)
{
    decoder.start(0);
    for (size_t at = 0, run = 1; at < bytes.size(); at += step, run++) {
        decoder.align(run % 7 ? std::optional<uint64_t>(at) : std::nullopt);
        decoder.data(bytes.subspan(at, std::min(step, bytes.size() - at)));
    }
    decoder.end();
}

}  // namespace

// Also checks that the piece size does not change the result, and that the summary of each series
// is consistent.
void cache_qos(Bytes bytes)
{
    if (bytes.empty())
        return;
    QosSink sink, whole;
    decode::cache_qos::StreamDecoder decoder(sink), at_once(whole);
    feed(decoder, bytes.subspan(1), std::to_integer<size_t>(bytes[0]) + 1);
    hold(sink.accounts.bytes() == bytes.size() - 1);
    feed(at_once, bytes.subspan(1), SIZE_MAX);
    hold(whole.series.all().size() == sink.series.all().size());
    hold(whole.numbers.missing() == sink.numbers.missing());
    for (const auto &[key, series] : sink.series.all()) {
        hold(whole.series.all().at(key).columns() == series.columns());
        const decode::cache_qos::Summary summary = series.summary();
        hold(summary.min <= summary.median && summary.median <= summary.max);
        hold(series.columns().size() <= series.kColumns);
    }
    if (const std::optional<Bytes> words = decode::cache_qos::words_of_raw(bytes))
        (void)decode::cache_qos::parse_record(*words);
}

void cxl_hmu(Bytes bytes)
{
    if (bytes.empty())
        return;
    HmuSink sink;
    decode::cxl_hmu::StreamDecoder decoder(sink);
    feed(decoder, bytes.subspan(1), std::to_integer<size_t>(bytes[0]) + 1);
    hold(sink.accounts.bytes() == bytes.size() - 1);
    (void)decode::cxl_hmu::words_of_raw(bytes);
}

// The second input byte selects options: bit 0 selects the format, bit 1 wide tags, bit 2
// (kPttRuns) feed_runs(). Without feed_runs(), the target also checks that the piece size does not
// change the result.
void hisi_ptt(Bytes bytes)
{
    if (bytes.size() < 2)
        return;
    const auto options = std::to_integer<unsigned>(bytes[1]);
    const decode::hisi_ptt::Layout layout{
        options & 1 ? decode::hisi_ptt::Format::k8dw : decode::hisi_ptt::Format::k4dw,
        (options & 2) != 0};
    const size_t step = std::to_integer<size_t>(bytes[0]) * 16 + 1;
    PttSink sink, whole;
    decode::hisi_ptt::StreamDecoder decoder(sink, layout), at_once(whole, layout);
    if (options & kPttRuns) {
        feed_runs(decoder, bytes.subspan(2), step);
    } else {
        feed(decoder, bytes.subspan(2), step);
        feed(at_once, bytes.subspan(2), SIZE_MAX);
        hold(sink.sum == whole.sum);
    }
    hold(sink.accounts.bytes() == bytes.size() - 2);
}

// Also checks that the piece size does not change the timebase of the last record.
void imc(Bytes bytes)
{
    if (bytes.empty())
        return;
    ImcSink sink, whole;
    decode::imc::StreamDecoder decoder(sink), at_once(whole);
    feed(decoder, bytes.subspan(1), std::to_integer<size_t>(bytes[0]) + 1);
    hold(sink.accounts.bytes() == bytes.size() - 1);
    feed(at_once, bytes.subspan(1), SIZE_MAX);
    hold(whole.last() == sink.last());
    if (const std::optional<Bytes> words = decode::imc::words_of_raw(bytes))
        (void)decode::imc::parse_sample_record(*words);
}

}  // namespace pmukit::fuzz
