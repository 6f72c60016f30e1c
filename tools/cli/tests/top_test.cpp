// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// pmukit top with input from a pipe: as text, as JSON, and on a terminal.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <pmukit/cache_qos.h>
#include <pmukit/cxl_hmu.h>
#include <signal.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "base/file.hpp"
#include "base/test_folder.hpp"
#include "cli/tests/hisi_ptt_file.hpp"
#include "cli/tests/terminal.hpp"
#include "perfdata/format.hpp"
#include "perfdata/writer.hpp"
#include "session/recording.hpp"

namespace pmukit::cli {
namespace {

using nlohmann::json;

constexpr uint64_t kPages = 7, kGroups = 8;  // event ids of cxl_hmu and cache_qos
constexpr uint32_t kPagesType = 24, kGroupsType = 25;

std::vector<std::byte> bytes_of(const std::vector<uint64_t> &words)
{
    std::vector<std::byte> bytes(8 * words.size());
    for (size_t i = 0; i < words.size(); i++)
        store_le(bytes.data() + 8 * i, words[i]);
    return bytes;
}

// Returns a record of a hot list. Each element of `entries` is a unit and its count.
std::vector<std::byte> hot_list(uint64_t sequence,
                                const std::vector<std::pair<uint64_t, uint64_t>> &entries,
                                uint64_t lost = 0)
{
    std::vector<uint64_t> words = {
        entries.size() | uint64_t{16} << PMUKIT_CXL_HMU_W0_COUNTER_WIDTH_SHIFT |
            uint64_t{PMUKIT_CXL_HMU_EXTRA_WORDS} << PMUKIT_CXL_HMU_W0_EXTRA_WORDS_SHIFT,
        PMUKIT_CXL_HMU_MARK,
        /* time */ 1000,
        /* unit */ 12,
        /* flags */ 0,
        sequence,
        lost};
    for (const auto &[unit, count] : entries)
        words.push_back(unit << 16 | count);
    return bytes_of(words);
}

std::vector<std::byte> reading(uint64_t sequence, uint64_t monitor, uint64_t event, uint64_t bytes)
{
    return bytes_of({/* time */ 1000, sequence,
                     monitor | event << PMUKIT_CACHE_QOS_WHAT_EVENT_SHIFT |
                         uint64_t{PMUKIT_CACHE_QOS_KIND_GROUP} << PMUKIT_CACHE_QOS_WHAT_KIND_SHIFT,
                     /* state */ 0, /* raw */ 1, bytes, /* bound */ 64, /* age */ 0});
}

perfdata::WriterEvent event_of(uint32_t type, uint64_t id, const char *name)
{
    perfdata::WriterEvent event{std::vector<std::byte>(128), {id}, name};
    store<uint32_t>(event.attr.data() + perfdata::kAttrType, type, std::endian::native);
    store<uint32_t>(event.attr.data() + perfdata::kAttrSize, 128, std::endian::native);
    store<uint64_t>(event.attr.data() + perfdata::kAttrSampleType,
                    PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
                    std::endian::native);
    store<uint64_t>(event.attr.data() + perfdata::kAttrFlags,
                    uint64_t{1} << perfdata::kAttrFlagSampleIdAll, std::endian::native);
    return event;
}

perfdata::HostInfo host()
{
    perfdata::HostInfo host;
    host.pmus = {{kPagesType, "cxl_hmu_mem0.0.0"}, {kGroupsType, "cache_qos_aux"}};
    host.caps = {{"cxl_hmu_mem0.0.0", {{kSourceCap, kSourceModel}}}};
    return host;
}

// A recording in pipe format, to which the test can add records at any time.
class Source {
public:
    explicit Source(Fd out)
        : writer_(perfdata::Writer::create_pipe(std::move(out),
                                                {event_of(kPagesType, kPages, "cxl_hmu_mem0.0.0//"),
                                                 event_of(kGroupsType, kGroups, "cache_qos_aux//")},
                                                host())
                      .value())
    {
        EXPECT_TRUE(writer_.finished_round());
    }
    void give(uint64_t id, const std::vector<std::byte> &data)
    {
        perfdata::AuxtraceRecord record;
        record.reference = id;
        record.index = static_cast<uint32_t>(id);
        record.offset = offsets_[id];
        offsets_[id] += data.size();
        EXPECT_TRUE(writer_.auxtrace(record, data, {}));
        EXPECT_TRUE(writer_.finished_round());
    }
    void end() { EXPECT_TRUE(writer_.finish()); }

private:
    perfdata::Writer writer_;
    std::map<uint64_t, uint64_t> offsets_;
};

class Top : public ::testing::Test {
protected:
    std::string recording() const { return tree_.path("pipe.data"); }
    Fd created(const std::string &path) const
    {
        return Fd(::open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600));
    }
    void record_all() const
    {
        Source source(created(recording()));
        source.give(kPages, hot_list(0, {{3, 100}, {9, 10}}));
        source.give(kGroups, reading(0, 1, PMUKIT_CACHE_QOS_EVENT_OCCUPANCY, 4096));
        source.give(kGroups, reading(1, 2, PMUKIT_CACHE_QOS_EVENT_TOTAL, 1000));
        source.give(kPages, hot_list(1, {{9, 500}}));
        source.give(kGroups, reading(2, 1, PMUKIT_CACHE_QOS_EVENT_OCCUPANCY, 2048));
        source.give(kGroups, reading(3, 2, PMUKIT_CACHE_QOS_EVENT_TOTAL, 8000));
        source.end();
    }
    // Runs `pmukit top WORDS` in a shell, with `before` in front of it.
    int run(const std::string &words, const std::string &before = "")
    {
        const std::string command = before + PMUKIT_COMMAND + " top " + words + " >" + out_path_ +
                                    " 2>" + tree_.path("said");
        const int status = ::system(command.c_str());
        out_ = out_path_.starts_with("/dev/") ? "" : read_small_file(out_path_).value();
        said_ = read_small_file(tree_.path("said")).value();
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }

