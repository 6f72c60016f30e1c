// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// pmukit what-if with small logs and recordings: text, JSON, HTML and messages.
#include "cli/what_if.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pmukit/cxl_hmu.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/fd.hpp"
#include "base/test_folder.hpp"
#include "perfdata/format.hpp"
#include "perfdata/writer.hpp"

namespace pmukit::cli {
namespace {

constexpr uint64_t kNsPerMs = 1'000'000;
constexpr unsigned kCounterWidth = 16;

struct Reported {
    uint64_t page, accesses;
};

struct Drain {
    uint64_t time_ms;
    std::vector<Reported> hot;
    uint64_t unit_log2 = 12;
};

std::vector<std::byte> record_of_drain(const Drain &drain, uint64_t sequence)
{
    std::vector<uint64_t> words = {PMUKIT_CXL_HMU_W0(drain.hot.size(), kCounterWidth),
                                   PMUKIT_CXL_HMU_MARK,
                                   drain.time_ms * kNsPerMs,
                                   drain.unit_log2,
                                   0,
                                   sequence,
                                   0};
    for (const Reported &unit : drain.hot)
        words.push_back(unit.page << kCounterWidth | unit.accesses);
    std::vector<std::byte> bytes(words.size() * 8);
    for (size_t i = 0; i < words.size(); i++)
        store_le(bytes.data() + 8 * i, words[i]);
    return bytes;
}

class WhatIfCommand : public testing::Test {
protected:
    // The log of LogReplay.GivesWhatWasComputedByHand.
    void log(const std::string &more = "")
    {
        std::string text = "# pmukit access log 1\n";
        for (const char page : std::string_view("AAABBCABBBCCBBBCCCBBCCAA"))
            text += std::string(page == 'C' ? "W" : "R") + " 0x" + std::to_string(page - 'A') +
                    "040 8\n";
        tree_.put("log", text + more);
        options_.input = tree_.path("log");
        set("epoch", "6");
        set("threshold", "2");
        set("fast", "1");
        options_.hot_units = 1;
        options_.move_cost = 2;
    }
    void recording(const std::vector<std::vector<Drain>> &devices)
    {
        std::vector<perfdata::WriterEvent> events;
        perfdata::HostInfo host;
        for (size_t i = 0; i < devices.size(); i++) {
            const std::string pmu = fmt::format("cxl_hmu_mem{}.0.0", i);
            perfdata::WriterEvent event{std::vector<std::byte>(128), {7 + i}, pmu + "//"};
            const auto type = static_cast<uint32_t>(24 + i);
            store<uint32_t>(event.attr.data() + perfdata::kAttrType, type, std::endian::native);
            store<uint32_t>(event.attr.data() + perfdata::kAttrSize, 128, std::endian::native);
            store<uint64_t>(
                event.attr.data() + perfdata::kAttrSampleType,
                PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
                std::endian::native);
            store<uint64_t>(event.attr.data() + perfdata::kAttrFlags,
                            uint64_t{1} << perfdata::kAttrFlagSampleIdAll, std::endian::native);
            events.push_back(event);
            host.pmus.push_back({type, pmu});
        }
        Result<perfdata::Writer> writer =
            perfdata::Writer::create(tree_.path("perf.data"), events, host);
        ASSERT_TRUE(writer);
        for (size_t i = 0; i < devices.size(); i++) {
            perfdata::AuxtraceRecord trace;
            trace.reference = 7 + i;
            trace.index = static_cast<uint32_t>(i);
            std::vector<std::byte> bytes;
            for (size_t at = 0; at < devices[i].size(); at++) {
                const std::vector<std::byte> record = record_of_drain(devices[i][at], at);
                bytes.insert(bytes.end(), record.begin(), record.end());
            }
            ASSERT_TRUE(writer->auxtrace(trace, bytes, {}));
        }
        ASSERT_TRUE(writer->finish());
        options_.input = tree_.path("perf.data");
    }
    // Intervals of 10 ms: page 0 is promoted, and replaced by page 1 after it was idle.
    void one_device()
    {
        recording({{{1000, {{0, 9}}},
                    {1003, {{1, 5}}},
                    {1011, {{0, 3}}},
                    {1019, {{1, 5}}},
                    {1020, {{1, 5}}},
                    {1075, {{1, 2}}}}});
        set("interval-ms", "10");
        set("fast", "1");
        options_.move_cost = 4;
    }
    void set(const std::string &name, const std::string &values)
    {
        for (size_t i = 0; i < whatif::dimensions().size(); i++)
            if (whatif::dimensions()[i].name == name)
                options_.values[i] = values;
    }
    std::string run()
    {
        const std::string path = tree_.path("out");
        const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600));
        Output out(file.get(), path);
        const Result<int> status = run_what_if(options_, out);
        EXPECT_TRUE(out.finish());
        error_ = status ? "" : status.error().message;
        status_ = status ? *status : -1;
        return text_of("out");
    }
    std::string text_of(const std::string &name) const
    {
        std::ifstream in(tree_.path(name));
        return {std::istreambuf_iterator<char>(in), {}};
    }
    nlohmann::json run_json()
    {
        options_.json = true;
        return nlohmann::json::parse(run(), nullptr, false);
    }
    std::string refusal()
    {
        EXPECT_EQ(run(), "");
        EXPECT_EQ(error_.find('\n'), std::string::npos);
        return error_;
    }

