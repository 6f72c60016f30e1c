// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// pmukit and stock perf must find symbols and thread names in a file that `pmukit record` wrote. If
// the kernel does not allow sampling, the tests are skipped.
#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/number.hpp"
#include "base/test_folder.hpp"
#include "cli/drivers.hpp"
#include "cli/tests/stock_perf.hpp"
#include "perfdata/features.hpp"
#include "perfdata/format.hpp"
#include "perfdata/reader.hpp"
#include "session/identity.hpp"
#include "session/symbols.hpp"
#include "session/threads.hpp"

namespace pmukit::cli {
namespace {

namespace fs = std::filesystem;

using stock::run;
using stock::Said;

class RecordNames : public testing::Test {
protected:
    // Samples the CPU clock at 1 kHz in user mode while SPIN_PROGRAM runs. Returns false if this
    // machine does not allow sampling.
    bool record(const std::string &target, unsigned time_ms = 200)
    {
        const Said output = run(std::string(PMUKIT_COMMAND) + " record " + target +
                                " -e software/config=0,freq=1000/u -o " + path_ + " -- " +
                                SPIN_PROGRAM + " " + std::to_string(time_ms));
        if (output.text.find("CAP_PERFMON") != std::string::npos)
            return false;
        EXPECT_EQ(output.status, 0) << output.text;
        return true;
    }
    // Reads the samples of the CPU clock into samples_, and all other records into threads_.
    void read() { read(path_); }
    void read(const std::string &path)
    {
        Result<perfdata::Reader> reader = perfdata::Reader::open_path(path);
        ASSERT_TRUE(reader) << reader.error().message;
        for (perfdata::Record record;;) {
            if (!reader->next(record)) {
                ASSERT_FALSE(reader->error()) << reader->error()->message;
                break;
            }
            if (record.type != PERF_RECORD_SAMPLE) {
                threads_.note(record, *reader);
                continue;
            }
            const auto event = reader->event_of(record);
            ASSERT_TRUE(event);
            const auto sample =
                perfdata::parse_sample(record.body, reader->events()[*event].attr, reader->order());
            ASSERT_TRUE(sample);
            samples_.push_back({*sample->sample_id.pid, *sample->sample_id.tid, *sample->ip,
                                *sample->sample_id.time_ns});
        }
        EXPECT_FALSE(reader->damage());
    }

