// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Guest scenarios of hisi_ptt: devices, steps, and checks on the host.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vmrun_scenarios.hpp"

namespace pmukit::vm {

namespace {

#define PTT_BLOCK                                                           \
    "hisi_ptt --serves 00:10.0 --serves 00:11.0 --seen-log {out}/seen.log " \
    "--traced-log {out}/traced.log --stats-log {out}/stats.log"
constexpr std::string_view kPttBlock = PTT_BLOCK;
constexpr std::string_view kPttLateBlock = PTT_BLOCK " --irq-late 2";
constexpr std::string_view kPttMergedBlock = PTT_BLOCK " --irq-merge 3";
constexpr std::string_view kPttLostBlock = PTT_BLOCK " --irq-lose 2";
// A device with more traffic than the endpoints can make: during each trace it generates 20000
// requests and their completions within a second.
constexpr std::string_view kPttBusyBlock = PTT_BLOCK
    " --generate rate=40000,seed=7,count=40000,peer=20,unsupported=5,pasid=10,relaxed=10 "
    "--function 01:00.0@00:10.0 --function 04:00.0@00:11.0";

// A core with two root ports, which the device serves: an endpoint is below the first port, a
// switch with an endpoint below the second. The third root port belongs to another core.
//
//   00:10.0 --- 01:00.0        00:12.0 --- 06:00.0
//   00:11.0 --- 02:00.0 -+- 03:00.0 --- 04:00.0
//                        +- 03:01.0 --- (05)
//   00:18.0 the trace block
Scenario hisi_ptt_scenario(std::string_view name, std::string_view block = kPttBlock)
{
    Scenario scenario;
    scenario.name = name;
    scenario.bridges = {
        "pcie-root-port,id=rp10,bus=pcie.0,addr=10.0,chassis=0,slot=16",
        "pcie-root-port,id=rp11,bus=pcie.0,addr=11.0,chassis=0,slot=17",
        "x3130-upstream,id=up,bus=rp11",
        "xio3130-downstream,id=down0,bus=up,addr=0.0,chassis=1,slot=1",
        "xio3130-downstream,id=down1,bus=up,addr=1.0,chassis=1,slot=2",
        "pcie-root-port,id=rp12,bus=pcie.0,addr=12.0,chassis=0,slot=18",
    };
    scenario.chassis = {
        {block, "pcie.0", "18.0"},
        {"pcie_ep --bdf 01:00.0 --root-port 00:10.0 --answer-ns 250 --link-mb-s 3938", "rp10"},
        {"pcie_ep --bdf 04:00.0 --root-port 00:11.0 --answer-ns 900 --link-mb-s 985", "down0"},
        {"pcie_ep --bdf 06:00.0 --root-port 00:12.0", "rp12"},
    };
    return scenario;
}

Scenario hisi_ptt_traffic(std::string_view name)
{
    Scenario traffic = hisi_ptt_scenario(name);
    traffic.routine = {"6.1"};
    traffic.steps = {{"traffic", "/selftests/hisi_ptt/traffic.sh", 120}};
    traffic.checks = {
        {"the model saw what the program did, and nothing else",
         {"{selftests}/hisi_ptt/count_tlps.sh", "{out}/seen.log"},
         0,
         {"stores=300 loads=200 loaded=200 end", "dma_in=21800 asked=12400 fetched=12400 end",
          "peer_stored=1800 peer_fetched=2400 end", "messages=5 foreign=0 end"}}};
    return traffic;
}

// A recording, which must contain all packets that the model traced during the recording. The model
// must have traced exactly the packets that the terms select. The host compares the n-th recording
// with the n-th trace of the model's log.
struct PttRecording {
    std::string_view name;
    std::string_view terms;
    std::string_view at_least;  // minimum number of packets
    std::string_view load = "/selftests/hisi_ptt/everybody.sh";
    std::string_view options{};
};

// Recordings in both formats, with every direction and type, of one port and of several, and of
// requesters above and below a switch. All have the same load: CPU accesses, and DMA of functions.
constexpr PttRecording kPttRecordings[] = {
    {"posted_out_8dw", "filter=0x80001,type=1,direction=1,format=1", "400"},
    {"inbound_4dw", "filter=0x80005,type=7,direction=0,format=0", "300"},
    {"requester_8dw", "filter=0x00400,type=7,direction=2,format=1", "40"},
    {"completions_a_4dw", "filter=0x80001,type=4,direction=3,format=0", "100"},
    // The four above are the smallest set with every direction, both formats and kinds of filter.
    {"reads_out_8dw", "filter=0x80004,type=2,direction=1,format=1", "100"},
    {"completions_out_8dw", "filter=0x80005,type=4,direction=1,format=1", "40"},
    {"inbound_8dw", "filter=0x80005,type=7,direction=2,format=1", "100"},
    {"completions_in_8dw", "filter=0x80005,type=4,direction=3,format=1", "200"},
    {"posted_out_4dw", "filter=0x80001,type=1,direction=1,format=0", "400"},
    {"posted_4dw", "filter=0x80005,type=1,direction=2,format=0", "400"},
    {"completions_b_4dw", "filter=0x80004,type=4,direction=2,format=0", "40"},
    {"requester_4dw", "filter=0x00100,type=7,direction=0,format=0", "40"},
};
constexpr std::span<const PttRecording> kPttAll = kPttRecordings;
constexpr size_t kPttLeast = 4;

// Recordings whose filter is the name of a function, which pmukit converts to a filter value
constexpr PttRecording kPttNamed[] = {
    {"named_port_8dw", "filter=0000:00:10.0,type=1,direction=1,format=1", "400"},
    {"named_requester_4dw", "filter=04:00.0,type=7,direction=0,format=0", "40"},
};

// Recordings with AUX areas as large as four device buffers, and as large as one
constexpr PttRecording kPttFloods[] = {
    {"flood_aux_16m", "filter=0x80005,type=7,direction=0,format=0", "20000", "sleep 5",
     "-m 64,4096"},
    {"flood_aux_4m", "filter=0x80005,type=7,direction=2,format=1", "20000", "sleep 5",
     "-m 64,1024"},
};

// The recorders. perf built for arm64 knows the PMU: it maps an AUX area, and `perf report -D`
// prints the entries. Other builds take samples, and need -R for the payload.
struct PttRecorder {
    std::string_view words;    // environment variables of record_load.sh
    std::string_view options;  // options of the recorder
    bool perf_report = false;  // check the text of perf report -D as well
    bool says_source = false;  // the recording contains the information that the device is a model
};
constexpr PttRecorder kPttPmukit{"", " --source model", false, true};
constexpr PttRecorder kPttPerfAux{"RECORDER=perf REPORT=1 ", "", true};
// The AUX area that perf maps for an unprivileged user: 128 KiB instead of 16 MiB
constexpr PttRecorder kPttPerfSmallAux{"RECORDER=perf REPORT=1 ", " -m 64,32", true};
// The cpumask of the in-tree driver has all CPUs near the device: without -C, perf would open an
// event on each of these CPUs, and they would trace in turn.
constexpr PttRecorder kPttPerfOneCpu{"RECORDER=perf REPORT=1 ", " -C 0", true};
constexpr PttRecorder kPttPerfSamples{"RECORDER=perf ", " -R", false};

void add_recordings(Scenario &scenario, std::span<const PttRecording> recordings,
                    const PttRecorder &recorder, size_t first_trace = 0)
{
    for (size_t number = 0; number < recordings.size(); number++) {
        const PttRecording &recording = recordings[number];
        const std::string name(recording.name), trace = std::to_string(first_trace + number);
        const std::string at_least(recording.at_least);
        std::string command(recorder.words);
        for (const std::string_view part :
             {std::string_view("/selftests/hisi_ptt/record_load.sh "), recording.name,
              std::string_view(" "), recording.terms, recorder.options, std::string_view(" "),
              recording.options, std::string_view(" -- "), recording.load})
            command += part;
        scenario.steps.push_back({recording.name, command, 120});
        scenario.checks.push_back(
            {name,
             {"{selftests}/hisi_ptt/check_recording.sh", "{pmukit}", "{ptt_checker}", "{guest}",
              "{out}", name, trace, at_least, "{kver}"},
             0,
             {"equal=yes"}});
        if (recorder.says_source)
            scenario.checks.back().must_say.push_back("# source=model");
        if (recorder.perf_report)
            scenario.checks.push_back(
                {name + ": perf report -D",
                 {"{ptt_checker}", "--perf-report", "{guest}/" + name + ".report",
                  "--low-byte-first", "--traced", "{out}/traced.log", "--seen", "{out}/seen.log",
                  "--run", trace, "--at-least", at_least, "--kernel", "{kver}"},
                 0,
                 {"lost=0 equal=yes"}});
    }
}

Scenario hisi_ptt_record()
{
    Scenario scenario = hisi_ptt_scenario("record");
    scenario.routine = {"6.1"};
    add_recordings(scenario, kPttAll, kPttPmukit);
    add_recordings(scenario, kPttNamed, kPttPmukit, kPttAll.size());
    return scenario;
}

// Uses the unmodified in-tree driver instead of pmukit's own; pmukit supports it. On x86 the
// cpumask of the in-tree driver has the CPUs of a NUMA node, so the device must have a node.
Scenario hisi_ptt_stock_driver(std::string_view name, const PttRecorder &recorder, bool two_nodes,
                               std::vector<std::string_view> kernels)
{
    Scenario stock = hisi_ptt_scenario(name);
    stock.kernels = std::move(kernels);
    stock.nodes = two_nodes ? 2 : 1;
    stock.modules_instead = {"stock/hisi_ptt"};
    if (two_nodes)
        stock.steps = {{"near_node", "/selftests/hisi_ptt/near_node.sh 1", 30}};
    // perf report -D prints each entry: use the smallest set.
    if (recorder.perf_report) {
        add_recordings(stock, kPttAll.first(kPttLeast), recorder);
        return stock;
    }
    add_recordings(stock, kPttAll, recorder);
    add_recordings(stock, kPttNamed, recorder, kPttAll.size());
    stock.steps.push_back({"stock_driver", "/selftests/hisi_ptt/stock_driver.sh", 400});
    return stock;
}

// Records inbound non-posted requests and completions at two ports. If a function below one port
// reads from a function below the other port, the trace has both the request and the completion, so
// it shows the latency.
constexpr PttRecording kPttDemo[] = {
    {"latency_4dw", "filter=0000:00:10.0+0000:00:11.0,type=6,direction=0,format=0", "100"},
};

Scenario hisi_ptt_demo()
{
    Scenario scenario = hisi_ptt_scenario("demo");
    add_recordings(scenario, kPttDemo, kPttPmukit);
    scenario.checks.push_back(
        {"table", {"{pmukit}", "report", "-i", "{guest}/latency_4dw.data", "--top", "16"}});
    return scenario;
}

Scenario hisi_ptt_flood()
{
    Scenario scenario = hisi_ptt_scenario("flood", kPttBusyBlock);
    scenario.routine = {"7.2"};
    add_recordings(scenario, kPttFloods, kPttPmukit);
    return scenario;
}

// Recordings with stock perf: the smallest set runs by default, the others on request.
Scenario hisi_ptt_stock(std::string_view name, const PttRecorder &recorder,
                        std::span<const PttRecording> recordings,
                        std::vector<std::string_view> kernels)
{
    Scenario scenario = hisi_ptt_scenario(name);
    scenario.kernels = std::move(kernels);
    scenario.routine = {"6.1", "6.12-arm64"};
    scenario.only_all = recordings.data() != kPttAll.data();
    add_recordings(scenario, recordings, recorder);
    return scenario;
}

// The IOMMU translates the endpoints' DMA, but pcie_load uses physical addresses, so the load
// consists of CPU accesses only.
constexpr PttRecording kPttBehindIommu[] = {
    {"posted_out_8dw", "filter=0x80001,type=1,direction=1,format=1", "400",
     "pcie_load --function 01:00.0 --writes 400 --width 4"},
};

// The device is behind a translating IOMMU. The driver must not bind the device.
Scenario hisi_ptt_iommu()
{
    Scenario scenario = hisi_ptt_scenario("iommu");
    scenario.kernels = {"6.1", "6.12", "7.2", "debug-6.12", "debug-7.2"};
    scenario.routine = {"6.12"};
    scenario.append = "intel_iommu=on";
    // The IOMMU translates for devices that are listed after it.
    scenario.bridges.insert(scenario.bridges.begin(), "intel-iommu,caching-mode=on,intremap=off");
    scenario.steps = {{"iommu", "/selftests/hisi_ptt/iommu.sh", 60}};
    add_recordings(scenario, kPttBehindIommu, kPttPmukit);
    return scenario;
}

Scenario hisi_ptt_test()
{
    Scenario test = hisi_ptt_scenario("test");
    // The last step removes functions; on arm64 not all of them work as endpoints again afterwards.
    test.steps = {{"abi_paths", "/selftests/hisi_ptt/abi_paths.sh", 180},
                  {"live", "/selftests/hisi_ptt/live.sh", 180},
                  {"slow_reader", "/selftests/hisi_ptt/slow_reader.sh", 180},
                  {"stock_perf", "/selftests/hisi_ptt/stock_perf.sh", 900},
                  {"hisi_ptt_test", "hisi_ptt_test", 300}};
    return test;
}

// Devices that generate entries themselves, one device per interrupt behavior. The last one writes
// faster than any guest can read.
constexpr ChassisDevice kPttFloodDevices[] = {
    {"hisi_ptt --core 10 --serves 00:10.0 --function 01:00.0@00:10.0 --flood rate=1000000 "
     "--buffers-log {out}/buffers-10.log",
     "pcie.0", "13.0"},
    {"hisi_ptt --core 11 --serves 00:10.0 --function 01:00.0@00:10.0 --flood rate=1000000 "
     "--irq-late 1 --buffers-log {out}/buffers-11.log",
     "pcie.0", "14.0"},
    {"hisi_ptt --core 12 --serves 00:10.0 --function 01:00.0@00:10.0 --flood rate=1000000 "
     "--irq-late 2 --buffers-log {out}/buffers-12.log",
     "pcie.0", "15.0"},
    {"hisi_ptt --core 13 --serves 00:10.0 --function 01:00.0@00:10.0 --flood rate=1000000 "
     "--irq-late 5 --buffers-log {out}/buffers-13.log",
     "pcie.0", "16.0"},
    {"hisi_ptt --core 14 --serves 00:10.0 --function 01:00.0@00:10.0 --flood rate=1000000 "
     "--irq-merge 3 --buffers-log {out}/buffers-14.log",
     "pcie.0", "17.0"},
    {"hisi_ptt --core 15 --serves 00:10.0 --function 01:00.0@00:10.0 --flood rate=1000000 "
     "--irq-lose 2 --buffers-log {out}/buffers-15.log",
     "pcie.0", "19.0"},
    {"hisi_ptt --core 16 --serves 00:10.0 --function 01:00.0@00:10.0 --flood rate=50000000 "
     "--buffers-log {out}/buffers-16.log",
     "pcie.0", "1a.0"},
};

// With every kind of reader and every area size, each packet must be delivered in order, be counted
// as lost, or be covered by a lower bound of the loss. `rounds` sets the number of rounds.
Scenario hisi_ptt_exact(std::string_view name, const std::string &rounds, unsigned step_seconds)
{
    Scenario exact = hisi_ptt_scenario(name);
    exact.chassis.insert(exact.chassis.end(), std::begin(kPttFloodDevices),
                         std::end(kPttFloodDevices));
    exact.steps = {
        {"flood", rounds + "hisi_ptt_flood_test", step_seconds},
        {"exact", rounds + "hisi_ptt_exact_test", step_seconds},
        {"exact_record", rounds + "/selftests/hisi_ptt/exact_record.sh", step_seconds},
    };
    exact.checks = {{"delivered and lost is what the model wrote",
                     {"{selftests}/hisi_ptt/check_rounds.sh", "{guest}/rounds", "{out}"},
                     0,
                     {"rounds all right"}}};
    exact.routine = {"7.2", "6.12-arm64"};
    return exact;
}

// Runs, for each interrupt behavior, 200 rounds with areas of 128 KiB and 4 MiB, and 20 rounds with
// areas of 16 and 64 MiB.
Scenario hisi_ptt_exact_long()
{
    Scenario exact = hisi_ptt_exact("exact_long", "PMUKIT_ROUNDS=200 PMUKIT_LARGE_ROUNDS=20 ",
                                    /*step_seconds=*/36000);
    exact.on_request = true;
    exact.steps.resize(1);
    return exact;
}

// Runs 20 rounds with each kind of reader. The time depends on the number of stores.
Scenario hisi_ptt_readers_long()
{
    Scenario readers = hisi_ptt_scenario("readers_long");
    readers.on_request = true;
    readers.steps = {
        {"exact_record", "PMUKIT_ROUNDS=20 /selftests/hisi_ptt/exact_record.sh", 36000},
        {"exact", "PMUKIT_ROUNDS=20 hisi_ptt_exact_test", 36000},
    };
    return readers;
}

// Runs all kinds of readers with interrupts that arrive late, for several buffers at once, or not
// at all.
Scenario hisi_ptt_irq(std::string_view name, std::string_view block, std::string_view kernel)
{
    Scenario scenario = hisi_ptt_scenario(name, block);
    scenario.routine = {kernel};
    add_recordings(scenario, kPttAll.first(kPttLeast), kPttPmukit);
    for (const std::string_view step : {"slow_reader", "exact_record"})
        scenario.steps.push_back(
            {step, "/selftests/hisi_ptt/" + std::string(step) + ".sh", /*seconds=*/300});
    scenario.steps.push_back({"exact", "hisi_ptt_exact_test", 300});
    return scenario;
}

// Measures the cost of copying entries.
Scenario hisi_ptt_bench()
{
    Scenario bench = hisi_ptt_scenario("bench");
    bench.chassis.insert(bench.chassis.end(), std::begin(kPttFloodDevices),
                         std::end(kPttFloodDevices));
    bench.on_request = true;
    bench.steps = {{"bench", "hisi_ptt_bench", 120}};
    return bench;
}

// The chassis with one more endpoint, below the second port of the switch. This port is empty when
// the guest starts.
Scenario hisi_ptt_with_a_free_slot(std::string_view name)
{
    Scenario scenario = hisi_ptt_scenario(name);
    scenario.chassis.push_back(
        {"pcie_ep --bdf 05:00.0 --root-port 00:11.0", "down1", {}, /*plugged=*/false});
    return scenario;
}

// Processes open events by the PMU's type number while the PMU is removed. There are more processes
// than CPUs, so that some are preempted during an open. Each of these processes must have opened an
// event; the worker need not, because its first event lacks a filter. Freed memory is poisoned,
// because most of these kernels have no KASAN.
Scenario hisi_ptt_late_openers()
{
    Scenario late = hisi_ptt_scenario("late_openers");
    late.kernels = kX86Kernels;
    late.append = "slub_debug=P";
    std::string options =
        "--seconds 30 --pmu 'hisi_ptt*' --workers 1 --least-opens 0 --module hisi_ptt "
        "--bind hisi_ptt/0000:00:18.0";
    for (unsigned opener = 0; opener < 8; ++opener) {
        options += " --open-by-number hisi_ptt0_2=filter=0x80001,type=1,direction=1,format=1";
    }
    late.steps = {{"late_openers", "pmu_stress " + options, 180}};
    return late;
}

// Starts and stops an event two hundred times; the host compares all entries.
Scenario hisi_ptt_cycles()
{
    Scenario cycles = hisi_ptt_with_a_free_slot("cycles");
    cycles.routine = {"7.2"};
    cycles.steps = {{"cycles", "hisi_ptt_cycles_test", 600}};
    cycles.checks = {{"two hundred starts and stops: entry by entry what the model traced",
                      {"{ptt_checker}", "--entries", "{guest}/cycles", "--traced",
                       "{out}/traced.log", "--seen", "{out}/seen.log", "--run", "0", "--runs", "0",
                       "--at-least", "20000", "--kernel", "{kver}"},
                      0,
                      {"lost=0 equal=yes"}}};
    return cycles;
}

// Endpoints are plugged and unplugged while they are traced.
Scenario hisi_ptt_hotplug()
{
    Scenario hotplug = hisi_ptt_with_a_free_slot("hotplug");
    hotplug.routine = {"7.2", "6.12-arm64"};
    hotplug.steps = {{"hotplug", "hisi_ptt_hotplug_test", 600}};
    hotplug.checks = {
        {"plugged and unplugged: entry by entry what the model traced",
         {"{ptt_checker}", "--entries", "{guest}/hotplug", "--traced", "{out}/traced.log", "--seen",
          "{out}/seen.log", "--run", "0", "--runs", "0", "--at-least", "800", "--kernel", "{kver}"},
         0,
         {"lost=0 equal=yes"}}};
    return hotplug;
}

// Tests AUX areas in the ring of another event. Does not run on Linux 7.2, because that kernel
// warns about such areas: see with_redirect() of cxl_hmu.
Scenario hisi_ptt_redirect()
{
    Scenario redirect = hisi_ptt_scenario("redirect");
    redirect.kernels = {"6.1", "6.12", "6.12-arm64", "debug-6.12"};
    redirect.routine = {"6.1"};
    redirect.steps = {{"redirect", "hisi_ptt_redirect_test", 120}};
    return redirect;
}

// On x86 the device is near the second CPU, because the first cannot go offline.
Scenario hisi_ptt_life(std::string_view name, bool two_nodes, std::vector<std::string_view> kernels)
{
    Scenario life = hisi_ptt_scenario(name);
    life.nodes = two_nodes ? 2 : 1;
    life.steps = {{"life", "PMUKIT_MODULE=/lib/vmrun/hisi_ptt.ko hisi_ptt_life_test", 600}};
    life.kernels = std::move(kernels);
    life.routine = {"7.2"};
    life.only_all = !two_nodes;
    return life;
}

// Standalone devices, each with its own traffic (an option of the model): all serve port 00:10.0,
// and device n has core number n.
std::vector<std::string> ptt_blocks(size_t count, std::string_view traffic)
{
    std::vector<std::string> blocks;
    for (size_t core = 0; core < count; core++)
        blocks.push_back("--serves 00:10.0 --function 01:00.0@00:10.0 --core " +
                         std::to_string(core) + " " + std::string(traffic));
    return blocks;
}

// One device per fault of the model. The first device has no fault. The last device needs more time
// for a tune operation than the driver waits.
Scenario hisi_ptt_faults()
{
    static constexpr std::string_view kFaults[] = {
        "write-pointer-beyond-buffer",
        "never-idle",
        "never-idle-after-stop",
        "reset-never-finishes",
        "several-buffers-at-once",
        "overrun",
        "irq-lost",
        "irq-storm",
        "irq-spurious",
        "tune-never-finishes",
        "all-ones",
        "all-ones-once-started",
        "range-reversed",
        "status-empty",
        "status-beyond-buffers",
    };
    Scenario faults;
    faults.name = "faults";
    faults.routine = {"6.12"};
    faults.placement = Placement::kRootPort;
    // The packets fill two device buffers of 4 MiB and a part of the third; those of "overrun",
    // whose interrupt comes with the fifth buffer, fill five.
    constexpr size_t kDevices = 2 + std::size(kFaults);
    const size_t overrun = 1 + static_cast<size_t>(std::ranges::find(kFaults, "overrun") - kFaults);
    faults.models = ptt_blocks(kDevices, "--flood rate=1000000,count=560000");
    faults.models[overrun] = ptt_blocks(kDevices, "--flood rate=250000,count=1400000")[overrun];
    faults.models.back() += " --tune-us 1900000";
    // Lines of the kernel's DMA debugging: two devices never become idle, so unbind does not free
    // their buffers. A real problem has another line above its backtrace.
    faults.harmless = {"device driver has pending DMA allocations", "dma_debug_device_change+",
                       "DMA-API: Mapped at:", "Call Trace:"};
    try_each_fault(faults, "hisi_ptt", kFaults);
    return faults;
}

// Devices for pmukit qualify: a healthy device with traffic, and one device per fault. All of them
// are on the first bus.
constexpr ChassisDevice kPttFaultyDevices[] = {
    {"hisi_ptt --core 3 --serves 00:10.0 --fault range-reversed", "pcie.0", "19.0"},
    {"hisi_ptt --core 4 --serves 00:10.0 --fault tune-never-finishes", "pcie.0", "1a.0"},
    {"hisi_ptt --core 5 --serves 00:10.0 --fault reset-never-finishes", "pcie.0", "1b.0"},
    {"hisi_ptt --core 6 --serves 00:10.0 --fault never-idle", "pcie.0", "1c.0"},
};

Scenario hisi_ptt_qualify()
{
    Scenario qualify = hisi_ptt_scenario("qualify", kPttBusyBlock);
    qualify.routine = {"6.12"};
    qualify.chassis.insert(qualify.chassis.end(), std::begin(kPttFaultyDevices),
                           std::end(kPttFaultyDevices));
    qualify.steps = {{"qualify", "/selftests/hisi_ptt/qualify.sh", 300}};
    qualify.kernels = kX86Kernels;
    return qualify;
}

// Tests a healthy device, and twenty devices that die.
Scenario hisi_ptt_death()
{
    Scenario death;
    death.name = "death";
    death.routine = {"6.12"};
    death.placement = Placement::kRootPort;
    death.models = ptt_blocks(21, "--generate rate=5000,seed=3");
    death.steps = {{"death", "PMUKIT_DEATHS=20 hisi_ptt_death_test", 600}};
    return death;
}

// Recordings of stock perf with many sets of options: the corpus of tools/perfdata
Scenario hisi_ptt_corpus()
{
    Scenario corpus = hisi_ptt_scenario("corpus");
    corpus.kernels = {"6.1", "6.12", "7.2", "6.12-arm64"};
    corpus.on_request = true;
    corpus.steps = {{"record_corpus", "/selftests/hisi_ptt/record_corpus.sh", 1800}};
    return corpus;
}

Scenario hisi_ptt_stress()
{
    Scenario stress = hisi_ptt_scenario("stress", kPttBusyBlock);
    stress.steps = {
        stress_step("events",
                    "--pmu 'hisi_ptt*' --event filter=0x80001,type=1,direction=1,format=1 "
                    "--workers 2 --unprivileged 1 --module hisi_ptt "
                    "--least-opens 10 --least-aux 2"),
        stress_step("machine",
                    "--pmu 'hisi_ptt*' --event filter=0x80001,type=1,direction=1,format=1 "
                    "--workers 2 --module hisi_ptt --cpu 1 "
                    "--bind hisi_ptt/0000:00:18.0 --remove 0000:00:18.0 --remove 0000:04:00.0 "
                    "--unload hisi_ptt=/lib/vmrun/hisi_ptt.ko "
                    "--write /sys/bus/event_source/devices/hisi_ptt0_2/tune/qos_tx_cpl=0,1,2 "
                    "--write /sys/bus/event_source/devices/hisi_ptt0_2/tune/rx_alloc_buf_level=0,2 "
                    "--read /sys/bus/event_source/devices/hisi_ptt0_2 "
                    "--least-opens 1 --least-aux 1"),
    };
    return stress;
}

}  // namespace

DriverSpec hisi_ptt_driver()
{
    DriverSpec driver;
    driver.name = "hisi_ptt";
    driver.modules = {"pmukit_common", "hisi_ptt"};
    driver.programs = {"tools/cli/pmukit",
                       "selftests/hisi_ptt/hisi_ptt_test",
                       "selftests/hisi_ptt/hisi_ptt_exact_test",
                       "selftests/hisi_ptt/hisi_ptt_flood_test",
                       "selftests/hisi_ptt/hisi_ptt_bench",
                       "selftests/hisi_ptt/hisi_ptt_cycles_test",
                       "selftests/hisi_ptt/hisi_ptt_life_test",
                       "selftests/hisi_ptt/hisi_ptt_faults_test",
                       "selftests/hisi_ptt/hisi_ptt_death_test",
                       "selftests/hisi_ptt/hisi_ptt_hotplug_test",
                       "selftests/hisi_ptt/hisi_ptt_redirect_test",
                       "selftests/hisi_ptt/pcie_load"};
    driver.files = {"selftests/hisi_ptt/abi_paths.sh",
                    "selftests/lib/abi.sh",
                    "selftests/hisi_ptt/traffic.sh",
                    "selftests/hisi_ptt/record_load.sh",
                    "selftests/hisi_ptt/everybody.sh",
                    "selftests/hisi_ptt/live.sh",
                    "selftests/hisi_ptt/qualify.sh",
                    "selftests/lib/qualify_steps.sh",
                    "selftests/hisi_ptt/slow_reader.sh",
                    "selftests/hisi_ptt/stock_perf.sh",
                    "selftests/lib/perf_test.sh",
                    "selftests/hisi_ptt/exact_record.sh",
                    "selftests/hisi_ptt/stock_driver.sh",
                    "selftests/hisi_ptt/near_node.sh",
                    "selftests/lib/tap.sh",
                    "selftests/perfdata/record_corpus.sh",
                    "selftests/hisi_ptt/iommu.sh",
                    "Documentation/ABI/testing/debugfs-pmukit",
                    "Documentation/ABI/testing/sysfs-bus-event_source-devices-hisi_ptt"};
    driver.tests = {
        hisi_ptt_traffic("traffic"),
        hisi_ptt_test(),
        hisi_ptt_record(),
        hisi_ptt_flood(),
        hisi_ptt_stock("stock_perf", kPttPerfAux, kPttAll.first(kPttLeast), {"6.12-arm64"}),
        hisi_ptt_stock("stock_perf_more", kPttPerfSmallAux, kPttAll.subspan(kPttLeast),
                       {"6.12-arm64"}),
        hisi_ptt_stock("stock_samples", kPttPerfSamples, kPttAll.first(kPttLeast), kX86Kernels),
        hisi_ptt_stock("stock_samples_more", kPttPerfSamples, kPttAll.subspan(kPttLeast),
                       kX86Kernels),
        hisi_ptt_stock_driver("stock_driver", kPttPmukit, true, {"6.12", "7.2"}),
        hisi_ptt_stock_driver("stock_driver-arm64", kPttPmukit, false, {"6.12-arm64"}),
        hisi_ptt_stock_driver("stock_driver_perf", kPttPerfOneCpu, false, {"6.12-arm64"}),
        hisi_ptt_iommu(),
        hisi_ptt_exact("exact", "", /*step_seconds=*/600),
        hisi_ptt_irq("irq_late", kPttLateBlock, "6.12"),
        hisi_ptt_irq("irq_merged", kPttMergedBlock, "7.2"),
        hisi_ptt_irq("irq_lost", kPttLostBlock, "6.1"),
        hisi_ptt_exact_long(),
        hisi_ptt_readers_long(),
        hisi_ptt_bench(),
        hisi_ptt_cycles(),
        hisi_ptt_hotplug(),
        hisi_ptt_redirect(),
        hisi_ptt_late_openers(),
        hisi_ptt_life("life", true, kX86Kernels),
        hisi_ptt_life("life-arm64", false, {"6.12-arm64"}),
        hisi_ptt_faults(),
        hisi_ptt_death(),
        hisi_ptt_qualify(),
        hisi_ptt_corpus(),
    };
    driver.demo = hisi_ptt_demo();
    driver.examples = {
        "pmukit list",
        "pmukit record --source model -e "
        "hisi_ptt0_2/filter=0000:00:10.0,type=6,direction=0,format=0/ -- pcie_load --writes 1000",
        "pmukit report", "pmukit dump | head -n 20"};
    return driver;
}

DriverSpec hisi_ptt_tests()
{
    const std::string plain = "--event filter=0x80001,type=1,direction=1,format=1";
    const std::string event = plain + " --aux 32";
    DriverSpec driver =
        with_stress(hisi_ptt_driver(), hisi_ptt_stress(), "--pmu hisi_ptt0_2 " + plain);
    driver = with_sleep(driver, "--pmu hisi_ptt0_2 " + event);
    driver = with_refresh(driver, "--pmu hisi_ptt0_2 " + event);
    driver = with_aux_extras(driver, "test", {{"aux_extras", "--pmu hisi_ptt0_2 " + event}});
    driver = with_reloads(driver, "--pmu hisi_ptt0_2 " + event);
    driver.brief.push_back("hotplug");
    driver = with_failures(
        driver,
        {{"fail_nth", "--pmu hisi_ptt0_2 " + event +
                          " --bind hisi_ptt/0000:00:18.0 --load hisi_ptt=/lib/vmrun/hisi_ptt.ko "
                          "--write /sys/bus/event_source/devices/hisi_ptt0_2/tune/qos_tx_cpl=1"}});
    driver = with_busy_privileges(driver, "--pmu hisi_ptt0_2 --policy capability " + event);
    // Only on arm64 does stock perf map an AUX area for this PMU.
    return with_examples(
        driver,
        {"Documentation/getting-started/hisi_ptt-start.rst", "Documentation/devices/hisi_ptt.rst"},
        "6.12-arm64", hisi_ptt_scenario("examples", kPttBusyBlock));
}

}  // namespace pmukit::vm
