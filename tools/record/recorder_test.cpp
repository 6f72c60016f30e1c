// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Tests the recorder with a software event of the running kernel, which a temporary sysfs tree
// describes. The tests skip on machines that do not permit system-wide events.
#include "record/recorder.hpp"

#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <thread>

#include "base/test_folder.hpp"
#include "record/online_cpus.hpp"

namespace pmukit::record {
namespace {

using namespace std::chrono_literals;

// A sink that stores all records.
class Keeper final : public RecordSink {
public:
    Result<void> records(Bytes bytes) override
    {
        append(all, bytes);
        return {};
    }
    Result<void> aux(const AuxChunk &) override
    {
        return Error{Errc::kIo, "a software event has no AUX area"};
    }
    Result<void> round() override
    {
        rounds++;
        return {};
    }

    std::vector<std::byte> all;
    size_t rounds = 0;
};

// Samples the CPU clock a thousand times a second. Without a period, the event would sample so
// often that a busy CPU has no time for anything else.
constexpr std::string_view kClock = "fake/config=0,period=1000000/";
constexpr uint64_t kClockPeriod_ns = 1000000;

class RecorderTest : public testing::Test {
protected:
    void SetUp() override
    {
        root_.put("fake/type", "1");  // PERF_TYPE_SOFTWARE, whose config 0 is the CPU clock
        root_.put("fake/cpumask", "0");
        options_.sysfs_root = root_.dir();
        options_.events = *parse_event_strings(kClock);
        options_.pages = 8;
        stop_ = Fd(::eventfd(0, EFD_CLOEXEC));
    }
    std::optional<Recorder> open_or_skip()
    {
        Result<Recorder> recorder = Recorder::open(options_);
        if (recorder)
            return std::move(*recorder);
        skip_ = recorder.error().message;
        return std::nullopt;
    }
    void stop()
    {
        const uint64_t one = 1;
        EXPECT_EQ(::write(stop_.get(), &one, sizeof one), static_cast<ssize_t>(sizeof one));
    }