    struct Seen {
        uint32_t pid, tid;
        uint64_t ip, time_ns;
    };
    TestFolder folder_;
    const std::string path_ = folder_.path("perf.data");
    Threads threads_;
    std::vector<Seen> samples_;
};

TEST_F(RecordNames, SamplesOfTheRecordedCommandResolveToItsSymbols)
{
    if (!record(""))
        GTEST_SKIP() << "this machine allows no sampling";
    read();
    const Result<ElfSymbols> program = ElfSymbols::open(SPIN_PROGRAM, "");
    ASSERT_TRUE(program) << program.error().message;
    size_t spinning = 0;
    std::set<uint32_t> tids;
    for (const Seen &sample : samples_) {
        EXPECT_EQ(threads_.command(sample.tid, sample.time_ns), "spin");
        const auto place = threads_.find(sample.pid, sample.ip, sample.time_ns);
        ASSERT_TRUE(place) << std::hex << sample.ip;
        const Threads::Object &object = threads_.objects()[place->object];
        if (object.path != fs::canonical(SPIN_PROGRAM))
            continue;
        EXPECT_EQ(object.build_id, program->build_id()) << "by the kernel";
        if (program->find(place->file_offset) == "spin_here") {
            spinning++;
            tids.insert(sample.tid);
            EXPECT_NE(sample.tid, sample.pid) << "a thread of its own";
        }
    }
    EXPECT_GT(spinning, samples_.size() / 2) << "of " << samples_.size();
    EXPECT_EQ(tids.size(), 1U);
}

// Only the first file has the exec of the command, so each other file needs other records with its
// name.
TEST_F(RecordNames, LaterFileOfAnIntervalSeriesStillNamesTheCommand)
{
    if (!record("--interval 1", 2500))
        GTEST_SKIP() << "this machine allows no sampling";
    read(path_ + ".000002");
    size_t named = 0;
    for (const Seen &sample : samples_) {
        const auto place = threads_.find(sample.pid, sample.ip, sample.time_ns);
        named += threads_.command(sample.tid, sample.time_ns) == "spin" && place &&
                 threads_.objects()[place->object].path == fs::canonical(SPIN_PROGRAM);
    }
    EXPECT_GT(named, samples_.size() / 2) << "of " << samples_.size();
}

TEST_F(RecordNames, CpuListedTwiceInOptionCIsOpenedOnce)
{
    if (!record("-C 0-0,0"))
        GTEST_SKIP() << "this machine allows no sampling";
    Result<perfdata::Reader> reader = perfdata::Reader::open_path(path_);
    ASSERT_TRUE(reader);
    EXPECT_EQ(reader->events().front().ids.size(), 1U);
}

TEST_F(RecordNames, AllRecordsHaveTimesOfTheChosenClock)
{
    if (!record("-k CLOCK_REALTIME"))
        GTEST_SKIP() << "this machine allows no sampling";
    const auto ended_ns = static_cast<uint64_t>(
        std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count());
    read();
    EXPECT_FALSE(samples_.empty());
    for (const Seen &sample : samples_) {
        EXPECT_EQ(threads_.command(sample.tid, sample.time_ns), "spin") << "names have it too";
        EXPECT_TRUE(sample.time_ns < ended_ns && sample.time_ns > ended_ns - 60000000000);
    }
    Result<perfdata::Reader> reader = perfdata::Reader::open_path(path_);
    ASSERT_TRUE(reader);
    for (const perfdata::Event &event : reader->events())
        EXPECT_TRUE(event.attr.use_clockid && event.attr.clock_id == CLOCK_REALTIME) << event.name;
    const std::optional<Bytes> content = reader->feature(perfdata::kFeatClockData);
    ASSERT_TRUE(content);
    const auto clock = perfdata::parse_clock_data(*content, reader->order());
    ASSERT_TRUE(clock);
    EXPECT_EQ(clock->clock_id, uint32_t{CLOCK_REALTIME});
    EXPECT_GE(clock->clock_ns, clock->wall_ns);
    EXPECT_LT(clock->clock_ns - clock->wall_ns, 1000000000U) << "read one after the other";
}

TEST_F(RecordNames, FileHasTheBootId)
{
    if (!record(""))
        GTEST_SKIP() << "this machine allows no sampling";
    std::ifstream file("/proc/sys/kernel/random/boot_id");
    std::string boot;
    ASSERT_TRUE(std::getline(file, boot));
    Result<Recording> recording = Recording::open(path_, recorded_drivers());
    ASSERT_TRUE(recording);
    EXPECT_EQ(boot_ids(*recording),
              (std::map<std::string, std::string, std::less<>>{{"software", boot}}));
}

TEST_F(RecordNames, NamesProcessesThatRanBeforeTheRecording)
{
    if (!record("-a"))
        GTEST_SKIP() << "this machine allows no sampling";
    read();
    const auto self = static_cast<uint32_t>(::getpid());
    EXPECT_EQ(threads_.command(self, 0), "record_names_te") << "15 letters";
    const auto here = reinterpret_cast<uint64_t>(&run);
    const auto place = threads_.find(self, here, 0);
    ASSERT_TRUE(place);
    EXPECT_EQ(threads_.objects()[place->object].path, fs::canonical("/proc/self/exe"));
    EXPECT_FALSE(samples_.empty());
}

TEST_F(RecordNames, RecordingHasTheKernelMapAndBuildId)
{
    if (::geteuid() != 0 || !record(""))
        GTEST_SKIP() << "this machine shows no addresses of the kernel";
    read();
    const auto found = [this](std::string_view prefix) {
        return std::ranges::any_of(threads_.objects(), [prefix](const Threads::Object &object) {
            return object.path.starts_with(prefix) && !object.build_id.empty();
        });
    };
    EXPECT_TRUE(found("[kernel.kallsyms]"));
}

// The same recordings, read by stock perf
class PerfNames : public RecordNames, public testing::WithParamInterface<const char *> {};
INSTANTIATE_TEST_SUITE_P(EveryPerf, PerfNames, testing::ValuesIn(stock::kKernels),
                         [](const auto &kernel) { return stock::name_of(kernel.param); });

TEST_P(PerfNames, PerfShowsTheFunctionAndTheTaskEventsOfARecording)
{
    const std::string perf = stock::perf(GetParam());
    ASSERT_FALSE(perf.empty()) << "run make setup";
    if (!record(""))
        GTEST_SKIP() << "this machine allows no sampling";
    const Said script = run(perf + "script -F comm,ip,sym,dso -i " + path_);
    EXPECT_EQ(script.status, 0) << script.text;
    EXPECT_NE(script.text.find("spin_here"), std::string::npos) << script.text;
    const Said report = run(perf + "report --stdio -s comm,dso,sym -i " + path_);
    EXPECT_EQ(report.status, 0) << report.text;
    EXPECT_NE(report.text.find("spin_here"), std::string::npos) << report.text;
    const Said tasks = run(perf + "script --show-task-events --show-mmap-events -i " + path_);
    for (const char *name : {"PERF_RECORD_COMM exec: spin:", "PERF_RECORD_MMAP2",
                             "PERF_RECORD_FORK", "PERF_RECORD_EXIT"})
        EXPECT_NE(tasks.text.find(name), std::string::npos) << name << "\n" << tasks.text;
}

#ifdef UNWOUND_PROGRAM
// Returns the mean number of frames that perf finds in a sample; 0: there is no sample.
double mean_frames(const std::string &perf, const std::string &path)
{
    const Said script = run(perf + "script --no-inline -F comm,ip -i " + path);
    size_t samples = 0, frames = 0;
    bool after_frame = false;
    for (const std::string_view line : split(script.text, '\n')) {
        const bool is_frame = line.starts_with('\t');
        frames += is_frame;
        samples += is_frame && !after_frame;
        after_frame = is_frame;
    }
    return samples ? static_cast<double>(frames) / static_cast<double>(samples) : 0;
}

TEST_P(PerfNames, PerfUnwindsCopiedStacksAsFarAsInItsOwnRecording)
{
    const std::string perf = stock::perf(GetParam());
    ASSERT_FALSE(perf.empty()) << "run make setup";
    const std::string how = " -F 999 -e cpu-clock:u --call-graph dwarf -o ";
    const std::string perfs = folder_.path("perfs.data");
    const Said by_perf = run(perf + "record -B" + how + perfs + " -- " UNWOUND_PROGRAM " 400000");
    if (by_perf.status != 0)
        GTEST_SKIP() << "perf cannot record here: " << by_perf.text;
    const double expected = mean_frames(perf, perfs);
    EXPECT_GT(expected, 8);
    for (const std::string target : {"-- " UNWOUND_PROGRAM " 400000", "-p $! -- sleep 0.5"}) {
        const Said ours = run("(" UNWOUND_PROGRAM " 4000000 > " + folder_.path("out") +
                              " & " PMUKIT_COMMAND " record" + how + path_ + ' ' + target +
                              "; status=$?; kill $!; exit $status)");
        ASSERT_EQ(ours.status, 0) << ours.text;
        EXPECT_NEAR(mean_frames(perf, path_), expected, expected / 10) << target;
    }
}
#endif

// Some samples precede the COMM record of the exec, so perf writes a name before it, too.
TEST_P(PerfNames, PerfNamesTheCommandBeforeItsExec)
{
    const std::string perf = stock::perf(GetParam());
    ASSERT_FALSE(perf.empty()) << "run make setup";
    if (!record(""))
        GTEST_SKIP() << "this machine allows no sampling";
    const Said tasks = run(perf + "script --show-task-events -i " + path_);
    const size_t before = tasks.text.find("PERF_RECORD_COMM: pmukit:");
    EXPECT_NE(before, std::string::npos) << tasks.text;
    EXPECT_LT(before, tasks.text.find("PERF_RECORD_COMM exec: spin:"));
}

TEST_P(PerfNames, PerfSelectsSamplesByAPartOfTheTime)
{
    const std::string perf = stock::perf(GetParam());
    ASSERT_FALSE(perf.empty()) << "run make setup";
    if (!record(""))
        GTEST_SKIP() << "this machine allows no sampling";
    read();
    const Said half = run(perf + "script --time 0%-50% -F comm,time -i " + path_);
    EXPECT_EQ(half.status, 0) << half.text;
    const Said report = run(perf + "report --stdio --time 0%-50% -i " + path_);
    EXPECT_EQ(report.status, 0) << report.text;

    Result<perfdata::Reader> reader = perfdata::Reader::open_path(path_);
    ASSERT_TRUE(reader);
    const std::optional<Bytes> content = reader->feature(perfdata::kFeatSampleTime);
    ASSERT_TRUE(content);
    const auto times = perfdata::parse_sample_time(*content, reader->order());
    ASSERT_TRUE(times);
    const auto [first, last] =
        std::ranges::minmax(samples_, {}, [](const Seen &sample) { return sample.time_ns; });
    EXPECT_EQ(times->first_ns, first.time_ns);
    EXPECT_EQ(times->last_ns, last.time_ns);
    const uint64_t middle_ns = first.time_ns + (last.time_ns - first.time_ns) / 2;
    const auto expected = std::ranges::count_if(
        samples_, [middle_ns](const Seen &sample) { return sample.time_ns <= middle_ns; });
    EXPECT_NEAR(static_cast<double>(std::ranges::count(half.text, '\n')),
                static_cast<double>(expected), 1);
}

TEST_P(PerfNames, PerfShowsTheChosenClockInTheHeader)
{
    const std::string perf = stock::perf(GetParam());
    ASSERT_FALSE(perf.empty()) << "run make setup";
    if (!record("-k raw"))
        GTEST_SKIP() << "this machine allows no sampling";
    const Said header = run(perf + "report --header-only -i " + path_);
    EXPECT_EQ(header.status, 0) << header.text;
    EXPECT_NE(header.text.find("monotonic_raw (4)"), std::string::npos) << header.text;
    EXPECT_NE(header.text.find("clockid frequency: 1000 MHz"), std::string::npos) << header.text;
}

}  // namespace
}  // namespace pmukit::cli
