// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "rdt/registers.hpp"

#include <gtest/gtest.h>

#include <string>

namespace pmukit::rdt {
namespace {

Shape intel()
{
    Shape shape;
    shape.rmids = 64;
    shape.classes = 8;
    shape.ways = 12;
    return shape;
}

Shape amd()
{
    Shape shape = intel();
    shape.vendor = Vendor::kAmd;
    return shape;
}

bool takes(const Shape &shape, uint32_t number, uint64_t value)
{
    return takes(shape, msr_of(shape, number), value);
}

TEST(Registers, PqrAcceptsExistingRmidsAndClasses)
{
    EXPECT_TRUE(takes(intel(), 0xc8f, 0));
    EXPECT_TRUE(takes(intel(), 0xc8f, 7ULL << 32 | 63));
    EXPECT_FALSE(takes(intel(), 0xc8f, 64));
    EXPECT_FALSE(takes(intel(), 0xc8f, 8ULL << 32));
    EXPECT_FALSE(takes(intel(), 0xc8f, 1ULL << 31));
    EXPECT_FALSE(takes(intel(), 0xc8f, 1ULL << 63));
    EXPECT_EQ(association_of(5ULL << 32 | 9).rmid, 9u);
    EXPECT_EQ(association_of(5ULL << 32 | 9).clos, 5u);
}

TEST(Registers, RmidFieldOfEvtselHasTenBitsOnIntelAndTwelveOnAmd)
{
    EXPECT_TRUE(takes(intel(), 0xc8d, 0x3ffULL << 32 | 0xff));
    EXPECT_FALSE(takes(intel(), 0xc8d, 1ULL << 42));
    EXPECT_TRUE(takes(amd(), 0xc8d, 0xfffULL << 32 | 0xff));
    EXPECT_FALSE(takes(amd(), 0xc8d, 1ULL << 44));
    for (const Shape &shape : {intel(), amd()}) {
        EXPECT_FALSE(takes(shape, 0xc8d, 0x100));
        EXPECT_FALSE(takes(shape, 0xc8d, 1ULL << 31));
    }
    EXPECT_EQ(selection_of(0x123ULL << 32 | 2).rmid, 0x123u);
    EXPECT_EQ(selection_of(0x123ULL << 32 | 2).event, 2u);
}

TEST(Registers, QmCtrIsReadOnly)
{
    EXPECT_FALSE(takes(intel(), 0xc8e, 0));
    EXPECT_TRUE(is_of_rdt(0xc8e));
}

// Checks every mask against its bits as text: Intel's masks are one run of ones.
TEST(Registers, MasksMustBeContiguousOnIntelButNotOnAmd)
{
    for (uint64_t mask = 0; mask < 1 << 13; mask++) {
        std::string bits;
        for (int bit = 0; bit < 13; bit++)
            bits += mask & (1ULL << bit) ? '1' : '0';
        const size_t first = bits.find('1'), last = bits.rfind('1');
        const bool one_run =
            first != std::string::npos && bits.substr(first, last - first).find('0') == bits.npos;
        EXPECT_EQ(takes(intel(), 0xc90, mask), one_run && bits[12] == '0') << bits;
        EXPECT_EQ(takes(amd(), 0xc97, mask), bits[12] == '0') << bits;
    }
    EXPECT_FALSE(takes(intel(), 0xc90, 1ULL << 63));
    EXPECT_FALSE(takes(amd(), 0xc90, 1ULL << 63));
}

TEST(Registers, ThrottleRangeDependsOnTheVendor)
{
    EXPECT_TRUE(takes(intel(), 0xd50, 90));
    EXPECT_FALSE(takes(intel(), 0xd50, 91));
    EXPECT_TRUE(takes(amd(), 0xc0000200, 2048));
    EXPECT_FALSE(takes(amd(), 0xc0000200, 2049));
}

Shape with_abmc()
{
    Shape shape = amd();
    shape.abmc = 32;
    return shape;
}

// Values as Linux writes them: resctrl_abmc_config_one_amd(), resctrl_arch_cntr_read().
TEST(Registers, AbmcRegistersExistOnlyWithAbmcAndRefuseReservedBits)
{
    EXPECT_TRUE(takes(with_abmc(), 0xc00003fd, 3ULL << 62 | 31ULL << 48 | 63ULL << 32 | 0x7f));
    EXPECT_FALSE(takes(with_abmc(), 0xc00003fd, 1ULL << 61));
    EXPECT_FALSE(takes(with_abmc(), 0xc00003fd, 1ULL << 44));
    EXPECT_FALSE(takes(with_abmc(), 0xc00003fe, 0));
    EXPECT_TRUE(takes(with_abmc(), 0xc00003ff, 1));
    EXPECT_FALSE(takes(with_abmc(), 0xc00003ff, 2));
    EXPECT_TRUE(takes(with_abmc(), 0xc8d, 31ULL << 32 | 1U << 31 | 1));
    EXPECT_TRUE(selection_of(31ULL << 32 | 1U << 31 | 1).extended);
    EXPECT_FALSE(selection_of(31ULL << 32 | 1).extended);
    const Binding binding = binding_of(1ULL << 62 | 31ULL << 48 | 63ULL << 32 | 0x15);
    EXPECT_EQ(binding.counter, 31u);
    EXPECT_EQ(binding.rmid, 63u);
    EXPECT_EQ(binding.types, 0x15u);
    EXPECT_TRUE(binding.enabled);
    EXPECT_FALSE(binding.of_class);
    for (const uint32_t number : {0xc00003fdu, 0xc00003ffu, 0xc0000400u}) {
        EXPECT_EQ(msr_of(amd(), number).reg, Register::kNone) << number;
        EXPECT_TRUE(is_of_rdt(number)) << number;
    }
}

TEST(Registers, EventHasSevenTrafficTypes)
{
    EXPECT_TRUE(takes(with_abmc(), 0xc0000400, 0x7f));
    EXPECT_TRUE(takes(with_abmc(), 0xc0000401, 0x15));
    EXPECT_FALSE(takes(with_abmc(), 0xc0000401, 0x80));
    EXPECT_EQ(msr_of(with_abmc(), 0xc0000401).clos, 1u);
    EXPECT_EQ(msr_of(with_abmc(), 0xc0000402).reg, Register::kNone);
}

// Linux' MSR_RMID_SNC_CONFIG, bit 0.
TEST(Registers, SncConfigHasOneBit)
{
    EXPECT_TRUE(takes(intel(), 0xca0, 0));
    EXPECT_TRUE(takes(intel(), 0xca0, 1));
    EXPECT_FALSE(takes(intel(), 0xca0, 2));
    EXPECT_FALSE(takes(intel(), 0xca0, 1ULL << 63));
}

TEST(Registers, EachClassHasMaskAndThrottleRegistersAndOtherMsrsFault)
{
    EXPECT_EQ(msr_of(intel(), 0xc97).clos, 7u);
    EXPECT_EQ(msr_of(intel(), 0xc97).reg, Register::kMask);
    EXPECT_EQ(msr_of(intel(), 0xd57).reg, Register::kThrottle);
    EXPECT_EQ(msr_of(amd(), 0xc0000207).reg, Register::kThrottle);
    for (const uint32_t number : {0xc81u, 0xc98u, 0xca1u, 0xd10u, 0xd58u, 0xc0000200u}) {
        EXPECT_TRUE(is_of_rdt(number)) << number;
        EXPECT_EQ(msr_of(intel(), number).reg, Register::kNone) << number;
        EXPECT_FALSE(takes(intel(), number, 0)) << number;
    }
    EXPECT_EQ(msr_of(amd(), 0xd50).reg, Register::kNone);
    EXPECT_EQ(msr_of(amd(), 0xca0).reg, Register::kNone);
}

TEST(Registers, IgnoresMsrsOutsideRdt)
{
    // IA32_DEBUG_INTERFACE, two unused numbers, IA32_BNDCFGS, IA32_XSS, EFER, KERNEL_GS_BASE
    for (const uint32_t number : {0xc80u, 0xc83u, 0xc8cu, 0xd90u, 0xda0u, 0xc0000080u, 0xc0000102u})
        EXPECT_FALSE(is_of_rdt(number)) << number;
}

}  // namespace
}  // namespace pmukit::rdt
