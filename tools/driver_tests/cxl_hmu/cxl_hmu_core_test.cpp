// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Compares the driver's arithmetic with values computed by hand from CXL 3.2 section 8.2.8, and
// with simple loops.
extern "C" {
#include "cxl_hmu/cxl_hmu_core.h"
}

#include <gtest/gtest.h>
#include <pmukit/cxl_hmu.h>

#include <deque>
#include <string>

namespace {

// The raw words of a capability with these properties:
//   interrupts for level crossing and overflow, with interrupt message number 3
//   all access types, all downsampling factors, randomized downsampling, both tracking modes
//   epochs of 1 ms to 100 s; units of 256 B to 2 MiB (bits 0..13)
//   bitmap at 0x70 (128 bytes for 256 GiB); hot list of 1024 slots at 0xf0
struct Capability {
    u64 qwords[4] = {
        (1024ULL << 48) | (1ULL << 36) | (2ULL << 32) | (100ULL << 20) | (5ULL << 16) |
            (0x3fULL << 8) | (1ULL << 5) | (1ULL << 4) | 3,
        (7ULL << 48) | (0xffffULL << 32) | 0x3fff,
        0x70,
        0xf0,
    };
};
constexpr u32 kInstanceBytes = 0xf0 + 1024 * 8;

cxl_hmu_caps good_caps()
{
    cxl_hmu_caps caps;
    EXPECT_EQ(cxl_hmu_caps_decode(Capability().qwords, kInstanceBytes, &caps), nullptr);
    for (u32 unit = 8; unit <= 21; unit++)
        EXPECT_EQ(cxl_hmu_caps_set_width(&caps, unit, 16ULL << 32), nullptr);
    return caps;
}

std::string block_error(u64 common0, u64 common1, u64 room)
{
    cxl_hmu_block_caps caps;
    const char *wrong = cxl_hmu_block_caps_decode(common0, common1, room, &caps);
    return wrong ? wrong : "";
}

TEST(CxlHmuBlock, AcceptsOneToEightInstancesThatEndExactlyAtTheEndOfTheBar)
{
    for (u64 n = 1; n <= 8; n++)
        EXPECT_EQ(block_error(1 | n << 8, 0x80, 0x10 + n * 0x80), "");
}

TEST(CxlHmuBlock, RefusesInvalidBlocks)
{
    EXPECT_NE(block_error(0 | 1 << 8, 0x80, 0x1000), "") << "version 0";
    EXPECT_NE(block_error(1, 0x80, 0x1000), "") << "no instance";
    EXPECT_NE(block_error(1 | 9 << 8, 0x80, 0x10000), "") << "nine instances";
    EXPECT_NE(block_error(1 | 1 << 8, 0x68, 0x1000), "") << "no room for the registers";
    EXPECT_NE(block_error(1 | 1 << 8, 0x84, 0x1000), "") << "not a multiple of 8";
    EXPECT_NE(block_error(1 | 2 << 8, 0x80, 0x10 + 2 * 0x80 - 1), "") << "one byte short";
    EXPECT_NE(block_error(1 | 1 << 8, 0x80, 0), "") << "no room at all";
    EXPECT_NE(block_error(~0ULL, ~0ULL, ~0ULL), "") << "all ones: the device is gone";
}

TEST(CxlHmuBlock, AcceptsAndReportsNewerVersions)
{
    for (u64 version = 1; version <= 15; version++) {
        cxl_hmu_block_caps caps;
        EXPECT_EQ(cxl_hmu_block_caps_decode(version | 1 << 8, 0x80, 0x1000, &caps), nullptr);
        EXPECT_EQ(caps.version, version);
    }
}

TEST(CxlHmuCaps, DecodesEveryField)
{
    const cxl_hmu_caps caps = good_caps();
    EXPECT_EQ(caps.message, 3);
    EXPECT_TRUE(caps.int_overflow);
    EXPECT_TRUE(caps.int_level);
    EXPECT_FALSE(caps.epoch_per_counter);
    EXPECT_EQ(caps.access_mask, 0x7eU) << "types 1..6";
    EXPECT_EQ(caps.epoch_max.scale, 5);
    EXPECT_EQ(caps.epoch_max.value, 100);
    EXPECT_EQ(caps.epoch_min.scale, 2);
    EXPECT_EQ(caps.epoch_min.value, 1);
    EXPECT_EQ(caps.list_size, 1024U);
    EXPECT_EQ(caps.unit_mask, 0x3fff00U) << "2^8 .. 2^21";
    EXPECT_EQ(caps.downsampling_mask, 0xffffU) << "bit n is 2^n, bit 0 counts every request";
    EXPECT_TRUE(caps.epoch_mode && caps.always_on && caps.randomized);
    EXPECT_FALSE(caps.overlap || caps.postponed);
    EXPECT_EQ(caps.bitmap_offset, 0x70U);
    EXPECT_EQ(caps.bitmap_qwords, 16U);
    EXPECT_EQ(cxl_hmu_range_limit(&caps), 1024U) << "256 GiB";
    EXPECT_EQ(caps.capacity, 1024U) << "all of it, until the memory is known";
    EXPECT_EQ(caps.list_offset, 0xf0U);
}

// The length of an instance has 16 bits, but the offsets of its bitmap and list have 64 bits. So
// they may be outside the instance.
TEST(CxlHmuCaps, BitmapAndListMayBeOutsideTheInstanceButNotOutsideTheBar)
{
    cxl_hmu_caps caps;
    for (u64 places : {8161ULL, 8192ULL, 16384ULL, 65535ULL}) {
        Capability capability;
        capability.qwords[0] = (capability.qwords[0] & ~(0xffffULL << 48)) | places << 48;
        const u64 room = 0xf0 + places * 8;
        EXPECT_EQ(cxl_hmu_caps_decode(capability.qwords, room, &caps), nullptr) << places;
        EXPECT_EQ(caps.list_size, places);
        EXPECT_STREQ(cxl_hmu_caps_decode(capability.qwords, room - 1, &caps),
                     "hot list reaches beyond the BAR");
    }
    Capability capability;
    capability.qwords[2] = 0x1'0001'0000;
    capability.qwords[3] = 0x1'0001'0200;
    ASSERT_EQ(cxl_hmu_caps_decode(capability.qwords, 0x2'0000'0000, &caps), nullptr);
    EXPECT_EQ(caps.bitmap_offset, 0x1'0001'0000U);
    EXPECT_EQ(caps.list_offset, 0x1'0001'0200U);
    EXPECT_EQ(caps.bitmap_qwords, 64U);
}

// The bitmap has one bit per 256 MiB of a 52-bit address space. The rest of a longer bitmap is
// padding, which the driver does not write.
TEST(CxlHmuCaps, BitmapCoversAtMost52AddressBits)
{
    cxl_hmu_caps caps;
    Capability capability;
    capability.qwords[3] = 0x1'0000'0000;
    ASSERT_EQ(cxl_hmu_caps_decode(capability.qwords, 0x2'0000'0000, &caps), nullptr);
    EXPECT_EQ(caps.bitmap_qwords, 1U << 18);
    EXPECT_EQ(cxl_hmu_range_limit(&caps), 1U << 24);
}

TEST(CxlHmuCaps, DeviceWithOnlyAlwaysOnModeNeedsNoEpochLimits)
{
    Capability capability;
    cxl_hmu_caps caps;
    cxl_hmu_config cfg;
    capability.qwords[0] &= ~(0xffffffffULL << 16);
    EXPECT_STREQ(cxl_hmu_caps_decode(capability.qwords, kInstanceBytes, &caps),
                 "invalid epoch limits")
        << "it has epoch mode, too";
    capability.qwords[1] &= ~(1ULL << 48);
    ASSERT_EQ(cxl_hmu_caps_decode(capability.qwords, kInstanceBytes, &caps), nullptr);
    ASSERT_EQ(cxl_hmu_caps_set_width(&caps, 8, 16ULL << 32), nullptr);
    ASSERT_EQ(cxl_hmu_config_parse(&caps, 1, 0, 0, &cfg), nullptr);
    EXPECT_EQ(cxl_hmu_cfg1(&cfg), 8ULL | 1ULL << 40) << "always on, no epoch";
    EXPECT_NE(cxl_hmu_config_parse(&caps, 1 | 4 << 10 | 1 << 14, 0, 0, &cfg), nullptr);
}

// Bits 47:32 of the first word are the shortest epoch, bits 31:16 the longest one. Each has a
// 12-bit value in the upper bits and a 4-bit scale in the lower bits.
TEST(CxlHmuCaps, IgnoresInvalidEpochLimitsOfDeviceWithOnlyAlwaysOnMode)
{
    const u64 good_limits = 0x00120645;
    for (u64 limits : {0x00010005ULL, 0x00120640ULL, 0x00126647ULL, 0x06450012ULL, 0xffffffffULL,
                       0x00000645ULL}) {
        Capability capability;
        cxl_hmu_caps caps;
        cxl_hmu_config cfg;
        const u64 others = capability.qwords[0] & ~(0xffffffffULL << 16);
        capability.qwords[0] = others | limits << 16;
        EXPECT_STREQ(cxl_hmu_caps_decode(capability.qwords, kInstanceBytes, &caps),
                     "invalid epoch limits")
            << std::hex << limits;
        capability.qwords[1] &= ~(1ULL << 48);
        ASSERT_EQ(cxl_hmu_caps_decode(capability.qwords, kInstanceBytes, &caps), nullptr)
            << std::hex << limits;
        EXPECT_EQ(cxl_hmu_epoch_us(caps.epoch_min), 0U);
        EXPECT_EQ(cxl_hmu_epoch_us(caps.epoch_max), 0U);
        ASSERT_EQ(cxl_hmu_caps_set_width(&caps, 8, 16ULL << 32), nullptr);
        ASSERT_EQ(cxl_hmu_config_parse(&caps, 1, 0, 0, &cfg), nullptr);
        EXPECT_EQ(cxl_hmu_cfg1(&cfg), 8ULL | 1ULL << 40) << "always on, no epoch";
        EXPECT_NE(cxl_hmu_config_parse(&caps, 1 | 4 << 10 | 1 << 14, 0, 0, &cfg), nullptr);
        capability.qwords[0] = others | good_limits << 16;
        ASSERT_EQ(cxl_hmu_caps_decode(capability.qwords, kInstanceBytes, &caps), nullptr);
        EXPECT_EQ(cxl_hmu_epoch_us(caps.epoch_min), 1000U) << "valid ones are kept";
    }
}

TEST(CxlHmuCaps, CapacityIsRoundedUpToGranulesAndLimitedByTheBitmap)
{
    const struct {
        u64 bytes;
        u32 capacity;
    } cases[] = {{0, 1024},           {1, 1},
                 {256ULL << 20, 1},   {(256ULL << 20) + 1, 2},
                 {100ULL << 30, 400}, {256ULL << 30, 1024},
                 {1ULL << 40, 1024},  {~0ULL, 1024}};
    for (const auto &tested : cases) {
        cxl_hmu_caps caps = good_caps();
        cxl_hmu_caps_set_capacity(&caps, tested.bytes);
        EXPECT_EQ(caps.capacity, tested.capacity) << tested.bytes;
    }
}

// Layout of the register areas of a block

struct Block {
    cxl_hmu_block_caps caps = {.version = 1, .instances = 2, .instance_bytes = 0x78};
    cxl_hmu_layout layout;

