// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// hostile [FILTER...]: runs every command and format on recordings that are built to cost as much
// as possible, one for each kind of data that a command stores. A command may use at most 64 MiB of
// memory, and may take at most ten times as long as on a benign recording of the same size (and
// with as many output rows, if the output has one row per item). Prints a table with a row for each
// recording and command. FILTER selects the rows that contain this text. Exit status 1: some rows
// exceed a limit.
//
// The recordings do not depend on limits in the code: each has as much data as fits into 4 MiB.
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pmukit/cache_qos.h>
#include <pmukit/cxl_hmu.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef PMUKIT_ZSTD
#include <zstd.h>
#endif

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/file.hpp"
#include "perfdata/format.hpp"
#include "perfdata/packer.hpp"
#include "perfdata/writer.hpp"

namespace {

using namespace pmukit;
using perfdata::Packer;

constexpr size_t kFileBytes = size_t{4} << 20;
constexpr size_t kMostFileBytes =
    kFileBytes + kFileBytes / 20;  // the last record may exceed kFileBytes
constexpr int kRuns = 3;           // the fastest run counts, because other load only adds time
constexpr size_t kMostMib = 64;
constexpr double kMostTimes = 10;
constexpr double kLeastSeconds = 0.1;  // shorter runs always pass: most of their time is start-up
constexpr uint64_t kFirstId = 7;
constexpr uint32_t kType = 1000;  // attr.type of PMU events; sampling events are software events
constexpr uint64_t kSampleType = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
                                 PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_CALLCHAIN;
constexpr uint64_t kMiddle = uint64_t{1} << 40;
constexpr uint64_t k8dwInbound = uint64_t{1} << 32 | uint64_t{7} << 24 | 0x80001;

// Building recordings

struct Pmu {
    const char *name;
    uint32_t type;
    uint64_t config;
};
constexpr Pmu kClock = {"software", PERF_TYPE_SOFTWARE, 0};
constexpr Pmu kHmu = {"cxl_hmu_mem0.0.0", kType, 0};
constexpr Pmu kPtt = {"hisi_ptt0_2", kType, k8dwInbound};
constexpr Pmu kQos = {"cache_qos_aux", kType, 0};
constexpr Pmu kImc = {"trace_imc", kType, 0};

perfdata::WriterEvent event_of(const Pmu &pmu, std::vector<uint64_t> ids)
{
    perfdata::WriterEvent event{std::vector<std::byte>(128), std::move(ids),
                                std::string(pmu.name) + "//"};
    std::byte *const attr = event.attr.data();
    store<uint32_t>(attr + perfdata::kAttrType, pmu.type, std::endian::native);
    store<uint32_t>(attr + perfdata::kAttrSize, 128, std::endian::native);
    store<uint64_t>(attr + perfdata::kAttrConfig, pmu.config, std::endian::native);
    store<uint64_t>(attr + perfdata::kAttrSamplePeriod, 1, std::endian::native);
    store<uint64_t>(attr + perfdata::kAttrSampleType, kSampleType, std::endian::native);
    store<uint64_t>(attr + perfdata::kAttrFlags, uint64_t{1} << perfdata::kAttrFlagSampleIdAll,
                    std::endian::native);
    return event;
}

std::vector<perfdata::WriterEvent> events_of(const Pmu &pmu, size_t count)
{
    std::vector<perfdata::WriterEvent> events;
    for (size_t i = 0; i < count; i++)
        events.push_back(event_of(pmu, {kFirstId + i}));
    return events;
}

perfdata::HostInfo host_of(const Pmu &pmu)
{
    perfdata::HostInfo host;
    host.hostname = "host";
    host.pmus = {{pmu.type, pmu.name}};
    return host;
}

struct Moment {
    uint32_t pid = 100, tid = 100, cpu = 0;
    uint64_t time = 1000;
};

void put_trailer(Packer &body, const Moment &at)
{
    body.put(at.pid).put(at.tid).put(at.time).put(at.cpu).put(uint32_t{0}).put(kFirstId);
}

std::vector<std::byte> record_of(uint32_t type, const Packer &body, uint16_t misc = 0)
{
    Packer record;
    record.record_header(type, misc, perfdata::kRecordHeaderBytes + body.bytes().size());
    return record.put(Bytes(body.bytes())).take();
}

std::vector<std::byte> sample(const Moment &at, uint64_t ip, const std::vector<uint64_t> &chain)
{
    Packer body;
    body.put(kFirstId).put(ip).put(at.pid).put(at.tid).put(at.time).put(at.cpu).put(uint32_t{0});
    body.put(uint64_t{chain.size()});
    for (const uint64_t frame : chain)
        body.put(frame);
    return record_of(PERF_RECORD_SAMPLE, body, PERF_RECORD_MISC_USER);
}

std::vector<std::byte> comm(const Moment &at, std::string_view name)
{
    Packer body;
    body.put(at.pid).put(at.tid).put(as_bytes(name)).pad_to(8 + (name.size() / 8 + 1) * 8);
    put_trailer(body, at);
    return record_of(PERF_RECORD_COMM, body, PERF_RECORD_MISC_COMM_EXEC);
}

std::vector<std::byte> fork(const Moment &at, uint32_t parent)
{
    Packer body;
    body.put(at.pid).put(parent).put(at.tid).put(parent).put(at.time);
    put_trailer(body, at);
    return record_of(PERF_RECORD_FORK, body);
}

std::vector<std::byte> map_of(const Moment &at, uint64_t begin, std::string_view path,
                              uint64_t bytes = 4096)
{
    Packer body;
    body.put(at.pid).put(at.tid).put(begin).put(bytes).put(uint64_t{0});
    body.put(as_bytes(path)).pad_to(32 + (path.size() / 8 + 1) * 8);
    put_trailer(body, at);
    return record_of(PERF_RECORD_MMAP, body, PERF_RECORD_MISC_USER);
}

std::vector<std::byte> aux_record(uint64_t id, uint64_t offset, uint64_t bytes, uint64_t flags,
                                  const Moment &at = {})
{
    Packer body;
    body.put(offset).put(bytes).put(flags);
    body.put(at.pid).put(at.tid).put(at.time).put(at.cpu).put(uint32_t{0}).put(id);
    return record_of(PERF_RECORD_AUX, body);
}

std::vector<std::byte> lost_record(uint64_t id, uint64_t lost)
{
    Packer body;
    body.put(id).put(lost);
    put_trailer(body, Moment());
    return record_of(PERF_RECORD_LOST, body);
}

// Returns 64-bit words in the byte order of the kind of data.
std::vector<std::byte> words(std::initializer_list<uint64_t> values,
                             std::endian order = std::endian::little)
{
    Packer packer(order);
    for (const uint64_t value : values)
        packer.put(value);
    return packer.take();
}

std::vector<std::byte> hot_record(uint64_t sequence, const std::vector<uint64_t> &units)
{
    constexpr unsigned kWidth = 16;
    std::vector<std::byte> record =
        words({PMUKIT_CXL_HMU_W0(units.size(), kWidth), PMUKIT_CXL_HMU_MARK, sequence * 1000, 12, 0,
               sequence, 0});
    for (const uint64_t unit : units)
        append(record, words({unit << kWidth | 5}));
    return record;
}

// Returns the trace entry of a read of one dword, with this requester, tag and address.
std::vector<std::byte> read_entry(uint16_t requester, uint8_t tag, uint64_t address, uint64_t time)
{
    Packer entry(std::endian::little);
    entry.put(uint32_t{0xffffffff}).put(uint32_t{0}).put(uint32_t{0x20000001});
    entry.put(uint32_t{requester} << 16 | uint32_t{tag} << 8 | 0xf);
    entry.put(static_cast<uint32_t>(address >> 32)).put(static_cast<uint32_t>(address) & ~3U);
    entry.put(uint32_t{0}).put(static_cast<uint32_t>(time));
    return entry.take();
}

// Records of cache_qos: the occupancy of a monitor in bytes, and the name of a monitor.
std::vector<std::byte> qos_reading(uint64_t sequence, uint64_t time, uint64_t monitor,
                                   uint64_t bytes)
{
    constexpr uint64_t kOccupancyOfTask =
        uint64_t{PMUKIT_CACHE_QOS_EVENT_OCCUPANCY} << PMUKIT_CACHE_QOS_WHAT_EVENT_SHIFT |
        uint64_t{PMUKIT_CACHE_QOS_KIND_TASK} << PMUKIT_CACHE_QOS_WHAT_KIND_SHIFT;
    return words({time, sequence, monitor | kOccupancyOfTask, 0, bytes, bytes, 0, 0});
}

std::vector<std::byte> qos_name(uint64_t sequence, uint64_t monitor)
{
    constexpr uint64_t kTask = uint64_t{PMUKIT_CACHE_QOS_KIND_TASK}
                               << PMUKIT_CACHE_QOS_WHAT_KIND_SHIFT;
    return words({PMUKIT_CACHE_QOS_NAME_MARK, sequence, monitor | kTask, monitor,
                  uint64_t{1} << PMUKIT_CACHE_QOS_LIFE_PARTS_SHIFT, 0x6161616161616161, 0, 0});
}

std::vector<std::byte> imc_record(uint64_t time, uint64_t address, uint64_t pid)
{
    return words({time, time * 52, address, 0, pid, 0, 0, time}, std::endian::big);
}

// Shapes: the kinds of recordings

class File {
public:
    File(perfdata::Writer writer, std::string path)
        : writer_(std::move(writer)), path_(std::move(path))
    {
    }
    bool has_room() const { return good_ && bytes_ < kFileBytes; }
    void records(const std::vector<std::byte> &bytes)
    {
        note(writer_.records(bytes), bytes.size());
    }
    void trace(uint64_t id, uint32_t ring, uint64_t offset, const std::vector<std::byte> &data)
    {
        perfdata::AuxtraceRecord record;
        record.offset = offset;
        record.reference = id;
        record.index = ring;
        record.tid = UINT32_MAX;
        record.cpu = ring;
        note(writer_.auxtrace(record, data, {}),
             data.size() + 48 + 16);  // with the record header and the index entry
    }
    // Writes AUX data of one event and CPU, which consists of the results of piece(0), piece(1),
    // ...
    void traces(const std::function<std::vector<std::byte>(uint64_t)> &piece)
    {
        uint64_t offset = 0;
        for (uint64_t i = 0; has_room();) {
            std::vector<std::byte> data;
            while (data.size() < size_t{1} << 20)
                append(data, piece(i++));
            trace(kFirstId, 0, offset, data);
            offset += data.size();
        }
    }
    bool finish()
    {
        note(writer_.finish(), 0);
        return good_;
    }

private:
    void note(const Result<void> &done, size_t bytes)
    {
        bytes_ += bytes;
        if (!done)
            std::fprintf(stderr, "hostile: %s: %s\n", path_.c_str(), done.error().message.c_str());
        good_ = good_ && done;
    }

