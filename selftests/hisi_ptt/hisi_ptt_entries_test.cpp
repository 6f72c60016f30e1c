// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// The entries in this test were written by hand from the layouts in
// Documentation/devices/hisi_ptt.rst and the header formats of PCI Express Base 6.0, chapter 2.
#include "hisi_ptt_entries.hpp"

#include <gtest/gtest.h>

#include <string>

namespace pmukit::checker::hisi_ptt {
namespace {

constexpr std::string_view kTitle = "# pmukit tlp log 1\n";

// The model's log of the five entries below.
constexpr std::string_view kModelLog =
    "# start at=1000 format=8dw direction=1 types=0x3 filter=port:0x0001 buffer=4096 tick_ns=10\n"
    "1010 out P MWr port=00:10.0 req=00:00.0 tag=0x0 addr=0xfe800011 bytes=2\n"
    "1020 out NP MRd port=00:10.0 req=00:00.0 tag=0x31e addr=0x400001000 bytes=8 pasid=0x12 ro\n"
    "1030 in CPL CplD port=00:10.0 req=00:00.0 tag=0x1e cpl=01:00.0 status=SC left=130 bytes=6 "
    "addr=0x1fe\n"
    "1040 in CPL Cpl port=00:10.0 req=00:00.0 tag=0x1f cpl=01:00.0 status=UR left=4 bytes=0\n"
    "1050 out NP CfgWr port=00:10.0 req=00:00.0 tag=0x20 target=01:00.0 reg=0x106 bytes=2\n";

constexpr uint32_t kWide[][8] = {
    {0xffffffff, 0, 0x40000001, 0x00000006, 0xfe800010, 0, 0, 101},
    {0xffffffff, 0x91000012, 0x20882002, 0x00001eff, 0x00000004, 0x00001000, 0, 102},
    {0xffffffff, 0, 0x4a000002, 0x01000082, 0x00001e7e, 0, 0, 103},
    {0xffffffff, 0, 0x0a000000, 0x01002004, 0x00001f00, 0, 0, 104},
    {0xffffffff, 0, 0x44000001, 0x0000200c, 0x01000104, 0, 0, 105},
};
// The same entries without the fields that do not fit into four dwords.
constexpr uint32_t kNarrow[][4] = {
    {0x80200865, 0x00000006, 0xfe800010, 0}, {0x41801066, 0x00001eff, 0x00000004, 0x00001000},
    {0x94201067, 0x01000082, 0x00001e7e, 0}, {0x14200068, 0x01002004, 0x00001f00, 0},
    {0x88200869, 0x0000200c, 0x01000104, 0},
};

template <size_t kEntries, size_t kDwords>
std::string bytes_of(const uint32_t (&entries)[kEntries][kDwords])
{
    std::string bytes;
    for (const auto &entry : entries)
        for (const uint32_t dword : entry)
            for (unsigned shift = 0; shift < 32; shift += 8)
                bytes += static_cast<char>(dword >> shift);
    return bytes;
}

std::vector<Tlp> expected(unsigned format_dwords)
{
    std::string text = std::string(kTitle) + std::string(kModelLog);
    if (format_dwords == 4)
        text.replace(text.find("8dw"), 3, "4dw");
    const auto runs = read_traced(text);
    EXPECT_TRUE(runs);
    return runs ? logged_of_all(*runs) : std::vector<Tlp>{};
}

void expect_same(const std::vector<Tlp> &wanted, const Result<std::vector<Tlp>> &found)
{
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(difference(wanted, *found), std::nullopt);
}

TEST(Entries, BinaryEntriesInBothFormatsEqualTheModelLog)
{
    expect_same(expected(8), read_entries(bytes_of(kWide), 8));
    expect_same(expected(4), read_entries(bytes_of(kNarrow), 4));
    expect_same({}, read_entries("", 8));
}

TEST(Entries, DetectsMostSingleBitDifferences)
{
    const std::string good = bytes_of(kWide);
    const std::vector<Tlp> wanted = expected(8);
    size_t unseen = 0;
    for (size_t bit = 0; bit < 8 * good.size(); bit++) {
        std::string bad = good;
        bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ 1 << bit % 8);
        const auto found = read_entries(bad, 8);
        unseen += found && !difference(wanted, *found);
    }
    // The comparison does not detect differences in fields that are not in the model's log:
    // attributes, traffic class, the rest of the prefix, reserved bits, and DW3 of the four headers
    // that have three dwords.
    EXPECT_LT(unseen, 8 * good.size() / 2);
    EXPECT_GT(unseen, 0u);
}

TEST(Entries, RejectsPartialEntry)
{
    const std::string good = bytes_of(kWide);
    for (const size_t size : {size_t{1}, size_t{31}, size_t{33}, good.size() - 1})
        EXPECT_FALSE(read_entries(good.substr(0, size), 8)) << size;
    EXPECT_FALSE(read_entries(bytes_of(kNarrow).substr(0, 15), 4));
}

TEST(Entries, RejectsInvalidFixedFieldsAndUnknownType)
{
    std::string bytes = bytes_of(kWide);
    bytes[0] = 0;
    EXPECT_FALSE(read_entries(bytes, 8));
    bytes = bytes_of(kWide);
    bytes[24] = 1;
    EXPECT_FALSE(read_entries(bytes, 8));
    bytes = bytes_of(kWide);
    bytes[11] = 0x42;  // an I/O write
    EXPECT_FALSE(read_entries(bytes, 8));
}

// perf report -D

constexpr std::string_view kReportHead =
    "0x5d0 [0x38]: event: 11\n.\n. ... raw event: size 56 bytes\n.  0000:  0b 00 00 00 ....\n\n"
    "0 0 0x5d0 [0x38]: PERF_RECORD_AUX offset: 0 size: 0x40 flags: 0x100 []\n"
    ".\n. ... HISI PTT data: size 32 bytes\n";
constexpr std::string_view kWideText =
    ".  00000004: 00 00 00 00                                 Prefix\n"
    ".  00000008: 40 00 00 01                                 Header DW0\n"
    ".  0000000c: 00 00 00 06                                 Header DW1\n"
    ".  00000010: fe 80 00 10                                 Header DW2\n"
    ".  00000014: 00 00 00 00                                 Header DW3\n"
    ".  0000001c: 00 00 00 65                                 Time\n";
constexpr std::string_view kNarrowText =
    ".  00000000: 65 08 20 80                                 Format 2 Type 0 T9 0 T8 0 TH 0 SO 1 "
    "Length 1 Time 65\n"
    ".  00000004: 06 00 00 00                                 Header DW1\n"
    ".  00000008: 10 00 80 fe                                 Header DW2\n"
    ".  0000000c: 00 00 00 00                                 Header DW3\n";

TEST(PerfReport, ReadsPacketsInBothByteOrders)
{
    const std::string head(kReportHead);
    const auto wide =
        read_perf_report(head + std::string(kWideText) + "\nmore text\n", ByteOrder::kNumber);
    ASSERT_TRUE(wide) << wide.error().message;
    ASSERT_EQ(wide->tlps.size(), 1u);
    EXPECT_EQ(wide->tlps[0], expected(8)[0]);
    EXPECT_EQ(wide->gaps, 0u);

    const auto narrow = read_perf_report(head + std::string(kNarrowText), ByteOrder::kMemory);
    ASSERT_TRUE(narrow) << narrow.error().message;
    ASSERT_EQ(narrow->tlps.size(), 1u);
    EXPECT_EQ(narrow->tlps[0], expected(4)[0]);
}

TEST(PerfReport, RejectsTruncatedEntry)
{
    for (const std::string_view entry : {kWideText, kNarrowText}) {
        const ByteOrder order = entry == kWideText ? ByteOrder::kNumber : ByteOrder::kMemory;
        for (size_t end = entry.find('\n'); end + 1 < entry.size();
             end = entry.find('\n', end + 1)) {
            const std::string text =
                std::string(kReportHead) + std::string(entry.substr(0, end + 1));
            EXPECT_FALSE(read_perf_report(text, order)) << text;
            EXPECT_FALSE(read_perf_report(text + "\nother\n", order));
        }
    }
    std::string odd(kWideText);
    odd.replace(odd.find("DW2"), 3, "DW3");
    EXPECT_FALSE(read_perf_report(std::string(kReportHead) + odd, ByteOrder::kNumber));
}

TEST(PerfReport, CountsReportedLosses)
{
    const auto count = [](std::string_view text) {
        const auto report = read_perf_report(text, ByteOrder::kNumber);
        return report ? report->gaps : ~uint64_t{0};
    };
    EXPECT_EQ(count("0 0 0x1 [0x18]: PERF_RECORD_LOST lost 3\n"), 1u);
    EXPECT_EQ(count("0 0 0x1 [0x40]: PERF_RECORD_AUX offset: 0 size: 0 flags: 0x1 [T]\n"), 1u);
    EXPECT_EQ(count("0 0 0x1 [0x40]: PERF_RECORD_AUX offset: 0 size: 0x20 flags: 0x104 []\n"), 1u);
    EXPECT_EQ(count("0 0 0x1 [0x40]: PERF_RECORD_AUX offset: 0 size: 0x20 flags: 0x100 []\n"), 0u);
    EXPECT_EQ(count("0 0 0x1 [0x40]: PERF_RECORD_AUX offset: 0 size: 0x20 flags: 0 []\n"), 0u);
}

}  // namespace
}  // namespace pmukit::checker::hisi_ptt
