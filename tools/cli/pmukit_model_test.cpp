// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The command line of pmukit-model: a wrong word is answered with one line and an exit code.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>

namespace pmukit::cli {
namespace {

struct Outcome {
    int exit_code;
    std::string text;  // stdout and stderr
};

Outcome run(const std::string &arguments)
{
    const std::string command = "timeout 20 " PMUKIT_MODEL_PROGRAM
                                " cxl_hmu --socket /nonexistent/socket " +
                                arguments + " 2>&1";
    FILE *pipe = ::popen(command.c_str(), "r");
    if (!pipe)
        return {-1, "popen failed"};
    Outcome outcome{};
    std::array<char, 4096> chunk;
    while (const size_t got = std::fread(chunk.data(), 1, chunk.size(), pipe))
        outcome.text.append(chunk.data(), got);
    const int status = ::pclose(pipe);
    outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return outcome;
}

class WrongWords : public testing::TestWithParam<const char *> {};

TEST_P(WrongWords, GiveOneLineAndExit2)
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
                                         "--epoch-min 9", "--fault none-such"));

TEST(PmukitModel, NamesATraceThatItCannotRead)
{
    const Outcome outcome = run("--source replay:file=/nonexistent/trace");
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_NE(outcome.text.find("trace /nonexistent/trace: No such file"), std::string::npos);
}

TEST(PmukitModel, HelpDescribesTheSource)
{
    const Outcome outcome = run("--help");
    EXPECT_EQ(outcome.exit_code, 0);
    for (const char *word : {"--source TEXT", "--source-log", "--entries-log", "--stats-log",
                             "sequential", "unit-bytes", "room"})
        EXPECT_NE(outcome.text.find(word), std::string::npos) << word << outcome.text;
}

}  // namespace
}  // namespace pmukit::cli
