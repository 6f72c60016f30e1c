// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "vmrun_tables.hpp"

#include <algorithm>
#include <iterator>
#include <span>
#include <string>
#include <utility>

namespace pmukit::vm {

namespace {

// 6.12 under multi-threaded TCG was seen to fault inside __schedule without any module loaded.
constexpr std::string_view kOneThread = "tcg,thread=single";
constexpr std::string_view kManyThreads = "tcg,thread=multi";

// The debug kernels of tools/scripts/debug-kernel. kmemleak needs slab_debug: without it stale
// pointers in per-CPU caches hide leaks. An emulated processor with five levels of page tables
// maps KASAN's shadow so slowly at boot that some do not get through.
constexpr std::string_view kDebugAppend =
    "kasan_multi_shot slab_debug=FZU page_poison=1 init_on_alloc=0 no5lvl";
constexpr std::string_view kRacesAppend = "no5lvl";
constexpr std::string_view kHarmlessInDebug[] = {
    "DMA-API: preallocated",  // DMA_API_DEBUG at boot
    "DMA-API: debugging enabled",
};
// What KCSAN says of itself at boot. A race is a line that begins with BUG: KCSAN:. The kernel's
// clock that may be read anywhere keeps two copies, of which a reader takes the one that is not
// written; KCSAN does not see that. A file of any device that is closed while the device is
// removed: kernfs asks one bit of a word in which it sets another, under two locks.
constexpr std::string_view kHarmlessInRaces[] = {
    "DMA-API: preallocated",
    "DMA-API: debugging enabled",
    "kcsan: enabled early",
    "kcsan: strict mode configured",
    "kcsan: non-strict mode configured",  // ... use CONFIG_KCSAN_STRICT=y to see all data races
    "kcsan: selftest:",
    "BUG: KCSAN: data-race in ktime_get_mono_fast_ns+",  // the other side is not named
    "BUG: KCSAN: data-race in __kernfs_remove / kernfs_unlink_open_file",
};
constexpr std::string_view kDebugLacks[] = {"libnvdimm", "cxl_pmem"};

constexpr KernelQuirks kKernels[] = {
    {"6.1", "amd64", "qemu-system-x86_64", "q35", "max", kManyThreads, "ttyS0", "1G"},
    {"6.12", "amd64", "qemu-system-x86_64", "q35", "max", kOneThread, "ttyS0", "1G"},
    {"7.2", "amd64", "qemu-system-x86_64", "q35", "max", kManyThreads, "ttyS0", "1G"},
    {"6.12-arm64", "arm64", "qemu-system-aarch64", "virt,gic-version=3", "max", kOneThread,
     "ttyAMA0", "1G"},
    {"debug-6.12", "amd64", "qemu-system-x86_64", "q35", "max", kOneThread, "ttyS0", "1G",
     kHarmlessInDebug, kDebugAppend, kDebugLacks, true},
    {"debug-7.2", "amd64", "qemu-system-x86_64", "q35", "max", kManyThreads, "ttyS0", "1G",
     kHarmlessInDebug, kDebugAppend, kDebugLacks, true},
    // Drivers are removed after their first probe, and what is gone is freed seconds later.
    {"late-6.12", "amd64", "qemu-system-x86_64", "q35", "max", kOneThread, "ttyS0", "1G",
     kHarmlessInDebug, kDebugAppend, kDebugLacks, true},
    // Two processors that take turns hardly ever meet within a watchpoint, so each has a thread.
    {"kcsan-6.12", "amd64", "qemu-system-x86_64", "q35", "max", kManyThreads, "ttyS0", "1G",
     kHarmlessInRaces, kRacesAppend, kDebugLacks, true, true},
};

// What needs an x86 machine, an arm64 machine, fault injection beside kmemleak.
const std::vector<std::string_view> kX86Kernels = {
    "6.1", "6.12", "7.2", "debug-6.12", "debug-7.2", "late-6.12", "kcsan-6.12"};
const std::vector<std::string_view> kArm64Kernels = {"6.12-arm64"};
const std::vector<std::string_view> kFailingKernels = {"debug-6.12", "debug-7.2"};

// Of the scenario's models the first stays healthy, and each of the others is given one of the
// faults. The unit's program tries them by name; they are all that its model knows.
void try_each_fault(Scenario &scenario, const std::string &unit,
                    std::span<const std::string_view> faults)
{
    std::string names = "healthy";
    for (size_t i = 0; i < faults.size(); i++) {
        scenario.models[i + 1] += " --fault " + std::string(faults[i]);
        names += " " + std::string(faults[i]);
    }
    scenario.steps = {{"faults", "PMUKIT_FAULTS='" + names + "' " + unit + "_faults_test", 600}};
    scenario.judgements = {
        {"every fault of the model was tried",
         {"{selftests}/lib/faults_covered.sh", "{pmukit}-model", unit, "{guest}/faults.tap"},
         0,
         {"all_tried=yes"}}};
}

// Every recording of an emulated device says so, by itself.
constexpr const char *kSourceModel = "\"source\":\"model\"";

// What two recordings of a zipf workload must show, the second with another seed than the first.
std::vector<HostStep> zipf_judgements(std::string_view first_model_log,
                                      std::string_view second_model_log)
{
    return {
        {"first seed: report reads the recording",
         {"{pmukit}", "report", "-i", "{guest}/first.data", "--json"},
         0,
         {"\"hot\"", kSourceModel},
         "{out}/first.json"},
        {"first seed: the hottest units are found",
         {"{judge}", "--report", "{out}/first.json", "--log", "{out}/first.log", "--tally",
          "{guest}/first.tally", "--model", std::string(first_model_log), "--kernel", "{kver}",
          "--require", "0.95"},
         0,
         {"demo: unit=cxl_hmu"}},
        {"second seed: report reads the recording",
         {"{pmukit}", "report", "-i", "{guest}/second.data", "--json"},
         0,
         {"\"hot\"", kSourceModel},
         "{out}/second.json"},
        {"second seed: other hottest units are found",
         {"{judge}", "--report", "{out}/second.json", "--log", "{out}/second.log", "--tally",
          "{guest}/second.tally", "--model", std::string(second_model_log), "--kernel", "{kver}",
          "--require", "0.95", "--moved-from", "{out}/first.log"},
         0,
         {"demo: unit=cxl_hmu"}},
    };
}

// Random use of a unit's PMUs for as long as one likes, without and with things that happen to the
// machine meanwhile. Options are those of pmu_stress.
GuestStep stress_step(std::string_view name, std::string_view options)
{
    return {name, "pmu_stress --seconds {seconds} --seed {seed} " + std::string(options), 180};
}

UnitSpec with_stress(UnitSpec unit, Scenario stress, const std::string &many)
{
    // First as many events as there are file descriptors, then the steps of the scenario.
    stress.steps.insert(stress.steps.begin(), {"many", "pmu_many " + many, 180});
    stress.name = "stress";
    stress.on_request = true;
    unit.brief.push_back(stress.name);
    unit.programs.push_back("selftests/stress/pmu_many");
    unit.programs.push_back("selftests/stress/pmu_stress");
    unit.tests.push_back(std::move(stress));
    return unit;
}

// A program told what to do.
struct ProgramStep {
    std::string_view name;
    std::string options;
    std::string_view before = "";  // commands of the guest's sh
};

// All PMUs that there are of a kind, as options.
std::string trees_of_pmus(const std::string &prefix)
{
    return " $(printf ' --tree %s' /sys/bus/event_source/devices/" + prefix + "_*)";
}

// As steps of a scenario that the unit has.
UnitSpec with_steps(UnitSpec unit, std::string_view scenario, std::string_view program,
                    const std::vector<ProgramStep> &steps)
{
    const std::string command = std::string(program.substr(program.rfind('/') + 1)) + " ";
    for (Scenario &test : unit.tests)
        for (const ProgramStep &step : steps)
            if (test.name == scenario)
                test.steps.push_back(
                    {step.name, std::string(step.before) + command + step.options, 60});
    unit.programs.push_back(program);
    return unit;
}

// Who may do what with a PMU.
UnitSpec with_privileges(UnitSpec unit, std::string_view scenario,
                         const std::vector<ProgramStep> &steps)
{
    return with_steps(std::move(unit), scenario, "selftests/stress/pmu_privileges", steps);
}

// What perf has around AUX areas, which none of our PMUs can.
UnitSpec with_aux_extras(UnitSpec unit, std::string_view scenario,
                         const std::vector<ProgramStep> &steps)
{
    return with_steps(std::move(unit), scenario, "selftests/stress/pmu_aux_extras", steps);
}

// The devices of the unit's stress, for something else.
Scenario on_the_machine_of_stress(const UnitSpec &unit, std::string_view name)
{
    auto found = std::find_if(unit.tests.begin(), unit.tests.end(),
                              [](const Scenario &scenario) { return scenario.name == "stress"; });
    Scenario scenario = *found;
    scenario.name = name;
    scenario.on_request = false;
    return scenario;
}

// One more scenario, of those that are short on a debug kernel: one program.
UnitSpec with_brief(UnitSpec unit, Scenario scenario, std::string_view program,
                    const std::string &options, unsigned seconds)
{
    const std::string name(program.substr(program.rfind('/') + 1));
    scenario.steps = {{scenario.name, name + " " + options, seconds}};
    unit.programs.push_back(program);
    unit.brief.push_back(scenario.name);
    unit.tests.push_back(std::move(scenario));
    return unit;
}

// The same where there is something to record, on the machine of the unit's stress.
UnitSpec with_busy_privileges(UnitSpec unit, const std::string &options)
{
    Scenario privileges = on_the_machine_of_stress(unit, "privileges");
    return with_brief(std::move(unit), std::move(privileges), "selftests/stress/pmu_privileges",
                      options + " --busy", 120);
}

// Suspended with an event that runs, on the machine of the unit's stress.
UnitSpec with_sleep(UnitSpec unit, const std::string &options)
{
    Scenario sleep = on_the_machine_of_stress(unit, "sleep");
    sleep.sleeps = true;
    sleep.kernels = {"6.12", "7.2", "debug-6.12", "debug-7.2"};
    sleep.routine = {"6.12"};
    return with_brief(std::move(unit), std::move(sleep), "selftests/stress/pmu_sleep", options,
                      120);
}

// Events that end by themselves, on the machine of the unit's stress. 7.2 stops them from inside
// their last sample.
UnitSpec with_refresh(UnitSpec unit, const std::string &options)
{
    Scenario refresh = on_the_machine_of_stress(unit, "refresh");
    refresh.routine = {"7.2"};
    return with_brief(std::move(unit), std::move(refresh), "selftests/stress/pmu_refresh", options,
                      180);
}

// The modules of the unit go and come back two hundred times, with an event of the PMU in between.
UnitSpec with_reloads(UnitSpec unit, const std::string &options)
{
    Scenario reload = on_the_machine_of_stress(unit, "reload");
    reload.only_all = true;
    reload.kernels = {"6.1", "6.12", "7.2", "debug-6.12", "debug-7.2"};
    std::string command = "pmu_reload " + options;
    for (std::string_view module : unit.modules) {
        const std::string name(module.substr(0, module.find(' ')));
        const std::string parameters(module.substr(name.size()));
        command += " --load '" + name + "=/lib/vmrun/" + name + ".ko" + parameters + "'";
    }
    reload.steps = {{"reload", command, 1800}};
    unit.programs.push_back("selftests/stress/pmu_reload");
    unit.tests.push_back(std::move(reload));
    return unit;
}

struct FailuresStep {
    std::string_view name;
    std::string options;
    std::string_view before = "";  // commands of the guest's sh
};

// Each allocation of each act fails once, on the machine of the unit's stress. Only the debug
// kernels can do that.
UnitSpec with_failures(UnitSpec unit, const std::vector<FailuresStep> &steps)
{
    Scenario failures = on_the_machine_of_stress(unit, "fail_nth");
    failures.only_all = true;
    failures.kernels = kFailingKernels;
    // Of the kernel's own: an interrupt whose files in /proc could not be made has none to remove,
    // and DMA debugging gives up. Each trouble has a line of its own above its backtrace.
    failures.harmless = {"remove_proc_entry+", "Call Trace:", "cacheline tracking ENOMEM"};
    failures.steps.clear();
    for (const FailuresStep &step : steps)
        failures.steps.push_back(
            {step.name, std::string(step.before) + "pmu_fail_nth " + step.options, 900});
    unit.programs.push_back("selftests/stress/pmu_fail_nth");
    unit.tests.push_back(std::move(failures));
    return unit;
}

Scenario cxl_hmu_demo()
{
    std::vector<HostStep> zipf = zipf_judgements("{out}/model0.log", "{out}/model1.log");
    Scenario demo;
    demo.name = "demo";
    demo.models = {"--access-log {out}/first.log", "--access-log {out}/second.log"};
    demo.steps = {
        {"record_first", "/selftests/cxl_hmu/record_zipf.sh 0 {seed} first", 120},
        {"record_second", "/selftests/cxl_hmu/record_zipf.sh 1 {next_seed} second", 120},
    };
    demo.judgements = {
        zipf[0],
        {"first seed: table", {"{pmukit}", "report", "-i", "{guest}/first.data", "--top", "16"}},
        zipf[1],
        zipf[2],
        {"second seed: table", {"{pmukit}", "report", "-i", "{guest}/second.data", "--top", "16"}},
        zipf[3],
    };
    return demo;
}

std::vector<HostStep> cxl_hmu_test_judgements()
{
    std::vector<HostStep> steps = zipf_judgements("{out}/model1.log", "{out}/model2.log");
    steps.push_back({"stock perf with -R: dump decodes hot-list entries",
                     {"{pmukit}", "dump", "-i", "{guest}/stock_raw.data"},
                     0,
                     {"CXL_HMU data: size", "Header 1 : deadbeef"}});
    steps.push_back({"stock perf without -R: dump names what is missing",
                     {"{pmukit}", "dump", "-i", "{guest}/stock_plain.data"},
                     1,
                     {"-R"}});
    steps.push_back({"eight epochs: AUX data",
                     {"{pmukit}", "dump", "-i", "{guest}/epochs_aux.data"},
                     0,
                     {"CXL_HMU data: size"},
                     "{out}/epochs_aux.txt"});
    steps.push_back({"eight epochs: samples",
                     {"{pmukit}", "dump", "-i", "{guest}/epochs_raw.data"},
                     0,
                     {"CXL_HMU data: size"},
                     "{out}/epochs_raw.txt"});
    steps.push_back({"eight epochs: AUX data, samples, trace event and model agree entry by entry",
                     {"{entries_judge}", "--log", "{out}/epochs.log", "--epochs", "8", "--dump",
                      "{out}/epochs_aux.txt", "--dump", "{out}/epochs_raw.txt", "--trace",
                      "{guest}/epochs.trace"},
                     0,
                     {"3 of the model's 3 enables"}});
    steps.push_back({"losses: handed over and lost are the model's entries",
                     {"{entries_judge}", "--log", "{out}/losses.log", "--losses",
                      "{guest}/losses/1.aux_full", "--losses", "{guest}/losses/2.ring_full",
                      "--losses", "{guest}/losses/3.stop_while_waiting"},
                     0,
                     {"25 of the model's 25 enables"}});
    return steps;
}

Scenario cxl_hmu_test()
{
    Scenario test;
    test.name = "test";
    // The fourth makes its eight epochs wait until the hot list has room for them, the fifth
    // never waits.
    test.models = {"", "--access-log {out}/first.log", "--access-log {out}/second.log",
                   "--source zipf:seed=1,epochs=8,room=500,units=400 --entries-log "
                   "{out}/epochs.log",
                   "--source uniform:seed=2,epochs=8,accesses=3000,units=700 --entries-log "
                   "{out}/losses.log"};
    test.steps = {
        {"abi_paths", "/selftests/cxl_hmu/abi_paths.sh", 180},
        {"cxl_hmu_test", "cxl_hmu_test", 300},
        {"stock_perf", "/selftests/cxl_hmu/stock_perf.sh 0", 120},
        {"trace_event", "/selftests/cxl_hmu/trace_event.sh 0", 120},
        {"eight_epochs", "/selftests/cxl_hmu/eight_epochs.sh 3", 120},
        {"losses", "PMUKIT_DEVICE=4 cxl_hmu_losses_test", 240},
        {"record_first", "/selftests/cxl_hmu/record_zipf.sh 1 {seed} first", 120},
        {"record_second", "/selftests/cxl_hmu/record_zipf.sh 2 {next_seed} second", 120},
    };
    test.judgements = cxl_hmu_test_judgements();
    return test;
}

// Both of them in one process.
Scenario cxl_hmu_two_devices()
{
    Scenario two;
    two.name = "two_devices";
    two.routine = {"6.12"};
    two.chassis = {
        {"cxl_hmu --serial 1", "pcie.0", "10.0"},
        {"cxl_hmu --serial 2 --doe --source zipf:accesses=500,units=256", "pcie.0", "11.0"},
    };
    two.steps = {{"two_devices", "/selftests/cxl_hmu/two_devices.sh", 180}};
    return two;
}

// The rounds of cxl_hmu_life_test. On x86 the device sits near the second CPU, since the first
// cannot leave.
Scenario cxl_hmu_life(std::string_view name, Placement placement,
                      std::vector<std::string_view> kernels)
{
    Scenario life;
    life.name = name;
    life.placement = placement;
    life.models = {""};
    life.steps = {{"life", "PMUKIT_MODULE=/lib/vmrun/cxl_hmu.ko cxl_hmu_life_test", 600}};
    life.kernels = std::move(kernels);
    life.routine = {"6.1", "6.12-arm64"};
    return life;
}

// Of the model's stats log: register accesses of a drain that took entries. Looks in vain count for
// the next drain there, so one in ten may have read more.
constexpr std::string_view kDrainCost = R"(
    $2 == "enabled" { on[$1] = 1 }
    $2 == "disabled" { on[$1] = 0 }
    $2 == "head" && on[$1] { drains++; writes += $5 > 3; reads += $4 > $3 + 6 }
    END {
        printf "drains=%d with_more_writes=%d with_more_reads=%d\n", drains, writes, reads
        exit !(drains >= 20 && !writes && reads * 10 < drains)
    })";

// The module as the driver of a function that cxl_pci has let go of.
Scenario cxl_hmu_standalone()
{
    Scenario alone;
    alone.name = "standalone";
    alone.routine = {"7.2"};
    alone.models = {"", "--source zipf:accesses=500,units=64 --stats-log {out}/stats.log"};
    alone.judgements = {{"a drain costs at most its entries + 6 reads and 3 writes",
                         {"awk", std::string(kDrainCost), "{out}/stats.log"},
                         0,
                         {"drains="}}};
    alone.steps = {{"standalone",
                    "PMUKIT_MODULE=/lib/vmrun/cxl_hmu.ko /selftests/cxl_hmu/standalone.sh", 180}};
    return alone;
}

// Devices of other shapes than the usual one: the first has more instances than vectors.
Scenario cxl_hmu_shapes()
{
    Scenario shapes;
    shapes.name = "shapes";
    shapes.routine = {"6.12"};
    shapes.models = {"--chmus 3 --instances 6", "--no-level-interrupt --no-overflow-interrupt",
                     "--postponed --per-counter-epochs --hot-list 64", "--no-address-overlap"};
    shapes.steps = {
        {"shapes", "PMUKIT_SHAPES='many polled postponed unshared' cxl_hmu_shapes_test", 300}};
    return shapes;
}

// One device a fault of the model; the first has none.
Scenario cxl_hmu_faults()
{
    static constexpr std::string_view kFaults[] = {
        "never-idle",
        "enable-fails",
        "tail-out-of-range",
        "head-ignored",
        "width-0",
        "width-64",
        "zero-instances",
        "instance-length-beyond-bar",
        "offsets-outside",
        "hot-list-size-0",
        "hot-list-size-1",
        "irq-lost",
        "irq-storm",
        "irq-spurious",
        "reset-mid-run",
        "all-ones",
        "all-ones-once-enabled",
        "slow-operations",
        "values-change-between-reads",
    };
    Scenario faults;
    faults.name = "faults";
    faults.routine = {"6.12"};
    faults.placement = Placement::kRootPort;
    faults.models.assign(1 + std::size(kFaults), "--instances 1");
    try_each_fault(faults, "cxl_hmu", kFaults);
    return faults;
}

// A healthy device, and twenty that die; vmrun cannot bring one back into the same guest.
Scenario cxl_hmu_death()
{
    Scenario death;
    death.name = "death";
    death.routine = {"7.2"};
    death.placement = Placement::kRootPort;
    death.models.assign(21, "--instances 1");
    death.steps = {{"death", "PMUKIT_DEATHS=20 cxl_hmu_death_test", 600}};
    return death;
}

// A region in front of a device, and what `pmukit report` makes of it. 6.1 knows no regions of
// volatile memory.
Scenario cxl_hmu_topology()
{
    Scenario topology;
    topology.name = "topology";
    topology.placement = Placement::kCxlRootPort;
    topology.models = {"--instances 1"};
    topology.steps = {
        {"live", "/selftests/cxl_hmu/live.sh 0", 240},
        {"cxl_list", "/selftests/cxl_hmu/cxl_list.sh", 60},
        {"topology", "/selftests/cxl_hmu/topology.sh", 120},
    };
    topology.judgements = {
        {"host addresses: report reads the recording and the saved sysfs",
         {"{pmukit}", "report", "-i", "{guest}/topology.data", "--json", "--top", "0",
          "--cxl-topology", "{guest}/topology"},
         0,
         {"\"hpa\"", kSourceModel},
         "{out}/topology.json"},
        {"host addresses: those of the region's own numbers",
         {"{topology_judge}", "--report", "{out}/topology.json", "--region",
          "{guest}/topology.region"},
         0,
         {"at the region's addresses"}},
    };
    topology.kernels = {"6.12", "7.2"};
    return topology;
}

// A program whose memory is all in the device, and what `pmukit tier` does for it. The node is seen
// through no cache: every load and store of it is a request.
Scenario cxl_hmu_tier()
{
    Scenario tier;
    tier.name = "tier";
    tier.tapped_node = true;
    tier.models = {
        "--instances 1 --counters 4096 --hot-list 4096 --memory {tap_bytes} "
        "--tap {out}/ring --tap-base {tap_base}"};
    tier.append = "numa_balancing=disable";
    tier.steps = {{"tier", "/selftests/cxl_hmu/tier.sh", 600}};
    tier.judgements = {{"slow accesses fall to 40 % and less, with a fifth of the pages moved",
                        {"{selftests}/cxl_hmu/judge_tier.sh", "{out}/tally", "{out}/model0.log",
                         "{guest}/tier.json"},
                        0,
                        {"judge: ok"}}};
    tier.kernels = {"6.1", "6.12", "7.2"};
    tier.routine = {"6.12"};
    return tier;
}

// One recording of several units: a program and an endpoint that use the device's memory, on its
// NUMA node, beside a group whose cache is watched.
Scenario cxl_hmu_join()
{
    Scenario join;
    join.name = "join";
    join.tapped_node = true;
    join.beside = {"cache_qos", "hisi_ptt"};
    join.bridges = {"pcie-root-port,id=rp10,bus=pcie.0,addr=10.0,chassis=0,slot=16"};
    join.chassis = {
        {"cxl_hmu --instances 1 --counters 4096 --hot-list 4096 --memory {tap_bytes} "
         "--tap {out}/ring --tap-base {tap_base}",
         "pcie.0"},
        {"hisi_ptt --serves 00:10.0", "pcie.0", "18.0"},
        {"pcie_ep --bdf 01:00.0 --root-port 00:10.0", "rp10"},
    };
    join.append = "numa_balancing=disable";
    join.steps = {{"join", "/selftests/cxl_hmu/join.sh", 600}};
    join.kernels = {"6.12", "7.2"};
    join.routine = {"7.2"};
    return join;
}

// The same command where there is no region.
Scenario cxl_hmu_list()
{
    Scenario list;
    list.name = "cxl-list";
    list.models = {"--instances 1"};
    list.steps = {
        {"live", "/selftests/cxl_hmu/live.sh 0", 240},
        {"cxl_list", "/selftests/cxl_hmu/cxl_list.sh", 60},
    };
    list.kernels = {"6.1", "6.12-arm64"};
    return list;
}

Scenario cxl_hmu_stress()
{
    Scenario stress;
    stress.placement = Placement::kRootPort;
    stress.models = {"--source zipf:accesses=2000,units=512"};
    stress.steps = {
        stress_step("events",
                    "--pmu 'cxl_hmu_*' --workers 2 --nobody 1 --module cxl_hmu "
                    "--least-opens 10 --least-aux 2"),
        stress_step("machine",
                    "--pmu 'cxl_hmu_*' --workers 2 --module cxl_hmu --cpu 1 "
                    "--bind cxl_pci/1234:4348 --remove 1234:4348 "
                    "--unload cxl_hmu=/lib/vmrun/cxl_hmu.ko "
                    "--read /sys/bus/event_source/devices/cxl_hmu_mem0.0.0 "
                    "--least-opens 1 --least-aux 1"),
    };
    return stress;
}

UnitSpec cxl_hmu()
{
    UnitSpec unit;
    unit.unit = "cxl_hmu";
    // 7.2 wants this order; the others do not mind.
    unit.stock_modules = {"libnvdimm", "cxl_pmem", "cxl_acpi", "cxl_mem", "cxl_pci"};
    unit.modules = {"pmukit_common", "cxl_hmu"};
    unit.programs = {"tools/cli/pmukit",
                     "selftests/cxl_hmu/cxl_hmu_test",
                     "selftests/cxl_hmu/cxl_hmu_losses_test",
                     "selftests/cxl_hmu/cxl_hmu_life_test",
                     "selftests/cxl_hmu/cxl_hmu_faults_test",
                     "selftests/cxl_hmu/cxl_hmu_death_test",
                     "selftests/cxl_hmu/cxl_hmu_shapes_test",
                     "selftests/cxl_hmu/zipf_access",
                     "selftests/cxl_hmu/tier_load"};
    unit.files = {"selftests/cxl_hmu/hmu.sh",
                  "selftests/cxl_hmu/pmu_name.sh",
                  "selftests/cxl_hmu/record_zipf.sh",
                  "selftests/cxl_hmu/stock_perf.sh",
                  "selftests/cxl_hmu/abi_paths.sh",
                  "selftests/lib/abi.sh",
                  "selftests/cxl_hmu/trace_event.sh",
                  "selftests/cxl_hmu/live.sh",
                  "selftests/cxl_hmu/standalone.sh",
                  "selftests/cxl_hmu/two_devices.sh",
                  "selftests/cxl_hmu/eight_epochs.sh",
                  "selftests/cxl_hmu/until_idle.sh",
                  "selftests/cxl_hmu/cxl_list.sh",
                  "selftests/cxl_hmu/topology.sh",
                  "selftests/cxl_hmu/tier.sh",
                  "selftests/cxl_hmu/join.sh",
                  "Documentation/ABI/testing/sysfs-bus-event_source-devices-cxl_hmu"};
    unit.tests = {
        cxl_hmu_test(),
        cxl_hmu_two_devices(),
        cxl_hmu_standalone(),
        cxl_hmu_life("life", Placement::kCxlRootPort, kX86Kernels),
        cxl_hmu_life("life-arm64", Placement::kIntegrated, kArm64Kernels),
        cxl_hmu_shapes(),
        cxl_hmu_faults(),
        cxl_hmu_death(),
        cxl_hmu_topology(),
        cxl_hmu_tier(),
        cxl_hmu_join(),
        cxl_hmu_list(),
    };
    unit.every_turn = {"test"};
    unit.demo = cxl_hmu_demo();
    return unit;
}

constexpr std::string_view kPttBlock =
    "hisi_ptt --serves 00:10.0 --serves 00:11.0 --seen-log {out}/seen.log "
    "--traced-log {out}/traced.log --stats-log {out}/stats.log";
// The same, with more traffic than the endpoints can make: each trace meets 20000 requests and
// their completions within a second.
constexpr std::string_view kPttBusyBlock =
    "hisi_ptt --serves 00:10.0 --serves 00:11.0 --seen-log {out}/seen.log "
    "--traced-log {out}/traced.log --stats-log {out}/stats.log "
    "--generate rate=40000,seed=7,count=40000,peer=20,unsupported=5,pasid=10,relaxed=10 "
    "--function 01:00.0@00:10.0 --function 04:00.0@00:11.0";

// A core with two root ports, an endpoint below the one and a switch with an endpoint below the
// other; and a root port of another core.
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
    traffic.judgements = {
        {"the model saw what the program did, and nothing else",
         {"{selftests}/hisi_ptt/count_tlps.sh", "{out}/seen.log"},
         0,
         {"stores=300 loads=200 loaded=200 end", "dma_in=21800 asked=12400 fetched=12400 end",
          "peer_stored=1800 peer_fetched=2400 end", "messages=5 foreign=0 end"}}};
    return traffic;
}

