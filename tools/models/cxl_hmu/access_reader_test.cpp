// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "models/cxl_hmu/access_reader.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <random>

#include "base/test_folder.hpp"
#include "models/access_log.hpp"

namespace pmukit::models::cxl_hmu {
namespace {

constexpr std::string_view kFirst = "# pmukit access log 1\n";

struct Read {
    std::vector<uint64_t> dpas;
    std::string error;
    bool is_cut = false;
};

class AccessReaderTest : public testing::Test {
protected:
    Read read(const std::string &text)
    {
        folder_.put("log", text);
        Result<AccessReader> reader = AccessReader::open(folder_.path("log"));
        if (!reader)
            return {{}, reader.error().message};
        Read all;
        Request some[3];
        for (;;) {
            const Result<size_t> got = reader->read(some);
            if (!got)
                return {{}, got.error().message};
            for (size_t i = 0; i < *got; i++)
                all.dpas.push_back(some[i].dpa);
            if (*got == 0)
                break;
        }
        all.is_cut = reader->is_cut();
        return all;
    }

    TestFolder folder_;
};

TEST_F(AccessReaderTest, ReadsWhatAccessLogWrote)
{
    std::mt19937_64 random(1);
    std::vector<uint64_t> wanted = {0, ~uint64_t{0}};
    Result<AccessLog> log = AccessLog::create(folder_.path("written"));
    ASSERT_TRUE(log);
    log->read(wanted[0], 8);
    log->write(wanted[1], 1);
    // More than a buffer of the reader.
    for (int i = 0; i < 100'000; i++) {
        wanted.push_back(random() >> (random() % 64));
        log->read(wanted.back(), 64);
    }
    ASSERT_TRUE(log->close());
    std::ifstream in(folder_.path("written"));
    const Read all = read({std::istreambuf_iterator<char>(in), {}});
    EXPECT_EQ(all.error, "");
    EXPECT_EQ(all.dpas, wanted);
    EXPECT_FALSE(all.is_cut);
}

TEST_F(AccessReaderTest, ReadsTheSourceLogAndItsComments)
{
    const Read all = read("# pmukit source log 1\n# chmu0.0 0\nR 0x40 64\nW 0x80 64 T\n# x\n");
    EXPECT_EQ(all.dpas, (std::vector<uint64_t>{0x40, 0x80}));
    EXPECT_FALSE(all.is_cut);
}

TEST_F(AccessReaderTest, ReportsALastLineWithoutItsEnd)
{
    const std::string text = std::string(kFirst) + "R 0x1000 8\nW 0x2000 8\n";
    for (size_t size = kFirst.size(); size <= text.size(); size++) {
        const Read all = read(text.substr(0, size));
        EXPECT_EQ(all.error, "") << size;
        EXPECT_EQ(all.is_cut, text[size - 1] != '\n') << size;
        EXPECT_EQ(all.dpas.size(), size == text.size()          ? 2u
                                   : size >= kFirst.size() + 11 ? 1u
                                                                : 0u)
            << size;
    }
}

TEST_F(AccessReaderTest, NamesTheLineThatIsNoAccess)
{
    for (const char *line :
         {"X 0x1 8", "R 1 8", "R 0x 8", "R 0x1", "R 0x1 0", "R 0x1 65", "R 0x1 8 X", "R 0x1 8 T ",
          "R 0x10000000000000000 8", "R  0x1 8", "r 0x1 8", "R 0x1 8\r"}) {
        const Read all = read(std::string(kFirst) + "R 0x1 8\n\n" + line + "\nR 0x1 8\n");
        EXPECT_NE(all.error.find("log:4: '"), std::string::npos) << line << ": " << all.error;
    }
    const Read all = read(std::string(kFirst) + std::string(5'000'000, 'R') + "\n");
    EXPECT_NE(all.error.find(":2: 'RRR"), std::string::npos);
    EXPECT_LT(all.error.size(), 500u);
}

TEST_F(AccessReaderTest, RefusesAFileThatIsNoLog)
{
    for (const std::string &text : {std::string(), std::string("R 0x1 8\n"),
                                    std::string("# pmukit access log 2\n"), std::string(300, '#')})
        EXPECT_NE(read(text).error.find("not an access log"), std::string::npos) << text;
    EXPECT_FALSE(AccessReader::open(folder_.path("nowhere")));
}

}  // namespace
}  // namespace pmukit::models::cxl_hmu
