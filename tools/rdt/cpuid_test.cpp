// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Compares the emulated CPUID leaves with public dumps of real processors (InstLatx64).
#include "rdt/cpuid.hpp"

#include <gtest/gtest.h>

namespace pmukit::rdt {
namespace {

// A leaf that the processor does not implement.
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

TEST(Cpuid, MonitoringLeafMatchesGenoa)
{
    EXPECT_EQ(leaf_of(genoa(), 0xf, 0, kNothing), (Leaf{0, 0xff, 0, 2}));
    EXPECT_EQ(leaf_of(genoa(), 0xf, 1, kNothing), (Leaf{0x14, 0x40, 0xff, 7}));
    EXPECT_EQ(leaf_of(genoa(), 0xf, 2, kNothing), kNothing);
}

// Genoa also sets 0x10.1 ECX bit 2 (CDP) and, in 0x80000020.0 EBX, slow memory, BMEC and more. The
// plugin does not emulate these.
TEST(Cpuid, AllocationLeafMatchesGenoa)
{
    EXPECT_EQ(leaf_of(genoa(), 0x10, 0, kNothing), (Leaf{0, 2, 0, 0}));
    EXPECT_EQ(leaf_of(genoa(), 0x10, 1, kNothing), (Leaf{0xf, 0, 0, 0xf}));
    EXPECT_EQ(leaf_of(genoa(), 0x10, 3, kNothing), kNothing);
    EXPECT_EQ(leaf_of(genoa(), 0x80000020, 0, kNothing), (Leaf{0, 0x1e & 0x2, 0, 0}));
    EXPECT_EQ(leaf_of(genoa(), 0x80000020, 1, kNothing), (Leaf{0xb, 0, 0, 0xf}));
    EXPECT_EQ(leaf_of(genoa(), 0x80000020, 2, kNothing), kNothing);
}

// Turin has 0x80000020.0 EBX = 0x7e; slow memory and SDCIAE, among others, are not emulated.
TEST(Cpuid, AssignableCounterLeafMatchesTurin)
{
    Shape turin = genoa();
    turin.abmc = 32;
    EXPECT_EQ(leaf_of(turin, 0x80000020, 0, kNothing), (Leaf{0, 0x2a, 0, 0}));
    EXPECT_EQ(leaf_of(turin, 0x80000020, 3, kNothing), (Leaf{0, 2, 0x7f, 0}));
    EXPECT_EQ(leaf_of(turin, 0x80000020, 5, kNothing), (Leaf{0x14, 0x1f, 1, 0}));
    EXPECT_EQ(leaf_of(genoa(), 0x80000020, 5, kNothing), kNothing);
}

TEST(Cpuid, AmdReportsThrottlingAndTheQosLeaf)
{
    const Leaf found{1, 2, 3, 4};
    EXPECT_EQ(leaf_of(genoa(), 0x80000008, 0, found), (Leaf{1, 2 | 0x40, 3, 4}));
    EXPECT_EQ(0x79bef25fu & 0x40, 0x40u);  // Genoa
    EXPECT_EQ(leaf_of(genoa(), 0x80000000, 0, {0x8000001f, 2, 3, 4}), (Leaf{0x80000020, 2, 3, 4}));
    EXPECT_EQ(leaf_of(genoa(), 0x80000000, 0, {0x80000028, 2, 3, 4}), (Leaf{0x80000028, 2, 3, 4}));
}

TEST(Cpuid, MonitoringLeafMatchesGraniteRapids)
{
    EXPECT_EQ(leaf_of(granite_rapids(), 0xf, 0, kNothing), (Leaf{0, 0x11f, 0, 2}));
    // Granite Rapids also sets EAX bits above the width field.
    EXPECT_EQ(leaf_of(granite_rapids(), 0xf, 1, kNothing), (Leaf{0x608 & 0xff, 0x12000, 0x11f, 7}));
}

// Granite Rapids also reports L2 allocation (0x10.0 EBX bit 2), ways shared with devices (0x10.1
// EBX) and noncontiguous masks (0x10.1 ECX).
TEST(Cpuid, AllocationLeafMatchesGraniteRapids)
{
    EXPECT_EQ(leaf_of(granite_rapids(), 0x10, 0, kNothing), (Leaf{0, 0xe & ~4u, 0, 0}));
    EXPECT_EQ(leaf_of(granite_rapids(), 0x10, 1, kNothing), (Leaf{0xf, 0, 0, 0xe}));
    EXPECT_EQ(leaf_of(granite_rapids(), 0x10, 3, kNothing), (Leaf{89, 0, 4, 0xe}));
}

TEST(Cpuid, RdtIsAddedToTheFeatureLeaf)
{
    for (const Shape &shape : {genoa(), granite_rapids()}) {
        EXPECT_EQ(leaf_of(shape, 7, 0, {1, 0x10, 3, 4}), (Leaf{1, 0x9010, 3, 4}));
        EXPECT_EQ(leaf_of(shape, 7, 1, {1, 0x10, 3, 4}), (Leaf{1, 0x10, 3, 4}));
    }
    EXPECT_EQ(0xf1bf97a9u & 0x9000, 0x9000u);  // Genoa
    EXPECT_EQ(0xf3bfbffbu & 0x9000, 0x9000u);  // Granite Rapids
}

TEST(Cpuid, OtherLeavesAreUnchanged)
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
