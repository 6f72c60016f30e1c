// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// pmukit qualify on trees of files. Device memory and MSRs in files keep written values and do not
// react, so that only the tree determines each verdict.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef PMUKIT_ZSTD
#include <zstd.h>
#endif

#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "base/bytes.hpp"
#include "base/fd.hpp"
#include "base/test_folder.hpp"
#include "cli/qualify/check.hpp"
#include "cli/qualify/tar.hpp"

namespace pmukit::cli::qualify {
namespace {

struct Ended {
    int status;
    std::string text;  // standard output and standard error
};

Ended run(const std::string &words)
{
    const std::string command = std::string(PMUKIT_COMMAND) + " " + words + " 2>&1";
    FILE *pipe = ::popen(command.c_str(), "r");
    EXPECT_NE(pipe, nullptr);
    std::string text;
    char part[4096];
    for (size_t got; (got = ::fread(part, 1, sizeof part, pipe)) > 0;)
        text.append(part, got);
    const int status = ::pclose(pipe);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text};
}

std::string contents(const std::string &path)
{
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

template <typename T>
void put(std::string &bytes, size_t offset, T value)
{
    ASSERT_LE(offset + sizeof value, bytes.size());
    store_le<T>(reinterpret_cast<std::byte *>(bytes.data()) + offset, value);
}

template <typename T>
T get(const std::string &bytes, size_t offset)
{
    return load_le<T>(reinterpret_cast<const std::byte *>(bytes.data()) + offset);
}

// A minimal machine that passes the checks.
class Tree {
public:
    Tree()
    {
        folder_.put("sys/devices/system/cpu/online", "0\n");
        folder_.put("sys/devices/system/cpu/cpu0/topology/physical_package_id", "0\n");
        folder_.put("proc/mounts", "sysfs /sys sysfs rw 0 0\n");
        folder_.put("proc/iomem",
                    "00001000-000fffff : System RAM\n"
                    "c0000000-cfffffff : PCI Bus 0000:00\n");
        folder_.put("proc/sys/kernel/hostname", "secret-host\n");
    }
    TestFolder &folder() { return folder_; }

    // Parsed output of `pmukit qualify --json`.
    nlohmann::json report(const std::string &options, const std::string &driver, int status)
    {
        const Ended ended =
            run("qualify --json --root " + folder_.dir() + " " + options + " " + driver);
        EXPECT_EQ(ended.status, status) << ended.text;
        const nlohmann::json json = nlohmann::json::parse(ended.text, nullptr, false);
        EXPECT_FALSE(json.is_discarded()) << ended.text;
        return json;
    }

    void pci(const std::string &name, uint32_t vendor, uint32_t device, const std::string &type,
             const std::string &config, unsigned bar, uint64_t start, size_t bar_bytes,
             uint64_t flags = 0x40200)
    {
        const std::string path = "sys/bus/pci/devices/" + name;
        folder_.put(path + "/vendor", text_of("{:#06x}\n", vendor));
        folder_.put(path + "/device", text_of("{:#06x}\n", device));
        folder_.put(path + "/class", type + "\n");
        folder_.put(path + "/config", config);
        std::string resource;
        for (unsigned i = 0; i < 6; i++)
            append(resource, "{:#018x} {:#018x} {:#018x}\n", i == bar ? start : 0,
                   i == bar ? start + bar_bytes - 1 : 0, i == bar ? flags : 0);
        folder_.put(path + "/resource", resource);
    }

private:
    TestFolder folder_;
};

std::string config_space(uint16_t vendor, uint16_t device)
{
    std::string config(4096, '\0');
    put<uint16_t>(config, 0, vendor);
    put<uint16_t>(config, 2, device);
    put<uint16_t>(config, 4, 2);     // command register: decodes memory
    put<uint16_t>(config, 6, 0x10);  // status register: has capabilities
    return config;
}

std::string verdict_of(const nlohmann::json &report, unsigned number, std::string *seen = nullptr)
{
    for (const auto &line : report["devices"][0]["checks"])
        if (line["number"] == number) {
            if (seen)
                *seen = line["seen"];
            return line["verdict"];
        }
    return "no such number";
}

std::string seen_of(const nlohmann::json &report, unsigned number)
{
    std::string seen;
    verdict_of(report, number, &seen);
    return seen;
}

// The list of statements

TEST(QualifyList, StatementsAreNumberedAndHaveASourceAndACheck)
{
    ASSERT_EQ(drivers().size(), 5u);
    for (const Driver &driver : drivers()) {
        unsigned number = 0;
        for (const Statement &statement : driver.statements()) {
            EXPECT_EQ(statement.number, ++number) << driver.name;
            EXPECT_TRUE(*statement.text && *statement.source && *statement.how)
                << driver.name << " " << number;
        }
        EXPECT_GT(number, 0u);
    }
}

TEST(QualifyList, ListsEveryStatementWithoutRegisterAccess)
{
    for (const Driver &driver : drivers()) {
        const Ended ended = run("qualify --list --root /nowhere " + std::string(driver.name));
        EXPECT_EQ(ended.status, 0) << ended.text;
        for (const Statement &statement : driver.statements())
            EXPECT_TRUE(std::regex_search(
                ended.text,
                std::regex(text_of("(^|\n) *{}  (read|write|event|outside)", statement.number))))
                << driver.name << " " << statement.number;
    }
}

TEST(QualifyCommand, ExitStatusDistinguishesUsageErrorMissingFolderAndMissingHardware)
{
    Tree tree;
    const std::string root = " --root " + tree.folder().dir();
    EXPECT_EQ(run("qualify" + root).status, 2);
    EXPECT_EQ(run("qualify nonsense" + root).status, 2);
    EXPECT_EQ(run("qualify --full imc" + root).status, 2);
    EXPECT_EQ(run("qualify --bundle - imc" + root).status, 2);
    EXPECT_EQ(run("qualify --root /nowhere imc").status, 1);
    for (const Driver &driver : drivers()) {
        const Ended ended = run("qualify " + std::string(driver.name) + root);
        EXPECT_EQ(ended.status, 69) << ended.text;
        EXPECT_EQ(std::ranges::count(ended.text, '\n'), 1) << ended.text;
        EXPECT_NE(ended.text.find(driver.name), std::string::npos) << ended.text;
    }
}

// Records which files are opened, also by other processes.
class Opened {
public:
    Opened() : events_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {}
    void watch(const std::string &path, const std::string &name)
    {
        const int id = ::inotify_add_watch(events_.get(), path.c_str(), IN_OPEN);
        ASSERT_GE(id, 0) << path;
        names_[id] = name;
    }
    // Names of the files that were opened since the last call.
    std::set<std::string> names()
    {
        std::set<std::string> found;
        inotify_event event;  // events of a watched file have no name
        while (::read(events_.get(), &event, sizeof event) == sizeof event)
            found.insert(names_[event.wd]);
        return found;
    }

private:
    Fd events_;
    std::map<int, std::string> names_;
};

TEST(QualifyCommand, ReadsConfigurationSpaceOnlyOfTheDriversFunctions)
{
    struct Function {
        const char *name;
        uint16_t vendor, device;
        const char *type;
    };
    constexpr Function kFunctions[] = {{"0000:00:01.0", 0x8086, 0x1521, "0x020000"},
                                       {"0000:00:02.0", 0x19e5, 0xa12e, "0x120000"},
                                       {"0000:00:03.0", 0x19e5, 0xa222, "0x020000"},
                                       {"0000:00:04.0", 0x1234, 0x4348, "0x050210"},
                                       {"0000:00:05.0", 0x1234, 0x0001, "0x060400"}};
    const std::map<std::string_view, std::set<std::string>> kRead = {
        {"cxl_hmu", {"0000:00:04.0"}},
        {"hisi_ptt", {"0000:00:02.0"}},
        {"uncore_pmon", {"0000:00:01.0"}}};
    Tree tree;
    Opened opened;
    for (const Function &function : kFunctions) {
        tree.pci(function.name, function.vendor, function.device, function.type,
                 config_space(function.vendor, function.device), 0, 0xc0000000, 4096);
        opened.watch(tree.folder().path(text_of("sys/bus/pci/devices/{}/config", function.name)),
                     function.name);
    }
    for (const Driver &driver : drivers()) {
        run("qualify --root " + tree.folder().dir() + " " + std::string(driver.name));
        const auto expected = kRead.find(driver.name);
        EXPECT_EQ(opened.names(),
                  expected == kRead.end() ? std::set<std::string>() : expected->second)
            << driver.name;
    }
}

// cxl_hmu: one instance whose registers are a file.

constexpr size_t kHmuBar = 0x20000, kHmuBlock = 0x10000, kHmuInstance = kHmuBlock + 0x10;
constexpr const char *kHmuName = "0000:0d:00.0";

class QualifyCxlHmu : public testing::Test {
protected:
    QualifyCxlHmu()
    {
        config_ = config_space(0x1234, 0x4348);
        put<uint32_t>(config_, 0x100, 0x23 | 1 << 16);
        put<uint32_t>(config_, 0x104, 0x1e98 | 0x14 << 20);
        put<uint16_t>(config_, 0x108, 8);
        put<uint32_t>(config_, 0x10c, 0 | 5 << 8 | kHmuBlock);
        bar_ = std::string(kHmuBar, '\0');
        put<uint64_t>(bar_, kHmuBlock, 1 | 1 << 8);
        put<uint64_t>(bar_, kHmuBlock + 8, 0x1000);
        // An instance without interrupts, with access types 1 to 6, epochs of 1 ms to 1 s, 64
        // entries.
        put<uint64_t>(
            bar_, kHmuInstance,
            0x3full << 8 | 5ull << 16 | 1ull << 20 | 2ull << 32 | 1ull << 36 | 64ull << 48);
        put<uint64_t>(bar_, kHmuInstance + 8, 1ull << 4 | 1ull << 32 | 1ull << 48);
        put<uint64_t>(bar_, kHmuInstance + 0x10, 0x100);
        put<uint64_t>(bar_, kHmuInstance + 0x18, 0x200);
        put<uint64_t>(bar_, kHmuInstance + 0x48, 12 | 2ull << 48 | 1ull << 52);
        put<uint64_t>(bar_, kHmuInstance + 0x60, 16ull << 32);
    }
    void put_tree()
    {
        tree_.pci(kHmuName, 0x1234, 0x4348, "0x050210", config_, 0, 0xc0000000, kHmuBar);
        tree_.folder().put(text_of("sys/bus/pci/devices/{}/resource0", kHmuName), bar_);
    }
    std::string bar_after()
    {
        return contents(tree_.folder().path(text_of("sys/bus/pci/devices/{}/resource0", kHmuName)));
    }

    Tree tree_;
    std::string config_, bar_;
};

TEST_F(QualifyCxlHmu, ReadChecksPassAndWriteChecksNeedOptionActive)
{
    put_tree();
    const nlohmann::json report = tree_.report("", "cxl_hmu", 0);
    for (unsigned number = 1; number <= 12; number++)
        EXPECT_EQ(verdict_of(report, number), "PASS") << number << seen_of(report, number);
    EXPECT_EQ(verdict_of(report, 20), "NOT TESTED");
    EXPECT_NE(seen_of(report, 20).find("--active"), std::string::npos);
    EXPECT_EQ(bar_after(), bar_);
}

TEST_F(QualifyCxlHmu, RegistersThatDoNotReactFailTheirChecksAndAreRestored)
{
    put_tree();
    const nlohmann::json report = tree_.report("--active", "cxl_hmu", 1);
    EXPECT_EQ(verdict_of(report, 20), "PASS") << seen_of(report, 20);
    EXPECT_EQ(verdict_of(report, 21), "PASS") << seen_of(report, 21);
    EXPECT_EQ(verdict_of(report, 23), "FAIL") << seen_of(report, 23);
    EXPECT_EQ(verdict_of(report, 25), "FAIL") << seen_of(report, 25);
    EXPECT_EQ(verdict_of(report, 26), "NOT TESTED");
    EXPECT_EQ(bar_after(), bar_) << "every value is put back, after errors too";
}

TEST_F(QualifyCxlHmu, DoesNotWriteRegistersClaimedByADriver)
{
    tree_.folder().put("proc/iomem",
                       "c0000000-cfffffff : PCI Bus 0000:00\n"
                       "  c0000000-c001ffff : 0000:0d:00.0\n"
                       "    c0010010-c001007f : cxl_hmu\n");
    put_tree();
    const nlohmann::json report = tree_.report("--active", "cxl_hmu", 0);
    for (unsigned number = 20; number <= 31; number++) {
        EXPECT_EQ(verdict_of(report, number), "NOT TESTED") << number;
        EXPECT_NE(seen_of(report, number).find("cxl_hmu has claimed"), std::string::npos);
    }
    EXPECT_EQ(bar_after(), bar_);
}

TEST_F(QualifyCxlHmu, DoesNotWriteRegistersIfIomemHidesAddresses)
{
    tree_.folder().put("proc/iomem", "00000000-00000000 : PCI Bus 0000:00\n");
    put_tree();
    const nlohmann::json report = tree_.report("--active", "cxl_hmu", 0);
    EXPECT_EQ(verdict_of(report, 20), "NOT TESTED");
    EXPECT_EQ(bar_after(), bar_);
}

TEST_F(QualifyCxlHmu, DoesNotWriteRegistersOfAnEnabledInstance)
{
    put<uint64_t>(bar_, kHmuInstance + 0x60, 16ull << 32 | 1);
    put_tree();
    const nlohmann::json report = tree_.report("--active", "cxl_hmu", 0);
    EXPECT_EQ(verdict_of(report, 20), "NOT TESTED");
    EXPECT_NE(seen_of(report, 20).find("is enabled"), std::string::npos);
    EXPECT_EQ(bar_after(), bar_);
}

TEST_F(QualifyCxlHmu, EachWrongRegisterValueFailsTheCheckOfItsStatement)
{
    struct Wrong {
        size_t offset;
        uint64_t value;
        unsigned number;
    };
    const uint64_t cap0 = get<uint64_t>(bar_, kHmuInstance),
                   cap1 = get<uint64_t>(bar_, kHmuInstance + 8);
    const Wrong kWrong[] = {
        {kHmuBlock, 0 | 1 << 8, 1},
        {kHmuBlock, 1 | 9 << 8, 2},
        {kHmuBlock, 1, 2},
        {kHmuBlock + 8, 0xff00, 3 + 0},
        {kHmuBlock + 8, 0x68, 4},
        {kHmuInstance, ~uint64_t{0}, 5},
        {kHmuInstance + 8, cap1 & ~uint64_t{0xffffffff}, 6},
        {kHmuInstance + 8, cap1 | 1u << 31, 6},
        {kHmuInstance, cap0 & ~(uint64_t{0x3f} << 8), 7},
        {kHmuInstance + 8, (cap1 & ~(uint64_t{0xffff} << 32)) | uint64_t{2} << 32, 8},
        {kHmuInstance + 8, cap1 & ~(uint64_t{3} << 48), 9},
        {kHmuInstance, cap0 & ~(uint64_t{0xf} << 32), 10},
        {kHmuInstance, (cap0 & ~(uint64_t{0xffff} << 48)) | uint64_t{63} << 48, 11},
        {kHmuInstance + 0x18, 0x80, 12},
        {kHmuInstance + 0x18, 0x20000, 12},
        {kHmuInstance + 8, cap1 | uint64_t{1} << 53, 14},
        {kHmuInstance + 0x60, uint64_t{4} << 16, 15},
        {kHmuInstance + 0x68, 64, 16},
        {kHmuInstance + 0x200, ~uint64_t{0}, 18},
    };
    const std::string good = bar_;
    for (const Wrong &wrong : kWrong) {
        bar_ = good;
        put<uint64_t>(bar_, wrong.offset, wrong.value);
        if (wrong.number == 3)
            put<uint64_t>(bar_, kHmuBlock, 1 | 8 << 8);
        put_tree();
        const nlohmann::json report = tree_.report("", "cxl_hmu", 1);
        EXPECT_EQ(verdict_of(report, wrong.number), "FAIL")
            << wrong.number << ": " << seen_of(report, wrong.number);
    }
}

// hisi_ptt

constexpr const char *kPttName = "0000:00:18.0";

class QualifyHisiPtt : public testing::Test {
protected:
    QualifyHisiPtt()
    {
        config_ = config_space(0x19e5, 0xa12e);
        config_[0x34] = 0x40;
        put<uint16_t>(config_, 0x40, 0x10 | 0x50 << 8);
        put<uint16_t>(config_, 0x42, 9 << 4);
        put<uint16_t>(config_, 0x50, 0x05);
        port_ = config_space(0x1b36, 0x000c);
        port_[0x34] = 0x40;
        put<uint16_t>(port_, 0x40, 0x10);
        put<uint16_t>(port_, 0x42, 4 << 4);
        bar_ = std::string(4096, '\0');
        put<uint32_t>(bar_, 0x08b0, 1);
        put<uint32_t>(bar_, 0x0fe0, 0x00800080);
        put<uint32_t>(bar_, 0x0fe8, 2);
    }
    void put_tree()
    {
        tree_.pci("0000:00:10.0", 0x1b36, 0x000c, "0x060400", port_, 0, 0, 1);
        tree_.pci(kPttName, 0x19e5, 0xa12e, "0x120000", config_, 2, 0xc1000000, 4096);
        tree_.folder().put(text_of("sys/bus/pci/devices/{}/resource2", kPttName), bar_);
    }
    std::string bar_after()
    {
        return contents(tree_.folder().path(text_of("sys/bus/pci/devices/{}/resource2", kPttName)));
    }

    Tree tree_;
    std::string config_, port_, bar_;
};

TEST_F(QualifyHisiPtt, ReadChecksPass)
{
    put_tree();
    const nlohmann::json report = tree_.report("", "hisi_ptt", 0);
    for (unsigned number = 1; number <= 11; number++)
        EXPECT_EQ(verdict_of(report, number), "PASS") << number << seen_of(report, number);
    EXPECT_EQ(bar_after(), bar_);
}

TEST_F(QualifyHisiPtt, EachWrongRegisterValueFailsTheCheckOfItsStatement)
{
    struct Wrong {
        size_t offset;
        uint32_t value;
        unsigned number;
    };
    const Wrong kWrong[] = {
        {0x0fe8, ~0u, 4}, {0x0fe0, 0x00700080, 5}, {0x0fe0, 0x00900090, 5}, {0x08b0, 0, 8},
        {0x08a0, 1, 9},   {0x0890, 0x10, 10},      {0x0898, 1, 11},
    };
    const std::string good = bar_;
    for (const Wrong &wrong : kWrong) {
        bar_ = good;
        put<uint32_t>(bar_, wrong.offset, wrong.value);
        put_tree();
        const nlohmann::json report = tree_.report("", "hisi_ptt", 1);
        EXPECT_EQ(verdict_of(report, wrong.number), "FAIL")
            << wrong.number << ": " << seen_of(report, wrong.number);
    }
}

TEST_F(QualifyHisiPtt, RestoresWrittenRegisters)
{
    put_tree();
    const nlohmann::json report = tree_.report("--active", "hisi_ptt", 1);
    EXPECT_EQ(verdict_of(report, 13), "PASS");
    EXPECT_EQ(verdict_of(report, 14), "PASS");
    EXPECT_EQ(verdict_of(report, 16), "FAIL") << "a file answers 0xffff";
    EXPECT_EQ(verdict_of(report, 18), "NOT TESTED");
    std::string after = bar_after();
    // Register 0x0004 is not restored: a write to it starts a tuning operation.
    put<uint32_t>(after, 0x0004, get<uint32_t>(bar_, 0x0004));
    EXPECT_EQ(after, bar_);
}

TEST_F(QualifyHisiPtt, WritesNoRegisterOfADeviceThatIsBusMasterOrBound)
{
    put<uint16_t>(config_, 4, 6);
    put_tree();
    EXPECT_EQ(verdict_of(tree_.report("--active", "hisi_ptt", 0), 13), "NOT TESTED");
    EXPECT_EQ(bar_after(), bar_);

    put<uint16_t>(config_, 4, 2);
    put_tree();
    tree_.folder().link(text_of("sys/bus/pci/devices/{}/driver", kPttName),
                        "../../bus/pci/drivers/hisi_ptt");
    const nlohmann::json report = tree_.report("--active", "hisi_ptt", 0);
    EXPECT_EQ(verdict_of(report, 13), "NOT TESTED");
    EXPECT_NE(seen_of(report, 8).find("hisi_ptt has the registers"), std::string::npos);
    EXPECT_NE(seen_of(report, 8).find("ends running traces"), std::string::npos);
    EXPECT_NE(seen_of(report, 8).find("changes qos_tx_cpl"), std::string::npos);
    EXPECT_EQ(bar_after(), bar_);
}

// A file that can be read. Writes to it end in EPERM, as those to an MSR with msr.allow_writes=off.
class SealedFile {
public:
    explicit SealedFile(const std::string &bytes)
        : file_(::memfd_create("msr", MFD_CLOEXEC | MFD_ALLOW_SEALING))
    {
        EXPECT_EQ(::write(file_.get(), bytes.data(), bytes.size()),
                  static_cast<ssize_t>(bytes.size()));
        EXPECT_EQ(::fcntl(file_.get(), F_ADD_SEALS, F_SEAL_WRITE), 0);
    }
    // For this process and its children.
    std::string path() const { return text_of("/proc/{}/fd/{}", ::getpid(), file_.get()); }

private:
    Fd file_;
};

// uncore_pmon: a discovery table with one memory controller, whose registers are in the file
// dev/mem.

constexpr const char *kPmonName = "0000:7f:00.3";
constexpr uint64_t kBox = 0x202800, kGlobal = 0x200000;
constexpr uint64_t kMmio = uint64_t{1} << 62;
constexpr const char *kSapphireRapids =
    "CPU:\n   0x00000001 0x00: eax=0x000806f8 ebx=0x00000000 ecx=0x00000000 edx=0x00000000\n";

class QualifyUncorePmon : public testing::Test {
protected:
    QualifyUncorePmon()
    {
        config_ = config_space(0x8086, 0x09a7);
        put<uint32_t>(config_, 0x100, 0x23 | 1 << 16);
        put<uint32_t>(config_, 0x104, 0x8086 | 0x10 << 20);
        put<uint32_t>(config_, 0x108, 1);
        table_ = std::string(4096, '\0');
        put<uint64_t>(table_, 0, 1 | 3 << 8 | 1 << 16 | kMmio);
        put<uint64_t>(table_, 8, kGlobal);
        put<uint64_t>(table_, 24, 4 | 0x40 << 8 | 48 << 16 | 8ull << 24 | 1ull << 62);
        put<uint64_t>(table_, 32, kBox);
        put<uint64_t>(table_, 40, 6);
        memory_ = std::string(kBox + 0x1000, '\0');
    }
    void put_tree()
    {
        tree_.pci(kPmonName, 0x8086, 0x09a7, "0x088000", config_, 0, 0xc2000000, 4096);
        tree_.folder().put(text_of("sys/bus/pci/devices/{}/resource0", kPmonName), table_);
        tree_.folder().put("dev/mem", memory_);
    }
    // Adds a unit after the one in memory. It is accessed by MSRs and has one counter.
    void add_msr_unit(uint64_t control, uint16_t type = 0)
    {
        put<uint64_t>(table_, 0, 1 | 3 << 8 | 2 << 16 | kMmio);
        put<uint64_t>(table_, 48, 1 | 2 << 8 | 48 << 16 | 8ull << 24);
        put<uint64_t>(table_, 56, control);
        put<uint64_t>(table_, 64, type);
    }
    // Adds a second memory controller.
    void add_imc(uint64_t box)
    {
        put<uint64_t>(table_, 0, 1 | 3 << 8 | 2 << 16 | kMmio);
        put<uint64_t>(table_, 48, 4 | 0x40 << 8 | 48 << 16 | 8ull << 24 | kMmio);
        put<uint64_t>(table_, 56, box);
        put<uint64_t>(table_, 64, 6 | 1 << 16);
    }
    // Puts CPU 0 in node 0 and package 0, and CPU 1 in node 1 and package 1, each with its own
    // MSRs.
    void two_packages(const std::string &msrs_of_0, const std::string &msrs_of_1)
    {
        tree_.folder().put("sys/devices/system/cpu/online", "0-1\n");
        tree_.folder().put("sys/devices/system/cpu/cpu1/topology/physical_package_id", "1\n");
        tree_.folder().folder("sys/devices/system/cpu/cpu0/node0");
        tree_.folder().folder("sys/devices/system/cpu/cpu1/node1");
        tree_.folder().put("dev/cpu/0/msr", msrs_of_0);
        tree_.folder().put("dev/cpu/1/msr", msrs_of_1);
    }
    void in_node(const std::string &node)
    {
        tree_.folder().put(text_of("sys/bus/pci/devices/{}/numa_node", kPmonName), node + "\n");
    }

    Tree tree_;
    std::string config_, table_, memory_;
};

TEST_F(QualifyUncorePmon, ReadChecksPass)
{
    put_tree();
    const nlohmann::json report = tree_.report("", "uncore_pmon", 0);
    for (unsigned number : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 27, 29})
        EXPECT_EQ(verdict_of(report, number), "PASS") << number << seen_of(report, number);
    EXPECT_EQ(contents(tree_.folder().path("dev/mem")), memory_);
}

TEST_F(QualifyUncorePmon, RegistersThatDoNotReactFailTheirChecksAndAreRestored)
{
    put<uint32_t>(memory_, kBox, 1);
    put<uint64_t>(memory_, kBox + 8, 0x1234);
    put<uint32_t>(memory_, kBox + 0x40, 0x5);
    put_tree();
    const nlohmann::json report = tree_.report("--active", "uncore_pmon", 1);
    EXPECT_EQ(verdict_of(report, 17), "PASS") << seen_of(report, 17);
    EXPECT_EQ(verdict_of(report, 18), "PASS") << seen_of(report, 18);
    EXPECT_EQ(verdict_of(report, 19), "FAIL") << seen_of(report, 19);
    EXPECT_EQ(verdict_of(report, 20), "FAIL") << seen_of(report, 20);
    EXPECT_EQ(contents(tree_.folder().path("dev/mem")), memory_);
}

TEST_F(QualifyUncorePmon, DoesNotWriteUnitsInUseByADriver)
{
    put_tree();
    tree_.folder().folder("sys/bus/event_source/devices/uncore_imc_0");
    const nlohmann::json report = tree_.report("--active", "uncore_pmon", 0);
    for (unsigned number = 17; number <= 20; number++)
        EXPECT_NE(seen_of(report, number).find("uncore_imc_0 is a PMU"), std::string::npos);
    EXPECT_EQ(contents(tree_.folder().path("dev/mem")), memory_);
}

TEST_F(QualifyUncorePmon, DoesNotWriteUnitsInUseByAnotherProgram)
{
    tree_.folder().put("cpuid", kSapphireRapids);
    for (const uint64_t control : {kBox + 0x40, kBox + 0x4c, kBox + 0x54}) {
        const std::string idle = memory_;
        put<uint32_t>(memory_, control, 0x5);
        put_tree();
        const nlohmann::json report = tree_.report("--active", "uncore_pmon", 0);
        for (unsigned number = 17; number <= 20; number++) {
            EXPECT_EQ(verdict_of(report, number), "NOT TESTED");
            EXPECT_NE(seen_of(report, number).find("uncore_imc_0 is not frozen and has an event"),
                      std::string::npos)
                << seen_of(report, number);
        }
        EXPECT_EQ(contents(tree_.folder().path("dev/mem")), memory_);
        memory_ = idle;
    }
}

TEST_F(QualifyUncorePmon, DoesNotWriteMsrsInUseByAnotherProgram)
{
    put<uint32_t>(memory_, kBox, 1);
    add_msr_unit(0x2000);
    put_tree();
    std::string msrs(8 * 0x3000, '\0');
    put<uint64_t>(msrs, 8 * 0x2002, 0x5);
    tree_.folder().put("dev/cpu/0/msr", msrs);
    EXPECT_NE(seen_of(tree_.report("--active", "uncore_pmon", 0), 21).find("another program"),
              std::string::npos);
    put<uint64_t>(msrs, 8 * 0x2000, 1);
    tree_.folder().put("dev/cpu/0/msr", msrs);
    EXPECT_EQ(verdict_of(tree_.report("--active", "uncore_pmon", 1), 21), "PASS");
    EXPECT_EQ(contents(tree_.folder().path("dev/cpu/0/msr")), msrs);
}

TEST_F(QualifyUncorePmon, MsrsThatTheKernelDoesNotLetProgramsWriteAreNotTested)
{
    put<uint32_t>(memory_, kBox, 1);
    add_msr_unit(0x2000);
    put_tree();
    const SealedFile msrs(std::string(8 * 0x3000, '\0'));
    tree_.folder().folder("dev/cpu/0");
    tree_.folder().link("dev/cpu/0/msr", msrs.path());
    const nlohmann::json report = tree_.report("--active", "uncore_pmon", 1);
    EXPECT_EQ(verdict_of(report, 14), "PASS") << seen_of(report, 14);
    EXPECT_EQ(verdict_of(report, 21), "NOT TESTED");
    EXPECT_NE(seen_of(report, 21).find("allow_writes"), std::string::npos) << seen_of(report, 21);
}

TEST_F(QualifyUncorePmon, UnitAddressesInRamAndInvalidTablesFailTheirChecks)
{
    tree_.folder().put("proc/iomem", "00000000-0fffffff : System RAM\n");
    put_tree();
    nlohmann::json report = tree_.report("--active", "uncore_pmon", 1);
    EXPECT_EQ(verdict_of(report, 7), "FAIL");
    EXPECT_EQ(contents(tree_.folder().path("dev/mem")), memory_);

    put<uint64_t>(table_, 24, 0 | 0x40 << 8 | 48 << 16 | 8ull << 24 | 1ull << 62);
    put_tree();
    EXPECT_EQ(verdict_of(tree_.report("", "uncore_pmon", 1), 3), "FAIL");
    put<uint64_t>(table_, 0, 1 | 2 << 8 | 1 << 16);
    put_tree();
    EXPECT_EQ(verdict_of(tree_.report("", "uncore_pmon", 1), 2), "FAIL");
    put<uint32_t>(config_, 0x10c, 0x8);
    put_tree();
    EXPECT_EQ(verdict_of(tree_.report("", "uncore_pmon", 1), 1), "FAIL");
}

TEST_F(QualifyUncorePmon, UnresponsiveUnitsAreNotTested)
{
    std::fill_n(memory_.begin() + kBox, 0x58, '\xff');
    put_tree();
    const nlohmann::json report = tree_.report("--active", "uncore_pmon", 0);
    for (unsigned number : {10, 11, 17, 18, 19, 20})
        EXPECT_EQ(verdict_of(report, number), "NOT TESTED") << number << seen_of(report, number);
    EXPECT_EQ(contents(tree_.folder().path("dev/mem")), memory_);
}

TEST_F(QualifyUncorePmon, UnresponsiveUnitDoesNotAffectOtherUnits)
{
    std::fill_n(memory_.begin() + kBox, 0x58, '\xff');
    add_imc(kBox + 0x800);
    put_tree();
    const nlohmann::json report = tree_.report("", "uncore_pmon", 0);
    for (unsigned number : {10, 11}) {
        EXPECT_EQ(verdict_of(report, number), "PASS") << seen_of(report, number);
        EXPECT_NE(seen_of(report, number).find("1 of 2"), std::string::npos)
            << seen_of(report, number);
    }
}

TEST_F(QualifyUncorePmon, DoesNotWriteAUnitWithAnUnresponsiveControlRegister)
{
    put<uint32_t>(memory_, kBox, 1);
    put<uint32_t>(memory_, kBox + 0x44, ~0u);
    put_tree();
    const nlohmann::json report = tree_.report("--active", "uncore_pmon", 0);
    EXPECT_EQ(verdict_of(report, 17), "NOT TESTED") << seen_of(report, 17);
    EXPECT_EQ(contents(tree_.folder().path("dev/mem")), memory_);
}

TEST_F(QualifyUncorePmon, FixedCounterIsTestedOnlyOnKnownPlatforms)
{
    put<uint32_t>(memory_, kBox, 1);
    put<uint64_t>(memory_, kBox + 0x38, 0x77);
    put<uint32_t>(memory_, kBox + 0x54, 1 << 22);
    put_tree();
    EXPECT_EQ(verdict_of(tree_.report("--active", "uncore_pmon", 1), 26), "NOT TESTED");
    tree_.folder().put("cpuid", kSapphireRapids);
    const nlohmann::json report = tree_.report("--active", "uncore_pmon", 1);
    EXPECT_EQ(verdict_of(report, 26), "FAIL") << "a file does not count: " << seen_of(report, 26);
    EXPECT_EQ(contents(tree_.folder().path("dev/mem")), memory_);
    put<uint16_t>(config_, 2, 0x09a1);
    put_tree();
    tree_.folder().put(text_of("sys/bus/pci/devices/{}/device", kPmonName), "0x09a1\n");
    EXPECT_EQ(verdict_of(tree_.report("--active", "uncore_pmon", 1), 26), "NOT TESTED");
    EXPECT_EQ(contents(tree_.folder().path("dev/mem")), memory_);
}

TEST_F(QualifyUncorePmon, GlobalControlThatFreezesUnitsFailsItsCheckAndClocksAreNotTested)
{
    tree_.folder().put("cpuid", kSapphireRapids);
    put<uint32_t>(memory_, kGlobal, 1);
    put_tree();
    nlohmann::json report = tree_.report("--active", "uncore_pmon", 1);
    EXPECT_EQ(verdict_of(report, 27), "FAIL");
    for (unsigned number : {20, 26})
        EXPECT_NE(seen_of(report, number).find("freezes all units"), std::string::npos)
            << seen_of(report, number);
    EXPECT_EQ(contents(tree_.folder().path("dev/mem")), memory_);

    put<uint32_t>(memory_, kGlobal, 2);
    put_tree();
    EXPECT_EQ(verdict_of(tree_.report("", "uncore_pmon", 0), 27), "PASS");
    put<uint32_t>(memory_, kGlobal, ~0u);
    put_tree();
    EXPECT_EQ(verdict_of(tree_.report("", "uncore_pmon", 0), 27), "NOT TESTED");
}

TEST_F(QualifyUncorePmon, ReadsGlobalControlMsrOnACpuOfTheFunctionsPackage)
{
    put<uint64_t>(table_, 0, 1 | 3 << 8 | 1 << 16);
    put<uint64_t>(table_, 8, 0x2ff0);
    put_tree();
    std::string frozen(8 * 0x3000, '\0'), free(8 * 0x3000, '\0');
    put<uint64_t>(frozen, 8 * 0x2ff0, 1);
    two_packages(frozen, free);
    EXPECT_EQ(verdict_of(tree_.report("", "uncore_pmon", 1), 27), "NOT TESTED");
    in_node("1");
    EXPECT_EQ(verdict_of(tree_.report("", "uncore_pmon", 0), 27), "PASS");
    in_node("0");
    EXPECT_EQ(verdict_of(tree_.report("", "uncore_pmon", 1), 27), "FAIL");
    put<uint64_t>(table_, 8, 0xc0000080);
    put_tree();
    EXPECT_EQ(verdict_of(tree_.report("", "uncore_pmon", 0), 27), "NOT TESTED");
}

TEST_F(QualifyUncorePmon, AccessesMsrsOnACpuOfTheFunctionsPackage)
{
    add_msr_unit(0x2000);
    put_tree();
    tree_.folder().put("cpuid", kSapphireRapids);
    std::string wrong(8 * 0x3000, '\0'), right(8 * 0x3000, '\0');
    put<uint64_t>(wrong, 8 * 0x2000, ~uint64_t{0});
    put<uint64_t>(wrong, 8 * 0x2ffe, 7);
    put<uint64_t>(right, 8 * 0x2000, 0x100);
    put<uint64_t>(right, 8 * 0x2ffe, 1);
    two_packages(wrong, right);
    nlohmann::json report = tree_.report("--active", "uncore_pmon", 1);
    EXPECT_EQ(verdict_of(report, 9), "FAIL") << "one function, two packages, and no node";
    for (unsigned number : {14, 15, 21})
        EXPECT_NE(seen_of(report, number).find("no CPU of the function's package"),
                  std::string::npos)
            << number << seen_of(report, number);
    in_node("1");
    report = tree_.report("--active", "uncore_pmon", 1);
    for (unsigned number : {9, 14, 15, 21, 28})
        EXPECT_EQ(verdict_of(report, number), "PASS") << number << seen_of(report, number);
    EXPECT_NE(seen_of(report, 21).find("0x101"), std::string::npos) << seen_of(report, 21);
    in_node("0");
    report = tree_.report("", "uncore_pmon", 1);
    for (unsigned number : {14, 15})
        EXPECT_EQ(verdict_of(report, number), "FAIL") << number << seen_of(report, number);
    EXPECT_EQ(contents(tree_.folder().path("dev/cpu/0/msr")), wrong);
    EXPECT_EQ(contents(tree_.folder().path("dev/cpu/1/msr")), right);
}

TEST_F(QualifyUncorePmon, UnitMsrsAbove0x3fffFailTheCheck)
{
    for (const auto &[control, verdict] : {std::pair{0x3ff6, "PASS"}, std::pair{0x3ff8, "FAIL"}}) {
        add_msr_unit(static_cast<uint64_t>(control));
        put_tree();
        const nlohmann::json report =
            tree_.report("", "uncore_pmon", verdict == std::string("FAIL"));
        EXPECT_EQ(verdict_of(report, 28), verdict) << seen_of(report, 28);
    }
}

TEST_F(QualifyUncorePmon, BarWithUnitsMustBeOfAKnownIntelFunctionAndNotPrefetchable)
{
    struct Owner {
        const char *type;
        uint32_t vendor;
        uint64_t flags;
        const char *class_verdict, *memory_verdict;
    };
    constexpr uint64_t kPlain = 0x40200, kPrefetchable = 0x42208;
    const Owner kOwners[] = {
        {"0x060400", 0x8086, kPlain, "PASS", "PASS"},
        {"0x060000", 0x8086, kPlain, "PASS", "PASS"},
        {"0x088000", 0x8086, kPlain, "PASS", "PASS"},
        {"0x118000", 0x8086, kPlain, "PASS", "PASS"},
        {"0x020000", 0x8086, kPlain, "FAIL", "PASS"},
        {"0x088000", 0x1234, kPlain, "FAIL", "PASS"},
        {"0x088000", 0x8086, kPrefetchable, "PASS", "FAIL"},
    };
    constexpr uint64_t kBar = 0xc8000000;
    put<uint64_t>(table_, 32, kBar + 0x800);
    put_tree();
    for (const Owner &owner : kOwners) {
        tree_.pci("0000:80:01.0", owner.vendor, 0x3258, owner.type,
                  config_space(static_cast<uint16_t>(owner.vendor), 0x3258), 2, kBar, 0x1000,
                  owner.flags);
        tree_.folder().put("sys/bus/pci/devices/0000:80:01.0/resource2", std::string(0x1000, '\0'));
        const bool fails = owner.class_verdict == std::string("FAIL") ||
                           owner.memory_verdict == std::string("FAIL");
        const nlohmann::json report = tree_.report("", "uncore_pmon", fails);
        EXPECT_EQ(verdict_of(report, 8), owner.class_verdict) << seen_of(report, 8);
        EXPECT_EQ(verdict_of(report, 29), owner.memory_verdict) << seen_of(report, 29);
    }
}

#ifdef PMUKIT_ZSTD
std::string unpacked(const std::string &path)
{
    const std::string packed = contents(path);
    std::string bytes(1 << 20, '\0');
    const size_t size = ZSTD_decompress(bytes.data(), bytes.size(), packed.data(), packed.size());
    EXPECT_FALSE(ZSTD_isError(size));
    bytes.resize(ZSTD_isError(size) ? 0 : size);
    return bytes;
}

TEST_F(QualifyUncorePmon, BundleHasAddressesAndHostNameOnlyWithFullOption)
{
    put_tree();
    const std::string bundle = tree_.folder().path("bundle.tar.zst");
    tree_.report("--bundle " + bundle, "uncore_pmon", 0);
    const std::string plain = unpacked(bundle);
    for (const char *name : {"report.json", "versions", "topology", "cpuid", "device0"})
        EXPECT_NE(plain.find(text_of("pmukit-qualify-uncore_pmon/{}", name)), std::string::npos);
    EXPECT_NE(plain.find("entry 1 type 6 id 0 access MMIO counters 4 width 48"), std::string::npos);
    EXPECT_EQ(plain.find("secret-host"), std::string::npos);
    EXPECT_EQ(plain.find(text_of("{:x}", kBox)), std::string::npos);
    EXPECT_EQ(plain.find("c2000000"), std::string::npos);

    tree_.report("--full --bundle " + bundle, "uncore_pmon", 0);
    const std::string full = unpacked(bundle);
    EXPECT_NE(full.find("secret-host"), std::string::npos);
    EXPECT_NE(full.find(text_of("{:#x}", kBox)), std::string::npos);
    tree_.folder().put("bundle.tar", full);
    EXPECT_EQ(::system(("tar tf " + tree_.folder().path("bundle.tar") + " >/dev/null").c_str()), 0);
}
#endif

TEST(QualifyTar, RejectsEmptyAndTooLongFileNames)
{
    EXPECT_TRUE(tar_of({{std::string(99, 'a'), "x"}}));
    EXPECT_FALSE(tar_of({{std::string(100, 'a'), "x"}}));
    EXPECT_FALSE(tar_of({{"", "x"}}));
}

// cache_qos: MSR n is at byte 8 n of the MSR file of a CPU.

class QualifyCacheQos : public testing::Test {
protected:
    QualifyCacheQos()
    {
        const std::string cpu = "sys/devices/system/cpu/cpu0";
        tree_.folder().put(cpu + "/cache/index3/level", "3\n");
        tree_.folder().put(cpu + "/cache/index3/id", "0\n");
        tree_.folder().put(cpu + "/cache/index3/size", "16384K\n");
        tree_.folder().folder(cpu + "/node0");
        msrs_ = std::string(8 * 0xc90, '\0');
        put<uint64_t>(msrs_, 8 * 0xc8e, 3);
    }
    void put_tree()
    {
        tree_.folder().put("dev/cpu/0/msr", msrs_);
        tree_.folder().put(
            "cpuid",
            text_of(
                "CPU 0:\n"
                "   0x00000000 0x00: eax=0x00000020 ebx=0x756e6547 ecx=0x6c65746e edx=0x49656e69\n"
                "   0x00000001 0x00: eax={:#010x} ebx=0x00000000 ecx=0x00000000 edx=0x00000000\n"
                "   0x00000007 0x00: eax=0x00000000 ebx={:#010x} ecx=0x00000000 edx=0x00000000\n"
                "   0x0000000f 0x00: eax=0x00000000 ebx=0x0000003f ecx=0x00000000 edx=0x00000002\n"
                "   0x0000000f 0x01: eax=0x00000008 ebx={:#010x} ecx={:#010x} edx=0x00000007\n"
                "   0x80000020 0x00: eax=0x00000000 ebx={:#010x} ecx=0x00000000 edx=0x00000000\n",
                signature_, features_, unit_, readable_, amd_qos_));
    }
    // Makes the file of MSRs sparse, up to a high number.
    void put_msr(uint32_t number, uint64_t value)
    {
        std::string bytes(sizeof value, '\0');
        put<uint64_t>(bytes, 0, value);
        std::fstream file(tree_.folder().path("dev/cpu/0/msr"),
                          std::ios::in | std::ios::out | std::ios::binary);
        EXPECT_TRUE(file.seekp(std::streamoff{8} * number) << bytes << std::flush);
    }
    void divide_l3(unsigned nodes)
    {
        for (unsigned node = 1; node < nodes; node++)
            tree_.folder().folder(text_of("sys/devices/system/cpu/cpu0/node{}", node));
    }
    std::string msrs_after() { return contents(tree_.folder().path("dev/cpu/0/msr")); }
    void link_msrs(const std::string &target)
    {
        tree_.folder().remove("dev/cpu/0/msr");
        tree_.folder().link("dev/cpu/0/msr", target);
    }