    perfdata::Writer writer_;
    std::string path_;
    size_t bytes_ = 0;
    bool good_ = true;
};

struct Shape {
    const char *name;
    const char *benign;  // benign shape to compare with; nullptr: this shape is benign
    Pmu pmu;
    size_t events;
    std::function<void(File &)> fill;
    bool pipe = false;
    std::function<void(std::vector<perfdata::WriterEvent> &, perfdata::HostInfo &)> head = {};
};

constexpr uint64_t kSpread = 0x9e3779b97f4a7c15;  // odd, so all its multiples differ

template <typename Make>
void fill_with(File &file, Make make)
{
    for (uint64_t i = 0; file.has_room();) {
        std::vector<std::byte> block;
        while (block.size() < size_t{1} << 16)
            append(block, make(i++));
        file.records(block);
    }
}

Moment moment(uint64_t i, uint32_t task = 100)
{
    return {task, task, 0, 1000 + i};
}

std::vector<uint64_t> chain_of(uint64_t seed, size_t frames)
{
    std::vector<uint64_t> chain = {static_cast<uint64_t>(PERF_CONTEXT_USER)};
    for (size_t i = 0; i < frames; i++)
        chain.push_back(0x400000 + (seed * kSpread >> (i % 32)) % 0x100000);
    return chain;
}

uint32_t task_of(uint64_t i)
{
    return static_cast<uint32_t>(i % 4000000 + 1);
}

const std::string kLongName(4000, 'n');

std::vector<std::byte> packed(const std::vector<std::byte> &bytes)
{
#ifdef PMUKIT_ZSTD
    std::vector<std::byte> out(ZSTD_compressBound(bytes.size()));
    const size_t size = ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), 19);
    out.resize(ZSTD_isError(size) ? 0 : size);
    return out;
