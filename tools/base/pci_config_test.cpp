// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "base/pci_config.hpp"

#include <gtest/gtest.h>

#include "base/test_folder.hpp"

namespace pmukit {
namespace {

void put(std::string &space, size_t at, uint32_t word)
{
    for (size_t i = 0; i < 4; i++)
        space[at + i] = static_cast<char>(word >> 8 * i);
}

// Returns a configuration space whose bytes are all 0x5a, except the command, the status and the
// first capability pointer.
std::string space_of(size_t bytes)
{
    std::string space(bytes, '\x5a');
    put(space, 0x04, 0x0010'0000);
    put(space, 0x34, 0x40);
    return space;
}

std::string with_capabilities()
{
    std::string space = space_of(4096);
    put(space, 0x40, 0x5a5a'8010);
    put(space, 0x80, 0x5a5a'0011);
    put(space, 0x100, 0x2000'0001);
    put(space, 0x200, 0x0000'0023);
    put(space, 0x204, 0x0180'8086);  // a DVSEC of 24 bytes
    return space;
}

std::string read(const std::string &space)
{
    const TestFolder folder;
    folder.put("config", space);
    return PciConfigReader::read(folder.path("config")).value();
}

TEST(PciConfigReader, ReadsHeaderCapabilitiesAndDvsecs)
{
    const std::string whole = with_capabilities(), taken = read(whole);
    ASSERT_EQ(taken.size(), whole.size());
    for (auto [first, bytes] : {std::pair{0, 64}, {0x40, 4}, {0x80, 4}, {0x100, 4}, {0x200, 24}})
        EXPECT_EQ(taken.substr(first, bytes), whole.substr(first, bytes)) << first;
}

TEST(PciConfigReader, ReadsNoUndefinedRegisters)
{
    const std::string taken = read(with_capabilities());
    for (auto [first, last] : {std::pair{0x44, 0x80}, {0x84, 0x100}, {0x104, 0x200}, {0x218, 4096}})
        EXPECT_EQ(taken.substr(first, last - first), std::string(last - first, '\0')) << first;
}

TEST(PciConfigReader, StopsAtALoopInTheCapabilityList)
{
    std::string space = with_capabilities();
    put(space, 0x80, 0x5a5a'4011);
    put(space, 0x200, 0x1000'0023);
    EXPECT_EQ(read(space).size(), 4096u);
}

TEST(PciConfigReader, ReturnsTheWholeFileIfItHasAtMost64Bytes)
{
    EXPECT_EQ(read(space_of(64)).size(), 64u);
    EXPECT_EQ(read(std::string(10, '\1')), std::string(10, '\1'));
}

TEST(PciConfigReader, AFunctionWithoutExtendedSpaceHas256Bytes)
{
    std::string space = space_of(256);
    put(space, 0x40, 0x5a5a'0010);
    EXPECT_EQ(read(space).size(), 256u);
}

TEST(PciConfigReader, ReadsOnlyTheHeaderOfADvsecThatExceedsConfigSpace)
{
    std::string space = with_capabilities();
    put(space, 0x200, 0xff0'00023);
    put(space, 0xff0, 0x0000'0023);
    put(space, 0xff4, 0xfff0'8086);
    EXPECT_EQ(read(space).substr(0xff0), space.substr(0xff0));
}

}  // namespace
}  // namespace pmukit
