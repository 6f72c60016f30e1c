// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// pmukit discover on folders with the layout of sysfs and of --save.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/fd.hpp"
#include "base/file.hpp"
#include "base/test_folder.hpp"
#include "cli/commands.hpp"
#include "decode/uncore_pmon/uncore_pmon_test_table.hpp"

namespace pmukit::cli {
namespace {

namespace table = decode::uncore_pmon::test;

class Discover : public testing::Test {
protected:
    void put_function(const std::string &name, const std::vector<std::byte> &bytes,
                      const table::ConfigWords &config = {})
    {
        tree_.put(name + "/config", table::as_text(table::config_of(config)));
        tree_.put(name + "/resource" + std::to_string(config.bar_number), table::as_text(bytes));
    }
    int run(const std::string &folder)
    {
        options_.root = tree_.path(folder);
        const std::string path = tree_.path("out");
        const Fd fd(::open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600));
        Output out(fd.get(), path);
        testing::internal::CaptureStderr();
        const Result<int> status = run_discover(options_, out);
        EXPECT_TRUE(out.finish());
        err_ = testing::internal::GetCapturedStderr() + (status ? "" : status.error().message);
        out_ = *read_small_file(path);
        return status ? *status : kExitFailed;
    }
    bool said(const std::string &part) const { return err_.find(part) != std::string::npos; }

