// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Tests that the driver does not have defects of the RFC driver of November 2024. There is one test
// for each defect that can be shown without a device. Documentation/devices/cxl_hmu.rst lists all
// defects, and the tests of the others, which need a guest.
extern "C" {
#include "cxl_hmu/cxl_hmu_core.h"
}

#include <gtest/gtest.h>
#include <pmukit/cxl_hmu.h>

#include <string_view>

namespace {

// Returns capabilities that support everything. Tests remove some of them.
cxl_hmu_caps generous_caps()
{
    cxl_hmu_caps caps = {};
    caps.int_overflow = caps.int_level = true;
    caps.epoch_mode = caps.always_on = caps.randomized = true;
    caps.access_mask = 0x7e;
    caps.unit_mask = 0x3fff00;
    caps.downsampling_mask = 0xffff;
    caps.epoch_min = {1, 1};
    caps.epoch_max = {5, 4095};
    caps.list_size = 1024;
    caps.bitmap_offset = 0x70;
    caps.bitmap_qwords = 16;
    caps.capacity = 1024;
    caps.list_offset = 0xf0;
    for (u8 &width : caps.counter_width)
        width = 16;
    return caps;
}

bool accepts(const cxl_hmu_caps &caps, u64 config, u64 config1, u64 config2,
             cxl_hmu_config *cfg = nullptr)
{
    cxl_hmu_config scratch;
    return !cxl_hmu_config_parse(&caps, config, config1, config2, cfg ? cfg : &scratch);
}

constexpr u64 kUnit4k = 12ULL << 32;

// The RFC driver compared the threshold with 1 << (64 - width), which C computes as a 32-bit int.
TEST(CxlHmuRfcDefect, D1_ThresholdLimitIsComputedIn64Bits)
{
    cxl_hmu_caps caps = generous_caps();
    for (unsigned width = 1; width <= 63; width++) {
        caps.counter_width[12] = static_cast<u8>(width);
        const u64 largest = width < 32 ? (1ULL << width) - 1 : 0xffffffffULL;
        EXPECT_TRUE(accepts(caps, 0, kUnit4k | largest, 0)) << width;
        if (width < 32) {
            EXPECT_FALSE(accepts(caps, 0, kUnit4k | (largest + 1), 0)) << width;
        }
    }
}

// ffs() counts bits from 1, so 8 + ffs(mask) selected a unit twice as large as the smallest one.
TEST(CxlHmuRfcDefect, D2_DefaultUnitSizeAndDownsamplingFactorAreTheSmallestSupported)
{
    cxl_hmu_caps caps = generous_caps();
    for (unsigned bit = 0; bit < CXL_HMU_NR_UNITS; bit++) {
        caps.unit_mask = 1U << (CXL_HMU_UNIT_LOG2_MIN + bit);
        caps.downsampling_mask = 1U << (bit % 16);
        cxl_hmu_config cfg;
        ASSERT_TRUE(accepts(caps, 0, 0, 0, &cfg)) << bit;
        EXPECT_EQ(cfg.unit_log2, CXL_HMU_UNIT_LOG2_MIN + bit);
        EXPECT_EQ(cfg.downsampling_log2, bit % 16);
    }
}

// If a range ended at a multiple of 64, the RFC driver wrote one quadword too many. This quadword
// belonged to the hot list.
TEST(CxlHmuRfcDefect, D3_RangeThatEndsWithTheBitmapSetsNoBitBeyondTheBitmap)
{
    u64 qwords[] = {(1024ULL << 48) | (1ULL << 36) | (1ULL << 32) | (1ULL << 20) | (5ULL << 16) |
                        (0x3fULL << 8),
                    (1ULL << 48) | (1ULL << 32) | 0x10, 0x70, 0xf0};
    cxl_hmu_caps caps;
    ASSERT_EQ(cxl_hmu_caps_decode(qwords, 0xf0 + 1024 * 8, &caps), nullptr);
    ASSERT_EQ(caps.bitmap_offset + caps.bitmap_qwords * 8, caps.list_offset)
        << "what is written ends where the list begins";
    for (u64 base = 0; base < 1024; base += 64) {
        cxl_hmu_config cfg = {};
        cfg.range_base = static_cast<u32>(base);
        cfg.range_size = static_cast<u32>(1024 - base);
        EXPECT_EQ(cxl_hmu_bitmap_qword(&cfg, caps.bitmap_qwords - 1), ~0ULL);
        EXPECT_EQ(cxl_hmu_bitmap_qword(&cfg, caps.bitmap_qwords), 0U);
    }
}

// The RFC driver did not write the quadwords outside the range, so bits of an earlier run stayed
// set there.
TEST(CxlHmuRfcDefect, D4_BitmapQwordsOutsideTheRangeAreZero)
{
    cxl_hmu_config cfg = {};
    cfg.range_base = 130;
    cfg.range_size = 5;
    for (u32 qword = 0; qword < 16; qword++)
        EXPECT_EQ(cxl_hmu_bitmap_qword(&cfg, qword), qword == 2 ? 0x7cULL : 0ULL) << qword;
}

// The RFC driver moved the head to the tail even if it had copied fewer entries, and could compute
// a negative free space.
TEST(CxlHmuRfcDefect, D5_HeadAdvancesByEntriesRead)
{
    for (u32 size : {2U, 64U, 65U, 1024U, 65535U}) {
        for (u32 head : {0U, 1U, size / 2, size - 1}) {
            for (u32 used : {0U, 1U, size / 3, size - 1}) {
                for (u32 room : {0U, 1U, 57U, 100000U}) {
                    cxl_hmu_plan plan;
                    const u32 tail = (head % size + used) % size;
                    ASSERT_TRUE(cxl_hmu_list_plan(head % size, tail, size, room, false, &plan));
                    ASSERT_EQ(plan.take, used < room ? used : room);
                    ASSERT_EQ(plan.take + plan.waiting, used) << "none forgotten";
                    ASSERT_EQ(plan.head, (head % size + plan.take) % size);
                }
            }
        }
    }
}

// After an incomplete copy, the RFC driver continued with the next part of the list.
TEST(CxlHmuRfcDefect, D6_EntriesThatDoNotFitAreReadByTheNextDrain)
{
    // The entries wrap around: 3 are at the end of the list and 4 at its start. The first plan has
    // space for only 2 entries, the second for all.
    cxl_hmu_plan plan;
    ASSERT_TRUE(cxl_hmu_list_plan(61, 4, 64, 2, false, &plan));
    EXPECT_EQ(plan.take, 2U);
    EXPECT_EQ(plan.head, 63U) << "the third waits, and those behind it with it";
    ASSERT_TRUE(cxl_hmu_list_plan(plan.head, 4, 64, 57, false, &plan));
    EXPECT_EQ(plan.take, 5U);
    EXPECT_EQ(plan.head, 4U);
}

// In the RFC driver, event_init stored the configuration in the instance.
TEST(CxlHmuRfcDefect, D7_ParsingAnEventDoesNotChangeTheInstance)
{
    const cxl_hmu_caps caps = generous_caps();
    cxl_hmu_config first, second;
    ASSERT_TRUE(accepts(caps, 0, kUnit4k | 7, 0, &first));
    ASSERT_FALSE(accepts(caps, 3, 0, 0));
    ASSERT_TRUE(accepts(caps, 1, (8ULL << 32) | 9, 0, &second));
    EXPECT_EQ(first.threshold, 7U);
    EXPECT_EQ(first.unit_log2, 12);
    EXPECT_FALSE(first.always_on);
    EXPECT_TRUE(second.always_on);
}

TEST(CxlHmuRfcDefect, D11_RecordHeaderHasNumberOfLostEntriesAndOverflowFlag)
{
    cxl_hmu_header header = {};
    header.lost = 41;
    header.flags = PMUKIT_CXL_HMU_F_OVERFLOW | PMUKIT_CXL_HMU_F_TRUNCATED;
    u64 words[CXL_HMU_HEADER_WORDS];
    cxl_hmu_header_encode(&header, words);
    EXPECT_EQ(words[2 + PMUKIT_CXL_HMU_X_LOST], 41U);
    EXPECT_EQ(words[2 + PMUKIT_CXL_HMU_X_FLAGS], 3U);
}

// Entries that are discarded at a stop must leave the list, so that the next run has no stale
// entries.
TEST(CxlHmuRfcDefect, D13_FinalDrainEmptiesTheList)
{
    cxl_hmu_plan plan;
    ASSERT_TRUE(cxl_hmu_list_plan(1000, 900, 1024, 57, true, &plan));
    EXPECT_EQ(plan.take, 57U);
    EXPECT_EQ(plan.waiting, 924U - 57U);
    EXPECT_EQ(plan.head, 900U);
}

TEST(CxlHmuRfcDefect, D14_UnsupportedInterruptsAreNotEnabled)
{
    cxl_hmu_caps caps = generous_caps();
    cxl_hmu_config cfg;
    ASSERT_TRUE(accepts(caps, 0, kUnit4k | 1, 0, &cfg));
    for (bool overflow : {false, true}) {
        for (bool level : {false, true}) {
            caps.int_overflow = overflow;
            caps.int_level = level;
            const u64 expected =
                (overflow ? CXL_HMU_CFG0_INT_OVERFLOW : 0) | (level ? CXL_HMU_CFG0_INT_LEVEL : 0);
            const u64 both = CXL_HMU_CFG0_INT_OVERFLOW | CXL_HMU_CFG0_INT_LEVEL;
            EXPECT_EQ(cxl_hmu_cfg0(&cfg, &caps, true) & both, expected);
            EXPECT_EQ(cxl_hmu_cfg0(&cfg, &caps, false) & both, 0U) << "no vector";
        }
    }
}

TEST(CxlHmuRfcDefect, D15_DownsamplingFieldIsBits35To32)
{
    static_assert(CXL_HMU_CFG1_DOWNSAMPLING == 0xf00000000ULL);
    cxl_hmu_config cfg = {};
    for (unsigned log2 = 0; log2 < 16; log2++) {
        cfg.downsampling_log2 = static_cast<u8>(log2);
        EXPECT_EQ(cxl_hmu_cfg1(&cfg), static_cast<u64>(log2) << 32);
    }
}

TEST(CxlHmuRfcDefect, D17_EpochScalesAre100UsToOneSecond)
{
    const u64 expected_us[] = {100, 1'000, 10'000, 100'000, 1'000'000};
    for (u8 scale = 1; scale <= 5; scale++)
        EXPECT_EQ(cxl_hmu_epoch_us({scale, 3}), 3 * expected_us[scale - 1]);
}

// The header of the RFC driver had no unit, time, sequence number or losses.
TEST(CxlHmuRfcDefect, D19_RecordHeaderHasUnitSizeTimeSequenceNumberAndLosses)
{
    const cxl_hmu_header header = {.time_ns = 1,
                                   .sequence = 2,
                                   .lost = 3,
                                   .flags = 0,
                                   .entries = 4,
                                   .counter_width = 5,
                                   .unit_log2 = 6,
                                   .downsampling_log2 = 7};
    u64 words[CXL_HMU_HEADER_WORDS];
    cxl_hmu_header_encode(&header, words);
    // Word 0: 9 words (4 entries and 5 extra words), counter width 5. Bit 24 is set because the
    // number of words includes the extra words.
    EXPECT_EQ(words[0], 0x0500'0000'0105'0009U);
    EXPECT_EQ(words[2 + PMUKIT_CXL_HMU_X_UNIT], 0x0706U);
    EXPECT_EQ(words[2 + PMUKIT_CXL_HMU_X_TIME], 1U);
    EXPECT_EQ(words[2 + PMUKIT_CXL_HMU_X_SEQUENCE], 2U);
    EXPECT_EQ(words[2 + PMUKIT_CXL_HMU_X_LOST], 3U);
}

// Requests of the RFC's reviewers.

// The RFC driver refused downsampling_factor=32, which the example in its own documentation uses.
TEST(CxlHmuRfcRequest, AcceptsTheDocumentedExample)
{
    cxl_hmu_config cfg;
    const u64 config = 0 | 6 << 2 | 4 << 10 | 4 << 14 | 32ULL << 27;
    ASSERT_TRUE(accepts(generous_caps(), config, 1024 | kUnit4k, 1024ULL << 32, &cfg));
    EXPECT_EQ(cfg.downsampling_log2, 5);
}

// A reviewer got "Failed to request region", because the RFC driver requested the block up to the
// end of the BAR.
TEST(CxlHmuRfcRequest, BlockLengthIsComputedFromItsInstances)
{
    cxl_hmu_block_caps caps;
    ASSERT_EQ(cxl_hmu_block_caps_decode(1 | 3 << 8, 0x1000, 1 << 20, &caps), nullptr);
    EXPECT_EQ(caps.instances * caps.instance_bytes, 0x3000U);
}

// If the driver returns EINVAL, its message must name the wrong term, and the file in caps/ that
// has the valid values.
TEST(CxlHmuRfcRequest, ErrorMessageContainsTheWrongTermAndItsCapsFile)
{
    const struct {
        u64 config, config1, config2;
        std::string_view term, where;
    } refusals[] = {
        {0, 99ULL << 32, 0, "hotness_granual", "caps/hotness_granual"},
        {7 << 2, 0, 0, "access_type", "caps/access_type"},
        {0, kUnit4k | 0x10000, 0, "hotness_threshold", "caps/counter_width"},
        {5 << 10 | 4095 << 14, 0, 0, "epoch", "caps/epoch_max"},
        {2ULL << 27, 0, 0, "downsampling_factor", "caps/downsampling_factor"},
        {0, 0, 1024 | 1ULL << 32, "range", "caps/range_size"},
    };
    cxl_hmu_caps caps = generous_caps();
    caps.access_mask = 1 << 6;
    caps.downsampling_mask = 1;
    caps.epoch_max = {5, 100};
    for (const auto &refusal : refusals) {
        cxl_hmu_config cfg;
        const char *wrong =
            cxl_hmu_config_parse(&caps, refusal.config, refusal.config1, refusal.config2, &cfg);
        ASSERT_NE(wrong, nullptr) << refusal.term;
        EXPECT_NE(std::string_view(wrong).find(refusal.term), std::string_view::npos) << wrong;
        EXPECT_NE(std::string_view(wrong).find(refusal.where), std::string_view::npos) << wrong;
    }
}

}  // namespace