    TestFolder root_;
    RecordOptions options_;
    Fd stop_;
    std::string skip_;
};

TEST_F(RecorderTest, DeliversWholeRecordsUntilStopped)
{
    std::optional<Recorder> recorder = open_or_skip();
    if (!recorder)
        GTEST_SKIP() << skip_;
    EXPECT_FALSE(recorder->has_aux());
    ASSERT_EQ(recorder->events().size(), 1U);
    EXPECT_EQ(recorder->events()[0].ids.size(), 1U);
    Keeper keeper;
    ASSERT_TRUE(recorder->enable());
    std::thread stopper([this] {
        std::this_thread::sleep_for(300ms);
        stop();
    });
    Result<RecordOutcome> outcome = recorder->run(keeper, {stop_.get()});
    stopper.join();
    ASSERT_TRUE(outcome) << outcome.error().message;
    EXPECT_TRUE(outcome->gone.empty());
    EXPECT_GT(outcome->notes.samples, 0U);
    // Count the records that the sink has stored.
    RingNotes again;
    EXPECT_TRUE(note_records(keeper.all, 0, keeper.all.size(), again));
    EXPECT_EQ(again.samples, outcome->notes.samples);
}

uint64_t now_ns(clockid_t clock)
{
    timespec now{};
    EXPECT_EQ(::clock_gettime(clock, &now), 0);
    return static_cast<uint64_t>(now.tv_sec) * 1000000000 + static_cast<uint64_t>(now.tv_nsec);
}

// CLOCK_REALTIME is used, because its time differs much from all clocks that start at boot.
TEST_F(RecorderTest, RecordsHaveTimesOfTheChosenClock)
{
    options_.clock_id = CLOCK_REALTIME;  // valid for software events, which do not use NMIs
    std::optional<Recorder> recorder = open_or_skip();
    if (!recorder)
        GTEST_SKIP() << skip_;
    Keeper keeper;
    const uint64_t before_ns = now_ns(CLOCK_REALTIME);
    ASSERT_TRUE(recorder->enable());
    std::thread stopper([this] {
        std::this_thread::sleep_for(300ms);
        stop();
    });
    ASSERT_TRUE(recorder->run(keeper, {stop_.get()}));
    stopper.join();
    const uint64_t after_ns = now_ns(CLOCK_REALTIME);
    size_t samples = 0;
    for (size_t at = 0; at + 40 <= keeper.all.size();) {
        const std::byte *record = keeper.all.data() + at;
        at += load<uint16_t>(record + 6, std::endian::native);
        if (load<uint32_t>(record, std::endian::native) != PERF_RECORD_SAMPLE)
            continue;
        // The time follows the header, the id, the ip, and pid and tid.
        const auto time_ns = load<uint64_t>(record + 32, std::endian::native);
        EXPECT_TRUE(time_ns >= before_ns && time_ns <= after_ns) << time_ns;
        samples++;
    }
    EXPECT_GT(samples, 0U);
}

TEST_F(RecorderTest, ErrorOfARefusedClockListsTheSupportedClocks)
{
    if (!open_or_skip() && skip_.find("CAP_PERFMON") != std::string::npos)
        GTEST_SKIP() << skip_;
    options_.clock_id = CLOCK_PROCESS_CPUTIME_ID;  // a clock that no event supports
    Result<Recorder> recorder = Recorder::open(options_);
    ASSERT_FALSE(recorder);
    EXPECT_EQ(recorder.error().code, Errc::kUsage);
    EXPECT_NE(recorder.error().message.find(
                  "clock 2 may be the reason: only monotonic and monotonic_raw"),
              std::string::npos)
        << recorder.error().message;
}

TEST_F(RecorderTest, RunEndsAndReportsThePmuThatDisappears)
{
    std::optional<Recorder> recorder = open_or_skip();
    if (!recorder)
        GTEST_SKIP() << skip_;
    Keeper keeper;
    ASSERT_TRUE(recorder->enable());
    std::thread remover([this] {
        std::this_thread::sleep_for(150ms);
        root_.remove("fake");
    });
    Result<RecordOutcome> outcome = recorder->run(keeper, {stop_.get()});
    remover.join();
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->gone, std::vector<std::string>{"fake"});
}

// The recorder checks ten times per second whether the PMU exists, not each time that a ring is
// half full.
TEST_F(RecorderTest, ChecksAtMostTenTimesPerSecondWhetherThePmuExists)
{
    constexpr auto kRun = 500ms, kTick = 100ms;
    options_.events = *parse_event_strings("fake/config=0,period=100000/");
    options_.pages = 1;
    std::optional<Recorder> recorder = open_or_skip();
    if (!recorder)
        GTEST_SKIP() << skip_;
    const Fd opens(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
    ASSERT_GE(::inotify_add_watch(opens.get(), root_.path("fake/type").c_str(), IN_CLOSE_NOWRITE),
              0);
    Keeper keeper;
    ASSERT_TRUE(recorder->enable());
    const auto begin = std::chrono::steady_clock::now();
    std::thread stopper([&] {
        std::this_thread::sleep_for(kRun);
        stop();
    });
    ASSERT_TRUE(recorder->run(keeper, {stop_.get()}));
    stopper.join();
    const auto ticks = static_cast<size_t>((std::chrono::steady_clock::now() - begin) / kTick) + 1;
    size_t looks = 0;
    for (inotify_event event{}; ::read(opens.get(), &event, sizeof event) == sizeof event;)
        looks++;
    EXPECT_GT(looks, 0U);
    EXPECT_LE(looks, ticks + 1) << keeper.rounds << " rounds";
}

class RecorderOfAllCpus : public RecorderTest {
protected:
    // Returns the CPUs that the recorder reports when the list of online CPUs changes from 0 to
    // 0-1.
    std::set<int> came()
    {
        root_.remove("fake/cpumask");
        root_.put("online", "0");
        root_.put("later", "0-1");
        options_.online_path = root_.path("online");
        std::optional<Recorder> recorder = open_or_skip();
        if (!recorder)
            return {};
        Keeper keeper;
        EXPECT_TRUE(recorder->enable());
        std::thread changer([this] {
            std::this_thread::sleep_for(150ms);
            std::filesystem::rename(root_.path("later"), root_.path("online"));
            std::this_thread::sleep_for(300ms);
            stop();
        });
        const Result<RecordOutcome> outcome = recorder->run(keeper, {stop_.get()});
        changer.join();
        EXPECT_TRUE(outcome);
        return outcome ? outcome->came : std::set<int>();
    }
};

TEST_F(RecorderOfAllCpus, ReportsCpusThatComeOnline)
{
    options_.all_cpus = true;
    const std::set<int> cpus = came();
    if (!skip_.empty())
        GTEST_SKIP() << skip_;
    EXPECT_EQ(cpus, std::set<int>{1});
}

TEST_F(RecorderOfAllCpus, DoesNotReportUnselectedCpusThatComeOnline)
{
    options_.cpus = {0};
    EXPECT_TRUE(came().empty());
}

// The recorder reports CPUs that go offline when the list of online CPUs changes from 0-1 to 1.
class RecorderOfACpu : public RecorderTest {
protected:
    // cpumask: that of the PMU after the CPU has gone; empty: the PMU has none.
    std::set<int> went(const std::string &cpumask)
    {
        if (cpumask.empty())
            root_.remove("fake/cpumask");
        root_.put("online", "0-1");
        root_.put("later", "1");
        options_.online_path = root_.path("online");
        options_.all_cpus = true;
        std::optional<Recorder> recorder = open_or_skip();
        if (!recorder)
            return {};
        Keeper keeper;
        EXPECT_TRUE(recorder->enable());
        std::thread changer([&] {
            std::this_thread::sleep_for(150ms);
            if (!cpumask.empty())
                root_.put("fake/cpumask", cpumask == "none" ? "" : cpumask);
            std::filesystem::rename(root_.path("later"), root_.path("online"));
            std::this_thread::sleep_for(300ms);
            stop();
        });
        const Result<RecordOutcome> outcome = recorder->run(keeper, {stop_.get()});
        changer.join();
        EXPECT_TRUE(outcome);
        return outcome ? outcome->went : std::set<int>();
    }
};

TEST_F(RecorderOfACpu, ReportsCpusThatGoOffline)
{
    const std::set<int> cpus = went("");
    if (!skip_.empty())
        GTEST_SKIP() << skip_;
    EXPECT_EQ(cpus, std::set<int>{0});
}

TEST_F(RecorderOfACpu, DoesNotReportACpuWhoseDeviceMovedToAnotherCpu)
{
    EXPECT_TRUE(went("1").empty());
}

TEST_F(RecorderOfACpu, ReportsACpuThatWasTheLastOfItsDevice)
{
    const std::set<int> cpus = went("none");
    if (!skip_.empty())
        GTEST_SKIP() << skip_;
    EXPECT_EQ(cpus, std::set<int>{0});
}

TEST_F(RecorderTest, GroupMemberCountsWhenItsLeaderIsEnabled)
{
    // The group leader is the CPU clock. The member counts context switches, with one sample for
    // each.
    options_.coded = {{"clock", 1, {{}, {}, kClockPeriod_ns, {}}, {}},
                      {"switches", 1, {{3}, {}, 1, {}}, size_t{0}}};
    std::optional<Recorder> recorder = open_or_skip();
    if (!recorder)
        GTEST_SKIP() << skip_;
    ASSERT_EQ(recorder->events().size(), 3U);
    EXPECT_EQ(recorder->events()[2].pmu.name, "fake") << "by its type";
    Keeper keeper;
    ASSERT_TRUE(recorder->enable());
    std::thread stopper([this] {
        // This thread sleeps on CPU 0, which causes context switches on that CPU.
        cpu_set_t recorded;
        CPU_ZERO(&recorded);
        CPU_SET(0, &recorded);
        EXPECT_EQ(::sched_setaffinity(0, sizeof recorded, &recorded), 0);
        for (int i = 0; i < 100; i++)
            std::this_thread::sleep_for(3ms);
        stop();
    });
    Result<RecordOutcome> outcome = recorder->run(keeper, {stop_.get()});
    stopper.join();
    ASSERT_TRUE(outcome) << outcome.error().message;
    // The first word of a sample is the id of its event (PERF_SAMPLE_IDENTIFIER).
    size_t switches = 0;
    for (size_t at = 0; at + 16 <= keeper.all.size();) {
        const std::byte *record = keeper.all.data() + at;
        switches +=
            load<uint32_t>(record, std::endian::native) == 9 /* PERF_RECORD_SAMPLE */ &&
            load<uint64_t>(record + 8, std::endian::native) == recorder->events()[2].ids.front();
        at += load<uint16_t>(record + 6, std::endian::native);
    }
    EXPECT_GT(switches, 0U) << "a member that is not enabled by itself counts with its leader";
}

size_t rings_mapped()
{
    std::ifstream maps("/proc/self/maps");
    size_t rings = 0;
    for (std::string line; std::getline(maps, line);)
        rings += line.find("[perf_event]") != line.npos;
    return rings;
}

TEST_F(RecorderTest, SaysThatAPmuOfADeviceCannotSelectTasks)
{
    options_.processes = {::getpid()};
    const std::optional<Recorder> recorder = open_or_skip();
    if (!recorder)
        GTEST_SKIP() << skip_;
    ASSERT_EQ(recorder->remarks().size(), 1U);
    EXPECT_NE(recorder->remarks()[0].find("whole device; -p does not apply"), std::string::npos);
}

TEST_F(RecorderTest, EventsOfACpuShareARing)
{
    // The recorder opens three events of the CPU clock, and the tracking event.
    root_.remove("fake/cpumask");
    options_.cpus = {0};
    options_.events = *parse_event_strings(
        "fake/config=0,period=1000000/,fake/config=0,period=2000000/,cpu-clock/period=500000/");
    std::optional<Recorder> recorder = open_or_skip();
    if (!recorder)
        GTEST_SKIP() << skip_;
    ASSERT_EQ(recorder->events().size(), 4U);
    const Result<std::vector<int>> online = online_cpus();
    ASSERT_TRUE(online);
    EXPECT_EQ(rings_mapped(), online->size()) << "of CPU 0, and where tasks may go";
    Keeper keeper;
    ASSERT_TRUE(recorder->enable());
    std::thread stopper([this] {
        cpu_set_t recorded;
        CPU_ZERO(&recorded);
        CPU_SET(0, &recorded);
        EXPECT_EQ(::sched_setaffinity(0, sizeof recorded, &recorded), 0);
        const auto until = std::chrono::steady_clock::now() + 300ms;
        while (std::chrono::steady_clock::now() < until) {
        }
        stop();
    });
    Result<RecordOutcome> outcome = recorder->run(keeper, {stop_.get()});
    stopper.join();
    ASSERT_TRUE(outcome) << outcome.error().message;
    std::map<uint64_t, size_t> samples;
    for (size_t at = 0; at + 16 <= keeper.all.size();) {
        const std::byte *record = keeper.all.data() + at;
        if (load<uint32_t>(record, std::endian::native) == PERF_RECORD_SAMPLE)
            samples[load<uint64_t>(record + 8, std::endian::native)]++;
        at += load<uint16_t>(record + 6, std::endian::native);
    }
    for (size_t event = 0; event < 3; event++)
        EXPECT_GT(samples[recorder->events()[event].ids.front()], 0U) << event;
}

TEST_F(RecorderTest, FollowsProcessUntilItEnds)
{
    root_.remove("fake/cpumask");
    options_.processes = {::getpid()};
    std::optional<Recorder> recorder = open_or_skip();
    if (!recorder)
        GTEST_SKIP() << skip_;
    EXPECT_GE(recorder->events()[0].ids.size(), online_cpus()->size()) << "on each CPU";

    const pid_t child = ::fork();
    if (child == 0) {
        ::usleep(200000);
        ::_exit(0);
    }
    options_.processes = {child};
    recorder = open_or_skip();
    ASSERT_TRUE(recorder) << skip_;
    Keeper keeper;
    ASSERT_TRUE(recorder->enable());
    const auto begun = std::chrono::steady_clock::now();
    std::thread waiter([child] { ::waitpid(child, nullptr, 0); });
    EXPECT_TRUE(recorder->run(keeper, {stop_.get()})) << "it ends with the process";
    waiter.join();
    EXPECT_LT(std::chrono::steady_clock::now() - begun, 60s);

    options_.processes = {child};  // the process has ended
    EXPECT_FALSE(open_or_skip());
    EXPECT_EQ(skip_, "-p " + std::to_string(child) + ": there is no such process");
    options_.processes.clear();
    options_.threads = {child};
    EXPECT_FALSE(open_or_skip());
    EXPECT_EQ(skip_, "-t " + std::to_string(child) + ": there is no such thread");
}

// As in perf. Otherwise a recording on a host of virtual machines would have samples of guests, and
// perf names the event cpu-clock:HG if it has only the attributes.
TEST_F(RecorderTest, ExcludesGuestsUnlessTheEventNamesThem)
{
    root_.remove("fake/cpumask");
    options_.all_cpus = true;
    for (const auto &[text, excludes] :
         {std::pair("fake//", true), {"fake//GH", false}, {"fake//H", true}, {"fake//G", false}}) {
        options_.events = *parse_event_strings(text);
        Result<Recorder> recorder = Recorder::open(options_);
        if (!recorder)
            GTEST_SKIP() << recorder.error().message;
        perf_event_attr attr{};
        const std::vector<std::byte> &bytes = recorder->events().front().attr;
        std::memcpy(&attr, bytes.data(), std::min(sizeof attr, bytes.size()));
        EXPECT_EQ(attr.exclude_guest, excludes) << text;
    }
}

TEST_F(RecorderTest, EventHasTheNameOfItsTermName)
{
    options_.events = *parse_event_strings("fake/name=mine/");
    const std::optional<Recorder> recorder = open_or_skip();
    if (!recorder)
        GTEST_SKIP() << skip_;
    EXPECT_EQ(recorder->events().front().text, "mine");
}

TEST_F(RecorderTest, MissingCgroupIsNamedInTheError)
{
    root_.remove("fake/cpumask");
    options_.all_cpus = true;
    options_.cgroups = {"no/such/group"};
    EXPECT_FALSE(open_or_skip());
    EXPECT_TRUE(skip_.starts_with("-G no/such/group: ")) << skip_;
}

TEST_F(RecorderTest, RefusesAGroupMemberOnAnotherCpuThanItsLeader)
{
    root_.put("other/type", "2");
    root_.put("other/cpumask", "1");
    options_.coded = {{"clock", 1, {}, {}}, {"elsewhere", 2, {}, size_t{0}}};
    if (!open_or_skip() && skip_.find("CAP_PERFMON") != std::string::npos)
        GTEST_SKIP() << skip_;
    EXPECT_NE(skip_.find("elsewhere: the leader of its group does not count on CPU 1"),
              std::string::npos)
        << skip_;
}

TEST_F(RecorderTest, OpensHisiPttOnOnlyOneCpuOfItsCpumask)
{
    root_.put("hisi_ptt0_2/type", "1");
    root_.put("hisi_ptt0_2/cpumask", "0-1");
    options_.events = *parse_event_strings("hisi_ptt0_2/config=0,period=1000000/");
    options_.aux_pages = 0;
    std::optional<Recorder> recorder = open_or_skip();
    if (!recorder)
        GTEST_SKIP() << skip_;
    EXPECT_EQ(recorder->events().front().ids.size(), 1U);
}

TEST_F(RecorderTest, RefusesACpuOutsideTheCpumask)
{
    options_.cpus = {1};
    Result<Recorder> recorder = Recorder::open(options_);
    ASSERT_FALSE(recorder);
    EXPECT_EQ(recorder.error().code, Errc::kUsage);
    EXPECT_NE(recorder.error().message.find("read on CPU 0"), std::string::npos);
}

TEST_F(RecorderTest, SkipsOfflineCpus)
{
    root_.remove("fake/cpumask");
    root_.put("fake/cpus", "0,65000");
    options_.all_cpus = true;
    std::optional<Recorder> recorder = open_or_skip();
    if (!recorder && skip_.find("CAP_PERFMON") != std::string::npos)
        GTEST_SKIP() << skip_;
    ASSERT_TRUE(recorder) << skip_;
    EXPECT_EQ(recorder->events()[0].ids.size(), 1U);

    root_.put("fake/cpus", "65000");
    EXPECT_FALSE(open_or_skip());
    EXPECT_EQ(skip_, "fake: none of its CPUs is online");
}

TEST_F(RecorderTest, RequiresATargetIfThePmuHasNoCpumask)
{
    root_.remove("fake/cpumask");
    EXPECT_EQ(Recorder::open(options_).error().code, Errc::kUsage);
}

}  // namespace
}  // namespace pmukit::record
