// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "topology/cedt.hpp"

#include <gtest/gtest.h>

#include <set>

#include "base/test_folder.hpp"
#include "topology/test_tree.hpp"

namespace pmukit::topology {
namespace {

std::vector<std::byte> good_table()
{
    std::vector<std::byte> structures;
    append_le<uint8_t>(structures, 0);  // CHBS, which the parser ignores
    append_le<uint8_t>(structures, 0);
    append_le<uint16_t>(structures, 32);
    structures.resize(32);
    append_cfmws(structures, 0x100000000, 0x40000000, 1, 2, 0, 1);
    append_cfmws(structures, 0x200000000, 0x30000000, 8, 3, 2, 0);
    append_cxims(structures, 0, {0x2020900});
    return cedt_of(structures);
}

TEST(Cedt, ReadsWindowsAndXorMaps)
{
    Result<Cedt> cedt = parse_cedt(good_table());
    ASSERT_TRUE(cedt) << cedt.error().message;
    ASSERT_EQ(cedt->windows.size(), 2U);
    EXPECT_EQ(cedt->windows[0].start, 0x100000000U);
    EXPECT_EQ(cedt->windows[0].bytes, 0x40000000U);
    EXPECT_EQ(cedt->windows[0].ways, 2U);
    EXPECT_EQ(cedt->windows[0].granularity, 256U);
    EXPECT_EQ(cedt->windows[0].arithmetic, Arithmetic::kXor);
    EXPECT_EQ(cedt->windows[1].ways, 3U);
    EXPECT_EQ(cedt->windows[1].granularity, 1024U);
    EXPECT_EQ(cedt->windows[1].arithmetic, Arithmetic::kModulo);
    ASSERT_EQ(cedt->xor_maps.size(), 1U);
    EXPECT_EQ(cedt->xor_maps[0].maps, std::vector<uint64_t>{0x2020900});
}

TEST(Cedt, RejectsATruncatedTable)
{
    const std::vector<std::byte> table = good_table();
    for (size_t size = 0; size < table.size(); size++)
        EXPECT_FALSE(parse_cedt(Bytes(table).first(size))) << size;
}

// The test adjusts the length in the header, so that the last structure exceeds the table.
TEST(Cedt, SkipsATruncatedStructureAndKeepsThoseBefore)
{
    const std::vector<std::byte> table = good_table();
    const std::set<size_t> whole = {36, 68, 112, 160, 176};
    for (size_t size = 36; size < table.size(); size++) {
        std::vector<std::byte> cut(table.begin(),
                                   table.begin() + static_cast<std::ptrdiff_t>(size));
        store_le(cut.data() + 4, static_cast<uint32_t>(size));
        fix_checksum(cut);
        Result<Cedt> cedt = parse_cedt(cut);
        ASSERT_TRUE(cedt) << size << " " << cedt.error().message;
        EXPECT_EQ(cedt->skipped.empty(), whole.contains(size)) << size;
        EXPECT_EQ(cedt->windows.size(), size_t{size >= 112} + size_t{size >= 160}) << size;
    }
}

TEST(Cedt, ReportsAStructureThatExceedsTheTableOrIsShorterThanItsHeader)
{
    std::vector<std::byte> table = good_table();
    store_le<uint16_t>(table.data() + 112 + 2, 65535);
    fix_checksum(table);
    Result<Cedt> cedt = parse_cedt(table);
    ASSERT_TRUE(cedt) << cedt.error().message;
    EXPECT_EQ(cedt->windows.size(), 1U);
    EXPECT_EQ(cedt->xor_maps.size(), 0U);
    EXPECT_EQ(
        cedt->skipped,
        std::vector<std::string>{
            "CEDT: a structure ends beyond the table (at 0x70): skipped with everything after it"});
    store_le<uint16_t>(table.data() + 112 + 2, 3);
    fix_checksum(table);
    EXPECT_EQ(
        parse_cedt(table)->skipped.at(0),
        "CEDT: a structure is shorter than its header (at 0x70): skipped with everything after it");
}

// The test includes a window of size 0, which firmware writes for a bridge without memory.
TEST(Cedt, SkipsInvalidStructuresAndKeepsTheOthers)
{
    std::vector<std::byte> structures;
    append_cfmws(structures, 0x100000000, 0x40000000, 1, 2, 0, 1);
    // Invalid: the size is 0.
    append_cfmws(structures, 0x140000000, 0, 0, 1, 0, 0);
    // Invalid: the encoding of the ways is reserved.
    append_cfmws(structures, 0x150000000, 0x10000000, 5, 1, 0, 0);
    // Invalid: there are 3 targets, but 4 ways.
    append_cfmws(structures, 0x160000000, 0x10000000, 2, 3, 0, 0);
    // Invalid: the window ends beyond 64 bits.
    append_cfmws(structures, UINT64_MAX - 255, 512, 0, 1, 0, 0);
    // Invalid: the encoding of the granularity is reserved.
    append_cxims(structures, 7, {0x100});
    // The following structures are valid.
    append_cxims(structures, 0, {0x2020900});
    append_cfmws(structures, 0x200000000, 0x30000000, 8, 3, 2, 0);
    Result<Cedt> cedt = parse_cedt(cedt_of(structures));
    ASSERT_TRUE(cedt) << cedt.error().message;
    ASSERT_EQ(cedt->windows.size(), 2U);
    EXPECT_EQ(cedt->windows[1].start, 0x200000000U);
    ASSERT_EQ(cedt->xor_maps.size(), 1U);
    EXPECT_EQ(cedt->xor_maps[0].maps, std::vector<uint64_t>{0x2020900});
    ASSERT_EQ(cedt->skipped.size(), 5U);
    EXPECT_EQ(cedt->skipped[0], "CEDT: a CFMWS is empty or ends beyond 64 bits (at 0x50): skipped");
}

TEST(Cedt, ParsesOrRejectsEveryValueOfEveryByteWithoutACrash)
{
    const std::vector<std::byte> table = good_table();
    for (size_t at = 0; at < table.size(); at++)
        for (unsigned value = 0; value < 256; value++) {
            std::vector<std::byte> changed = table;
            changed[at] = static_cast<std::byte>(value);
            if (at != 9)
                fix_checksum(changed);
            Result<Cedt> cedt = parse_cedt(changed);
            if (cedt) {
                EXPECT_LE(cedt->windows.size(), 3U);
            } else {
                EXPECT_FALSE(cedt.error().message.empty());
            }
        }
}

// Linux does the same if ACPI_CHECKSUM_ABORT is off.
TEST(Cedt, UsesATableWithAWrongChecksumAndReportsIt)
{
    std::vector<std::byte> table = good_table();
    table[60] ^= std::byte{1};
    Result<Cedt> cedt = parse_cedt(table);
    ASSERT_TRUE(cedt) << cedt.error().message;
    EXPECT_EQ(cedt->windows.size(), 2U);
    EXPECT_EQ(cedt->skipped, std::vector<std::string>{"CEDT: wrong checksum, used anyway"});
}

TEST(Cedt, IsReadFromTheFolderOrTheFirmwareTables)
{
    TestFolder tree;
    EXPECT_FALSE(read_cedt(tree.dir()));
    tree.put("firmware/acpi/tables/CEDT", text_of(good_table()));
    EXPECT_EQ(read_cedt(tree.dir())->windows.size(), 2U);
    tree.put("CEDT", text_of(cedt_of({})));
    EXPECT_EQ(read_cedt(tree.dir())->windows.size(), 0U);
    EXPECT_EQ(read_cedt(tree.dir())->skipped.size(), 0U);
}

TEST(Cedt, UnreadableTableHasNoWindowsAndReportsTheReason)
{
    TestFolder tree;
    const auto reason = [&tree] {
        const std::optional<Cedt> cedt = read_cedt(tree.dir());
        EXPECT_TRUE(cedt && cedt->windows.empty() && cedt->skipped.size() == 1);
        return cedt && !cedt->skipped.empty() ? cedt->skipped.front() : "";
    };
    tree.put("CEDT", "");
    EXPECT_EQ(reason(), tree.path("CEDT") + ": shorter than the header of an ACPI table");
    tree.remove("CEDT");
    tree.folder("CEDT");
    EXPECT_EQ(reason(), tree.path("CEDT") + ": not a regular file");
}

}  // namespace
}  // namespace pmukit::topology
