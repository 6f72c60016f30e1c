// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "vmrun_machine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "base/text.hpp"

namespace pmukit::vm {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

std::string joined(const MachineSpec &spec, std::string_view kernel)
{
    return pmukit::joined(machine_words({{"qemu"}}, *kernel_by_name(kernel), spec), " ");
}

TEST(QemuCommand, IntegratedFunctionsHaveFixedSlotsOnRootBus)
{
    MachineSpec spec;
    spec.sockets = {"/run/s0", "/run/s1"};
    std::string words = joined(spec, "6.12");
    EXPECT_NE(words.find(R"("addr":"10.0","bus":"pcie.0")"), std::string::npos) << words;
    EXPECT_NE(words.find(R"("addr":"11.0","bus":"pcie.0")"), std::string::npos);
    EXPECT_NE(words.find(R"("socket":{"path":"/run/s1","type":"unix"})"), std::string::npos);
    EXPECT_EQ(words.find("pcie-root-port"), std::string::npos);
}

TEST(QemuCommand, EachFunctionHasItsOwnRootPortWithRootPortPlacement)
{
    MachineSpec spec;
    spec.sockets = {"/run/s0", "/run/s1"};
    spec.placement = Placement::kRootPort;
    std::string words = joined(spec, "6.12");
    EXPECT_NE(words.find("pcie-root-port,id=rp0"), std::string::npos) << words;
    EXPECT_NE(words.find("pcie-root-port,id=rp1"), std::string::npos);
    EXPECT_NE(words.find(R"("bus":"rp1")"), std::string::npos);
}

TEST(QemuCommand, MoreFunctionsThanSlotsBecomeMultifunctionDevices)
{
    MachineSpec spec;
    for (int i = 0; i < 20; i++)
        spec.sockets.push_back(fmt::format("/run/s{}", i));
    std::string words = joined(spec, "6.12");
    EXPECT_NE(words.find(R"("addr":"10.7","bus":"pcie.0")"), std::string::npos) << words;
    EXPECT_NE(words.find(R"("addr":"12.3","bus":"pcie.0")"), std::string::npos);
    spec.placement = Placement::kRootPort;
    EXPECT_NE(joined(spec, "6.12").find("id=rp19,bus=pcie.0,addr=12.3"), std::string::npos);
}

TEST(QemuCommand, CxlRootPortsShareAHostBridgeWithAFixedMemoryWindow)
{
    MachineSpec spec;
    spec.sockets = {"/run/s0", "/run/s1"};
    spec.placement = Placement::kCxlRootPort;
    std::string words = joined(spec, "6.12");
    EXPECT_NE(words.find("-M q35,cxl=on"), std::string::npos) << words;
    EXPECT_NE(words.find("node,nodeid=0,cpus=0,memdev=m"), std::string::npos);
    EXPECT_NE(words.find("numa_node=1"), std::string::npos);
    EXPECT_NE(words.find("-cpu max,-hypervisor"), std::string::npos);
    EXPECT_NE(words.find("cxl-fmw.0.targets.0=cxl,cxl-fmw.0.size=4G"), std::string::npos);
    EXPECT_NE(words.find("cxl-rp,id=rp1,bus=cxl"), std::string::npos);
    EXPECT_NE(words.find(R"("bus":"rp1")"), std::string::npos);
}

TEST(QemuCommand, HidesHypervisorOnRequest)
{
    MachineSpec spec;
    EXPECT_EQ(joined(spec, "6.12").find("hypervisor"), std::string::npos);
    spec.hides_hypervisor = true;
    EXPECT_NE(joined(spec, "6.12").find("-cpu max,-hypervisor -smp 2 "), std::string::npos);
}

TEST(QemuCommand, EachOfSeveralNumaNodesHasOneCpu)
{
    MachineSpec spec;
    EXPECT_EQ(joined(spec, "6.12").find("-numa"), std::string::npos);
    spec.nodes = 2;
    const std::string words = joined(spec, "6.12");
    EXPECT_NE(words.find("-numa node,nodeid=0,cpus=0,memdev=m -numa node,nodeid=1,cpus=1"),
              std::string::npos)
        << words;
    EXPECT_NE(words.find("-smp 2,sockets=2"), std::string::npos);
    EXPECT_EQ(words.find("cxl"), std::string::npos);
    spec.nodes = 3;
    spec.smp = "3";
    EXPECT_NE(joined(spec, "6.12").find("-numa node,nodeid=1,cpus=1 -numa node,nodeid=2,cpus=2 "),
              std::string::npos);
    EXPECT_NE(joined(spec, "6.12").find("-smp 3 "), std::string::npos);
}

TEST(QemuCommand, RdtSelectsAnIntelCpuAndTheRdtPlugin)
{
    MachineSpec spec;
    EXPECT_EQ(joined(spec, "6.1").find("GenuineIntel"), std::string::npos);
    spec.rdt = RdtProcessor{"/b/rdt.so", "/o/a,b/log", "cpus-per-l3=1,rmids=8"};
    spec.smp = "2,sockets=2";
    const std::string words = joined(spec, "6.1");
    EXPECT_NE(words.find("-cpu max,vendor=GenuineIntel,family=6,model=143,"), std::string::npos)
        << words;
    EXPECT_NE(words.find("-smp 2,sockets=2"), std::string::npos);
    EXPECT_NE(words.find("-plugin /b/rdt.so,log=/o/a,,b/log,cpus-per-l3=1,rmids=8 "),
              std::string::npos)
        << words;
    EXPECT_EQ(words.find("hypervisor"), std::string::npos);
}

// If all emulated CPUs share one host thread, QEMU passes wrong CPU numbers to plugins.
TEST(QemuCommand, EachCpuHasItsOwnHostThreadWithTheRdtPlugin)
{
    MachineSpec spec;
    EXPECT_NE(joined(spec, "6.12").find("-accel tcg,thread=single"), std::string::npos);
    spec.rdt = RdtProcessor{"/b/rdt.so", "/o/log", "cpus-per-l3=1"};
    EXPECT_NE(joined(spec, "6.12").find("-accel tcg,thread=multi"), std::string::npos);
}

TEST(QemuCommand, NumaNodeWatchedByTheMemtapPluginHasMemoryButNoCpu)
{
    MachineSpec spec;
    EXPECT_EQ(joined(spec, "6.12").find("-plugin"), std::string::npos);
    spec.tapped_node = TappedNode{"/b/memtap.so", "/o/ring", "/o/a,b/tally"};
    const std::string words = joined(spec, "6.12");
    EXPECT_NE(words.find("-numa node,nodeid=0,cpus=0-1,memdev=m -numa node,nodeid=1,memdev=tapped"),
              std::string::npos)
        << words;
    EXPECT_NE(words.find("-m 1G"), std::string::npos);
    EXPECT_NE(words.find("id=m,size=768M,share=on"), std::string::npos);
    EXPECT_NE(words.find("id=tapped,size=256M,share=on"), std::string::npos);
    EXPECT_NE(words.find("-plugin /b/memtap.so,ring=/o/ring,tally=/o/a,,b/tally"),
              std::string::npos);
    EXPECT_EQ(words.find("memory-backend=m "), std::string::npos);
}

TEST(QemuCommand, LogsTheWritesOfADisk)
{
    MachineSpec spec;
    EXPECT_EQ(joined(spec, "6.12").find("-blockdev"), std::string::npos);
    spec.disk = LoggedDisk{"/o/a,b/disk", "/o/disk.log"};
    const std::string words = joined(spec, "6.12");
    EXPECT_NE(words.find("node-name=disk-image,cache.no-flush=on,filename=/o/a,,b/disk "),
              std::string::npos)
        << words;
    EXPECT_NE(words.find("node-name=disk-log,cache.no-flush=on,filename=/o/disk.log "),
              std::string::npos);
    EXPECT_NE(words.find("-blockdev driver=blklogwrites,node-name=disk,file=disk-image,"
                         "log=disk-log -device virtio-blk-pci,drive=disk "),
              std::string::npos);
}

TEST(QemuCommand, DeviceOptionsFollowTheOptionsOfTheirBridges)
{
    MachineSpec spec;
    spec.bridges = {"pcie-root-port,id=a,bus=pcie.0,addr=10.0"};
    spec.placed = {{"/run/s0", "pcie.0", "18.0"}, {"/run/s1", "a", ""}};
    std::string words = joined(spec, "6.12");
    size_t bridge = words.find("-device pcie-root-port,id=a");
    size_t below = words.find(R"({"bus":"a","driver":"vfio-user-pci","socket":{"path":"/run/s1")");
    EXPECT_NE(words.find(R"("addr":"18.0","bus":"pcie.0")"), std::string::npos) << words;
    ASSERT_NE(bridge, std::string::npos) << words;
    ASSERT_NE(below, std::string::npos) << words;
    EXPECT_LT(bridge, below);
}

TEST(QemuCommand, ObjectOptionsPrecedeTheDevicesThatUseThem)
{
    MachineSpec spec;
    spec.objects = {"memory-backend-ram,id=stock,size=256M"};
    spec.bridges = {"cxl-type3,bus=rp9,volatile-memdev=stock"};
    const std::string words = joined(spec, "6.12");
    const size_t object = words.find("-object memory-backend-ram,id=stock,size=256M");
    const size_t device = words.find("-device cxl-type3,bus=rp9,volatile-memdev=stock");
    ASSERT_NE(object, std::string::npos) << words;
    ASSERT_NE(device, std::string::npos) << words;
    EXPECT_LT(object, device);
}

TEST(QemuCommand, OmitsDevicesThatArePluggedLaterAndAddsTheMonitorSocket)
{
    MachineSpec spec;
    EXPECT_EQ(joined(spec, "6.12").find("-qmp"), std::string::npos);
    spec.monitor = "/run/a,qmp";
    spec.placed = {{"/run/s0", "a", "", "device0"}, {"/run/s1", "b", "", "device1", false}};
    const std::string words = joined(spec, "6.12");
    EXPECT_NE(words.find("-qmp unix:/run/a,,qmp,server=on,wait=off"), std::string::npos) << words;
    EXPECT_NE(words.find(R"("id":"device0")"), std::string::npos);
    EXPECT_EQ(words.find("device1"), std::string::npos);
    EXPECT_NE(device_json(spec.placed[1]).find(R"("bus":"b")"), std::string::npos);
}

TEST(QemuCommand, SelectsTheAcceleratorMachineAndConsoleOfTheKernel)
{
    EXPECT_NE(joined({}, "6.12").find("tcg,thread=single"), std::string::npos);
    EXPECT_NE(joined({}, "6.12-arm64").find("console=ttyAMA0"), std::string::npos);
    EXPECT_NE(joined({}, "6.12-arm64").find("virt,gic-version=3,memory-backend=m"),
              std::string::npos);
    MachineSpec spec;
    EXPECT_NE(pmukit::joined(machine_words({{"q"}, true}, *kernel_by_name("6.12"), spec), " ")
                  .find("-accel kvm"),
              std::string::npos);
}

TEST(QemuCommand, SteadyGuestClockSelectsIcountInsteadOfKvm)
{
    MachineSpec spec;
    EXPECT_EQ(joined(spec, "7.2").find("-icount"), std::string::npos);
    spec.steady = true;
    const std::string words =
        pmukit::joined(machine_words({{"q"}, true}, *kernel_by_name("7.2"), spec), " ");
    EXPECT_NE(words.find("-accel tcg,thread=single -icount shift="), std::string::npos) << words;
    EXPECT_EQ(words.find("kvm"), std::string::npos) << "which knows no such time";
}

// An x86 CPU that TCG emulates without -icount has the host's TSC, whose frequency vmrun knows.
TEST(QemuCommand, PassesTheTscFrequencyOnlyToEmulatedCpusWithoutSteadyClock)
{
    const KernelQuirks &kernel = *kernel_by_name("7.2");
    const auto words_of = [&kernel](const Emulator &emulator, bool steady) {
        MachineSpec spec;
        spec.steady = steady;
        return pmukit::joined(machine_words(emulator, kernel, spec), " ");
    };
    EXPECT_NE(words_of({{"q"}, false, 2600000}, false).find(" tsc_early_khz=2600000 tsc=reliable"),
              std::string::npos);
    EXPECT_EQ(words_of({{"q"}, true, 2600000}, false).find("tsc"), std::string::npos);
    EXPECT_EQ(words_of({{"q"}, false, 2600000}, true).find("tsc"), std::string::npos);
    EXPECT_EQ(words_of({{"q"}, false, 0}, false).find("tsc"), std::string::npos);
}

TEST(QemuCommand, DoublesCommasInOptionValues)
{
    MachineSpec spec;
    spec.out = "/tmp/a,b";
    EXPECT_NE(joined(spec, "6.1").find("path=/tmp/a,,b,mount_tag=out"), std::string::npos);
}

TEST(Emulator, RefusesQemuVersionsBefore10_1)
{
    EXPECT_FALSE(version_has_vfio_user("QEMU emulator version 7.2.22 (Debian)"));
    EXPECT_FALSE(version_has_vfio_user("QEMU emulator version 10.0.3"));
    EXPECT_TRUE(version_has_vfio_user("QEMU emulator version 10.1.0 (Debian)"));
    EXPECT_TRUE(version_has_vfio_user("QEMU emulator version 11.0"));
    EXPECT_FALSE(version_has_vfio_user(""));
    EXPECT_FALSE(version_has_vfio_user("version x"));
}

TEST(Emulator, ErrorForAMissingEmulatorSuggestsMakeSetup)
{
    KernelQuirks quirks = *kernel_by_name("6.12");
    quirks.qemu = "qemu-system-nonexistent";
    auto found = find_emulator(quirks, "/nonexistent");
    ASSERT_FALSE(found);
    EXPECT_NE(found.error().message.find("make setup"), std::string::npos);
}

// A watcher that records the lines of a shell script, which runs in place of QEMU.
class Recorder : public Watcher {
public:
    explicit Recorder(milliseconds limit) : deadline_(steady_clock::now() + limit) {}
    void on_line(std::string_view line) override
    {
        lines.emplace_back(line);
        if (limit_behind_a_line)
            deadline_ = steady_clock::now() + *limit_behind_a_line;
    }
    void on_quiet(seconds) override {}
    steady_clock::time_point deadline() const override { return deadline_; }
    std::vector<std::string> lines;
    std::optional<milliseconds> limit_behind_a_line;

private:
    steady_clock::time_point deadline_;
};

class MachineRunTest : public testing::Test {
protected:
    MachineRunTest() { fs::create_directories(folder); }
    ~MachineRunTest() override { fs::remove_all(folder); }
    fs::path folder = fs::path(testing::TempDir()) / fmt::format("vmrun_machine_{}", ::getpid());
};

TEST_F(MachineRunTest, PassesEachConsoleLineToTheWatcherAndReturnsTheConsoleText)
{
    Recorder recorder(seconds(20));
    auto run = run_machine({"sh", "-c", "echo one; printf 'two\\nthr'; sleep 0.1; echo ee; exit 3"},
                           folder / "c", recorder);
    ASSERT_TRUE(run);
    EXPECT_EQ(run->ending, Ending::kPoweredOff);
    EXPECT_EQ(run->exit_code, 3);
    EXPECT_EQ(recorder.lines, (std::vector<std::string>{"one", "two", "three"}));
    EXPECT_EQ(run->console, "one\ntwo\nthree\n");
}

TEST_F(MachineRunTest, KillsTheEmulatorAtTheDeadline)
{
    Recorder recorder(seconds(20));
    recorder.limit_behind_a_line = milliseconds(300);
    auto begin = steady_clock::now();
    auto run = run_machine({"sh", "-c", "echo up; exec sleep 60"}, folder / "c", recorder);
    ASSERT_TRUE(run);
    EXPECT_EQ(run->ending, Ending::kHung);
    EXPECT_EQ(run->console, "up\n");
    EXPECT_LT(steady_clock::now() - begin, seconds(15));
}

}  // namespace
}  // namespace pmukit::vm
