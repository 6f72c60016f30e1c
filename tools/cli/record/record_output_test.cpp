// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/record/record_output.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/fd.hpp"
#include "base/test_folder.hpp"

namespace pmukit::cli {
namespace {

namespace fs = std::filesystem;

TEST(ClaimOutput, RefusesAnOutputFileThatIsAnArgumentOfTheRecordedCommand)
{
    TestFolder folder;
    folder.put("in.txt", "PERFILE2 is what it begins with");
    const std::string path = folder.path("in.txt");
    for (const std::vector<std::string> &command :
         {std::vector<std::string>{"sort", path},
          {"dd", "if=" + path},
          {"x", "-a", "--file=" + path},
          {"cat",
           folder.dir() + "/../" + fs::path(folder.dir()).filename().string() + "/in.txt"}}) {
        const Result<void> claimed = claim_output(path, command);
        ASSERT_FALSE(claimed) << command.back();
        EXPECT_EQ(claimed.error().code, Errc::kUsage);
        EXPECT_NE(claimed.error().message.find("argument of the command"), std::string::npos);
    }
    EXPECT_TRUE(claim_output(path, {path})) << "the program itself is no word of its own";
    EXPECT_TRUE(claim_output(path, {"sort", folder.path("other.txt")}));
}

TEST(ClaimOutput, RefusesToOverwriteAFileThatIsNotARecording)
{
    TestFolder folder;
    folder.put("important.txt", "a letter");
    folder.put("short", "PERF");
    folder.put("empty", "");
    folder.put("perf.data", "PERFILE2...");
    folder.put("other_order.data", "2ELIFREP...");
    for (const char *name : {"important.txt", "short"}) {
        const Result<void> claimed = claim_output(folder.path(name), {});
        ASSERT_FALSE(claimed) << name;
        EXPECT_NE(claimed.error().message.find("not a recording"), std::string::npos);
    }
    for (const char *name : {"empty", "perf.data", "other_order.data", "nothing"})
        EXPECT_TRUE(claim_output(folder.path(name), {})) << name;
    EXPECT_TRUE(claim_output("/dev/null", {"cat", "/dev/null"}));
}

TEST(ClaimOutput, RefusesToReplaceNameDotOldIfItIsNotARecording)
{
    TestFolder folder;
    const std::string path = folder.path("perf.data");
    folder.put("perf.data.old", "a letter");
    EXPECT_TRUE(claim_output(path, {})) << "there is none that is to be called so";
    folder.put("perf.data", "");
    EXPECT_TRUE(claim_output(path, {}));
    folder.put("perf.data", "PERFILE2...");
    const Result<void> claimed = claim_output(path, {});
    ASSERT_FALSE(claimed);
    EXPECT_EQ(claimed.error().code, Errc::kUsage);
    EXPECT_NE(claimed.error().message.find("perf.data.old, but a file of this name exists"),
              std::string::npos);
    folder.put("perf.data.old", "PERFILE2...");
    EXPECT_TRUE(claim_output(path, {}));
    EXPECT_FALSE(claim_output(path, {"sort", path + ".old"}));
}

TEST(KeepLink, RenamesALinkToARecordingToNameDotOldAndLeavesTheRecording)
{
    TestFolder folder;
    folder.put("file", "PERFILE2...");
    folder.link("link", "file");
    folder.link("dangling", "nothing");
    folder.put("empty", "");
    folder.link("link_to_empty", "empty");
    for (const char *name : {"link", "dangling", "link_to_empty", "file", "missing"})
        ASSERT_TRUE(keep_link(folder.path(name))) << name;
    EXPECT_FALSE(fs::exists(fs::symlink_status(folder.path("link"))));
    EXPECT_EQ(fs::read_symlink(folder.path("link.old")), "file");
    EXPECT_EQ(fs::file_size(folder.path("file")), 11U);
    for (const char *name : {"dangling", "link_to_empty"})
        EXPECT_TRUE(fs::is_symlink(folder.path(name)))
            << name << ": its file is created, as by perf";
}

// The link in the way is one of the system, such as /dev/stdout.
TEST(KeepLink, LeavesALinkThatLeadsToAnOpenFile)
{
    TestFolder folder;
    folder.put("file", "PERFILE2...");
    const Fd open(::open(folder.path("file").c_str(), O_WRONLY | O_CLOEXEC));
    folder.link("stdout", "/proc/self/fd/" + std::to_string(open.get()));
    ASSERT_TRUE(keep_link(folder.path("stdout")));
    EXPECT_TRUE(fs::is_symlink(folder.path("stdout")));
}

TEST(KeepLink, RefusesALinkThatAnotherUserPlanted)
{
    if (::geteuid() != 0)
        GTEST_SKIP() << "only root can make a link of another user";
    constexpr uid_t kOther = 65534;
    TestFolder folder;
    folder.put("file", "PERFILE2...");
    folder.folder("shared");
    ASSERT_EQ(::chmod(folder.path("shared").c_str(), 01777), 0);
    folder.link("shared/link", "../file");
    ASSERT_EQ(::lchown(folder.path("shared/link").c_str(), kOther, kOther), 0);
    const Result<void> kept = keep_link(folder.path("shared/link"));
    ASSERT_FALSE(kept);
    EXPECT_NE(kept.error().message.find("not followed"), std::string::npos);
    EXPECT_TRUE(fs::is_symlink(folder.path("shared/link")));
}

TEST(KeepEarlier, RenamesAnEarlierFileToNameDotOldButKeepsASymlink)
{
    TestFolder folder;
    folder.put("perf.data", "second");
    folder.put("perf.data.old", "first");
    ASSERT_TRUE(keep_earlier(folder.path("perf.data")));
    EXPECT_FALSE(fs::exists(folder.path("perf.data")));
    EXPECT_EQ(fs::file_size(folder.path("perf.data.old")), 6U);
    ASSERT_TRUE(keep_earlier(folder.path("perf.data"))) << "nothing is there";
    EXPECT_EQ(fs::file_size(folder.path("perf.data.old")), 6U);

    folder.put("file", "x");
    fs::create_symlink(folder.path("file"), folder.path("link"));
    ASSERT_TRUE(keep_earlier(folder.path("link")));
    EXPECT_TRUE(fs::is_symlink(folder.path("link"))) << "what it leads to is replaced, not it";
}

}  // namespace
}  // namespace pmukit::cli