    TestFolder tree_;
    DiscoverOptions options_;
    std::string out_, err_;
};

TEST_F(Discover, PrintsAllUnitsOfATable)
{
    put_function("dump", table::table_of(table::eight_imcs()));
    EXPECT_EQ(run("dump"), kExitGood) << err_;
    EXPECT_EQ(out_, table::kEightImcsText);
    EXPECT_EQ(err_, "");
    EXPECT_EQ(run("dump/"), kExitGood) << err_;
    EXPECT_EQ(out_, table::kEightImcsText);
}

TEST_F(Discover, PrintsCounterAddressesWithOptionAddresses)
{
    put_function("dump", table::table_of({table::UnitWords{}.entry()}), {.bar_number = 2});
    options_.addresses = true;
    EXPECT_EQ(run("dump"), kExitGood) << err_;
    EXPECT_EQ(out_,
              "PMU type 6 (1 boxes)\n"
              "    unit PMU  of type 6 ID 0 box ctrl: 0xc8aa2800 (-) with access type MMIO width "
              "48 numRegs 4 ctrlOffset 64 ctrOffset 8\n"
              "        counter 0: control 0xc8aa2840 count 0xc8aa2808\n"
              "        counter 1: control 0xc8aa2844 count 0xc8aa2810\n"
              "        counter 2: control 0xc8aa2848 count 0xc8aa2818\n"
              "        counter 3: control 0xc8aa284c count 0xc8aa2820\n");
}

TEST_F(Discover, SortsTypesAndPrintsMsrAndPciUnits)
{
    put_function(
        "dump",
        table::table_of(
            {table::UnitWords{.access = 2, .box_control = 0xfe11318, .type = 8}.entry(),
             table::UnitWords{.access = 0, .box_control = 0x2000, .type = 0, .id = 5}.entry()}));
    EXPECT_EQ(run("dump"), kExitGood) << err_;
    EXPECT_EQ(out_,
              "PMU type 0 (1 boxes)\n"
              "    unit PMU  of type 0 ID 5 box ctrl: 0x2000 (-) with access type MSR width 48 "
              "numRegs 4 ctrlOffset 64 ctrOffset 8\n"
              "PMU type 8 (1 boxes)\n"
              "    unit PMU  of type 8 ID 0 box ctrl: 0xfe11318 (fe:2.1@318) with access type "
              "PCICFG width 48 numRegs 4 ctrlOffset 64 ctrOffset 8\n");
}

TEST_F(Discover, JsonHasAllUnitsWithAddresses)
{
    put_function("dump", table::table_of(table::eight_imcs()));
    options_.json = true;
    EXPECT_EQ(run("dump"), kExitGood) << err_;
    const nlohmann::json json = nlohmann::json::parse(out_)["functions"];
    ASSERT_EQ(json.size(), 1U);
    EXPECT_EQ(json[0]["function"], "dump");
    EXPECT_EQ(json[0]["device"], "8086:09a7");
    EXPECT_EQ(json[0]["max_units"], 8);
    ASSERT_EQ(json[0]["units"].size(), 8U);
    const nlohmann::json &unit = json[0]["units"][1];
    EXPECT_EQ(unit["pmu"], "uncore_imc_1");
    EXPECT_EQ(unit["access"], "MMIO");
    EXPECT_EQ(unit["box_control"], 0xc8aaa800U);
    EXPECT_EQ(unit["controls"],
              nlohmann::json({0xc8aaa840U, 0xc8aaa844U, 0xc8aaa848U, 0xc8aaa84cU}));
    EXPECT_EQ(unit["counters"],
              nlohmann::json({0xc8aaa808U, 0xc8aaa810U, 0xc8aaa818U, 0xc8aaa820U}));
}

// Units of different packages that have the same type and ID belong to one PMU.
TEST_F(Discover, SameUnitOfTwoPackagesHasTheSamePmuName)
{
    put_function("pci/0000:7f:00.3", table::table_of({table::UnitWords{}.entry()}));
    put_function("pci/0000:8f:00.3", std::vector<std::byte>(64));
    put_function("pci/0000:ff:00.3", table::table_of({table::UnitWords{}.entry()}));
    options_.json = true;
    EXPECT_EQ(run("pci"), kExitFailed);
    const nlohmann::json json = nlohmann::json::parse(out_)["functions"];
    ASSERT_EQ(json.size(), 2U) << err_;
    EXPECT_EQ(json[0]["units"][0]["pmu"], "uncore_imc_0");
    EXPECT_EQ(json[1]["units"][0]["pmu"], "uncore_imc_0");
}

TEST_F(Discover, FindsEveryFunctionWithATableInAFolder)
{
    put_function("pci/0000:7f:00.3", table::table_of(table::eight_imcs()));
    put_function("pci/0000:ff:00.3", table::table_of({table::UnitWords{}.entry()}));
    put_function("pci/0000:00:1f.0", {}, {.entry_id = 5});
    put_function("pci/0000:00:02.0", {}, {.vendor = 0x10de});
    tree_.folder("pci/empty");
    EXPECT_EQ(run("pci"), kExitGood) << err_;
    EXPECT_EQ(out_.find("0000:7f:00.3\n" + table::kEightImcsText + "0000:ff:00.3\nPMU type 6 (1 "),
              0U)
        << out_;
}

TEST_F(Discover, SkipsFolderEntriesThatCannotBeOpened)
{
    put_function("pci/0000:7f:00.3", table::table_of(table::eight_imcs()));
    tree_.link("pci/circle", "circle");
    EXPECT_EQ(run("pci"), kExitGood) << err_;
    EXPECT_EQ(out_, table::kEightImcsText);
    EXPECT_EQ(err_, "");
}

TEST_F(Discover, OutputForASavedCopyHasTheSameUnits)
{
    std::vector<std::byte> bar = table::table_of(table::eight_imcs());
    bar.resize(65536, std::byte{0xee});
    put_function("pci/0000:7f:00.3", bar);
    tree_.put("pci/0000:7f:00.3/resource", "0xfe000000 0xfe00ffff 0x40200\n");
    options_.save = tree_.path("saved");
    EXPECT_EQ(run("pci"), kExitGood) << err_;
    options_.save.clear();
    EXPECT_EQ(run("saved"), kExitGood) << err_;
    EXPECT_EQ(out_, table::kEightImcsText);
    EXPECT_EQ(read_small_file(tree_.path("saved/config"))->size(), 4096U);
    EXPECT_EQ(read_small_file(tree_.path("saved/resource0"))->size(), 9U * 24);
    EXPECT_EQ(*read_small_file(tree_.path("saved/resource")), "0xfe000000 0xfe00ffff 0x40200\n");

    put_function("pci/0000:ff:00.3", table::table_of({table::UnitWords{}.entry()}));
    options_.save = tree_.path("both");
    EXPECT_EQ(run("pci"), kExitGood) << err_;
    const std::string live = out_;
    options_.save.clear();
    EXPECT_EQ(run("both"), kExitGood) << err_;
    EXPECT_EQ(out_, live);
}

TEST_F(Discover, DoesNotSaveIntoAnExistingFolder)
{
    put_function("pci/0000:7f:00.3", table::table_of(table::eight_imcs()));
    tree_.put("saved/other", "of another user");
    tree_.link("saved/config", tree_.path("target"));
    options_.save = tree_.path("saved");
    EXPECT_EQ(run("pci"), kExitFailed);
    EXPECT_TRUE(said("saved: already exists; name a new folder")) << err_;
    EXPECT_FALSE(read_small_file(tree_.path("target")));
    EXPECT_FALSE(read_small_file(tree_.path("saved/resource0")));
}

TEST_F(Discover, ReportsEachInvalidEntryOnceAndShowsTheOthers)
{
    std::vector<table::Entry> units = table::eight_imcs();
    units[1] = {{~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}}};
    units[4] = units[3];
    put_function("dump", table::table_of(units));
    EXPECT_EQ(run("dump"), kExitFailed);
    EXPECT_EQ(err_,
              "pmukit: dump: entry 2: all ones\n"
              "pmukit: dump: entry 5: type and id stand in the table twice\n");
    EXPECT_EQ(out_.find("PMU type 6 (6 boxes)\n"), 0U) << out_;
    options_.json = true;
    EXPECT_EQ(run("dump"), kExitFailed);
    const nlohmann::json json = nlohmann::json::parse(out_)["functions"];
    EXPECT_EQ(json[0]["refused"][0]["entry"], 2);
    EXPECT_EQ(json[0]["refused"][1]["why"], "type and id stand in the table twice");
}

