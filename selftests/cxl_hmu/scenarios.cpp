// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Guest scenarios of cxl_hmu: devices, steps, and checks on the host.
#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vmrun_scenarios.hpp"

namespace pmukit::vm {

namespace {

// Checks of two recordings of a zipf workload, the second with another seed.
std::vector<HostStep> zipf_checks(std::string_view first_model_log,
                                  std::string_view second_model_log)
{
    return {
        {"first seed: report reads the recording",
         {"{pmukit}", "report", "-i", "{guest}/first.data", "--json"},
         0,
         {"\"hot\"", kSourceModel},
         "{out}/first.json"},
        {"first seed: the hottest units are found",
         {"{checker}", "--report", "{out}/first.json", "--log", "{out}/first.log", "--tally",
          "{guest}/first.tally", "--model", std::string(first_model_log), "--kernel", "{kver}",
          "--require", "0.95"},
         0,
         {"demo: driver=cxl_hmu"}},
        {"second seed: report reads the recording",
         {"{pmukit}", "report", "-i", "{guest}/second.data", "--json"},
         0,
         {"\"hot\"", kSourceModel},
         "{out}/second.json"},
        {"second seed: other hottest units are found",
         {"{checker}", "--report", "{out}/second.json", "--log", "{out}/second.log", "--tally",
          "{guest}/second.tally", "--model", std::string(second_model_log), "--kernel", "{kver}",
          "--require", "0.95", "--moved-from", "{out}/first.log"},
         0,
         {"demo: driver=cxl_hmu"}},
    };
}

Scenario cxl_hmu_demo()
{
    std::vector<HostStep> zipf = zipf_checks("{out}/model0.log", "{out}/model1.log");
    Scenario demo;
    demo.name = "demo";
    demo.models = {"--access-log {out}/first.log", "--access-log {out}/second.log"};
    demo.steps = {
        {"record_first", "/selftests/cxl_hmu/record_zipf.sh 0 {seed} first", 120},
        {"record_second", "/selftests/cxl_hmu/record_zipf.sh 1 {next_seed} second", 120},
    };
    demo.checks = {
        zipf[0],
        {"first seed: table", {"{pmukit}", "report", "-i", "{guest}/first.data", "--top", "16"}},
        zipf[1],
        zipf[2],
        {"second seed: table", {"{pmukit}", "report", "-i", "{guest}/second.data", "--top", "16"}},
        zipf[3],
    };
    return demo;
}

HostStep losses_check()
{
    return {"losses: handed over and lost are the model's entries",
            {"{entries_checker}", "--log", "{out}/losses.log", "--losses",
             "{guest}/losses/1.aux_full", "--losses", "{guest}/losses/2.ring_full", "--losses",
             "{guest}/losses/3.stop_while_waiting", "--losses", "{guest}/losses/4.after_the_stop"},
            0,
            {"36 of the model's 36 enables"}};
}

std::vector<HostStep> cxl_hmu_test_checks()
{
    std::vector<HostStep> steps = zipf_checks("{out}/model1.log", "{out}/model2.log");
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
                     {"{entries_checker}", "--log", "{out}/epochs.log", "--epochs", "8", "--dump",
                      "{out}/epochs_aux.txt", "--dump", "{out}/epochs_raw.txt", "--trace",
                      "{guest}/epochs.trace"},
                     0,
                     {"3 of the model's 3 enables"}});
    steps.push_back(losses_check());
    return steps;
}

Scenario cxl_hmu_test()
{
    Scenario test;
    test.name = "test";
    // The fourth device generates each of its eight epochs only when the entries fit into the hot
    // list; the fifth device does not wait for space.
    test.models = {"", "--access-log {out}/first.log", "--access-log {out}/second.log",
                   "--source zipf:seed=1,epochs=8,room=500,units=400 --entries-log "
                   "{out}/epochs.log",
                   "--source uniform:seed=2,epochs=8,accesses=3000,units=700 --entries-log "
                   "{out}/losses.log"};
    test.steps = {
        {"abi_paths", "/selftests/cxl_hmu/abi_paths.sh", 180},
        {"cxl_hmu_test", "cxl_hmu_test", 300},
        {"stock_perf", "/selftests/cxl_hmu/stock_perf.sh 0", 300},
        {"trace_event", "/selftests/cxl_hmu/trace_event.sh 0", 240},
        {"eight_epochs", "/selftests/cxl_hmu/eight_epochs.sh 3", 120},
        {"losses", "PMUKIT_DEVICE=4 cxl_hmu_losses_test", 240},
        {"record_first", "/selftests/cxl_hmu/record_zipf.sh 1 {seed} first", 120},
        {"record_second", "/selftests/cxl_hmu/record_zipf.sh 2 {next_seed} second", 120},
    };
    test.checks = cxl_hmu_test_checks();
    return test;
}

