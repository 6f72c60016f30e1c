// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// pmukit doctor on a fake machine without faults, and on the same machine with one change each.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/fd.hpp"
#include "base/file.hpp"
#include "base/test_folder.hpp"
#include "cli/commands.hpp"
#include "cli/doctor_checks.hpp"
#include "cli/drivers.hpp"
#include "cli/version.hpp"

namespace pmukit::cli {
namespace {

// /proc/self/status with all capabilities and with none
constexpr const char *kRoot = "Name:\tpmukit\nCapEff:\t000001ffffffffff\n";
constexpr const char *kUser = "Name:\tpmukit\nCapEff:\t0000000000000000\n";

void put_module(const TestFolder &tree, const std::string &name)
{
    tree.put("sys/module/" + name + "/version", std::string(kVersion) + "\n");
    tree.folder("sys/module/pmukit_common/holders/" + name);
}

void put_good_machine(const TestFolder &tree)
{
    tree.put("proc/sys/kernel/osrelease", "6.12.107+deb13-amd64\n");
    tree.put("proc/sys/kernel/perf_event_paranoid", "3\n");
    tree.put("proc/sys/kernel/perf_event_mlock_kb", "516\n");
    tree.put("proc/sys/kernel/kptr_restrict", "0\n");
    tree.put("proc/self/status", kRoot);
    tree.put("proc/self/limits", "Max locked memory         8388608   8388608   bytes\n");
    tree.put("proc/mounts", "sysfs /sys sysfs rw 0 0\n");
    tree.put("sys/kernel/security/lockdown", "[none] integrity confidentiality\n");
    tree.folder("sys/kernel/tracing/events");
    tree.put("sys/devices/system/cpu/online", "0-1\n");
    tree.put("sys/bus/event_source/devices/cxl_hmu_mem0.0.0/type", "24\n");
    tree.folder("sys/module/cxl_pci");
    put_module(tree, "pmukit_common");
    put_module(tree, "cxl_hmu");
}

struct Case {
    const char *name;
    std::function<void(const TestFolder &)> change;
    const char *check;
    Health health;
    const char *what;  // text that the finding contains
    const char *fix;   // text that the fix contains; "": no fix
};

void put_trace_device(const TestFolder &tree, const char *type)
{
    const std::string device = "sys/bus/pci/devices/0000:01:00.0";
    tree.put(device + "/vendor", "0x19e5\n");
    tree.put(device + "/device", "0xa12e\n");
    if (*type)
        tree.put(device + "/iommu_group/type", type);
}

constexpr const char *kMonitoringCpu =
    "processor\t: 0\nflags\t\t: fpu cqm cqm_llc cqm_occup_llc cqm_mbm_total cqm_mbm_local\n";

void mount_resctrl(const TestFolder &tree)
{
    tree.put("proc/mounts", "resctrl /sys/fs/resctrl resctrl rw 0 0\n");
    tree.put("sys/fs/resctrl/mon_data/mon_L3_00/llc_occupancy", "0\n");
}

const Case kCases[] = {
    {"Nothing", [](const TestFolder &) {}, "kernel", Health::kGood, "6.12.107", ""},
    {"OldKernel", [](const TestFolder &t) { t.put("proc/sys/kernel/osrelease", "6.10.3"); },
     "kernel", Health::kNote, "6.10.3: the modules are tested on 6.1, 6.12, 7.2", "run one of"},
    {"OwnModule", [](const TestFolder &) {}, "module", Health::kGood, "cxl_hmu 0", ""},
    {"OtherVersion", [](const TestFolder &t) { t.put("sys/module/cxl_hmu/version", "0.0.9\n"); },
     "module", Health::kBad, "cxl_hmu is 0.0.9, these tools are ", "rmmod cxl_hmu"},
    {"NoVersion", [](const TestFolder &t) { t.remove("sys/module/cxl_hmu/version"); }, "module",
     Health::kBad, "cxl_hmu is of an unknown version", "of the same source"},
    {"NoModule", [](const TestFolder &t) { t.remove("sys/module"); }, "module", Health::kNote,
     "no module of pmukit", "insmod pmukit_common.ko"},
    {"NoModuleBesideResctrl",
     [](const TestFolder &t) {
         t.remove("sys/module");
         mount_resctrl(t);
     },
     "module", Health::kNote, "no module of pmukit is loaded; resctrl is read without one",
     "none for resctrl; for another device: insmod"},
    {"ForeignHisiPtt", [](const TestFolder &t) { t.folder("sys/module/hisi_ptt"); }, "drivers",
     Health::kGood, "in-tree hisi_ptt", ""},
    {"OwnHisiPtt", [](const TestFolder &t) { put_module(t, "hisi_ptt"); }, "drivers", Health::kGood,
     "no conflicting driver", ""},
    {"ForeignUncore",
     [](const TestFolder &t) { t.put("sys/bus/event_source/devices/uncore_imc_0/type", "30\n"); },
     "drivers", Health::kGood, "the in-tree intel_uncore serves the uncore units", ""},
    {"ForeignImc",
     [](const TestFolder &t) { t.put("sys/bus/event_source/devices/nest_mcs01_imc/type", "30\n"); },
     "drivers", Health::kGood, "imc driver has PMUs: stock perf", ""},
    {"NoCxlPci", [](const TestFolder &t) { t.remove("sys/module/cxl_pci"); }, "drivers",
     Health::kNote, "cxl_pci is not", "standalone=1"},
    {"Standalone",
     [](const TestFolder &t) {
         t.remove("sys/module/cxl_pci");
         t.put("sys/module/cxl_hmu/parameters/standalone", "Y\n");
     },
     "drivers", Health::kGood, "no conflicting driver", ""},
    {"ResctrlMounted", mount_resctrl, "resctrl", Health::kGood,
     "mounted on /sys/fs/resctrl: `pmukit record -e resctrl//` reads occupancy and bandwidth", ""},
    {"ResctrlMountedWithoutMonitoring",
     [](const TestFolder &t) { t.put("proc/mounts", "resctrl /sys/fs/resctrl resctrl rw 0 0\n"); },
     "resctrl", Health::kGood,
     "no mon_data/mon_L3_*: this kernel or processor does not monitor its L3; cache_qos does not "
     "load meanwhile",
     ""},
    {"NoL3Monitoring", [](const TestFolder &) {}, "resctrl", Health::kGood,
     "no L3 monitoring here, neither by cache_qos nor by resctrl", ""},
    {"CacheQosOrResctrl",
     [](const TestFolder &t) {
         t.put("proc/cpuinfo", kMonitoringCpu);
         t.folder("sys/fs/resctrl");
     },
     "resctrl", Health::kGood,
     "this machine can have cache_qos (tasks, cgroups, nested groups), or", ""},
    {"CacheQosOnly", [](const TestFolder &t) { t.put("proc/cpuinfo", kMonitoringCpu); }, "resctrl",
     Health::kGood, "this kernel has none: this machine can have cache_qos", ""},
    {"ResctrlOnly", [](const TestFolder &t) { t.folder("sys/fs/resctrl"); }, "resctrl",
     Health::kGood,
     "can have resctrl (`mount -t resctrl resctrl /sys/fs/resctrl`, then `pmukit "
     "record -e resctrl//`), not cache_qos (no L3 monitoring",
     ""},
    {"ResctrlOnlyOnARealTimeKernel",
     [](const TestFolder &t) {
         t.put("proc/cpuinfo", kMonitoringCpu);
         t.folder("sys/fs/resctrl");
         t.put("sys/kernel/realtime", "1\n");
     },
     "resctrl", Health::kGood, "not cache_qos (a PREEMPT_RT kernel)", ""},
    {"ResctrlBesideCacheQos",
     [](const TestFolder &t) {
         t.put("proc/mounts", "none /rc resctrl rw 0 0\n");
         t.put("rc/mon_data/mon_L3_00/llc_occupancy", "0\n");
         put_module(t, "cache_qos");
     },
     "resctrl", Health::kBad, "cache_qos yields",
     "`pmukit record -e resctrl//` reads occupancy and bandwidth of its groups; umount /rc frees "
     "the registers, but deletes all control and "
     "monitor groups"},
    {"RegistersOfAnotherTool",
     [](const TestFolder &t) {
         put_module(t, "cache_qos");
         t.put("sys/bus/event_source/devices/cache_qos/registers", "cpu 0 rmid 1\n");
     },
     "registers", Health::kBad,
     "another tool (pqos, PCM?) has the registers of L3 monitoring (cpu 0 rmid 1)",
     "end that tool"},
    {"ResctrlBehindManyMounts",
     [](const TestFolder &t) {
         std::string mounts;
         while (mounts.size() < 70000)
             mounts += "overlay /var/lib/containers/one overlay rw 0 0\n";
         t.put("proc/mounts", mounts + "resctrl /sys/fs/resctrl resctrl rw 0 0\n");
     },
     "resctrl", Health::kGood, "mounted on /sys/fs/resctrl: ", ""},
    {"NoTraceDevice", [](const TestFolder &) {}, "iommu", Health::kGood, "no PCIe trace device",
     ""},
    {"TranslatedTraceDevice", [](const TestFolder &t) { put_trace_device(t, "DMA-FQ\n"); }, "iommu",
     Health::kBad, "0000:01:00.0: the IOMMU translates its addresses (type DMA-FQ)", "iommu=pt"},
    {"IdentityTraceDevice", [](const TestFolder &t) { put_trace_device(t, "identity\n"); }, "iommu",
     Health::kGood, "identity domain", ""},
    {"BareTraceDevice", [](const TestFolder &t) { put_trace_device(t, ""); }, "iommu",
     Health::kGood, "not behind an IOMMU", ""},
    {"ParanoidRoot", [](const TestFolder &) {}, "privilege", Health::kGood,
     "is 3, and this user has", ""},
    {"ParanoidUser", [](const TestFolder &t) { t.put("proc/self/status", kUser); }, "privilege",
     Health::kBad, "perf_event_paranoid is 3", "CAP_PERFMON"},
    {"TrustedUser",
     [](const TestFolder &t) {
         t.put("proc/self/status", kUser);
         t.put("proc/sys/kernel/perf_event_paranoid", "-1\n");
     },
     "privilege", Health::kNote, "perf_event_paranoid is -1: this user may count", "CAP_PERFMON"},
    {"NoPerfEvents", [](const TestFolder &t) { t.remove("proc/sys/kernel/perf_event_paranoid"); },
     "privilege", Health::kBad, "no perf events", "CONFIG_PERF_EVENTS"},
    {"HiddenPointers", [](const TestFolder &t) { t.put("proc/sys/kernel/kptr_restrict", "2\n"); },
     "symbols", Health::kNote, "kptr_restrict is 2", "kptr_restrict=1"},
    {"PointersForRoot", [](const TestFolder &t) { t.put("proc/sys/kernel/kptr_restrict", "1\n"); },
     "symbols", Health::kGood, "kptr_restrict is 1", ""},
    {"NoPointersForUser",
     [](const TestFolder &t) {
         t.put("proc/self/status", kUser);
         t.put("proc/sys/kernel/perf_event_paranoid", "2\n");
     },
     "symbols", Health::kNote, "kptr_restrict is 0", "record as root"},
    {"PointersForTrustedUser",
     [](const TestFolder &t) {
         t.put("proc/self/status", kUser);
         t.put("proc/sys/kernel/perf_event_paranoid", "1\n");
     },
     "symbols", Health::kGood, "kptr_restrict is 0", ""},
    {"Integrity",
     [](const TestFolder &t) {
         t.put("sys/kernel/security/lockdown", "none [integrity] confidentiality");
     },
     "lockdown", Health::kNote, "must be signed", "sign the modules"},
    {"Confidentiality",
     [](const TestFolder &t) {
         t.put("sys/kernel/security/lockdown", "none integrity [confidentiality]");
     },
     "lockdown", Health::kBad, "BPF and perf may not", "boot without"},
    {"NoLockdown", [](const TestFolder &t) { t.remove("sys/kernel/security"); }, "lockdown",
     Health::kGood, "none", ""},
    {"NoTracefs", [](const TestFolder &t) { t.remove("sys/kernel/tracing"); }, "tracefs",
     Health::kNote, "AUX data instead", "mount -t tracefs"},
    {"RingsOfRoot", [](const TestFolder &t) { t.put("proc/self/limits", ""); }, "rings",
     Health::kGood, "event fit", ""},
    {"RingsOfUser", [](const TestFolder &t) { t.put("proc/self/status", kUser); }, "rings",
     Health::kGood, "event fit", ""},
    {"RingsTooLarge",
     [](const TestFolder &t) {
         t.put("proc/self/status", kUser);
         t.put("proc/self/limits", "Max locked memory  65536  65536  bytes\n");
     },
     "rings", Health::kNote, "may lock 1096 KiB; the rings of one event need 4612", "-m 64,"},
    {"RingsUnlimited",
     [](const TestFolder &t) {
         t.put("proc/self/status", kUser);
         t.put("proc/self/limits", "Max locked memory  unlimited  unlimited  bytes\n");
     },
     "rings", Health::kGood, "event fit", ""},
    {"Pmu", [](const TestFolder &) {}, "pmus", Health::kGood, "cxl_hmu_mem0.0.0", ""},
    {"NoPmu", [](const TestFolder &t) { t.remove("sys/bus/event_source"); }, "pmus", Health::kBad,
     "no PMU of pmukit", "dmesg"},
    {"NoPmuBesideResctrl",
     [](const TestFolder &t) {
         t.remove("sys/bus/event_source");
         mount_resctrl(t);
     },
     "pmus", Health::kNote, "no PMU of pmukit found; `pmukit record -e resctrl//` needs none",
     "none for resctrl; for another device: load the module of the device"},
    {"NoPmuBesideResctrlWithoutMonitoring",
     [](const TestFolder &t) {
         t.remove("sys/bus/event_source");
         t.put("proc/mounts", "resctrl /sys/fs/resctrl resctrl rw 0 0\n");
     },
     "pmus", Health::kBad, "no PMU of pmukit found", "none for resctrl; for another device: load"},
    {"PmuOfAnother",
     [](const TestFolder &t) {
         t.remove("sys/bus/event_source");
         t.put("sys/bus/event_source/devices/uncore_imc_0/type", "30\n");
     },
     "pmus", Health::kBad, "no PMU of pmukit", "dmesg"},
    {"PmuThatCounts",
     [](const TestFolder &t) {
         put_module(t, "uncore_pmon");
         t.put("sys/bus/event_source/devices/uncore_imc_0/type", "30\n");
     },
     "pmus", Health::kGood, "cxl_hmu_mem0.0.0, uncore_imc_0", ""},
    {"Holder",
     [](const TestFolder &t) {
         t.put("proc/77/comm", "perf\n");
         t.folder("proc/77/fd");
         t.link("proc/77/fd/0", "/dev/null");
         t.link("proc/77/fd/5", "anon_inode:[perf_event]");
         t.put("proc/78/comm", "cat\n");
         t.folder("proc/78/fd");
         t.link("proc/78/fd/0", "/dev/null");
     },
     "holders", Health::kGood, "perf events are open in 77 (perf)", ""},
};

class Doctor : public testing::TestWithParam<Case> {};

TEST_P(Doctor, ReportsTheExpectedHealthAndFix)
{
    const Case &wanted = GetParam();
    const TestFolder tree;
    put_good_machine(tree);
    wanted.change(tree);
    const std::vector<Finding> findings = examine(Host(tree.dir()));
    const auto found = std::ranges::find_if(findings, [&wanted](const Finding &finding) {
        return finding.check == wanted.check && finding.what.find(wanted.what) != std::string::npos;
    });
    ASSERT_NE(found, findings.end()) << wanted.what;
    EXPECT_EQ(found->health, wanted.health) << found->what;
    EXPECT_NE(found->fix.find(wanted.fix), std::string::npos) << found->fix;
    EXPECT_EQ(found->fix.empty(), !*wanted.fix) << found->fix;
    // One change of the machine causes few findings. Checks that the change does not affect still
    // pass.
    const auto worse = [](const Finding &finding) { return finding.health != Health::kGood; };
    EXPECT_LE(std::ranges::count_if(findings, worse), 3);
}
// Lets GoogleTest print a case by its name. By default it prints bytes of pointers, which differ
// from run to run.
void PrintTo(const Case &value, std::ostream *out)
{
    *out << value.name;
}
std::string name_of_case(const testing::TestParamInfo<Case> &info)
{
    return info.param.name;
}
INSTANTIATE_TEST_SUITE_P(Machine, Doctor, testing::ValuesIn(kCases), name_of_case);

TEST(DoctorProbe, EventOfATraceDeviceHasTheFilterOfARootPort)
{
    const TestFolder tree;
    const Host host(tree.dir());
    const std::string filters = "sys/bus/event_source/devices/hisi_ptt0_2/root_port_filters";
    const auto probe_terms = driver_of_name("hisi_ptt")->probe_terms;
    tree.put(filters + "/multiselect", "1\n");
    EXPECT_FALSE(probe_terms(host, "hisi_ptt0_2"));
    tree.put(filters + "/0000:00:10.0", "0x80001\n");
    EXPECT_EQ(*probe_terms(host, "hisi_ptt0_2"), "filter=0000:00:10.0,type=1,direction=1,format=1");
}

class DoctorCommand : public testing::Test {
protected:
    Result<int> run(bool json)
    {
        const std::string path = tree_.path("out");
        const Fd fd(::open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600));
        Output out(fd.get(), path);
        const Result<int> status = run_doctor({tree_.dir(), json}, out);
        EXPECT_TRUE(out.finish());
        out_ = *read_small_file(path);
        return status;
    }