// A recording and what it must hold: all that the model traced meanwhile, and of what passed just
// what the terms ask for. Recordings are judged by their number, the traces of a log being in
// order.
struct PttRecording {
    std::string_view name;
    std::string_view terms;
    std::string_view at_least;  // packets
    std::string_view load = "/selftests/hisi_ptt/everybody.sh";
    std::string_view options{};
};

// Both formats, every direction and type, one port and several, a requester above and below a
// switch. The load is the same for all of them: what a CPU and the functions' DMA do.
constexpr PttRecording kPttRecordings[] = {
    {"posted_out_8dw", "filter=0x80001,type=1,direction=1,format=1", "400"},
    {"inbound_4dw", "filter=0x80005,type=7,direction=0,format=0", "300"},
    {"requester_8dw", "filter=0x00400,type=7,direction=2,format=1", "40"},
    {"completions_a_4dw", "filter=0x80001,type=4,direction=3,format=0", "100"},
    // The first four are the least that has every direction, both formats and kinds of filter.
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

// By the names of functions, which pmukit knows.
constexpr PttRecording kPttNamed[] = {
    {"named_port_8dw", "filter=0000:00:10.0,type=1,direction=1,format=1", "400"},
    {"named_requester_4dw", "filter=04:00.0,type=7,direction=0,format=0", "40"},
};

// Through the largest AUX area in one piece, and through one whose buffers fill and come round.
constexpr PttRecording kPttFloods[] = {
    {"flood_aux_16m", "filter=0x80005,type=7,direction=0,format=0", "20000", "sleep 5",
     "-m 64,4096"},
    {"flood_aux_512k", "filter=0x80005,type=7,direction=2,format=1", "20000", "sleep 5",
     "-m 64,128"},
};

// Who records. perf knows the unit where it was built for arm64: it maps an AUX area, and `perf
// report -D` prints the entries. Elsewhere it takes samples, whose payload comes with -R.
struct PttRecorder {
    std::string_view words;    // in front of record_load.sh
    std::string_view options;  // of the recorder
    bool perf_report = false;  // judge the text of perf report -D as well
    bool says_source = false;  // the recording says that the device is a model
};
constexpr PttRecorder kPttPmukit{"", " --source model", false, true};
constexpr PttRecorder kPttPerfAux{"RECORDER=perf REPORT=1 ", "", true};
// As perf maps for who has few privileges: an AUX area of 128 KiB instead of 16 MiB.
constexpr PttRecorder kPttPerfSmallAux{"RECORDER=perf REPORT=1 ", " -m 64,32", true};
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
        scenario.judgements.push_back(
            {name,
             {"{selftests}/hisi_ptt/judge_recording.sh", "{pmukit}", "{ptt_judge}", "{guest}",
              "{out}", name, trace, at_least, "{kver}"},
             0,
             {"equal=yes"}});
        if (recorder.says_source)
            scenario.judgements.back().must_say.push_back("# source=model");
        if (recorder.perf_report)
            scenario.judgements.push_back(
                {name + ": perf report -D",
                 {"{ptt_judge}", "--perf-report", "{guest}/" + name + ".report", "--low-byte-first",
                  "--traced", "{out}/traced.log", "--seen", "{out}/seen.log", "--run", trace,
                  "--at-least", at_least, "--kernel", "{kver}"},
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

// What comes in at two ports, non-posted requests and completions: of what the functions behind
// them ask each other both are seen, and so is how long it took.
constexpr PttRecording kPttDemo[] = {
    {"latency_4dw", "filter=0000:00:10.0+0000:00:11.0,type=6,direction=0,format=0", "100"},
};

Scenario hisi_ptt_demo()
{
    Scenario scenario = hisi_ptt_scenario("demo");
    add_recordings(scenario, kPttDemo, kPttPmukit);
    scenario.judgements.push_back(
        {"table", {"{pmukit}", "report", "-i", "{guest}/latency_4dw.data", "--top", "16"}});
    return scenario;
}

// Of the model's stats log: register accesses from one full buffer to the next. The flood is traced
// into the AUX area itself, where a buffer needs no more than four.
constexpr std::string_view kPttBufferCost = R"(
    { sum += $2 + $3 }
    $1 == "message" { worst = buffers && sum > worst ? sum : worst; buffers++; sum = 0 }
    $1 == "start" || $1 == "stop" { sum = 0 }
    END {
        printf "buffers=%d accesses_at_most=%d\n", buffers, worst
        exit !(buffers >= 4 && worst && worst <= 4)
    })";

Scenario hisi_ptt_flood()
{
    Scenario scenario = hisi_ptt_scenario("flood", kPttBusyBlock);
    scenario.routine = {"7.2"};
    add_recordings(scenario, kPttFloods, kPttPmukit);
    scenario.judgements.push_back({"a buffer of zero-copy costs at most 4 register accesses",
                                   {"awk", std::string(kPttBufferCost), "{out}/stats.log"},
                                   0,
                                   {"buffers="}});
    return scenario;
}

// The recordings of stock perf: the least in a plain run, the others beside it on demand.
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

// The endpoints' DMA is translated: only a CPU makes packets.
constexpr PttRecording kPttBehindIommu[] = {
    {"posted_out_8dw", "filter=0x80001,type=1,direction=1,format=1", "400",
     "pcie_load --function 01:00.0 --writes 400 --width 4"},
};

// Behind an IOMMU that translates, where the device may not be bound.
Scenario hisi_ptt_iommu()
{
    Scenario scenario = hisi_ptt_scenario("iommu");
    scenario.kernels = {"6.1", "6.12", "7.2", "debug-6.12", "debug-7.2"};
    scenario.routine = {"6.12"};
    scenario.append = "intel_iommu=on";
    // Devices that come behind it are behind it.
    scenario.bridges.insert(scenario.bridges.begin(), "intel-iommu,caching-mode=on,intremap=off");
    scenario.steps = {{"iommu", "/selftests/hisi_ptt/iommu.sh", 60}};
    add_recordings(scenario, kPttBehindIommu, kPttPmukit);
    return scenario;
}

// Where all DMA is bounced, as in encrypted guests, the device cannot write into an AUX area: all
// is copied, through an area that could be bounced and through one that is too large for that.
constexpr PttRecording kPttBounced[] = {
    {"bounced_128k", "filter=0x80001,type=1,direction=1,format=1", "400",
     "pcie_load --function 01:00.0 --writes 400 --width 4", "-m 64,32"},
    {"bounced_16m", "filter=0x80001,type=1,direction=1,format=1", "400",
     "pcie_load --function 01:00.0 --writes 400 --width 4", "-m 64,4096"},
};

Scenario hisi_ptt_bounce()
{
    Scenario scenario = hisi_ptt_scenario("bounce");
    scenario.kernels = kX86Kernels;
    scenario.routine = {"7.2"};
    scenario.append = "swiotlb=force";
    add_recordings(scenario, kPttBounced, kPttPmukit);
    scenario.steps.push_back({"copied",
                              "printf 'TAP version 13\\n1..1\\n'; "
                              "cd /sys/bus/event_source/devices/hisi_ptt0_2/runs && "
                              "[ $(cat zero_copy) = 0 ] && [ $(cat copied_bytes) -ge 25600 ] && "
                              "! dmesg | grep -q 'swiotlb buffer is full' && "
                              "echo ok 1 all was copied || echo not ok 1 all was copied",
                              20});
    return scenario;
}

Scenario hisi_ptt_test()
{
    Scenario test = hisi_ptt_scenario("test");
    // The last takes functions off the bus; on arm64 not all are endpoints again after that.
    test.steps = {{"abi_paths", "/selftests/hisi_ptt/abi_paths.sh", 180},
                  {"live", "/selftests/hisi_ptt/live.sh", 180},
                  {"slow_reader", "/selftests/hisi_ptt/slow_reader.sh", 180},
                  {"hisi_ptt_test", "hisi_ptt_test", 300}};
    return test;
}

// With an endpoint more, below the other port of the switch, where at first nothing is.
Scenario hisi_ptt_with_a_free_slot(std::string_view name)
{
    Scenario scenario = hisi_ptt_scenario(name);
    scenario.chassis.push_back(
        {"pcie_ep --bdf 05:00.0 --root-port 00:11.0", "down1", {}, /*plugged=*/false});
    return scenario;
}

// Events that are opened by the number of a PMU while it goes: more at a time than there are CPUs,
// so that some are in the middle of it. Each has to have opened some; the worker beside them need
// not, for its first event lacks a filter. Freed memory is poisoned, for most of these kernels have
// no KASAN.
Scenario hisi_ptt_late_openers()
{
    Scenario late = hisi_ptt_scenario("late_openers");
    late.kernels = kX86Kernels;
    late.append = "slub_debug=P";
    std::string options =
        "--seconds 30 --pmu 'hisi_ptt*' --workers 1 --least-opens 0 --module hisi_ptt "
        "--bind hisi_ptt/0000:00:18.0";
    for (unsigned opener = 0; opener < 8; ++opener) {
        options += " --knock hisi_ptt0_2=filter=0x80001,type=1,direction=1,format=1";
    }
    late.steps = {{"late_openers", "pmu_stress " + options, 180}};
    return late;
}

// Starts and stops, and the entries of all of them.
Scenario hisi_ptt_cycles()
{
    Scenario cycles = hisi_ptt_with_a_free_slot("cycles");
    cycles.routine = {"7.2"};
    cycles.steps = {{"cycles", "hisi_ptt_cycles_test", 600}};
    cycles.judgements = {{"two hundred starts and stops: entry by entry what the model traced",
                          {"{ptt_judge}", "--entries", "{guest}/cycles", "--traced",
                           "{out}/traced.log", "--seen", "{out}/seen.log", "--run", "0", "--runs",
                           "0", "--at-least", "20000", "--kernel", "{kver}"},
                          0,
                          {"lost=0 equal=yes"}}};
    return cycles;
}

// Endpoints plugged and unplugged while they are traced.
Scenario hisi_ptt_hotplug()
{
    Scenario hotplug = hisi_ptt_with_a_free_slot("hotplug");
    hotplug.routine = {"7.2", "6.12-arm64"};
    hotplug.steps = {{"hotplug", "hisi_ptt_hotplug_test", 600}};
    hotplug.judgements = {
        {"plugged and unplugged: entry by entry what the model traced",
         {"{ptt_judge}", "--entries", "{guest}/hotplug", "--traced", "{out}/traced.log", "--seen",
          "{out}/seen.log", "--run", "0", "--runs", "0", "--at-least", "800", "--kernel", "{kver}"},
         0,
         {"lost=0 equal=yes"}}};
    return hotplug;
}

// AUX areas in the ring of another event, of which 7.2 itself warns: see with_redirect().
Scenario hisi_ptt_redirect()
{
    Scenario redirect = hisi_ptt_scenario("redirect");
    redirect.kernels = {"6.1", "6.12", "6.12-arm64", "debug-6.12"};
    redirect.routine = {"6.1"};
    redirect.steps = {{"redirect", "hisi_ptt_redirect_test", 120}};
    return redirect;
}

// On x86 the device is said to be near the second CPU, since the first cannot leave.
Scenario hisi_ptt_life(std::string_view name, bool two_nodes, std::vector<std::string_view> kernels)
{
    Scenario life = hisi_ptt_scenario(name);
    life.two_nodes = two_nodes;
    life.steps = {{"life", "PMUKIT_MODULE=/lib/vmrun/hisi_ptt.ko hisi_ptt_life_test", 600}};
    life.kernels = std::move(kernels);
    life.routine = {"7.2"};
    life.only_all = !two_nodes;
    return life;
}

// Devices that stand alone, each with traffic of its own: all serve the first one's port, and the
// n-th has core number n.
std::vector<std::string> ptt_blocks(size_t count, std::string_view traffic)
{
    std::vector<std::string> blocks;
    for (size_t core = 0; core < count; core++)
        blocks.push_back("--serves 00:10.0 --function 01:00.0@00:10.0 --core " +
                         std::to_string(core) + " --generate " + std::string(traffic));
    return blocks;
}

// One device a fault of the model; the first has none, and the last needs more time to tune than it
// is given.
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
    faults.models =
        ptt_blocks(2 + std::size(kFaults), "rate=30000,seed=11,count=14000,inbound=80,reads=30");
    faults.models.back() += " --tune-us 1900000";
    try_each_fault(faults, "hisi_ptt", kFaults);
    return faults;
}

// A healthy device, and twenty that die.
Scenario hisi_ptt_death()
{
    Scenario death;
    death.name = "death";
    death.routine = {"6.12"};
    death.placement = Placement::kRootPort;
    death.models = ptt_blocks(21, "rate=5000,seed=3");
    death.steps = {{"death", "PMUKIT_DEATHS=20 hisi_ptt_death_test", 600}};
    return death;
}

// What stock perf records with many sets of options: the files of tools/perfdata's corpus.
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
                    "--workers 2 --nobody 1 --module hisi_ptt "
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

UnitSpec hisi_ptt()
{
    UnitSpec unit;
    unit.unit = "hisi_ptt";
    unit.modules = {"pmukit_common", "hisi_ptt"};
    unit.programs = {"tools/cli/pmukit",
                     "selftests/hisi_ptt/hisi_ptt_test",
                     "selftests/hisi_ptt/hisi_ptt_cycles_test",
                     "selftests/hisi_ptt/hisi_ptt_life_test",
                     "selftests/hisi_ptt/hisi_ptt_faults_test",
                     "selftests/hisi_ptt/hisi_ptt_death_test",
                     "selftests/hisi_ptt/hisi_ptt_hotplug_test",
                     "selftests/hisi_ptt/hisi_ptt_redirect_test",
                     "selftests/hisi_ptt/pcie_load"};
    unit.files = {"selftests/hisi_ptt/abi_paths.sh",
                  "selftests/lib/abi.sh",
                  "selftests/hisi_ptt/traffic.sh",
                  "selftests/hisi_ptt/record_load.sh",
                  "selftests/hisi_ptt/everybody.sh",
                  "selftests/hisi_ptt/live.sh",
                  "selftests/hisi_ptt/slow_reader.sh",
                  "selftests/lib/tap.sh",
                  "selftests/perfdata/record_corpus.sh",
                  "selftests/hisi_ptt/iommu.sh",
                  "Documentation/ABI/testing/sysfs-bus-event_source-devices-hisi_ptt"};
    unit.tests = {
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
        hisi_ptt_iommu(),
        hisi_ptt_bounce(),
        hisi_ptt_cycles(),
        hisi_ptt_hotplug(),
        hisi_ptt_redirect(),
        hisi_ptt_late_openers(),
        hisi_ptt_life("life", true, kX86Kernels),
        hisi_ptt_life("life-arm64", false, {"6.12-arm64"}),
        hisi_ptt_faults(),
        hisi_ptt_death(),
        hisi_ptt_corpus(),
    };
    unit.every_turn = {"test"};
    unit.demo = hisi_ptt_demo();
    return unit;
}

// The uncore function, and a memory expander whose link its CXL units watch.
//
//   00:10.0 --- 01:00.0 expander
//   00:18.0 the uncore: IMC units 0 and 1, CXLCM, CXLDP and B2CXL unit 0, one of an unknown type
constexpr std::string_view kUncore = "uncore_pmon --serves 00:10.0 --access-log {out}/accesses.log";

Scenario uncore_pmon_scenario(std::string_view name, std::string_view function = kUncore)
{
    Scenario scenario;
    scenario.name = name;
    scenario.bridges = {"pcie-root-port,id=rp10,bus=pcie.0,addr=10.0,chassis=0,slot=16"};
    scenario.chassis = {
        {function, "pcie.0", "18.0"},
        {"cxl_hmu --serial 1 --bdf 01:00.0 --root-port 00:10.0", "rp10"},
    };
    scenario.kernels = kX86Kernels;
    return scenario;
}

Scenario uncore_pmon_traffic(std::string_view name)
{
    Scenario traffic = uncore_pmon_scenario(name);
    traffic.routine = {"7.2"};
    traffic.steps = {{"discover", "/selftests/uncore_pmon/discover.sh", 60},
                     {"traffic", "/selftests/uncore_pmon/traffic.sh", 120}};
    traffic.judgements = {
        {"the model's log has what the programs did, and nothing else",
         {"{selftests}/uncore_pmon/count_accesses.sh", "{out}/accesses.log"},
         0,
         {"6.0 0 0xcf05 700\n", "6.0 1 0xf005 300\n", "6.1 0 0xff05 50\n", "12.0 0 0x802 400\n",
          "12.0 1 0x1002 250\n", "12.0 4 0x1041 400\n", "13.0 0 0x2002 250\n", "17.0 0 0x424 400\n",
          "ddr_reads=781 ddr_writes=300 cxl_reads=400 cxl_writes=250 end"}}};
    return traffic;
}

Scenario uncore_pmon_test()
{
    Scenario test = uncore_pmon_scenario("test");
    test.steps = {
        {"abi_paths", "/selftests/uncore_pmon/abi_paths.sh", 180},
        {"discover", "/selftests/uncore_pmon/discover.sh", 60},
        {"uncore_pmon_test", "uncore_pmon_test -T shares_counters_fairly", 300},
        {"perf_stat", "/selftests/uncore_pmon/perf_stat.sh exact", 600},
        {"perf_tests", "/selftests/uncore_pmon/perf_tests.sh", 900},
        {"units_move", "uncore_pmon_life_test -t units_move", 120},
    };
    return test;
}

// Every counter begins little before its wrap, and is no wider than it has to be.
Scenario uncore_pmon_wrap()
{
    Scenario wrap = uncore_pmon_scenario(
        "wrap", "uncore_pmon --serves 00:10.0 --width 32 --below-wrap 1000 --global-mmio");
    wrap.routine = {"6.1"};
    wrap.steps = {
        {"uncore_pmon_test",
         "uncore_pmon_test -T shares_counters_fairly -T shares_clocks_without_a_gap", 300},
        {"perf_stat", "/selftests/uncore_pmon/perf_stat.sh exact", 600}};
    return wrap;
}

// More events than counters. What is scaled is right when traffic is the same all the time, which
// is not in the hands of a guest; but its time is.
Scenario uncore_pmon_shared()
{
    Scenario shared = uncore_pmon_scenario("shared");
    shared.steady = true;
    shared.routine = {"6.12"};
    shared.steps = {{"perf_stat", "/selftests/uncore_pmon/perf_stat.sh shared", 120},
                    {"shares", "uncore_pmon_test -t shares_counters_fairly", 120}};
    shared.judgements = {{"a turn costs three register accesses and no freeze",
                          {"{selftests}/uncore_pmon/count_turns.sh", "{out}/accesses.log"},
                          0,
                          {"units=2 bad=0 end"}}};
    return shared;
}

// The least width there is: counters are looked at each millisecond. What perf counts first is
// judged from outside. Tests that compare clocks of 1.2 GHz are left out: 24 bits of them wrap in
// 14 ms, for which a busy host holds up a guest now and then.
Scenario uncore_pmon_narrow()
{
    Scenario narrow = uncore_pmon_scenario("narrow",
                                           "uncore_pmon --serves 00:10.0 --width 24 --below-wrap "
                                           "1000 --access-log {out}/accesses.log");
    narrow.routine = {"7.2"};
    narrow.steps = {{"perf_stat", "/selftests/uncore_pmon/perf_stat.sh exact", 600},
                    {"uncore_pmon_test",
                     "uncore_pmon_test -T shares_counters_fairly -T shares_clocks_without_a_gap "
                     "-T counts_a_group_at_once -T counts_on_when_others_are_throttled",
                     300}};
    narrow.judgements = {
        {"what perf counted is what the model's log says",
         {"{selftests}/uncore_pmon/perf_judge.sh", "{guest}/perf_stat.tap", "{out}/accesses.log"},
         0,
         {"wrong=0 missing=0 end"}}};
    return narrow;
}

// The rounds of uncore_pmon_life_test, near the second CPU, since the first cannot leave. In the
// window of a port there is no other place for a BAR: that one is tried in "test".
Scenario uncore_pmon_life()
{
    Scenario life;
    life.name = "life";
    life.placement = Placement::kCxlRootPort;
    life.bridges = {"pxb-pcie,id=px,bus=pcie.0,addr=e.0,bus_nr=128,numa_node=1",
                    "pcie-root-port,id=rpx,bus=px,chassis=0,slot=20"};
    life.chassis = {{"uncore_pmon", "rpx"}};
    life.steps = {{"life",
                   "PMUKIT_MODULE=/lib/vmrun/uncore_pmon.ko uncore_pmon_life_test -T units_move",
                   600}};
    life.kernels = kX86Kernels;
    life.routine = {"6.1"};
    return life;
}

// Of units that are not there the driver only knows what the table says, until it is told to ask
// them.
Scenario uncore_pmon_parameters()
{
    Scenario parameters = uncore_pmon_scenario("parameters");
    parameters.bridges = {};
    parameters.chassis = {{"uncore_pmon --msr-units 2 --pci-units 2", "pcie.0", "18.0"}};
    parameters.routine = {"7.2"};
    parameters.steps = {
        {"parameters", "/selftests/uncore_pmon/parameters.sh /lib/vmrun/uncore_pmon.ko", 120}};
    return parameters;
}

// Two processors, and no nodes that would say in which of them the function is.
Scenario uncore_pmon_packages()
{
    Scenario packages = uncore_pmon_parameters();
    packages.name = "packages";
    packages.smp = "2,sockets=2";
    packages.chassis = {{"uncore_pmon --msr-units 120", "pcie.0", "18.0"}};
    packages.routine = {"6.1"};
    packages.steps = {{"packages",
                       "/selftests/uncore_pmon/parameters.sh /lib/vmrun/uncore_pmon.ko packages",
                       120}};
    return packages;
}

// Where the processor does not say that it is emulated intel_uncore takes the units as well; it
// brings them up with the second CPU of a die, so both are on one. Not on debug kernels: it leaves
// memory behind when it goes.
Scenario uncore_pmon_beside()
{
    Scenario beside = uncore_pmon_scenario("beside");
    beside.hides_hypervisor = true;
    beside.bridges = {};
    beside.chassis = {{"uncore_pmon", "pcie.0", "18.0"}};
    beside.kernels = {"6.1", "6.12", "7.2"};
    beside.routine = {"6.12"};
    beside.steps = {{"beside", "/selftests/uncore_pmon/beside.sh /lib/vmrun/uncore_pmon.ko", 120}};
    return beside;
}

// One function a fault of the model; the first has none.
Scenario uncore_pmon_faults()
{
    static constexpr std::string_view kFaults[] = {
        "no-table",
        "table-inside-bar",
        "bar-7",
        "bar-prefetchable",
        "stride-0",
        "stride-1",
        "stride-2",
        "stride-255",
        "max-units-0",
        "max-units-beyond-bar",
        "global-word-zero",
        "global-word-ones",
        "global-control-zero",
        "global-control-ones",
        "global-status-ones",
        "table-all-ones",
        "unit-word-0-ones",
        "unit-word-1-ones",
        "unit-word-2-ones",
        "control-outside-bars",
        "control-behind-bar",
        "window-beyond-bar",
        "control-unaligned",
        "duplicate-ids",
        "no-counters",
        "num-counters-255",
        "width-0",
        "width-65",
        "width-255",
        "control-offset-0",
        "counter-offset-0",
        "offsets-overlap",
        "access-type-3",
        "units-of-a-type-differ",
        "table-changes-between-reads",
        "counters-go-backwards",
        "registers-all-ones",
    };
    Scenario faults;
    faults.name = "faults";
    faults.models.resize(1 + std::size(kFaults));
    try_each_fault(faults, "uncore_pmon", kFaults);
    faults.kernels = kX86Kernels;
    faults.routine = {"7.2"};
    return faults;
}

Scenario uncore_pmon_stress()
{
    Scenario stress = uncore_pmon_scenario("stress");
    stress.steps = {
        stress_step("events",
                    "--pmu 'uncore_*' --workers 2 --nobody 1 --module uncore_pmon "
                    "--least-opens 10"),
        stress_step("machine",
                    "--pmu 'uncore_*' --workers 2 --module uncore_pmon --cpu 1 "
                    "--bind uncore_pmon/8086:09a7 --remove 8086:09a7 "
                    "--unload uncore_pmon=/lib/vmrun/uncore_pmon.ko "
                    "--read /sys/bus/event_source/devices/uncore_imc_0 "
                    "--least-opens 1"),
    };
    return stress;
}

UnitSpec uncore_pmon()
{
    UnitSpec unit;
    unit.unit = "uncore_pmon";
    unit.modules = {"pmukit_common", "uncore_pmon"};
    unit.programs = {"tools/cli/pmukit", "selftests/uncore_pmon/uncore_load",
                     "selftests/uncore_pmon/uncore_pmon_test",
                     "selftests/uncore_pmon/uncore_pmon_life_test",
                     "selftests/uncore_pmon/uncore_pmon_faults_test"};
    unit.files = {"selftests/uncore_pmon/traffic.sh",
                  "selftests/lib/tap.sh",
                  "selftests/uncore_pmon/abi_paths.sh",
                  "selftests/lib/abi.sh",
                  "selftests/uncore_pmon/discover.sh",
                  "selftests/uncore_pmon/parameters.sh",
                  "selftests/uncore_pmon/beside.sh",
                  "selftests/uncore_pmon/perf_stat.sh",
                  "selftests/uncore_pmon/perf_tests.sh",
                  "Documentation/ABI/testing/sysfs-bus-event_source-devices-uncore_pmon"};
    unit.tests = {uncore_pmon_traffic("traffic"), uncore_pmon_test(),
                  uncore_pmon_shared(),           uncore_pmon_wrap(),
                  uncore_pmon_narrow(),           uncore_pmon_life(),
                  uncore_pmon_parameters(),       uncore_pmon_packages(),
                  uncore_pmon_beside(),           uncore_pmon_faults()};
    unit.every_turn = {"test"};
    unit.demo = uncore_pmon_traffic("demo");
    return unit;
}

// Two chips of a core each, of two threads: CPUs of the second can all go offline on x86. arm64's
// kernel takes neither two chips nor two threads a core for a sane machine: no cache is described
// that they share.
constexpr std::string_view kTwoChips = "4,sockets=2,cores=1,threads=2";
constexpr std::string_view kFourCores = "4,sockets=1,cores=4";

Scenario imc_commands(std::string_view name)
{
    Scenario commands;
    commands.name = name;
    commands.routine = {"6.1", "7.2"};
    commands.steps = {{"abi_paths", "/selftests/imc/abi_paths.sh", 180},
                      {"commands", "/selftests/imc/commands.sh", 300},
                      {"record", "/selftests/imc/record.sh", 120}};
    commands.judgements = {
        {"pmukit report names the functions of the program",
         {"{pmukit}", "report", "-i", "{guest}/aux.data", "--symfs", "{guest}/symfs"},
         0,
         {"source=model", "nothing lost"},
         "{out}/report"},
        {"they have the shares that they took",
         {"{selftests}/imc/judge_split.sh", "{out}/report"},
         0,
         {"split=right"}}};
    return commands;
}

// What stock perf records of it: files of tools/perfdata's corpus.
Scenario imc_corpus()
{
    Scenario corpus;
    corpus.name = "corpus";
    corpus.on_request = true;
    corpus.steps = {{"record_corpus", "/selftests/imc/record_corpus.sh", 300}};
    return corpus;
}

Scenario imc_trace()
{
    Scenario trace;
    trace.name = "split";
    trace.routine = {"6.12", "6.12-arm64"};
    trace.steps = {{"trace", "imc_trace_test", 1200}};
    return trace;
}

// A scenario of its own: perf's buffers, where two events meet, are the kernel's.
Scenario imc_shared()
{
    Scenario shared;
    shared.name = "shared";
    shared.routine = {"6.1", "6.12", "7.2"};
    shared.steps = {{"shared", "imc_shared_test", 300}};
    return shared;
}

Scenario imc_counters(std::string_view name, std::string_view smp,
                      std::vector<std::string_view> kernels)
{
    Scenario counters;
    counters.name = name;
    counters.smp = smp;
    counters.kernels = std::move(kernels);
    counters.routine = {"6.12", "6.12-arm64"};
    counters.steps = {{"counters", "imc_test", 900}};
    return counters;
}

Scenario imc_life(std::string_view name, std::string_view smp,
                  std::vector<std::string_view> kernels)
{
    Scenario life;
    life.name = name;
    life.smp = smp;
    life.kernels = std::move(kernels);
    life.routine = {"6.1", "7.2", "6.12-arm64"};
    life.steps = {{"life",
                   "PMUKIT_IMC=/lib/vmrun/imc.ko PMUKIT_ENGINE=/lib/vmrun/imc_engine.ko "
                   "imc_life_test",
                   900}};
    return life;
}

Scenario imc_faults()
{
    Scenario faults;
    faults.name = "faults";
    faults.routine = {"6.1"};
    faults.steps = {{"faults", "PMUKIT_ENGINE=/lib/vmrun/imc_engine.ko imc_faults_test", 300}};
    return faults;
}

// The engine samples ten times as often as it would: what a sample costs stands out.
Scenario imc_bench()
{
    Scenario bench;
    bench.name = "bench";
    bench.routine = {"6.12"};
    bench.steps = {{"reload",
                    "rmmod imc_engine && insmod /lib/vmrun/imc_engine.ko cpmc_load=0xfffff381 && "
                    "printf 'TAP version 13\\n1..1\\nok 1 a period of 100 us\\n'",
                    60},
                   {"bench", "imc_bench", 600}};
    return bench;
}

Scenario imc_stress()
{
    Scenario stress;
    stress.smp = kTwoChips;
    stress.kernels = kX86Kernels;
    stress.steps = {
        stress_step("events",
                    "--pmu '*_imc' --pmu 'nest_mcs0*' --workers 2 --nobody 1 --module imc "
                    "--least-opens 10 --least-aux 2"),
        stress_step("machine",
                    "--pmu '*_imc' --pmu 'nest_mcs0*' --workers 2 --module imc --cpu 2 "
                    "--cpu 3 --unload imc_engine=/lib/vmrun/imc_engine.ko,imc=/lib/vmrun/imc.ko "
                    "--read /sys/bus/event_source/devices/trace_imc "
                    "--least-opens 1 --least-aux 1"),
    };
    return stress;
}

UnitSpec imc()
{
    UnitSpec unit;
    unit.unit = "imc";
    unit.stock_modules = {"firmware_class"};  // a module where the kernel is made for debugging
    unit.modules = {"pmukit_common", "imc", "imc_engine"};
    unit.firmware = {"pmukit/imc-power9.dtb"};
    unit.programs = {"tools/cli/pmukit",
                     "selftests/imc/imc_load",
                     "selftests/imc/imc_test",
                     "selftests/imc/imc_trace_test",
                     "selftests/imc/imc_shared_test",
                     "selftests/imc/imc_life_test",
                     "selftests/imc/imc_faults_test",
                     "selftests/imc/imc_bench"};
    unit.files = {"selftests/lib/tap.sh",
                  "selftests/imc/abi_paths.sh",
                  "selftests/lib/abi.sh",
                  "selftests/imc/commands.sh",
                  "selftests/imc/record.sh",
                  "selftests/perfdata/record_corpus.sh",
                  "selftests/imc/judge_split.sh",
                  "Documentation/ABI/testing/sysfs-bus-event_source-devices-imc",
                  "Documentation/ABI/testing/sysfs-devices-imc_engine"};
    unit.tests = {imc_commands("commands"),
                  imc_trace(),
                  imc_shared(),
                  imc_counters("counters", kTwoChips, kX86Kernels),
                  imc_counters("counters-arm64", kFourCores, kArm64Kernels),
                  imc_life("life", kTwoChips, kX86Kernels),
                  imc_life("life-arm64", kFourCores, kArm64Kernels),
                  imc_faults(),
                  imc_bench(),
                  imc_corpus()};
    unit.every_turn = {"commands", "split"};
    unit.demo = imc_commands("demo");
    return unit;
}

Scenario cache_qos_live(std::string_view name)
{
    Scenario live;
    live.name = name;
    live.kernels = kX86Kernels;
    live.smp = "3";  // two of them are not the machine
    live.steps = {{"abi_paths", "/selftests/cache_qos/abi_paths.sh", 300},
                  {"groups", "/selftests/cache_qos/groups.sh", 300},
                  {"events", "cache_qos_test", 300}};
    return live;
}

Scenario cache_qos_script(std::string_view name, std::string_view script, unsigned limit_seconds,
                          std::vector<std::string_view> routine)
{
    Scenario scenario;
    scenario.name = name;
    scenario.kernels = kX86Kernels;
    scenario.routine = std::move(routine);
    scenario.steps = {{name, std::string(script), limit_seconds}};
    return scenario;
}

Scenario cache_qos_life()
{
    Scenario life = cache_qos_script("life", "/selftests/cache_qos/life.sh", 900, {});
    life.only_all = true;
    return life;
}

// By instructions: what else the host does would be in the figures otherwise.
Scenario cache_qos_bench()
{
    Scenario bench = cache_qos_script("bench", "cache_qos_bench", 400, {"6.12"});
    bench.steady = true;
    return bench;
}

GuestStep configfs_step()
{
    return {"configfs",
            "mount -t configfs configfs /sys/kernel/config && "
            "printf 'TAP version 13\\n1..1\\nok 1 mounted\\n'",
            20};
}

Scenario cache_qos_stress()
{
    Scenario stress;
    stress.kernels = kX86Kernels;
    stress.steps = {
        configfs_step(),
        stress_step("events",
                    "--pmu 'cache_qos*' --workers 2 --nobody 1 --module cache_qos "
                    "--least-opens 10 --least-aux 2"),
        stress_step("machine",
                    "--pmu 'cache_qos*' --workers 2 --module cache_qos --cpu 1 "
                    "--unload 'cache_qos_sim=/lib/vmrun/cache_qos_sim.ko profile=spr lines=2048,"
                    "cache_qos=/lib/vmrun/cache_qos.ko backend=sim' "
                    "--group /sys/kernel/config/cache_qos --group /sys/kernel/config/cache_qos "
                    "--read /sys/bus/event_source/devices/cache_qos "
                    "--least-opens 1 --least-aux 1"),
    };
    return stress;
}

// An L3 of 208 MiB.
UnitSpec cache_qos()
{
    UnitSpec unit;
    unit.unit = "cache_qos";
    unit.stock_modules = {"configfs"};
    unit.modules = {"pmukit_common", "cache_qos backend=sim",
                    "cache_qos_sim profile=spr lines=2048"};
    unit.programs = {"tools/cli/pmukit", "selftests/cache_qos/cache_qos_bench",
                     "selftests/cache_qos/cache_qos_crowd", "selftests/cache_qos/cache_qos_load",
                     "selftests/cache_qos/cache_qos_test"};
    unit.files = {"selftests/lib/tap.sh",
                  "selftests/cache_qos/book.sh",
                  "selftests/cache_qos/groups.sh",
                  "selftests/cache_qos/perf_stat.sh",
                  "selftests/cache_qos/tiny.sh",
                  "selftests/cache_qos/machine.sh",
                  "selftests/cache_qos/claim.sh",
                  "selftests/cache_qos/unload.sh",
                  "selftests/cache_qos/record.sh",
                  "selftests/cache_qos/hotplug.sh",
                  "selftests/cache_qos/life.sh",
                  "selftests/cache_qos/abi_paths.sh",
                  "selftests/lib/abi.sh",
                  "selftests/cache_qos/mixed.sh",
                  "selftests/cache_qos/seed.sh",
                  "Documentation/ABI/testing/configfs-cache_qos",
                  "Documentation/ABI/testing/sysfs-bus-event_source-devices-cache_qos"};
    unit.tests = {cache_qos_live("live"),
                  cache_qos_script("seed", "/selftests/cache_qos/seed.sh", 600, {"6.12"}),
                  cache_qos_script("mixed", "/selftests/cache_qos/mixed.sh", 300, {"7.2"}),
                  cache_qos_script("perf_stat", "/selftests/cache_qos/perf_stat.sh", 300, {"6.12"}),
                  cache_qos_script("tiny", "/selftests/cache_qos/tiny.sh", 120, {"7.2"}),
                  cache_qos_script("machine", "/selftests/cache_qos/machine.sh", 180, {"6.12"}),
                  cache_qos_script("claim", "/selftests/cache_qos/claim.sh", 180, {"6.1"}),
                  cache_qos_script("unload", "/selftests/cache_qos/unload.sh", 300, {"6.1"}),
                  cache_qos_script("record", "/selftests/cache_qos/record.sh", 300, {"7.2"}),
                  cache_qos_script("hotplug", "/selftests/cache_qos/hotplug.sh", 400, {"6.12"}),
                  cache_qos_life(),
                  cache_qos_bench()};
    unit.every_turn = {"live"};
    unit.demo = cache_qos_live("demo");
    return unit;
}

// Everything is hot, every ten milliseconds.
constexpr std::string_view kHotCxlHmu =
    "--event hotness_threshold=1,hotness_granual=12,epoch_scale=3,epoch_multiplier=1 --aux 16";

// Two devices: an event of the one beside the other's AUX area. 7.2 itself warns of its count of
// mappings when an area is mapped by means of an event that has no ring of its own.
UnitSpec with_redirect(UnitSpec unit)
{
    Scenario redirect = on_the_machine_of_stress(unit, "redirect");
    redirect.models.push_back(redirect.models.front());
    redirect.kernels = {"6.1", "6.12", "6.12-arm64", "debug-6.12"};
    redirect.routine = {"6.12"};
    redirect.steps = {
        {"redirect",
         "pmu_redirect --pmu cxl_hmu_mem0.0.0 --other cxl_hmu_mem1.0.0 " + std::string(kHotCxlHmu),
         60}};
    unit.programs.push_back("selftests/stress/pmu_redirect");
    unit.tests.push_back(std::move(redirect));
    return unit;
}

// Random use, failing allocations and privileges: what is asked of every unit alike.
UnitSpec hard_cxl_hmu()
{
    const std::string plain =
        "--event hotness_threshold=16,hotness_granual=12,epoch_scale=4,epoch_multiplier=1";
    const std::string event = plain + " --aux 16";
    UnitSpec unit = with_stress(cxl_hmu(), cxl_hmu_stress(), "--pmu cxl_hmu_mem0.0.0 " + plain);
    unit = with_sleep(unit, "--pmu cxl_hmu_mem0.0.0 " + event);
    unit = with_refresh(unit, "--pmu cxl_hmu_mem0.0.0 " + std::string(kHotCxlHmu));
    unit = with_redirect(unit);
    unit = with_aux_extras(unit, "test", {{"aux_extras", "--pmu cxl_hmu_mem0.0.0 " + event}});
    unit = with_reloads(unit, "--pmu cxl_hmu_mem0.0.0 " + event);
    unit = with_failures(unit, {{"fail_nth", "--pmu cxl_hmu_mem0.0.0 " + event +
                                                 " --load cxl_hmu=/lib/vmrun/cxl_hmu.ko"}});
    return with_busy_privileges(
        unit, "--pmu cxl_hmu_mem0.0.0 --policy capability " + std::string(kHotCxlHmu));
}

// Every file of the unit's that can be written. Who runs this goes into a group that is monitored
// and back to the root; the group is removed in the end, or the modules could not be.
std::string cache_qos_writes()
{
    constexpr std::string_view kWrites[] = {
        "config/cache_qos/fails/monitor_cache=0,1", "config/cache_qos/fails/tasks=-$$,$$",
        "config/cache_qos/fails/tasks=$$,-$$",      "config/cache_qos/fails/procs=-$$,$$",
        "config/cache_qos/fails/procs=$$,-$$",      "config/cache_qos/fails/monitor_cache=1,0",
    };
    constexpr std::string_view kSettings[] = {"sample_ms=100,1000", "threshold=0",
                                              "alloc_dirty=1,0"};
    std::string options = "--pmu cache_qos --event event=1";
    for (std::string_view write : kWrites)
        options += " --write /sys/kernel/" + std::string(write);
    for (std::string_view setting : kSettings)
        options += " --write /sys/bus/event_source/devices/cache_qos/" + std::string(setting);
    return options + " && rmdir /sys/kernel/config/cache_qos/fails";
}

UnitSpec hard_cache_qos()
{
    const std::string stream = "--pmu cache_qos_aux --event event=1 --aux 16";
    UnitSpec unit = with_stress(cache_qos(), cache_qos_stress(), "--pmu cache_qos --event event=1");
    unit = with_aux_extras(
        unit, "live",
        {{"aux_extras", stream}, {"aux_extras_counting", "--pmu cache_qos --event event=1"}});
    unit = with_reloads(unit, stream);
    unit = with_failures(
        unit,
        {{"fail_nth",
          "--pmu cache_qos --event event=1 --dense 32 "
          "--mkdir /sys/kernel/config/cache_qos/fails "
          "--load cache_qos_sim=/lib/vmrun/cache_qos_sim.ko",
          "mount -t configfs configfs /sys/kernel/config && "},
         {"fail_nth_task", "--pmu cache_qos --event event=1 --task"},
         {"fail_nth_cgroup", "--pmu cache_qos --event event=1 --cgroup /tmp/cgroup/fails",
          // perf's controller is there below the root once another one is turned on.
          "mkdir /tmp/cgroup && mount -t cgroup2 none /tmp/cgroup && "
          "echo +pids >/tmp/cgroup/cgroup.subtree_control && mkdir /tmp/cgroup/fails && "},
         {"fail_nth_files", cache_qos_writes(), "mkdir /sys/kernel/config/cache_qos/fails && "},
         {"fail_nth_aux", stream}});
    return with_privileges(
        unit, "live",
        {{"privileges",
          "--pmu cache_qos --policy paranoid --event event=1 --tree /sys/kernel/config/cache_qos "
          "&& rmdir /sys/kernel/config/cache_qos/watched",
          // Mounted by the steps before.
          "mkdir /sys/kernel/config/cache_qos/watched && "
          "echo 1 >/sys/kernel/config/cache_qos/watched/monitor_cache && "},
         {"privileges_task", "--pmu cache_qos --policy paranoid --event event=1 --task"},
         {"privileges_aux", "--policy capability " + stream}});
}

UnitSpec hard_hisi_ptt()
{
    const std::string plain = "--event filter=0x80001,type=1,direction=1,format=1";
    const std::string event = plain + " --aux 32";
    UnitSpec unit = with_stress(hisi_ptt(), hisi_ptt_stress(), "--pmu hisi_ptt0_2 " + plain);
    unit = with_sleep(unit, "--pmu hisi_ptt0_2 " + event);
    unit = with_refresh(unit, "--pmu hisi_ptt0_2 " + event);
    unit = with_aux_extras(unit, "test", {{"aux_extras", "--pmu hisi_ptt0_2 " + event}});
    unit = with_reloads(unit, "--pmu hisi_ptt0_2 " + event);
    unit.brief.push_back("hotplug");
    unit = with_failures(
        unit,
        {{"fail_nth", "--pmu hisi_ptt0_2 " + event +
                          " --bind hisi_ptt/0000:00:18.0 --load hisi_ptt=/lib/vmrun/hisi_ptt.ko "
                          "--write /sys/bus/event_source/devices/hisi_ptt0_2/tune/qos_tx_cpl=1"}});
    return with_busy_privileges(unit, "--pmu hisi_ptt0_2 --policy capability " + event);
}

UnitSpec hard_imc()
{
    UnitSpec unit = with_stress(imc(), imc_stress(), "--pmu core_imc");
    unit = with_sleep(unit, "--pmu core_imc");
    // This one is routine on all kernels of x86.
    unit = with_aux_extras(
        unit, "shared",
        {{"aux_extras", "--pmu trace_imc --aux 16"}, {"aux_extras_counting", "--pmu core_imc"}});
    unit = with_reloads(unit, "--pmu trace_imc --aux 16");
    unit = with_failures(
        unit, {{"fail_nth",
                "--pmu trace_imc --aux 16 --dense 32 --load imc_engine=/lib/vmrun/imc_engine.ko"},
               {"fail_nth_thread", "--pmu thread_imc --task"},
               {"fail_nth_core", "--pmu core_imc"},
               {"fail_nth_nest", "--pmu nest_mcs01"}});
    return with_privileges(
        unit, "counters",
        {{"privileges_trace",
          "--pmu trace_imc --policy capability --aux 16 --tree /sys/devices/imc_engine"},
         {"privileges_thread", "--pmu thread_imc --policy capability --task"},
         {"privileges_core", "--pmu core_imc --policy paranoid"},
         {"privileges_nest", "--pmu nest_mcs01 --policy paranoid" + trees_of_pmus("nest")}});
}

UnitSpec hard_uncore_pmon()
{
    UnitSpec unit = with_stress(uncore_pmon(), uncore_pmon_stress(), "--pmu uncore_imc_0");
    unit = with_sleep(unit, "--pmu uncore_imc_0");
    unit = with_aux_extras(unit, "test", {{"aux_extras", "--pmu uncore_imc_0"}});
    unit = with_reloads(unit, "--pmu uncore_imc_0");
    unit = with_failures(
        unit, {{"fail_nth", "--pmu uncore_imc_0 --dense 16 --bind uncore_pmon/0000:00:18.0"},
               {"fail_nth_load",
                "--pmu uncore_imc_0 --dense 32 --load uncore_pmon=/lib/vmrun/uncore_pmon.ko"}});
    return with_privileges(unit, "test",
                           {{"privileges",
                             "--pmu uncore_imc_0 --policy paranoid --tree "
                             "/sys/bus/pci/devices/0000:00:18.0/uncore_pmon" +
                                 trees_of_pmus("uncore")},
                            {"privileges_cxl", "--pmu uncore_cxlcm_0 --policy paranoid"}});
}

// The modules of all units in one guest, and the devices that they need there.
//
//   00:10.0 --- 01:00.0        00:11.0 a memory expander
//   00:18.0 the trace block    00:19.0 an uncore with a memory of its own
UnitSpec soak()
{
    Scenario scenario;
    scenario.name = "soak";
    scenario.on_request = true;
    scenario.kernels = kX86Kernels;
    scenario.bridges = {"pcie-root-port,id=rp10,bus=pcie.0,addr=10.0,chassis=0,slot=16"};
    scenario.chassis = {
        {"hisi_ptt --serves 00:10.0", "pcie.0", "18.0"},
        {"pcie_ep --bdf 01:00.0 --root-port 00:10.0", "rp10"},
        {"cxl_hmu --serial 1", "pcie.0", "11.0"},
        {"uncore_pmon", "pcie.0", "19.0"},
    };
    scenario.steps = {{"soak", "/selftests/soak/soak.sh {seconds}", 600}};
    UnitSpec unit;
    unit.unit = "soak";
    unit.files = {"selftests/lib/tap.sh", "selftests/stress/soak.sh"};
    const auto append = [](auto &to, const auto &from) {
        for (const auto &each : from)
            if (std::find(to.begin(), to.end(), each) == to.end())
                to.push_back(each);
    };
    for (const UnitSpec &part : {cache_qos(), cxl_hmu(), hisi_ptt(), imc(), uncore_pmon()}) {
        append(unit.stock_modules, part.stock_modules);
        append(unit.modules, part.modules);
        append(unit.programs, part.programs);
        append(unit.firmware, part.firmware);
    }
    unit.tests = {scenario};
    unit.demo = std::move(scenario);
    unit.demo.name = "demo";
    return unit;
}

// What the unit's page shows, run from the page itself; the machine is one that has what it speaks
// of.
UnitSpec with_examples(UnitSpec unit, std::string_view page, std::string_view kernel,
                       Scenario machine)
{
    const std::string folder = "/selftests/" + std::string(unit.unit) + "/";
    machine.name = "examples";
    machine.routine = {kernel};
    machine.steps = {
        {"page", folder + "doc-examples --guest " + folder + std::string(unit.unit) + ".rst /tmp",
         300}};
    unit.files.push_back("tools/scripts/doc-examples");
    unit.files.push_back(page);
    unit.tests.push_back(std::move(machine));
    return unit;
}

// Enough accesses in an epoch for the threshold of the page.
Scenario cxl_hmu_examples()
{
    Scenario examples;
    examples.models = {"--source zipf:accesses=20000,units=512"};
    return examples;
}

// Where the module is: x86.
Scenario cache_qos_examples()
{
    Scenario examples;
    examples.kernels = kX86Kernels;
    return examples;
}

const std::vector<UnitSpec> &unit_table()
{
    static const std::vector<UnitSpec> table = {
        with_examples(hard_cache_qos(), "Documentation/devices/cache_qos.rst", "6.12",
                      cache_qos_examples()),
        with_examples(hard_cxl_hmu(), "Documentation/devices/cxl_hmu.rst", "6.12",
                      cxl_hmu_examples()),
        // Stock perf has an AUX area for it there alone.
        with_examples(hard_hisi_ptt(), "Documentation/devices/hisi_ptt.rst", "6.12-arm64",
                      hisi_ptt_scenario("examples", kPttBusyBlock)),
        with_examples(hard_imc(), "Documentation/devices/imc.rst", "6.12", Scenario{}),
        with_examples(hard_uncore_pmon(), "Documentation/devices/uncore_pmon.rst", "6.12",
                      uncore_pmon_scenario("examples")),
        soak(),
    };
    return table;
}

template <typename Value>
struct Named {
    std::string_view name;
    Value value;
};

constexpr Named<Mode> kModes[] = {
    {"test", Mode::kTest}, {"demo", Mode::kDemo}, {"shell", Mode::kShell}};
constexpr Named<Placement> kPlacements[] = {{"integrated", Placement::kIntegrated},
                                            {"root-port", Placement::kRootPort},
                                            {"cxl-rp", Placement::kCxlRootPort}};

template <typename Value, size_t kSize>
std::optional<Value> value_by_name(const Named<Value> (&table)[kSize], std::string_view name)
{
    for (const Named<Value> &row : table)
        if (row.name == name)
            return row.value;
    return std::nullopt;
}

}  // namespace

