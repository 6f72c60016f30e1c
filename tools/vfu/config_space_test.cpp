// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The tests find capabilities with separate code and use literal offsets from the specification.
#include "vfu/config_space.hpp"

#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace pmukit::vfu {
namespace {

// Returns (id, offset) of each standard capability, as a driver finds them.
std::vector<std::pair<unsigned, unsigned>> walk(const ConfigSpace &config)
{
    std::vector<std::pair<unsigned, unsigned>> found;
    if (!(config.read(0x06, 2) & 0x10))
        return found;
    for (unsigned at = config.read(0x34, 1); at != 0 && found.size() < 48;
         at = config.read(at + 1, 1))
        found.emplace_back(config.read(at, 1), at);
    return found;
}

std::vector<std::pair<unsigned, unsigned>> walk_extended(const ConfigSpace &config)
{
    std::vector<std::pair<unsigned, unsigned>> found;
    for (unsigned at = 0x100; at != 0 && found.size() < 960; at = config.read(at, 4) >> 20) {
        const uint32_t header = config.read(at, 4);
        if (header == 0)
            break;
        found.emplace_back(header & 0xffff, at);
    }
    return found;
}

TEST(ConfigSpace, HeaderHasIdsClassAndRevision)
{
    const ConfigSpace config({0x1234, 0x5678, 0x9abc, 0xdef0, 0x050210, 7});
    EXPECT_EQ(config.read(0x00, 4), 0x56781234u);
    EXPECT_EQ(config.read(0x08, 4), 0x05021007u);
    EXPECT_EQ(config.read(0x2c, 4), 0xdef09abcu);
    EXPECT_EQ(config.read(0x0e, 1), 0u);
}

TEST(ConfigSpace, IdsCannotBeWritten)
{
    ConfigSpace config({.vendor = 0x1234, .device = 0x5678, .class_code = 0x050210});
    for (const unsigned offset : {0x00u, 0x08u, 0x2cu, 0x30u, 0x34u})
        config.write(offset, 4, 0xffffffff);
    EXPECT_EQ(config.read(0x00, 4), 0x56781234u);
    EXPECT_EQ(config.read(0x08, 4), 0x05021000u);
    EXPECT_EQ(config.read(0x2c, 4), 0u);
    EXPECT_EQ(config.read(0x30, 4), 0u);  // no expansion ROM
    EXPECT_EQ(config.read(0x34, 4), 0u);
}

TEST(ConfigSpace, CommandStoresOnlyImplementedBits)
{
    ConfigSpace config({});
    config.write(0x04, 2, 0xffff);
    EXPECT_EQ(config.read(0x04, 2), 0x0546u);
    EXPECT_TRUE(config.memory_enabled());
    EXPECT_TRUE(config.bus_master_enabled());
    config.write(0x04, 2, 0x0002);
    EXPECT_TRUE(config.memory_enabled());
    EXPECT_FALSE(config.bus_master_enabled());
}

TEST(ConfigSpace, BarReadsAsItsSizeMaskAfterWritingAllOnes)
{
    ConfigSpace config({});
    config.add_bar(0, BarKind::kMemory64, 0x20000);
    config.add_bar(2, BarKind::kMemory64Prefetchable, uint64_t{1} << 33);
    config.add_bar(4, BarKind::kMemory32, 16);
    for (unsigned reg = 0x10; reg < 0x28; reg += 4)
        config.write(reg, 4, 0xffffffff);
    EXPECT_EQ(config.read(0x10, 4), 0xfffe0004u);
    EXPECT_EQ(config.read(0x14, 4), 0xffffffffu);
    EXPECT_EQ(config.read(0x18, 4), 0x0000000cu);
    EXPECT_EQ(config.read(0x1c, 4), 0xfffffffeu);
    EXPECT_EQ(config.read(0x20, 4), 0xfffffff0u);
    EXPECT_EQ(config.read(0x24, 4), 0u);
}

TEST(ConfigSpace, ReturnsOnlyExistingBars)
{
    ConfigSpace config({});
    config.add_bar(2, BarKind::kMemory64, 0x1000);
    EXPECT_EQ(config.bar(2)->size_bytes, 0x1000u);
    for (const unsigned absent : {0u, 1u, 3u, 4u, 5u, 6u, 0xffffffffu})
        EXPECT_FALSE(config.bar(absent)) << absent;
}

TEST(ConfigSpace, RejectsInvalidBarSizes)
{
    EXPECT_FALSE(ConfigSpace::fits_bar(BarKind::kMemory64, 0));
    EXPECT_FALSE(ConfigSpace::fits_bar(BarKind::kMemory64, 8));
    EXPECT_TRUE(ConfigSpace::fits_bar(BarKind::kMemory64, 16));
    EXPECT_FALSE(ConfigSpace::fits_bar(BarKind::kMemory64, 24));
    EXPECT_TRUE(ConfigSpace::fits_bar(BarKind::kMemory64, uint64_t{1} << 40));
    EXPECT_TRUE(ConfigSpace::fits_bar(BarKind::kMemory32, uint64_t{1} << 31));
    EXPECT_FALSE(ConfigSpace::fits_bar(BarKind::kMemory32, uint64_t{1} << 32));
}

TEST(ConfigSpace, CapabilityListIsEmptyWithoutCapabilities)
{
    const ConfigSpace config({});
    EXPECT_TRUE(walk(config).empty());
    EXPECT_TRUE(walk_extended(config).empty());
}

TEST(ConfigSpace, CapabilitiesAreLinkedInOrder)
{
    ConfigSpace config({});
    config.add_bar(0, BarKind::kMemory64, 0x10000);
    const unsigned pcie = config.add_pcie_endpoint();
    const Register body[] = {{.offset = 2, .width = 2, .reset = 0x0201},
                             {.offset = 4, .width = 1, .reset = 3}};
    const unsigned vendor = config.add_capability(0x09, 5, body);
    const unsigned msix = config.add_msix({8, 0, 0x2000, 0, 0x3000});
    const unsigned msi = config.add_msi({});
    EXPECT_EQ(walk(config), (std::vector<std::pair<unsigned, unsigned>>{
                                {0x10, pcie}, {0x09, vendor}, {0x11, msix}, {0x05, msi}}));
    EXPECT_EQ(pcie, 0x40u);
    EXPECT_EQ(msix % 4, 0u);
    EXPECT_EQ(config.read(vendor + 2, 2), 0x0201u);
    EXPECT_EQ(config.read(vendor + 4, 1), 3u);
}

// Bytes of a capability after the two header bytes: byte 0 is half writable, byte 1 has two
// write-one-to-clear bits, byte 2 is writable, and byte 3 is read-only.
constexpr Register kMixed[] = {
    {.offset = 2, .width = 2, .reset = 0xff0f, .writable = 0x00f0, .write_one_clears = 0x8100},
    {.offset = 4, .width = 2, .reset = 0x5500, .writable = 0x00ff},
};

TEST(ConfigSpace, WritesChangeOnlyWritableBitsAndClearWriteOneToClearBits)
{
    ConfigSpace config({});
    const unsigned at = config.add_capability(0x09, 6, kMixed) + 2u;

    config.write(at, 4, 0xffffff00);
    EXPECT_EQ(config.read(at, 4), 0x55ff7e0fu);  // byte 1: 0xff & ~0x81
    config.write(at, 1, 0xff);
    EXPECT_EQ(config.read(at, 1), 0xffu);
}

TEST(ConfigSpace, WideWriteEqualsByteWrites)
{
    for (const uint32_t value : {0u, 0xffffffffu, 0xa5c396f0u}) {
        ConfigSpace wide({});
        ConfigSpace narrow({});
        const unsigned at = wide.add_capability(0x09, 6, kMixed) + 2u;
        narrow.add_capability(0x09, 6, kMixed);
        wide.write(at, 4, value);
        for (unsigned i = 0; i < 4; i++)
            narrow.write(at + i, 1, (value >> (8 * i)) & 0xff);
        EXPECT_EQ(wide.read(at, 4), narrow.read(at, 4)) << value;
    }
}

TEST(ConfigSpace, StatusBitsAreClearedByWritingOne)
{
    ConfigSpace config({});
    config.add_pcie_endpoint();
    config.set(0x06, 2, 0xf910);
    config.write(0x06, 2, 0x0000);
    EXPECT_EQ(config.read(0x06, 2), 0xf910u);
    config.write(0x06, 2, 0x8010);
    EXPECT_EQ(config.read(0x06, 2), 0x7910u);
}

TEST(ConfigSpace, PcieEndpointAnnouncesFunctionLevelReset)
{
    ConfigSpace config({});
    const unsigned at = config.add_pcie_endpoint();
    EXPECT_EQ(config.read(at + 2, 2) & 0xf, 2u);         // capability version
    EXPECT_EQ((config.read(at + 2, 2) >> 4) & 0xf, 0u);  // endpoint
    EXPECT_TRUE(config.read(at + 4, 4) & (1u << 28));
}

TEST(ConfigSpace, ReportsFunctionLevelResetOnlyForBit15OfDeviceControl)
{
    ConfigSpace config({});
    const unsigned control = config.add_pcie_endpoint() + 8u;
    EXPECT_FALSE(config.write(control, 2, 0x7fff).function_reset);
    EXPECT_FALSE(config.write(control, 1, 0x80).function_reset);
    EXPECT_FALSE(config.write(control + 2, 2, 0x8000).function_reset);
    EXPECT_TRUE(config.write(control, 2, 0x8000).function_reset);
    EXPECT_TRUE(config.write(control + 1, 1, 0x80).function_reset);
    EXPECT_TRUE(config.write(control, 4, 0x00008000).function_reset);
    EXPECT_EQ(config.read(control, 2) & 0x8000, 0u);  // reads as zero
}

TEST(ConfigSpace, ResetIsNeverRequestedWithoutAPcieCapability)
{
    ConfigSpace config({});
    for (unsigned offset = 0; offset < 0x100; offset++)
        EXPECT_FALSE(config.write(offset, 1, 0xff).function_reset) << offset;
}

TEST(ConfigSpace, MsixCapabilityHasTableAndPendingBitOffsets)
{
    ConfigSpace config({});
    config.add_bar(0, BarKind::kMemory64, 0x10000);
    config.add_bar(2, BarKind::kMemory64, 0x1000);
    const unsigned at = config.add_msix({65, 0, 0x2000, 2, 0x800});
    EXPECT_EQ(config.read(at + 2, 2), 64u);
    EXPECT_EQ(config.read(at + 4, 4), 0x2000u);
    EXPECT_EQ(config.read(at + 8, 4), 0x802u);
    EXPECT_EQ(config.msix()->table_bytes(), 65u * 16);
    EXPECT_EQ(config.msix()->pba_bytes(), 16u);

    config.write(at + 2, 2, 0xffff);
    EXPECT_EQ(config.read(at + 2, 2), 0xc040u);
    EXPECT_TRUE(config.msix_enabled());
    EXPECT_TRUE(config.msix_function_masked());
    config.write(at + 4, 4, 0xffffffff);
    EXPECT_EQ(config.read(at + 4, 4), 0x2000u);
    config.reset();
    EXPECT_FALSE(config.msix_enabled());
}

TEST(ConfigSpace, MsiEnablesNoMoreVectorsThanSupported)
{
    ConfigSpace config({});
    const unsigned at = config.add_msi({.vectors = 4});
    EXPECT_EQ(config.read(at + 2, 2), 0x0084u);
    EXPECT_EQ(config.msi_enabled_vectors(), 0u);
    config.write(at + 2, 2, 0x0011);
    EXPECT_EQ(config.msi_enabled_vectors(), 2u);
    config.write(at + 2, 2, 0x0071);
    EXPECT_EQ(config.msi_enabled_vectors(), 4u);
    config.write(at + 4, 4, 0xfee00003);
    EXPECT_EQ(config.read(at + 4, 4), 0xfee00000u);
}

TEST(ConfigSpace, MsiWithMaskingHasMaskAndPendingBits)
{
    ConfigSpace config({});
    const unsigned at = config.add_msi({.vectors = 2, .masking = true});
    EXPECT_EQ(config.read(at + 2, 2), 0x0182u);
    config.write(at + 0x10, 4, 0xffffffff);
    EXPECT_EQ(config.msi_masked(), 3u);
    config.set_msi_pending(2);
    EXPECT_EQ(config.read(at + 0x14, 4), 2u);
    config.write(at + 0x14, 4, 0);
    EXPECT_EQ(config.read(at + 0x14, 4), 2u);
    config.write(at + 4, 4, 0xfee01000);
    config.write(at + 8, 4, 0x1);
    EXPECT_EQ(config.msi_address(), 0x1fee01000u);
}

// Header 1 at +4: vendor, revision, length; id at +8; vendor-specific registers from +0xA.
TEST(ConfigSpace, DvsecHasHeadersThenVendorSpecificRegisters)
{
    ConfigSpace config({});
    const Register first[] = {{.offset = 0xa, .width = 2, .reset = 0xbbaa}};
    const Register second[] = {{.offset = 0xa, .width = 1, .reset = 1},
                               {.offset = 0xb, .width = 1, .reset = 2},
                               {.offset = 0xc, .width = 4, .reset = 0x00050403}};
    config.add_dvsec(0x1e98, 1, 0, 0xc, first);
    config.add_dvsec(0x1e98, 2, 8, 0x10, second);
    const auto found = walk_extended(config);
    ASSERT_EQ(found, (std::vector<std::pair<unsigned, unsigned>>{{0x23, 0x100}, {0x23, 0x10c}}));

    EXPECT_EQ(config.read(0x100, 4), 0x10c10023u);
    EXPECT_EQ(config.read(0x104, 4), 0x00c11e98u);
    EXPECT_EQ(config.read(0x108, 4), 0xbbaa0000u);
    EXPECT_EQ(config.read(0x10c, 4), 0x00010023u);
    EXPECT_EQ(config.read(0x110, 4), 0x01021e98u);
    EXPECT_EQ(config.read(0x114, 4), 0x02010008u);
    EXPECT_EQ(config.read(0x118, 4), 0x00050403u);
}

TEST(ConfigSpace, DvsecHeaderIsReadOnly)
{
    ConfigSpace config({});
    const Register body[] = {
        {.offset = 0xa, .width = 2, .writable = 0x00ff},
        {.offset = 0xc, .width = 2, .reset = 0x000f, .write_one_clears = 0x0003}};
    const unsigned at = config.add_dvsec(0x1e98, 0, 0, 0x0e, body);
    for (unsigned offset = at; offset < at + 0x10; offset += 4)
        config.write(offset, 4, 0xffffffff);
    EXPECT_EQ(config.read(at, 4), 0x00010023u);
    EXPECT_EQ(config.read(at + 4, 4), 0x01001e98u);  // length: 14 bytes rounded up to 16
    EXPECT_EQ(config.read(at + 8, 4), 0x00ff0000u);
    EXPECT_EQ(config.read(at + 0xc, 2), 0x000cu);
}

TEST(ConfigSpace, ExtendedCapabilitiesFollowADvsec)
{
    ConfigSpace config({});
    const Register body[] = {{.offset = 4, .width = 4, .reset = 0x04030201}};
    config.add_dvsec(0x1e98, 0, 3, 0x12, {});
    const unsigned serial = config.add_extended(0x0003, 1, 12, body);
    const unsigned aer = config.add_aer();
    EXPECT_EQ(walk_extended(config), (std::vector<std::pair<unsigned, unsigned>>{
                                         {0x23, 0x100}, {0x03, serial}, {0x01, aer}}));
    EXPECT_EQ(config.read(serial + 4, 4), 0x04030201u);
}

TEST(ConfigSpace, AerHasDefaultsAndItsStatusIsClearedByWritingOne)
{
    ConfigSpace config({});
    const unsigned at = config.add_aer();
    EXPECT_EQ((config.read(at, 4) >> 16) & 0xf, 2u);
    EXPECT_EQ(config.read(at + 0x0c, 4), 0x00462030u);
    config.set(static_cast<uint16_t>(at + 4), 4, 0x00500000);
    config.write(at + 4, 4, 0x00400000);
    EXPECT_EQ(config.read(at + 4, 4), 0x00100000u);
    config.write(at + 8, 4, 0xffffffff);
    EXPECT_EQ(config.read(at + 8, 4), 0x03fff030u);
}

TEST(ConfigSpace, PowerOnRestoresEveryByte)
{
    ConfigSpace config({.vendor = 1, .device = 2});
    config.add_bar(0, BarKind::kMemory64, 0x1000);
    config.add_pcie_endpoint();
    config.add_aer();
    std::vector<std::byte> before(kConfigSpaceBytes);
    std::vector<std::byte> after(kConfigSpaceBytes);
    config.read(0, before);
    for (unsigned offset = 0; offset < kConfigSpaceBytes; offset += 4)
        config.write(offset, 4, 0xffffffff);
    config.set(0x300, 4, 0x12345678);
    config.read(0, after);
    EXPECT_NE(before, after);
    config.power_on();
    config.read(0, after);
    EXPECT_EQ(before, after);
}

TEST(ConfigSpace, ResetKeepsStickyRegisters)
{
    ConfigSpace config({});
    config.add_bar(0, BarKind::kMemory64, 0x1000);
    const unsigned pcie = config.add_pcie_endpoint();
    const unsigned aer = config.add_aer();
    config.set(static_cast<uint16_t>(aer + 0x04), 4, 0x00100000);  // unsupported request
    config.set(static_cast<uint16_t>(aer + 0x1c), 4, 0x4a000001);  // header log
    config.write(aer + 0x08, 4, 0);
    config.write(pcie + 0x08, 2, 0);
    config.write(0x04, 2, 0x0006);
    config.write(0x10, 4, 0xfe000000);
    config.reset();
    EXPECT_EQ(config.read(aer + 0x04, 4), 0x00100000u);
    EXPECT_EQ(config.read(aer + 0x1c, 4), 0x4a000001u);
    EXPECT_EQ(config.read(aer + 0x08, 4), 0u);
    EXPECT_EQ(config.read(pcie + 0x08, 2), 0x2810u);
    EXPECT_EQ(config.read(0x04, 2), 0u);
    EXPECT_EQ(config.read(0x10, 4), 0x4u);
}

TEST(ConfigSpace, WriteCallbackGetsOnlyBytesWrittenToItsDword)
{
    ConfigSpace config({});
    const Register body[] = {{.offset = 4, .width = 4}, {.offset = 8, .width = 4}};
    const uint16_t at = config.add_extended(0x002e, 1, 12, body);
    std::vector<std::pair<uint32_t, uint32_t>> seen;
    config.on_write(static_cast<uint16_t>(at + 4),
                    [&](const DwordWrite &write) { seen.emplace_back(write.value, write.mask); });
    config.write(at + 4u, 4, 0x11223344);
    config.write(at + 6u, 1, 0x55);
    // Only the upper half of the written value is in the dword with the effect.
    config.write(at + 2u, 4, 0xaabbccdd);
    config.write(at + 8u, 4, 1);
    config.write(at, 4, 1);
    EXPECT_EQ(seen, (std::vector<std::pair<uint32_t, uint32_t>>{
                        {0x11223344, 0xffffffff}, {0x00550000, 0x00ff0000}, {0xaabb, 0xffff}}));
    EXPECT_EQ(config.read(at + 4u, 4), 0u);  // the register is read-only
}

TEST(ConfigSpace, PacketLimitsFollowDeviceControl)
{
    ConfigSpace without({});
    EXPECT_EQ(without.max_payload_bytes(), 128u);
    ConfigSpace config({});
    const unsigned control = config.add_pcie_endpoint() + 8u;
    EXPECT_EQ(config.max_payload_bytes(), 128u);
    EXPECT_EQ(config.max_read_request_bytes(), 512u);
    config.write(control, 2, 0x5040);
    EXPECT_EQ(config.max_payload_bytes(), 512u);
    EXPECT_EQ(config.max_read_request_bytes(), 4096u);
    config.write(control, 2, 0x70e0);  // reserved codes for both limits
    EXPECT_EQ(config.max_payload_bytes(), 4096u);
    EXPECT_EQ(config.max_read_request_bytes(), 4096u);
}

TEST(ConfigSpace, BarAddressIsWhatTheGuestWrote)
{
    ConfigSpace config({});
    config.add_bar(0, BarKind::kMemory64, 0x1000);
    config.add_bar(2, BarKind::kMemory32, 0x1000);
    config.write(0x10, 4, 0xfe001fff);
    config.write(0x14, 4, 0x12);
    config.write(0x18, 4, 0xfd000000);
    EXPECT_EQ(config.bar_address(0), 0x12fe001000u);
    EXPECT_EQ(config.bar_address(2), 0xfd000000u);
    EXPECT_EQ(config.bar_address(5), 0u);
}

TEST(ConfigSpace, ReadsPastTheEndReturnOnesAndWritesAreDropped)
{
    ConfigSpace config({});
    EXPECT_EQ(config.read(4096, 4), 0xffffffffu);
    EXPECT_EQ(config.read(~uint64_t{0}, 4), 0xffffffffu);
    EXPECT_EQ(config.read(4094, 4), 0xffff0000u);
    config.write(4094, 4, 0xffffffff);
    config.write(~uint64_t{0} - 1, 4, 0xffffffff);
    EXPECT_EQ(config.read(4092, 4), 0u);
}

}  // namespace
}  // namespace pmukit::vfu
