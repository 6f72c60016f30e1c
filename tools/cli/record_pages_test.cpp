// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/record_pages.hpp"

#include <gtest/gtest.h>

namespace pmukit::cli {
namespace {

TEST(RecordPages, AreOfBothRings)
{
    record::RecordOptions options;
    ASSERT_TRUE(parse_pages("64,256", options));
    EXPECT_EQ(options.pages, 64U);
    EXPECT_EQ(options.aux_pages, 256U);
    ASSERT_TRUE(parse_pages("1,0", options));
    EXPECT_EQ(options.pages, 1U);
    EXPECT_EQ(options.aux_pages, 0U);
}

TEST(RecordPages, StayAsTheyAreWhereNothingIsSaid)
{
    const record::RecordOptions before;
    record::RecordOptions options;
    ASSERT_TRUE(parse_pages("", options));
    EXPECT_EQ(options.pages, before.pages);
    ASSERT_TRUE(parse_pages(",4096", options)) << "as the advice is when AUX data was cut";
    EXPECT_EQ(options.pages, before.pages);
    EXPECT_EQ(options.aux_pages, 4096U);
    ASSERT_TRUE(parse_pages("32", options));
    EXPECT_EQ(options.pages, 32U);
    EXPECT_EQ(options.aux_pages, 4096U);
}

TEST(RecordPages, RefuseWhatIsNoPowerOfTwo)
{
    record::RecordOptions options;
    for (const char *wrong : {",", "1,", "0", "3", "1,3", "x", ",x", "1,2,3", ",,1", "2097152"}) {
        const Result<void> parsed = parse_pages(wrong, options);
        ASSERT_FALSE(parsed) << wrong;
        EXPECT_EQ(parsed.error().code, Errc::kUsage);
    }
}

}  // namespace
}  // namespace pmukit::cli