// Tests devices without an interrupt vector. The driver finds all entries by polling.
Scenario cxl_hmu_polled()
{
    const std::vector<HostStep> zipf = zipf_checks("{out}/model1.log", "");
    Scenario polled;
    polled.name = "polled";
    polled.routine = {"7.2"};
    polled.kernels = kX86Kernels;
    polled.placement = Placement::kCxlRootPort;
    polled.models = {"--no-msix", "--no-msix --access-log {out}/first.log",
                     "--no-msix --source uniform:seed=2,epochs=8,accesses=3000,units=700 "
                     "--entries-log {out}/losses.log"};
    polled.steps = {
        {"cxl_hmu_test", "cxl_hmu_test", 300},
        {"losses", "PMUKIT_DEVICE=2 cxl_hmu_losses_test", 240},
        {"record_first", "/selftests/cxl_hmu/record_zipf.sh 1 {seed} first", 120},
        {"life", "PMUKIT_MODULE=/lib/vmrun/cxl_hmu.ko cxl_hmu_life_test", 600},
    };
    polled.checks = {zipf[0], zipf[1], losses_check()};
    return polled;
}

// Tests two devices, which one process of the model emulates.
Scenario cxl_hmu_two_devices()
{
    Scenario two;
    two.name = "two_devices";
    two.routine = {"6.12"};
    two.chassis = {
        {"cxl_hmu --strict --serial 1", "pcie.0", "10.0"},
        {"cxl_hmu --strict --serial 2 --doe --source zipf:accesses=500,units=256", "pcie.0",
         "11.0"},
    };
    two.steps = {{"two_devices", "/selftests/cxl_hmu/two_devices.sh", 180}};
    return two;
}

// The rounds of cxl_hmu_life_test. On x86 the device is near the second CPU, because the first
// cannot go offline.
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

// Checks in the model's stats log how many registers the driver accesses in each drain that reads
// entries. The log adds the reads of polls that find no entry to the next drain, so one in ten
// drains may have more reads.
constexpr std::string_view kDrainCost = R"(
    $2 == "enabled" { on[$1] = 1 }
    $2 == "disabled" { on[$1] = 0 }
    $2 == "head" && on[$1] { drains++; writes += $5 > 3; reads += $4 > $3 + 6 }
    END {
        printf "drains=%d with_more_writes=%d with_more_reads=%d\n", drains, writes, reads
        exit !(drains >= 20 && !writes && reads * 10 < drains)
    })";

// The module drives a function that cxl_pci was unbound from.
Scenario cxl_hmu_standalone()
{
    Scenario alone;
    alone.name = "standalone";
    alone.routine = {"7.2"};
    alone.models = {"", "--msi --source zipf:accesses=500,units=64 --stats-log {out}/stats.log"};
    alone.checks = {{"a drain costs at most its entries + 6 reads and 3 writes",
                     {"awk", std::string(kDrainCost), "{out}/stats.log"},
                     0,
                     {"drains="}}};
    alone.steps = {
        {"autoload", "PMUKIT_MODULE=/lib/vmrun/cxl_hmu.ko /selftests/cxl_hmu/autoload.sh", 120},
        {"standalone", "PMUKIT_MODULE=/lib/vmrun/cxl_hmu.ko /selftests/cxl_hmu/standalone.sh",
         180}};
    return alone;
}