#else
    return bytes;
#endif
}

// Fills the file with compressed copies of one record, 512 MiB when unpacked.
void fill_packed(File &file, const std::vector<std::byte> &record)
{
    constexpr size_t kUnpackedBytes = size_t{512} << 20, kPieceBytes = 60000;
    std::vector<std::byte> block;
    while (block.size() < size_t{16} << 20)
        append(block, record);
    const std::vector<std::byte> small = packed(block);
    for (size_t done = 0; done < kUnpackedBytes; done += block.size())
        for (size_t at = 0; at < small.size(); at += kPieceBytes) {
            Packer body;
            body.put(Bytes(small).subspan(at, std::min(kPieceBytes, small.size() - at)));
            file.records(record_of(perfdata::kCompressed, body));
        }
}

std::vector<std::byte> event_update(uint64_t kind, size_t bytes)
{
    Packer body;
    const std::string text(bytes, 'x');
    body.put(kind).put(kFirstId).put(as_bytes(text)).pad_to((bytes / 8 + 3) * 8);
    return record_of(perfdata::kEventUpdate, body);
}

void put_all_events(File &file, const std::vector<std::byte> &data, size_t events)
{
    for (size_t i = 0; i < events; i++)
        file.trace(kFirstId + i, static_cast<uint32_t>(i), 0, data);
}

