// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Tests the command line of pmukit-model. For an invalid option, it must print one line and exit
// with the exit code for errors of usage.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "base/fd.hpp"
#include "base/test_folder.hpp"

namespace pmukit::cli {
namespace {

struct Outcome {
    int exit_code;
    std::string text;  // what was printed to stdout and stderr
};

// A process of pmukit-model.
class Program {
public:
    // `streams` has redirections in shell syntax, `before` has shell commands that run before the
    // program.
    explicit Program(const std::string &arguments, const std::string &streams = "2>&1",
                     const std::string &before = "")
        : pipe_(::popen(
              (before + "timeout 20 " PMUKIT_MODEL_PROGRAM " " + arguments + " " + streams).c_str(),
              "r"))
    {
    }

    std::string next_line()
    {
        std::array<char, 4096> line{};
        return std::fgets(line.data(), line.size(), pipe_) ? line.data() : "";
    }
    Outcome end()
    {
        Outcome outcome{};
        for (std::string line = next_line(); !line.empty(); line = next_line())
            outcome.text += line;
        const int status = ::pclose(pipe_);
        outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        return outcome;
    }

private:
    FILE *pipe_;
};

Outcome run(const std::string &arguments)
{
    return Program("cxl_hmu --socket /nonexistent/socket " + arguments).end();
}

// Connects, sends `words` and closes the socket. Returns false if connecting or sending fails.
bool visit(const std::string &socket, std::string_view words = "")
{
    const Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    socket.copy(address.sun_path, sizeof address.sun_path - 1);
    return ::connect(fd.get(), reinterpret_cast<sockaddr *>(&address), sizeof address) == 0 &&
           ::send(fd.get(), words.data(), words.size(), MSG_NOSIGNAL) ==
               static_cast<ssize_t>(words.size());
}

std::string content_of(const std::string &path)
{
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

class WrongWords : public testing::TestWithParam<const char *> {};

TEST_P(WrongWords, InvalidCxlHmuOptionsGiveOneErrorLineAndExitCode2)
{
    const Outcome outcome = run(GetParam());
    EXPECT_EQ(outcome.exit_code, 2) << outcome.text;
    EXPECT_EQ(std::count(outcome.text.begin(), outcome.text.end(), '\n'), 1) << outcome.text;
    EXPECT_EQ(outcome.text.find("pmukit-model: --"), 0u) << outcome.text;
}

INSTANTIATE_TEST_SUITE_P(PmukitModel, WrongWords,
                         testing::Values("--source ''", "--source gauss", "--source zipf:seed=x",
                                         "--source uniform:tee=200", "--source replay",
                                         "--source uniform:room=64 --hot-list 64", "--memory 3M",
                                         "--epoch-min 9", "--block-version 0", "--replacement x",
                                         "--ways 0", "--map-memory --access-log /dev/null",
                                         "--map-memory --tap /dev/shm/x", "--tap-base 0x1000",
                                         "--fault none-such", "--bdf 1 --root-port 00:01.0",
                                         "--bdf 01:00.0 --root-port 1:1"));

class WrongTraceBlock : public testing::TestWithParam<const char *> {};

TEST_P(WrongTraceBlock, InvalidHisiPttOptionsGiveOneErrorLineAndExitCode2)
{
    const Outcome outcome =
        Program(std::string("hisi_ptt --socket /nonexistent/socket ") + GetParam()).end();
    EXPECT_EQ(outcome.exit_code, 2) << outcome.text;
    EXPECT_EQ(std::count(outcome.text.begin(), outcome.text.end(), '\n'), 1) << outcome.text;
    EXPECT_EQ(outcome.text.find("pmukit-model: --"), 0u) << outcome.text;
}

INSTANTIATE_TEST_SUITE_P(
    PmukitModel, WrongTraceBlock,
    testing::Values("", "--serves 0010.0", "--serves 00:10.0 --function 01:00.0",
                    "--serves 00:10.0 --function 01:00.0@00:11.0",
                    "--serves 00:10.0 --flood rate=5",
                    "--serves 00:10.0 --function 01:00.0@00:10.0 --flood rate=0",
                    "--serves 00:10.0 --irq-merge 0", "--serves 00:10.0 --generate rate=5",
                    "--serves 00:10.0 --generate speed=5", "--serves 00:10.0 --fault none-such",
                    "--serves 00:10.0 --core 65536",
                    "--serves 00:10.0 --tune-us 99999999999999999999",
                    "--serves 00:10.0 --tune-us 10000001", "--serves 00:10.0 --tick-ns 0",
                    "--serves 00:10.0 --bdf 01:00.0 --root-port 00:10.0"));

class WrongUncore : public testing::TestWithParam<const char *> {};

TEST_P(WrongUncore, InvalidUncorePmonOptionsGiveOneErrorLineAndExitCode2)
{
    const Outcome outcome = Program(std::string("uncore_pmon ") + GetParam()).end();
    EXPECT_EQ(outcome.exit_code, 2) << outcome.text;
    EXPECT_EQ(std::count(outcome.text.begin(), outcome.text.end(), '\n'), 1) << outcome.text;
    EXPECT_EQ(outcome.text.find("pmukit-model: --"), 0u) << outcome.text;
}

INSTANTIATE_TEST_SUITE_P(PmukitModel, WrongUncore,
                         testing::Values("", "--imc 17 --socket /nonexistent/socket",
                                         "--serves 10 --socket /nonexistent/socket",
                                         "--platform icx --socket /nonexistent/socket",
                                         "--width 23 --socket /nonexistent/socket",
                                         "--fault none-such --socket /nonexistent/socket",
                                         "--dump-table /tmp/x --socket /nonexistent/socket",
                                         "--dump-table /tmp/x --imc 0 --unknown 0",
                                         "--dump-table /tmp/x --device-id 0x10000",
                                         "--dump-table /tmp/x --unit-ids imc=1",
                                         "--dump-table /tmp/x --unit-ids imc",
                                         "--dump-table /tmp/x --all-ones imc.2",
                                         "--dump-table /tmp/x --tables 2 --unknown 0",
                                         "--ddr 3M --socket /nonexistent/socket"));

TEST(PmukitModel, DumpTableNeedsNoGuest)
{
    const TestFolder in;
    const Outcome outcome =
        Program("uncore_pmon --imc 8 --unknown 0 --dump-table " + in.path("t")).end();
    EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
    EXPECT_EQ(std::filesystem::file_size(in.path("t/config")), 4096u);
    EXPECT_EQ(std::filesystem::file_size(in.path("t/resource0")), 0x80000u);
    EXPECT_EQ(Program("uncore_pmon --dump-table /nonexistent/folder").end().exit_code, 1);
}

TEST(PmukitModel, RejectsEndpointMemoryThatIsNoPowerOfTwo)
{
    const Outcome outcome = Program("pcie_ep --socket /nonexistent/socket --memory 3M").end();
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_NE(outcome.text.find("--memory"), std::string::npos) << outcome.text;
}

TEST(PmukitModel, ListsFaultsOfEveryModel)
{
    const Outcome outcome = Program("--list-faults").end();
    EXPECT_EQ(outcome.exit_code, 0);
    for (const char *word :
         {"cxl_hmu     never-idle", "hisi_ptt    never-idle", "uncore_pmon stride-0"})
        EXPECT_NE(outcome.text.find(word), std::string::npos) << word << outcome.text;
}

TEST(PmukitModel, ReportsUnreadableReplayTrace)
{
    const Outcome outcome = run("--source replay:file=/nonexistent/trace");
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_NE(outcome.text.find("trace /nonexistent/trace: No such file"), std::string::npos);
}

TEST(PmukitModel, HelpDescribesTheSourceOption)
{
    const Outcome outcome = run("--help");
    EXPECT_EQ(outcome.exit_code, 0);
    for (const char *word : {"--source TEXT", "--source-log", "--entries-log", "--stats-log",
                             "sequential", "unit-bytes", "room"})
        EXPECT_NE(outcome.text.find(word), std::string::npos) << word << outcome.text;
}

TEST(PmukitModel, RejectsBdfWithoutRootPortAndRootPortWithoutBdf)
{
    EXPECT_EQ(run("--bdf 01:00.0").exit_code, 2);
    EXPECT_EQ(run("--root-port 00:01.0").exit_code, 2);
}

// Output that cannot be written

TEST(PmukitModel, ContinuesIfStderrIsFull)
{
    const TestFolder in;
    Program program("--once cxl_hmu --socket " + in.path("socket"), "2>/dev/full");
    EXPECT_EQ(program.next_line(), "model: ready socket=" + in.path("socket") + "\n");
    EXPECT_TRUE(visit(in.path("socket"), std::string(64, '\xff')));
    const Outcome outcome = program.end();
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_NE(outcome.text.find("device=cxl_hmu accesses=0"), std::string::npos) << outcome.text;
}

TEST(PmukitModel, ExitCodeIsCorrectIfStderrCannotBeWritten)
{
    EXPECT_EQ(Program("cxl_hmu --bdf 1", "2>/dev/full").end().exit_code, 2);
    EXPECT_EQ(Program("uncore_pmon --dump-table /nonexistent/folder", "2>&-").end().exit_code, 1);
}

TEST(PmukitModel, ReportsFullStdout)
{
    const TestFolder in;
    for (const std::string &words :
         {std::string("--list-faults"), std::string("--help"), std::string("--version"),
          "cxl_hmu --socket " + in.path("socket")}) {
        const Outcome outcome = Program(words, "2>&1 >/dev/full").end();
        EXPECT_EQ(outcome.exit_code, 1) << words;
        EXPECT_EQ(outcome.text, "pmukit-model: standard output: No space left on device\n");
    }
    EXPECT_FALSE(std::filesystem::exists(in.path("socket")));
}

TEST(PmukitModel, ReportsBrokenPipeWhileTheFaultListIsWritten)
{
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const Fd write_end(ends[1]);
    ::close(ends[0]);
    const Outcome outcome =
        Program("--list-faults", "2>&1 >&" + std::to_string(write_end.get())).end();
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_EQ(outcome.text, "pmukit-model: standard output: Broken pipe\n");
}

TEST(PmukitModel, ReportsBrokenPipeWhileTheFinalTotalsAreWritten)
{
    const TestFolder in;
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    ASSERT_EQ(::fcntl(ends[0], F_SETFD, FD_CLOEXEC), 0);
    const Fd write_end(ends[1]);
    Fd read_end(ends[0]);
    Program program("--once cxl_hmu --socket " + in.path("socket"),
                    "2>&1 >&" + std::to_string(write_end.get()));
    char byte;
    // After its first output, pmukit-model is ready.
    ASSERT_EQ(::read(read_end.get(), &byte, 1), 1);
    read_end.reset();
    EXPECT_TRUE(visit(in.path("socket")));
    const Outcome outcome = program.end();
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_EQ(outcome.text, "pmukit-model: standard output: Broken pipe\n");
}

TEST(PmukitModel, ReportsATableFileThatExceedsTheFileSizeLimit)
{
    const TestFolder in;
    const Outcome outcome =
        Program("uncore_pmon --dump-table " + in.path("t"), "2>&1", "ulimit -f 1; ").end();
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_NE(outcome.text.find("File too large"), std::string::npos) << outcome.text;
}

class SecondStart : public testing::TestWithParam<std::pair<const char *, const char *>> {};

TEST_P(SecondStart, SecondProcessOnTheSameSocketDoesNotChangeFilesOfTheFirst)
{
    constexpr std::string_view kText = "what the first has written";
    const auto &[device, option] = GetParam();
    const TestFolder in;
    const std::string words = std::string(device) + " --socket " + in.path("socket") + " " +
                              option + " " + in.path("file");
    Program first("--once " + words);
    EXPECT_EQ(first.next_line(), "model: ready socket=" + in.path("socket") + "\n");
    std::ofstream(in.path("file"), std::ios::binary | std::ios::app) << kText << std::flush;
    const Outcome second = Program(words).end();
    EXPECT_EQ(second.exit_code, 69) << second.text;
    EXPECT_NE(second.text.find("is in use"), std::string::npos) << second.text;
    EXPECT_TRUE(content_of(in.path("file")).ends_with(kText));
    EXPECT_TRUE(visit(in.path("socket")));
    EXPECT_EQ(first.end().exit_code, 0);
}

INSTANTIATE_TEST_SUITE_P(PmukitModel, SecondStart,
                         testing::Values(std::pair("cxl_hmu", "--access-log"),
                                         std::pair("cxl_hmu", "--entries-log"),
                                         std::pair("cxl_hmu", "--tap"),
                                         std::pair("hisi_ptt --serves 00:10.0", "--seen-log"),
                                         std::pair("uncore_pmon", "--access-log")));

TEST(PmukitModel, UnwritableLogLeavesNoSocket)
{
    const TestFolder in;
    for (const char *words :
         {"cxl_hmu --access-log /nonexistent/log", "cxl_hmu --tap /nonexistent/tap",
          "hisi_ptt --serves 00:10.0 --seen-log /nonexistent/log",
          "uncore_pmon --access-log /nonexistent/log"}) {
        const Outcome outcome = Program(words + (" --socket " + in.path("socket"))).end();
        EXPECT_EQ(outcome.exit_code, 1) << outcome.text;
        EXPECT_FALSE(std::filesystem::exists(in.path("socket"))) << words;
    }
}

TEST(PmukitModelChassis, ServesEveryDeviceOfTheCommandLine)
{
    const TestFolder in;
    Program program("--once chassis --device 'cxl_hmu --socket " + in.path("a") +
                    " --bdf 01:00.0 --root-port 00:01.0' --device 'cxl_hmu --socket " +
                    in.path("b") + " --instances 2'");
    EXPECT_EQ(program.next_line(), "model: ready socket=" + in.path("a") + "\n");
    EXPECT_EQ(program.next_line(), "model: ready socket=" + in.path("b") + "\n");
    EXPECT_TRUE(visit(in.path("b")));
    EXPECT_TRUE(visit(in.path("a")));
    const Outcome outcome = program.end();
    EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
    EXPECT_EQ(std::count(outcome.text.begin(), outcome.text.end(), '\n'), 2) << outcome.text;
}

TEST(PmukitModelChassis, RunsHisiPttAndPcieEndpointInOneChassis)
{
    const TestFolder in;
    Program program("--once chassis --device 'hisi_ptt --socket " + in.path("a") +
                    " --serves 00:10.0 --generate rate=10 --function 01:00.0@00:10.0 --seen-log " +
                    in.path("seen") + "' --device 'pcie_ep --socket " + in.path("b") +
                    " --bdf 01:00.0 --root-port 00:10.0'");
    EXPECT_EQ(program.next_line(), "model: ready socket=" + in.path("a") + "\n");
    EXPECT_EQ(program.next_line(), "model: ready socket=" + in.path("b") + "\n");
    EXPECT_TRUE(visit(in.path("a")));
    EXPECT_TRUE(visit(in.path("b")));
    const Outcome outcome = program.end();
    EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
    EXPECT_NE(outcome.text.find("device=hisi_ptt seen=0 traced=0"), std::string::npos);
    EXPECT_NE(outcome.text.find("device=pcie_ep accesses=0"), std::string::npos);
    EXPECT_TRUE(std::filesystem::exists(in.path("seen")));
}

TEST(PmukitModelChassis, RunsUncorePmonAndCxlHmuInOneChassis)
{
    const TestFolder in;
    Program program("--once chassis --device 'uncore_pmon --socket " + in.path("a") +
                    " --serves 00:10.0 --access-log " + in.path("log") +
                    "' --device 'cxl_hmu --socket " + in.path("b") +
                    " --bdf 01:00.0 --root-port 00:10.0'");
    EXPECT_EQ(program.next_line(), "model: ready socket=" + in.path("a") + "\n");
    EXPECT_EQ(program.next_line(), "model: ready socket=" + in.path("b") + "\n");
    EXPECT_TRUE(visit(in.path("a")));
    EXPECT_TRUE(visit(in.path("b")));
    const Outcome outcome = program.end();
    EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
    EXPECT_NE(outcome.text.find("device=uncore_pmon ddr_reads=0 ddr_writes=0 cxl_reads=0"),
              std::string::npos);
    EXPECT_TRUE(std::filesystem::exists(in.path("log")));
}

TEST(PmukitModelChassis, RejectsDumpTableOptionForDeviceOfChassis)
{
    const Outcome outcome = Program("chassis --device 'uncore_pmon --dump-table /tmp/x'").end();
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_NE(outcome.text.find("serves no guest"), std::string::npos) << outcome.text;
}

TEST(PmukitModelChassis, ReportsDeviceWithInvalidOptions)
{
    for (const char *device :
         {"", "none-such --socket x", "cxl_hmu", "cxl_hmu --socket x --what"}) {
        const Outcome outcome = Program(std::string("chassis --device '") + device + "'").end();
        EXPECT_EQ(outcome.exit_code, 2) << device;
        EXPECT_NE(outcome.text.find("--device"), std::string::npos) << outcome.text;
    }
}

}  // namespace
}  // namespace pmukit::cli