// A stand-in simulates an in-tree CHMU driver: cxl_hmu must not use the CHMUs of that driver, nor
// an instance that is already enabled.
Scenario cxl_hmu_own_driver()
{
    Scenario own;
    own.name = "own_driver";
    own.routine = {"6.1", "7.2"};
    own.models = {"--instances 1", "--instances 1 --serial 2",
                  "--instances 1 --serial 3 --left-enabling-us 1000"};
    own.modules_instead = {"pmukit_common", "cxl_hmu", "standin/cxl_hmu_own"};
    own.steps = {
        {"enabled", "PMUKIT_MODULE=/lib/vmrun/cxl_hmu.ko /selftests/cxl_hmu/enabled.sh 2", 120},
        {"own_driver",
         "PMUKIT_MODULE=/lib/vmrun/cxl_hmu.ko PMUKIT_STANDIN=/lib/vmrun/cxl_hmu_own.ko "
         "/selftests/cxl_hmu/own_driver.sh",
         180}};
    return own;
}

// Tests devices whose shape differs from the default of the model. The first device has more
// instances than interrupt vectors.
Scenario cxl_hmu_shapes()
{
    Scenario shapes;
    shapes.name = "shapes";
    shapes.routine = {"6.12"};
    shapes.models = {"--chmus 3 --instances 6", "--no-level-interrupt --no-overflow-interrupt",
                     "--postponed --per-counter-epochs --hot-list 64",
                     "--no-address-overlap --memory 512M"};
    shapes.steps = {
        {"shapes", "PMUKIT_SHAPES='many polled postponed unshared' cxl_hmu_shapes_test", 300}};
    return shapes;
}

// Checks in the model's stats log that there was an enable, and a disable after the last enable.
constexpr std::string_view kLeftDisabled = R"(
    $2 == "enabled" { on[$1] = 1; enables++ }
    $2 == "disabled" { on[$1] = 0 }
    END {
        for (instance in on)
            left += on[instance]
        printf "enables=%d left_enabled=%d\n", enables, left
        exit !enables || left
    })";

HostStep left_disabled(std::string_view how)
{
    return {fmt::format("a device that is {} in the middle of an enable is left disabled", how),
            {"awk", std::string(kLeftDisabled), fmt::format("{{out}}/{}.log", how)},
            0,
            {"left_enabled=0"}};
}

// The driver detaches from devices in the middle of an operation.
Scenario cxl_hmu_detach()
{
    Scenario detach;
    detach.name = "detach";
    detach.routine = {"6.12", "7.2"};
    detach.models = {"--instances 1 --operation-us 200000 --stats-log {out}/unbound.log",
                     "--instances 1 --operation-us 200000 --stats-log {out}/unloaded.log"};
    detach.steps = {{"detach",
                     "PMUKIT_OPERATION_US=200000 PMUKIT_MODULE=/lib/vmrun/cxl_hmu.ko "
                     "cxl_hmu_detach_test",
                     120}};
    detach.checks = {left_disabled("unbound"), left_disabled("unloaded")};
    return detach;
}