std::vector<std::byte> hot_units(uint64_t i, uint64_t different)
{
    std::vector<uint64_t> units;
    for (uint64_t k = 0; k < 57; k++)
        units.push_back((i * 57 + k) * kSpread % different);
    return hot_record(i, units);
}

std::vector<Shape> shapes()
{
    constexpr size_t kManyEvents = 8500, kManyLosses = 6700;  // numbers that fill 4 MiB
    return {
        // Benign recordings, one or two for each kind of data.
        {"benign samples", nullptr, kClock, 1,
         [](File &file) {
             fill_with(file, [](uint64_t i) {
                 if (i % 4096 == 0)
                     return comm(moment(i, 100 + i / 4096 % 16), "program");
                 return sample(moment(i, 100 + i % 16), 0x400000 + i % 500 * 16,
                               chain_of(i % 500, 8));
             });
         }},
        // Recursion in a program: each sample has a new stack, so the output has the most frames.
        {"benign deep stacks", nullptr, kClock, 1,
         [](File &file) {
             file.records(map_of(moment(0), 0x400000, "/usr/bin/program", 0x100000));
             fill_with(file, [](uint64_t i) { return sample(moment(i), i, chain_of(i, 120)); });
         }},
        {"benign units", nullptr, kHmu, 1,
         [](File &file) { file.traces([](uint64_t i) { return hot_units(i, 4096); }); }},
        // A scan over memory: each record names new units, so the output has the most rows.
        {"benign scan", nullptr, kHmu, 1,
         [](File &file) {
             file.traces([](uint64_t i) {
                 std::vector<uint64_t> units;
                 for (uint64_t k = 0; k < 57; k++)
                     units.push_back(i * 57 + k);
                 return hot_record(i, units);
             });
         }},
        {"benign tlps", nullptr, kPtt, 1,
         [](File &file) {
             file.traces([](uint64_t i) { return read_entry(0x100, i % 32, (i % 64) << 21, i); });
         }},
        {"benign imc", nullptr, kImc, 1,
         [](File &file) {
             file.traces([](uint64_t i) { return imc_record(i + 1, i % 500 * 16, i % 16); });
         }},
        {"benign monitors", nullptr, kQos, 1,
         [](File &file) {
             file.traces([](uint64_t i) { return qos_reading(i, 1000 + i, i % 100, i % 1000); });
         }},
        {"benign packed", nullptr, kClock, 1,
         [](File &file) { fill_packed(file, sample(moment(1), 0x400000, chain_of(1, 8))); }},

        // Recordings with a costly header.
        {"events", "benign units", kHmu, kManyEvents,
         [](File &file) { put_all_events(file, hot_record(0, {5}), kManyEvents); }},
        {"events of tlps", "benign tlps", kPtt, kManyEvents,
         [](File &file) { put_all_events(file, read_entry(0x100, 1, 0x1000, 1), kManyEvents); }},
        {"events of imc", "benign imc", kImc, kManyEvents,
         [](File &file) { put_all_events(file, imc_record(1, 16, 1), kManyEvents); }},
        // Each event has lost records in its ring and a gap in its AUX data.
        {"losses of all events", "benign tlps", kPtt, kManyLosses,
         [](File &file) {
             for (uint64_t id = kFirstId; id < kFirstId + kManyLosses; id++) {
                 file.records(lost_record(id, 1));
                 file.records(aux_record(id, 0, 32, PERF_AUX_FLAG_TRUNCATED));
             }
             put_all_events(file, read_entry(0x100, 1, 0x1000, 1), kManyLosses);
         },
         false,
         [](std::vector<perfdata::WriterEvent> &, perfdata::HostInfo &host) {
             host.version = "pmukit 1";
         }},
        {"ids", "benign samples", kClock, 1,
         [](File &file) { file.records(sample(moment(1), 0x400000, {})); }, false,
         [](std::vector<perfdata::WriterEvent> &events, perfdata::HostInfo &) {
             for (uint64_t i = 1; i < kFileBytes / 16; i++)  // the file stores each ID twice
                 events.front().ids.push_back(kFirstId + i);
         }},
        {"long names", "benign units", kHmu, 950,
         [](File &file) { put_all_events(file, hot_record(0, {5}), 950); }, false,
         [](std::vector<perfdata::WriterEvent> &events, perfdata::HostInfo &) {
             for (perfdata::WriterEvent &event : events)
                 event.name = kLongName;
         }},
        {"capabilities", "benign units", kHmu, 200,
         [](File &file) { put_all_events(file, hot_record(0, {5}), 200); }, false,
         [](std::vector<perfdata::WriterEvent> &, perfdata::HostInfo &host) {
             host.caps = {{kHmu.name, {}}};
             for (size_t i = 0; i < kFileBytes / 136; i++)
                 host.caps.back().second.emplace_back("a", "b");
         }},
        {"updates of a pipe", "benign units", kHmu, 1,
         [](File &file) { fill_with(file, [](uint64_t) { return event_update(0, 65000); }); },
         true},
        {"small updates of a pipe", "benign units", kHmu, 1,
         [](File &file) { fill_with(file, [](uint64_t) { return event_update(0, 8); }); }, true},
        {"names of a pipe", "benign units", kHmu, 1,
         [](File &file) { fill_with(file, [](uint64_t) { return event_update(2, 65000); }); },
         true},
        {"packed updates", "benign packed", kHmu, 1,
         [](File &file) { fill_packed(file, event_update(0, 65000)); }, true},
        {"packed names", "benign packed", kHmu, 1,
         [](File &file) { fill_packed(file, event_update(2, 65000)); }, true},
        {"packed commands", "benign packed", kClock, 1,
         [](File &file) { fill_packed(file, comm(moment(1), "program")); }},

        // Recordings with many programs and threads.
        {"commands", "benign samples", kClock, 1,
         [](File &file) {
             fill_with(file, [](uint64_t i) { return comm(moment(i, task_of(i)), "program"); });
         }},
        {"renamed thread", "benign samples", kClock, 1,
         [](File &file) {
             fill_with(file, [](uint64_t i) { return comm(moment(i), std::to_string(i)); });
         }},
        {"forks", "benign samples", kClock, 1,
         [](File &file) {
             fill_with(file,
                       [](uint64_t i) { return fork(moment(i, task_of(i + 1)), task_of(i)); });
         }},
        {"maps", "benign samples", kClock, 1,
         [](File &file) {
             fill_with(file, [](uint64_t i) {
                 return i % 2 ? sample(moment(i), i * 4096, chain_of(i, 4))
                              : map_of(moment(i), i * 4096, "/no/" + std::to_string(i));
             });
         }},
        {"maps of all", "benign samples", kClock, 1,
         [](File &file) {
             fill_with(file, [](uint64_t i) {
                 return map_of(moment(i, task_of(i)), 0x400000, "/no/" + std::to_string(i));
             });
         }},
        {"nested maps", "benign samples", kClock, 1,
         [](File &file) {
             fill_with(file, [](uint64_t i) {
                 return i % 4 ? map_of(moment(i, task_of(i / 65536)), kMiddle - i, "/no", 2 * i + 1)
                              : sample(moment(i, task_of(i / 65536)), kMiddle, {});
             });
         }},
        {"deferred chains", "benign samples", kClock, 1,
         [](File &file) {
             fill_with(file, [](uint64_t i) {
                 return sample(moment(i), 0x400000, {perfdata::kContextUserDeferred, i});
             });
         }},
        {"packed deferred chains", "benign packed", kClock, 1,
         [](File &file) {
             std::vector<uint64_t> chain(4000, 0x400000);
             chain.insert(chain.end(), {perfdata::kContextUserDeferred, 1});
             fill_packed(file, sample(moment(1), 0x400000, chain));
         }},
        {"stacks", "benign samples", kClock, 1,
         [](File &file) {
             fill_with(file, [](uint64_t i) { return sample(moment(i), i, chain_of(i, 8)); });
         }},
        {"deep stacks", "benign samples", kClock, 1,
         [](File &file) {
             fill_with(file, [](uint64_t i) { return sample(moment(i), i, chain_of(i, 120)); });
         }},
        // Each frame and each row repeats a name.
        {"long paths in stacks", "benign deep stacks", kClock, 1,
         [](File &file) {
             file.records(map_of(moment(0), 0x400000, '/' + kLongName, 0x100000));
             fill_with(file, [](uint64_t i) { return sample(moment(i), i, chain_of(i, 120)); });
         }},
        {"long commands in rows", "benign samples", kClock, 1,
         [](File &file) {
             file.records(comm(moment(0), kLongName));
             fill_with(file, [](uint64_t i) { return sample(moment(i), 0x400000, {}); });
         }},
        {"backward times", "benign samples", kClock, 1,
         [](File &file) {
             fill_with(file, [](uint64_t i) {
                 return sample(moment((uint64_t{1} << 40) - i), 0x400000, chain_of(1, 8));
             });
         }},

        // Recordings with costly AUX data.
        {"units", "benign scan", kHmu, 1,
         [](File &file) {
             file.traces([](uint64_t i) { return hot_units(i, uint64_t{1} << 40); });
         }},
        {"units of many PMUs", "benign scan", kHmu, 128,
         [](File &file) {
             for (uint64_t i = 0; file.has_room(); i++) {
                 const std::vector<std::byte> units = hot_units(i, uint64_t{1} << 40);
                 file.trace(kFirstId + i % 128, 0, i / 128 * units.size(), units);
             }
         }},
        {"monitors", "benign monitors", kQos, 1,
         [](File &file) {
             file.traces([](uint64_t i) { return qos_reading(i, 1000 + i, i, i * kSpread); });
         }},
        {"long series", "benign monitors", kQos, 1,
         [](File &file) {
             file.traces([](uint64_t i) {
                 return qos_reading(i, 1000 + i * 4096, i % 100, (i * kSpread) >> (i / 100 % 60));
             });
         }},
        {"names of monitors", "benign monitors", kQos, 1,
         [](File &file) { file.traces([](uint64_t i) { return qos_name(i, i); }); }},
        {"streams of units", "benign units", kHmu, 1,
         [](File &file) {
             for (uint32_t i = 0; file.has_room(); i++)
                 file.trace(kFirstId, i, 0, hot_record(0, {i}));
         }},
        {"tlps", "benign tlps", kPtt, 1,
         [](File &file) {
             file.traces([](uint64_t i) {
                 return read_entry(static_cast<uint16_t>(i), static_cast<uint8_t>(i >> 8), i << 21,
                                   i * kSpread);
             });
         }},
        {"streams of tlps", "benign tlps", kPtt, 1,
         [](File &file) {
             for (uint32_t i = 0; file.has_room(); i++)
                 file.trace(kFirstId, i, 0, read_entry(0x100, 1, 0x1000, i));
         }},
        {"imc addresses", "benign imc", kImc, 1,
         [](File &file) {
             file.traces([](uint64_t i) { return imc_record(i + 1, i * kSpread, task_of(i)); });
         }},
        {"announcements", "benign units", kHmu, 1,
         [](File &file) {
             fill_with(file, [](uint64_t i) {
                 return aux_record(kFirstId, i * 16, 8, PERF_AUX_FLAG_TRUNCATED);
             });
         }},
        {"announcements of all", "benign units", kHmu, 1,
         [](File &file) {
             fill_with(file, [](uint64_t i) {
                 return aux_record(kFirstId, 0, 8, PERF_AUX_FLAG_TRUNCATED,
                                   {100, 100, static_cast<uint32_t>(i), 1000 + i});
             });
         }},
        {"nothing known", "benign samples", kClock, 1,
         [](File &file) {
             fill_with(file, [](uint64_t i) {
                 return record_of(static_cast<uint32_t>(1000 + i), Packer());
             });
         }},
    };
}