    Tree tree_;
    std::string msrs_;
    uint32_t signature_ = 0x000806f8, features_ = 1 << 12, unit_ = 65536, readable_ = 63;
    uint32_t amd_qos_ = 0;
};

TEST_F(QualifyCacheQos, ReadChecksPass)
{
    put_tree();
    const nlohmann::json report = tree_.report("", "cache_qos", 0);
    for (unsigned number = 1; number <= 10; number++)
        EXPECT_EQ(verdict_of(report, number), "PASS") << number << seen_of(report, number);
}

TEST_F(QualifyCacheQos, CapsFileBackendSelectsTheRegistersAndCapsFileSourceDoesNot)
{
    put_tree();
    tree_.folder().put("sys/bus/event_source/devices/cache_qos/caps/source", "model\n");
    tree_.folder().put("sys/bus/event_source/devices/cache_qos/caps/backend", "msr\n");
    nlohmann::json report = tree_.report("", "cache_qos", 0);
    EXPECT_EQ(report["devices"][0]["device"], "this processor");
    for (unsigned number : {1, 7, 8, 9, 10})
        EXPECT_EQ(verdict_of(report, number), "PASS") << number << seen_of(report, number);
    tree_.folder().put("sys/bus/event_source/devices/cache_qos/caps/backend", "sim\n");
    report = tree_.report("", "cache_qos", 1);
    EXPECT_EQ(report["devices"][0]["device"], "simulated registers");
    EXPECT_EQ(verdict_of(report, 7), "NOT TESTED");
}

TEST_F(QualifyCacheQos, ExitStatusIs69OnAMachineWithoutCacheMonitoring)
{
    features_ = 0;
    put_tree();
    EXPECT_EQ(run("qualify cache_qos --root " + tree_.folder().dir()).status, 69);
}

TEST_F(QualifyCacheQos, InconsistentCpuidOrTopologyFailsTheCheck)
{
    unit_ = 0;
    put_tree();
    EXPECT_EQ(verdict_of(tree_.report("", "cache_qos", 1), 4), "FAIL");
    unit_ = 65536, readable_ = 64;
    put_tree();
    EXPECT_EQ(verdict_of(tree_.report("", "cache_qos", 1), 3), "FAIL");
    readable_ = 63;
    tree_.folder().folder("sys/devices/system/cpu/cpu0/node1");
    put_tree();
    EXPECT_EQ(verdict_of(tree_.report("", "cache_qos", 1), 6), "FAIL");
}

TEST_F(QualifyCacheQos, NumaNodesOfAnL3MustShareTheRmids)
{
    divide_l3(2);
    put_tree();
    put_msr(0xca0, 0);
    nlohmann::json report = tree_.report("", "cache_qos", 0);
    EXPECT_EQ(verdict_of(report, 6), "PASS");
    EXPECT_NE(seen_of(report, 6).find("2 NUMA nodes share the RMIDs of L3 0"), std::string::npos)
        << seen_of(report, 6);
    put_msr(0xca0, 1);
    report = tree_.report("", "cache_qos", 1);
    EXPECT_EQ(verdict_of(report, 6), "FAIL");
    EXPECT_NE(seen_of(report, 6).find("divide the RMIDs"), std::string::npos) << seen_of(report, 6);
    tree_.folder().remove("dev/cpu/0/msr");
    EXPECT_EQ(verdict_of(tree_.report("", "cache_qos", 0), 6), "NOT TESTED");
}

TEST_F(QualifyCacheQos, L3DividedByClusterOnDieOrIntoFiveNumaNodesFailsTheCheck)
{
    divide_l3(2);
    signature_ = 0x000406f1;  // Broadwell: Cluster-on-Die
    put_tree();
    put_msr(0xca0, 0);
    EXPECT_EQ(verdict_of(tree_.report("", "cache_qos", 1), 6), "FAIL");
    divide_l3(5);
    signature_ = 0x000806f8;
    put_tree();
    put_msr(0xca0, 0);
    EXPECT_EQ(verdict_of(tree_.report("", "cache_qos", 1), 6), "FAIL");
}

TEST_F(QualifyCacheQos, NumaNodesThatShareAnL3ReduceTheUnitAndTheNumberOfRmids)
{
    // 64 RMIDs of 6 units: 24 MiB in an L3 of 16 MiB, or 12 MiB if a unit is half as large.
    put<uint64_t>(msrs_, 8 * 0xc8e, 6);
    put_tree();
    EXPECT_EQ(verdict_of(tree_.report("--active", "cache_qos", 1), 14), "FAIL");
    divide_l3(2);
    put_msr(0xca0, 0);
    const nlohmann::json report = tree_.report("--active", "cache_qos", 1);
    EXPECT_EQ(verdict_of(report, 14), "PASS") << seen_of(report, 14);
    EXPECT_EQ(seen_of(report, 18), "0x1f");
}

TEST_F(QualifyCacheQos, EnabledAbmcWithoutBmecFailsTheCheck)
{
    constexpr uint32_t kBmec = 1 << 3, kAbmc = 1 << 5, kConfig = 0xc00003ff;
    amd_qos_ = kAbmc | kBmec;
    put_tree();
    put_msr(kConfig, 1);
    nlohmann::json report = tree_.report("", "cache_qos", 0);
    EXPECT_EQ(verdict_of(report, 8), "PASS");
    EXPECT_NE(seen_of(report, 8).find("ABMC is on"), std::string::npos) << seen_of(report, 8);
    amd_qos_ = kAbmc;
    put_tree();
    put_msr(kConfig, 1);
    EXPECT_EQ(verdict_of(tree_.report("", "cache_qos", 1), 8), "FAIL");
    put_msr(kConfig, 0);
    EXPECT_EQ(verdict_of(tree_.report("", "cache_qos", 0), 8), "PASS");
}

TEST_F(QualifyCacheQos, ExtendedEventIdInQmEvtselIsValidOnlyWithAbmc)
{
    put<uint64_t>(msrs_, 8 * 0xc8d, uint64_t{5} << 32 | 1u << 31 | 1);
    put_tree();
    EXPECT_EQ(verdict_of(tree_.report("", "cache_qos", 1), 10), "FAIL");
    amd_qos_ = 1 << 5;
    put_tree();
    put_msr(0xc00003ff, 0);
    const nlohmann::json report = tree_.report("", "cache_qos", 0);
    EXPECT_EQ(verdict_of(report, 10), "PASS") << seen_of(report, 10);
}

TEST_F(QualifyCacheQos, RegistersThatDoNotReactFailTheirChecksAndAreRestored)
{
    put<uint64_t>(msrs_, 8 * 0xc8f, uint64_t{5} << 32);
    put<uint64_t>(msrs_, 8 * 0xc8d, 2);
    put_tree();
    const nlohmann::json report = tree_.report("--active", "cache_qos", 1);
    EXPECT_EQ(verdict_of(report, 11), "PASS") << seen_of(report, 11);
    EXPECT_EQ(verdict_of(report, 14), "PASS") << seen_of(report, 14);
    EXPECT_EQ(verdict_of(report, 15), "FAIL") << seen_of(report, 15);
    EXPECT_EQ(verdict_of(report, 17), "FAIL") << seen_of(report, 17);
    EXPECT_EQ(verdict_of(report, 18), "PASS") << seen_of(report, 18);
    EXPECT_EQ(msrs_after(), msrs_) << "the class of service too";
}

// The character device /dev/zero accepts every write, and each of its MSRs reads as 0.
TEST_F(QualifyCacheQos, WarnsOnceOfTheKernelTaintBeforeMsrsAreWritten)
{
    put_tree();
    link_msrs("/dev/zero");
    const std::string words = " --root " + tree_.folder().dir() + " cache_qos";
    const std::string active = run("qualify --active" + words).text;
    EXPECT_TRUE(active.starts_with("pmukit: qualify: MSRs are written now.")) << active;
    EXPECT_EQ(active.find("taint flag S"), active.rfind("taint flag S"));
    EXPECT_EQ(run("qualify" + words).text.find("taint"), std::string::npos);
    tree_.folder().folder("sys/module/cache_qos");
    EXPECT_EQ(run("qualify --active" + words).text.find("taint"), std::string::npos)
        << "the driver has the registers: nothing is written";
}

TEST_F(QualifyCacheQos, MsrsThatTheKernelDoesNotLetProgramsWriteAreNotTested)
{
    put_tree();
    const SealedFile msrs(msrs_);
    link_msrs(msrs.path());
    const nlohmann::json report = tree_.report("--active", "cache_qos", 0);
    EXPECT_EQ(verdict_of(report, 9), "PASS") << seen_of(report, 9);
    for (unsigned number = 11; number <= 19; number++)
        EXPECT_EQ(verdict_of(report, number), "NOT TESTED") << number << seen_of(report, number);
    for (unsigned number : {11, 12, 15, 17})
        EXPECT_NE(seen_of(report, number).find("allow_writes"), std::string::npos)
            << number << seen_of(report, number);
}

TEST_F(QualifyCacheQos, DoesNotWriteMsrsInUseByResctrlTheDriverOrAnRmid)
{
    put_tree();
    tree_.folder().put("proc/mounts", "resctrl /sys/fs/resctrl resctrl rw 0 0\n");
    EXPECT_NE(seen_of(tree_.report("--active", "cache_qos", 0), 11).find("resctrl"),
              std::string::npos);
    tree_.folder().put("proc/mounts", "sysfs /sys sysfs rw 0 0\n");
    tree_.folder().put("proc/1/mounts", "resctrl /sys/fs/resctrl resctrl rw 0 0\n");
    EXPECT_NE(seen_of(tree_.report("--active", "cache_qos", 0), 11).find("resctrl"),
              std::string::npos)
        << "in the namespace of the first process alone";
    tree_.folder().remove("proc/1/mounts");
    tree_.folder().folder("sys/module/cache_qos");
    EXPECT_NE(seen_of(tree_.report("--active", "cache_qos", 0), 11).find("cache_qos is loaded"),
              std::string::npos);
    tree_.folder().remove("sys/module/cache_qos");
    put<uint64_t>(msrs_, 8 * 0xc8f, 7);
    put_tree();
    EXPECT_NE(seen_of(tree_.report("--active", "cache_qos", 0), 11).find("carries RMID 7"),
              std::string::npos);
    EXPECT_EQ(msrs_after(), msrs_);
}

// imc

class QualifyImc : public testing::Test {
protected:
    QualifyImc()
    {
        for (const char *pmu : {"core_imc", "thread_imc", "nest_mcs01"})
            event(pmu, "PM_A", "event=0x118");
        tree_.folder().put("sys/bus/event_source/devices/nest_mcs01/cpumask", "0\n");
        tree_.folder().put("sys/bus/event_source/devices/core_imc/cpumask", "0\n");
    }
    void event(const std::string &pmu, const std::string &name, const std::string &text)
    {
        tree_.folder().put("sys/bus/event_source/devices/" + pmu + "/events/" + name, text + "\n");
    }