    TestFolder tree_;
    WhatIfOptions options_;
    std::string error_;
    int status_ = -1;
};

TEST_F(WhatIfCommand, PrintsARowForEachCombinationAndTheHeat)
{
    log();
    set("threshold", "2,3");
    EXPECT_EQ(run(), tree_.path("log") + R"(: 24 accesses  source=model
unit-bytes 4096  counters 1024  ways 16  replacement credit  counter-width 16  hot-list 1024  mode epoch  downsampling 1  epoch 6  fast 1  policy hottest-first

  threshold  recall  precision  dropped   slow  static  migrations  useless
          2  100.0%      77.8%        0  87.5%   58.3%           3        2
          3   75.0%     100.0%        0  87.5%   58.3%           3        2

  heat by address and time: a row is 4 KiB, a column is 6 accesses
  0x0000000000000000 |@+ #|
  0x0000000000001000 |#@@#|
  0x0000000000002000 |+#@#|

a log has no times: an epoch is a number of accesses, and moves take no time
a page that was promoted is no longer seen by the unit; of its accesses, the policy knows only since when there were none
)");
    EXPECT_EQ(status_, 0);
}

TEST_F(WhatIfCommand, JsonHasTheSameNumbers)
{
    log();
    const nlohmann::json said = run_json();
    ASSERT_TRUE(said.is_object());
    EXPECT_EQ(said["schema_version"], 2);
    EXPECT_EQ(said["source"], "model");
    EXPECT_EQ(said["input"], "log");
    EXPECT_EQ(said["accesses"], 24);
    EXPECT_TRUE(said["pages"].is_null()) << "not counted: --fast is a number of pages";
    ASSERT_EQ(said["combinations"].size(), 1u);
    const nlohmann::json &row = said["combinations"][0];
    EXPECT_EQ(row["unit_bytes"], 4096);
    EXPECT_EQ(row["policy"], "hottest-first");
    EXPECT_EQ(row["fast_bytes"], 4096);
    EXPECT_EQ(row["recall"], 1.0);
    EXPECT_EQ(row["listed"], 9);
    EXPECT_EQ(row["listed_right"], 7);
    EXPECT_EQ(row["slow_accesses"], 21);
    EXPECT_EQ(row["fast_accesses"], 3);
    EXPECT_EQ(row["slow_share"], 0.875);
    EXPECT_EQ(row["migrations"], 3);
    EXPECT_EQ(row["useless"], 2);
    ASSERT_EQ(said["heat"]["rows"].size(), 3u);
    EXPECT_EQ(said["heat"]["rows"][1]["dpa"], 4096);
    EXPECT_EQ(said["heat"]["rows"][1]["values"], nlohmann::json({2, 3, 3, 2}));
    EXPECT_EQ(said["losses"], nlohmann::json::array());
}

TEST_F(WhatIfCommand, APercentageIsOfTheAccessedPages)
{
    log();
    set("fast", "67%,100%");
    const nlohmann::json said = run_json();
    EXPECT_EQ(said["pages"], 3);
    EXPECT_EQ(said["combinations"][0]["fast_bytes"], 2 * 4096);
    EXPECT_EQ(said["combinations"][1]["fast_bytes"], 3 * 4096);
}

TEST_F(WhatIfCommand, ReportsALogThatEndsInsideALine)
{
    log("R 0x2040");
    const std::string said = run();
    EXPECT_NE(said.find("24 accesses"), std::string::npos);
    EXPECT_NE(said.find("the log ends inside a line, which was not counted"), std::string::npos);
    EXPECT_EQ(status_, 1);
}

