// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Contents of the header's sections, as of Linux 7.2: perf.data-file-format.txt and the code of
// perf. Each parser takes the bytes that Reader::feature() returns, and returns nullopt if they end
// too early. Texts are borrowed from those bytes. Memory is allocated per element that was read,
// not by a count that the file claims.
//
// Sections without content (BRANCH_STACK, STAT) and opaque ones (TRACING_DATA, BPF_PROG_INFO,
// BPF_BTF) have no parser.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "perfdata/records.hpp"

namespace pmukit::perfdata {

// Returns a name such as "HOSTNAME"; empty: the section is newer than Linux 7.2.
std::string_view feature_name(unsigned feature);

// HOSTNAME, OSRELEASE, VERSION, ARCH, CPUDESC, CPUID
std::optional<std::string_view> parse_text_feature(Bytes content, std::endian order);
// CMDLINE
std::optional<std::vector<std::string_view>> parse_text_list(Bytes content, std::endian order);
// TOTAL_MEM (KiB), DIR_FORMAT (version), CLOCKID (ns resolution)
std::optional<uint64_t> parse_word_feature(Bytes content, std::endian order);

struct CpuCounts {
    uint32_t available = 0, online = 0;
};
std::optional<CpuCounts> parse_cpu_counts(Bytes content, std::endian order);

// BUILD_ID
std::optional<std::vector<BuildIdRecord>> parse_build_ids(Bytes content, std::endian order);

struct EventDescription {
    Attr attr;
    std::string_view name;
    WordView ids;
};
std::optional<std::vector<EventDescription>> parse_event_descriptions(Bytes content,
                                                                      std::endian order);

struct CpuTopology {
    std::vector<std::string_view> sibling_cores, sibling_threads, sibling_dies;
    struct Cpu {
        uint32_t core = 0, socket = 0, die = 0;
    };
    std::vector<Cpu> cpus;  // one per available CPU; empty in files of old perf versions
};
// cpus: available CPUs, from NRCPUS of the same file.
std::optional<CpuTopology> parse_cpu_topology(Bytes content, uint32_t cpus, std::endian order);

struct NumaNode {
    uint32_t node = 0;
    uint64_t total_kib = 0, free_kib = 0;
    std::string_view cpus;
};
std::optional<std::vector<NumaNode>> parse_numa_topology(Bytes content, std::endian order);

using PmuName = std::pair<uint32_t, std::string_view>;  // attr.type, name
std::optional<std::vector<PmuName>> parse_pmu_mappings(Bytes content, std::endian order);

struct GroupDescription {
    std::string_view name;
    uint32_t leader = 0, members = 0;  // index of the first event, and their number
};
std::optional<std::vector<GroupDescription>> parse_groups(Bytes content, std::endian order);

struct CacheLevel {
    uint32_t level = 0, line_bytes = 0, sets = 0, ways = 0;
    std::string_view type, size, cpus;
};
std::optional<std::vector<CacheLevel>> parse_caches(Bytes content, std::endian order);

struct TimeSpan {
    uint64_t first_ns = 0, last_ns = 0;
};
std::optional<TimeSpan> parse_sample_time(Bytes content, std::endian order);

struct MemoryNode {
    uint64_t node = 0;
    WordView blocks;  // a bitmap of memory blocks
};
struct MemoryTopology {
    uint64_t block_bytes = 0;
    std::vector<MemoryNode> nodes;
};
std::optional<MemoryTopology> parse_memory_topology(Bytes content, std::endian order);

struct Compression {
    uint32_t version = 0, type = 0, level = 0, ratio = 0, mmap_bytes = 0;
};
std::optional<Compression> parse_compression(Bytes content, std::endian order);

// The times of perf's clock and the wall clock at the same moment.
struct ClockData {
    uint32_t version = 0, clock_id = 0;
    uint64_t wall_ns = 0, clock_ns = 0;
};
std::optional<ClockData> parse_clock_data(Bytes content, std::endian order);

struct HybridNode {
    std::string_view pmu, cpus;
};
std::optional<std::vector<HybridNode>> parse_hybrid_topology(Bytes content, std::endian order);

// PMU capability that pmukit record adds: boot id of the recorded kernel
// (/proc/sys/kernel/random/boot_id).
constexpr const char *kBootCap = "boot";

struct PmuCaps {
    std::string_view pmu;  // empty in CPU_PMU_CAPS
    std::vector<std::pair<std::string_view, std::string_view>> caps;
};
// CPU_PMU_CAPS
std::optional<PmuCaps> parse_cpu_pmu_caps(Bytes content, std::endian order);
// PMU_CAPS
std::optional<std::vector<PmuCaps>> parse_pmu_caps(Bytes content, std::endian order);

// CPU_DOMAIN_INFO: the scheduler's domains.
struct SchedDomain {
    uint32_t number = 0;
    std::string_view name, cpu_mask, cpus;  // name: empty if the kernel has none
};
struct CpuDomains {
    uint32_t cpu = 0;
    std::vector<SchedDomain> domains;
};
struct DomainInfo {
    uint32_t schedstat_version = 0, max_domains = 0;
    std::vector<CpuDomains> cpus;
};
std::optional<DomainInfo> parse_domain_info(Bytes content, std::endian order);

// E_MACHINE: machine of the recorded programs, as in an ELF header.
struct ElfMachine {
    uint32_t machine = 0, flags = 0;
};
std::optional<ElfMachine> parse_elf_machine(Bytes content, std::endian order);
// CLN_SIZE: bytes of a cache line
std::optional<uint32_t> parse_cache_line_bytes(Bytes content, std::endian order);

// AUXTRACE: the locations of the AUXTRACE records.
struct AuxtraceIndexEntry {
    uint64_t offset = 0, bytes = 0;  // location of the record with its header and payload
};
std::optional<std::vector<AuxtraceIndexEntry>> parse_auxtrace_index(Bytes content,
                                                                    std::endian order);

}  // namespace pmukit::perfdata
