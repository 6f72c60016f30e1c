// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "export/schema.hpp"
#include "export/writer.hpp"

namespace pmukit::exporter {
namespace {

// Writes a CSV file for this host name, and returns its host field.
std::string host_field(std::string_view host)
{
    std::string folder = (std::filesystem::temp_directory_path() / "csv_test.XXXXXX").string();
    EXPECT_TRUE(::mkdtemp(folder.data()));
    const Table &table = *find_table("losses");
    WriterResult writer = make_csv({folder + "/losses.csv", &table, "", ""});
    EXPECT_TRUE(writer) << writer.error().message;
    std::vector<Value> row(table.columns.size());
    row[kHost] = host;
    (*writer)->rows(table, std::span(row).first(kOriginColumns),
                    std::span(row).subspan(kOriginColumns));
    EXPECT_TRUE((*writer)->finish());
    std::ifstream file(folder + "/losses.csv");
    std::stringstream text;
    text << file.rdbuf();
    std::filesystem::remove_all(folder);
    const std::string all = text.str();
    // The host field begins after the empty fields source and recording, and their commas.
    const size_t begin = all.find("\r\n") + 4;
    return all.substr(begin, all.find(",,", begin) - begin);
}

TEST(Csv, QuotesTextThatWouldEndAField)
{
    EXPECT_EQ(host_field("plain"), "plain");
    EXPECT_EQ(host_field(""), "\"\"");
    EXPECT_EQ(host_field("a\"b\nc"), "\"a\"\"b\nc\"");
}

TEST(Csv, PreventsSpreadsheetFormulas)
{
    for (const std::string text : {"=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1",
                                   "\xef\xbc\x9d"
                                   "1",
                                   "\xef\xbc\x8b"
                                   "1",
                                   "\xef\xbc\x8d"
                                   "1",
                                   "\xef\xbc\xa0"
                                   "SUM"})
        EXPECT_EQ(host_field(text), "\"'" + text + "\"");
    EXPECT_EQ(host_field("\xef\xbc\x9e"), "\xef\xbc\x9e") << "a full-width >";
    EXPECT_EQ(host_field("a=1"), "a=1");
    EXPECT_EQ(host_field("'=1"), "'=1");
}

}  // namespace
}  // namespace pmukit::exporter
