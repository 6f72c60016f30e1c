// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Reads trees of files with the names and texts of the kernel's resctrl, records them, and decodes
// the records.
#include <gtest/gtest.h>
#include <pmukit/cache_qos.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/counted.hpp"
#include "base/file.hpp"
#include "base/test_folder.hpp"
#include "cli/commands.hpp"
#include "cli/drivers/cache_qos/resctrl_recorder.hpp"
#include "cli/export/export.hpp"
#include "decode/cache_qos/cache_qos_decode.hpp"
#include "decode/cache_qos/cache_qos_series.hpp"
#include "record/event_string.hpp"

namespace pmukit::cli::resctrl {
namespace {

namespace fs = std::filesystem;
namespace qos = decode::cache_qos;

constexpr const char *kRoot = "sys/fs/resctrl";

// Records that a pass has written.
class Collected final : public qos::Sink {
public:
    void header(uint64_t, const qos::Header &header) override { headers.push_back(header); }
    void reading(uint64_t, const qos::Reading &reading) override
    {
        readings.push_back(reading);
        table.add(reading);
    }
    void name(uint64_t, const qos::NamePart &part) override
    {
        names.note(part);
        table.name(part);
    }
    void skipped(uint64_t, uint64_t bytes) override { ADD_FAILURE() << bytes; }

    std::vector<qos::Header> headers;
    std::vector<qos::Reading> readings;
    qos::Names names;
    qos::SeriesTable table;
};

class Resctrl : public testing::Test {
protected:
    void SetUp() override { tree_.put("proc/mounts", "resctrl /sys/fs/resctrl resctrl rw 0 0\n"); }

    // Writes an event file: group "" is the default group, "/g" a control group.
    void value(const std::string &group, const std::string &domain, const std::string &event,
               const std::string &text) const
    {
        tree_.put(kRoot + group + "/mon_data/" + domain + "/" + event, text + "\n");
    }
    // Makes a group with the values of the three events in one L3.
    void group(const std::string &path, const std::string &occupancy, const std::string &total,
               const std::string &local = "0") const
    {
        value(path, "mon_L3_00", "llc_occupancy", occupancy);
        value(path, "mon_L3_00", "mbm_total_bytes", total);
        value(path, "mon_L3_00", "mbm_local_bytes", local);
        tree_.put(kRoot + path + "/tasks", "");
        tree_.put(kRoot + path + "/cpus_list", "\n");
    }
    void cache(const std::string &cpu, const std::string &id, const std::string &size) const
    {
        const std::string folder = "sys/devices/system/cpu/cpu" + cpu + "/cache/index3";
        tree_.put(folder + "/level", "3\n");
        tree_.put(folder + "/id", id + "\n");
        tree_.put(folder + "/size", size + "\n");
    }
    void task(const std::string &tid, const std::string &process, const std::string &name,
              const std::string &cgroup) const
    {
        tree_.put("proc/" + tid + "/status", "Name:\tthread\nTgid:\t" + process + "\n");
        tree_.put("proc/" + tid + "/cgroup", "0::" + cgroup + "\n");
        tree_.put("proc/" + process + "/comm", name + "\n");
    }
    Tree opened() const
    {
        Result<Tree> tree = Tree::open(Host(tree_.dir()));
        EXPECT_TRUE(tree) << tree.error().message;
        return std::move(*tree);
    }
    Snapshots &snapshots()
    {
        if (!snapshots_)
            snapshots_.emplace(opened());
        return *snapshots_;
    }
    // Makes a pass and decodes its records.
    void pass(bool last = false)
    {
        const std::vector<std::byte> bytes = snapshots().pass(1000, last);
        all_.readings.clear();
        decoder_.data(bytes);
        EXPECT_FALSE(bytes.empty());
    }
    // The reading of the last pass; nullptr: there is none.
    const qos::Reading *reading(const std::string &name, uint8_t event, uint16_t domain = 0) const
    {
        for (const qos::Reading &one : all_.readings) {
            const qos::Name *named = all_.names.find(one.monitor, one.domain);
            if (named && named->text == name && one.event == event && one.domain == domain)
                return &one;
        }
        return nullptr;
    }
    uint64_t total(const std::string &name) const
    {
        const qos::Reading *one = reading(name, PMUKIT_CACHE_QOS_EVENT_TOTAL);
        EXPECT_NE(one, nullptr) << name;
        return one ? one->bytes : 0;
    }
    bool is_gap(const std::string &name) const
    {
        const qos::Reading *one = reading(name, PMUKIT_CACHE_QOS_EVENT_TOTAL);
        EXPECT_NE(one, nullptr) << name;
        return one && one->status & PMUKIT_CACHE_QOS_S_GAP;
    }
    const qos::Name *name_of(const std::string &beginning) const
    {
        for (uint32_t monitor = 1; monitor < 20; monitor++)
            if (const qos::Name *name = all_.names.find(monitor, 0);
                name && name->text.starts_with(beginning))
                return name;
        return nullptr;
    }

