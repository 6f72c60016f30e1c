// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "session/cgroup_names.hpp"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <vector>

#include "base/bytes.hpp"
#include "perfdata/packer.hpp"

namespace pmukit::cli {
namespace {

class CgroupNamesTest : public ::testing::TestWithParam<std::endian> {
protected:
    void cgroup(uint64_t id, std::string path)
    {
        path.resize(path.size() / 8 * 8 + 8);
        perfdata::Packer body(GetParam());
        body.put(id).put(as_bytes(path));
        perfdata::Record record;
        record.type = PERF_RECORD_CGROUP;
        record.body = body.bytes();
        names.note(record, GetParam());
    }

    CgroupNames names;
};
INSTANTIATE_TEST_SUITE_P(Orders, CgroupNamesTest,
                         ::testing::Values(std::endian::little, std::endian::big));

TEST_P(CgroupNamesTest, FirstNameOfAnIdCounts)
{
    cgroup(1, "/");
    cgroup(7, "/user.slice");
    cgroup(7, "/later");
    EXPECT_EQ(names.path(1), "/");
    EXPECT_EQ(names.path(7), "/user.slice");
    EXPECT_EQ(names.path(8), "") << "it has no record";
}

TEST_P(CgroupNamesTest, InvalidUtf8IsReplaced)
{
    cgroup(7, "/\xff");
    EXPECT_EQ(names.path(7), "/\xef\xbf\xbd");
}

TEST_P(CgroupNamesTest, NamesBeyondTheMemoryLimitAreDropped)
{
    constexpr uint64_t kLeast = limits::kCgroups / 256, kMost = limits::kCgroups / 64;
    uint64_t id = 0;
    for (; names.dropped() == 0 && id < kMost; id++)
        cgroup(id, "/a-cgroup-with-a-name-that-is-not-short/" + std::to_string(id));
    EXPECT_GT(id, kLeast);
    EXPECT_LT(id, kMost);
    EXPECT_EQ(names.path(id - 1), "");
    EXPECT_EQ(names.path(1), "/a-cgroup-with-a-name-that-is-not-short/1");
}

}  // namespace
}  // namespace pmukit::cli
