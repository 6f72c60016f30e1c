// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Headers drawn from the figures of the specification, and what is wrong with wrong ones.
#include "decode/hisi_ptt/hisi_ptt_tlp.hpp"

#include <gtest/gtest.h>

#include "decode/hisi_ptt/hisi_ptt_test_vectors.hpp"

namespace pmukit::decode::hisi_ptt {
namespace {

uint32_t write_bytes(uint32_t length, uint32_t first_be, uint32_t last_be)
{
    return data_bytes(parse_tlp({0x40000000 | length, last_be << 4 | first_be, 0x1000, 0}, 0));
}

TEST(HisiPttTlp, CountsEnabledBytes)
{
    EXPECT_EQ(write_bytes(1, 0xf, 0), 4U);
    EXPECT_EQ(write_bytes(1, 0x5, 0), 2U);
    EXPECT_EQ(write_bytes(1, 0, 0), 0U);  // a flush
    EXPECT_EQ(write_bytes(2, 0xf, 0xf), 8U);
    EXPECT_EQ(write_bytes(2, 0xe, 0x3), 5U);
    EXPECT_EQ(write_bytes(16, 0x8, 0x1), 58U);
    EXPECT_EQ(write_bytes(0, 0xf, 0xf), 4096U);
    // Which no device may send: all that travels.
    EXPECT_EQ(write_bytes(4, 0, 0xf), 16U);
    EXPECT_EQ(write_bytes(4, 0xf, 0), 16U);
}

// A steering tag stands in the place of the byte enables.
TEST(HisiPttTlp, WithAHintEveryByteCounts)
{
    constexpr uint32_t kHint = 1 << 16;
    EXPECT_EQ(write_bytes(1 | kHint, 0x1, 0), 4U);
    EXPECT_EQ(write_bytes(2 | kHint, 0x8, 0x1), 8U);
    const TlpHeader io_write = {0x42000001 | kHint, 0x01000001, 0x1000, 0};
    EXPECT_EQ(data_bytes(parse_tlp(io_write, 0)), 1U);  // which has none
}

// Neither operands of atomics nor data of messages have byte enables.
TEST(HisiPttTlp, AtomicsAndMessagesBringWholeDwords)
{
    for (uint32_t fetch_add_swap_cas : {0x4c000002, 0x4d000002, 0x4e000002})
        EXPECT_EQ(data_bytes(parse_tlp({fetch_add_swap_cas, 0x01000018, 0x1000, 0}, 0)), 8U);
    EXPECT_EQ(data_bytes(parse_tlp({0x74000002, 0x0100007e, 0, 0}, 0)), 8U);
}

TEST(HisiPttTlp, CountsBytesOfCompletions)
{
    TlpHeader header = testing::completion_tlp(0x100, 0, 3, 1);
    header[2] |= 1;  // three bytes, from the second of the dword on
    EXPECT_EQ(data_bytes(parse_tlp(header, 0)), 3U);
    EXPECT_EQ(data_bytes(parse_tlp(testing::completion_tlp(0x100, 0, 2, 1), 0)), 2U);
    EXPECT_EQ(data_bytes(parse_tlp(testing::completion_tlp(0x100, 0, 256, 16), 0)), 64U);
    EXPECT_EQ(data_bytes(parse_tlp(testing::completion_tlp(0x100, 0, 4, 0), 0)), 0U);
}

TEST(HisiPttTlp, ReadsAskAndWritesBring)
{
    const Tlp read = parse_tlp(testing::read_tlp(0x100, 1, 0x1000, 16), 0);
    EXPECT_EQ(requested_bytes(read), 64U);
    EXPECT_EQ(data_bytes(read), 0U);
    const Tlp write = parse_tlp(testing::write_tlp(0x100, 0x1000, 16), 0);
    EXPECT_EQ(requested_bytes(write), 0U);
    EXPECT_EQ(data_bytes(write), 64U);
}

TEST(HisiPttTlp, KnowsWhichQueueATypeIsOf)
{
    const std::pair<uint8_t, TlpClass> cases[] = {
        {0x00, TlpClass::kNonPosted},  {0x60, TlpClass::kPosted},    {0x34, TlpClass::kPosted},
        {0x73, TlpClass::kPosted},     {0x44, TlpClass::kNonPosted}, {0x42, TlpClass::kNonPosted},
        {0x4e, TlpClass::kNonPosted},  {0x5b, TlpClass::kNonPosted}, {0x0a, TlpClass::kCompletion},
        {0x4b, TlpClass::kCompletion}, {0x1f, TlpClass::kUnknown},   {0x80, TlpClass::kUnknown},
        {0x24, TlpClass::kUnknown},    {0x54, TlpClass::kUnknown},   {0x37, TlpClass::kPosted},
        {0x38, TlpClass::kUnknown},
    };
    for (auto [fmt_type, queue] : cases)
        EXPECT_EQ(kind_of(fmt_type).queue, queue) << int{fmt_type};
}

TEST(HisiPttTlp, AgreesOnlyWithItself)
{
    const TlpHeader good = testing::read_tlp(0x100, 1, 0x1000, 16);
    EXPECT_TRUE(is_plausible(good));
    TlpHeader bad = good;
    bad[1] &= ~0xf0U;  // several dwords, none of the last one
    EXPECT_FALSE(is_plausible(bad));
    bad[0] |= 1 << 16;  // with a hint there are no byte enables
    EXPECT_TRUE(is_plausible(bad));
    for (uint32_t fetch_add_swap_cas : {0x4c000002, 0x4d000002, 0x4e000002})
        EXPECT_TRUE(is_plausible({fetch_add_swap_cas, 0x01000100, 0x1000, 0}));  // nor have these
    EXPECT_FALSE(is_plausible({0x20000001, 0x010001ff, 0, 0}));  // one dword, two ends
    EXPECT_FALSE(is_plausible({0x02000002, 0x0100000f, 0, 0}));  // two dwords of I/O
    EXPECT_FALSE(is_plausible({0x04000001, 0x010000ff, 0, 0}));
    EXPECT_FALSE(is_plausible({0x1f000001, 0x0100000f, 0, 0}));
    TlpHeader completion = testing::completion_tlp(0x100, 1, 4, 1);
    EXPECT_TRUE(is_plausible(completion));
    completion[2] |= 0x80;
    EXPECT_FALSE(is_plausible(completion));
    EXPECT_FALSE(is_plausible(testing::completion_tlp(0x100, 1, 4, 1, 3)));
    for (uint32_t status : {1U, 2U, 4U})
        EXPECT_TRUE(is_plausible(testing::completion_tlp(0x100, 1, 4, 1, status))) << status;
}

TEST(HisiPttTlp, OnlyAPasidPrefixIsOne)
{
    const TlpHeader header = testing::read_tlp(0x100, 1, 0x1000, 16);
    EXPECT_FALSE(parse_tlp(header, 0).pasid);
    EXPECT_FALSE(parse_tlp(header, 0x90012345).pasid);
    const Tlp tlp = parse_tlp(header, 0x911fffff);
    ASSERT_TRUE(tlp.pasid);
    EXPECT_EQ(tlp.pasid->pasid, 0xfffffU);
    EXPECT_TRUE(tlp.pasid->execute);
    EXPECT_FALSE(tlp.pasid->privileged);
}

TEST(HisiPttTlp, MessagesGoByAddressOrId)
{
    EXPECT_EQ(parse_tlp({0x31000000, 0x01000000, 0xab, 0xcd000000}, 0).address, 0xabcd000000U);
    EXPECT_EQ(parse_tlp({0x32000000, 0x0100007f, 0x02010000, 0}, 0).target, 0x201U);
    EXPECT_EQ(parse_tlp({0x72000002, 0x0100007f, 0x02010000, 0}, 0).kind.type, TlpType::kMsgD);
}

TEST(HisiPttTlp, NamesFunctionsAsTheKernelDoes)
{
    EXPECT_EQ(bdf_text(0x0101), "01:00.1");
    EXPECT_EQ(bdf_text(0xffff), "ff:1f.7");
}

}  // namespace
}  // namespace pmukit::decode::hisi_ptt
