// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "vmrun_child.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "vmrun_text.hpp"

namespace pmukit::vm {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Child, ReturnsExitCodes)
{
    EXPECT_EQ(*run_to_end({{"true"}}), 0);
    EXPECT_EQ(*run_to_end({{"sh", "-c", "exit 7"}}), 7);
    EXPECT_EQ(*run_to_end({{"sh", "-c", "kill -9 $$"}}), 128 + 9);
    EXPECT_EQ(*run_to_end({{"/nonexistent/program"}}), 127);
}

TEST(Child, WritesOutputToFiles)
{
    fs::path folder = fs::path(testing::TempDir()) / "vmrun_child";
    fs::create_directories(folder);
    ASSERT_EQ(
        *run_to_end({{"sh", "-c", "echo out; echo err >&2; cat"}, folder / "out", folder / "err"}),
        0);
    EXPECT_EQ(*read_file(folder / "out"), "out\n");
    EXPECT_EQ(*read_file(folder / "err"), "err\n");
    fs::remove_all(folder);
}

TEST(Child, StopKillsAProcessThatIgnoresSigterm)
{
    const fs::path deaf = fs::path(testing::TempDir()) / fmt::format("vmrun_deaf_{}", ::getpid());
    auto child = Child::start(
        {{"sh", "-c", "trap '' TERM; echo >\"$0\"; while :; do sleep 0.05; done", deaf}});
    ASSERT_TRUE(child);
    while (!fs::exists(deaf))
        ASSERT_FALSE(child->wait(milliseconds(20)));
    EXPECT_EQ(child->stop(milliseconds(200)), 128 + SIGKILL);
    EXPECT_EQ(*child->poll(), 128 + SIGKILL);
    fs::remove(deaf);
}

TEST(Child, DestructorKillsTheProcess)
{
    pid_t pid = 0;
    {
        auto child = Child::start({{"sleep", "60"}});
        ASSERT_TRUE(child);
        pid = child->pid();
        EXPECT_EQ(::kill(pid, 0), 0);
    }
    EXPECT_EQ(::kill(pid, 0), -1);
    EXPECT_EQ(errno, ESRCH);
}

TEST(Child, FailsIfOutputCannotBeWritten)
{
    EXPECT_FALSE(run_to_end({{"true"}, "/nonexistent/file"}));
}

}  // namespace
}  // namespace pmukit::vm
