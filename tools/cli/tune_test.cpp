// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// pmukit tune on a fake sysfs tree with two devices.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/fd.hpp"
#include "base/file.hpp"
#include "base/test_folder.hpp"
#include "cli/commands.hpp"

namespace pmukit::cli {
namespace {

class Tune : public testing::Test {
protected:
    void SetUp() override
    {
        for (const std::string pmu : {"hisi_ptt0_2", "hisi_ptt0_3"}) {
            tree_.put("sys/" + pmu + "/type", "24\n");
            tree_.put("sys/" + pmu + "/tune/qos_tx_cpl", "1\n");
            tree_.put("sys/" + pmu + "/tune/rx_alloc_buf_level", "0\n");
            tree_.put("sys/" + pmu + "/tune/tx_path_rx_req_alloc_buf_level", "0\n");
        }
        tree_.put("sys/other/type", "9\n");
        tree_.put("sys/other/tune/secret", "5\n");
        options_.sysfs_root = tree_.path("sys");
    }

    int run()
    {
        const std::string path = tree_.path("out");
        const Fd fd(::open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600));
        Output out(fd.get(), path);
        testing::internal::CaptureStderr();
        const Result<int> status = run_tune(options_, out);
        EXPECT_TRUE(out.finish());
        err_ = testing::internal::GetCapturedStderr() + (status ? "" : status.error().message);
        out_ = *read_small_file(path);
        return status ? *status : status.error().code == Errc::kUsage ? kExitUsage : kExitFailed;
    }
    std::string value(const std::string &path) const
    {
        return *read_small_file(tree_.path("sys/" + path));
    }
    bool said(const std::string &part) const { return err_.find(part) != std::string::npos; }