bool make(const Shape &shape, const std::string &path)
{
    std::vector<perfdata::WriterEvent> events = events_of(shape.pmu, shape.events);
    perfdata::HostInfo host = host_of(shape.pmu);
    if (shape.head)
        shape.head(events, host);
    Fd out;
    if (shape.pipe)
        out = Fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    auto writer = shape.pipe
                      ? perfdata::Writer::create_pipe(std::move(out), std::move(events), host)
                      : perfdata::Writer::create(path, std::move(events), host);
    if (!writer) {
        std::fprintf(stderr, "hostile: %s\n", writer.error().message.c_str());
        return false;
    }
    File file(std::move(*writer), path);
    shape.fill(file);
    if (!file.finish())
        return false;
    const bool fits = std::filesystem::file_size(path) <= kMostFileBytes;
    if (!fits)
        std::fprintf(stderr, "hostile: %s: more than 4 MiB: compared with smaller ones\n",
                     shape.name);
    return fits;
}

// Builds a recording in a child process: a command inherits the peak memory of the process that
// starts it, so this process must not use much memory.
bool made(const Shape &shape, const std::string &path)
{
    const pid_t child = ::fork();
    if (child == 0)
        ::_exit(make(shape, path) ? 0 : 1);
    int status = 1;
    return child > 0 && ::waitpid(child, &status, 0) == child && status == 0;
}