// Tests devices that deviate from the specification as other implementations do, devices with
// unusual properties that the specification allows, and a hot list of the largest size, which is
// filled twice.
Scenario cxl_hmu_personalities()
{
    Scenario shapes;
    shapes.name = "personalities";
    shapes.routine = {"6.1", "6.12", "7.2"};
    shapes.modules_instead = {"pmukit_common", "cxl_hmu take_enabled=1"};
    shapes.models = {
        "--instances 1 --far-tables --hot-list 65535 --counters 131072 --epoch-min 5:1 "
        "--source sequential:units=65534,unit-bytes=256,accesses=262136,epochs=2,"
        "room=65534 --entries-log {out}/long.log",
        "--instances 1 --far-tables --hot-list 8192",
        "--instances 1 --far-tables --hot-list 65535 --counters 65536",
        "--instances 1 --bitmap-padding 64",
        "--instances 1 --block-version 2",
        "--instances 1 --no-epoch-mode --epoch-min 0:0 --epoch-max 0:0",
        "--instances 1 --left-enabling-us 200000",
        "--instances 1 --no-msix --list-halves",
        "--instances 1 --garbage-tail",
        "--instances 1 --joint-head-tail",
        "--instances 1 --late-status-us 60000 --source "
        "uniform:seed=3,epochs=40,accesses=1000,units=200 --entries-log {out}/late.log",
        "--instances 1 --hot-list 64 --overflow-when-full",
        "--instances 1 --hot-list 64 --level-above",
        "--instances 1 --hot-list 64 --sticky-status",
        "--instances 1 --reset-empties-list"};
    shapes.steps = {{"long_list", "/selftests/cxl_hmu/long_list.sh 0 131068", 300},
                    {"personalities",
                     "PMUKIT_SHAPES='long far_list largest_list padded newer without_epochs "
                     "left_enabling lenient garbage_tail joint_registers late_status full above "
                     "sticky_status reset_empties_list' cxl_hmu_personalities_test",
                     300},
                    {"late_status",
                     "PMUKIT_DEVICE=10 PMUKIT_LATE_STATUS_US=60000 cxl_hmu_losses_test "
                     "-t entries_added_after_the_stop_are_flagged_and_counted_as_lost",
                     120}};
    shapes.checks = {{"long list: dump",
                      {"{pmukit}", "dump", "-i", "{guest}/long.data"},
                      0,
                      {"CXL_HMU data: size"},
                      "{out}/long.txt"},
                     {"long list: 131068 entries, each as the model's",
                      {"{entries_checker}", "--log", "{out}/long.log", "--epochs", "2", "--dump",
                       "{out}/long.txt"},
                      0,
                      {"131068 entries recorded", "1 of the model's 1 enables"}},
                     {"late status: handed over and lost are the model's entries",
                      {"{entries_checker}", "--log", "{out}/late.log", "--losses",
                       "{guest}/losses/4.after_the_stop"},
                      0,
                      {"11 of the model's 11 enables"}}};
    return shapes;
}

// Checks the stats log of a device that dies at the third entry of a drain. The log counts the
// reads since the first entry: the driver reads three entries, then the status, and then disables
// the device. On detach it reads the configuration and the status once more.
constexpr std::string_view kReadsOfTheDead = R"(
    $2 == "dead" { reads = $4; until_disabled = disabled ? until_disabled : $4 }
    $2 == "disabled" { disabled = reads > 0 }
    END {
        printf "reads=%d until_disabled=%d\n", reads, until_disabled
        exit !(disabled && until_disabled == 3 + 1 && reads <= 3 + 1 + 2)
    })";

// Tests one device per fault of the model. The first device has no fault.
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
        "list-all-ones",
        "dies-in-list",
    };
    Scenario faults;
    faults.name = "faults";
    faults.routine = {"6.12"};
    faults.placement = Placement::kRootPort;
    faults.models.assign(1 + std::size(kFaults), "--instances 1");
    faults.models.back() += " --stats-log {out}/dead.log";
    try_each_fault(faults, "cxl_hmu", kFaults);
    faults.checks.push_back(
        {"reading ends where a device dies in its list, but for looks whether it is there",
         {"awk", std::string(kReadsOfTheDead), "{out}/dead.log"},
         0,
         {"reads="}});
    return faults;
}

// pmukit qualify on a healthy device with traffic, and on one device per fault. One of its checks
// writes to an enabled device.
Scenario cxl_hmu_qualify()
{
    Scenario qualify;
    qualify.name = "qualify";
    qualify.routine = {"6.12"};
    qualify.placement = Placement::kRootPort;
    qualify.models = {"--instances 1 --source uniform:accesses=2000,units=700"};
    for (const char *fault : {"hot-list-size-1", "offsets-outside", "width-0", "tail-out-of-range",
                              "enable-fails", "zero-instances"})
        qualify.models.push_back(std::string("--instances 1 --fault ") + fault);
    qualify.steps = {{"qualify", "/selftests/cxl_hmu/qualify.sh", 300}};
    qualify.trespasses = true;
    qualify.checks = {{"the healthy device was asked for nothing else that is reserved",
                       {"awk",
                        "/violation: write-while-enabled: / { asked++; next }"
                        "/violation: / { print; wrong = 1 }"
                        "END { print asked + 0, \"writes while enabled\"; exit wrong || !asked }",
                        "{out}/model0.errors"},
                       0,
                       {"writes while enabled"}}};
    qualify.kernels = kX86Kernels;
    return qualify;
}

// Tests a healthy device, and twenty devices that die. Each death needs a new device, because vmrun
// cannot restart the model of a device in the same guest.
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

