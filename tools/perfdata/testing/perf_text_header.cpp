// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause

#include <algorithm>
#include <iterator>

#include "base/text.hpp"
#include "perfdata/features.hpp"
#include "perfdata/format.hpp"
#include "perfdata/testing/perf_text.hpp"

namespace pmukit::perfdata::testing {
namespace {

// Prints the sections in perf's format; prints nothing for a section that it cannot parse.
class HeaderText {
public:
    explicit HeaderText(const Reader &reader) : reader_(reader), order_(reader.order()) {}
    std::string all();

private:
    template <typename... Args>
    void say(fmt::format_string<Args...> format, Args &&...args)
    {
        append(text_, format, std::forward<Args>(args)...);
    }
    void section(unsigned feature, Bytes content);
    void text(std::string_view title, Bytes content);
    void cpu_counts(Bytes content);
    void topology(Bytes content);
    void numa(Bytes content);
    void pmus(Bytes content);
    void groups(Bytes content);
    void caches(Bytes content);
    void memory(Bytes content);
    void compression(Bytes content);
    void caps(const PmuCaps &caps);
    void domains(Bytes content);

    const Reader &reader_;
    std::endian order_;
    std::string text_;
};

void HeaderText::text(std::string_view title, Bytes content)
{
    if (auto found = parse_text_feature(content, order_))
        say("# {} : {}\n", title, *found);
}

void HeaderText::cpu_counts(Bytes content)
{
    if (auto counts = parse_cpu_counts(content, order_))
        say("# nrcpus online : {}\n# nrcpus avail : {}\n", counts->online, counts->available);
}

void HeaderText::topology(Bytes content)
{
    auto known = reader_.feature(kFeatNrCpus);
    auto counts = known ? parse_cpu_counts(*known, order_) : std::nullopt;
    auto topology = parse_cpu_topology(content, counts ? counts->available : 0, order_);
    if (!topology)
        return;
    for (std::string_view cores : topology->sibling_cores)
        say("# sibling sockets : {}\n", cores);
    for (std::string_view dies : topology->sibling_dies)
        say("# sibling dies    : {}\n", dies);
    for (std::string_view threads : topology->sibling_threads)
        say("# sibling threads : {}\n", threads);
    for (size_t i = 0; i < topology->cpus.size(); i++) {
        const CpuTopology::Cpu &cpu = topology->cpus[i];
        if (topology->sibling_dies.empty())
            say("# CPU {}: Core ID {}, Socket ID {}\n", i, cpu.core, static_cast<int>(cpu.socket));
        else
            say("# CPU {}: Core ID {}, Die ID {}, Socket ID {}\n", i, cpu.core, cpu.die,
                static_cast<int>(cpu.socket));
    }
}

void HeaderText::numa(Bytes content)
{
    if (auto nodes = parse_numa_topology(content, order_))
        for (const NumaNode &node : *nodes)
            say("# node{} meminfo  : total = {} kB, free = {} kB\n# node{} cpu list : {}\n",
                node.node, node.total_kib, node.free_kib, node.node, node.cpus);
}

void HeaderText::pmus(Bytes content)
{
    auto pmus = parse_pmu_mappings(content, order_);
    if (!pmus)
        return;
    std::string_view before = "# pmu mappings: ";
    for (const PmuName &pmu : *pmus) {
        say("{}{} = {}", before, pmu.second, pmu.first);
        before = ", ";
    }
    say("\n");
}

void HeaderText::groups(Bytes content)
{
    auto groups = parse_groups(content, order_);
    if (!groups)
        return;
    for (const GroupDescription &group : *groups) {
        if (group.members < 2 || group.leader + group.members > reader_.events().size())
            continue;
        say("# group: {}{{", group.name == "{anon_group}" ? std::string_view() : group.name);
        for (uint32_t i = 0; i < group.members; i++)
            say("{}{}", i ? "," : "", reader_.events()[group.leader + i].name);
        say("}}\n");
    }
}

void HeaderText::caches(Bytes content)
{
    auto caches = parse_caches(content, order_);
    if (!caches)
        return;
    say("# CPU cache info:\n");
    for (const CacheLevel &cache : *caches)
        say("#  L{} {:<15} {:>8} [{}]\n", cache.level, cache.type, cache.size, cache.cpus);
}

void HeaderText::memory(Bytes content)
{
    auto topology = parse_memory_topology(content, order_);
    if (!topology)
        return;
    say("# memory nodes (nr {}, block size {:#x}):\n", topology->nodes.size(),
        topology->block_bytes);
    for (const MemoryNode &node : topology->nodes) {
        uint64_t blocks = 0;
        for (size_t i = 0; i < node.blocks.size(); i++)
            blocks += static_cast<uint64_t>(std::popcount(node.blocks[i]));
        // The list of memory blocks is not printed.
        say("# {:4} [{}M]\n", node.node, blocks * topology->block_bytes >> 20);
    }
}

void HeaderText::compression(Bytes content)
{
    if (auto packed = parse_compression(content, order_))
        say("# compressed : {}, level = {}, ratio = {}\n", packed->type == 1 ? "Zstd" : "Unknown",
            packed->level, packed->ratio);
}

void HeaderText::caps(const PmuCaps &caps)
{
    say("# {} pmu capabilities: ", caps.pmu.empty() ? "cpu" : caps.pmu);
    for (size_t i = 0; i < caps.caps.size(); i++)
        say("{}{}={}", i ? ", " : "", caps.caps[i].first, caps.caps[i].second);
    say("{}\n", caps.caps.empty() ? "not available" : "");
}

void HeaderText::domains(Bytes content)
{
    auto info = parse_domain_info(content, order_);
    if (!info)
        return;
    say("# schedstat version\t: {}\n# Maximum sched domains\t: {}\n", info->schedstat_version,
        info->max_domains);
    for (const CpuDomains &cpu : info->cpus) {
        say("# cpu\t\t: {}\n# nr_domains\t: {}\n", cpu.cpu, cpu.domains.size());
        for (const SchedDomain &domain : cpu.domains)
            say("# Domain\t\t: {}\n# Domain name      : {}\n# Domain cpu map   : {}\n"
                "# Domain cpu list  : {}\n",
                domain.number, domain.name, domain.cpu_mask, domain.cpus);
    }
}

void HeaderText::section(unsigned feature, Bytes content)
{
    switch (feature) {
        case kFeatHostname:
            return text("hostname", content);
        case kFeatOsRelease:
            return text("os release", content);
        case kFeatVersion:
            return text("perf version", content);
        case kFeatArch:
            return text("arch", content);
        case kFeatNrCpus:
            return cpu_counts(content);
        case kFeatCpuDesc:
            return text("cpudesc", content);
        case kFeatCpuId:
            return text("cpuid", content);
        case kFeatTotalMem:
            if (auto kib = parse_word_feature(content, order_))
                say("# total memory : {} kB\n", *kib);
            return;
        case kFeatCpuTopology:
            return topology(content);
        case kFeatNumaTopology:
            return numa(content);
        case kFeatPmuMappings:
            return pmus(content);
        case kFeatGroupDesc:
            return groups(content);
        case kFeatCache:
            return caches(content);
        case kFeatSampleTime:
            if (auto span = parse_sample_time(content, order_))
                say("# time of first sample : {}.{:06}\n# time of last sample : {}.{:06}\n",
                    span->first_ns / 1000000000, span->first_ns % 1000000000 / 1000,
                    span->last_ns / 1000000000, span->last_ns % 1000000000 / 1000);
            return;
        case kFeatMemTopology:
            return memory(content);
        case kFeatClockId:
            if (auto ns = parse_word_feature(content, order_))
                say("# clockid frequency: {} MHz\n", *ns * 1000);
            return;
        case kFeatDirFormat:
            if (auto version = parse_word_feature(content, order_))
                say("# directory data version : {}\n", *version);
            return;
        case kFeatCompressed:
            return compression(content);
        case kFeatCpuPmuCaps:
            if (auto cpu = parse_cpu_pmu_caps(content, order_))
                caps(*cpu);
            return;
        case kFeatPmuCaps:
            if (auto pmus = parse_pmu_caps(content, order_))
                for (const PmuCaps &pmu : *pmus)
                    caps(pmu);
            return;
        case kFeatCpuDomainInfo:
            return domains(content);
        case kFeatEMachine:
            if (auto elf = parse_elf_machine(content, order_))
                say("# e_machine : {}\n#   e_flags : {}\n", elf->machine, elf->flags);
            return;
        case kFeatClnSize:
            if (auto bytes = parse_cache_line_bytes(content, order_))
                say("# cacheline size: {}\n", *bytes);
            return;
        default:
            return;
    }
}

std::string HeaderText::all()
{
    for (const FeatureSection &found : reader_.features())
        if (std::optional<Bytes> content = reader_.feature(found.feature))
            section(found.feature, *content);
    return std::move(text_);
}

}  // namespace

std::string perf_header_text(const Reader &reader)
{
    return HeaderText(reader).all();
}

}  // namespace pmukit::perfdata::testing
