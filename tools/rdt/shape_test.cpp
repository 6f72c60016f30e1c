// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "rdt/shape.hpp"

#include <gtest/gtest.h>

#include <string>

namespace pmukit::rdt {
namespace {

Shape shape_with(std::initializer_list<const char *> options)
{
    Shape shape;
    for (const char *option : options)
        EXPECT_TRUE(take_option(shape, option)) << option;
    return shape;
}

TEST(Shape, ParsesDecimalHexadecimalAndBinaryUnits)
{
    const Shape shape =
        shape_with({"vendor=amd", "l3=32M", "l2=512K", "node=1G", "rmids=0x100", "width=44",
                    "unit=64", "ways=8", "classes=16", "counters=4", "start=7", "unavailable=3",
                    "error=5", "cpus-per-l3=2", "abmc=32"});
    EXPECT_EQ(shape.abmc, 32u);
    EXPECT_EQ(shape.vendor, Vendor::kAmd);
    EXPECT_EQ(shape.l3_bytes, 33554432u);
    EXPECT_EQ(shape.l2_bytes, 524288u);
    EXPECT_EQ(shape.node_bytes, 1073741824u);
    EXPECT_EQ(shape.rmids, 256u);
    EXPECT_EQ(shape.width, 44u);
    EXPECT_EQ(shape.unit, 64u);
    EXPECT_EQ(shape.ways, 8u);
    EXPECT_EQ(shape.classes, 16u);
    EXPECT_EQ(shape.counters, 4u);
    EXPECT_EQ(shape.start, 7u);
    EXPECT_EQ(shape.unavailable, 3u);
    EXPECT_EQ(shape.error, 5u);
    EXPECT_EQ(shape.cpus_per_l3, 2u);
    EXPECT_EQ(fault_of(shape), nullptr);
}

TEST(Shape, RejectsMalformedOptions)
{
    for (const char *option : {"", "l3", "l3=", "l3=x", "l3=1T", "l3=1MM", "l3=-1", "rmids=1x",
                               "vendor=via", "l33=1", "rmids=0x100000000", "=1"}) {
        Shape shape;
        EXPECT_FALSE(take_option(shape, option)) << option;
    }
}

TEST(Shape, RejectsInvalidShapes)
{
    for (const char *option :
         {"cpus-per-l3=0", "ways=0",    "ways=33",    "l3=3M",       "l3=8G",
          "l3=0",          "l2=32",     "l2=3K",      "l2=2G",       "rmids=1",
          "rmids=1025",    "classes=0", "classes=17", "unit=0",      "unit=32",
          "unit=100",      "width=23",  "width=63",   "counters=33", "abmc=1"}) {
        EXPECT_NE(fault_of(shape_with({option})), nullptr) << option;
    }
    EXPECT_EQ(fault_of(shape_with({"l2=0"})), nullptr);
    // Sapphire Rapids: 15 ways and a unit of 90112 bytes
    EXPECT_EQ(fault_of(shape_with({"l3=15M", "ways=15", "unit=90112"})), nullptr);
}

TEST(Shape, NodesDivideTheCpusTheRmidsAndTheUnitOfAnL3)
{
    // Granite Rapids, with the unit of its CPUID
    Shape shape = shape_with({"cpus-per-l3=6", "nodes=3", "rmids=64", "unit=73728"});
    shape.cpus = 12;
    EXPECT_EQ(fault_of(shape), nullptr);
    std::string nodes;
    for (uint32_t cpu = 0; cpu < shape.cpus; cpu++)
        nodes += std::to_string(node_of(shape, cpu));
    EXPECT_EQ(nodes, "001122001122");
    EXPECT_EQ(rmids_of_node(shape), 21u);
    EXPECT_EQ(unit_of_node(shape), 24576u);
    for (const char *option :
         {"nodes=0", "nodes=4", "nodes=5", "nodes=7", "vendor=amd", "rmids=5", "unit=128"}) {
        Shape wrong = shape;
        EXPECT_TRUE(take_option(wrong, option));
        EXPECT_NE(fault_of(wrong), nullptr) << option;
    }
}

TEST(Shape, ConsecutiveCpusShareAnL3)
{
    Shape shape = shape_with({"cpus-per-l3=3"});
    shape.cpus = 7;
    EXPECT_EQ(l3s_of(shape), 3u);
    std::string l3s;
    for (uint32_t cpu = 0; cpu < shape.cpus; cpu++)
        l3s += std::to_string(l3_of(shape, cpu));
    EXPECT_EQ(l3s, "0001112");
    shape.cpus = 64;
    EXPECT_NE(fault_of(shape), nullptr);  // 22 L3s
}

}  // namespace
}  // namespace pmukit::rdt
