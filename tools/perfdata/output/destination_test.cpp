// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The rules for links and FIFOs follow Documentation/admin-guide/sysctl/fs.rst of the kernel.
#include "perfdata/output/destination.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

#include "base/file.hpp"
#include "base/test_folder.hpp"
#include "perfdata/output/new_file.hpp"

namespace pmukit::perfdata {
namespace {

namespace fs = std::filesystem;

constexpr uid_t kOther = 65534;

bool planted(mode_t folder_mode, uid_t folder_owner, uid_t owner, uid_t user)
{
    struct stat folder {
    }, entry{};
    folder.st_mode = S_IFDIR | folder_mode;
    folder.st_uid = folder_owner;
    entry.st_uid = owner;
    return could_be_planted(folder, entry, user);
}

TEST(CouldBePlanted, FollowsTheKernelsRuleForStickyDirectories)
{
    EXPECT_TRUE(planted(01777, 0, 1000, 0));
    EXPECT_TRUE(planted(01775, 0, 1000, 0));
    EXPECT_FALSE(planted(01777, 0, 0, 0)) << "one's own";
    EXPECT_FALSE(planted(01777, 0, 0, 1000)) << "of the directory's owner";
    EXPECT_FALSE(planted(01755, 0, 1000, 0)) << "no other user may write to it";
    EXPECT_FALSE(planted(0755, 1000, 1000, 0)) << "of the user whose directory it is";
    EXPECT_FALSE(planted(0777, 0, 1000, 0)) << "not sticky: any file can be exchanged there";
}

class DestinationTest : public testing::Test {
protected:
    // Creates a link of another user in a sticky directory of this user, such as /tmp.
    std::string planted_link(const std::string &target)
    {
        make_shared();
        folder_.link("shared/link", target);
        EXPECT_EQ(::lchown(folder_.path("shared/link").c_str(), kOther, kOther), 0);
        return folder_.path("shared/link");
    }
    void make_shared()
    {
        folder_.folder("shared");
        EXPECT_EQ(::chmod(folder_.path("shared").c_str(), 01777), 0);
    }
    std::string refusal(const std::string &path)
    {
        const Result<Destination> to = Destination::of(path);
        return to ? std::string() : to.error().message;
    }

