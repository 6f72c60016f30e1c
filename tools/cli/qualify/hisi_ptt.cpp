// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Statements about HiSilicon's PCIe tune and trace device. No manual is public: the registers are
// those of Linux 7.2 (drivers/hwtracing/ptt), and other facts are in
// Documentation/devices/hisi_ptt.rst. A device is a PCI function 19e5:a12e. No check starts a trace
// without a driver, because the device would write to memory that is in use.
#include <unistd.h>

#include <bit>
#include <set>

#include "base/bytes.hpp"
#include "cli/qualify/event.hpp"
#include "cli/qualify/pci.hpp"
#include "cli/qualify/tables.hpp"

namespace pmukit::cli::qualify {
namespace {

// The in-tree driver needs an AUX area of at least 16 MiB.
constexpr size_t kAuxBytes = size_t{16} << 20;

constexpr uint32_t kPttVendor = 0x19e5, kPttDevice = 0xa12e;
constexpr unsigned kPttBar = 2;
constexpr uint64_t kTuneControl = 0x0000, kTuneData = 0x0004, kAddrSize = 0x0800,
                   kAddrBase = 0x0810, kTraceControl = 0x0850, kIntStat = 0x0890, kIntMask = 0x0894,
                   kTuneStat = 0x0898, kWriteStatus = 0x08a0, kTraceStatus = 0x08b0,
                   kRange = 0x0fe0, kPlace = 0x0fe8, kPttEnd = 0x0fec;
constexpr uint32_t kPttReset = 2, kTuneRead = 0xffffffff;
constexpr uint8_t kPcieCapability = 0x10, kMsiCapability = 0x05;
constexpr unsigned kIntegratedEndpoint = 9, kPttRootPort = 4;
constexpr uint32_t kPciBridge = 0x0604;  // class and subclass

struct Tune {
    const char *name;
    uint32_t code;
};
constexpr Tune kTunes[] = {{"qos_tx_cpl", 0x00030004},
                           {"qos_tx_np", 0x00040004},
                           {"qos_tx_p", 0x00050004},
                           {"rx_alloc_buf_level", 0x00060005},
                           {"tx_alloc_buf_level", 0x00070005}};

struct Ptt {
    PciFunction function;
    std::vector<PciFunction> ports;  // ports that the device serves
    Window window{};
    std::optional<Error> closed{};
    std::set<uint32_t> other_places{};
    std::optional<Result<AuxData>> trace{};
    std::string pmu{};  // empty: no driver has created one

