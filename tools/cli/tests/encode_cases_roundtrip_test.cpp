// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Runs every case of tools/encode/testdata: each command that the case names must print exactly the
// expected text for the recording of the case.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <filesystem>
#include <regex>

#include "base/file.hpp"
#include "base/test_folder.hpp"
#include "encode/encode.hpp"

namespace pmukit {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> cases()
{
    std::vector<std::string> names;
    for (const fs::directory_entry &entry : fs::directory_iterator(CASES_FOLDER))
        names.push_back(entry.path().stem());
    std::sort(names.begin(), names.end());
    return names;
}

class EncodeCases : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(All, EncodeCases, testing::ValuesIn(cases()),
                         [](const auto &name) { return name.param; });

// Runs a command and returns its standard output.
std::string said_by(const std::string &command)
{
    std::string text;
    FILE *pipe = ::popen((command + " 2>/dev/null").c_str(), "r");
    char chunk[4096];
    while (size_t got = std::fread(chunk, 1, sizeof chunk, pipe))
        text.append(chunk, got);
    const int status = ::pclose(pipe);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) <= 1) << command;
    return text;
}

// Removes the id of the recording from the rows of export, because the expected text does not have
// it: session_test compares ids.
std::string without_id(const std::string &text)
{
    static const std::regex id(R"("recording":"[0-9a-f]{16}",)");
    return std::regex_replace(text, id, "");
}

TEST_P(EncodeCases, CommandsPrintTheExpectedText)
{
    Result<std::string> text = read_small_file(CASES_FOLDER "/" + GetParam() + ".case");
    ASSERT_TRUE(text);
    Result<encode::Case> what = encode::parse_case(*text);
    ASSERT_TRUE(what) << what.error().message;
    const TestFolder folder;
    const std::string file = folder.path("perf.data");
    ASSERT_TRUE(encode::write_recording(*what, file));
    EXPECT_FALSE(what->expected.empty());
    for (const encode::Expectation &expected : what->expected)
        EXPECT_EQ(without_id(said_by(PMUKIT_COMMAND " " + expected.command + " -i " + file)),
                  expected.text)
            << expected.command;
}

}  // namespace
}  // namespace pmukit