    TestFolder tree_;
    TuneOptions options_;
    std::string out_, err_;
};

TEST_F(Tune, ShowsEveryFileOfEveryDeviceOnce)
{
    EXPECT_EQ(run(), kExitGood) << err_;
    EXPECT_EQ(out_,
              "hisi_ptt0_2\n  qos_tx_cpl           1\n  rx_alloc_buf_level   0\n"
              "hisi_ptt0_3\n  qos_tx_cpl           1\n  rx_alloc_buf_level   0\n");
}

TEST_F(Tune, JsonHasEveryFileOfEveryDeviceOnce)
{
    options_.json = true;
    EXPECT_EQ(run(), kExitGood) << err_;
    const nlohmann::json json = nlohmann::json::parse(out_)["pmus"];
    EXPECT_EQ(json.size(), 2U);
    EXPECT_EQ(json["hisi_ptt0_3"]["qos_tx_cpl"], 1);
    EXPECT_EQ(json["hisi_ptt0_3"].size(), 2U);
}

TEST_F(Tune, SetsOneDeviceOrAllDevices)
{
    options_.settings = {"hisi_ptt0_3/qos_tx_cpl=2", "rx_alloc_buf_level=0x1"};
    EXPECT_EQ(run(), kExitGood) << err_;
    EXPECT_EQ(value("hisi_ptt0_2/tune/qos_tx_cpl"), "1\n");
    EXPECT_EQ(value("hisi_ptt0_3/tune/qos_tx_cpl"), "2\n");
    EXPECT_EQ(value("hisi_ptt0_2/tune/rx_alloc_buf_level"), "1\n");
    EXPECT_EQ(value("hisi_ptt0_3/tune/rx_alloc_buf_level"), "1\n");
    EXPECT_NE(out_.find("hisi_ptt0_3\n  qos_tx_cpl           2"), std::string::npos);
}

TEST_F(Tune, WritesNothingIfOneSettingIsInvalid)
{
    for (const auto &[word, status] : {std::pair{"qos_tx_dp=1", kExitFailed},
                                       {"other/secret=1", kExitFailed},
                                       {"qos_tx_cpl", kExitUsage},
                                       {"qos_tx_cpl=", kExitUsage},
                                       {"qos_tx_cpl=-1", kExitUsage}}) {
        options_.settings = {"qos_tx_cpl=2", word};
        EXPECT_EQ(run(), status) << word << ": " << err_;
        EXPECT_EQ(value("hisi_ptt0_2/tune/qos_tx_cpl"), "1\n") << word;
    }
}

TEST_F(Tune, RestoresSavedValues)
{
    options_.save = tree_.path("saved");
    EXPECT_EQ(run(), kExitGood) << err_;
    EXPECT_EQ(out_, "");
    options_.save.clear();
    options_.settings = {"qos_tx_cpl=2", "rx_alloc_buf_level=2"};
    EXPECT_EQ(run(), kExitGood);
    options_.settings.clear();
    options_.restore = tree_.path("saved");
    EXPECT_EQ(run(), kExitGood) << err_;
    EXPECT_EQ(value("hisi_ptt0_2/tune/qos_tx_cpl"), "1\n");
    EXPECT_EQ(value("hisi_ptt0_3/tune/rx_alloc_buf_level"), "0\n");
}

TEST_F(Tune, SavesALevelWithTwoNamesOnlyUnderTheFirstName)
{
    options_.save = tree_.path("saved");
    EXPECT_EQ(run(), kExitGood) << err_;
    EXPECT_EQ(read_small_file(tree_.path("saved"))->find("tx_path"), std::string::npos);
}

TEST_F(Tune, SettingALevelByItsSecondNameWritesTheFileWithTheFirstName)
{
    options_.settings = {"hisi_ptt0_3/tx_path_rx_req_alloc_buf_level=2"};
    EXPECT_EQ(run(), kExitGood) << err_;
    EXPECT_EQ(value("hisi_ptt0_2/tune/rx_alloc_buf_level"), "0\n");
    EXPECT_EQ(value("hisi_ptt0_3/tune/rx_alloc_buf_level"), "2\n");
}

TEST_F(Tune, IfBothNamesOfALevelAreSavedTheValueOfTheFirstNameIsRestored)
{
    tree_.put("saved",
              "hisi_ptt0_2/rx_alloc_buf_level 2\nhisi_ptt0_2/tx_path_rx_req_alloc_buf_level 1\n");
    options_.restore = tree_.path("saved");
    EXPECT_EQ(run(), kExitGood) << err_;
    EXPECT_EQ(value("hisi_ptt0_2/tune/rx_alloc_buf_level"), "2\n");
}

TEST_F(Tune, RestoresNothingIfOneLineIsInvalid)
{
    options_.restore = tree_.path("saved");
    for (const char *bad : {"hisi_ptt0_2/qos_tx_cpl 2\nhisi_ptt0_9/qos_tx_cpl 2\n",
                            "hisi_ptt0_2/qos_tx_cpl 2\nqos_tx_cpl 2\n",
                            "hisi_ptt0_2/qos_tx_cpl 2\nhisi_ptt0_2/qos_tx_cpl\n",
                            "hisi_ptt0_2/qos_tx_cpl 2\nhisi_ptt0_2/qos_tx_cpl x\n"}) {
        tree_.put("saved", bad);
        EXPECT_EQ(run(), kExitFailed) << bad;
        EXPECT_EQ(value("hisi_ptt0_2/tune/qos_tx_cpl"), "1\n") << bad;
    }
    EXPECT_TRUE(said("saved:2: ")) << err_;
}

TEST_F(Tune, ReportsAnInvalidValueAndShowsTheOtherFiles)
{
    tree_.put("sys/hisi_ptt0_2/tune/qos_tx_cpl", "broken\n");
    EXPECT_EQ(run(), kExitFailed);
    EXPECT_TRUE(said("hisi_ptt0_2/tune/qos_tx_cpl")) << err_;
    EXPECT_NE(out_.find("qos_tx_cpl           ?"), std::string::npos) << out_;
    EXPECT_NE(out_.find("rx_alloc_buf_level   0"), std::string::npos) << out_;
    options_.json = true;
    EXPECT_EQ(run(), kExitFailed);
    EXPECT_TRUE(nlohmann::json::parse(out_)["pmus"]["hisi_ptt0_2"]["qos_tx_cpl"].is_null());
}

TEST_F(Tune, RejectsSavingAndSettingTogether)
{
    options_.save = tree_.path("saved");
    options_.settings = {"qos_tx_cpl=2"};
    EXPECT_EQ(run(), kExitUsage);
    EXPECT_EQ(value("hisi_ptt0_2/tune/qos_tx_cpl"), "1\n");
}

TEST_F(Tune, FailsIfNoPmuCanBeTuned)
{
    options_.sysfs_root = tree_.path("sys/other");
    tree_.folder("sys/other");
    EXPECT_EQ(run(), kExitFailed);
    EXPECT_TRUE(said("can be tuned")) << err_;
}

}  // namespace
}  // namespace pmukit::cli