// Commands

struct Command {
    const char *name;
    std::vector<std::string> words;  // IN and OUT stand for paths
};

std::vector<Command> commands()
{
    std::vector<Command> all = {
        {"dump", {"dump", "-i", "IN"}},
        {"report", {"report", "-i", "IN"}},
        {"report --json", {"report", "--json", "--top", "0", "-i", "IN"}},
        {"report --html", {"report", "-i", "IN", "--html", "OUT"}},
        {"recover", {"recover", "-i", "IN"}},
        {"recover --write", {"recover", "-i", "IN", "--write", "OUT"}},
        {"cut", {"cut", "-i", "IN", "-o", "OUT", "--cpu", "0"}},
        {"inject", {"inject", "-i", "IN", "-o", "OUT"}},
        {"merge", {"merge", "-o", "OUT", "IN", "IN"}},
        {"top", {"top", "--once", "-"}},
        {"what-if", {"what-if", "--fast", "1000", "-i", "IN"}},
    };
    for (const char *format :
         {"csv", "jsonl", "sqlite", "ctf", "perfetto", "perfetto-trace", "openmetrics", "folded"})
        all.push_back({format, {"export", "--format", format, "-i", "IN", "-o", "OUT"}});
    return all;
}

struct Run {
    int status = -1;
    double seconds = 0;  // processor time
    double mib = 0;
};