    TestFolder tree_;
    std::string out_path_ = tree_.path("out"), out_, said_;
};

TEST_F(Top, RanksPagesAndGroupsOfARecordingFromAPipe)
{
    record_all();
    ASSERT_EQ(run("--once --json - <" + recording()), 0) << said_;
    const json frame = json::parse(out_);
    EXPECT_EQ(frame["span"], "all");
    EXPECT_EQ(frame["feed"], "recording");
    EXPECT_EQ(frame["source"], "model");
    ASSERT_EQ(frame["pages"].size(), 2U);
    EXPECT_EQ(frame["pages"][0]["pmu"], "cxl_hmu_mem0.0.0");
    EXPECT_EQ(frame["pages"][0]["dpa"], 9 << 12);
    EXPECT_EQ(frame["pages"][0]["accesses"], 510);
    EXPECT_EQ(frame["pages"][0]["epochs"], 2);
    EXPECT_EQ(frame["pages"][1]["accesses"], 100);
    // The count of group 2 grew by 7000; the gauge of group 1 was at most 4096.
    ASSERT_EQ(frame["groups"].size(), 2U);
    EXPECT_EQ(frame["groups"][0]["monitor"], 1);
    EXPECT_EQ(frame["groups"][0]["bytes"], 4096);
    EXPECT_EQ(frame["groups"][0]["list"], "occupancy");
    EXPECT_EQ(frame["groups"][1]["monitor"], 2);
    EXPECT_EQ(frame["groups"][1]["bytes"], 7000);
    EXPECT_EQ(frame["groups"][1]["list"], "traffic");
    EXPECT_TRUE(frame["requesters"].empty());
    EXPECT_TRUE(frame["lost"].empty());
}

TEST_F(Top, TextShowsTheHottestPageAndGroupAndThatNothingWasLost)
{
    record_all();
    ASSERT_EQ(run("--once - <" + recording()), 0) << said_;
    EXPECT_NE(out_.find("from recording  source=model\n"), std::string::npos) << out_;
    EXPECT_NE(out_.find("     1  cxl_hmu_mem0.0.0    0x0000000000009000-0x0000000000009fff"),
              std::string::npos)
        << out_;
    EXPECT_NE(out_.find("510   83.6%"), std::string::npos) << out_;
    const size_t occupancy = out_.find("monitor, L3, occupancy"),
                 traffic = out_.find("monitor, L3, traffic");
    EXPECT_LT(occupancy, out_.find("group 1, 0, llc_occupancy")) << out_;
    EXPECT_LT(out_.find("group 1, 0, llc_occupancy"), traffic) << out_;
    EXPECT_LT(traffic, out_.find("group 2, 0, total_bytes")) << out_;
    EXPECT_NE(out_.find("group 2, 0, total_bytes"), std::string::npos) << out_;
    EXPECT_NE(out_.find("\n  nothing lost\n"), std::string::npos) << out_;
}

TEST_F(Top, ShowsTheRequestedRowsAndView)
{
    record_all();
    ASSERT_EQ(run("--once --json --top 1 --view pages - <" + recording()), 0) << said_;
    const json frame = json::parse(out_);
    EXPECT_EQ(frame["pages"].size(), 1U);
    EXPECT_FALSE(frame.contains("groups"));
}

TEST_F(Top, ReportsLosses)
{
    Source source(created(recording()));
    source.give(kPages, hot_list(0, {{3, 100}}));
    source.give(kPages, hot_list(3, {{3, 100}}, /* lost */ 12));
    source.end();
    ASSERT_EQ(run("--once - <" + recording()), 0) << said_;
    EXPECT_NE(out_.find("  12 entries were lost in the driver; record with a larger -m\n"),
              std::string::npos)
        << out_;
    EXPECT_NE(out_.find("  2 records are missing"), std::string::npos) << out_;
    EXPECT_EQ(out_.find("nothing lost"), std::string::npos) << out_;
}

TEST_F(Top, AuxCollisionFlagMakesTheNumberOfLostEntriesALowerBound)
{
    for (const bool overrun : {false, true}) {
        testing::PttFile file(recording(), {.pipe = true});
        file.aux(std::vector<std::byte>(32));
        file.announce(0, PERF_AUX_FLAG_PARTIAL | (overrun ? PERF_AUX_FLAG_COLLISION : 0));
        file.lost_samples(9);
        ASSERT_TRUE(file.finish());
        run("--once - <" + recording());
        const std::string text =
            overrun ? "  at least 9 trace entries lost" : "  9 trace entries lost";
        EXPECT_NE(out_.find("\n" + text), std::string::npos) << out_ << said_;
        EXPECT_EQ(out_.find("between kernel and recorder"), std::string::npos) << out_;
        run("--once --json - <" + recording());
        const json frame = json::parse(out_);
        const auto lost = std::ranges::find_if(frame["lost"], [](const json &loss) {
            return loss["what"].get<std::string>().starts_with("trace entries lost");
        });
        ASSERT_NE(lost, frame["lost"].end()) << out_;
        EXPECT_EQ((*lost)["count"], 9);
        EXPECT_EQ((*lost)["at_least"], overrun);
        ASSERT_EQ(::unlink(recording().c_str()), 0);
    }
}

TEST_F(Top, PrintsAMessageIfAndOnlyIfItFailsOnATruncatedRecording)
{
    record_all();
    const std::string whole = read_small_file(recording()).value();
    for (size_t bytes = 0; bytes < whole.size(); bytes += 193) {
        ASSERT_TRUE(write_all(created(tree_.path("cut")).get(),
                              as_bytes(std::string_view(whole).substr(0, bytes)), "cut"));
        const int status = run("--once --json - <" + tree_.path("cut"));
        EXPECT_TRUE(status == 0 || status == 1) << bytes << ": " << said_;
        EXPECT_EQ(status == 0, said_.empty()) << bytes << ": " << said_;
    }
}

TEST_F(Top, RejectsInputThatIsNotARecording)
{
    tree_.put("text", "this is no recording, but long enough to be one\n" + std::string(200, 'x'));
    EXPECT_EQ(run("--once - <" + tree_.path("text")), 1);
    EXPECT_NE(said_.find("pmukit: standard input"), std::string::npos) << said_;
}

TEST_F(Top, PrintsOneMessageIfItsOutputIsFull)
{
    record_all();
    out_path_ = "/dev/full";
    EXPECT_EQ(run("--once --json - <" + recording()), 1);
    EXPECT_EQ(said_, "pmukit: standard output: No space left on device\n");
}

// Tests with a recorder that top starts. They are skipped if the kernel does not allow recording.
class TopRecords : public Top {
protected:
    // Runs top for at most 60 s. Returns kKilled if it did not end by then.
    int run_with_limit(const std::string &words) { return run(words, "timeout -s KILL 60 "); }
    bool is_not_allowed() const { return said_.find("CAP_PERFMON") != std::string::npos; }