    TestFolder tree_;
    std::optional<Snapshots> snapshots_;
    Collected all_;
    qos::StreamDecoder decoder_{all_};
};

TEST_F(Resctrl, WordsInsteadOfAValueAreNoNumber)
{
    EXPECT_EQ(parse_value("Unavailable\n").kind, Value::Kind::kUnavailable);
    EXPECT_EQ(parse_value("Unassigned\n").kind, Value::Kind::kUnassigned);
    EXPECT_EQ(parse_value("Error\n").kind, Value::Kind::kError);
    EXPECT_EQ(parse_value("").kind, Value::Kind::kError);
    EXPECT_EQ(parse_value("-1").kind, Value::Kind::kError);
    EXPECT_EQ(parse_value("18446744073709551615\n").bytes, UINT64_MAX);
}

TEST_F(Resctrl, MountPointIsThatOfTheLastMountWithItsBlanks)
{
    tree_.put("proc/mounts",
              "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\nresctrl /a\\040b resctrl rw 0 0\n");
    EXPECT_EQ(mount_point(Host(tree_.dir())), "/a b");
    tree_.put("proc/mounts", "resctrl /mnt tmpfs rw 0 0\n");
    EXPECT_EQ(mount_point(Host(tree_.dir())), std::nullopt);
}

TEST_F(Resctrl, NotMountedIsAnErrorWithTheMountCommand)
{
    tree_.put("proc/mounts", "");
    const Result<Tree> tree = Tree::open(Host(tree_.dir()));
    ASSERT_FALSE(tree);
    EXPECT_NE(tree.error().message.find("mount -t resctrl resctrl /sys/fs/resctrl"),
              std::string::npos);
    EXPECT_NE(tree.error().message.find("cache_qos, if it is loaded, then yields"),
              std::string::npos);
}

TEST_F(Resctrl, MountWithoutMonitoringIsAnError)
{
    tree_.put("sys/fs/resctrl/schemata", "L3:0=ff\n");
    tree_.put("sys/fs/resctrl/cpus_list", "0\n");
    const Result<Tree> tree = Tree::open(Host(tree_.dir()));
    ASSERT_FALSE(tree);
    EXPECT_NE(tree.error().message.find("no mon_data/mon_L3_*"), std::string::npos);
}

TEST_F(Resctrl, UnreadableTreeIsAnErrorThatNamesRoot)
{
    if (::geteuid() != 0)
        GTEST_SKIP() << "only root can become another user";
    group("", "1", "1");
    fs::permissions(tree_.dir(), fs::perms::all);
    fs::permissions(tree_.path(kRoot), fs::perms::owner_all);
    ASSERT_EQ(::seteuid(65534), 0);
    const Result<Tree> tree = Tree::open(Host(tree_.dir()));
    ASSERT_EQ(::seteuid(0), 0);
    ASSERT_FALSE(tree);
    EXPECT_EQ(tree.error().code, Errc::kDenied);
    EXPECT_NE(tree.error().message.find("run as root"), std::string::npos);
}

TEST_F(Resctrl, GroupsAreControlGroupsAndTheirMonitoringGroups)
{
    for (const char *path : {"", "/g", "/g/mon_groups/m", "/mon_groups/n"})
        group(path, "1", "1");
    tree_.put("sys/fs/resctrl/info/L3_MON/num_rmids", "64\n");
    const Tree tree = opened();
    std::vector<std::pair<std::string, std::string>> found;
    for (const Group &one : tree.groups())
        found.emplace_back(one.path, one.control);
    EXPECT_EQ(found,
              (std::vector<std::pair<std::string, std::string>>{
                  {"/", ""}, {"/g", ""}, {"/g/mon_groups/m", "/g"}, {"/mon_groups/n", "/"}}));
    EXPECT_EQ(tree.rmids(), 64U);
}

TEST_F(Resctrl, SubNumaNodesAreDomainsWithAPartOfTheirL3)
{
    cache("0", "0", "32768K");
    cache("9", "1", "32768K");
    const std::pair<const char *, const char *> values[] = {{"mon_L3_00", "30"},
                                                            {"mon_L3_00/mon_sub_L3_00", "10"},
                                                            {"mon_L3_00/mon_sub_L3_01", "20"},
                                                            {"mon_L3_01/mon_sub_L3_02", "5"},
                                                            {"mon_L3_01/mon_sub_L3_03", "6"},
                                                            {"mon_L3_01", "11"}};
    for (const auto &[domain, text] : values)
        value("", domain, "llc_occupancy", text);
    tree_.put("sys/fs/resctrl/cpus_list", "0-15\n");
    pass();
    ASSERT_EQ(all_.headers.size(), 4U);
    for (const qos::Header &header : all_.headers)
        EXPECT_EQ(header.cache_bytes, 16U << 20);
    std::vector<std::pair<uint16_t, uint64_t>> found;
    for (const qos::Reading &one : all_.readings)
        found.emplace_back(one.domain, one.bytes);
    EXPECT_EQ(found,
              (std::vector<std::pair<uint16_t, uint64_t>>{{0, 10}, {1, 20}, {2, 5}, {3, 6}}));
}

// Cache ids of arm64 come from the firmware or from MPIDR_EL1 and may be large. MPAM has no local
// bandwidth.
TEST_F(Resctrl, CacheIdsAbove16BitsGetUnusedNumbers)
{
    for (const char *domain : {"mon_L3_00", "mon_L3_65536", "mon_L3_2"})
        value("", domain, "llc_occupancy", domain == std::string("mon_L3_65536") ? "7" : "1");
    value("", "mon_L3_65536", "mbm_total_bytes", "9");
    tree_.put("sys/fs/resctrl/cpus_list", "0-3\n");
    pass();
    EXPECT_EQ(snapshots().numbers(), (std::map<uint32_t, uint16_t>{{0, 0}, {2, 2}, {65536, 1}}));
    EXPECT_EQ(reading("/", PMUKIT_CACHE_QOS_EVENT_OCCUPANCY, 1)->bytes, 7U);
    EXPECT_EQ(reading("/", PMUKIT_CACHE_QOS_EVENT_TOTAL, 1)->bytes, 9U);
    EXPECT_EQ(reading("/", PMUKIT_CACHE_QOS_EVENT_TOTAL, 0), nullptr);
    EXPECT_EQ(reading("/", PMUKIT_CACHE_QOS_EVENT_LOCAL, 1), nullptr);
}

TEST_F(Resctrl, HeaderShowsThatResctrlIsTheSource)
{
    group("", "1", "1");
    pass();
    ASSERT_EQ(all_.headers.size(), 1U);
    EXPECT_EQ(qos::backend_name(all_.headers[0].backend), "resctrl");
}

TEST_F(Resctrl, NameHasThePathTheProcessesAndTheCpus)
{
    group("", "1", "1");
    group("/g", "1", "1");
    tree_.put("sys/fs/resctrl/g/tasks", "11\n12\n13\n");
    tree_.put("sys/fs/resctrl/g/cpus_list", "2-3\n");
    task("11", "11", "gzip", "/a");
    task("12", "11", "gzip", "/a");
    task("13", "13", "tar", "/b");
    pass();
    EXPECT_NE(name_of("/"), nullptr);
    ASSERT_NE(name_of("/g"), nullptr);
    EXPECT_EQ(name_of("/g")->text, "/g (gzip-11, tar-13, CPU 2-3)");
    tree_.put("sys/fs/resctrl/g/cpus_list", "\n");
    task("13", "13", "tar", "/a");
    pass();
    EXPECT_EQ(name_of("/g")->text, "/g (cgroup /a)");
    EXPECT_EQ(name_of("/g")->life, 1U) << "a new name is no new life";
}

TEST_F(Resctrl, LongNameKeepsThePath)
{
    const std::string path = "/" + std::string(150, 'g');
    group("", "1", "1");
    group(path, "1", "1");
    tree_.put(kRoot + path + "/tasks", "11\n");
    task("11", "11", "x", "/" + std::string(200, 'c'));
    pass();
    ASSERT_NE(name_of("/g"), nullptr);
    EXPECT_EQ(name_of("/g")->text.size(), 240U);
    EXPECT_TRUE(name_of("/g")->text.starts_with(path + " (cgroup /c"));
}

TEST_F(Resctrl, ReadingWithoutAValueIsMarkedAndNotZero)
{
    group("", "Unavailable", "Unassigned", "Error");
    pass();
    pass();
    for (const qos::Reading &one : all_.readings)
        EXPECT_FALSE(qos::has_value(one)) << unsigned{one.event};
    EXPECT_EQ(snapshots().unavailable(), 2U);
    EXPECT_EQ(snapshots().unassigned(), 2U);
    EXPECT_EQ(snapshots().errors(), 2U);
    for (const auto &[key, series] : all_.table.all()) {
        EXPECT_FALSE(series.has_value());
        EXPECT_EQ(series.readings(), 2U);
        EXPECT_TRUE(series.columns().empty());
        EXPECT_EQ(series.summary().max, 0U);
    }
}

TEST_F(Resctrl, ZeroIsAValue)
{
    group("", "0", "0", "0");
    pass();
    for (const qos::Reading &one : all_.readings)
        EXPECT_TRUE(qos::has_value(one));
}

TEST_F(Resctrl, RemovedGroupEndsAndItsPathNextHasAnotherLife)
{
    group("", "1", "1");
    group("/g", "10", "100");
    pass();
    const uint32_t number = reading("/g", PMUKIT_CACHE_QOS_EVENT_TOTAL)->monitor;
    tree_.folder("kept");  // so that the inode is not used again
    fs::rename(tree_.path("sys/fs/resctrl/g"), tree_.path("kept/g"));
    pass();
    EXPECT_EQ(name_of("/g"), nullptr);
    EXPECT_EQ(all_.names.find(number, 0)->life, 2U) << "a name of the next life is its end";
    EXPECT_EQ(all_.readings.size(), 3U);
    group("/g", "5", "50");
    pass();
    ASSERT_NE(reading("/g", PMUKIT_CACHE_QOS_EVENT_TOTAL), nullptr);
    EXPECT_EQ(reading("/g", PMUKIT_CACHE_QOS_EVENT_TOTAL)->monitor, number);
    EXPECT_EQ(name_of("/g")->life, 2U);
    std::vector<std::string> lives;
    for (const auto &[key, series] : all_.table.all())
        if (key.monitor == number && key.event == PMUKIT_CACHE_QOS_EVENT_TOTAL)
            lives.push_back(qos::monitor_name(key) + " " + series.named()->text);
    EXPECT_EQ(lives, (std::vector<std::string>{"2 /g", "2#2 /g"}));
}

TEST_F(Resctrl, GroupMadeAgainBetweenTwoPassesHasAnotherLife)
{
    group("", "1", "1");
    group("/g", "10", "100");
    pass();
    tree_.folder("kept");
    fs::rename(tree_.path("sys/fs/resctrl/g"), tree_.path("kept/g"));
    group("/g", "10", "300");
    pass();
    EXPECT_EQ(name_of("/g")->life, 2U);
    EXPECT_EQ(total("/g"), 300U);
    EXPECT_FALSE(is_gap("/g")) << "it is complete since it was made";
}

TEST_F(Resctrl, RenamedGroupKeepsItsNumberLifeAndSum)
{
    group("", "1", "1");
    group("/mon_groups/a", "10", "100");
    pass();
    const uint32_t number = reading("/mon_groups/a", PMUKIT_CACHE_QOS_EVENT_TOTAL)->monitor;
    fs::rename(tree_.path("sys/fs/resctrl/mon_groups/a"),
               tree_.path("sys/fs/resctrl/mon_groups/b"));
    group("/mon_groups/b", "10", "150");
    pass();
    ASSERT_NE(reading("/mon_groups/b", PMUKIT_CACHE_QOS_EVENT_TOTAL), nullptr);
    EXPECT_EQ(reading("/mon_groups/b", PMUKIT_CACHE_QOS_EVENT_TOTAL)->monitor, number);
    EXPECT_EQ(name_of("/mon_groups/b")->life, 1U);
    EXPECT_EQ(total("/mon_groups/b"), 150U);
    EXPECT_FALSE(is_gap("/mon_groups/b"));
}

// Values of the file, and the sum that is written after each.
TEST_F(Resctrl, UnassignedCounterLosesTrafficButIsNeverCountedTwice)
{
    group("", "1", "1000");
    pass();
    EXPECT_EQ(total("/"), 1000U);
    group("", "1", "Unassigned");
    pass();
    EXPECT_FALSE(qos::has_value(*reading("/", PMUKIT_CACHE_QOS_EVENT_TOTAL)));
    group("", "1", "5000");  // assigned again: it began at 0, so that more than 4000 were counted
    pass();
    EXPECT_EQ(total("/"), 1000U);
    EXPECT_TRUE(is_gap("/"));
    group("", "1", "5100");
    pass();
    EXPECT_EQ(total("/"), 1100U);
}

TEST_F(Resctrl, UnavailableCounterCountsOn)
{
    group("", "1", "1000");
    pass();
    group("", "1", "Unavailable");
    pass();
    group("", "1", "1300");
    pass();
    EXPECT_EQ(total("/"), 1300U);
    EXPECT_FALSE(is_gap("/"));
}

TEST_F(Resctrl, CounterThatWasResetIsALowerBound)
{
    group("", "1", "1000");
    pass();
    group("", "1", "400");
    pass();
    EXPECT_EQ(total("/"), 1000U);
    EXPECT_TRUE(is_gap("/"));
    group("", "1", "500");
    pass();
    group("", "1", "650");
    pass();
    EXPECT_EQ(total("/"), 1150U);
}

// The kernel adds the values of monitoring groups to their control group.
TEST_F(Resctrl, MovedGroupDoesNotCountItsHistoryInItsNewControlGroup)
{
    group("", "1", "1");
    group("/a", "1", "1000");
    group("/a/mon_groups/m", "1", "900");
    group("/b", "1", "50");
    tree_.folder("sys/fs/resctrl/b/mon_groups");
    pass();
    fs::rename(tree_.path("sys/fs/resctrl/a/mon_groups/m"),
               tree_.path("sys/fs/resctrl/b/mon_groups/m"));
    group("/a", "1", "110");
    group("/b", "1", "1000");
    pass();
    EXPECT_EQ(total("/b"), 50U);
    EXPECT_TRUE(is_gap("/b"));
    EXPECT_EQ(total("/a"), 1000U);
    EXPECT_EQ(total("/b/mon_groups/m"), 900U);
    EXPECT_FALSE(is_gap("/b/mon_groups/m"));
    group("/b", "1", "1020");
    pass();
    EXPECT_EQ(total("/b"), 70U);
}

TEST_F(Resctrl, GroupThatGetsAValueDoesNotCountItsHistoryInItsControlGroup)
{
    group("", "1", "1");
    group("/a", "1", "100");
    group("/a/mon_groups/m", "1", "Unavailable");
    pass();
    group("/a", "1", "5100");
    group("/a/mon_groups/m", "1", "5000");
    pass();
    EXPECT_EQ(total("/a"), 100U);
    EXPECT_TRUE(is_gap("/a"));
    group("/a", "1", "5150");
    group("/a/mon_groups/m", "1", "5050");
    pass();
    EXPECT_EQ(total("/a"), 150U);
}

TEST_F(Resctrl, NewMonitoringGroupLeavesItsControlGroupComplete)
{
    group("", "1", "100");
    pass();
    group("/mon_groups/m", "1", "10");
    group("", "1", "140");
    pass();
    EXPECT_EQ(total("/"), 140U);
    EXPECT_FALSE(is_gap("/"));
}

TEST_F(Resctrl, DomainThatCameBackIsALowerBound)
{
    group("", "1", "100");
    value("", "mon_L3_01", "mbm_total_bytes", "500");
    pass();
    tree_.remove("sys/fs/resctrl/mon_data/mon_L3_01");
    pass();
    value("", "mon_L3_01", "mbm_total_bytes", "700");
    pass();
    const qos::Reading *one = reading("/", PMUKIT_CACHE_QOS_EVENT_TOTAL, 1);
    ASSERT_NE(one, nullptr);
    EXPECT_EQ(one->bytes, 500U);
    EXPECT_TRUE(one->status & PMUKIT_CACHE_QOS_S_GAP);
}

TEST_F(Resctrl, DomainThatVanishesHasOneFailedReadingPerGroupAndEvent)
{
    for (const char *of : {"", "/g"}) {
        group(of, "1", "100");
        value(of, "mon_L3_01", "llc_occupancy", "7");
        value(of, "mon_L3_01", "mbm_total_bytes", "500");
    }
    pass();
    for (const char *of : {"", "/g"})
        tree_.remove(std::string(kRoot) + of + "/mon_data/mon_L3_01");
    pass();
    for (const char *name : {"/", "/g"})
        for (const uint8_t event :
             {PMUKIT_CACHE_QOS_EVENT_OCCUPANCY, PMUKIT_CACHE_QOS_EVENT_TOTAL}) {
            const qos::Reading *one = reading(name, event, 1);
            ASSERT_NE(one, nullptr) << name;
            EXPECT_TRUE(one->status & PMUKIT_CACHE_QOS_S_ERROR);
            EXPECT_FALSE(qos::has_value(*one));
        }
    EXPECT_EQ(snapshots().gone(), 4U);
    pass();
    EXPECT_EQ(reading("/", PMUKIT_CACHE_QOS_EVENT_TOTAL, 1), nullptr);
    EXPECT_EQ(all_.readings.size(), 6U) << "those of the other L3";
    EXPECT_EQ(snapshots().gone(), 4U);
    EXPECT_FALSE(is_gap("/")) << "of the other L3";
}

TEST_F(Resctrl, UnmountEndsTheDefaultGroup)
{
    group("", "1", "1");
    group("/g", "1", "1");
    pass();
    const uint32_t root = reading("/", PMUKIT_CACHE_QOS_EVENT_TOTAL)->monitor;
    EXPECT_FALSE(snapshots().is_unmounted());
    tree_.remove("sys/fs/resctrl/mon_data");
    pass();
    EXPECT_TRUE(snapshots().is_unmounted());
    EXPECT_TRUE(all_.readings.empty());
    ASSERT_NE(all_.names.find(root, 0), nullptr);
    EXPECT_EQ(all_.names.find(root, 0)->text, "");
    EXPECT_EQ(all_.names.find(root, 0)->life, 2U) << "a name of the next life is its end";
    EXPECT_EQ(snapshots().removed(), 0U);
}

TEST_F(Resctrl, UnmountBeforeTheFirstPassHasNoRecord)
{
    group("", "1", "1");
    snapshots();
    tree_.remove("sys/fs/resctrl/mon_data");
    EXPECT_TRUE(snapshots().pass(2000, false).empty());
    EXPECT_TRUE(snapshots().is_unmounted());
}

// The commands

class ResctrlCommands : public Resctrl {
protected:
    std::string output() const { return tree_.path("perf.data"); }
    Result<int> record(const std::string &event, RecordCommandOptions options = {})
    {
        const Fd fd(::open("/dev/null", O_WRONLY | O_CLOEXEC));
        Output out(fd.get(), "/dev/null");
        options.events = {event};
        options.output = output();
        options.root = tree_.dir();
        options.quiet = true;
        if (options.command.empty())
            options.command = {"sleep", "0.1"};
        return run_record(options, out);
    }
    template <typename Run>
    std::string printed(const Run &run) const
    {
        const std::string path = tree_.path("out");
        const Fd fd(::open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600));
        Output out(fd.get(), path);
        const Result<int> status = run(out);
        EXPECT_TRUE(status) << status.error().message;
        EXPECT_TRUE(out.finish());
        return *read_small_file(path);
    }
    std::string report(bool json)
    {
        ReportOptions options;
        options.input = output();
        options.json = json;
        return printed([&](Output &out) { return run_report(options, out); });
    }
    std::string metrics() const
    {
        ExportOptions options;
        options.input = output();
        options.format = "openmetrics";
        options.output = tree_.path("metrics");
        options.force = true;
        printed([&](Output &out) { return run_export(options, out); });
        return *read_small_file(options.output);
    }
};

TEST_F(ResctrlCommands, RecordingHasTheValuesOfTheFilesInTheReport)
{
    cache("0", "0", "1024K");
    group("", "262144", "5000", "4000");
    group("/g", "524288", "900", "Unassigned");
    const Result<int> status = record("resctrl/interval_ms=20/");
    ASSERT_TRUE(status) << status.error().message;
    EXPECT_EQ(*status, kExitGood);
    const auto pmu = nlohmann::json::parse(report(true))["pmus"][0];
    EXPECT_EQ(pmu["pmu"], "resctrl");
    EXPECT_EQ(pmu["domains"][0]["backend"], "resctrl");
    EXPECT_EQ(pmu["domains"][0]["cache_bytes"], 1 << 20);
    EXPECT_GE(pmu["readings"], 2 * 6);
    EXPECT_EQ(pmu["missing"], 0);
    ASSERT_EQ(pmu["monitors"].size(), 6U);
    const auto &root = pmu["monitors"][0], &local = pmu["monitors"][5];
    EXPECT_EQ(root["name"], "/");
    EXPECT_EQ(root["kind"], "group");
    EXPECT_EQ(root["last_bytes"], 262144);
    EXPECT_EQ(root["share"], 0.25);
    EXPECT_EQ(root["share_of"], "last");
    EXPECT_TRUE(local["share"].is_null());
    EXPECT_TRUE(local["share_of"].is_null());
    EXPECT_EQ(local["name"], "/g");
    EXPECT_EQ(local["event"], "local_bytes");
    EXPECT_TRUE(local["last_bytes"].is_null());
    EXPECT_EQ(local["status"], "unavailable,gap");
    const std::string text = report(false);
    EXPECT_NE(text.find("L3 0: 1048576 bytes, - RMIDs, read by resctrl"), std::string::npos);
    EXPECT_NE(text.find(kMeaning), std::string::npos);
}

// Leaves 1 and 0x40000000 of a processor that QEMU emulates, of a guest under KVM, and of a
// processor without a hypervisor, whose leaf 0x40000000 may have any value.
TEST_F(ResctrlCommands, RecordingIsThatOfAModelOnlyIfQemuEmulatesTheProcessor)
{
    constexpr const char *kTcg = "eax=0x40000001 ebx=0x54474354 ecx=0x43544743 edx=0x47435447";
    constexpr const char *kKvm = "eax=0x40000001 ebx=0x4b4d564b ecx=0x564b4d56 edx=0x0000004d";
    const std::tuple<const char *, const char *, nlohmann::json> machines[] = {
        {"0x80000000", kTcg, "model"},
        {"0x80000000", kKvm, nullptr},
        {"0x00000000", kTcg, nullptr}};
    group("", "1", "1");
    for (const auto &[features, signature, source] : machines) {
        tree_.put("cpuid", fmt::format("CPU 0:\n"
                                       "   0x00000001 0x00: eax=0x000806f8 ebx=0x00000000 ecx={} "
                                       "edx=0x00000000\n   0x40000000 0x00: {}\n",
                                       features, signature));
        ASSERT_TRUE(record("resctrl//"));
        EXPECT_EQ(nlohmann::json::parse(report(true))["pmus"][0]["source"], source) << signature;
    }
    tree_.remove("cpuid");
    ASSERT_TRUE(record("resctrl//"));
    EXPECT_TRUE(nlohmann::json::parse(report(true))["pmus"][0]["source"].is_null());
}

TEST_F(ResctrlCommands, RecordRefusesWhatDoesNotApplyToGroups)
{
    group("", "1", "1");
    const auto refused = [&](const std::string &event, RecordCommandOptions options,
                             const std::string &what) {
        const Result<int> status = record(event, std::move(options));
        ASSERT_FALSE(status) << event;
        EXPECT_EQ(status.error().code, Errc::kUsage);
        EXPECT_NE(status.error().message.find(what), std::string::npos) << status.error().message;
    };
    RecordCommandOptions of_process;
    of_process.processes = "1";
    refused("resctrl//", of_process, "-p does not apply to resctrl//");
    RecordCommandOptions clock;
    clock.clock = "CLOCK_REALTIME";
    refused("resctrl//", clock, "-k does not apply");
    refused("resctrl//,cpu-clock", {}, "resctrl is recorded alone");
    refused("resctrl//u", {}, "no modifiers");
    refused("resctrl/snapshot/", {}, "no term 'snapshot'");
    refused("resctrl/interval_ms=0/", {}, "interval_ms is 10 to");
    EXPECT_FALSE(fs::exists(output()));
}

TEST_F(ResctrlCommands, RecordWithoutAMountFailsBeforeTheCommandRuns)
{
    tree_.put("proc/mounts", "");
    RecordCommandOptions options;
    options.command = {"touch", tree_.path("ran")};
    const Result<int> status = record("resctrl//", options);
    ASSERT_FALSE(status);
    EXPECT_NE(status.error().message.find("mount -t resctrl"), std::string::npos);
    EXPECT_FALSE(fs::exists(tree_.path("ran")));
    EXPECT_FALSE(fs::exists(output()));
}

TEST_F(ResctrlCommands, UnmountWhileRecordingEndsTheFileAndTheStatusIsFailure)
{
    group("", "1", "7");
    RecordCommandOptions options;
    options.command = {
        "sh", "-c", "sleep 0.1; mv " + tree_.path(kRoot) + " " + tree_.path("gone") + "; sleep 60"};
    const Result<int> status = record("resctrl/interval_ms=10/", options);
    ASSERT_TRUE(status) << status.error().message;
    EXPECT_EQ(*status, kExitFailed);
    const auto pmu = nlohmann::json::parse(report(true))["pmus"][0];
    EXPECT_EQ(pmu["monitors"].size(), 3U);
    EXPECT_EQ(pmu["unmounts"], 1);
    EXPECT_EQ(pmu["removed_groups"], 0);
    EXPECT_EQ(pmu["failed"], 0);
    const std::string text = report(false);
    EXPECT_EQ(text.find("nothing lost"), std::string::npos) << text;
    EXPECT_NE(text.find("\n  1 time resctrl was unmounted: readings end there\n"),
              std::string::npos)
        << text;
    EXPECT_NE(metrics().find("driver=\"cache_qos\",kind=\"unmounted\"} 1\n"), std::string::npos)
        << metrics();
}

TEST_F(ResctrlCommands, FileAfterAnUnmountOfASeriesSaysSo)
{
    group("", "1", "7");
    Snapshots passes(opened());
    passes.begin();
    ASSERT_FALSE(passes.pass(1000, false).empty());
    passes.begin();
    tree_.remove("sys/fs/resctrl/mon_data");
    Collected next;
    qos::StreamDecoder decoder(next);
    decoder.data(passes.pass(2000, false));
    EXPECT_EQ(next.headers.size(), 1U);
    EXPECT_EQ(next.names.find(1, 0)->text, "");
}

TEST_F(ResctrlCommands, RemovedGroupAndFailedReadAreLossesOfTheRecording)
{
    group("", "1", "7");
    group("/g", "1", "7");
    group("/mon_groups/m", "1", "7");
    RecordCommandOptions options;
    options.command = {"sh", "-c",
                       "sleep 0.1; mv " + tree_.path(kRoot) + "/g " + tree_.path("gone") + "; rm " +
                           tree_.path(kRoot) + "/mon_groups/m/mon_data/*/llc_occupancy; sleep 0.3"};
    const Result<int> status = record("resctrl/interval_ms=10/", options);
    ASSERT_TRUE(status) << status.error().message;
    EXPECT_EQ(*status, kExitGood);
    const auto pmu = nlohmann::json::parse(report(true))["pmus"][0];
    EXPECT_EQ(pmu["unmounts"], 0);
    EXPECT_EQ(pmu["removed_groups"], 1);
    const uint64_t failed = pmu["failed"];
    EXPECT_GT(failed, 0U);
    const std::string text = report(false);
    EXPECT_EQ(text.find("nothing lost"), std::string::npos) << text;
    EXPECT_NE(text.find(fmt::format("\n  {}: the read failed (error)\n",
                                    counted(failed, "readings are missing"))),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("\n  1 group of resctrl was removed: values after"), std::string::npos)
        << text;
    EXPECT_NE(metrics().find(fmt::format("kind=\"read-failed\"}} {}\n", failed)), std::string::npos)
        << metrics();
    EXPECT_NE(metrics().find("kind=\"group-removed\"} 1\n"), std::string::npos);
}

TEST_F(ResctrlCommands, EachFileOfASeriesHasHeadersAndNames)
{
    group("", "1", "7");
    RecordCommandOptions options;
    options.interval = "1";
    options.command = {"sleep", "1.3"};
    ASSERT_TRUE(record("resctrl/interval_ms=100/", options));
    for (const char *number : {".000001", ".000002"}) {
        ReportOptions of;
        of.input = output() + number;
        of.json = true;
        const auto pmu = nlohmann::json::parse(
            printed([&](Output &out) { return run_report(of, out); }))["pmus"][0];
        EXPECT_EQ(pmu["domains"].size(), 1U) << number;
        EXPECT_EQ(pmu["monitors"][0]["name"], "/") << number;
        EXPECT_EQ(pmu["missing"], 0) << number;
    }
}

TEST_F(ResctrlCommands, ListShowsGroupsEventsAndTheRecordCommand)
{
    tree_.folder("sys/bus/event_source/devices");
    group("", "1", "1");
    group("/g", "1", "1");
    tree_.put("sys/fs/resctrl/mode", "shareable\n");
    tree_.put("sys/fs/resctrl/g/mode", "exclusive\n");
    tree_.put("sys/fs/resctrl/g/cpus_list", "3\n");
    tree_.put("sys/fs/resctrl/info/L3_MON/num_rmids", "256\n");
    tree_.put("sys/fs/resctrl/info/L3_MON/mbm_assign_mode", "[mbm_event]\ndefault\n");
    ListOptions options;
    options.root = tree_.dir();
    EXPECT_EQ(printed([&](Output &out) { return run_list(options, out); }),
              "resctrl  driver cache_qos  mounted on /sys/fs/resctrl\n"
              "  events: llc_occupancy total_bytes local_bytes\n"
              "  domains: mon_L3_00\n"
              "  RMIDs: 256\n"
              "  bandwidth counters: assigned (mbm_event)\n"
              "  groups:\n"
              "    /  shareable\n"
              "    /g  exclusive  CPU 3\n"
              "  source resctrl: counted by group, not by process; a control group includes its "
              "mon_groups, other groups do not nest\n"
              "  record: pmukit record -e resctrl// -- sleep 1\n");
    options.json = true;
    const auto json =
        nlohmann::json::parse(printed([&](Output &out) { return run_list(options, out); }));
    EXPECT_TRUE(json["pmus"].empty());
    EXPECT_EQ(json["sources"][0]["groups"][1]["members"], "CPU 3");
    EXPECT_EQ(json["sources"][0]["assign_mode"], "mbm_event");
}

}  // namespace
}  // namespace pmukit::cli::resctrl
