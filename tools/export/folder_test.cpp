// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Output folders: another user who can write to the parent folder moves the unfinished folder away
// and puts a link to a folder of the victim in its place.
#include "export/folder.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <vector>

#include "base/test_folder.hpp"
#include "export/schema.hpp"
#include "export/writer.hpp"

namespace pmukit::exporter {
namespace {

namespace fs = std::filesystem;

bool is_empty(const std::string &folder)
{
    return fs::directory_iterator(folder) == fs::directory_iterator();
}

class FolderTest : public testing::Test {
protected:
    FolderTest() { folder_.folder("victim"); }
    std::string part() const { return path_ + ".part-" + std::to_string(::getpid()); }
    void swap() const
    {
        fs::rename(part(), folder_.path("moved"));
        fs::create_directory_symlink("victim", part());
    }

    TestFolder folder_;
    std::string path_ = folder_.path("out");
};

class SwappedFolder : public FolderTest, public testing::WithParamInterface<const char *> {};

TEST_P(SwappedFolder, WriterDoesNotWriteThroughALink)
{
    const Table &table = *find_table("losses");
    WriterResult writer = find_format(GetParam())->make({path_, nullptr, "", ""});
    if (!writer && writer.error().code == Errc::kUnsupported)
        GTEST_SKIP() << writer.error().message;
    ASSERT_TRUE(writer) << writer.error().message;
    swap();
    std::vector<Value> row(table.columns.size());
    row[kHost] = std::string_view("green");
    (*writer)->rows(table, std::span(row).first(kOriginColumns),
                    std::span(row).subspan(kOriginColumns));
    const Result<void> finished = (*writer)->finish();
    ASSERT_FALSE(finished);
    EXPECT_NE(finished.error().message.find("another program replaced"), std::string::npos)
        << finished.error().message;
    writer->reset();
    EXPECT_TRUE(is_empty(folder_.path("victim")));
    EXPECT_FALSE(fs::exists(path_));
}
INSTANTIATE_TEST_SUITE_P(Formats, SwappedFolder, testing::Values("csv", "ctf"),
                         [](const auto &format) { return std::string(format.param); });

TEST_F(FolderTest, UnfinishedFolderIsRemovedWithItsContent)
{
    {
        Result<Folder> made = Folder::create(path_);
        ASSERT_TRUE(made);
        fs::create_directories(made->part() + "/a/b");
        EXPECT_TRUE(fs::exists(part() + "/a/b"));
    }
    EXPECT_FALSE(fs::exists(part()));
    EXPECT_FALSE(fs::exists(path_));
}

TEST_F(FolderTest, FinishedFolderHasItsNameAndContent)
{
    {
        Result<Folder> made = Folder::create(path_ + "//");
        ASSERT_TRUE(made);
        fs::create_directories(made->part() + "/a");
        Folder moved = std::move(*made);
        ASSERT_TRUE(moved.finish());
    }
    EXPECT_TRUE(fs::exists(path_ + "/a"));
    EXPECT_FALSE(fs::exists(part()));
}

}  // namespace
}  // namespace pmukit::exporter