    static constexpr int kKilled = 128 + SIGKILL;
    // 10,000 samples per second on each CPU.
    static constexpr const char *kMany = " -e software/config=0,freq=10000/";
};

// The recorder writes more data than the pipe to top holds. If top did not end the recorder, the
// recorder would block forever.
TEST_F(TopRecords, TerminatesItsRecorderIfTheOutputFails)
{
    std::string words = "--json --interval 0.2 --feed aux";
    for (int event = 0; event < 8; event++)
        words += kMany;
    out_path_ = "/dev/full";
    ASSERT_NE(run_with_limit(words), kKilled) << said_;
    if (is_not_allowed())
        GTEST_SKIP() << "this machine allows no system-wide events";
    EXPECT_TRUE(said_.starts_with("pmukit: standard output: No space left on device\n")) << said_;
}

TEST_F(TopRecords, ShowsTheOutputOfAFailingCommandOnStandardError)
{
    const int status = run_with_limit(
        "--once --json --feed aux -e software/config=0,freq=50/ -- "
        "sh -c 'echo to one; echo to two >&2; exit 3'");
    if (is_not_allowed())
        GTEST_SKIP() << "this machine allows no system-wide events";
    EXPECT_EQ(status, 0) << said_;
    EXPECT_EQ(said_, "to one\nto two\n") << "as from a command of the other feed";
    EXPECT_EQ(json::parse(out_)["feed"], "aux") << out_;
}

TEST_F(TopRecords, ReportsWhyItsRecorderFailed)
{
    EXPECT_EQ(run_with_limit("--once --feed aux -e nowhere// -- echo"), 1);
    EXPECT_NE(said_.find("pmukit: there is no PMU nowhere"), std::string::npos) << said_;
}

class TopScreen : public Top {
protected:
    void SetUp() override
    {
        ASSERT_EQ(::pipe2(ends_, O_CLOEXEC), 0);
        terminal_.emplace(std::vector<std::string>{PMUKIT_COMMAND, "top", "--interval", "0.1", "-"},
                          ends_[0], std::vector<std::string>{"TERM=xterm"}, winsize{24, 120, 0, 0});
        ::close(ends_[0]);
        source_.emplace(Fd(ends_[1]));
    }

