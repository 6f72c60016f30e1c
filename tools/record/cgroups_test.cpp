// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "record/cgroups.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/test_folder.hpp"

namespace pmukit::record {
namespace {

constexpr const char *kOfSystem = "proc /proc proc rw 0 0\nsysfs /sys sysfs rw 0 0\n";
constexpr const char *kUnified =
    "cgroup2 /sys/fs/cgroup/unified cgroup2 rw,nosuid,nsdelegate 0 0\n";
constexpr const char *kOfPerf =
    "cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n"
    "cgroup /sys/fs/cgroup/net_cls,perf_event cgroup rw,net_cls,perf_event 0 0\n";

TEST(CgroupRoot, IsTheMountPointOfTheUnifiedHierarchy)
{
    const std::string system = kOfSystem;
    EXPECT_EQ(cgroup_root(system + "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n"), "/sys/fs/cgroup");
    EXPECT_EQ(cgroup_root(system + kUnified), "/sys/fs/cgroup/unified");
    EXPECT_EQ(cgroup_root(system + "none /my\\040own\\134x cgroup2 rw 0 0\n"), "/my own\\x");
}

TEST(CgroupRoot, IsTheHierarchyWithPerfEventIfBothVersionsAreMounted)
{
    for (const std::string &mounts :
         {std::string(kUnified) + kOfPerf, std::string(kOfPerf) + kUnified, std::string(kOfPerf)})
        EXPECT_EQ(cgroup_root(mounts), "/sys/fs/cgroup/net_cls,perf_event") << mounts;
}

TEST(CgroupRoot, IsMissingWithoutAHierarchyThatHasPerfEvent)
{
    EXPECT_EQ(cgroup_root(""), std::nullopt);
    EXPECT_EQ(cgroup_root(kOfSystem), std::nullopt);
    EXPECT_EQ(cgroup_root("cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n"), std::nullopt);
    EXPECT_EQ(cgroup_root("cgroup2 /sys/fs/cgroup"), std::nullopt) << "a line that ends early";
}

TEST(OpenCgroup, OpensTheFolderBelowTheMountPoint)
{
    TestFolder folder;
    folder.folder("cgroup/unified/a/b");
    folder.put("mounts", "cgroup2 " + folder.path("cgroup/unified") + " cgroup2 rw 0 0\n");
    const Result<Fd> opened = open_cgroup("a/b", folder.path("mounts"));
    ASSERT_TRUE(opened) << opened.error().message;
    struct stat found {
    }, expected{};
    ASSERT_EQ(::fstat(opened->get(), &found), 0);
    ASSERT_EQ(::stat(folder.path("cgroup/unified/a/b").c_str(), &expected), 0);
    EXPECT_EQ(found.st_ino, expected.st_ino);

    const Result<Fd> missing = open_cgroup("c", folder.path("mounts"));
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().message,
              "-G c: there is no such cgroup in " + folder.path("cgroup/unified"));
    const Result<Fd> unread = open_cgroup("c", folder.path("nothing"));
    ASSERT_FALSE(unread);
    EXPECT_EQ(unread.error().message.find(folder.path("nothing")), 0U);
    folder.put("empty", "");
    const Result<Fd> none = open_cgroup("c", folder.path("empty"));
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().message.find("-G c: no cgroups are mounted"), 0U);
}

}  // namespace
}  // namespace pmukit::record