TEST_F(Discover, ReportsAnInvalidTableInOneLine)
{
    put_function("dump", table::table_of({.stride = 2, .max_units = 8}, table::eight_imcs()));
    EXPECT_EQ(run("dump"), kExitFailed);
    EXPECT_EQ(err_, "pmukit: dump: stride 2 is below 3 words\n");
    put_function("dump", table::table_of({.max_units = 9}, table::eight_imcs()));
    EXPECT_EQ(run("dump"), kExitFailed);
    EXPECT_EQ(err_, "pmukit: dump: 9 units of 3 words reach beyond the BAR\n");
    put_function("dump", {});
    EXPECT_EQ(run("dump"), kExitFailed);
    EXPECT_EQ(err_, "pmukit: dump: the BAR is too small for a table\n");
    put_function("dump", {}, {.bar_number = 7});
    EXPECT_EQ(run("dump"), kExitFailed);
    EXPECT_TRUE(said("there is no BAR 7")) << err_;
}

TEST_F(Discover, ReportsMissingFilesTablesAndPrivileges)
{
    EXPECT_EQ(run("nowhere"), kExitFailed);
    EXPECT_TRUE(said("No such file")) << err_;
    tree_.folder("pci");
    EXPECT_EQ(run("pci"), kExitFailed);
    EXPECT_TRUE(said("no function of Intel's has a discovery table")) << err_;
    put_function("pci/0000:7f:00.3", table::table_of(table::eight_imcs()));
    tree_.remove("pci/0000:7f:00.3/resource0");
    EXPECT_EQ(run("pci"), kExitFailed);
    EXPECT_TRUE(said("0000:7f:00.3/resource0: No such file")) << err_;
    // Without privileges, only the first 64 bytes of config are readable.
    tree_.put("pci/0000:7f:00.3/config", table::as_text(table::config_of({})).substr(0, 64));
    EXPECT_EQ(run("pci"), kExitFailed);
    EXPECT_TRUE(said("only root may read the capabilities")) << err_;
}

// Runs the test without the effective user id of root: root could open files of any mode.
class UnprivilegedUser {
public:
    UnprivilegedUser() : user_(::geteuid())
    {
        EXPECT_EQ(user_ == 0 ? ::seteuid(kUnprivilegedId) : 0, 0);
    }
    UnprivilegedUser(const UnprivilegedUser &) = delete;
    UnprivilegedUser &operator=(const UnprivilegedUser &) = delete;
    ~UnprivilegedUser() { EXPECT_EQ(::seteuid(user_), 0); }

private:
    static constexpr uid_t kUnprivilegedId = 65534;
    uid_t user_;
};

TEST_F(Discover, DistinguishesLockdownFromAMissingPrivilege)
{
    put_function("dump", table::table_of(table::eight_imcs()));
    ASSERT_EQ(::chmod(tree_.dir().c_str(), 0777), 0);
    ASSERT_EQ(::chmod(tree_.path("dump/resource0").c_str(), 0), 0);
    options_.lockdown_file = tree_.path("lockdown");
    tree_.put("lockdown", "[none] integrity confidentiality\n");
    tree_.put("out", "");
    ASSERT_EQ(::chmod(tree_.path("out").c_str(), 0666), 0);
    const UnprivilegedUser unprivileged;
    EXPECT_EQ(run("dump"), kExitFailed);
    EXPECT_TRUE(said("resource0: only root may read device memory")) << err_;
    options_.lockdown_file = tree_.path("locked");
    std::ofstream(options_.lockdown_file) << "none [integrity] confidentiality\n";
    EXPECT_EQ(run("dump"), kExitFailed);
    EXPECT_TRUE(said("resource0: kernel lockdown forbids")) << err_;
}

}  // namespace
}  // namespace pmukit::cli
