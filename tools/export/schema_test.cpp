// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "export/schema.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <set>
#include <string>

namespace pmukit::exporter {
namespace {

std::string document()
{
    std::ifstream file(EXPORT_DOCUMENT);
    return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Schema, EveryTableBeginsWithTheOriginColumns)
{
    const auto first = tables().front().columns.first(kOriginColumns);
    for (const Table &table : tables())
        for (size_t i = 0; i < kOriginColumns; i++)
            EXPECT_EQ(table.columns[i].name, first[i].name) << table.name;
    EXPECT_EQ(first[kSource].name, "source");
    EXPECT_EQ(first[kTime].name, "time_ns");
}

TEST(Schema, NamesAreUniqueAndShort)
{
    std::set<std::string_view> names;
    for (const Table &table : tables()) {
        EXPECT_TRUE(names.insert(table.name).second) << table.name;
        std::set<std::string_view> columns;
        for (const Column &column : table.columns) {
            EXPECT_TRUE(columns.insert(column.name).second) << column.name;
            EXPECT_LE(column.name.size(), 19U) << "a key of JSON lines has no room for more";
        }
    }
}

TEST(Schema, EveryTableAndColumnIsDescribedInTheDocument)
{
    const std::string text = document();
    ASSERT_FALSE(text.empty()) << EXPORT_DOCUMENT;
    for (const Table &table : tables()) {
        const size_t section = text.find("\n" + std::string(table.name) + "\n---");
        ASSERT_NE(section, text.npos) << table.name;
        size_t at = section;
        for (const Column &column : table.columns.subspan(kOriginColumns)) {
            at = text.find("\n" + std::string(column.name) + " ", at);
            ASSERT_NE(at, text.npos) << table.name << "." << column.name;
            const std::string line = text.substr(at + 1, text.find('\n', at + 1) - at - 1);
            EXPECT_NE(line.find(column.meaning), line.npos) << line;
        }
    }
}

TEST(Schema, FindsTablesAndColumnsByName)
{
    EXPECT_EQ(find_table("imc")->name, "imc");
    EXPECT_EQ(find_table("mci"), nullptr);
    EXPECT_EQ(column_of(*find_table("losses"), "offset_bytes"), kOriginColumns + 1);
}

}  // namespace
}  // namespace pmukit::exporter
