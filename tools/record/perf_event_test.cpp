// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Attributes grow only when they must, and refusals become sentences.
#include "record/perf_event.hpp"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <cerrno>

#include "base/bytes.hpp"

namespace pmukit::record {
namespace {

uint32_t size_of(const std::vector<std::byte> &attr)
{
    return load<uint32_t>(attr.data() + offsetof(perf_event_attr, size), std::endian::native);
}

TEST(MakeAttr, IsAsSmallAsItsWordsAllow)
{
    Pmu pmu{"p", 24, {}, {}, {}, {}};
    EXPECT_EQ(size_of(make_attr(pmu, {1, 2, 3, 0, 0}, false)), 128U);
    std::vector<std::byte> third = make_attr(pmu, {0, 0, 0, 4, 0}, false);
    EXPECT_EQ(size_of(third), 136U);
    EXPECT_EQ(load<uint64_t>(third.data() + 128, std::endian::native), 4U);
    std::vector<std::byte> fourth = make_attr(pmu, {0, 0, 0, 0, 5}, false);
    EXPECT_EQ(size_of(fourth), 144U);
    EXPECT_EQ(load<uint64_t>(fourth.data() + 136, std::endian::native), 5U);
}

TEST(ExplainOpenError, NamesTheEventTheReasonAndWhatIsSupported)
{
    Pmu pmu{"p", 24, {}, {}, {{"counter_width", "16"}, {"unit_sizes", "12 13"}}, {}};
    Error error = explain_open_error(EINVAL, pmu, "p/x=1/", 3);
    EXPECT_EQ(error.code, Errc::kUsage);
    EXPECT_EQ(error.message,
              "p/x=1/ on CPU 3: the PMU refuses these values (Invalid argument); "
              "supported: counter_width=16, unit_sizes=12 13");
}

TEST(ExplainOpenError, KeepsCausesApart)
{
    Pmu pmu{"p", 24, {}, {}, {{"counter_width", "16"}}, {}};
    EXPECT_EQ(explain_open_error(EACCES, pmu, "e", -1).code, Errc::kDenied);
    EXPECT_EQ(explain_open_error(EBUSY, pmu, "e", -1).code, Errc::kBusy);
    EXPECT_EQ(explain_open_error(EBUSY, pmu, "e", -1).message.find("supported"), std::string::npos);
    EXPECT_EQ(explain_open_error(EXDEV, pmu, "e", -1).code, Errc::kIo);
}

}  // namespace
}  // namespace pmukit::record
