// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Against values of real processors, from public dumps of CPUID (InstLatx64).
#include "rdt/cpuid.hpp"

#include <gtest/gtest.h>

namespace pmukit::rdt {
namespace {

// What a processor answers that does not have a leaf.
constexpr Leaf kNothing{};

Shape genoa()
{
    Shape shape;
    shape.vendor = Vendor::kAmd;
    shape.rmids = 256;
    shape.classes = 16;
    shape.unit = 64;
    shape.width = 44;
    return shape;
}

Shape granite_rapids()
{
    Shape shape;
    shape.rmids = 288;
    shape.classes = 15;
    shape.unit = 0x12000;
    shape.width = 32;
    return shape;
}

TEST(Cpuid, MonitoringOfGenoa)
{
    EXPECT_EQ(leaf_of(genoa(), 0xf, 0, kNothing), (Leaf{0, 0xff, 0, 2}));
    EXPECT_EQ(leaf_of(genoa(), 0xf, 1, kNothing), (Leaf{0x14, 0x40, 0xff, 7}));
    EXPECT_EQ(leaf_of(genoa(), 0xf, 2, kNothing), kNothing);
}

// ECX of 0x10.1 has bit 2 there, code and data apart, and 0x80000020.0 EBX slow memory, chosen
// traffic and more: none of that is here.
TEST(Cpuid, AllocationOfGenoa)
{
    EXPECT_EQ(leaf_of(genoa(), 0x10, 0, kNothing), (Leaf{0, 2, 0, 0}));
    EXPECT_EQ(leaf_of(genoa(), 0x10, 1, kNothing), (Leaf{0xf, 0, 0, 0xf}));
    EXPECT_EQ(leaf_of(genoa(), 0x10, 3, kNothing), kNothing);
    EXPECT_EQ(leaf_of(genoa(), 0x80000020, 0, kNothing), (Leaf{0, 0x1e & 0x2, 0, 0}));
    EXPECT_EQ(leaf_of(genoa(), 0x80000020, 1, kNothing), (Leaf{0xb, 0, 0, 0xf}));
    EXPECT_EQ(leaf_of(genoa(), 0x80000020, 2, kNothing), kNothing);
}

// 0x80000020.0 EBX is 0x7e there: slow memory and SDCIAE are not here.
TEST(Cpuid, CountersThatAreBoundOfTurin)
{
    Shape turin = genoa();
    turin.abmc = 32;
    EXPECT_EQ(leaf_of(turin, 0x80000020, 0, kNothing), (Leaf{0, 0x2a, 0, 0}));
    EXPECT_EQ(leaf_of(turin, 0x80000020, 3, kNothing), (Leaf{0, 2, 0x7f, 0}));
    EXPECT_EQ(leaf_of(turin, 0x80000020, 5, kNothing), (Leaf{0x14, 0x1f, 1, 0}));
    EXPECT_EQ(leaf_of(genoa(), 0x80000020, 5, kNothing), kNothing);
}

TEST(Cpuid, AmdReportsThrottlingAndThatTheLeafIsThere)
{
    const Leaf found{1, 2, 3, 4};
    EXPECT_EQ(leaf_of(genoa(), 0x80000008, 0, found), (Leaf{1, 2 | 0x40, 3, 4}));
    EXPECT_EQ(0x79bef25fu & 0x40, 0x40u);  // Genoa
    EXPECT_EQ(leaf_of(genoa(), 0x80000000, 0, {0x8000001f, 2, 3, 4}), (Leaf{0x80000020, 2, 3, 4}));
    EXPECT_EQ(leaf_of(genoa(), 0x80000000, 0, {0x80000028, 2, 3, 4}), (Leaf{0x80000028, 2, 3, 4}));
}

TEST(Cpuid, MonitoringOfGraniteRapids)
{
    EXPECT_EQ(leaf_of(granite_rapids(), 0xf, 0, kNothing), (Leaf{0, 0x11f, 0, 2}));
    // EAX has more above the width there.
    EXPECT_EQ(leaf_of(granite_rapids(), 0xf, 1, kNothing), (Leaf{0x608 & 0xff, 0x12000, 0x11f, 7}));
}

// L2 is bit 2 of EBX there; ways shared with devices and masks with holes are in EBX and ECX.
TEST(Cpuid, AllocationOfGraniteRapids)
{
    EXPECT_EQ(leaf_of(granite_rapids(), 0x10, 0, kNothing), (Leaf{0, 0xe & ~4u, 0, 0}));
    EXPECT_EQ(leaf_of(granite_rapids(), 0x10, 1, kNothing), (Leaf{0xf, 0, 0, 0xe}));
    EXPECT_EQ(leaf_of(granite_rapids(), 0x10, 3, kNothing), (Leaf{89, 0, 4, 0xe}));
}

TEST(Cpuid, FeaturesAreAddedToThoseOfTheProcessor)
{
    for (const Shape &shape : {genoa(), granite_rapids()}) {
        EXPECT_EQ(leaf_of(shape, 7, 0, {1, 0x10, 3, 4}), (Leaf{1, 0x9010, 3, 4}));
        EXPECT_EQ(leaf_of(shape, 7, 1, {1, 0x10, 3, 4}), (Leaf{1, 0x10, 3, 4}));
    }
    EXPECT_EQ(0xf1bf97a9u & 0x9000, 0x9000u);  // Genoa
    EXPECT_EQ(0xf3bfbffbu & 0x9000, 0x9000u);  // Granite Rapids
}

TEST(Cpuid, OtherLeavesAreThoseOfTheProcessor)
{
    const Leaf found{1, 2, 3, 4};
    for (const uint32_t leaf : {0x0u, 0x1u, 0x4u, 0xbu, 0x12u, 0x80000001u, 0x8000001du}) {
        EXPECT_FALSE(changes_leaf(genoa(), leaf));
        EXPECT_EQ(leaf_of(genoa(), leaf, 0, found), found);
    }
    for (const uint32_t leaf : {0x80000000u, 0x80000008u, 0x80000020u}) {
        EXPECT_TRUE(changes_leaf(genoa(), leaf));
        EXPECT_FALSE(changes_leaf(granite_rapids(), leaf));
        EXPECT_EQ(leaf_of(granite_rapids(), leaf, 0, found), found);
    }
}

}  // namespace
}  // namespace pmukit::rdt
