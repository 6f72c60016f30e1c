// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Tests a task that exits while it is moved to a group. At whatever moment the task exits, no count
// includes it afterwards, and the group can be removed.
#include "cache_qos_tasks.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace pmukit::kshim {
namespace {

constexpr u16 kRoot = 0;
constexpr unsigned kMoments = 6;  // more than the driver takes locks

// Checks that no count includes a task, and removes the group. If the group counted a task without
// an entry in the table, the removal would never end.
void expect_nothing_left(u16 group)
{
    tasks_end_now();
    EXPECT_EQ(tasks_tracked(), 0U);
    EXPECT_EQ(tasks_in(kRoot), 0U);
    ASSERT_EQ(tasks_in(group), 0U);
    tasks_remove_group(group);
}

TEST(CacheQosTasks, TaskStaysInGroupUntilExit)
{
    tasks_begin();
    const u16 group = static_cast<u16>(tasks_make_group());
    ASSERT_EQ(tasks_attach(group), 0);
    EXPECT_EQ(tasks_in(group), 1U);
    EXPECT_EQ(tasks_in(kRoot), 0U);
    expect_nothing_left(group);
}

TEST(CacheQosTasks, TaskThatExitsDuringAttachIsCountedNowhere)
{
    for (unsigned moment = 1; moment <= kMoments; moment++) {
        SCOPED_TRACE(moment);
        tasks_begin();
        const u16 group = static_cast<u16>(tasks_make_group());
        tasks_end_before_lock(moment);
        // At moment 1 the task is not in the table yet; at moment 2 it has not been moved yet.
        EXPECT_EQ(tasks_attach(group), moment <= 2 ? -ESRCH : 0);
        expect_nothing_left(group);
    }
}

TEST(CacheQosTasks, AttachOfProcessSucceedsIfTheProcessExitsMeanwhile)
{
    for (unsigned moment = 1; moment <= kMoments; moment++) {
        SCOPED_TRACE(moment);
        tasks_begin();
        const u16 group = static_cast<u16>(tasks_make_group());
        tasks_end_before_lock(moment);
        EXPECT_EQ(tasks_attach_process(group), 0);
        expect_nothing_left(group);
    }
}

TEST(CacheQosTasks, ChildJoinsGroupOfParent)
{
    tasks_begin();
    tasks_fork();
    EXPECT_EQ(tasks_tracked(), 0U);
    const u16 group = static_cast<u16>(tasks_make_group());
    ASSERT_EQ(tasks_attach(group), 0);
    tasks_fork();
    EXPECT_EQ(tasks_tracked(), 2U);
    EXPECT_EQ(tasks_in(group), 2U);
    tasks_end_child();
    expect_nothing_left(group);
}

// The removal of the last group detaches the driver's probes. If the driver tracked the child, it
// would not notice the child's exit.
TEST(CacheQosTasks, ChildForkedDuringGroupRemovalIsNotTracked)
{
    tasks_begin();
    const u16 group = static_cast<u16>(tasks_make_group());
    ASSERT_EQ(tasks_attach(group), 0);
    tasks_fork_beside_removal(group);
    EXPECT_EQ(tasks_tracked(), 0U);
    EXPECT_EQ(tasks_in(kRoot), 0U);
}

}  // namespace
}  // namespace pmukit::kshim