Run run(const std::vector<std::string> &command, const std::string &input)
{
    std::vector<char *> argv;
    for (const std::string &word : command)
        argv.push_back(const_cast<char *>(word.c_str()));
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, input.c_str(), O_RDONLY, 0);
    for (const int fd : {STDOUT_FILENO, STDERR_FILENO})
        posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_WRONLY, 0);
    pid_t pid = -1;
    const int failed = ::posix_spawn(&pid, argv[0], &actions, nullptr, argv.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    struct rusage usage {};
    Run result;
    if (failed != 0 || ::wait4(pid, &result.status, 0, &usage) != pid)
        return result;
    for (const timeval &time : {usage.ru_utime, usage.ru_stime})
        result.seconds +=
            static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
    result.mib = static_cast<double>(usage.ru_maxrss) / 1024;
    return result;
}

class Checker {
public:
    Checker(std::string folder, std::vector<std::string> filters)
        : folder_(std::move(folder)), filters_(std::move(filters))
    {
    }

    bool all()
    {
        bool good = true;
        for (const Shape &each : shapes_)
            good = shape(each) && good;
        return good;
    }
    size_t rows() const { return rows_; }
    size_t failures() const { return failures_; }

private:
    bool shape(const Shape &shape)
    {
        const std::string path = folder_ + "/in.data";
        if (!wanted(shape))
            return true;
        if (!made(shape, path))
            return false;
        for (const Command &command : commands_)
            if (command_wanted(shape, command))
                row(shape, command, path);
        std::filesystem::remove(path);
        return true;
    }

