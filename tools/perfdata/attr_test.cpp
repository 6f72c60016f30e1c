// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Attributes of every size and both byte orders.
#include "perfdata/attr.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "perfdata/format.hpp"

namespace pmukit::perfdata {
namespace {

// An attribute of `size` bytes whose size field is `claimed`.
std::vector<std::byte> make_attr(size_t size, uint32_t claimed, std::endian order)
{
    std::vector<std::byte> bytes(size);
    uint64_t flags = order == std::endian::little ? uint64_t{1} << 18 : uint64_t{1} << (63 - 18);
    store<uint32_t>(bytes.data() + kAttrType, 24, order);
    store<uint32_t>(bytes.data() + kAttrSize, claimed, order);
    store<uint64_t>(bytes.data() + kAttrConfig, 0x0102030405060708ULL, order);
    store<uint64_t>(bytes.data() + kAttrSampleType, PERF_SAMPLE_RAW, order);
    store<uint64_t>(bytes.data() + kAttrFlags, flags, order);
    if (size >= kAttrSampleRegsUser + 8)
        store<uint64_t>(bytes.data() + kAttrSampleRegsUser, 0xff, order);
    if (size >= kAttrClockId + 4)
        store<uint32_t>(bytes.data() + kAttrClockId, 1, order);
    if (size >= kAttrConfig4 + 8)
        store<uint64_t>(bytes.data() + kAttrConfig4, 9, order);
    if (size >= kAttrConfig2 + 8)
        store<uint64_t>(bytes.data() + kAttrConfig2, 5, order);
    return bytes;
}

class AttrOrder : public testing::TestWithParam<std::endian> {};
INSTANTIATE_TEST_SUITE_P(BothOrders, AttrOrder,
                         testing::Values(std::endian::little, std::endian::big),
                         [](const auto &order) {
                             return order.param == std::endian::little ? "little" : "big";
                         });

TEST_P(AttrOrder, ReadsAttributesOfEverySize)
{
    std::vector<size_t> sizes = {4096};
    for (size_t size = 64; size <= 144; size += 8)
        sizes.push_back(size);
    for (size_t size : sizes) {
        Result<Attr> attr =
            parse_attr(make_attr(size, static_cast<uint32_t>(size), GetParam()), GetParam());
        ASSERT_TRUE(attr) << size;
        EXPECT_EQ(attr->type, 24U);
        EXPECT_EQ(attr->config, 0x0102030405060708ULL);
        EXPECT_EQ(attr->sample_type, PERF_SAMPLE_RAW);
        EXPECT_TRUE(attr->sample_id_all);
        EXPECT_EQ(attr->config2, size >= 72 ? 5U : 0U) << size;
        EXPECT_EQ(attr->sample_regs_user, size >= 88 ? 0xffU : 0U) << size;
        EXPECT_EQ(attr->clock_id, size >= 96 ? 1 : 0) << size;
        EXPECT_EQ(attr->config4, size >= 144 ? 9U : 0U) << size;
        EXPECT_EQ(attr->flags, uint64_t{1} << 18) << size;
    }
}

TEST_P(AttrOrder, SizeIsTheSmallerOfSizeFieldAndAvailableBytes)
{
    EXPECT_EQ(parse_attr(make_attr(128, 64, GetParam()), GetParam())->config2, 0U);
    EXPECT_EQ(parse_attr(make_attr(128, 0, GetParam()), GetParam())->config2, 0U);
    EXPECT_EQ(parse_attr(make_attr(72, UINT32_MAX, GetParam()), GetParam())->config2, 5U);
}

TEST(Attr, RejectsFewerThan64Bytes)
{
    for (size_t size = 0; size < 64; size++)
        EXPECT_FALSE(parse_attr(std::vector<std::byte>(size), std::endian::little)) << size;
}

}  // namespace
}  // namespace pmukit::perfdata
