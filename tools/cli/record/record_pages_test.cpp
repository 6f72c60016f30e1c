// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/record/record_pages.hpp"

#include <gtest/gtest.h>

namespace pmukit::cli {
namespace {

constexpr size_t kPage = 4096;

TEST(RecordPages, ParsesDataAndAuxSizes)
{
    record::RecordOptions options;
    ASSERT_TRUE(parse_pages("64,256", kPage, options));
    EXPECT_EQ(options.pages, 64U);
    EXPECT_EQ(options.aux_pages, 256U);
    ASSERT_TRUE(parse_pages("1,0", kPage, options));
    EXPECT_EQ(options.pages, 1U);
    EXPECT_EQ(options.aux_pages, 0U);
}

TEST(RecordPages, MissingSizesKeepTheirDefaults)
{
    const record::RecordOptions before;
    record::RecordOptions options;
    ASSERT_TRUE(parse_pages("", kPage, options));
    EXPECT_EQ(options.pages, before.pages);
    ASSERT_TRUE(parse_pages(",4096", kPage, options)) << "as the advice is when AUX data was cut";
    EXPECT_EQ(options.pages, before.pages);
    EXPECT_EQ(options.aux_pages, 4096U);
    ASSERT_TRUE(parse_pages("32", kPage, options));
    EXPECT_EQ(options.pages, 32U);
    EXPECT_EQ(options.aux_pages, 4096U);
}

// Expected values: parse_tag_value() and roundup_pow_of_two() of perf.
TEST(RecordPages, RoundsSizesUpToAPowerOfTwoPagesLikePerf)
{
    record::RecordOptions options;
    EXPECT_FALSE(*parse_pages("512K,4M", kPage, options));
    EXPECT_EQ(options.pages, 128U);
    EXPECT_EQ(options.aux_pages, 1024U);
    EXPECT_FALSE(*parse_pages("1g", kPage, options));
    EXPECT_EQ(options.pages, 262144U);
    EXPECT_TRUE(*parse_pages("100,3", kPage, options));
    EXPECT_EQ(options.pages, 128U);
    EXPECT_EQ(options.aux_pages, 4U);
    EXPECT_FALSE(*parse_pages("4097B", kPage, options)) << "two pages";
    EXPECT_EQ(options.pages, 2U);
    EXPECT_FALSE(*parse_pages("512K", 65536, options));
    EXPECT_EQ(options.pages, 8U);
}

TEST(RecordPages, DefaultDataBufferFitsTheLimitOfPerfEventMlockKb)
{
    EXPECT_EQ(usual_pages(516, 4096), 128U);
    EXPECT_EQ(usual_pages(516, 65536), 4U) << "seven pages beside the control page";
    EXPECT_EQ(usual_pages(0, 4096), 1U);
}

TEST(RecordPages, RejectsInvalidSizes)
{
    record::RecordOptions options;
    for (const char *wrong : {",", "1,", "0", "K", "1T", "x", ",x", "1,2,3", ",,1", "2097152",
                              "18446744073709551615G", "8G"}) {
        const Result<bool> parsed = parse_pages(wrong, kPage, options);
        ASSERT_FALSE(parsed) << wrong;
        EXPECT_EQ(parsed.error().code, Errc::kUsage);
    }
}

TEST(SizeText, UsesTheLargestUnitThatDividesTheSize)
{
    EXPECT_EQ(size_text(524288), "512 KiB");
    EXPECT_EQ(size_text(size_t{4} << 20), "4 MiB");
    EXPECT_EQ(size_text(4097), "4097 bytes");
    EXPECT_EQ(size_text(0), "0 bytes");
}

}  // namespace
}  // namespace pmukit::cli
