// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Statements about L3 monitoring by RMID, from Intel SDM volume 3B and AMD APM volume 2; see
// Documentation/devices/cache_qos.rst. The device is the whole machine: its CPUID and MSRs or, if
// the driver runs on cache_qos_sim, files of cache_qos_sim and of the driver.
#include <fcntl.h>
#include <sched.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <bit>
#include <map>
#include <memory>
#include <set>

#include "base/file.hpp"
#include "cli/qualify/event.hpp"
#include "cli/qualify/machine.hpp"
#include "cli/qualify/tables.hpp"

namespace pmukit::cli::qualify {
namespace {

constexpr uint32_t kSncConfig = 0xca0, kEvtsel = 0xc8d, kCounter = 0xc8e, kPqr = 0xc8f,
                   kExtendedConfig = 0xc00003ff;
constexpr uint64_t kError = uint64_t{1} << 63, kUnavailable = uint64_t{1} << 62;
constexpr uint64_t kDataMask = kUnavailable - 1;
constexpr uint64_t kEvtselFields = 0xfff'000000ff, kExtendedEvent = uint64_t{1} << 31;
constexpr unsigned kOccupancy = 1, kTotal = 2, kLocal = 3;
constexpr uint32_t kIntelVendor = 0x756e6547, kAmdVendor = 0x68747541,
                   kHygonVendor = 0x6f677948;  // "Genu", "Auth", "Hygo"
constexpr const char *kQosPmu = "sys/bus/event_source/devices/cache_qos";
constexpr const char *kSim = "sys/kernel/debug/cache_qos_sim";

struct L3 {
    std::string name;
    uint64_t bytes = 0;
    std::set<unsigned> cpus{};
    std::set<std::string> packages{}, nodes{};
};

struct Qos {
    bool simulated = false;
    std::vector<unsigned> cpus;
    std::map<unsigned, CpuidLeaf> monitoring{}, resource{};  // leaves 0xf.0 and 0xf.1 of each CPU
    uint32_t vendor = 0, signature = 0;
    uint64_t carried = 0, readable = 0;  // highest RMIDs in CPUID leaves 0xf.0 and 0xf.1
    uint64_t unit = 0, width = 0;
    unsigned events = 0;              // bits: occupancy, total, local
    bool abmc = false, bmec = false;  // AMD: counters are assignable, traffic types are known
    std::vector<L3> caches{};
};

// Discovery

void read_caches(const Host &host, Qos &qos)
{
    std::map<std::string, L3> found;
    for (unsigned cpu : qos.cpus) {
        const std::string folder = text_of("sys/devices/system/cpu/cpu{}", cpu);
        for (const std::string &index : host.names(folder + "/cache")) {
            const std::string cache = folder + "/cache/" + index;
            if (host.text(cache + "/level") != "3")
                continue;
            const std::string id = host.text(cache + "/id").value_or("0");
            L3 &l3 = found[id];
            l3.name = "L3 " + id;
            const std::string size = host.text(cache + "/size").value_or("");
            const Result<uint64_t> kib = parse_u64(size.substr(0, size.find('K')));
            l3.bytes = kib ? *kib << 10 : 0;
            l3.cpus.insert(cpu);
            l3.packages.insert(host.text(folder + "/topology/physical_package_id").value_or("0"));
            for (const std::string &name : host.names(folder))
                if (name.starts_with("node") && name.size() > 4)
                    l3.nodes.insert(name);
        }
    }
    for (auto &[id, l3] : found)
        qos.caches.push_back(std::move(l3));
}

bool has_monitoring(const Machine &machine)
{
    const auto features = machine.cpuid(machine.cpus().front(), 7);
    return features && features->ebx >> 12 & 1;
}

Qos hardware_of(const Machine &machine)
{
    Qos qos;
    qos.cpus = machine.cpus();
    for (unsigned cpu : qos.cpus) {
        qos.monitoring[cpu] = machine.cpuid(cpu, 0xf, 0).value_or(CpuidLeaf{});
        qos.resource[cpu] = machine.cpuid(cpu, 0xf, 1).value_or(CpuidLeaf{});
    }
    const unsigned first = qos.cpus.front();
    qos.vendor = machine.cpuid(first, 0).value_or(CpuidLeaf{}).ebx;
    qos.signature = machine.cpuid(first, 1).value_or(CpuidLeaf{}).eax;
    const CpuidLeaf &resource = qos.resource[first];
    qos.carried = qos.monitoring[first].ebx;
    qos.readable = resource.ecx;
    qos.unit = resource.ebx;
    const uint64_t above = resource.eax & 0xff;
    qos.width = above                        ? 24 + above
                : qos.vendor == kAmdVendor   ? 44
                : qos.vendor == kHygonVendor ? 32
                                             : 24;
    qos.events = resource.edx & 7;
    const uint32_t features = machine.cpuid(first, 0x80000020, 0).value_or(CpuidLeaf{}).ebx;
    qos.abmc = features >> 5 & 1;
    qos.bmec = features >> 3 & 1;
    read_caches(machine.host(), qos);
    return qos;
}

Qos simulation_of(const Machine &machine)
{
    const Host &host = machine.host();
    const std::string caps = std::string(kQosPmu) + "/caps/";
    Qos qos;
    qos.simulated = true;
    qos.cpus = machine.cpus();
    const uint64_t count = static_cast<uint64_t>(host.number(caps + "nr_rmid").value_or(0));
    qos.carried = qos.readable = count ? count - 1 : 0;
    qos.unit = static_cast<uint64_t>(host.number(caps + "scale").value_or(0));
    qos.width = static_cast<uint64_t>(host.number(caps + "width").value_or(0));
    constexpr const char *kNames[] = {"llc_occupancy", "total_bytes", "local_bytes"};
    for (unsigned i = 0; i < 3; i++)
        qos.events |= unsigned{host.has(text_of("{}/events/{}", kQosPmu, kNames[i]))} << i;
    const std::string domains = host.text(text_of("{}/domains", kQosPmu)).value_or("");
    for (std::string_view line : split(domains, '\n')) {
        const std::vector<std::string_view> words = split(trim(line), ' ');
        if (words.size() < 3)
            continue;
        const Result<uint64_t> bytes = parse_u64(words[2]);
        qos.caches.push_back({"L3 " + std::string(words[0]), bytes ? *bytes : 0});
    }
    return qos;
}

uint32_t family_of(const Qos &qos)
{
    return qos.signature >> 8 & 0xf;
}

uint32_t model_of(const Qos &qos)
{
    return (qos.signature >> 4 & 0xf) | (qos.signature >> 12 & 0xf0);
}

// NUMA nodes per L3; above 1 with sub-NUMA clustering. As in the driver, the number of RMIDs that a
// CPU may carry and the size of a unit are those of CPUID divided by it.
uint64_t nodes_per_l3(const Qos &qos)
{
    size_t most = 1;
    for (const L3 &l3 : qos.caches)
        most = std::max(most, l3.nodes.size());
    return most;
}

// Registers. The debugfs files of cache_qos_sim have only PQR_ASSOC and QM_EVTSEL.

Result<uint64_t> read_register(const Machine &machine, const Qos &qos, unsigned cpu,
                               uint32_t number)
{
    if (!qos.simulated)
        return machine.msr(cpu, number);
    const std::string file = machine.host().text(text_of("{}/cpus", kSim)).value_or("");
    const std::string wanted = text_of("cpu {} ", cpu), name = number == kPqr ? "pqr" : "evtsel";
    for (std::string_view line : split(file, '\n')) {
        const std::vector<std::string_view> words = split(line, ' ');
        const auto at = std::ranges::find(words, name);
        if (line.starts_with(wanted) && at != words.end() && at + 1 != words.end())
            return parse_u64(*(at + 1));
    }
    return Error{Errc::kNotFound, text_of("{}/cpus has no CPU {}", kSim, cpu)};
}

// Checks that only read

Outcome check_same_cpus(const Machine &, Qos &qos)
{
    if (qos.simulated)
        return not_tested("the simulation has no CPUID");
    const auto equal = [](const CpuidLeaf &a, const CpuidLeaf &b) {
        return a.eax == b.eax && a.ebx == b.ebx && a.ecx == b.ecx && a.edx == b.edx;
    };
    for (unsigned cpu : qos.cpus)
        if (!equal(qos.monitoring[cpu], qos.monitoring[qos.cpus.front()]) ||
            !equal(qos.resource[cpu], qos.resource[qos.cpus.front()]))
            return fail("CPU {} differs from CPU {}", cpu, qos.cpus.front());
    return pass("{} CPUs", qos.cpus.size());
}

Outcome check_l3_resource(const Machine &, Qos &qos)
{
    if (!qos.simulated && !(qos.monitoring[qos.cpus.front()].edx >> 1 & 1))
        return fail("leaf 0xf.0 EDX is {:#x}", qos.monitoring[qos.cpus.front()].edx);
    return qos.events & 1 ? pass("events {:#x}", qos.events)
                          : fail("no occupancy: events {:#x}", qos.events);
}

Outcome check_rmids(const Machine &, Qos &qos)
{
    if (qos.readable < 1 || qos.readable > qos.carried)
        return fail("highest RMID {} in PQR_ASSOC, {} in QM_CTR", qos.carried, qos.readable);
    return pass("highest RMID {} in PQR_ASSOC, {} in QM_CTR", qos.carried, qos.readable);
}

Outcome check_unit(const Machine &, Qos &qos)
{
    if (!qos.unit)
        return fail("0 bytes");
    for (const L3 &l3 : qos.caches)
        if (l3.bytes && l3.bytes < qos.unit)
            return fail("{} bytes, {} has {}", qos.unit, l3.name, l3.bytes);
    return pass("{} bytes", qos.unit);
}

Outcome check_width(const Machine &, Qos &qos)
{
    return qos.width >= 24 && qos.width <= 62 ? pass("{} bits", qos.width)
                                              : fail("{} bits", qos.width);
}

// True if the driver supports an L3 of this processor that is divided among so many NUMA nodes.
bool supports_division(const Qos &qos, size_t nodes)
{
    constexpr uint32_t kModels[] = {0x6a, 0x8f, 0xcf, 0xad, 0xaf, 0xdd};
    return qos.vendor == kIntelVendor && family_of(qos) == 6 &&
           std::ranges::find(kModels, model_of(qos)) != std::end(kModels) &&
           (nodes == 2 || nodes == 3 || nodes == 4 || nodes == 6);
}

Outcome check_division(const Machine &machine, const Qos &qos, const L3 &l3)
{
    const size_t nodes = l3.nodes.size();
    if (!supports_division(qos, nodes))
        return fail("{} is divided among {} NUMA nodes; the driver does not support this", l3.name,
                    nodes);
    const Result<uint64_t> config = machine.msr(*l3.cpus.begin(), kSncConfig);
    if (!config)
        return config.error().code == Errc::kIo ? fail("{}: {}", l3.name, config.error().message)
                                                : not_tested(config.error());
    if (*config & 1)
        return fail(
            "{}: its {} NUMA nodes divide the RMIDs (MSR {:#x} is {:#x}); Linux lets them "
            "share since 6.11",
            l3.name, nodes, kSncConfig, *config);
    return pass("{} NUMA nodes share the RMIDs of {}", nodes, l3.name);
}

Outcome check_domains(const Machine &machine, Qos &qos)
{
    if (qos.caches.empty())
        return fail("no CPU has an L3");
    std::string divided;
    for (const L3 &l3 : qos.caches) {
        if (l3.packages.size() > 1)
            return fail("{} is in {} packages", l3.name, l3.packages.size());
        if (l3.nodes.size() < 2)
            continue;
        const Outcome outcome = check_division(machine, qos, l3);
        if (outcome.verdict != Verdict::kPass)
            return outcome;
        if (divided.empty())
            divided = "; sub-NUMA clustering: " + outcome.seen;
    }
    return pass("{} L3s, the first of {} bytes{}", qos.caches.size(), qos.caches.front().bytes,
                divided);
}

Outcome check_errata(const Machine &, Qos &qos)
{
    if (qos.simulated)
        return not_tested("the simulation has no CPUID");
    const uint32_t model = model_of(qos), stepping = qos.signature & 0xf;
    if (family_of(qos) == 6 && model == 0x55 && stepping <= 4)
        return fail("family 6, model {:#x}, stepping {}: Skylake, whose counts are wrong", model,
                    stepping);
    return pass("signature {:#x}", qos.signature);
}

Outcome check_abmc(const Machine &machine, Qos &qos)
{
    if (!qos.abmc)
        return pass("the processor assigns counters");
    const Result<uint64_t> config = machine.msr(qos.cpus.front(), kExtendedConfig);
    if (!config)
        return not_tested(config.error());
    if (!(*config & 1))
        return pass("{:#x}: ABMC is off", *config);
    return qos.bmec
               ? pass("{:#x}: ABMC is on; the driver assigns counters to its RMIDs", *config)
               : fail("{:#x}: ABMC is on without BMEC; the driver offers occupancy only", *config);
}

Outcome check_pqr(const Machine &machine, Qos &qos)
{
    std::set<uint64_t> classes;
    for (unsigned cpu : qos.cpus) {
        const Result<uint64_t> pqr = read_register(machine, qos, cpu, kPqr);
        if (!pqr)
            return not_tested(pqr.error());
        if ((*pqr & 0xffffffff) > qos.carried)
            return fail("CPU {}: {:#x}", cpu, *pqr);
        classes.insert(*pqr >> 32);
    }
    return pass("{} CPUs, {} classes of service", qos.cpus.size(), classes.size());
}

// resctrl leaves the extended event set after it has read an assigned counter (ABMC).
Outcome check_evtsel(const Machine &machine, Qos &qos)
{
    const uint64_t fields = kEvtselFields | (qos.abmc ? kExtendedEvent : 0);
    for (unsigned cpu : qos.cpus) {
        const Result<uint64_t> evtsel = read_register(machine, qos, cpu, kEvtsel);
        if (!evtsel)
            return not_tested(evtsel.error());
        if (*evtsel & ~fields)
            return fail("CPU {}: {:#x}", cpu, *evtsel);
    }
    return pass("{} CPUs", qos.cpus.size());
}

// Checks that write

std::optional<std::string> qos_held(const Machine &machine, Qos &qos)
{
    if (machine.host().has_module("cache_qos"))
        return "cache_qos is loaded and has the registers; unload it first";
    if (machine.resctrl_mounted())
        return "resctrl is mounted and has the registers";
    for (unsigned cpu : qos.cpus) {
        const Result<uint64_t> pqr = read_register(machine, qos, cpu, kPqr);
        if (!pqr)
            return pqr.error().message;
        if (*pqr & 0xffffffff)
            return text_of("CPU {} carries RMID {}: another tool monitors", cpu, *pqr & 0xffffffff);
    }
    return std::nullopt;
}

// Restores the value of an MSR at the end of a scope.
class KeptMsr {
public:
    KeptMsr(const Machine &machine, unsigned cpu, uint32_t number)
        : machine_(machine), cpu_(cpu), number_(number), before_(machine.msr(cpu, number))
    {
    }
    KeptMsr(const KeptMsr &) = delete;
    KeptMsr &operator=(const KeptMsr &) = delete;
    ~KeptMsr()
    {
        if (before_)
            (void)!machine_.write_msr(cpu_, number_, *before_);
    }
    const Result<uint64_t> &before() const { return before_; }

private:
    const Machine &machine_;
    unsigned cpu_;
    uint32_t number_;
    Result<uint64_t> before_;
};

Result<uint64_t> count_of(const Machine &machine, unsigned cpu, unsigned event, uint64_t rmid)
{
    if (Result<void> chosen = machine.write_msr(cpu, kEvtsel, event | rmid << 32); !chosen)
        return chosen.error();
    return machine.msr(cpu, kCounter);
}

Outcome check_pair(const Machine &machine, Qos &qos)
{
    const unsigned cpu = qos.cpus.front();
    const KeptMsr kept(machine, cpu, kEvtsel);
    const Result<uint64_t> count = count_of(machine, cpu, kOccupancy, 0);
    if (!count)
        return not_tested(count.error());
    if (*count & kError)
        return fail("RMID 0: {:#x}", *count);
    return pass("RMID 0: {:#x}", *count);
}

Outcome check_evtsel_kept(const Machine &machine, Qos &qos)
{
    const unsigned cpu = qos.cpus.front();
    const KeptMsr kept(machine, cpu, kEvtsel);
    const uint64_t wanted = kOccupancy | qos.readable << 32;
    const Result<void> written = machine.write_msr(cpu, kEvtsel, wanted);
    const Result<uint64_t> seen = machine.msr(cpu, kEvtsel);
    if (!written || !seen)
        return not_tested(written ? seen.error() : written.error());
    return *seen == wanted ? pass("{:#x}", *seen) : fail("wrote {:#x}, read {:#x}", wanted, *seen);
}

// Each thread has its own QM_EVTSEL: a write on a sibling must not change it.
Outcome check_evtsel_thread(const Machine &machine, Qos &qos)
{
    const unsigned cpu = qos.cpus.front();
    const auto siblings = parse_cpulist(
        machine.host()
            .text(text_of("sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", cpu))
            .value_or(""));
    if (!siblings || siblings->size() < 2)
        return not_tested("CPU {} has no sibling", cpu);
    const auto other = static_cast<unsigned>(siblings->back());
    const KeptMsr kept(machine, cpu, kEvtsel), kept_other(machine, other, kEvtsel);
    const Result<void> one = machine.write_msr(cpu, kEvtsel, kOccupancy),
                       two = machine.write_msr(other, kEvtsel, kOccupancy | uint64_t{1} << 32);
    const Result<uint64_t> seen = machine.msr(cpu, kEvtsel);
    if (!one || !two || !seen)
        return not_tested("the MSR cannot be written");
    return *seen == kOccupancy
               ? pass("a write on CPU {} does not change QM_EVTSEL of CPU {}", other, cpu)
               : fail("a write on CPU {} changes QM_EVTSEL of CPU {}", other, cpu);
}

Outcome check_sum(const Machine &machine, Qos &qos)
{
    size_t values = 0;
    for (const L3 &l3 : qos.caches) {
        if (l3.cpus.empty() || !l3.bytes)
            continue;
        const unsigned cpu = *l3.cpus.begin();
        const KeptMsr kept(machine, cpu, kEvtsel);
        uint64_t bytes = 0;
        for (uint64_t rmid = 0; rmid <= qos.readable; rmid++) {
            const Result<uint64_t> count = count_of(machine, cpu, kOccupancy, rmid);
            if (!count)
                return not_tested(count.error());
            if (*count & (kError | kUnavailable))
                continue;
            bytes += (*count & kDataMask) * (qos.unit / nodes_per_l3(qos));
            values++;
        }
        // The RMIDs are read one after another, while lines change their RMID. The sum may
        // therefore exceed the size of the cache, by up to an eighth.
        if (bytes > l3.bytes + l3.bytes / 8)
            return fail("{}: {} bytes of {}", l3.name, bytes, l3.bytes);
    }
    return values ? pass("{} L3s", qos.caches.size()) : not_tested("no RMID has a value");
}

Outcome check_wrong_event(const Machine &machine, Qos &qos)
{
    const unsigned cpu = qos.cpus.front();
    const KeptMsr kept(machine, cpu, kEvtsel);
    const Result<uint64_t> count = count_of(machine, cpu, 0x7f, 0);
    if (!count)
        return count.error().code == Errc::kIo ? pass("refused") : not_tested(count.error());
    return *count & kError ? pass("{:#x}", *count) : fail("{:#x}", *count);
}

Outcome check_bandwidth(const Machine &machine, Qos &qos)
{
    if (!(qos.events >> (kTotal - 1) & 1))
        return not_tested("the processor counts no bandwidth");
    const unsigned cpu = qos.cpus.front();
    const KeptMsr kept(machine, cpu, kEvtsel);
    const Result<uint64_t> local = count_of(machine, cpu, kLocal, 0);
    const Result<uint64_t> first = count_of(machine, cpu, kTotal, 0);
    const Result<uint64_t> second = count_of(machine, cpu, kTotal, 0);
    if (!first || !second)
        return not_tested("the MSR cannot be written");
    if ((*first | *second) & (kError | kUnavailable))
        return not_tested("no value: {:#x}, {:#x}", *first, *second);
    const uint64_t mask = (uint64_t{1} << qos.width) - 1;
    const uint64_t grown = (*second - *first) & mask;
    if ((*second & kDataMask & ~mask & ~(uint64_t{1} << 61)) || grown > mask / 2)
        return fail("{:#x}, then {:#x} of {} bits", *first, *second, qos.width);
    return pass("{:#x}, then {:#x}; local {:#x}", *first, *second, local ? *local : 0);
}

Outcome check_pqr_limit(const Machine &machine, Qos &qos)
{
    const unsigned cpu = qos.cpus.front();
    const KeptMsr kept(machine, cpu, kPqr);
    if (!kept.before())
        return not_tested(kept.before().error());
    const uint64_t beyond = std::bit_ceil(qos.carried + 1) * 2;
    const Result<void> written =
        machine.write_msr(cpu, kPqr, (*kept.before() & ~uint64_t{0xffffffff}) | beyond);
    if (!written && written.error().code == Errc::kDenied)
        return not_tested(written.error());
    const Result<uint64_t> after = machine.msr(cpu, kPqr);
    if (written && after && *after != *kept.before())
        return fail("{:#x} was accepted", *after);
    return pass("{:#x} is refused", beyond);
}

Outcome check_pqr_halves(const Machine &machine, Qos &qos)
{
    const unsigned cpu = qos.cpus.front();
    const KeptMsr kept(machine, cpu, kPqr);
    if (!kept.before())
        return not_tested(kept.before().error());
    const uint64_t highest = std::max<uint64_t>((qos.readable + 1) / nodes_per_l3(qos), 1) - 1;
    const uint64_t wanted = (*kept.before() & ~uint64_t{0xffffffff}) | highest;
    const Result<void> written = machine.write_msr(cpu, kPqr, wanted);
    const Result<uint64_t> after = machine.msr(cpu, kPqr);
    if (!written || !after)
        return not_tested("the MSR cannot be written");
    return *after == wanted ? pass("{:#x}", *after)
                            : fail("wrote {:#x}, read {:#x}", wanted, *after);
}

// Binds this thread to one CPU until the end of a scope.
class OnCpu {
public:
    explicit OnCpu(unsigned cpu)
    {
        cpu_set_t only;
        CPU_ZERO(&only);
        CPU_SET(cpu, &only);
        done_ = ::sched_getaffinity(0, sizeof before_, &before_) == 0 &&
                ::sched_setaffinity(0, sizeof only, &only) == 0;
    }
    OnCpu(const OnCpu &) = delete;
    OnCpu &operator=(const OnCpu &) = delete;
    ~OnCpu()
    {
        if (done_)
            ::sched_setaffinity(0, sizeof before_, &before_);
    }
    bool done() const { return done_; }

private:
    cpu_set_t before_;
    bool done_ = false;
};

constexpr size_t kLine = 64;

void walk(char *memory, size_t bytes)
{
    for (int round = 0; round < 4; round++)
        for (size_t at = 0; at < bytes; at += kLine)
            static_cast<volatile char *>(memory)[at] = static_cast<char>(round);
}

// Evicts the memory from all caches: a cached line keeps the RMID with which it was filled.
void flush([[maybe_unused]] char *memory, [[maybe_unused]] size_t bytes)
{
#if defined(__x86_64__)
    for (size_t at = 0; at < bytes; at += kLine)
        _mm_clflush(memory + at);
    _mm_mfence();
#endif
}

// Fills part of the L3 while the CPU has the highest RMID, whose occupancy must grow.
Outcome check_tags(const Machine &machine, Qos &qos)
{
    if (qos.caches.empty() || qos.caches.front().cpus.empty() || !qos.caches.front().bytes)
        return not_tested("no L3 in sysfs");
    if (!machine.host().live())
        return not_tested("a copy of a machine");
    if (const uint64_t nodes = nodes_per_l3(qos); nodes > 1)
        return not_tested("the L3 is divided among {} NUMA nodes", nodes);
    const L3 &l3 = qos.caches.front();
    const unsigned cpu = *l3.cpus.begin();
    const OnCpu here(cpu);
    const KeptMsr kept(machine, cpu, kPqr), kept_evtsel(machine, cpu, kEvtsel);
    const Result<uint64_t> before = count_of(machine, cpu, kOccupancy, qos.readable);
    if (!here.done() || !kept.before() || !before)
        return not_tested("CPU {} or its MSRs are not accessible", cpu);
    const size_t bytes = std::clamp<uint64_t>(l3.bytes / 4, 1 << 20, 16 << 20);
    const auto memory = std::make_unique_for_overwrite<char[]>(bytes);
    const Result<void> tagged =
        machine.write_msr(cpu, kPqr, (*kept.before() & ~uint64_t{0xffffffff}) | qos.readable);
    flush(memory.get(), bytes);
    walk(memory.get(), bytes);
    const Result<uint64_t> after = count_of(machine, cpu, kOccupancy, qos.readable);
    if (!tagged || !after)
        return not_tested("the MSR cannot be written");
    if ((*before | *after) & (kError | kUnavailable))
        return not_tested("no value: {:#x}, {:#x}", *before, *after);
    const uint64_t had = *before & kDataMask, has = *after & kDataMask;
    const uint64_t grown = has > had ? (has - had) * qos.unit : 0;
    return grown >= bytes / 4 && grown <= l3.bytes
               ? pass("{} bytes touched, {} more in {}", bytes, grown, l3.name)
               : fail("{} bytes touched, {} more in {}", bytes, grown, l3.name);
}

// Checks that use events of the driver

bool has_events(const Machine &machine)
{
    return machine.host().live() && machine.host().has(kQosPmu);
}

Outcome check_event_occupancy(const Machine &machine, Qos &qos)
{
    if (!has_events(machine))
        return not_tested("cache_qos is not loaded");
    const Result<CountingEvent> event =
        CountingEvent::open("cache_qos/llc_occupancy/", -1, static_cast<int>(qos.cpus.front()));
    if (!event)
        return not_tested(event.error());
    uint64_t whole = 0;
    for (const L3 &l3 : qos.caches)
        whole += l3.bytes;
    sleep_us(300000);
    const Result<uint64_t> bytes = event->read();
    if (!bytes)
        return fail("{}", bytes.error().message);
    return *bytes <= whole ? pass("{} bytes of {}", *bytes, whole)
                           : fail("{} bytes of {}", *bytes, whole);
}

Outcome check_event_bandwidth(const Machine &machine, Qos &qos)
{
    if (!has_events(machine))
        return not_tested("cache_qos is not loaded");
    const int cpu = static_cast<int>(qos.cpus.front());
    const Result<CountingEvent> total = CountingEvent::open("cache_qos/total_bytes/", -1, cpu),
                                local = CountingEvent::open("cache_qos/local_bytes/", -1, cpu);
    if (!total || !local)
        return not_tested(total ? local.error() : total.error());
    uint64_t before = 0;
    for (int i = 0; i < 5; i++) {
        sleep_us(150000);
        const Result<uint64_t> near = local->read(), all = total->read();
        if (!near || !all)
            return fail("an event ended in error");
        if (*all < before || *near > *all)
            return fail("total {} after {}, local {}", *all, before, *near);
        before = *all;
    }
    return pass("{} bytes in 750 ms", before);
}

constexpr const char *kManuals = "Intel SDM volume 3B, AMD APM volume 2";

constexpr Check<Qos> kQosChecks[] = {
    {{1, Kind::kRead, "CPUID leaf 0xf is the same on all CPUs.", "assumed", "each online CPU"},
     check_same_cpus},
    {{2, Kind::kRead, "The processor has L3 monitoring with occupancy.", kManuals,
      "CPUID 0xf.0 EDX bit 1, 0xf.1 EDX bit 0"},
     check_l3_resource},
    {{3, Kind::kRead, "The highest RMID is above 0, and every readable RMID is valid in PQR_ASSOC.",
      kManuals, "CPUID 0xf.0 EBX, 0xf.1 ECX"},
     check_rmids},
    {{4, Kind::kRead, "The occupancy unit is above 0 and at most the size of a cache.", kManuals,
      "CPUID 0xf.1 EBX"},
     check_unit},
    {{5, Kind::kRead, "Bandwidth counters have 24 to 62 bits.", kManuals, "CPUID 0xf.1 EAX"},
     check_width},
    {{6, Kind::kRead,
      "An L3 is in one package. If it is divided among NUMA nodes, they share its RMIDs.",
      "assumed; Linux 7.2, resctrl, for sub-NUMA clustering",
      "cache/index3 and nodes of each CPU, MSR 0xca0"},
     check_domains},
    {{7, Kind::kRead, "The processor has no known count errata.",
      "Linux 7.2, resctrl: Skylake server up to stepping 4", "CPUID 1"},
     check_errata},
    {{8, Kind::kRead,
      "The processor assigns bandwidth counters, or software does (ABMC) and there is BMEC.",
      "AMD APM volume 2", "CPUID 0x80000020.0 EBX bits 5 and 3, MSR 0xc00003ff"},
     check_abmc},
    {{9, Kind::kRead, "PQR_ASSOC has a valid RMID in its lower half.", kManuals, "each online CPU"},
     check_pqr},
    {{10, Kind::kRead, "QM_EVTSEL has only bits 7:0 and 43:32; with ABMC also bit 31.", kManuals,
      "each online CPU"},
     check_evtsel},
    {{11, Kind::kWrite, "QM_CTR has the selected value immediately after a write of QM_EVTSEL.",
      "assumed", "occupancy of RMID 0: no error"},
     check_pair},
    {{12, Kind::kWrite, "QM_EVTSEL reads back as written.", "assumed", "the highest RMID"},
     check_evtsel_kept},
    {{13, Kind::kWrite, "Each thread has its own QM_EVTSEL.",
      "assumed: one per core also works, but its siblings must not read at the same time",
      "the first CPU and its sibling"},
     check_evtsel_thread},
    {{14, Kind::kWrite, "The occupancies of all RMIDs add up to at most the size of the cache.",
      kManuals, "occupancy of each RMID; tolerance: one eighth, as lines move between reads"},
     check_sum},
    {{15, Kind::kWrite, "An unsupported event sets the error bit (63).", kManuals, "event 0x7f"},
     check_wrong_event},
    {{16, Kind::kWrite, "Bandwidth counts never fall and have the width that CPUID reports.",
      kManuals, "total of RMID 0, twice"},
     check_bandwidth},
    {{17, Kind::kWrite, "PQR_ASSOC rejects an RMID above the highest.", kManuals,
      "twice the next power of two"},
     check_pqr_limit},
    {{18, Kind::kWrite, "Writing an RMID with the old class of service keeps the class.", kManuals,
      "PQR_ASSOC of the first CPU"},
     check_pqr_halves},
    {{19, Kind::kWrite, "Fills are tagged with the CPU's current RMID.", kManuals,
      "a quarter of an L3, 16 MiB at most, is touched under the highest RMID"},
     check_tags},
    {{20, Kind::kEvent, "The driver's machine-wide occupancy is at most the size of the caches.",
      "devices/cache_qos", "cache_qos/llc_occupancy/ for 300 ms"},
     check_event_occupancy},
    {{21, Kind::kEvent, "The driver's bandwidth never falls; local is at most total.",
      "devices/cache_qos", "two events, five readings"},
     check_event_bandwidth},
    {{22, Kind::kOutside, "A line keeps its RMID while others read it.", kManuals,
      "two programs that share memory, and an idle machine"}},
    {{23, Kind::kOutside,
      "With fewer counters than RMIDs, the least recently read counter is reassigned.",
      "assumed (AMD)", "all RMIDs in use at once"}},
    {{24, Kind::kOutside, "A write of PQR_ASSOC costs less than a microsecond.", "assumed",
      "a clock inside the kernel"}},
    {{25, Kind::kOutside, "Counts of high RMIDs are short by known factors (BDF102, SKX99).",
      "Linux 7.2, resctrl", "traffic of a known amount under many RMIDs"}},
};

std::vector<Statement> qos_statements()
{
    return statements_of<Qos>(kQosChecks);
}

std::string facts_of(const Machine &machine, const Qos &qos, bool full)
{
    Facts facts{full, {}};
    facts.add("registers", qos.simulated ? "simulation" : "MSRs");
    facts.hex("signature", qos.signature);
    facts.add("rmids", text_of("carried {} readable {}", qos.carried, qos.readable));
    facts.add("unit", text_of("{} bytes, width {}, events {:#x}, abmc {}, bmec {}", qos.unit,
                              qos.width, qos.events, qos.abmc, qos.bmec));
    facts.add("resctrl", machine.resctrl_mounted() ? "mounted" : "not mounted");
    for (const L3 &l3 : qos.caches)
        facts.add(l3.name, text_of("{} bytes, {} CPUs, {} packages, {} nodes", l3.bytes,
                                   l3.cpus.size(), l3.packages.size(), l3.nodes.size()));
    for (unsigned cpu : qos.cpus)
        if (const Result<uint64_t> pqr = read_register(machine, qos, cpu, kPqr))
            facts.hex(text_of("cpu {} pqr_assoc", cpu), *pqr);
    return facts.text;
}

Result<std::vector<DeviceReport>> examine_qos(const Machine &machine, bool full)
{
    const bool simulated = machine.host().text(text_of("{}/caps/backend", kQosPmu)) == "sim";
    if (!simulated && !has_monitoring(machine))
        return Error{Errc::kNotFound,
                     "this processor has no L3 monitoring (CPUID 7.0 EBX bit 12 is 0)"};
    Qos qos = simulated ? simulation_of(machine) : hardware_of(machine);
    std::string facts = facts_of(machine, qos, full);
    std::vector<DeviceReport> reports;
    reports.push_back({simulated ? "simulated registers" : "this processor",
                       run_checks<Qos>(machine, machine.active(), kQosChecks, qos, qos_held),
                       std::move(facts)});
    return reports;
}

}  // namespace

constinit const Driver kCacheQosDriver = {"cache_qos", qos_statements, examine_qos};

}  // namespace pmukit::cli::qualify
