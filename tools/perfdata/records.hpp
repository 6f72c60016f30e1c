// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Bodies of the records of perf.data, up to Linux 7.2, except samples (sample.hpp). Formats:
// perf_event_open(2) for kernel records, perf.data-file-format.txt for records that perf adds.
//
// A parsed body borrows its texts and arrays from the record. Every parser returns nullopt if the
// body is too short for its fields. Bytes after them (sample_id) are ignored.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "perfdata/sample.hpp"

namespace pmukit::perfdata {

// A record. Its bytes are borrowed from the reader that returned it, until that reader's next step.
struct Record {
    uint32_t type = 0;
    uint16_t misc = 0;
    // Offset in the file; for a decompressed record, the offset of the compressed record.
    uint64_t offset = 0;
    Bytes body;  // the bytes after the record header
    // The bytes after an AUXTRACE or tracing-data record. A reader of a path or descriptor returns
    // a long payload in pieces, each with the record repeated.
    Bytes payload;
    uint64_t payload_at = 0;     // offset of this piece in the payload
    uint64_t payload_bytes = 0;  // size of the whole payload
};

// "SAMPLE", "AUXTRACE"; empty: a type newer than Linux 7.2.
std::string_view record_name(uint32_t type);
// Returns true for records that hold the header in pipe layout: HEADER_ATTR, HEADER_FEATURE,
// EVENT_UPDATE ...
bool is_pipe_header(uint32_t type);
// Returns true if the content of the record is in the header in file layout. Units and scales of
// events are not.
bool is_in_file_header(const Record &record, std::endian order);
// Returns the size of the payload, which follows a record and is not included in its 16-bit size.
// nullopt: the body is too short.
std::optional<uint64_t> payload_size(uint32_t type, Bytes body, std::endian order);

// Kernel records

struct MmapRecord {
    uint32_t pid = 0, tid = 0;
    uint64_t address = 0, bytes = 0, file_offset = 0;
    std::string_view path;
    // MMAP2 only
    uint32_t protection = 0, flags = 0;
    uint32_t major = 0, minor = 0;
    uint64_t inode = 0, inode_generation = 0;
    Bytes build_id;  // empty: the record has the inode instead
};
std::optional<MmapRecord> parse_mmap(Bytes body, std::endian order);
// misc: the misc field of the record header. If PERF_RECORD_MISC_MMAP_BUILD_ID is set, the record
// has a build id instead of the inode, if what is there can be one: Linux 6.18 sets the flag too
// often.
std::optional<MmapRecord> parse_mmap2(Bytes body, uint16_t misc, std::endian order);

struct CommRecord {
    uint32_t pid = 0, tid = 0;
    std::string_view name;
};
std::optional<CommRecord> parse_comm(Bytes body, std::endian order);

// FORK and EXIT
struct TaskRecord {
    uint32_t pid = 0, parent_pid = 0, tid = 0, parent_tid = 0;
    uint64_t time_ns = 0;
};
std::optional<TaskRecord> parse_task(Bytes body, std::endian order);

struct LostRecord {
    uint64_t id = 0, lost = 0;
};
std::optional<LostRecord> parse_lost(Bytes body, std::endian order);
std::optional<uint64_t> parse_lost_samples(Bytes body, std::endian order);

// THROTTLE and UNTHROTTLE
struct ThrottleRecord {
    uint64_t time_ns = 0, id = 0, stream_id = 0;
};
std::optional<ThrottleRecord> parse_throttle(Bytes body, std::endian order);

struct ReadRecord {
    uint32_t pid = 0, tid = 0;
    CountView counts;
};
std::optional<ReadRecord> parse_read(Bytes body, const Attr &attr, std::endian order);

// PERF_RECORD_AUX: data that the kernel wrote into an AUX area.
struct AuxRecord {
    uint64_t offset = 0, size = 0;  // bytes since the event began
    uint64_t flags = 0;             // PERF_AUX_FLAG_*
};
std::optional<AuxRecord> parse_aux(Bytes body, std::endian order);

// The thread of ITRACE_START, or the other thread of the switch in SWITCH_CPU_WIDE.
struct ThreadRecord {
    uint32_t pid = 0, tid = 0;
};
std::optional<ThreadRecord> parse_thread(Bytes body, std::endian order);

struct NamespacesRecord {
    uint32_t pid = 0, tid = 0;
    WordView links;  // device, inode, device, inode ...
};
std::optional<NamespacesRecord> parse_namespaces(Bytes body, std::endian order);

struct KsymbolRecord {
    uint64_t address = 0;
    uint32_t bytes = 0;
    uint16_t type = 0, flags = 0;
    std::string_view name;
};
std::optional<KsymbolRecord> parse_ksymbol(Bytes body, std::endian order);

struct BpfRecord {
    uint16_t type = 0, flags = 0;
    uint32_t id = 0;
    Bytes tag;
};
std::optional<BpfRecord> parse_bpf(Bytes body, std::endian order);

struct CgroupRecord {
    uint64_t id = 0;
    std::string_view path;
};
std::optional<CgroupRecord> parse_cgroup(Bytes body, std::endian order);

struct TextPokeRecord {
    uint64_t address = 0;
    Bytes before, after;
};
std::optional<TextPokeRecord> parse_text_poke(Bytes body, std::endian order);

std::optional<uint64_t> parse_aux_output_hw_id(Bytes body, std::endian order);

struct CallchainDeferredRecord {
    uint64_t cookie = 0;
    WordView callchain;
};
std::optional<CallchainDeferredRecord> parse_callchain_deferred(Bytes body, std::endian order);

// Records that perf adds

// AUXTRACE: data that the recorder read from an AUX area.
struct AuxtraceRecord {
    uint64_t size = 0, offset = 0;
    uint64_t reference = 0;                // event id from pmukit's writer; any number from others
    uint32_t index = 0, tid = 0, cpu = 0;  // UINT32_MAX: any
};
constexpr size_t kAuxtraceBodyBytes = 40;
std::optional<AuxtraceRecord> parse_auxtrace(Bytes body, std::endian order);

struct AuxtraceInfoRecord {
    uint32_t type = 0;  // number of the PMU in stock perf, for example 6 for hisi_ptt
    WordView priv;
};
std::optional<AuxtraceInfoRecord> parse_auxtrace_info(Bytes body, std::endian order);

struct AuxtraceErrorRecord {
    uint32_t type = 0, code = 0, cpu = 0, pid = 0, tid = 0;
    uint64_t ip = 0;
    std::string_view message;
};
std::optional<AuxtraceErrorRecord> parse_auxtrace_error(Bytes body, std::endian order);

// ID_INDEX: assigns event ids to rings, CPUs and threads.
class IdIndexView {
public:
    struct Entry {
        uint64_t id, index;
        uint32_t cpu, tid;  // UINT32_MAX: any
    };
    IdIndexView() = default;
    explicit IdIndexView(WordView words) : words_(words) {}
    size_t size() const { return words_.size() / 4; }
    Entry operator[](size_t i) const
    {
        return {words_[4 * i], words_[4 * i + 1], static_cast<uint32_t>(words_[4 * i + 2]),
                static_cast<uint32_t>(words_[4 * i + 3])};
    }

private:
    WordView words_;
};
std::optional<IdIndexView> parse_id_index(Bytes body, std::endian order);

struct BuildIdRecord {
    uint32_t pid = 0;
    Bytes build_id;
    std::string_view path;
};
// misc: the misc field of the record header. If PERF_RECORD_MISC_BUILD_ID_SIZE is set, the record
// stores the length of its build id. Otherwise the build id has 20 bytes.
std::optional<BuildIdRecord> parse_build_id(Bytes body, uint16_t misc, std::endian order);

// EVENT_UPDATE: further properties of the event with this id.
struct EventUpdateRecord {
    enum Type : uint64_t { kUnit = 0, kScale = 1, kName = 2, kCpus = 3 };
    uint64_t type = 0, id = 0;
    Bytes data;
    std::string_view text;  // for kUnit and kName
};
std::optional<EventUpdateRecord> parse_event_update(Bytes body, std::endian order);

// data may claim more CPUs than it contains; cpus_of() returns those that it contains.
struct CpuMapRecord {
    enum Type : uint16_t { kCpus = 0, kMask = 1, kRange = 2 };
    uint16_t type = 0;
    Bytes data;
};
std::optional<CpuMapRecord> parse_cpu_map(Bytes body, std::endian order);
// Returns the CPUs of a map in ascending order, as perf writes them; UINT32_MAX: any CPU. Empty:
// the type is newer than Linux 7.2.
std::vector<uint32_t> cpus_of(const CpuMapRecord &map, std::endian order);

struct ThreadMapRecord {
    uint64_t count = 0;
    Bytes entries;  // 24 bytes each: pid, name
};
std::optional<ThreadMapRecord> parse_thread_map(Bytes body, std::endian order);

struct StatRecord {
    uint64_t id = 0;
    uint32_t cpu = 0, thread = 0;
    uint64_t value = 0, enabled_ns = 0, running_ns = 0;
};
std::optional<StatRecord> parse_stat(Bytes body, std::endian order);

struct StatRoundRecord {
    uint64_t type = 0, time_ns = 0;
};
std::optional<StatRoundRecord> parse_stat_round(Bytes body, std::endian order);

// STAT_CONFIG: tag, value, tag, value ...
std::optional<WordView> parse_stat_config(Bytes body, std::endian order);

// TIME_CONV: conversion of the time stamp counter to perf time, as in struct perf_event_mmap_page.
// In short records, cycles and all later members are 0.
struct TimeConvRecord {
    uint64_t shift = 0, mult = 0, zero = 0;
    uint64_t cycles = 0, mask = 0;
    bool user_time_zero = false, user_time_short = false;
};
std::optional<TimeConvRecord> parse_time_conv(Bytes body, std::endian order);

// SCHEDSTAT_CPU and SCHEDSTAT_DOMAIN: /proc/schedstat, in the given version.
struct SchedstatCpuRecord {
    uint64_t jiffies = 0;
    uint32_t cpu = 0;
    uint16_t version = 0;
    // yields, array expired, schedules, schedules to idle, wake-ups, local wake-ups
    std::array<uint32_t, 6> counts{};
    uint64_t run_ns = 0, wait_ns = 0, slices = 0;
};
std::optional<SchedstatCpuRecord> parse_schedstat_cpu(Bytes body, std::endian order);

struct SchedstatDomainRecord {
    uint64_t jiffies = 0;
    uint32_t cpu = 0;
    uint16_t version = 0, domain = 0;
    Bytes counts;  // 32 bits each: 36 counts in versions 15 and 16, 45 in version 17
};
std::optional<SchedstatDomainRecord> parse_schedstat_domain(Bytes body, std::endian order);

// BPF_METADATA: metadata of a BPF program.
struct BpfMetadataRecord {
    std::string_view program;
    uint64_t count = 0;
    Bytes entries;  // 320 bytes each: name (64), value (256), padded with NULs
};
std::optional<BpfMetadataRecord> parse_bpf_metadata(Bytes body, std::endian order);

}  // namespace pmukit::perfdata
