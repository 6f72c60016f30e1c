// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "vmrun_log.hpp"

#include <gtest/gtest.h>

#include "vmrun_tables.hpp"

namespace pmukit::vm {
namespace {

class KernelWarning : public testing::TestWithParam<std::string_view> {};

// First lines of kernel reports.
constexpr std::string_view kReports[] = {
    "[    4.1] WARNING: CPU: 1 PID: 77 at kernel/events/core.c:1234 perf_x+0x1/0x2",
    "[    4.1] BUG: KASAN: slab-use-after-free in foo+0x1/0x2 [cxl_hmu]",
    "[    4.1] BUG: sleeping function called from invalid context at kernel/locking/mutex.c:580",
    "[    4.1] WARNING: possible circular locking dependency detected",
    "[    4.1] WARNING: possible recursive locking detected",
    "[    4.1] UBSAN: shift-out-of-bounds in drivers/x.c:1:2",
    "[    4.1] Oops: general protection fault, probably for non-canonical address 0xdead: 0000 "
    "[#1] SMP",
    "[    4.1] Unable to handle kernel paging request at virtual address ffff800080000000",
    "[    4.1] Kernel panic - not syncing: Fatal exception",
    "[    4.1] rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:",
    "[    4.1] rcu: INFO: rcu_sched self-detected stall on CPU",
    "[    4.1] kmemleak: 3 new suspected memory leaks (see /sys/kernel/debug/kmemleak)",
    "unreferenced object 0xffff888004a1c800 (size 512):",
    "[    4.1] kmemleak: Cannot allocate a kmemleak_object structure",
    "[    4.1] kmemleak: Kernel memory leak detector disabled",
    "[    4.1] irq 24: nobody cared (try booting with the \"irqpoll\" option)",
    "[    4.1] watchdog: BUG: soft lockup - CPU#0 stuck for 22s! [x:1]",
    "[    4.1] INFO: task x:1 blocked for more than 120 seconds.",
    "[    4.1] Call Trace:",
    "[    4.1] Call trace:",
};

TEST_P(KernelWarning, IsFound)
{
    EXPECT_EQ(warnings_in(GetParam(), {}).size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(KernelLog, KernelWarning, testing::ValuesIn(kReports));

TEST(KernelLog, IgnoresOrdinaryLines)
{
    EXPECT_TRUE(
        warnings_in(
            "[ 0.1] Linux version 6.12\n"
            "[ 0.2] watchdog: Delayed init of the lockup detector failed: -19\n"
            "[ 0.3] cxl_hmu: loading out-of-tree module taints kernel.\n"
            "[ 0.3] cxl_hmu: module verification failed: signature and/or required key missing\n",
            {})
            .empty());
}

TEST(KernelLog, TextListedAsHarmlessExcludesOnlyItsOwnLine)
{
    constexpr std::string_view kExcused[] = {"Spectre V2 : WARNING"};
    auto found = warnings_in("Spectre V2 : WARNING: eIBRS\nWARNING: CPU: 0\n", kExcused);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0], "WARNING: CPU: 0");
}

// A KCSAN report about a function of the module `where`, " [module]" or empty.
std::string race_in(std::string_view where)
{
    return "[ 1.0][ T77] ==================================================================\n"
           "[ 1.0][ T77] BUG: KCSAN: data-race in one / other\n"
           "[ 1.0][ T77] write to 0xffff888004a1c800 of 8 bytes by task 77 on cpu 0:\n"
           "[ 1.0][ T77]  one+0x1/0x2" +
           std::string(where) +
           "\n[ 1.0][ T77] ==================================================================\n";
}

const std::vector<std::string> kOurs = {"pmukit_common", "cxl_hmu"};

TEST(Races, ReportsOnlyRacesInOurModules)
{
    std::string log = "before\n" + race_in("") + "between\n" + race_in(" [cxl_hmu]") +
                      race_in(" [cxl_core]") + "after\n";
    EXPECT_EQ(without_races_of_others(log, kOurs),
              "before\nbetween\n" + race_in(" [cxl_hmu]") + "after\n");
}

TEST(Races, KeepsIncompleteReport)
{
    std::string whole = race_in(""), cut = whole.substr(0, whole.size() / 2);
    EXPECT_EQ(without_races_of_others(cut + "\n", kOurs), cut + "\n");
}

TEST(Races, KeepsReportsOfOtherDetectors)
{
    std::string log =
        "==================================================================\n"
        "BUG: KASAN: slab-use-after-free in foo+0x1/0x2\n"
        "==================================================================\n";
    EXPECT_EQ(without_races_of_others(log + race_in(""), kOurs), log);
}

// With a KCSAN kernel, boot messages of KCSAN are ignored, but other warnings are not.
TEST(Races, IgnoresBootLinesOfKcsan)
{
    const KernelQuirks &kernel = *kernel_by_name("kcsan-6.12");
    EXPECT_TRUE(warnings_in("[ 0.0] kcsan: enabled early\n"
                            "[ 0.0] kcsan: strict mode configured\n"
                            "[ 0.0] kcsan: non-strict mode configured - use "
                            "CONFIG_KCSAN_STRICT=y to see all data races\n"
                            "[ 1.0] kcsan: selftest: 3/3 tests passed\n",
                            kernel.harmless)
                    .empty());
    EXPECT_EQ(warnings_in(race_in(" [cxl_hmu]"), kernel.harmless).size(), 1u);
    EXPECT_EQ(
        warnings_in("[ 1.0] Kernel panic - not syncing: kcsan: selftests failed\n", kernel.harmless)
            .size(),
        1u);
}

TEST(Races, IgnoresOnlyRacesWithinKtimeGetMonoFastNs)
{
    const KernelQuirks &kernel = *kernel_by_name("kcsan-6.12");
    EXPECT_TRUE(
        warnings_in("BUG: KCSAN: data-race in ktime_get_mono_fast_ns+0xc3/0x170\n", kernel.harmless)
            .empty());
    EXPECT_EQ(warnings_in("BUG: KCSAN: data-race in ktime_get+0x1/0x2\n", kernel.harmless).size(),
              1u);
    EXPECT_EQ(warnings_in("BUG: KCSAN: data-race in ktime_get_mono_fast_ns / cache_qos_run\n",
                          kernel.harmless)
                  .size(),
              1u);
}

TEST(Races, IgnoresKernfsRaceOfRemovedDevice)
{
    const KernelQuirks &kernel = *kernel_by_name("kcsan-6.12");
    EXPECT_TRUE(warnings_in("BUG: KCSAN: data-race in __kernfs_remove / kernfs_unlink_open_file\n",
                            kernel.harmless)
                    .empty());
    EXPECT_EQ(warnings_in("BUG: KCSAN: data-race in __kernfs_remove / pmukit_pmu_remove\n",
                          kernel.harmless)
                  .size(),
              1u);
}

TEST(Console, ReassemblesAGuestLineSplitByAKernelMessage)
{
    const std::string own = "vm: unplug device 4";
    for (const char *said :
         {"[    9.062233] hrtimer: interrupt took", "[ 1037.643321][ T6101] BUG:"})
        for (size_t at = 0; at <= own.size(); at++) {
            GuestLines lines;
            EXPECT_EQ(lines.take(own.substr(0, at) + said), std::nullopt);
            EXPECT_EQ(lines.take(said), std::nullopt);
            EXPECT_EQ(lines.take(own.substr(at)), own) << at;
            EXPECT_EQ(lines.take("vm: step a"), "vm: step a");
        }
}

TEST(Console, KeepsGuestLinesSimilarToTimestamps)
{
    for (const char *own : {"", "[", "[ ", "[  1", "[ 1.", "vm: step a[1]", "vm: up [1.5]",
                            "[ x.123456]", "[ 12.1234567] ", "[.123456]"})
        EXPECT_EQ(GuestLines().take(own), own);
}

TEST(KernelLog, DetectsPanic)
{
    EXPECT_TRUE(has_panicked("x\n[ 1.0] Kernel panic - not syncing: VFS\n"));
    EXPECT_FALSE(has_panicked("panic=-1"));
}

TEST(Log, DetectsAFailedAssertionOfTheEmulator)
{
    EXPECT_TRUE(
        has_asserted("read failed\nqemu-system-x86_64: util/error.c:62: error_setv: "
                     "Assertion `*errp == NULL' failed.\n"));
    EXPECT_FALSE(has_asserted("qemu-system-x86_64: failed to read header: EOF\n"));
}

TEST(Log, SumsViolationsReportedByTheModelsPerDriver)
{
    using Violations = std::map<std::string, uint64_t>;
    EXPECT_EQ(violations_in("model: ready socket=/x\n"
                            "model: driver=hisi_ptt seen=1 violations=3\n"
                            "model: driver=pcie_ep accesses=5\n"
                            "model: driver=cxl_hmu dropped=2 violations=40 more=1\n"
                            "model: driver=cxl_hmu dropped=2 violations=2\n"),
              (Violations{{"cxl_hmu", 42}, {"hisi_ptt", 3}}));
    EXPECT_EQ(violations_in("model: driver=cxl_hmu violations=0\n"), (Violations{{"cxl_hmu", 0}}));
    EXPECT_EQ(violations_in("model: driver=cxl_hmu violations=x\n"), (Violations{{"cxl_hmu", 1}}));
    EXPECT_EQ(violations_in(""), Violations{});
}

}  // namespace
}  // namespace pmukit::vm
