// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Statements about IBM's In-Memory Collection: Linux 7.2 (arch/powerpc/perf/imc-pmu.c,
// platforms/powernv/opal-imc.c), skiboot, and Documentation/devices/imc.rst. The device is the
// whole machine: its PMUs are those of the in-tree driver on POWER, and elsewhere those of pmukit's
// driver on imc_engine. Programs cannot access the registers, so checks use the PMUs.
#include <strings.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "base/bytes.hpp"
#include "base/file.hpp"
#include "cli/qualify/event.hpp"
#include "cli/qualify/machine.hpp"
#include "cli/qualify/tables.hpp"
#include "record/sysfs_pmu.hpp"

namespace pmukit::cli::qualify {
namespace {

constexpr const char *kPmuFolder = "sys/bus/event_source/devices";
constexpr const char *kTree = "proc/device-tree/imc-counters";
constexpr const char *kBlocks[] = {"sys/kernel/debug/imc", "sys/kernel/debug/powerpc/imc"};
constexpr size_t kRecordBytes = 64;
constexpr uint64_t kLowTimebase = (uint64_t{1} << 42) - 1;
constexpr uint64_t kUserMode = uint64_t{1} << 62;

struct ImcPmu {
    std::string name;
    std::vector<std::string> events;
};

struct Imc {
    std::vector<ImcPmu> pmus;
    std::vector<std::string> nodes;  // device tree nodes of the catalogue that have a type
    std::vector<int> cpus;
    std::optional<Result<AuxData>> trace{};

