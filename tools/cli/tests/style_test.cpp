// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Checks what all commands have in common. Every command must be in the table here, and must have
// help with examples, suggestions for misspelled words and, if it prints tables, --json and a
// pager.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <pmukit/cxl_hmu.h>
#include <signal.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>
#include <sstream>
#include <thread>

#include "base/file.hpp"
#include "base/test_folder.hpp"
#include "cli/tests/terminal.hpp"
#include "console/terminal.hpp"
#include "perfdata/format.hpp"
#include "perfdata/writer.hpp"
#include "session/recording.hpp"
#include "topology/test_tree.hpp"

namespace pmukit::cli {
namespace {

struct CommandCase {
    const char *name;
    // Arguments with which the command prints something in the test folder, which has good.data. If
    // this is nullptr, the command prints no tables, and so has neither --json nor a pager.
    const char *prints;
    bool has_json = true;
};

void PrintTo(const CommandCase &command, std::ostream *out)
{
    *out << command.name;
}

const CommandCase kCases[] = {
    {"list", "list --pfm"},
    {"record", nullptr},
    {"dump", "dump -i good.data", false},  // prints the text of perf for each record
    {"cut", nullptr},
    {"inject", nullptr},
    {"merge", nullptr},
    {"export", nullptr},  // writes files and pipes for other programs
    {"recover", "recover -i good.data"},
    {"report", "report -i good.data"},
    {"tier", "tier -i good.data --pid 1 --cxl-topology ."},
    {"tierd", nullptr},  // prints a line per interval while it runs
    {"what-if", "what-if -i good.data --fast 1"},
    {"tune", "tune --save saved"},
    {"discover", "discover ."},
    {"doctor", "doctor"},
    {"qualify", "qualify --list"},
    {"top", nullptr},  // has its own screen
};

class Style : public testing::Test {
protected:
    void SetUp() override
    {
        perfdata::WriterEvent event{std::vector<std::byte>(128), {7}, "cxl_hmu_mem0.0.0//"};
        store<uint32_t>(event.attr.data() + perfdata::kAttrType, 24, std::endian::native);
        store<uint32_t>(event.attr.data() + perfdata::kAttrSize, 128, std::endian::native);
        perfdata::HostInfo host;
        host.pmus = {{24, "cxl_hmu_mem0.0.0"}};
        host.caps = {{"cxl_hmu_mem0.0.0", {{kSourceCap, kSourceModel}}}};
        ASSERT_TRUE(fill(perfdata::Writer::create(tree_.path("good.data"), {event}, host)));
        Fd pipe(::open(tree_.path("good.pipe").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
        ASSERT_TRUE(fill(perfdata::Writer::create_pipe(std::move(pipe), {event}, host)));
    }
    static bool fill(Result<perfdata::Writer> writer)
    {
        perfdata::AuxtraceRecord trace;
        trace.reference = 7;
        return writer && writer->auxtrace(trace, hot_list(), {}) && writer->finish();
    }
    static std::vector<std::byte> hot_list()
    {
        const uint64_t words[] = {
            1 | uint64_t{16} << PMUKIT_CXL_HMU_W0_COUNTER_WIDTH_SHIFT |
                uint64_t{PMUKIT_CXL_HMU_EXTRA_WORDS} << PMUKIT_CXL_HMU_W0_EXTRA_WORDS_SHIFT,
            PMUKIT_CXL_HMU_MARK,
            1000,
            12,
            0,
            0,
            0,
            3 << 16 | 900};
        std::vector<std::byte> bytes(sizeof words);
        for (size_t i = 0; i < std::size(words); i++)
            store_le(bytes.data() + 8 * i, words[i]);
        return bytes;
    }
    // Runs pmukit in a shell. Returns standard output and standard error together.
    std::string said(const std::string &words) const
    {
        const std::string command = "cd " + tree_.dir() + " && { " + PMUKIT_COMMAND + " " + words +
                                    "; } >" + tree_.path("out") + " 2>&1 </dev/null";
        EXPECT_NE(::system(command.c_str()), -1);
        return read_small_file(tree_.path("out")).value();
    }
    std::string shown(const std::string &words, const std::vector<std::string> &environment) const
    {
        std::vector<std::string> all = {
            "/bin/sh", "-c", "cd " + tree_.dir() + " && exec " PMUKIT_COMMAND " " + words};
        OnTerminal terminal(all, -1, environment, winsize{24, 100, 0, 0});
        terminal.wait();
        return terminal.all();
    }

    TestFolder tree_;
};

std::set<std::string> commands_in(const std::string &help)
{
    std::set<std::string> commands;
    std::istringstream lines(help.substr(help.find("Subcommands:")));
    std::string line, word;
    std::getline(lines, line);
    while (std::getline(lines, line) && !line.empty()) {
        std::istringstream words(line);
        // Continuation lines have a deeper indentation.
        if (line.starts_with("  ") && !line.starts_with("   ") && words >> word)
            commands.insert(word);
    }
    return commands;
}

TEST_F(Style, EveryCommandOfTheHelpIsInTheTableOfThisTest)
{
    std::set<std::string> known;
    for (const CommandCase &command : kCases)
        known.insert(command.name);
    EXPECT_EQ(commands_in(said("--help")), known);
}

class StyleOf : public Style, public testing::WithParamInterface<CommandCase> {};

TEST_P(StyleOf, HelpEndsWithExamples)
{
    const std::string name = GetParam().name;
    const std::string help = said(name + " --help");
    const size_t examples = help.find("\nExamples:\n");
    ASSERT_NE(examples, help.npos) << help;
    EXPECT_NE(help.find("  pmukit " + name, examples), help.npos) << help;
}

TEST_P(StyleOf, OnlyCommandsThatPrintTablesHaveJson)
{
    const CommandCase &command = GetParam();
    const bool has =
        said(std::string(command.name) + " --help").find("\n  --json ") != std::string::npos;
    const bool is_top = std::string(command.name) == "top";
    EXPECT_EQ(has, is_top || (command.prints && command.has_json));
}

TEST_P(StyleOf, SuggestsTheNearestOptionAndCommand)
{
    const std::string name = GetParam().name;
    EXPECT_NE(said(name + " --hepl a b").find("did you mean --help?"), std::string::npos);
    // A misspelled name: its last two letters are swapped.
    std::string slip = name;
    std::swap(slip[slip.size() - 1], slip[slip.size() - 2]);
    EXPECT_NE(said(slip).find("did you mean "), std::string::npos) << slip;
}

TEST_P(StyleOf, OnlyCommandsThatPrintTablesUseThePager)
{
    const CommandCase &command = GetParam();
    const std::string words =
        command.prints ? command.prints : std::string(command.name) + " --help";
    // The pager also prints PAGED: after its input ends, because on this machine the command may
    // print nothing.
    const std::string pager = "PMUKIT_PAGER=sed s/^/PAGED:/; echo PAGED:";
    const std::string paged = shown(words, {pager, "PAGER=false"});
    EXPECT_EQ(paged.find("PAGED:") != paged.npos, command.prints != nullptr) << paged;
    for (const char *none : {"PMUKIT_PAGER=cat", "PMUKIT_PAGER="})
        EXPECT_EQ(shown(words, {none, "PAGER=sed s/^/PAGED:/"}).find("PAGED:"), std::string::npos);
}

std::string name_of_case(const testing::TestParamInfo<CommandCase> &info)
{
    std::string name = info.param.name;
    std::ranges::replace(name, '-', '_');
    return name;
}
INSTANTIATE_TEST_SUITE_P(Commands, StyleOf, testing::ValuesIn(kCases), name_of_case);

TEST_F(Style, NoPagerOptionDisablesThePager)
{
    const std::vector<std::string> environment = {"PMUKIT_PAGER=sed s/^/PAGED:/"};
    EXPECT_NE(shown("report -i good.data", environment).find("PAGED:"), std::string::npos);
    EXPECT_EQ(shown("--no-pager report -i good.data", environment).find("PAGED:"),
              std::string::npos);
    EXPECT_EQ(said("report -i good.data").find("PAGED:"), std::string::npos) << "into a file";
}

// A user to whom sudo allows only pmukit must not get a shell through its pager.
TEST_F(Style, PagerUnderSudoIsTheProgramLessInItsSecureMode)
{
    TestFolder folder;
    folder.put("less", "#!/bin/sh\necho \"LESS=$LESS SECURE=$LESSSECURE\"\n");
    std::filesystem::permissions(folder.path("less"), std::filesystem::perms::owner_all);
    const std::string path = "PATH=" + folder.dir() + ":/usr/bin:/bin";
    for (const char *caller : {"SUDO_UID=1000", "PKEXEC_UID=1000", "DOAS_USER=me"})
        EXPECT_NE(shown("report -i good.data",
                        {path, caller, "PMUKIT_PAGER=echo OWN", "PAGER=echo OWN", "LESS=+!id"})
                      .find("LESS=FRX SECURE=1"),
                  std::string::npos)
            << caller;
    EXPECT_NE(shown("report -i good.data", {path, "PAGER=less", "LESS=F"}).find("LESS=F SECURE="),
              std::string::npos);
}

TEST_F(Style, PagerThatExitsEarlyIsNotAFailure)
{
    OnTerminal terminal({PMUKIT_COMMAND, "dump", "-i", tree_.path("good.data")}, -1,
                        {"PMUKIT_PAGER=exit 3"}, winsize{24, 100, 0, 0});
    EXPECT_EQ(terminal.wait(), 0);
    EXPECT_EQ(terminal.all(), "");
}

// pmukit dump of a recording from a pipe: it runs until the pipe is closed.
class Paged : public Style {
protected:
    void SetUp() override
    {
        Style::SetUp();
        int ends[2];
        ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
        from_ = Fd(ends[0]);
        to_ = Fd(ends[1]);
        const std::string whole = read_small_file(tree_.path("good.pipe")).value();
        front_ = whole.substr(0, 16);
        rest_ = whole.substr(16);
    }
    OnTerminal dump(const std::string &pager) const
    {
        return OnTerminal({PMUKIT_COMMAND, "dump", "-i", "-"}, from_.get(),
                          {"PMUKIT_PAGER=" + pager}, winsize{24, 100, 0, 0});
    }
    void put(const std::string &some) const
    {
        EXPECT_TRUE(write_all(to_.get(), as_bytes(some), "the pipe"));
    }
    // Waits until the program has read everything in the pipe, and so has started its pager.
    void wait_until_read() const
    {
        int left = 1;
        for (int waited = 0; waited < 3000 && left != 0; waited++) {
            ASSERT_EQ(::ioctl(from_.get(), FIONREAD, &left), 0);
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        ASSERT_EQ(left, 0);
    }

    Fd from_, to_;
    std::string front_, rest_;
};

TEST_F(Paged, CtrlCDoesNotEndTheCommandWhileThePagerRuns)
{
    OnTerminal terminal = dump("trap '' INT QUIT; echo READY; sed s/^/PAGED:/");
    put(front_);
    ASSERT_TRUE(terminal.shows("READY"));
    wait_until_read();
    terminal.type("\003\034");
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    put(rest_);
    to_.reset();
    EXPECT_TRUE(terminal.shows("PAGED:")) << terminal.all();
    EXPECT_EQ(terminal.wait(), 0);
}

TEST_F(Paged, CtrlCEndsTheCommandAfterThePagerExited)
{
    OnTerminal terminal = dump("echo READY");
    put(front_);
    ASSERT_TRUE(terminal.shows("READY"));
    wait_until_read();
    // The pager may still run after its last output: repeat Ctrl-C for one second.
    for (int times = 0; times < 20; times++) {
        terminal.type("\003");
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    to_.reset();
    EXPECT_EQ(terminal.wait(), 128 + SIGINT);
}

TEST_F(Style, PrintsColorsOnlyOnTerminalsThatSupportThem)
{
    constexpr const char *kColor = "\033[3";
    const std::vector<std::string> plain = {"TERM=xterm", "NO_COLOR=", "PMUKIT_PAGER=cat"};
    EXPECT_NE(shown("doctor", plain).find(kColor), std::string::npos);
    EXPECT_EQ(shown("--color never doctor", plain).find(kColor), std::string::npos);
    EXPECT_EQ(shown("doctor", {"TERM=xterm", "NO_COLOR=1", "PMUKIT_PAGER=cat"}).find(kColor),
              std::string::npos);
    EXPECT_EQ(shown("doctor", {"TERM=dumb", "NO_COLOR=", "PMUKIT_PAGER=cat"}).find(kColor),
              std::string::npos);
    EXPECT_EQ(said("doctor").find(kColor), std::string::npos) << "into a file";
    EXPECT_NE(said("--color always doctor").find(kColor), std::string::npos);
    EXPECT_NE(said("--color purple doctor").find("purple"), std::string::npos);
}

// A command that prints or writes figures, and the text that marks data of an emulated device.
struct Figures {
    const char *words, *says;
};
const Figures kFigures[] = {
    {"report -i good.data", "source=model"},
    {"report -i good.data --json", R"("source":"model")"},
    {"report -i good.data --join --cxl-topology .", "time  source=model"},
    {"report -i good.data --html page.html; cat page.html", "source=model"},
    {"dump -i good.data", "source=model"},
    {"top --once - < good.pipe", "source=model"},
    {"top --once --json - < good.pipe", R"("source":"model")"},
    {"export -i good.data --format csv --driver cxl_hmu -o -", "\nmodel,"},
    {"export -i good.data --format jsonl -o -", R"("source":"model")"},
    {"export -i good.data --format perfetto -o -", "source=model"},
    {"export -i good.data --format openmetrics -o -", R"(source="model")"},
};

TEST_F(Style, FiguresOfAnEmulatedDeviceAreMarked)
{
    topology::TreeRegion region;
    region.dpa_bytes = uint64_t{16} << 20;
    put_region(tree_, region);
    for (const Figures &figures : kFigures)
        EXPECT_NE(said(figures.words).find(figures.says), std::string::npos)
            << figures.words << ": " << said(figures.words);
}

// While an object of this class exists, standard error is a terminal.
class ErrorOnTerminal {
public:
    ErrorOnTerminal() : before_(::dup(STDERR_FILENO)), master_(::posix_openpt(O_RDWR | O_NOCTTY))
    {
        EXPECT_EQ(::grantpt(master_.get()) | ::unlockpt(master_.get()), 0);
        const Fd tty(::open(::ptsname(master_.get()), O_RDWR | O_NOCTTY));
        ::dup2(tty.get(), STDERR_FILENO);
    }
    ~ErrorOnTerminal() { ::dup2(before_.get(), STDERR_FILENO); }
    std::string shown() const
    {
        ::fcntl(master_.get(), F_SETFL, O_NONBLOCK);
        char text[4096];
        const ssize_t got = ::read(master_.get(), text, sizeof text);
        return {text, got > 0 ? static_cast<size_t>(got) : 0};
    }

private:
    Fd before_, master_;
};

TEST(ProgressLine, AppearsAfterADelayAndIsErasedAtTheEnd)
{
    std::string during, after;
    {
        const ErrorOnTerminal terminal;
        {
            const auto begun = std::chrono::steady_clock::now();
            Progress progress("reading x", 100'000'000);
            progress.at(50'000'000);
            const std::string early = terminal.shown();
            // On a busy machine, the line may already be due.
            if (std::chrono::steady_clock::now() - begun < std::chrono::milliseconds(400)) {
                EXPECT_EQ(early, "") << "not in the first moment";
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(600));
            progress.at(60'000'000);
            during = terminal.shown();
        }
        after = terminal.shown();
    }
    EXPECT_EQ(during, "\rreading x   60% [##############          ]\033[K");
    EXPECT_EQ(after, "\r\033[K");
}

TEST(ProgressLine, EscapesControlCharacters)
{
    const ErrorOnTerminal terminal;
    Progress progress("reading \033]0;x\007", 100'000'000);
    std::this_thread::sleep_for(std::chrono::milliseconds(600));
    progress.at(60'000'000);
    EXPECT_TRUE(terminal.shown().starts_with("\rreading \\x1b]0;x\\x07 ")) << "of a path";
}

TEST(ProgressLine, IsNotWrittenToFiles)
{
    testing::internal::CaptureStderr();
    {
        Progress progress("reading x", 100'000'000);
        std::this_thread::sleep_for(std::chrono::milliseconds(600));
        progress.at(60'000'000);
    }
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace pmukit::cli