    TestFolder folder_;
};

#define SKIP_UNLESS_ROOT() \
    if (::geteuid() != 0)  \
    GTEST_SKIP() << "only root can give a file to another user"

TEST_F(DestinationTest, LinkOfAnotherUserInAStickyDirectoryIsNotFollowed)
{
    SKIP_UNLESS_ROOT();
    folder_.put("victim", "old");
    const std::string link = planted_link("../victim");
    EXPECT_NE(refusal(link).find("not followed"), std::string::npos) << refusal(link);
    EXPECT_FALSE(NewFile::create(link));
    EXPECT_EQ(*read_small_file(folder_.path("victim")), "old");
}

TEST_F(DestinationTest, LinkOfAnotherUserIsNotFollowedToADirectory)
{
    SKIP_UNLESS_ROOT();
    folder_.folder("victim");
    const std::string link = planted_link("../victim");
    EXPECT_NE(refusal(link + "/perf.data").find("not followed"), std::string::npos);
    folder_.link("mine", "shared/link/perf.data");
    EXPECT_NE(refusal(folder_.path("mine")).find("not followed"), std::string::npos);
}

// The kernel follows it too: fs.protected_symlinks is about shared directories.
TEST_F(DestinationTest, LinkInADirectoryOfAnotherUserIsFollowed)
{
    SKIP_UNLESS_ROOT();
    make_shared();
    folder_.folder("shared/of_other");
    folder_.link("shared/of_other/link", "../../file");
    for (const char *name : {"shared/of_other", "shared/of_other/link"})
        ASSERT_EQ(::lchown(folder_.path(name).c_str(), kOther, kOther), 0);
    const Result<Destination> to = Destination::of(folder_.path("shared/of_other/link"));
    ASSERT_TRUE(to) << to.error().message;
    EXPECT_EQ(to->name(), "file");
}

TEST_F(DestinationTest, OwnLinkInAStickyDirectoryIsFollowed)
{
    make_shared();
    folder_.link("shared/link", "../file");
    const Result<Destination> to = Destination::of(folder_.path("shared/link"));
    ASSERT_TRUE(to) << to.error().message;
    EXPECT_EQ(to->name(), "file");
}

TEST_F(DestinationTest, FifoOfAnotherUserInAStickyDirectoryIsNotWritten)
{
    SKIP_UNLESS_ROOT();
    make_shared();
    const std::string fifo = folder_.path("shared/fifo");
    ASSERT_EQ(::mkfifo(fifo.c_str(), 0666), 0);
    const Fd reader(::open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    EXPECT_TRUE(Destination::of(fifo));
    ASSERT_EQ(::chown(fifo.c_str(), kOther, kOther), 0);
    EXPECT_NE(refusal(fifo).find("not written"), std::string::npos) << refusal(fifo);
}

TEST_F(DestinationTest, FileOfAnotherUserInAStickyDirectoryIsReplacedNotWritten)
{
    SKIP_UNLESS_ROOT();
    make_shared();
    folder_.put("shared/file", "old");
    const std::string path = folder_.path("shared/file");
    ASSERT_EQ(::chown(path.c_str(), kOther, kOther), 0);
    fs::create_hard_link(path, folder_.path("kept"));
    Result<NewFile> file = NewFile::create(path);
    ASSERT_TRUE(file) << file.error().message;
    ASSERT_TRUE(file->put(as_bytes("new")));
    ASSERT_TRUE(file->finish());
    EXPECT_EQ(*read_small_file(path), "new");
    EXPECT_EQ(*read_small_file(folder_.path("kept")), "old");
    struct stat status {};
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_uid, ::geteuid());
}

// The directory is replaced with a link while the file is written.
TEST_F(DestinationTest, LinkThatReplacesTheDirectoryDuringWritingIsNotFollowed)
{
    folder_.folder("own");
    folder_.folder("victim");
    folder_.put("victim/file", "old");
    Result<NewFile> file = NewFile::create(folder_.path("own/file"));
    ASSERT_TRUE(file);
    fs::rename(folder_.path("own"), folder_.path("moved"));
    folder_.link("own", "victim");
    ASSERT_TRUE(file->put(as_bytes("new")));
    ASSERT_TRUE(file->finish());
    EXPECT_EQ(*read_small_file(folder_.path("victim/file")), "old");
    EXPECT_EQ(*read_small_file(folder_.path("moved/file")), "new");
}

TEST_F(DestinationTest, LinkLoopsDirectoriesAndDevicesAreRefused)
{
    folder_.link("a", "b");
    folder_.link("b", "a");
    EXPECT_NE(refusal(folder_.path("a")).find(std::strerror(ELOOP)), std::string::npos);
    EXPECT_NE(refusal(folder_.dir()).find(std::strerror(EISDIR)), std::string::npos);
    EXPECT_NE(refusal(folder_.path("none/file")), "");
    EXPECT_NE(refusal("/dev/mem/x"), "");
    EXPECT_NE(refusal(""), "");
    if (fs::exists("/dev/ptmx")) {
        EXPECT_NE(refusal("/dev/ptmx").find("is a device"), std::string::npos);
    }
}

TEST_F(DestinationTest, NullDeviceAndPipesAreWrittenInPlace)
{
    const Result<Destination> null = Destination::of("/dev/null");
    ASSERT_TRUE(null) << null.error().message;
    EXPECT_TRUE(null->is_in_place());
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const Fd from(ends[0]), into(ends[1]);
    for (const char *folder : {"/dev/fd/", "/proc/self/fd/"}) {
        const Result<Destination> pipe = Destination::of(folder + std::to_string(into.get()));
        ASSERT_TRUE(pipe) << pipe.error().message;
        EXPECT_TRUE(pipe->is_in_place());
        const Result<Fd> opened = pipe->open_in_place();
        ASSERT_TRUE(opened) << opened.error().message;
        EXPECT_EQ(::write(opened->get(), "x", 1), 1);
    }
}

TEST_F(DestinationTest, DevFdPathOfAFileResolvesToThePathOfTheFile)
{
    folder_.put("file", "old");
    const Fd open(::open(folder_.path("file").c_str(), O_WRONLY | O_CLOEXEC));
    const std::string path = "/dev/fd/" + std::to_string(open.get());
    const Result<Destination> to = Destination::of(path);
    ASSERT_TRUE(to) << to.error().message;
    EXPECT_FALSE(to->is_in_place());
    EXPECT_EQ(to->name(), "file");
    folder_.remove("file");
    EXPECT_NE(refusal(path).find("deleted"), std::string::npos);
}

// The exit status of a child that calls holds() in its own mount namespace; nullopt: this machine
// does not allow a mount namespace.
std::optional<int> in_mount_namespace(const std::function<bool()> &holds)
{
    const pid_t child = ::fork();
    if (child == 0) {
        constexpr int kNoNamespace = 77;
        if (::unshare(CLONE_NEWNS) != 0 ||
            ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
            ::_exit(kNoNamespace);
        ::_exit(holds() ? 0 : 1);
    }
    int status = 0;
    if (child < 0 || ::waitpid(child, &status, 0) != child || WEXITSTATUS(status) == 77)
        return std::nullopt;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(DestinationTest, MountPointIsRefused)
{
    folder_.put("file", "old");
    folder_.put("other", "other");
    const std::string path = folder_.path("file"), other = folder_.path("other");
    const std::optional<int> status = in_mount_namespace([&] {
        return ::mount(other.c_str(), path.c_str(), nullptr, MS_BIND, nullptr) == 0 &&
               refusal(path).find("mount point") != std::string::npos;
    });
    if (!status)
        GTEST_SKIP() << "needs a mount namespace";
    EXPECT_EQ(*status, 0);
}

// Files that a recording names

TEST_F(DestinationTest, UntrustedPathIsOpenedOnlyIfItIsARegularFile)
{
    folder_.put("program", "ELF");
    EXPECT_TRUE(open_untrusted("", folder_.path("program")));
    ASSERT_EQ(::mkfifo(folder_.path("fifo").c_str(), 0600), 0);
    for (const std::string &path :
         {folder_.path("fifo"), folder_.dir(), std::string("/dev/null"), std::string("/dev/ptmx"),
          std::string("/proc/self/maps"), std::string("/sys/kernel/notes")})
        EXPECT_FALSE(open_untrusted("", path)) << path;
}

// Opening a device can have effects: /dev/ptmx creates a terminal.
TEST_F(DestinationTest, UntrustedPathOfADeviceIsNotOpened)
{
    const auto terminals = [] {
        const Result<std::string> text = read_small_file("/proc/sys/kernel/pty/nr");
        return text ? *text : std::string();
    };
    const std::string before = terminals();
    for (int i = 0; i < 3; i++)
        EXPECT_FALSE(open_untrusted("", "/dev/ptmx"));
    EXPECT_EQ(terminals(), before);
}

TEST_F(DestinationTest, UntrustedPathStaysBelowItsRoot)
{
    folder_.put("secret", "outside");
    folder_.put("root/bin/program", "inside");
    folder_.put("root/secret", "of the root");
    const std::string root = folder_.path("root");
    const auto content = [&](const std::string &path) {
        const Result<Fd> file = open_untrusted(root, path);
        char text[32] = {};
        return file && ::read(file->get(), text, sizeof text - 1) > 0 ? std::string(text)
                                                                      : std::string();
    };
    EXPECT_EQ(content("/bin/program"), "inside");
    EXPECT_EQ(content("/../secret"), "of the root");
    EXPECT_EQ(content("/../../../../../../etc/hostname"), "");
    folder_.link("root/up", "../../secret");
    folder_.link("root/absolute", "/secret");
    EXPECT_EQ(content("/up"), "of the root");
    EXPECT_EQ(content("/absolute"), "of the root");
}

}  // namespace
}  // namespace pmukit::perfdata