    TestFolder tree_;
    std::string out_;
};

TEST_F(DoctorCommand, ExitsWithZeroIfAllChecksPass)
{
    put_good_machine(tree_);
    const Result<int> status = run(false);
    ASSERT_TRUE(status) << status.error().message;
    EXPECT_EQ(*status, kExitGood) << out_;
    EXPECT_NE(out_.find(" 0 noted, 0 bad\n"), std::string::npos) << out_;
    EXPECT_EQ(out_.find("fix:"), std::string::npos) << out_;
}

TEST_F(DoctorCommand, ExitsWithNonzeroAndPrintsTheFixIfACheckFails)
{
    put_good_machine(tree_);
    tree_.put("sys/module/cxl_hmu/version", "0.0.9\n");
    const Result<int> status = run(false);
    ASSERT_TRUE(status) << status.error().message;
    EXPECT_EQ(*status, kExitFailed) << out_;
    EXPECT_NE(out_.find("\nbad   module     cxl_hmu is 0.0.9"), std::string::npos) << out_;
    EXPECT_NE(out_.find("fix: rmmod cxl_hmu"), std::string::npos) << out_;
}

TEST_F(DoctorCommand, EscapesControlCharactersInProcessNames)
{
    put_good_machine(tree_);
    tree_.put("proc/77/comm", "\033[2Jx\n");
    tree_.folder("proc/77/fd");
    tree_.link("proc/77/fd/5", "anon_inode:[perf_event]");
    ASSERT_TRUE(run(false));
    EXPECT_NE(out_.find("77 (\\x1b[2Jx)"), std::string::npos) << out_;
    EXPECT_EQ(out_.find('\033'), std::string::npos) << out_;
    ASSERT_TRUE(run(true));
    EXPECT_NE(nlohmann::json::parse(out_).dump().find("77 (\\u001b[2Jx)"), std::string::npos)
        << out_;
}

TEST_F(DoctorCommand, JsonShowsTheFailedCheckAndItsFix)
{
    put_good_machine(tree_);
    tree_.put("sys/module/cxl_hmu/version", "0.0.9\n");
    const Result<int> status = run(true);
    ASSERT_TRUE(status) << status.error().message;
    EXPECT_EQ(*status, kExitFailed);
    const auto said = nlohmann::json::parse(out_);
    EXPECT_EQ(said["version"], kVersion);
    EXPECT_EQ(said["bad"], 1);
    const auto bad = std::ranges::find_if(
        said["checks"], [](const nlohmann::json &check) { return check["state"] == "bad"; });
    ASSERT_NE(bad, said["checks"].end());
    EXPECT_EQ((*bad)["check"], "module");
    EXPECT_TRUE((*bad)["fix"].is_string());
    EXPECT_TRUE(said["checks"][0]["fix"].is_null());
}

TEST_F(DoctorCommand, RejectsARootFolderWithoutProc)
{
    const Result<int> status = run(false);
    ASSERT_FALSE(status);
    EXPECT_NE(status.error().message.find("it has no proc directory"), std::string::npos);
}

}  // namespace
}  // namespace pmukit::cli