    int ends_[2];
    std::optional<OnTerminal> terminal_;
    std::optional<Source> source_;
};

TEST_F(TopScreen, ShowsNewDataImmediately)
{
    source_->give(kPages, hot_list(0, {{3, 100}}));
    EXPECT_TRUE(terminal_->shows("0x0000000000003000"));
    source_->give(kPages, hot_list(1, {{5, 100}}));
    EXPECT_TRUE(terminal_->shows("0x0000000000005000"));
    source_->end();
    source_.reset();
    EXPECT_EQ(terminal_->wait(), 0);
    // At its end, top must restore the former screen contents and the cursor.
    EXPECT_TRUE(terminal_->all().ends_with("\033[?25h\033[?1049l")) << terminal_->all();
}

TEST_F(TopScreen, KeysChangeTheView)
{
    source_->give(kPages, hot_list(0, {{3, 100}}));
    source_->give(kGroups, reading(0, 1, PMUKIT_CACHE_QOS_EVENT_OCCUPANCY, 4096));
    EXPECT_TRUE(terminal_->shows("p pages*"));
    terminal_->type("g");
    EXPECT_TRUE(terminal_->shows("group 1, 0, llc_occupancy"));
    EXPECT_TRUE(terminal_->shows("g groups*"));
    terminal_->type("p");
    EXPECT_TRUE(terminal_->shows("p pages*"));
    terminal_->type("t");
    EXPECT_TRUE(terminal_->shows("s in all, from recording  source=model"));
    EXPECT_TRUE(terminal_->shows("0x0000000000003000"));
    terminal_->type(" ");
    EXPECT_TRUE(terminal_->shows("paused"));
    terminal_->type("q");
    EXPECT_EQ(terminal_->wait(), 0);
}

TEST_F(TopScreen, RedrawsAtANewTerminalSize)
{
    source_->give(kPages, hot_list(0, {{3, 100}}));
    EXPECT_TRUE(terminal_->shows("epochs"));
    terminal_->resize(winsize{10, 30, 0, 0});
    // In 30 columns, only the column heads up to "DP" fit.
    EXPECT_TRUE(terminal_->shows("  rank  PMU                 DP\033[K"));
    terminal_->type("q");
    EXPECT_EQ(terminal_->wait(), 0);
}

TEST_F(TopScreen, CtrlCQuits)
{
    EXPECT_TRUE(terminal_->shows("q quit"));
    terminal_->type("\003");
    EXPECT_EQ(terminal_->wait(), 0);
    EXPECT_TRUE(terminal_->all().ends_with("\033[?1049l"));
}

}  // namespace
}  // namespace pmukit::cli
