// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "perfdata/features.hpp"

#include <iterator>

#include "perfdata/format.hpp"

namespace pmukit::perfdata {
namespace {

constexpr std::string_view kNames[] = {
    "",
    "TRACING_DATA",
    "BUILD_ID",
    "HOSTNAME",
    "OSRELEASE",
    "VERSION",
    "ARCH",
    "NRCPUS",
    "CPUDESC",
    "CPUID",
    "TOTAL_MEM",
    "CMDLINE",
    "EVENT_DESC",
    "CPU_TOPOLOGY",
    "NUMA_TOPOLOGY",
    "BRANCH_STACK",
    "PMU_MAPPINGS",
    "GROUP_DESC",
    "AUXTRACE",
    "STAT",
    "CACHE",
    "SAMPLE_TIME",
    "MEM_TOPOLOGY",
    "CLOCKID",
    "DIR_FORMAT",
    "BPF_PROG_INFO",
    "BPF_BTF",
    "COMPRESSED",
    "CPU_PMU_CAPS",
    "CLOCK_DATA",
    "HYBRID_TOPOLOGY",
    "PMU_CAPS",
    "CPU_DOMAIN_INFO",
    "E_MACHINE",
    "CLN_SIZE",
};

// Reads fields one after another. Past the end, reads return zeros and empty texts; whole() is then
// false.
class Content {
public:
    Content(Bytes bytes, std::endian order) : in_(bytes, order), order_(order) {}

    bool whole() const { return whole_; }
    size_t left() const { return in_.left(); }
    std::endian order() const { return order_; }
    uint16_t u16() { return keep(in_.u16()); }
    uint32_t u32() { return keep(in_.u32()); }
    uint64_t u64() { return keep(in_.u64()); }
    Bytes take(size_t size) { return keep(in_.take(size)); }
    // Reads a 32-bit length, then a text of that many bytes, padded with NULs.
    std::string_view text()
    {
        Bytes bytes = take(u32());
        std::string_view padded(reinterpret_cast<const char *>(bytes.data()), bytes.size());
        return padded.substr(0, padded.find('\0'));
    }
    WordView words(uint64_t count)
    {
        if (count > left() / sizeof(uint64_t)) {
            whole_ = false;
            return {};
        }
        return WordView(take(count * sizeof(uint64_t)), order_);
    }

    // Reads up to `count` elements, each with read(*this).
    template <typename T, typename Read>
    std::vector<T> list(uint64_t count, Read read)
    {
        std::vector<T> elements;
        for (uint64_t i = 0; i < count && whole_; i++) {
            const size_t before = left();
            elements.push_back(read(*this));
            // An element that takes no bytes is invalid: such a list could claim any count.
            whole_ = whole_ && left() < before;
        }
        return elements;
    }
    std::vector<std::string_view> texts()
    {
        return list<std::string_view>(u32(), [](Content &in) { return in.text(); });
    }

    template <typename T>
    std::optional<T> done(T value) const
    {
        return whole_ ? std::optional<T>(std::move(value)) : std::nullopt;
    }

private:
    template <typename T>
    T keep(std::optional<T> value)
    {
        whole_ = whole_ && value;
        return value.value_or(T{});
    }