    Tree tree_;
};

TEST_F(QualifyImc, ReadChecksPassAndEventChecksAreNotTestedOnACopyOfSysfs)
{
    tree_.folder().put("sys/kernel/debug/imc/imc_speed_0", "2\n");
    const nlohmann::json report = tree_.report("--active", "imc", 0);
    for (unsigned number : {1, 2, 3, 4, 5, 6, 9})
        EXPECT_EQ(verdict_of(report, number), "PASS") << number << seen_of(report, number);
    EXPECT_EQ(verdict_of(report, 13), "NOT TESTED");
}

TEST_F(QualifyImc, InvalidCataloguesAndControlBlocksFailTheirChecks)
{
    event("core_imc", "PM_B", "event=0x11c");
    EXPECT_EQ(verdict_of(tree_.report("", "imc", 1), 2), "FAIL");
    event("core_imc", "PM_B", "event=0x118");
    EXPECT_EQ(verdict_of(tree_.report("", "imc", 1), 4), "FAIL");
    event("core_imc", "PM_B", "event=0x120");
    event("core_imc", "PM B", "event=0x128");
    EXPECT_EQ(verdict_of(tree_.report("", "imc", 1), 3), "FAIL");
    tree_.folder().remove("sys/bus/event_source/devices/core_imc/events/PM B");
    tree_.folder().put("sys/kernel/debug/imc/imc_speed_0", "8\n");
    EXPECT_EQ(verdict_of(tree_.report("", "imc", 1), 9), "FAIL");
    tree_.folder().remove("sys/kernel/debug/imc");
    tree_.folder().put("proc/device-tree/imc-counters/mcs01/name", "mcs01");
    tree_.folder().put("proc/device-tree/imc-counters/mcs01/type", std::string("\0\0\0\x03", 4));
    EXPECT_EQ(verdict_of(tree_.report("", "imc", 1), 11), "FAIL");
}

}  // namespace
}  // namespace pmukit::cli::qualify