    const ImcPmu *find(std::string_view name) const
    {
        const auto at = std::ranges::find(pmus, name, &ImcPmu::name);
        return at == pmus.end() ? nullptr : &*at;
    }
    const ImcPmu *first_nest() const
    {
        for (const ImcPmu &pmu : pmus)
            if (pmu.name.starts_with("nest_") && !pmu.events.empty())
                return &pmu;
        return nullptr;
    }
};

// Discovery

void find_nodes(const Host &host, const std::string &folder, unsigned depth,
                std::vector<std::string> &nodes)
{
    if (depth > 8)
        return;
    for (const std::string &name : host.names(folder)) {
        const std::string node = folder + "/" + name;
        if (!host.has(node + "/name"))
            continue;
        if (host.has(node + "/type"))
            nodes.push_back(node);
        find_nodes(host, node, depth + 1, nodes);
    }
}

Imc imc_of(const Machine &machine)
{
    const Host &host = machine.host();
    Imc imc;
    for (const std::string &name : host.names(kPmuFolder)) {
        if (!name.starts_with("nest_") && name != "core_imc" && name != "thread_imc" &&
            name != "trace_imc")
            continue;
        ImcPmu pmu{name, {}};
        for (const std::string &event : host.names(text_of("{}/{}/events", kPmuFolder, name)))
            if (!event.ends_with(".scale") && !event.ends_with(".unit"))
                pmu.events.push_back(event);
        imc.pmus.push_back(std::move(pmu));
    }
    for (unsigned cpu : machine.cpus())
        imc.cpus.push_back(static_cast<int>(cpu));
    find_nodes(host, kTree, 0, imc.nodes);
    return imc;
}

// Checks that only read

Outcome check_names(const Machine &, Imc &imc)
{
    std::string missing;
    for (const char *name : {"core_imc", "thread_imc"})
        if (!imc.find(name))
            append(missing, " {}", name);
    if (!imc.first_nest())
        append(missing, " nest_*");
    return missing.empty() ? pass("{} PMUs", imc.pmus.size()) : fail("there is no{}", missing);
}

std::optional<uint64_t> config_of(const Host &host, const ImcPmu &pmu, const std::string &event)
{
    const std::string text =
        host.text(text_of("{}/{}/events/{}", kPmuFolder, pmu.name, event)).value_or("");
    if (!text.starts_with("event="))
        return std::nullopt;
    const Result<uint64_t> value = parse_u64(std::string_view(text).substr(6));
    return value ? std::optional(*value) : std::nullopt;
}

Outcome check_configs(const Machine &machine, Imc &imc)
{
    return each(imc.pmus, [&](const ImcPmu &pmu) {
        if (pmu.name == "trace_imc")
            return not_tested("trace events have no offset");
        for (const std::string &event : pmu.events) {
            const auto config = config_of(machine.host(), pmu, event);
            if (!config || *config % 8 || *config >> 32)
                return fail("{} is {:#x}", event, config.value_or(~uint64_t{0}));
        }
        return pass("{} events", pmu.events.size());
    });
}

Outcome check_event_names(const Machine &, Imc &imc)
{
    const auto wrong = [](char c) {
        return !((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                 c == '_' || c == '-' || c == '.');
    };
    return each(imc.pmus, [&](const ImcPmu &pmu) {
        for (const std::string &event : pmu.events)
            if (std::ranges::any_of(event, wrong))
                return fail("{}", event);
        return pass("{} events", pmu.events.size());
    });
}

Outcome check_same_places(const Machine &machine, Imc &imc)
{
    return each(imc.pmus, [&](const ImcPmu &pmu) {
        std::set<uint64_t> places;
        for (const std::string &event : pmu.events)
            if (const auto config = config_of(machine.host(), pmu, event))
                if (!places.insert(*config).second)
                    return fail("{} has the offset of another event", event);
        return pass("{} offsets", places.size());
    });
}

std::set<std::string> places_of(const Machine &machine, const std::vector<int> &cpus,
                                std::string_view file)
{
    std::set<std::string> places;
    for (int cpu : cpus)
        places.insert(machine.host()
                          .text(text_of("sys/devices/system/cpu/cpu{}/topology/{}", cpu, file))
                          .value_or("0"));
    return places;
}

// The cpumask must have exactly one CPU per chip or core. file: the CPU's topology file that names
// its chip or core.
Outcome check_mask(const Machine &machine, const Imc &imc, std::string_view pmu,
                   std::string_view file)
{
    const auto mask =
        parse_cpulist(machine.host().text(text_of("{}/{}/cpumask", kPmuFolder, pmu)).value_or(""));
    if (!mask || mask->empty())
        return fail("{} has no cpumask", pmu);
    const size_t all = places_of(machine, imc.cpus, file).size(),
                 seen = places_of(machine, *mask, file).size();
    return mask->size() == seen && seen == all ? pass("{} CPUs for {}", mask->size(), all)
                                               : fail("{} CPUs for {}", mask->size(), all);
}

Outcome check_chip_mask(const Machine &machine, Imc &imc)
{
    const ImcPmu *nest = imc.first_nest();
    return nest ? check_mask(machine, imc, nest->name, "physical_package_id")
                : not_tested("there is no nest PMU");
}

Outcome check_core_mask(const Machine &machine, Imc &imc)
{
    return imc.find("core_imc") ? check_mask(machine, imc, "core_imc", "thread_siblings_list")
                                : not_tested("there is no core_imc");
}

// Words of the control blocks, from debugfs files of the drivers. A file has "0x1" or a decimal
// number.
std::vector<std::pair<std::string, uint64_t>> block_words(const Host &host, std::string_view prefix)
{
    std::vector<std::pair<std::string, uint64_t>> words;
    for (const char *folder : kBlocks)
        for (const std::string &name : host.names(folder))
            if (name.starts_with(prefix))
                if (const Result<uint64_t> word =
                        parse_number(host.text(text_of("{}/{}", folder, name))))
                    words.emplace_back(name, *word);
    return words;
}

Outcome check_words(const Host &host, std::string_view prefix, uint64_t most)
{
    const auto words = block_words(host, prefix);
    if (words.empty())
        return not_tested("debugfs has no {}*", prefix);
    for (const auto &[name, word] : words)
        if (word > most)
            return fail("{} is {:#x}", name, word);
    return pass("{} is {}", words.front().first, words.front().second);
}

Outcome check_status(const Machine &machine, Imc &)
{
    return check_words(machine.host(), "imc_status_", 2);
}

Outcome check_speed(const Machine &machine, Imc &)
{
    return check_words(machine.host(), "imc_speed_", 7);
}

Outcome check_mode(const Machine &machine, Imc &)
{
    return check_words(machine.host(), "imc_mode_", 6);
}

Outcome check_command(const Machine &machine, Imc &)
{
    return check_words(machine.host(), "imc_cmd_", 3);
}

// Reads a cell of a device tree property, a big-endian 32-bit number.
std::optional<uint32_t> cell_of(const Host &host, const std::string &file, size_t index = 0)
{
    const Result<std::string> bytes = read_small_file(host.path(file));
    if (!bytes || bytes->size() < 4 * (index + 1))
        return std::nullopt;
    return load<uint32_t>(as_bytes(*bytes).data() + 4 * index, std::endian::big);
}

Outcome check_catalogue(const Machine &machine, Imc &imc)
{
    if (imc.nodes.empty())
        return not_tested("{} has no units: this is not a POWER machine with OPAL", kTree);
    if (imc.nodes.size() > 128)
        return fail("{} units", imc.nodes.size());
    for (const std::string &node : imc.nodes) {
        const auto type = cell_of(machine.host(), node + "/type");
        if (type != 0x10u && type != 0x4u && type != 0x1u && type != 0x2u)
            return fail("{}: type {:#x}", node, type.value_or(0));
        const auto size = cell_of(machine.host(), node + "/size");
        if (!size || *size == 0 || *size % 8)
            return fail("{}: size {:#x}", node, size.value_or(0));
    }
    return pass("{} units", imc.nodes.size());
}

Outcome check_trace_size(const Machine &machine, Imc &imc)
{
    for (const std::string &node : imc.nodes)
        if (cell_of(machine.host(), node + "/type") == 0x2u) {
            const uint32_t size = cell_of(machine.host(), node + "/size").value_or(0);
            return size == 0x40000 ? pass("256 KiB") : fail("{:#x} bytes", size);
        }
    return not_tested("the device tree has no unit of type 2");
}

// Checks that use events

Result<CountingEvent> counting(const Machine &machine, std::string_view pmu, std::string_view event,
                               int pid, int cpu)
{
    if (!machine.host().live())
        return Error{Errc::kUnsupported, "a copy of a machine has no events"};
    return CountingEvent::open(text_of("{}/{}/", pmu, event), pid, cpu);
}

Outcome rises(const Result<CountingEvent> &event, bool must_grow)
{
    if (!event)
        return not_tested(event.error());
    uint64_t before = 0;
    for (int i = 0; i < 5; i++) {
        spin_us(20000);
        const Result<uint64_t> now = event->read();
        if (!now)
            return fail("{}", now.error().message);
        if (*now < before || *now >> 62)
            return fail("{} after {}", *now, before);
        before = *now;
    }
    return before || !must_grow ? pass("{} after 100 ms", before)
                                : fail("0 after 100 ms with a busy CPU");
}

Outcome check_nest(const Machine &machine, Imc &imc)
{
    const ImcPmu *nest = imc.first_nest();
    if (!nest)
        return not_tested("there is no nest PMU");
    return rises(counting(machine, nest->name, nest->events.front(), -1, imc.cpus.front()), false);
}

// An event that every busy CPU increments. The in-tree driver has the names in capital letters, as
// the catalogue does.
std::string busy_event(const ImcPmu &pmu)
{
    for (const char *name : {"cpm_non_idle_pcyc", "cpm_ccyc", "cpm_cs_non_idle_pcyc"})
        for (const std::string &event : pmu.events)
            if (::strcasecmp(event.c_str(), name) == 0)
                return event;
    return pmu.events.empty() ? "" : pmu.events.front();
}

Outcome check_core(const Machine &machine, Imc &imc)
{
    const ImcPmu *core = imc.find("core_imc");
    if (!core || core->events.empty())
        return not_tested("core_imc has no event");
    return rises(counting(machine, "core_imc", busy_event(*core), -1, imc.cpus.front()), false);
}

Outcome check_thread(const Machine &machine, Imc &imc)
{
    const ImcPmu *thread = imc.find("thread_imc");
    if (!thread || thread->events.empty())
        return not_tested("thread_imc has no event");
    return rises(counting(machine, "thread_imc", busy_event(*thread), 0, -1), true);
}

Outcome check_exclusion(const Machine &machine, Imc &imc)
{
    const ImcPmu *core = imc.find("core_imc"), *thread = imc.find("thread_imc");
    if (!core || !thread || core->events.empty() || thread->events.empty())
        return not_tested("not both PMUs have events");
    const auto first = counting(machine, "core_imc", busy_event(*core), -1, imc.cpus.front());
    if (!first)
        return not_tested(first.error());
    const auto second = counting(machine, "thread_imc", busy_event(*thread), 0, -1);
    if (second)
        return fail("an event of thread_imc was opened beside one of core_imc");
    return second.error().code == Errc::kBusy ? pass("the second one is refused")
                                              : not_tested(second.error());
}

const Result<AuxData> &trace_of(const Machine &machine, Imc &imc)
{
    if (imc.trace)
        return *imc.trace;
    const ImcPmu *trace = imc.find("trace_imc");
    if (!trace || trace->events.empty() || !machine.host().live())
        imc.trace = Error{Errc::kNotFound, "there is no trace_imc with an event"};
    else
        imc.trace = record_aux(text_of("trace_imc/{}/", trace->events.front()), 0, -1, 64, 500000,
                               [] { spin_us(10000); });
    return *imc.trace;
}

template <Outcome (*check)(Bytes)>
Outcome of_records(const Machine &machine, Imc &imc)
{
    const Result<AuxData> &data = trace_of(machine, imc);
    if (!data)
        return not_tested(data.error());
    return data->bytes.size() < kRecordBytes ? fail("no record in 500 ms of a busy CPU")
                                             : check(data->bytes);
}

uint64_t big(Bytes records, size_t record, size_t word)
{
    return load<uint64_t>(records.data() + record * kRecordBytes + 8 * word, std::endian::big);
}

Outcome check_timebases(Bytes records)
{
    const size_t count = records.size() / kRecordBytes;
    for (size_t i = 0; i < count; i++) {
        const uint64_t first = big(records, i, 0), last = big(records, i, 7);
        if ((first & kLowTimebase) != last)
            return fail("record {}: {:#x} and {:#x}", i, first, last);
        if (i && first <= big(records, i - 1, 0))
            return fail("record {}: {:#x} is not above {:#x}", i, first, big(records, i - 1, 0));
    }
    return pass("{} records", count);
}

// Compares the mode bit with the address: kernel addresses have the highest bit set on all
// supported architectures.
Outcome check_user_bit(Bytes records)
{
    const size_t count = records.size() / kRecordBytes;
    size_t user = 0;
    for (size_t i = 0; i < count; i++) {
        const bool set = big(records, i, 2) & kUserMode;
        if (set == (big(records, i, 1) >> 63 != 0))
            return fail("record {}: the bit is {}, the address is not of that mode", i, int{set});
        user += set;
    }
    return user ? pass("{} of {} records", user, count) : fail("0 of {} records", count);
}

Outcome check_period(Bytes records)
{
    const size_t count = records.size() / kRecordBytes;
    if (count < 3)
        return not_tested("{} records", count);
    uint64_t shortest = ~uint64_t{0};
    for (size_t i = 1; i < count; i++)
        shortest = std::min(shortest, big(records, i, 0) - big(records, i - 1, 0));
    return pass("{} records, {} ticks of the timebase between two at least", count, shortest);
}

std::optional<std::string> imc_held(const Machine &, Imc &)
{
    return "no register can be written by a program";
}

constexpr const char *kImcLinux = "Linux 7.2, imc-pmu.c";
constexpr const char *kOpal = "Linux 7.2, opal-imc.c; skiboot";

constexpr Check<Imc> kImcChecks[] = {
    {{1, Kind::kRead, "The PMUs core_imc, thread_imc and a nest PMU exist.", kImcLinux, "sysfs"},
     check_names},
    {{2, Kind::kRead, "Event offsets are multiples of 8 below 4 GiB.", kImcLinux,
      "events/ of each PMU but trace_imc"},
     check_configs},
    {{3, Kind::kRead, "Event names consist of letters, digits, _, - and dots.",
      "IBM's catalogues for POWER9 and POWER10", "events/ of each PMU"},
     check_event_names},
    {{4, Kind::kRead, "Events of a unit have distinct offsets.", "assumed", "events/ of each PMU"},
     check_same_places},
    {{5, Kind::kRead, "A nest event counts on one CPU per chip.", kImcLinux,
      "cpumask and the packages"},
     check_chip_mask},
    {{6, Kind::kRead, "A core event counts on one CPU per core.", kImcLinux,
      "cpumask and the siblings"},
     check_core_mask},
    {{7, Kind::kRead, "A control block's status is 0 to 2.", "skiboot, include/imc.h", "debugfs"},
     check_status},
    {{8, Kind::kRead, "Its command is 0 to 3.", "skiboot, include/imc.h", "debugfs"},
     check_command},
    {{9, Kind::kRead, "Its speed is 0 to 7.", "skiboot, include/imc.h", "debugfs"}, check_speed},
    {{10, Kind::kRead, "Its mode is 0 to 6.", "skiboot, include/imc.h", "debugfs"}, check_mode},
    {{11, Kind::kRead,
      "Units of the catalogue have type 1, 2, 4 or 0x10 and a size in steps of 8; 128 at most.",
      kOpal, "the device tree"},
     check_catalogue},
    {{12, Kind::kRead, "A trace buffer has 256 KiB.", kOpal, "the device tree"}, check_trace_size},
    {{13, Kind::kEvent, "A nest counter never falls.", kImcLinux, "five readings in 100 ms"},
     check_nest},
    {{14, Kind::kEvent, "A core counter never falls.", kImcLinux, "five readings in 100 ms"},
     check_core},
    {{15, Kind::kEvent, "A thread counter grows while its task runs.", kImcLinux,
      "this program, busy for 100 ms"},
     check_thread},
    {{16, Kind::kEvent, "Core and thread events exclude each other.", kImcLinux,
      "one of each at once"},
     check_exclusion},
    {{17, Kind::kEvent, "Timebases of records rise, and the last word repeats their low 42 bits.",
      kImcLinux, "AUX data of trace_imc, 500 ms"},
     of_records<check_timebases>},
    {{18, Kind::kEvent, "MSR[PR] (bit 62 of word 2) is set for user mode.",
      "Linux 7.2, imc-pmu.c: POWER10 or later", "a busy program: the address of each record"},
     of_records<check_user_bit>},
    {{19, Kind::kEvent, "The engine samples at a period of its own.", kOpal,
      "timebases of the same records"},
     of_records<check_period>},
    {{20, Kind::kOutside, "The engine wraps at the end of its buffer.", kImcLinux,
      "a driver that does not look for 4096 records"}},
    {{21, Kind::kOutside,
      "After LDBAR is written again, the engine begins at the start of the buffer.",
      "not documented: the driver looks at both places", "a driver that writes LDBAR"}},
    {{22, Kind::kOutside, "The last word of a record is written last.", "assumed",
      "a record read while it is being written"}},
};

std::vector<Statement> imc_statements()
{
    return statements_of<Imc>(kImcChecks);
}

std::string facts_of(const Machine &machine, const Imc &imc, bool full)
{
    Facts facts{full, {}};
    for (const ImcPmu &pmu : imc.pmus)
        facts.add(pmu.name, text_of("{} events, backend {}", pmu.events.size(),
                                    machine.host()
                                        .text(text_of("{}/{}/caps/backend", kPmuFolder, pmu.name))
                                        .value_or("the kernel's own")));
    for (const std::string &node : imc.nodes)
        facts.add(node, text_of("type {:#x} size {:#x} offset {:#x}",
                                cell_of(machine.host(), node + "/type").value_or(0),
                                cell_of(machine.host(), node + "/size").value_or(0),
                                cell_of(machine.host(), node + "/offset").value_or(0)));
    for (const char *prefix : {"imc_status_", "imc_cmd_", "imc_speed_", "imc_mode_"})
        for (const auto &[name, word] : block_words(machine.host(), prefix))
            facts.hex(name, word);
    return facts.text;
}

Result<std::vector<DeviceReport>> examine_imc(const Machine &machine, bool full)
{
    Imc imc = imc_of(machine);
    if (imc.pmus.empty() && imc.nodes.empty())
        return Error{Errc::kNotFound,
                     "no PMU of In-Memory Collection is here, nor a catalogue in the device tree"};
    std::string facts = facts_of(machine, imc, full);
    std::vector<DeviceReport> reports;
    reports.push_back({"In-Memory Collection",
                       run_checks<Imc>(machine, machine.active(), kImcChecks, imc, imc_held),
                       std::move(facts)});
    return reports;
}

}  // namespace

constinit const Driver kImcDriver = {"imc", imc_statements, examine_imc};

}  // namespace pmukit::cli::qualify