    ByteReader in_;
    std::endian order_;
    bool whole_ = true;
};

EventDescription read_event(Content &in, uint32_t attr_bytes)
{
    EventDescription event;
    Bytes bytes = in.take(attr_bytes);
    if (Result<Attr> attr = parse_attr(bytes, in.order()))
        event.attr = *attr;
    uint32_t ids = in.u32();
    event.name = in.text();
    event.ids = in.words(ids);
    return event;
}

PmuCaps read_caps(Content &in)
{
    using Cap = std::pair<std::string_view, std::string_view>;
    PmuCaps caps;
    caps.caps = in.list<Cap>(in.u32(), [](Content &from) {
        std::string_view name = from.text();
        return Cap(name, from.text());
    });
    return caps;
}

}  // namespace

std::string_view feature_name(unsigned feature)
{
    return feature < std::size(kNames) ? kNames[feature] : std::string_view();
}

std::optional<std::string_view> parse_text_feature(Bytes content, std::endian order)
{
    Content in(content, order);
    return in.done(in.text());
}

std::optional<std::vector<std::string_view>> parse_text_list(Bytes content, std::endian order)
{
    Content in(content, order);
    return in.done(in.texts());
}

std::optional<uint64_t> parse_word_feature(Bytes content, std::endian order)
{
    return ByteReader(content, order).u64();
}

std::optional<CpuCounts> parse_cpu_counts(Bytes content, std::endian order)
{
    Content in(content, order);
    CpuCounts counts;
    counts.available = in.u32();
    counts.online = in.u32();
    return in.done(counts);
}

std::optional<std::vector<BuildIdRecord>> parse_build_ids(Bytes content, std::endian order)
{
    std::vector<BuildIdRecord> ids;
    while (!content.empty()) {
        if (content.size() < kRecordHeaderBytes)
            return std::nullopt;
        const uint16_t misc = load<uint16_t>(content.data() + 4, order);
        const size_t size = load<uint16_t>(content.data() + 6, order);
        if (size < kRecordHeaderBytes || size > content.size())
            return std::nullopt;
        std::optional<BuildIdRecord> id = parse_build_id(
            content.subspan(kRecordHeaderBytes, size - kRecordHeaderBytes), misc, order);
        if (!id)
            return std::nullopt;
        ids.push_back(*id);
        content = content.subspan(size);
    }
    return ids;
}

std::optional<std::vector<EventDescription>> parse_event_descriptions(Bytes content,
                                                                      std::endian order)
{
    Content in(content, order);
    uint32_t count = in.u32(), attr_bytes = in.u32();
    if (attr_bytes < kAttrMinBytes)
        return std::nullopt;
    return in.done(in.list<EventDescription>(
        count, [attr_bytes](Content &from) { return read_event(from, attr_bytes); }));
}

std::optional<CpuTopology> parse_cpu_topology(Bytes content, uint32_t cpus, std::endian order)
{
    Content in(content, order);
    CpuTopology topology;
    topology.sibling_cores = in.texts();
    topology.sibling_threads = in.texts();
    constexpr size_t kCpuBytes = 8;
    if (in.left() >= uint64_t{cpus} * kCpuBytes)
        topology.cpus = in.list<CpuTopology::Cpu>(cpus, [](Content &from) {
            CpuTopology::Cpu cpu;
            cpu.core = from.u32();
            cpu.socket = from.u32();
            return cpu;
        });
    // In sections of newer perf versions, dies follow the CPUs.
    if (in.left() == 0)
        return in.done(std::move(topology));
    topology.sibling_dies = in.texts();
    for (CpuTopology::Cpu &cpu : topology.cpus)
        cpu.die = in.u32();
    return in.done(std::move(topology));
}

std::optional<std::vector<NumaNode>> parse_numa_topology(Bytes content, std::endian order)
{
    Content in(content, order);
    return in.done(in.list<NumaNode>(in.u32(), [](Content &from) {
        NumaNode node;
        node.node = from.u32();
        node.total_kib = from.u64();
        node.free_kib = from.u64();
        node.cpus = from.text();
        return node;
    }));
}

std::optional<std::vector<PmuName>> parse_pmu_mappings(Bytes content, std::endian order)
{
    Content in(content, order);
    return in.done(in.list<PmuName>(in.u32(), [](Content &from) {
        uint32_t type = from.u32();
        return PmuName(type, from.text());
    }));
}

std::optional<std::vector<GroupDescription>> parse_groups(Bytes content, std::endian order)
{
    Content in(content, order);
    return in.done(in.list<GroupDescription>(in.u32(), [](Content &from) {
        GroupDescription group;
        group.name = from.text();
        group.leader = from.u32();
        group.members = from.u32();
        return group;
    }));
}

std::optional<std::vector<CacheLevel>> parse_caches(Bytes content, std::endian order)
{
    constexpr uint32_t kVersion = 1;
    Content in(content, order);
    if (in.u32() != kVersion)
        return std::nullopt;
    return in.done(in.list<CacheLevel>(in.u32(), [](Content &from) {
        CacheLevel cache;
        cache.level = from.u32();
        cache.line_bytes = from.u32();
        cache.sets = from.u32();
        cache.ways = from.u32();
        cache.type = from.text();
        cache.size = from.text();
        cache.cpus = from.text();
        return cache;
    }));
}

std::optional<TimeSpan> parse_sample_time(Bytes content, std::endian order)
{
    Content in(content, order);
    TimeSpan span;
    span.first_ns = in.u64();
    span.last_ns = in.u64();
    return in.done(span);
}

std::optional<MemoryTopology> parse_memory_topology(Bytes content, std::endian order)
{
    constexpr uint64_t kVersion = 1;
    Content in(content, order);
    if (in.u64() != kVersion)
        return std::nullopt;
    MemoryTopology topology;
    topology.block_bytes = in.u64();
    topology.nodes = in.list<MemoryNode>(in.u64(), [](Content &from) {
        MemoryNode node;
        node.node = from.u64();
        from.u64();  // allocated bits of the bitmap, unused here
        uint64_t bits = from.u64();
        node.blocks = from.words(bits / 64 + (bits % 64 != 0));
        return node;
    });
    return in.done(std::move(topology));
}

std::optional<Compression> parse_compression(Bytes content, std::endian order)
{
    Content in(content, order);
    Compression compression;
    compression.version = in.u32();
    compression.type = in.u32();
    compression.level = in.u32();
    compression.ratio = in.u32();
    compression.mmap_bytes = in.u32();
    return in.done(compression);
}

std::optional<ClockData> parse_clock_data(Bytes content, std::endian order)
{
    Content in(content, order);
    ClockData clock;
    clock.version = in.u32();
    clock.clock_id = in.u32();
    clock.wall_ns = in.u64();
    clock.clock_ns = in.u64();
    return in.done(clock);
}

std::optional<std::vector<HybridNode>> parse_hybrid_topology(Bytes content, std::endian order)
{
    Content in(content, order);
    return in.done(in.list<HybridNode>(in.u32(), [](Content &from) {
        HybridNode node;
        node.pmu = from.text();
        node.cpus = from.text();
        return node;
    }));
}

std::optional<PmuCaps> parse_cpu_pmu_caps(Bytes content, std::endian order)
{
    Content in(content, order);
    return in.done(read_caps(in));
}

std::optional<std::vector<PmuCaps>> parse_pmu_caps(Bytes content, std::endian order)
{
    Content in(content, order);
    return in.done(in.list<PmuCaps>(in.u32(), [](Content &from) {
        PmuCaps caps = read_caps(from);
        caps.pmu = from.text();
        return caps;
    }));
}

std::optional<DomainInfo> parse_domain_info(Bytes content, std::endian order)
{
    constexpr uint32_t kSchedstatWithNames = 17;
    Content in(content, order);
    DomainInfo info;
    info.schedstat_version = in.u32();
    info.max_domains = in.u32();
    while (in.whole() && in.left() != 0) {
        CpuDomains cpu;
        cpu.cpu = in.u32();
        cpu.domains = in.list<SchedDomain>(in.u32(), [&info](Content &from) {
            SchedDomain domain;
            domain.number = from.u32();
            if (info.schedstat_version >= kSchedstatWithNames)
                domain.name = from.text();
            domain.cpu_mask = from.text();
            domain.cpus = from.text();
            return domain;
        });
        info.cpus.push_back(std::move(cpu));
    }
    return in.done(std::move(info));
}

std::optional<ElfMachine> parse_elf_machine(Bytes content, std::endian order)
{
    Content in(content, order);
    ElfMachine elf;
    elf.machine = in.u32();
    elf.flags = in.u32();
    return in.done(elf);
}

std::optional<uint32_t> parse_cache_line_bytes(Bytes content, std::endian order)
{
    return ByteReader(content, order).u32();
}

std::optional<std::vector<AuxtraceIndexEntry>> parse_auxtrace_index(Bytes content,
                                                                    std::endian order)
{
    Content in(content, order);
    return in.done(in.list<AuxtraceIndexEntry>(in.u64(), [](Content &from) {
        AuxtraceIndexEntry entry;
        entry.offset = from.u64();
        entry.bytes = from.u64();
        return entry;
    }));
}

}  // namespace pmukit::perfdata