    uint32_t read(uint64_t offset) const { return window.read<uint32_t>(offset); }
};

unsigned pcie_type(const PciFunction &function)
{
    const auto at = function.capability(kPcieCapability);
    return at ? function.u16(*at + 2) >> 4 & 0xf : ~0u;
}

unsigned bdf_of(const PciFunction &function)
{
    return function.bus() << 8 | function.devfn();
}

bool same_domain(const PciFunction &a, const PciFunction &b)
{
    return a.name.substr(0, a.name.find(':')) == b.name.substr(0, b.name.find(':'));
}

// Discovery

void open_ptt(const Machine &machine, Ptt &ptt)
{
    const Bar &bar = ptt.function.bars[kPttBar];
    if (!ptt.function.driver.empty())
        ptt.closed = Error{
            Errc::kBusy,
            text_of("{} has the registers of {}. To have them read, unbind the function: this ends "
                    "running traces, and --active then changes qos_tx_cpl of links in use",
                    ptt.function.driver, ptt.function.name)};
    else if (!ptt.function.decodes_memory())
        ptt.closed =
            Error{Errc::kBusy, ptt.function.name + ": the function does not decode memory"};
    else if (bar.bytes < kPttEnd)
        ptt.closed = Error{Errc::kDamaged, ptt.function.name + ": BAR 2 is too short"};
    if (ptt.closed)
        return;
    Result<Window> window = machine.map(ptt.function.resource(kPttBar), 0, bar.bytes,
                                        machine.active() ? Access::kReadWrite : Access::kRead);
    if (!window)
        ptt.closed = window.error();
    else
        ptt.window = std::move(*window);
}

// Returns the PMU of a function. If no link in sysfs shows it, returns the only PMU, provided that
// the function has a driver.
std::string pmu_of(const Host &host, const PciFunction &function)
{
    std::vector<std::string> all;
    for (const std::string &name : host.names("sys/bus/event_source/devices")) {
        if (!name.starts_with("hisi_ptt"))
            continue;
        all.push_back(name);
        const auto target = host.link("sys/bus/event_source/devices/" + name);
        if (target && target->find("/" + function.name + "/") != std::string::npos)
            return name;
    }
    return all.size() == 1 && !function.driver.empty() ? all.front() : "";
}

std::vector<Ptt> ptts_of(const Machine &machine)
{
    std::vector<Ptt> found;
    const std::vector<PciFunction> functions = pci_functions(machine.host());
    for (const PciFunction &function : functions) {
        if (function.vendor != kPttVendor || function.device != kPttDevice)
            continue;
        Ptt ptt{function, {}};
        read_config(machine.host(), ptt.function);
        open_ptt(machine, ptt);
        ptt.pmu = pmu_of(machine.host(), function);
        const uint32_t range = ptt.read(kRange);
        for (PciFunction port : functions) {
            if (ptt.closed || !same_domain(port, function) || port.class_code >> 8 != kPciBridge ||
                bdf_of(port) < (range & 0xffff) || bdf_of(port) > range >> 16)
                continue;
            read_config(machine.host(), port);
            if (pcie_type(port) == kPttRootPort)
                ptt.ports.push_back(std::move(port));
        }
        found.push_back(std::move(ptt));
    }
    for (Ptt &ptt : found)
        for (const Ptt &other : found)
            if (&other != &ptt && !other.closed)
                ptt.other_places.insert(other.read(kPlace));
    return found;
}

// Checks that only read

Outcome check_kind(const Machine &, Ptt &ptt)
{
    const unsigned type = pcie_type(ptt.function);
    const Bar &bar = ptt.function.bars[kPttBar];
    if (ptt.function.config.size() < 256)
        return not_tested("only root may read the capabilities of a function");
    if (type != kIntegratedEndpoint)
        return fail("PCI Express type {}", type);
    return bar.memory && bar.bytes >= 4096 ? pass("BAR 2 of {:#x} bytes", bar.bytes)
                                           : fail("BAR 2 of {:#x} bytes", bar.bytes);
}

Outcome check_msi(const Machine &, Ptt &ptt)
{
    if (ptt.function.config.size() < 256)
        return not_tested("only root may read the capabilities of a function");
    return ptt.function.capability(kMsiCapability) ? pass("MSI") : fail("no MSI capability");
}

// The driver does not bind to a device whose addresses an IOMMU translates.
Outcome check_identity(const Machine &machine, Ptt &ptt)
{
    const auto type = machine.host().text(ptt.function.path + "/iommu_group/type");
    if (!type)
        return pass("not behind an IOMMU");
    return *type == "identity" ? pass("identity")
                               : fail("type {}: boot with iommu.passthrough=1", *type);
}

template <Outcome (*check)(const Ptt &)>
Outcome ptt_read(const Machine &, Ptt &ptt)
{
    return ptt.closed ? not_tested(*ptt.closed) : check(ptt);
}

Outcome check_answers(const Ptt &ptt)
{
    for (uint64_t offset : {kTraceControl, kIntStat, kWriteStatus, kTraceStatus, kRange, kPlace})
        if (ptt.read(offset) == ~0u)
            return fail("{:#06x} reads as all ones", offset);
    return pass("none of six registers is all ones");
}

Outcome check_range(const Ptt &ptt)
{
    const uint32_t range = ptt.read(kRange);
    if (range >> 16 < (range & 0xffff))
        return fail("{:#010x}: the highest is below the lowest", range);
    return ptt.ports.empty() ? fail("{:#010x}: no root port there", range)
                             : pass("{:#010x}: {} root ports", range, ptt.ports.size());
}

Outcome check_port_bits(const Ptt &ptt)
{
    std::set<unsigned> taken;
    for (const PciFunction &port : ptt.ports)
        if (!taken.insert((port.devfn() >> 3 & 7) * 2).second)
            return fail("{} has the bit of another port", port.name);
    return ptt.ports.empty() ? not_tested("no root port") : pass("{} bits", taken.size());
}

Outcome check_place(const Ptt &ptt)
{
    const uint32_t place = ptt.read(kPlace);
    if (ptt.other_places.contains(place))
        return fail("{:#010x} is also the value of another device", place);
    return pass("SICL {}, core {}", place >> 16, place & 0xffff);
}

Outcome check_idle(const Ptt &ptt)
{
    const uint32_t control = ptt.read(kTraceControl), status = ptt.read(kTraceStatus);
    if (control & 1)
        return not_tested("a trace is enabled: {:#010x}", control);
    return status & 1 ? pass("{:#010x}", status) : fail("{:#010x}", status);
}

Outcome check_write_status(const Ptt &ptt)
{
    const uint32_t status = ptt.read(kWriteStatus), size = ptt.read(kAddrSize);
    if (status >> 30 || (status & 0x0fffffff) > size)
        return fail("{:#010x} with buffers of {:#x} bytes", status, size);
    return pass("{:#010x}", status);
}

Outcome check_interrupt_bits(const Ptt &ptt)
{
    const uint32_t stat = ptt.read(kIntStat), mask = ptt.read(kIntMask);
    return (stat | mask) & ~0xfu ? fail("status {:#010x}, mask {:#010x}", stat, mask)
                                 : pass("status {:#x}, mask {:#x}", stat, mask);
}

Outcome check_tune_idle(const Ptt &ptt)
{
    const uint32_t stat = ptt.read(kTuneStat);
    return stat & 1 ? fail("busy: {:#010x}", stat) : pass("{:#x}", stat);
}

// Checks of the PMU that a bound driver creates

Outcome check_pmu_name(const Machine &machine, Ptt &ptt)
{
    if (ptt.pmu.empty())
        return not_tested("no driver has made a PMU");
    const auto ports =
        machine.host().names(text_of("sys/bus/event_source/devices/{}/root_port_filters", ptt.pmu));
    for (const std::string &port : ports) {
        const auto text = machine.host().text(
            text_of("sys/bus/event_source/devices/{}/root_port_filters/{}", ptt.pmu, port));
        const Result<uint64_t> value = parse_number(text);
        if (port == "multiselect" || !value)
            continue;
        if (!(*value >> 19 & 1) || std::popcount(*value & 0xffff) != 1)
            return fail("{}: {} has filter {:#x}", ptt.pmu, port, *value);
    }
    return ports.empty() ? not_tested("{} names no ports", ptt.pmu)
                         : pass("{}: {} files", ptt.pmu, ports.size());
}

// Checks that write; they need a device without a driver

std::optional<std::string> ptt_held(const Machine &machine, Ptt &ptt)
{
    if (ptt.closed)
        return ptt.closed->message;
    const Bar &bar = ptt.function.bars[kPttBar];
    if (auto holder = holder_of(machine, ptt.function, bar.start, bar.start + kPttEnd - 1))
        return holder;
    if (ptt.read(kTraceControl) & 1)
        return ptt.function.name + ": a trace is enabled";
    if (ptt.function.is_bus_master())
        return ptt.function.name + ": bus mastering is on: another driver or program uses it";
    return std::nullopt;
}

// If TRACE_ADDR_BASE does not keep the written value, it may hold the address of a trace buffer.
// Only --full shows that address.
Outcome check_buffers(const Machine &machine, Ptt &ptt)
{
    const PutBack<uint32_t> size(ptt.window, kAddrSize), low(ptt.window, kAddrBase),
        high(ptt.window, kAddrBase + 4);
    constexpr uint32_t kBytes = 0x400000, kLow = 0x40000000, kHigh = 0x1;
    ptt.window.write<uint32_t>(kAddrSize, kBytes);
    ptt.window.write<uint32_t>(kAddrBase, kLow);
    ptt.window.write<uint32_t>(kAddrBase + 4, kHigh);
    const uint32_t a = ptt.read(kAddrSize), b = ptt.read(kAddrBase), c = ptt.read(kAddrBase + 4);
    if (a == kBytes && b == kLow && c == kHigh)
        return pass("4 MiB, {:#x}{:08x}", c, b);
    if (machine.full())
        return fail("read {:#x}, {:#x}, {:#x}", a, b, c);
    return fail("read {:#x}, page+{:#x}, upper half {}", a, b & 0xfff,
                c == kHigh ? "as written" : "another");
}

Outcome check_mask(const Machine &, Ptt &ptt)
{
    const PutBack<uint32_t> mask(ptt.window, kIntMask);
    for (const uint32_t value : {0xfu, 0x5u}) {
        ptt.window.write<uint32_t>(kIntMask, value);
        if (ptt.read(kIntMask) != value)
            return fail("wrote {:#x}, read {:#x}", value, ptt.read(kIntMask));
    }
    return pass("0xf and 0x5 were kept");
}

// Waits as the driver does: up to 10 us, and then reads the status a last time.
Outcome check_dma_reset(const Machine &, Ptt &ptt)
{
    const PutBack<uint32_t> control(ptt.window, kTraceControl);
    ptt.window.write<uint32_t>(kTraceControl, control.before() | kPttReset);
    const int64_t begin = now_us();
    while (now_us() - begin < 10 && ptt.read(kWriteStatus))
        ;
    const uint32_t after = ptt.read(kWriteStatus);
    return after ? fail("{:#010x} after 10 us", after) : pass("0 after {} us", now_us() - begin);
}

constexpr int64_t kTuneLimit_us = 1000000;

bool tune_ends(const Ptt &ptt)
{
    const int64_t until = now_us() + kTuneLimit_us;
    while (ptt.read(kTuneStat) & 1) {
        if (now_us() > until)
            return false;
        sleep_us(10);
    }
    return true;
}

// Sets a level to `data`, or reads it if `data` is kTuneRead. Returns the level; nullopt: the
// operation does not end.
std::optional<uint32_t> tune_level(const Ptt &ptt, uint32_t code, uint32_t data)
{
    const uint32_t control = ptt.read(kTuneControl) & 0xff000000;
    ptt.window.write<uint32_t>(kTuneControl, control | code);
    ptt.window.write<uint32_t>(kTuneData, data);
    if (!tune_ends(ptt))
        return std::nullopt;
    return ptt.read(kTuneData) & 0xffff;
}

Outcome check_tune_reads(const Machine &, Ptt &ptt)
{
    const PutBack<uint32_t> control(ptt.window, kTuneControl);
    std::string seen;
    for (const Tune &tune : kTunes) {
        const auto level = tune_level(ptt, tune.code, kTuneRead);
        if (!level)
            return fail("{}: not finished after one second", tune.name);
        if (*level > 2)
            return fail("{} is {}", tune.name, *level);
        append(seen, "{}{} {}", seen.empty() ? "" : ", ", tune.name, *level);
    }
    return pass("{}", seen);
}

// Writes several levels, then restores the original one.
Outcome check_tune_writes(const Machine &, Ptt &ptt)
{
    const PutBack<uint32_t> control(ptt.window, kTuneControl);
    const Tune &tune = kTunes[0];
    const auto before = tune_level(ptt, tune.code, kTuneRead);
    if (!before)
        return not_tested("{}: reading it did not finish within one second", tune.name);
    std::string wrong;
    for (const auto &[written, expected] : {std::pair{0u, 0u}, {1u, 1u}, {7u, 2u}}) {
        tune_level(ptt, tune.code, written);
        const auto after = tune_level(ptt, tune.code, kTuneRead);
        if (after != expected && wrong.empty())
            wrong = text_of("{}: wrote {}, read {}", tune.name, written, after.value_or(~0u));
    }
    const auto back = tune_level(ptt, tune.code, *before);
    if (!back || tune_level(ptt, tune.code, kTuneRead) != before)
        return fail("{}: {} could not be restored", tune.name, *before);
    return wrong.empty() ? pass("{}: 0, 1, and 2 for 7; {} again", tune.name, *before)
                         : fail("{}", wrong);
}

// Checks that use an event of the driver

const Result<AuxData> &trace_of(const Machine &machine, Ptt &ptt)
{
    if (ptt.trace)
        return *ptt.trace;
    const std::string folder = "sys/bus/event_source/devices/" + ptt.pmu;
    std::string port;
    if (!ptt.pmu.empty())
        for (const std::string &name : machine.host().names(folder + "/root_port_filters"))
            if (name != "multiselect")
                port = machine.host().text(folder + "/root_port_filters/" + name).value_or("");
    const auto cpus = parse_cpulist(machine.host().text(folder + "/cpumask").value_or("0"));
    if (port.empty() || !machine.host().live())
        ptt.trace = Error{Errc::kNotFound, "no driver has a PMU with a root port"};
    else
        ptt.trace = record_aux(text_of("{}/filter={},type=1,direction=1,format=1/", ptt.pmu, port),
                               -1, cpus && !cpus->empty() ? cpus->front() : 0,
                               kAuxBytes / static_cast<size_t>(::sysconf(_SC_PAGESIZE)), 300000,
                               [] { sleep_us(10000); });
    return *ptt.trace;
}

template <Outcome (*check)(const AuxData &)>
Outcome of_trace(const Machine &machine, Ptt &ptt)
{
    const Result<AuxData> &data = trace_of(machine, ptt);
    return data ? check(*data) : not_tested(data.error());
}

Outcome check_trace_runs(const AuxData &data)
{
    if (data.notes.aux_ended)
        return fail("the trace was truncated");
    return pass("{} bytes in 300 ms, not truncated", data.bytes.size());
}

Outcome check_entries8(const AuxData &data)
{
    constexpr size_t kBytes = 32;
    if (data.bytes.size() < kBytes)
        return not_tested("no packets: use a device below the port during the run");
    for (size_t at = 0; at + kBytes <= data.bytes.size(); at += kBytes) {
        const uint32_t mark = load_le<uint32_t>(data.bytes.data() + at),
                       zero = load_le<uint32_t>(data.bytes.data() + at + 24);
        if (mark >> 11 != 0x1fffff || zero)
            return fail("entry {}: DW0 {:#010x}, DW6 {:#010x}", at / kBytes, mark, zero);
    }
    return pass("{} entries", data.bytes.size() / kBytes);
}

Outcome check_times(const AuxData &data)
{
    constexpr size_t kBytes = 32;
    if (data.bytes.size() < 2 * kBytes)
        return not_tested("fewer than two packets passed");
    size_t back = 0;
    uint32_t before = 0;
    for (size_t at = 0; at + kBytes <= data.bytes.size(); at += kBytes) {
        const uint32_t time = load_le<uint32_t>(data.bytes.data() + at + 28);
        back += at && static_cast<int32_t>(time - before) < 0;
        before = time;
    }
    return back ? fail("{} times backwards", back) : pass("never backwards");
}

constexpr const char *kPttLinux = "Linux 7.2, drivers/hwtracing/ptt";
constexpr const char *kPttPage = "assumed (devices/hisi_ptt)";

constexpr Check<Ptt> kPttChecks[] = {
    {{1, Kind::kRead, "The device is an integrated endpoint with registers of 4 KiB in BAR 2.",
      kPttLinux, "PCI Express capability, length of BAR 2"},
     check_kind},
    {{2, Kind::kRead, "It has MSI.", kPttLinux, "MSI capability"}, check_msi},
    {{3, Kind::kRead, "No IOMMU translates its addresses.", kPttLinux, "type of its IOMMU group"},
     check_identity},
    {{4, Kind::kRead, "Its registers are readable (not all ones).", kPttPage,
      "six registers, none is all ones"},
     ptt_read<check_answers>},
    {{5, Kind::kRead,
      "DEVICE_RANGE has the lowest root port in its lower half, the highest in its upper half.",
      kPttLinux, "there is a root port in it"},
     ptt_read<check_range>},
    {{6, Kind::kRead, "No two root ports of a device have the same filter bit, (slot & 7) * 2.",
      kPttLinux, "root ports in DEVICE_RANGE"},
     ptt_read<check_port_bits>},
    {{7, Kind::kRead, "LOCATION differs between devices.", kPttLinux, "all devices"},
     ptt_read<check_place>},
    {{8, Kind::kRead, "TRACE_STS shows idle while no trace runs.", kPttLinux, "bit 0"},
     ptt_read<check_idle>},
    {{9, Kind::kRead,
      "TRACE_WR_STS has the offset in a buffer in bits 27:0, the buffer number in 29:28.",
      kPttLinux, "TRACE_ADDR_SIZE"},
     ptt_read<check_write_status>},
    {{10, Kind::kRead, "TRACE_INT_STAT and TRACE_INT_MASK have four bits.", kPttLinux, "bits 31:4"},
     ptt_read<check_interrupt_bits>},
    {{11, Kind::kRead, "No tune operation runs by itself.", kPttLinux, "TUNING_INT_STAT"},
     ptt_read<check_tune_idle>},
    {{12, Kind::kRead, "The driver's filter of a root port is bit 19 and one bit below 16.",
      "Linux, Documentation/trace/hisi-ptt.rst", "root_port_filters/ of the PMU"},
     check_pmu_name},
    {{13, Kind::kWrite, "TRACE_ADDR_SIZE and TRACE_ADDR_BASE keep 4 MiB and 64-bit addresses.",
      kPttLinux, "written and read while the device may not write to memory"},
     check_buffers},
    {{14, Kind::kWrite, "TRACE_INT_MASK reads back as written.", kPttLinux, "0xf and 0x5"},
     check_mask},
    {{15, Kind::kWrite, "A reset sets TRACE_WR_STS to 0 within 10 us.", kPttLinux,
      "TRACE_CTRL bit 1"},
     check_dma_reset},
    {{16, Kind::kWrite, "Writing 0xffffffff reads a level within one second; the level is 0 to 2.",
      kPttLinux, "the five levels"},
     check_tune_reads},
    {{17, Kind::kWrite, "A level above 2 is treated as 2.",
      "Linux, Documentation/trace/hisi-ptt.rst", "qos_tx_cpl, restored"},
     check_tune_writes},
    {{18, Kind::kEvent, "A trace into four buffers of 4 MiB runs until it is stopped.", kPttLinux,
      "the driver's event for 300 ms: not truncated"},
     of_trace<check_trace_runs>},
    {{19, Kind::kEvent, "Entries of 8DW have 0x1fffff in bits 31:11 of DW0, and 0 in DW6.",
      "Linux, Documentation/trace/hisi-ptt.rst", "the same trace"},
     of_trace<check_entries8>},
    {{20, Kind::kEvent, "Time stamps of entries never go backwards.", "assumed", "the same trace"},
     of_trace<check_times>},
    {{21, Kind::kOutside, "Without bus mastering the device writes nothing to memory.", kPttPage,
      "memory that may be overwritten, and a stuck trace"}},
    {{22, Kind::kOutside, "Data up to TRACE_WR_STS is in memory once the device is idle.",
      kPttLinux, "buffers of a known pattern, and a stop between two packets"}},
    {{23, Kind::kOutside, "The device overwrites buffers that were not read.", kPttPage,
      "a driver that leaves four buffers full"}},
    {{24, Kind::kOutside, "The unit of an entry's time.", "not published",
      "packets a known time apart"}},
    {{25, Kind::kOutside, "With TRACE_CTRL bit 8 at 0 headers have wide tags where there are any.",
      "openEuler, drivers/hwtracing/ptt (952f66b76e0e)", "packets of known tags above 1023"}},
    {{26, Kind::kOutside, "A buffer is in memory when a read of TRACE_INT_STAT shows its bit.",
      kPttPage, "memory and register read at the same time, without an interrupt before"}},
    {{27, Kind::kOutside, "The bit of a full buffer is set before the next buffer is written.",
      kPttPage, "memory and register read at the same time, while the device runs"}},
    {{28, Kind::kOutside, "TRACE_INT_STAT keeps bits, up to all four, until they are acknowledged.",
      kPttPage, "a driver that leaves four buffers full"}},
    {{29, Kind::kOutside, "A full buffer is written from its first byte to its last.", kPttPage,
      "buffers of a known pattern"}},
};

std::vector<Statement> ptt_statements()
{
    return statements_of<Ptt>(kPttChecks);
}

std::string facts_of(const Ptt &ptt, bool full)
{
    Facts facts{full, {}};
    facts.add("function", ptt.function.name);
    facts.add("driver", ptt.function.driver.empty() ? "none" : ptt.function.driver);
    facts.add("pmu", ptt.pmu.empty() ? "none" : ptt.pmu);
    facts.hex("bar2_bytes", ptt.function.bars[kPttBar].bytes);
    if (ptt.closed) {
        facts.add("registers", ptt.closed->message);
        return facts.text;
    }
    for (uint64_t at : {kTraceControl, kAddrSize, kIntStat, kIntMask, kTuneStat, kWriteStatus,
                        kTraceStatus, kRange, kPlace})
        facts.hex(text_of("register {:#06x}", at), ptt.read(at));
    for (unsigned i = 0; i < 4; i++)
        facts.address(text_of("buffer {}", i), uint64_t{ptt.read(kAddrBase + 8 * i + 4)} << 32 |
                                                   ptt.read(kAddrBase + 8 * i));
    for (const PciFunction &port : ptt.ports)
        facts.add("root_port", port.name);
    return facts.text;
}

Result<std::vector<DeviceReport>> examine_ptt(const Machine &machine, bool full)
{
    std::vector<DeviceReport> reports;
    for (Ptt &ptt : ptts_of(machine)) {
        std::string facts = facts_of(ptt, full);
        reports.push_back({ptt.function.name,
                           run_checks<Ptt>(machine, machine.active(), kPttChecks, ptt, ptt_held),
                           std::move(facts)});
    }
    if (reports.empty())
        return Error{Errc::kNotFound, "no function 19e5:a12e (PCIe tune and trace) is here"};
    return reports;
}

}  // namespace

constinit const Driver kHisiPttDriver = {"hisi_ptt", ptt_statements, examine_ptt};

}  // namespace pmukit::cli::qualify