TEST_F(WhatIfCommand, RefusesALogWithNothingToReplay)
{
    log();
    tree_.put("log", "# pmukit access log 1\n");
    EXPECT_EQ(refusal(), tree_.path("log") + ": it has no accesses");
    set("fast", "20%");
    EXPECT_EQ(refusal(), tree_.path("log") + ": it has no accesses");
    log();
    set("epoch", "25");
    EXPECT_EQ(refusal(), "--epoch 25: the log has only 24 accesses, and no epoch ends");
    set("epoch", "6");
    set("fast", "20%");
    EXPECT_EQ(refusal(), "--fast 20%: smaller than one unit of 4096 bytes");
    log("R 1 8\n");
    EXPECT_NE(refusal().find("log:26: 'R 1 8' is not an access"), std::string::npos);
    log();
    options_.pmu = "cxl_hmu_mem0.0.0";
    EXPECT_EQ(refusal(), "--pmu: only for recordings; an access log names no PMU");
}

TEST_F(WhatIfCommand, WritesAPage)
{
    log();
    set("threshold", "2,3");
    options_.html = tree_.path("page.html");
    EXPECT_EQ(run(), "");
    EXPECT_EQ(status_, 0);
    const std::string page = text_of("page.html");
    for (const char *part : {"Combinations", "Accesses over address and time", "threshold 3",
                             "77.8%", "from access 18", "source=model"})
        EXPECT_NE(page.find(part), std::string::npos) << part;
    options_.html = options_.input;
    EXPECT_NE(refusal(), "") << "the input would be replaced";
    EXPECT_TRUE(text_of("log").starts_with("# pmukit access log"));
}

TEST_F(WhatIfCommand, ReplaysARecordingAndSaysWhatItCannotTell)
{
    one_device();
    EXPECT_EQ(run(), tree_.path("perf.data") +
                         R"(: cxl_hmu_mem0.0.0, 29 reported accesses, 2 pages of 4 KiB
interval-ms 10  fast 1  policy hottest-first

   slow  static  migrations  useless
  82.8%   41.4%           3        3

  heat by address and time: a row is 4 KiB, a column is 2.097 ms
  0x0000000000000000 |@     +                              |
  0x0000000000001000 |  #      ##                         =|
)" + std::string(R"(
a recording has only what the unit reported: recall and precision are unknown, and accesses to other memory are not counted
the counters, epoch and threshold are those of the recording; only an access log can be replayed with others
the device would not have reported a page after its promotion; here it goes on, and counts as fast
)"));
    EXPECT_EQ(status_, 0);
    const nlohmann::json said = run_json();
    EXPECT_EQ(said["input"], "recording");
    EXPECT_EQ(said["pmu"], "cxl_hmu_mem0.0.0");
    EXPECT_EQ(said["combinations"][0]["slow_accesses"], 24);
    EXPECT_FALSE(said["combinations"][0].contains("recall"));
    EXPECT_EQ(said["notes"].size(), 3u);
}

TEST_F(WhatIfCommand, AsksWhichDeviceOfARecording)
{
    recording({{{1000, {{0, 9}}}}, {{1000, {{0, 7}}}, {2000, {{0, 7}}}}});
    set("fast", "1");
    EXPECT_EQ(refusal(), tree_.path("perf.data") +
                             ": hot units of several devices; give --pmu, one of "
                             "cxl_hmu_mem0.0.0, cxl_hmu_mem1.0.0");
    options_.pmu = "cxl_hmu_mem2.0.0";
    EXPECT_NE(refusal().find("--pmu cxl_hmu_mem2.0.0: has no hot units in "), std::string::npos);
    options_.pmu = "cxl_hmu_mem1.0.0";
    EXPECT_EQ(run_json()["accesses"], 14);
}

TEST_F(WhatIfCommand, RefusesARecordingThatCannotBeReplayed)
{
    recording({{{1000, {}}}});
    EXPECT_EQ(refusal(), tree_.path("perf.data") + ": it has no hot units of device memory");
    recording({{{1000, {{0, 9}}}, {1001, {{0, 9}}, 14}}});
    set("fast", "4");
    EXPECT_EQ(refusal(), tree_.path("perf.data") +
                             ": units of several sizes cannot be replayed; see pmukit cut --time");
    one_device();
    set("counters", "64");
    EXPECT_NE(refusal().find("--counters: a recording has the values of the unit"),
              std::string::npos);
    set("counters", "");
    options_.randomized = true;
    EXPECT_NE(refusal().find("--randomized: a recording"), std::string::npos);
}

}  // namespace
}  // namespace pmukit::cli