std::optional<Mode> mode_by_name(std::string_view name)
{
    return value_by_name(kModes, name);
}

std::optional<Placement> placement_by_name(std::string_view name)
{
    return value_by_name(kPlacements, name);
}

namespace {

bool all_or_named(const std::vector<std::string_view> &names, std::string_view kernel)
{
    return names.empty() || std::find(names.begin(), names.end(), kernel) != names.end();
}

}  // namespace

namespace {

using Names = std::vector<std::string_view>;

// What is new in `more`, behind what there is.
void append_new(Names &names, const Names &more)
{
    for (const std::string_view name : more)
        if (std::ranges::find(names, name) == names.end())
            names.push_back(name);
}

}  // namespace

UnitSpec with_others(const UnitSpec &unit, const Scenario &scenario)
{
    UnitSpec all = unit;
    for (const std::string_view name : scenario.beside) {
        const UnitSpec &other = *unit_by_name(name);
        append_new(all.stock_modules, other.stock_modules);
        append_new(all.modules, other.modules);
        append_new(all.programs, other.programs);
        append_new(all.firmware, other.firmware);
    }
    return all;
}

bool runs_on(const Scenario &scenario, const KernelQuirks &kernel)
{
    return !scenario.on_request && all_or_named(scenario.kernels, kernel.kernel);
}

