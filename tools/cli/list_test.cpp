// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// pmukit list on a copy of sysfs with PMUs that record, PMUs that only count, and PMUs of other
// drivers.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/fd.hpp"
#include "base/file.hpp"
#include "base/test_folder.hpp"
#include "cli/commands.hpp"

namespace pmukit::cli {
namespace {

class List : public testing::Test {
protected:
    void put_pmu(const std::string &name, const std::string &term, const std::string &alias,
                 bool of_the_machine = true)
    {
        const std::string folder = "sys/bus/event_source/devices/" + name;
        tree_.put(folder + "/type", "24\n");
        tree_.put(folder + "/format/" + term, "config:0-7\n");
        if (!alias.empty())
            tree_.put(folder + "/events/" + alias, term + "=0x5\n");
        if (of_the_machine)
            tree_.put(folder + "/cpumask", "0,16\n");
    }
    void load(const std::string &module)
    {
        tree_.folder("sys/module/" + module);
        tree_.folder("sys/module/pmukit_common/holders/" + module);
    }
    int run(bool json = false)
    {
        const std::string path = tree_.path("out");
        const Fd fd(::open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600));
        Output out(fd.get(), path);
        ListOptions options;
        options.json = json;
        options.root = tree_.dir();
        const Result<int> status = run_list(options, out);
        EXPECT_TRUE(out.finish());
        err_ = status ? "" : status.error().message;
        out_ = *read_small_file(path);
        return status ? *status : kExitFailed;
    }

    TestFolder tree_;
    std::string out_, err_;
};

TEST_F(List, ShowsARecordCommandForRecordingPmus)
{
    put_pmu("trace_imc", "trace_cycles", "");
    EXPECT_EQ(run(), kExitGood) << err_;
    EXPECT_EQ(out_,
              "trace_imc  driver imc  cpumask 0,16\n"
              "  terms: trace_cycles\n"
              "  record: pmukit record -a -e trace_imc/trace_cycles/ -- sleep 1\n");
}

TEST_F(List, NamesTheValuesOfTermsThatThePmuSupports)
{
    put_pmu("cxl_hmu_mem0.0.0", "access_type", "");
    tree_.put("sys/bus/event_source/devices/cxl_hmu_mem0.0.0/format/range_size", "config2:32-63\n");
    tree_.put("sys/bus/event_source/devices/cxl_hmu_mem0.0.0/caps/access_type", "1 3\n");
    EXPECT_EQ(run(), kExitGood) << err_;
    EXPECT_NE(out_.find("  terms: access_type range_size\n"
                        "    access_type: 1 non-TEE read, 3 non-TEE read and write\n"
                        "    range_size: in 256 MiB\n"),
              out_.npos)
        << out_;
    EXPECT_EQ(run(true), kExitGood) << err_;
    EXPECT_EQ(nlohmann::json::parse(out_)["pmus"][0]["term_values"].dump(),
              R"({"access_type":{"1":"non-TEE read","3":"non-TEE read and write"}})");
}

TEST_F(List, ShowsAPerfStatCommandForCountingPmus)
{
    load("uncore_pmon");
    load("imc");
    put_pmu("uncore_imc_0", "event", "cas_count_read");
    put_pmu("uncore_type_9_1", "event", "");
    put_pmu("thread_imc", "event", "CPM_NON_IDLE_PCYC", false);
    EXPECT_EQ(run(), kExitGood) << err_;
    EXPECT_EQ(out_,
              "thread_imc  driver imc\n"
              "  terms: event\n"
              "  count: perf stat -e thread_imc/CPM_NON_IDLE_PCYC/ -- sleep 1\n"
              "uncore_imc_0  driver uncore_pmon  cpumask 0,16\n"
              "  terms: event\n"
              "  count: perf stat -a -e uncore_imc_0/cas_count_read/ -- sleep 1\n"
              "uncore_type_9_1  driver uncore_pmon  cpumask 0,16\n"
              "  terms: event\n"
              "  count: perf stat -a -e uncore_type_9_1/config=1/ -- sleep 1\n");
}

TEST_F(List, PmusOfInTreeDriversAreSkippedAndAnEmptyListIsAnError)
{
    tree_.folder("sys/module/intel_uncore");
    put_pmu("uncore_imc_0", "event", "cas_count_read");
    put_pmu("nest_mcs01_imc", "event", "PM_MCS01");
    EXPECT_EQ(run(), kExitFailed);
    EXPECT_EQ(out_, "");
    EXPECT_NE(err_.find("no PMU of pmukit in " + tree_.dir()), std::string::npos) << err_;
    EXPECT_NE(err_.find("pmukit doctor"), std::string::npos) << err_;
}

TEST_F(List, JsonHasARecordOrACountCommandPerPmu)
{
    load("cache_qos");
    put_pmu("cache_qos", "domain", "llc_occupancy");
    put_pmu("cache_qos_aux", "snapshot", "");
    EXPECT_EQ(run(true), kExitGood) << err_;
    const auto pmus = nlohmann::json::parse(out_)["pmus"];
    ASSERT_EQ(pmus.size(), 2U);
    EXPECT_EQ(pmus[0]["driver"], "cache_qos");
    EXPECT_EQ(pmus[0]["record"], nullptr);
    EXPECT_EQ(pmus[0]["count"], "perf stat -a -e cache_qos/llc_occupancy/ -- sleep 1");
    EXPECT_EQ(pmus[1]["record"], "pmukit record -a -e cache_qos_aux/snapshot/ -- sleep 1");
    EXPECT_EQ(pmus[1]["count"], nullptr);
}

}  // namespace
}  // namespace pmukit::cli
