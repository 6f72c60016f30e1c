// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// For tests: writes recordings of a hisi_ptt PMU, as pmukit record and stock perf write them.
#pragma once

#include <fcntl.h>
#include <linux/perf_event.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "perfdata/format.hpp"
#include "perfdata/writer.hpp"

namespace pmukit::cli::testing {

// attr.config of a trace of root port 00:10.0: format 8DW, posted TLPs, outbound
constexpr uint64_t kPttConfig = 0x80001 | 1 << 20 | 1 << 24 | uint64_t{1} << 32;
// The same config with format 4DW
constexpr uint64_t kPttConfig4dw = kPttConfig & ~(uint64_t{1} << 32);

class PttFile {
public:
    static constexpr uint64_t kId = 7;
    static constexpr uint32_t kPmuType = 24;

    struct Options {
        uint64_t config = kPttConfig;
        uint64_t sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_CPU | PERF_SAMPLE_RAW;
        bool info = true;         // writes AUXTRACE_INFO
        uint64_t info_word = 0;   // second word of AUXTRACE_INFO; 0: none
        bool pmu_mapping = true;  // writes the names of PMUs
        bool pipe = false;        // writes the pipe format
        bool model = false;       // PMU_CAPS have source=model
        bool marks = true;        // PMU_CAPS state that the driver marks losses
        std::string pmu = "hisi_ptt0_2";
    };

    PttFile(const std::string &path, const Options &options)
    {
        perfdata::WriterEvent event{std::vector<std::byte>(128), {kId}, options.pmu + "//"};
        const auto put = [&event](size_t at, auto value) {
            store(event.attr.data() + at, value, std::endian::native);
        };
        put(perfdata::kAttrType, kPmuType);
        put(perfdata::kAttrSize, uint32_t{128});
        put(perfdata::kAttrConfig, options.config);
        put(perfdata::kAttrSamplePeriod, uint64_t{1});
        put(perfdata::kAttrSampleType, options.sample_type);
        put(perfdata::kAttrFlags, uint64_t{1} << perfdata::kAttrFlagSampleIdAll);
        perfdata::HostInfo host;
        if (options.pmu_mapping)
            host.pmus = {{kPmuType, options.pmu}};
        perfdata::HostInfo::Caps caps;
        if (options.model)
            caps.emplace_back("source", "model");
        caps.emplace_back(options.marks ? "aux_min_bytes" : "of_another_driver", "131072");
        host.caps = {{options.pmu, caps}};
        Result<perfdata::Writer> created =
            options.pipe
                ? perfdata::Writer::create_pipe(
                      Fd(::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600)), {event}, host)
                : perfdata::Writer::create(path, {event}, host);
        if (!created) {
            good_ = false;
            return;
        }
        writer_ = std::make_unique<perfdata::Writer>(std::move(*created));
        if (options.info)
            note(writer_->auxtrace_info(
                6, options.info_word == 0 ? std::vector<uint64_t>{kPmuType}
                                          : std::vector<uint64_t>{kPmuType, options.info_word}));
    }

    // Writes an AUX record, then its AUX data.
    void aux(Bytes data, uint64_t flags = 0)
    {
        announce(data.size(), flags);
        piece(offset_ - data.size(), data);
        note(writer_->finished_round());
    }
    // Writes AUX data at this offset, without an AUX record.
    void piece(uint64_t offset, Bytes data, uint32_t cpu = 0)
    {
        perfdata::AuxtraceRecord trace;
        trace.offset = offset;
        trace.reference = kId;
        trace.tid = UINT32_MAX;
        trace.cpu = cpu;
        note(writer_->auxtrace(trace, data, {}));
    }
    // Writes AUX data of a CPU, without an AUX record.
    void aux_of(uint32_t cpu, Bytes data) { piece(0, data, cpu); }
    // Writes an AUX record, whose data is missing unless piece() writes it.
    void announce(uint64_t bytes, uint64_t flags = 0)
    {
        std::vector<std::byte> record = header(PERF_RECORD_AUX, 24 + 16);
        for (uint64_t word : {offset_, bytes, flags, uint64_t{0}, kId})
            put(record, word);
        note(writer_->records(record));
        offset_ += bytes;
    }
    // lost() writes the kernel's count of records that did not fit into the ring. lost_samples()
    // writes the event's total count of losses, as a recorder does at the end.
    void lost(uint64_t records) { put_lost(PERF_RECORD_LOST, {kId, records}); }
    void lost_samples(uint64_t count) { put_lost(PERF_RECORD_LOST_SAMPLES, {count}); }
    // Skips this much AUX data without an AUX record, as if the record did not fit into the ring.
    void skip(uint64_t bytes) { offset_ += bytes; }
    // Writes a sample. `raw` has the bytes after the size field of PERF_SAMPLE_RAW.
    void sample(Bytes raw)
    {
        std::vector<std::byte> record =
            header(PERF_RECORD_SAMPLE, 16 + sizeof(uint32_t) + raw.size());
        put(record, kId);
        put(record, uint64_t{0});
        put(record, static_cast<uint32_t>(raw.size()));
        append(record, raw);
        note(writer_->records(record));
    }
    // Returns false if a write failed.
    bool finish()
    {
        if (good_)
            note(writer_->finish());
        return good_;
    }

private:
    void put_lost(uint32_t type, std::vector<uint64_t> words)
    {
        words.insert(words.end(), {0, kId});
        std::vector<std::byte> record = header(type, 8 * words.size());
        for (const uint64_t word : words)
            put(record, word);
        note(writer_->records(record));
    }
    template <typename T>
    static void put(std::vector<std::byte> &to, T value)
    {
        to.resize(to.size() + sizeof value);
        store(to.data() + to.size() - sizeof value, value, std::endian::native);
    }
    static std::vector<std::byte> header(uint32_t type, size_t body_bytes)
    {
        std::vector<std::byte> record;
        put(record, type);
        put(record, uint16_t{0});
        put(record, static_cast<uint16_t>(perfdata::kRecordHeaderBytes + body_bytes));
        return record;
    }
    void note(const Result<void> &done) { good_ = good_ && static_cast<bool>(done); }

    std::unique_ptr<perfdata::Writer> writer_;
    uint64_t offset_ = 0;  // AUX offset of the next byte
    bool good_ = true;
};

}  // namespace pmukit::cli::testing
