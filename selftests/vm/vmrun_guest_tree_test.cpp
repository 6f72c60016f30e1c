// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "vmrun_guest_tree.hpp"

#include <gtest/gtest.h>

namespace pmukit::vm {
namespace {

using Words = std::vector<std::string>;

constexpr std::string_view kDep =
    "kernel/fs/9p/9p.ko.xz: kernel/net/9p/9pnet.ko.xz kernel/fs/netfs/netfs.ko.xz\n"
    "kernel/net/9p/9pnet.ko.xz: kernel/fs/netfs/netfs.ko.xz\n"
    "kernel/fs/netfs/netfs.ko.xz:\n"
    "kernel/drivers/cxl/cxl-pci.ko.xz: kernel/drivers/cxl/core/cxl_core.ko.xz\n";
constexpr std::string_view kBuiltin = "kernel/drivers/cxl/core/cxl_core.ko\n";

TEST(ModuleIndex, LoadsDependenciesFirstAndOnce)
{
    auto index = ModuleIndex::parse(kDep, kBuiltin);
    auto order = index.load_order({"9p", "9pnet", "netfs"});
    ASSERT_TRUE(order);
    EXPECT_EQ(*order, (Words{"kernel/fs/netfs/netfs.ko.xz", "kernel/net/9p/9pnet.ko.xz",
                             "kernel/fs/9p/9p.ko.xz"}));
}

TEST(ModuleIndex, SkipsBuiltInModules)
{
    auto index = ModuleIndex::parse(kDep, kBuiltin);
    auto order = index.load_order({"cxl_core", "cxl_pci"});
    ASSERT_TRUE(order);
    EXPECT_EQ(*order, Words{"kernel/drivers/cxl/cxl-pci.ko.xz"});
}

TEST(ModuleIndex, ErrorForAnUnknownModuleContainsItsName)
{
    auto order = ModuleIndex::parse(kDep, kBuiltin).load_order({"nosuch"});
    ASSERT_FALSE(order);
    EXPECT_NE(order.error().message.find("nosuch"), std::string::npos);
}

TEST(ModuleIndex, ReturnsDespiteCircularDependencies)
{
    auto order = ModuleIndex::parse("a.ko: b.ko\nb.ko: a.ko\n", "").load_order({"a"});
    ASSERT_TRUE(order);
    EXPECT_EQ(order->size(), 2u);
}

TEST(GuestTree, ErrorForAMissingTreeSuggestsMakeSetup)
{
    auto tree = open_guest_tree("/nonexistent");
    ASSERT_FALSE(tree);
    EXPECT_NE(tree.error().message.find("make setup"), std::string::npos);
}

}  // namespace
}  // namespace pmukit::vm