// Tests the addresses that `pmukit report` computes from the CXL region of a device. Linux 6.1 has
// no regions of volatile memory.
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
    topology.checks = {
        {"host addresses: report reads the recording and the saved sysfs",
         {"{pmukit}", "report", "-i", "{guest}/topology.data", "--json", "--top", "0",
          "--cxl-topology", "{guest}/topology"},
         0,
         {"\"hpa\"", kSourceModel},
         "{out}/topology.json"},
        {"host addresses: those of the region's own numbers",
         {"{topology_checker}", "--report", "{out}/topology.json", "--region",
          "{guest}/topology.region"},
         0,
         {"at the region's addresses"}},
    };
    topology.kernels = {"6.12", "7.2"};
    return topology;
}

// A machine with NUMA node 1 in the device. Memory of this node is not cached, so every load and
// store of a program is a request to the device.
Scenario on_slow_node(std::string_view name)
{
    Scenario scenario;
    scenario.name = name;
    scenario.tapped_node = true;
    scenario.models = {
        "--instances 1 --counters 4096 --hot-list 4096 --memory {tap_bytes} "
        "--tap {out}/ring --tap-base {tap_base}"};
    scenario.append = "numa_balancing=disable";
    return scenario;
}

// Tests `pmukit tier` with a program whose memory is all in the device.
Scenario cxl_hmu_tier()
{
    Scenario tier = on_slow_node("tier");
    tier.steps = {{"tier", "/selftests/cxl_hmu/tier.sh", 600}};
    tier.checks = {{"slow accesses fall to 40 % and less, with a fifth of the pages moved",
                    {"{selftests}/cxl_hmu/check_tier.sh", "{out}/tally", "{out}/model0.log",
                     "{guest}/tier.json"},
                    0,
                    {"checker: ok"}}};
    tier.kernels = {"6.1", "6.12", "7.2"};
    tier.routine = {"6.12"};
    return tier;
}

// Tests `pmukit tierd`, which moves the pages of such a program while it runs.
Scenario cxl_hmu_tierd()
{
    Scenario tierd = on_slow_node("tierd");
    tierd.steps = {{"tierd", "/selftests/cxl_hmu/tierd.sh", 600}};
    tierd.kernels = {"6.12"};
    return tierd;
}

