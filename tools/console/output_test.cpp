// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "console/output.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "base/fd.hpp"
#include "base/test_folder.hpp"

namespace pmukit::cli {
namespace {

class PrintedText : public testing::Test {
protected:
    std::string written()
    {
        EXPECT_TRUE(out_.finish());
        std::ifstream file(path_);
        return {std::istreambuf_iterator<char>(file), {}};
    }

    TestFolder folder_;
    const std::string path_ = folder_.path("out");
    const Fd fd_{::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600)};
    Output out_{fd_.get(), path_};
};

TEST_F(PrintedText, HasNoUnsafeCharactersOfValues)
{
    const std::string name = "a\033[2J\n";
    out_.print("{}: {:<6}| {} {} {}\n", name, "b\x9b", std::string_view("\xe2\x80\xae"), 7, 'c');
    EXPECT_EQ(written(), "a\\x1b[2J\\x0a: b\\x9b | \\xe2\\x80\\xae 7 c\n");
}

TEST_F(PrintedText, HasColorsOnlyIfTheyAreOn)
{
    out_.paint(Paint::kRed, "bad");
    out_.set_color(true);
    out_.paint(Paint::kRed, "bad");
    EXPECT_EQ(written(), "bad\033[31mbad\033[0m");
}

}  // namespace
}  // namespace pmukit::cli