    Block() { cxl_hmu_layout_registers(&layout, &caps); }
    bool add(u32 index, u64 bitmap, u32 qwords, u64 list, u32 places)
    {
        cxl_hmu_caps instance = {};
        instance.bitmap_offset = bitmap;
        instance.bitmap_qwords = qwords;
        instance.list_offset = list;
        instance.list_size = places;
        return cxl_hmu_layout_instance(&layout, &caps, index, &instance);
    }
    std::string joined()
    {
        std::string text;
        cxl_hmu_layout_join(&layout);
        for (u32 i = 0; i < layout.nr; i++)
            text += (i ? " " : "") + std::to_string(layout.spans[i].start) + "+" +
                    std::to_string(layout.spans[i].bytes);
        return text;
    }
};

TEST(CxlHmuLayout, MergesAdjacentRegisterAreas)
{
    Block block;
    block.caps.instance_bytes = 0x70 + 0x80 + 64 * 8;
    cxl_hmu_layout_registers(&block.layout, &block.caps);
    EXPECT_TRUE(block.add(0, 0x70, 16, 0xf0, 64));
    EXPECT_TRUE(block.add(1, 0x70, 16, 0xf0, 64));
    EXPECT_EQ(block.joined(), "0+" + std::to_string(0x10 + 2 * (0x70 + 0x80 + 64 * 8)));
}

TEST(CxlHmuLayout, AreasOutsideTheInstanceStaySeparate)
{
    // The registers of the two instances are at 16 .. 128 and 136 .. 248.
    Block block;
    EXPECT_TRUE(block.add(0, 0x10000, 64, 0x10200, 1024));
    EXPECT_TRUE(block.add(1, 0x20000, 64, 0x20200, 1024));
    EXPECT_EQ(block.joined(), "0+128 136+112 65552+8704 131208+8704");
}

TEST(CxlHmuLayout, RejectsOverlappingRegisterAreas)
{
    Block shared;
    ASSERT_TRUE(shared.add(0, 0x1000, 16, 0x1080, 64));
    EXPECT_FALSE(shared.add(1, 0x1000 - 0x78, 16, 0x3000, 64)) << "bitmap over bitmap";
    EXPECT_FALSE(shared.add(1, 0x3000, 16, 0x1080 - 0x78 + 64 * 8 - 8, 64)) << "list over list";
    EXPECT_TRUE(shared.add(1, 0x3000, 16, 0x1080 - 0x78 + 64 * 8, 64)) << "just behind it";
    Block over;
    EXPECT_FALSE(over.add(0, 0x70, 1, 0x80, 64)) << "list over the registers of instance 1";
    EXPECT_TRUE(over.add(0, 0x70, 1, 0x78 + 0x70, 64)) << "behind them";
}

TEST(CxlHmuLayout, SupportsEightInstancesWithSeparateAreas)
{
    Block block;
    block.caps.instances = 8;
    cxl_hmu_layout_registers(&block.layout, &block.caps);
    for (u32 i = 0; i < 8; i++)
        ASSERT_TRUE(block.add(i, 0x10000 * (8 - i), 1, 0x10000 * (8 - i) + 0x100, 65535 / 16));
    cxl_hmu_layout_join(&block.layout);
    ASSERT_LE(block.layout.nr, static_cast<u32>(CXL_HMU_MAX_SPANS));
    for (u32 i = 1; i < block.layout.nr; i++)
        EXPECT_GT(block.layout.spans[i].start,
                  block.layout.spans[i - 1].start + block.layout.spans[i - 1].bytes);
}

// A change to one quadword of the capability. The parameterized tests use one change each.
struct Change {
    const char *name;
    int qword;
    u64 clear, set;
};

const char *decode_changed(const Change &change)
{
    Capability capability;
    u64 &word = capability.qwords[change.qword];
    word = (word & ~change.clear) | change.set;
    cxl_hmu_caps caps;
    return cxl_hmu_caps_decode(capability.qwords, kInstanceBytes, &caps);
}

class CxlHmuCapsTakes : public testing::TestWithParam<Change> {};

TEST_P(CxlHmuCapsTakes, MinimalCapabilities)
{
    EXPECT_EQ(decode_changed(GetParam()), nullptr);
}

INSTANTIATE_TEST_SUITE_P(
    Table, CxlHmuCapsTakes,
    testing::Values(Change{"list_of_two_places", 0, 0xffffULL << 48, 2ULL << 48},
                    Change{"only_epoch_mode", 1, 2ULL << 48, 0},
                    Change{"only_always_on", 1, 1ULL << 48, 0},
                    Change{"one_epoch_length", 0, 0xffffffffULL << 16,
                           0x12ULL << 16 | 1ULL << 20 | 2ULL << 32 | 1ULL << 36}),
    [](const auto &tested) { return tested.param.name; });

TEST(CxlHmuCaps, EpochPerCounterIsDecoded)
{
    Capability capability;
    capability.qwords[0] |= 1ULL << 6;
    cxl_hmu_caps caps;
    ASSERT_EQ(cxl_hmu_caps_decode(capability.qwords, kInstanceBytes, &caps), nullptr);
    EXPECT_TRUE(caps.epoch_per_counter);
    EXPECT_FALSE(good_caps().epoch_per_counter);
    capability.qwords[0] = (capability.qwords[0] & ~(0x3fULL << 8)) | 1ULL << 8;
    capability.qwords[0] &= ~(3ULL << 6);
    ASSERT_EQ(cxl_hmu_caps_decode(capability.qwords, kInstanceBytes, &caps), nullptr);
    EXPECT_FALSE(caps.epoch_per_counter) << "of one access type, the first";
}

class CxlHmuCapsRefuses : public testing::TestWithParam<Change> {};

TEST_P(CxlHmuCapsRefuses, InvalidCapabilities)
{
    EXPECT_NE(decode_changed(GetParam()), nullptr);
}

INSTANTIATE_TEST_SUITE_P(
    Table, CxlHmuCapsRefuses,
    testing::Values(
        Change{"list_size_0", 0, 0xffffULL << 48, 0},
        Change{"list_size_1", 0, 0xffffULL << 48, 1ULL << 48},
        Change{"list_beyond_instance", 0, 0xffffULL << 48, 1025ULL << 48},
        Change{"no_access_type", 0, 0x3fULL << 8, 0}, Change{"no_unit", 1, 0xffffffffULL, 0},
        Change{"only_reserved_units", 1, 0xffffffffULL, 0xff000000ULL},
        Change{"no_downsampling", 1, 0xffffULL << 32, 0}, Change{"no_mode", 1, 3ULL << 48, 0},
        Change{"epoch_scale_0", 0, 0xfULL << 16, 0},
        Change{"epoch_scale_6", 0, 0xfULL << 16, 6ULL << 16},
        Change{"epoch_value_0", 0, 0xfffULL << 36, 0},
        Change{"epoch_min_above_max", 0, 0xffffULL << 16, 0x11ULL << 16},
        Change{"bitmap_over_registers", 2, ~0ULL, 0x68}, Change{"bitmap_unaligned", 2, ~0ULL, 0x74},
        Change{"bitmap_behind_list", 2, ~0ULL, 0xf0}, Change{"bitmap_wraps", 2, ~0ULL, ~7ULL},
        Change{"list_unaligned", 3, ~0ULL, 0xf1},
        Change{"list_at_the_end", 3, ~0ULL, kInstanceBytes}, Change{"list_wraps", 3, ~0ULL, ~7ULL}),
    [](const auto &tested) { return tested.param.name; });

TEST(CxlHmuCaps, RemovesUnitSizeWithoutValidCounterWidth)
{
    for (u64 width : {0ULL, 64ULL, 255ULL}) {
        cxl_hmu_caps caps = good_caps();
        EXPECT_NE(cxl_hmu_caps_set_width(&caps, 12, width << 32), nullptr);
        EXPECT_EQ(caps.unit_mask & (1U << 12), 0U);
    }
    cxl_hmu_caps caps = good_caps();
    EXPECT_EQ(cxl_hmu_caps_set_width(&caps, 13, 1ULL << 32), nullptr);
    EXPECT_EQ(caps.counter_width[13], 1);
    EXPECT_EQ(cxl_hmu_caps_set_width(&caps, 12, 63ULL << 32), nullptr);
    EXPECT_EQ(caps.counter_width[12], 63);
}

// The terms of an event. They are encoded as described by the files in format/.
struct Terms {
    u64 epoch_type = 0, access_type = 0, scale = 0, multiplier = 0, randomized = 0, factor = 0;
    u64 threshold = 0, granual = 0, base = 0, size = 0;