bool is_routine_on(const Scenario &scenario, const KernelQuirks &kernel)
{
    return runs_on(scenario, kernel) &&
           (kernel.debug || (!scenario.only_all && all_or_named(scenario.routine, kernel.kernel)));
}

bool is_in_turn(const UnitSpec &unit, const Scenario &scenario, const KernelQuirks &kernel,
                uint64_t turn)
{
    uint64_t place = 0;
    for (const Scenario &other : unit.tests) {
        const bool always = std::ranges::find(unit.every_turn, other.name) != unit.every_turn.end();
        if (!is_routine_on(other, kernel))
            continue;
        if (other.name == scenario.name)
            return always || place % kTurns == turn % kTurns;
        place += !always;
    }
    return false;
}

const Scenario *brief_scenario(const UnitSpec &unit, uint64_t number)
{
    if (unit.brief.empty())
        return nullptr;
    std::string_view name = unit.brief[number % unit.brief.size()];
    auto found = std::find_if(unit.tests.begin(), unit.tests.end(),
                              [&](const Scenario &scenario) { return scenario.name == name; });
    return found == unit.tests.end() ? nullptr : &*found;
}

std::span<const KernelQuirks> kernels()
{
    return kKernels;
}

const KernelQuirks *kernel_by_name(std::string_view name)
{
    auto found = std::find_if(std::begin(kKernels), std::end(kKernels),
                              [&](const KernelQuirks &row) { return row.kernel == name; });
    return found == std::end(kKernels) ? nullptr : &*found;
}

std::span<const UnitSpec> units()
{
    return unit_table();
}

const UnitSpec *unit_by_name(std::string_view name)
{
    const std::vector<UnitSpec> &table = unit_table();
    auto found = std::find_if(table.begin(), table.end(),
                              [&](const UnitSpec &row) { return row.unit == name; });
    return found == table.end() ? nullptr : &*found;
}

}  // namespace pmukit::vm