    bool row_wanted(const Shape &shape, const Command &command) const
    {
        const std::string row = std::string(shape.name) + ": " + command.name;
        return filters_.empty() || std::ranges::any_of(filters_, [&](const std::string &filter) {
                   return row.find(filter) != row.npos;
               });
    }
    // Returns true if the filters select the row, or select a row that is compared with it.
    bool command_wanted(const Shape &shape, const Command &command) const
    {
        return row_wanted(shape, command) || std::ranges::any_of(shapes_, [&](const Shape &other) {
                   return other.benign && std::string_view(other.benign) == shape.name &&
                          row_wanted(other, command);
               });
    }
    bool wanted(const Shape &shape) const
    {
        return std::ranges::any_of(
            commands_, [&](const Command &command) { return command_wanted(shape, command); });
    }

    void row(const Shape &shape, const Command &command, const std::string &path)
    {
        const std::string out = folder_ + "/out";
        std::vector<std::string> words = {PMUKIT_COMMAND};
        for (const std::string &word : command.words)
            words.push_back(word == "IN" ? path : word == "OUT" ? out : word);
        Run got = run(words, path);
        const auto times_of = [&] {
            const double with = benign_[shape.benign ? shape.benign : shape.name][command.name];
            return got.seconds / std::max(with, kLeastSeconds / kMostTimes);
        };
        for (int i = 1; i < kRuns && (!shape.benign || times_of() > kMostTimes); i++) {
            std::filesystem::remove_all(out);
            got.seconds = std::min(got.seconds, run(words, path).seconds);
        }
        std::filesystem::remove_all(out);
        if (!shape.benign)
            benign_[shape.name][command.name] = got.seconds;
        const double times = times_of();
        // Exit status 1: data is missing or damaged; 2: the command does not fit this recording.
        const bool ended = WIFEXITED(got.status) && WEXITSTATUS(got.status) <= 2;
        const bool good = ended && got.mib <= kMostMib && times <= kMostTimes;
        rows_++;
        failures_ += !good;
        std::printf("%-24s %-16s %8.2f s %6.1f x %7.1f MiB  %s\n", shape.name, command.name,
                    got.seconds, times, got.mib,
                    !ended               ? "DIED"
                    : good               ? ""
                    : got.mib > kMostMib ? "MEMORY"
                                         : "TIME");
        std::fflush(stdout);
    }

    std::string folder_;
    std::vector<std::string> filters_;
    const std::vector<Shape> shapes_ = shapes();
    const std::vector<Command> commands_ = commands();
    std::map<std::string, std::map<std::string, double>> benign_;
    size_t rows_ = 0, failures_ = 0;
};

}  // namespace

int main(int argc, char **argv)
{
    const char *temporary = std::getenv("TMPDIR");
    std::string folder = std::string(temporary ? temporary : "/tmp") + "/pmukit-hostile.XXXXXX";
    if (!::mkdtemp(folder.data())) {
        std::fprintf(stderr, "hostile: %s: cannot make a folder\n", folder.c_str());
        return 69;
    }
    // Stops runs that take minutes or gigabytes, because their rows have failed in any case.
    const rlimit seconds = {60, 60}, bytes = {size_t{1} << 30, size_t{1} << 30};
    ::setrlimit(RLIMIT_CPU, &seconds);
    ::setrlimit(RLIMIT_DATA, &bytes);
    Checker checker(folder, {argv + 1, argv + argc});
    const bool made = checker.all();
    std::filesystem::remove_all(folder);
    std::printf("hostile: %zu rows, %zu failed\n", checker.rows(), checker.failures());
    return !made ? 69 : checker.failures() ? 1 : 0;
}