    std::string parse(const cxl_hmu_caps &caps, cxl_hmu_config *out = nullptr) const
    {
        cxl_hmu_config scratch;
        const char *wrong = cxl_hmu_config_parse(
            &caps,
            epoch_type | access_type << 2 | scale << 10 | multiplier << 14 | randomized << 26 |
                factor << 27,
            threshold | granual << 32, base | size << 32, out ? out : &scratch);
        return wrong ? wrong : "";
    }
};

TEST(CxlHmuConfig, TermsOfZeroSelectDefaults)
{
    cxl_hmu_config cfg;
    ASSERT_EQ(Terms{}.parse(good_caps(), &cfg), "");
    EXPECT_FALSE(cfg.always_on);
    EXPECT_EQ(cfg.access_type, 6);
    EXPECT_EQ(cfg.downsampling_log2, 0) << "the smallest supported factor";
    EXPECT_EQ(cfg.unit_log2, 8) << "the smallest supported unit";
    EXPECT_EQ(cfg.threshold, 16U) << "not everything that is touched is hot";
    EXPECT_EQ(cxl_hmu_epoch_us(cfg.epoch), 100'000U);
    EXPECT_EQ(cfg.range_base, 0U);
    EXPECT_EQ(cfg.range_size, 1024U);
}

TEST(CxlHmuConfig, AcceptsTheExampleOfTheRfc)
{
    Terms example{.access_type = 6,
                  .scale = 4,
                  .multiplier = 4,
                  .factor = 32,
                  .threshold = 1024,
                  .granual = 12,
                  .size = 1024};
    cxl_hmu_config cfg;
    ASSERT_EQ(example.parse(good_caps(), &cfg), "");
    EXPECT_EQ(cfg.downsampling_log2, 5) << "the factor itself is passed";
    EXPECT_EQ(cxl_hmu_epoch_us(cfg.epoch), 400'000U);
    EXPECT_EQ(cxl_hmu_cfg1(&cfg), 12ULL | 5ULL << 32 | 4ULL << 48 | 4ULL << 52);
}

TEST(CxlHmuConfig, DefaultEpochIsClampedToTheLimits)
{
    cxl_hmu_config cfg;
    cxl_hmu_caps caps = good_caps();
    caps.epoch_min = {.scale = 5, .value = 2};
    ASSERT_EQ(Terms{}.parse(caps, &cfg), "");
    EXPECT_EQ(cxl_hmu_epoch_us(cfg.epoch), 2'000'000U) << "the shortest";
    caps = good_caps();
    caps.epoch_max = {.scale = 3, .value = 7};
    ASSERT_EQ(Terms{}.parse(caps, &cfg), "");
    EXPECT_EQ(cxl_hmu_epoch_us(cfg.epoch), 70'000U) << "the longest";
    caps.epoch_max = caps.epoch_min = {.scale = 3, .value = 10};
    ASSERT_EQ(Terms{}.parse(caps, &cfg), "");
    EXPECT_EQ(cfg.epoch.scale, 4) << "100 ms, as they are spelt by default";
}

TEST(CxlHmuConfig, AlwaysOnSetsTheModeField)
{
    cxl_hmu_config cfg;
    ASSERT_EQ((Terms{.epoch_type = 1, .scale = 4, .multiplier = 1}.parse(good_caps(), &cfg)), "");
    EXPECT_TRUE(cfg.always_on);
    EXPECT_EQ(cxl_hmu_cfg1(&cfg), 8ULL | 1ULL << 40 | 4ULL << 48 | 1ULL << 52);
}

TEST(CxlHmuConfig, AcceptsTheLargestUnit)
{
    cxl_hmu_caps caps = good_caps();
    caps.unit_mask |= 1U << 31;
    caps.counter_width[31] = 16;
    EXPECT_EQ((Terms{.granual = 31, .base = 8, .size = 16}.parse(caps)), "");
    EXPECT_NE((Terms{.granual = 31, .base = 8, .size = 4}.parse(caps)), "") << "half of 2 GiB";
}

TEST(CxlHmuConfig, ThresholdMustFitTheCounter)
{
    EXPECT_EQ((Terms{.threshold = 0xffff}.parse(good_caps())), "");
    EXPECT_NE((Terms{.threshold = 0x10000}.parse(good_caps())), "");
}

TEST(CxlHmuConfig, DefaultThresholdFitsANarrowCounter)
{
    cxl_hmu_caps caps = good_caps();
    for (u32 width = 1; width <= 63; width++) {
        cxl_hmu_config cfg;
        caps.counter_width[8] = static_cast<u8>(width);
        ASSERT_EQ(Terms{}.parse(caps, &cfg), "");
        EXPECT_EQ(cfg.threshold, width < 5 ? (1U << width) - 1 : 16U) << width;
    }
}

// The driver's first configuration must have only supported values: a device may drop a register
// write that contains an unsupported value, even a reserved one.
TEST(CxlHmuConfig, InitialConfigurationIsCompleteAndSupported)
{
    for (bool epoch_mode : {false, true}) {
        cxl_hmu_caps caps = good_caps();
        caps.epoch_mode = epoch_mode;
        caps.downsampling_mask = 0x30;
        caps.access_mask = 1U << 3 | 1U << 2;
        caps.epoch_min = {.scale = 5, .value = 2};
        cxl_hmu_config cfg;
        cxl_hmu_config_default(&caps, 12, &cfg);
        EXPECT_EQ(cxl_hmu_cfg1(&cfg),
                  12ULL | 4ULL << 32 | (epoch_mode ? 0ULL : 1ULL << 40) | 5ULL << 48 | 2ULL << 52);
        EXPECT_EQ(cxl_hmu_cfg0(&cfg, &caps, false), 3ULL | 1ULL << 32);
    }
}

TEST(CxlHmuConfig, RangeIsTruncatedToTheMemoryAndRefusedBeyondTheBitmap)
{
    cxl_hmu_caps caps = good_caps();
    cxl_hmu_config cfg;
    cxl_hmu_caps_set_capacity(&caps, 100ULL << 28);
    ASSERT_EQ(Terms{}.parse(caps, &cfg), "");
    EXPECT_EQ(cfg.range_size, 100U);
    EXPECT_EQ(cxl_hmu_bitmap_qword(&cfg, 1), (1ULL << 36) - 1) << "reserved bits stay 0";
    EXPECT_EQ(cxl_hmu_bitmap_qword(&cfg, 2), 0U);
    ASSERT_EQ((Terms{.size = 1024}.parse(caps, &cfg)), "") << "more than there is";
    EXPECT_EQ(cfg.range_size, 100U);
    ASSERT_EQ((Terms{.base = 99, .size = 925}.parse(caps, &cfg)), "");
    EXPECT_EQ(cfg.range_size, 1U);
    EXPECT_NE((Terms{.base = 100, .size = 1}.parse(caps, &cfg)), "") << "no memory in it";
    EXPECT_NE((Terms{.base = 99, .size = 926}.parse(caps, &cfg)), "") << "no bit for it";
}

TEST(CxlHmuConfig, RefusesUnsupportedTerms)
{
    cxl_hmu_caps caps = good_caps();
    EXPECT_NE((Terms{.epoch_type = 2}.parse(caps)), "");
    EXPECT_NE((Terms{.access_type = 7}.parse(caps)), "");
    EXPECT_NE((Terms{.access_type = 255}.parse(caps)), "");
    EXPECT_NE((Terms{.scale = 6, .multiplier = 1}.parse(caps)), "");
    EXPECT_NE((Terms{.scale = 4}.parse(caps)), "") << "scale without multiplier";
    EXPECT_NE((Terms{.multiplier = 4}.parse(caps)), "") << "multiplier without scale";
    EXPECT_NE((Terms{.scale = 1, .multiplier = 9}.parse(caps)), "") << "900 us, below 1 ms";
    EXPECT_EQ((Terms{.scale = 1, .multiplier = 10}.parse(caps)), "") << "1 ms, spelt otherwise";
    EXPECT_NE((Terms{.scale = 5, .multiplier = 101}.parse(caps)), "") << "101 s, above 100 s";
    EXPECT_EQ((Terms{.scale = 5, .multiplier = 100}.parse(caps)), "") << "the longest";
    EXPECT_NE((Terms{.factor = 3}.parse(caps)), "") << "not a power of two";
    EXPECT_EQ((Terms{.factor = 32768}.parse(caps)), "");
    EXPECT_NE((Terms{.granual = 7}.parse(caps)), "");
    EXPECT_NE((Terms{.granual = 22}.parse(caps)), "");
    EXPECT_NE((Terms{.granual = 0xffffffff}.parse(caps)), "");
    EXPECT_NE((Terms{.base = 1}.parse(caps)), "") << "base without size";
    EXPECT_EQ((Terms{.base = 1023, .size = 1}.parse(caps)), "");
    EXPECT_NE((Terms{.base = 1023, .size = 2}.parse(caps)), "");
    EXPECT_NE((Terms{.base = 1024, .size = 1}.parse(caps)), "");
    EXPECT_NE((Terms{.base = 0xffffffff, .size = 0xffffffff}.parse(caps)), "") << "wraps";

    caps.downsampling_mask = 0x10;
    EXPECT_NE((Terms{.factor = 32}.parse(caps)), "");
    caps.always_on = false;
    EXPECT_NE((Terms{.epoch_type = 1}.parse(caps)), "");
    caps.randomized = false;
    EXPECT_NE((Terms{.randomized = 1, .factor = 16}.parse(caps)), "");

    cxl_hmu_config cfg;
    EXPECT_NE(cxl_hmu_config_parse(&caps, 1ULL << 43, 0, 0, &cfg), nullptr) << "unknown bit";
}

TEST(CxlHmuConfig, RangeMustConsistOfWholeUnits)
{
    cxl_hmu_caps caps = good_caps();
    caps.unit_mask |= 1U << 30;
    caps.counter_width[30] = 16;
    EXPECT_NE((Terms{.granual = 30, .base = 0, .size = 1}.parse(caps)), "") << "256 MiB of 1 GiB";
    EXPECT_NE((Terms{.granual = 30, .base = 2, .size = 4}.parse(caps)), "");
    EXPECT_EQ((Terms{.granual = 30, .base = 4, .size = 8}.parse(caps)), "");
}

TEST(CxlHmuConfig, EnablesInterruptsOnlyIfTheyAreSupportedAndThereIsAVector)
{
    cxl_hmu_caps caps = good_caps();
    cxl_hmu_config cfg;
    ASSERT_EQ((Terms{.access_type = 2, .randomized = 1, .threshold = 7}.parse(caps, &cfg)), "");
    EXPECT_EQ(cxl_hmu_cfg0(&cfg, &caps, true), 2ULL | 7ULL << 8 | 7ULL << 32);
    EXPECT_EQ(cxl_hmu_cfg0(&cfg, &caps, false), 2ULL | 1ULL << 8 | 7ULL << 32);
    caps.int_overflow = false;
    EXPECT_EQ(cxl_hmu_cfg0(&cfg, &caps, true), 2ULL | 5ULL << 8 | 7ULL << 32);
    EXPECT_EQ(cxl_hmu_cfg2(&caps), 512U);
}

TEST(CxlHmuBitmap, HasExactlyTheBitsOfTheRange)
{
    cxl_hmu_config cfg = {};
    for (cfg.range_base = 0; cfg.range_base < 200; cfg.range_base++) {
        for (cfg.range_size = 1; cfg.range_size <= 256 - cfg.range_base; cfg.range_size++) {
            for (u32 qword = 0; qword < 5; qword++) {
                u64 expected = 0;
                for (u32 bit = 0; bit < 64; bit++) {
                    const u32 granule = qword * 64 + bit;
                    if (granule >= cfg.range_base && granule < cfg.range_base + cfg.range_size)
                        expected |= 1ULL << bit;
                }
                ASSERT_EQ(cxl_hmu_bitmap_qword(&cfg, qword), expected)
                    << cfg.range_base << "+" << cfg.range_size << " qword " << qword;
            }
        }
    }
}

TEST(CxlHmuBitmap, RangesOverlapIfTheyShareAGranule)
{
    cxl_hmu_config a = {}, b = {};
    for (a.range_base = 0; a.range_base < 6; a.range_base++)
        for (a.range_size = 1; a.range_size < 6; a.range_size++)
            for (b.range_base = 0; b.range_base < 6; b.range_base++)
                for (b.range_size = 1; b.range_size < 6; b.range_size++) {
                    bool common = false;
                    for (u32 granule = 0; granule < 16; granule++)
                        common |= granule >= a.range_base &&
                                  granule < a.range_base + a.range_size &&
                                  granule >= b.range_base && granule < b.range_base + b.range_size;
                    ASSERT_EQ(cxl_hmu_ranges_overlap(&a, &b), common);
                }
}

TEST(CxlHmuHotList, HeadAndUsedCountMatchAQueue)
{
    for (u32 size = 2; size <= 9; size++) {
        std::deque<int> queue;
        u32 head = 0, tail = 0, seed = size;
        for (int step = 0; step < 2000; step++) {
            seed = seed * 1103515245U + 12345U;
            if ((seed >> 16) % 2 && queue.size() < size - 1) {
                queue.push_back(step);
                tail = (tail + 1) % size;
            } else if (!queue.empty()) {
                const u32 count = 1 + (seed >> 20) % static_cast<u32>(queue.size());
                queue.erase(queue.begin(), queue.begin() + count);
                head = cxl_hmu_list_advance(head, count, size);
            }
            ASSERT_LT(head, size);
            ASSERT_EQ(cxl_hmu_list_used(head, tail, size), queue.size());
        }
    }
}

TEST(CxlHmuHotList, DrainReadsAllWaitingEntriesOrAsManyAsFit)
{
    cxl_hmu_plan plan;
    ASSERT_TRUE(cxl_hmu_list_plan(60, 10, 64, 57, false, &plan));
    EXPECT_EQ(plan.take, 14U) << "all that waits, around the end";
    EXPECT_EQ(plan.waiting, 0U);
    EXPECT_EQ(plan.head, 10U);
    ASSERT_TRUE(cxl_hmu_list_plan(60, 10, 64, 9, false, &plan));
    EXPECT_EQ(plan.take, 9U) << "what fits";
    EXPECT_EQ(plan.waiting, 5U);
    EXPECT_EQ(plan.head, 5U);
    ASSERT_TRUE(cxl_hmu_list_plan(60, 10, 64, 9, true, &plan));
    EXPECT_EQ(plan.take, 9U);
    EXPECT_EQ(plan.waiting, 5U) << "given up: counted, not left";
    EXPECT_EQ(plan.head, 10U);
}

TEST(CxlHmuHotList, DrainReadsNothingIfTheTailIsOutsideTheList)
{
    cxl_hmu_plan plan;
    EXPECT_TRUE(cxl_hmu_list_plan(5, 63, 64, 57, false, &plan));
    for (u32 tail : {64U, 65U, 0xffffU}) {
        EXPECT_FALSE(cxl_hmu_list_plan(5, tail, 64, 57, true, &plan)) << tail;
        EXPECT_EQ(plan.take, 0U);
        EXPECT_EQ(plan.waiting, 0U);
        EXPECT_EQ(plan.head, 5U);
    }
}

TEST(CxlHmuStatus, ClearsOverflowBitIfSetButLevelBitOnlyIfTheListIsEmpty)
{
    const u64 others = ~(CXL_HMU_STATUS_OVERFLOW | CXL_HMU_STATUS_LEVEL);
    const u64 both = CXL_HMU_STATUS_OVERFLOW | CXL_HMU_STATUS_LEVEL;
    EXPECT_EQ(cxl_hmu_status_clear(others, 0), 0U);
    EXPECT_EQ(cxl_hmu_status_clear(both, 0), both);
    EXPECT_EQ(cxl_hmu_status_clear(both, 1), CXL_HMU_STATUS_OVERFLOW);
    EXPECT_EQ(cxl_hmu_status_clear(CXL_HMU_STATUS_LEVEL, 1), 0U);
    EXPECT_EQ(cxl_hmu_status_clear(CXL_HMU_STATUS_LEVEL, 0), CXL_HMU_STATUS_LEVEL);
}

TEST(CxlHmuRecord, HeaderMatchesUapi)
{
    const cxl_hmu_header header = {.time_ns = 11,
                                   .sequence = 22,
                                   .lost = 33,
                                   .flags = 5,
                                   .entries = 0x29c,
                                   .counter_width = 0x10,
                                   .unit_log2 = 12,
                                   .downsampling_log2 = 5};
    static_assert(CXL_HMU_HEADER_WORDS == 7);
    u64 words[7];
    cxl_hmu_header_encode(&header, words);
    const u64 expected[7] = {0x05000000'011002a1ULL, 0xdeadbeef, 11, 0x050c, 5, 22, 33};
    for (int i = 0; i < 7; i++)
        EXPECT_EQ(words[i], expected[i]) << "word " << i;
}

}  // namespace