// One recording of several PMUs: a program and an endpoint that use the device's memory on its NUMA
// node, and a group whose cache use is monitored.
Scenario cxl_hmu_join()
{
    Scenario join;
    join.name = "join";
    join.tapped_node = true;
    join.beside = {"cache_qos", "hisi_ptt"};
    join.bridges = {"pcie-root-port,id=rp10,bus=pcie.0,addr=10.0,chassis=0,slot=16"};
    join.chassis = {
        {"cxl_hmu --strict --instances 1 --counters 4096 --hot-list 4096 --memory {tap_bytes} "
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

// Tests cxl_hmu beside the in-tree drivers of the same hardware, which also drive a memory device
// that QEMU emulates.
Scenario cxl_hmu_neighbors()
{
    Scenario neighbors;
    neighbors.name = "neighbors";
    neighbors.placement = Placement::kCxlRootPort;
    neighbors.models = {
        "--instances 1 --source zipf:seed=1,epochs=8,room=500,units=400 --entries-log "
        "{out}/neighbors.log",
        "--instances 1 --serial 2 --cpmu --source zipf:seed=2,units=400"};
    neighbors.objects = {"memory-backend-ram,id=stock,size=256M"};
    neighbors.bridges = {"cxl-rp,id=rp9,bus=cxl,port=9,chassis=1,slot=9",
                         "cxl-type3,bus=rp9,volatile-memdev=stock,id=stock0,sn=0x9"};
    neighbors.kernels = {"6.1", "6.12", "7.2"};
    neighbors.steps = {
        {"neighbors", "PMUKIT_MODULE=/lib/vmrun/cxl_hmu.ko /selftests/cxl_hmu/neighbors.sh", 600}};
    HostStep compared = {"every recording is the model's entries",
                         {"{entries_checker}", "--log", "{out}/neighbors.log", "--epochs", "8"},
                         0,
                         {"of the model's"}};
    for (const std::string name :
         {"neighbors1", "neighbors2", "neighbors3", "neighbors4", "neighbors5"}) {
        neighbors.checks.push_back({name + ": dump",
                                    {"{pmukit}", "dump", "-i", "{guest}/" + name + ".data"},
                                    0,
                                    {"CXL_HMU data: size"},
                                    "{out}/" + name + ".txt"});
        compared.command.insert(compared.command.end(), {"--dump", "{out}/" + name + ".txt"});
    }
    neighbors.checks.push_back(compared);
    return neighbors;
}

// Runs the step cxl_list with devices that have no region.
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
                    "--pmu 'cxl_hmu_*' --workers 2 --unprivileged 1 --module cxl_hmu "
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

// Options with which every accessed unit is hot; epochs of ten milliseconds.
constexpr std::string_view kHotCxlHmu =
    "--event hotness_threshold=1,hotness_granual=12,epoch_scale=3,epoch_multiplier=1 --aux 16";

// Two devices: an event of one device is redirected to the ring whose AUX area belongs to an event
// of the other device. Does not run on Linux 7.2, because that kernel warns about a mapping count
// if an area is mapped through an event without a ring.
DriverSpec with_redirect(DriverSpec driver)
{
    Scenario redirect = on_the_machine_of_stress(driver, "redirect");
    redirect.models.push_back(redirect.models.front());
    redirect.kernels = {"6.1", "6.12", "6.12-arm64", "debug-6.12"};
    redirect.routine = {"6.12"};
    redirect.steps = {
        {"redirect",
         "pmu_redirect --pmu cxl_hmu_mem0.0.0 --other cxl_hmu_mem1.0.0 " + std::string(kHotCxlHmu),
         60}};
    driver.programs.push_back("selftests/stress/pmu_redirect");
    driver.tests.push_back(std::move(redirect));
    return driver;
}

// Strict models reject register accesses that the specification reserves; the scenario fails if the
// driver makes such an access.
DriverSpec with_strict_models(DriverSpec driver)
{
    driver.conforms = true;
    driver.tests.push_back(driver.demo);
    for (Scenario &scenario : driver.tests)
        for (std::string &model : scenario.models)
            model.insert(0, "--strict ");
    driver.demo = std::move(driver.tests.back());
    driver.tests.pop_back();
    return driver;
}

// Runs the examples of a documentation page. The devices generate so many accesses per epoch that
// units reach the threshold of these examples.
Scenario cxl_hmu_examples()
{
    Scenario examples;
    examples.models = {"--source zipf:accesses=20000,units=512"};
    return examples;
}

}  // namespace

DriverSpec cxl_hmu_driver()
{
    DriverSpec driver;
    driver.name = "cxl_hmu";
    // Linux 7.2 needs this order; other kernels accept it.
    driver.stock_modules = {"libnvdimm", "cxl_pmem", "cxl_acpi", "cxl_mem", "cxl_pci"};
    driver.modules = {"pmukit_common", "cxl_hmu"};
    driver.programs = {"tools/cli/pmukit",
                       "selftests/cxl_hmu/cxl_hmu_test",
                       "selftests/cxl_hmu/cxl_hmu_losses_test",
                       "selftests/cxl_hmu/cxl_hmu_life_test",
                       "selftests/cxl_hmu/cxl_hmu_faults_test",
                       "selftests/cxl_hmu/cxl_hmu_death_test",
                       "selftests/cxl_hmu/cxl_hmu_shapes_test",
                       "selftests/cxl_hmu/cxl_hmu_personalities_test",
                       "selftests/cxl_hmu/cxl_hmu_detach_test",
                       "selftests/cxl_hmu/zipf_access",
                       "selftests/cxl_hmu/tier_load"};
    driver.files = {"selftests/cxl_hmu/hmu.sh",
                    "selftests/cxl_hmu/pmu_name.sh",
                    "selftests/cxl_hmu/record_zipf.sh",
                    "selftests/cxl_hmu/stock_perf.sh",
                    "selftests/cxl_hmu/abi_paths.sh",
                    "selftests/lib/abi.sh",
                    "selftests/cxl_hmu/trace_event.sh",
                    "selftests/cxl_hmu/live.sh",
                    "selftests/cxl_hmu/qualify.sh",
                    "selftests/lib/qualify_steps.sh",
                    "selftests/lib/tap.sh",
                    "selftests/cxl_hmu/standalone.sh",
                    "selftests/cxl_hmu/autoload.sh",
                    "selftests/cxl_hmu/enabled.sh",
                    "selftests/cxl_hmu/own_driver.sh",
                    "selftests/cxl_hmu/two_devices.sh",
                    "selftests/cxl_hmu/eight_epochs.sh",
                    "selftests/cxl_hmu/long_list.sh",
                    "selftests/cxl_hmu/neighbors.sh",
                    "selftests/cxl_hmu/until_idle.sh",
                    "selftests/cxl_hmu/cxl_list.sh",
                    "selftests/cxl_hmu/topology.sh",
                    "selftests/cxl_hmu/tier.sh",
                    "selftests/cxl_hmu/tierd.sh",
                    "selftests/cxl_hmu/join.sh",
                    "Documentation/ABI/testing/debugfs-pmukit",
                    "Documentation/ABI/testing/sysfs-bus-event_source-devices-cxl_hmu"};
    driver.tests = {
        cxl_hmu_test(),
        cxl_hmu_polled(),
        cxl_hmu_two_devices(),
        cxl_hmu_standalone(),
        cxl_hmu_detach(),
        cxl_hmu_own_driver(),
        cxl_hmu_life("life", Placement::kCxlRootPort, kX86Kernels),
        cxl_hmu_life("life-arm64", Placement::kIntegrated, kArm64Kernels),
        cxl_hmu_shapes(),
        cxl_hmu_personalities(),
        cxl_hmu_faults(),
        cxl_hmu_death(),
        cxl_hmu_qualify(),
        cxl_hmu_topology(),
        cxl_hmu_tier(),
        cxl_hmu_tierd(),
        cxl_hmu_join(),
        cxl_hmu_list(),
        cxl_hmu_neighbors(),
    };
    driver.demo = cxl_hmu_demo();
    // tools/scripts/demo builds only DEMO_PROGRAMS of the Makefile.
    driver.demo_programs = {"tools/cli/pmukit", "selftests/cxl_hmu/zipf_access"};
    driver.examples = {
        "pmukit list",
        "pmukit record --source model -a -e cxl_hmu_mem0.0.0/hotness_threshold=1/ -- "
        "zipf_access --accesses 60000",
        "pmukit report", "pmukit top -e cxl_hmu_mem0.0.0/hotness_threshold=1/"};
    return driver;
}

// Adds the tests that all drivers share: random use, failing allocations, privileges and others.
DriverSpec cxl_hmu_tests()
{
    const std::string plain =
        "--event hotness_threshold=16,hotness_granual=12,epoch_scale=4,epoch_multiplier=1";
    const std::string event = plain + " --aux 16";
    DriverSpec driver =
        with_stress(cxl_hmu_driver(), cxl_hmu_stress(), "--pmu cxl_hmu_mem0.0.0 " + plain);
    driver = with_sleep(driver, "--pmu cxl_hmu_mem0.0.0 " + event);
    driver = with_refresh(driver, "--pmu cxl_hmu_mem0.0.0 " + std::string(kHotCxlHmu));
    driver = with_redirect(driver);
    driver = with_aux_extras(driver, "test", {{"aux_extras", "--pmu cxl_hmu_mem0.0.0 " + event}});
    driver = with_reloads(driver, "--pmu cxl_hmu_mem0.0.0 " + event);
    driver = with_failures(driver, {{"fail_nth", "--pmu cxl_hmu_mem0.0.0 " + event +
                                                     " --load cxl_hmu=/lib/vmrun/cxl_hmu.ko"}});
    driver = with_busy_privileges(
        driver, "--pmu cxl_hmu_mem0.0.0 --policy capability " + std::string(kHotCxlHmu));
    return with_strict_models(with_examples(
        driver,
        {"Documentation/getting-started/cxl_hmu-start.rst", "Documentation/devices/cxl_hmu.rst"},
        "6.12", cxl_hmu_examples()));
}

}  // namespace pmukit::vm
