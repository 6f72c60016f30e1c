// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/option_words.hpp"

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

namespace pmukit::cli {
namespace {

// Command lines as people type them, and where the program that is recorded begins.
std::string marked(const std::string &line)
{
    CLI::App app;
    app.add_option("--color");
    CLI::App *record = app.add_subcommand("record", "");
    record->add_option("-e,--event");
    record->add_option("-o,--output");
    record->add_option("-m,--mmap-pages");
    record->add_flag("-a,--all-cpus");
    record->add_option("command");
    CLI::App *report = app.add_subcommand("report", "");
    report->add_option("-i,--input");

    std::istringstream in(line);
    std::vector<std::string> words{"pmukit"};
    for (std::string word; in >> word;)
        words.push_back(word);
    std::string out;
    for (const std::string &word : with_marked_command(words, app))
        out += word + " ";
    out.erase(0, sizeof "pmukit");
    out.pop_back();
    return out;
}

TEST(OptionWords, OptionsOfTheProgramAreNotOurs)
{
    EXPECT_EQ(marked("record -e x sort -o out.txt in.txt"),
              "record -e x -- sort -o out.txt in.txt");
    EXPECT_EQ(marked("record -a -m64 make -j2 -e"), "record -a -m64 -- make -j2 -e");
    EXPECT_EQ(marked("record --event=x gzip -a"), "record --event=x -- gzip -a");
    EXPECT_EQ(marked("--color never record --output o.data ls -a"),
              "--color never record --output o.data -- ls -a");
    EXPECT_EQ(marked("record -ae x true"), "record -ae x -- true");
    EXPECT_EQ(marked("record -e x perf record -o perf.data true"),
              "record -e x -- perf record -o perf.data true");
}

TEST(OptionWords, MarkThatIsThereIsKept)
{
    EXPECT_EQ(marked("record -a -- sort -o out"), "record -a -- sort -o out");
    EXPECT_EQ(marked("record -a -- sort -- -o"), "record -a -- sort -- -o");
}

TEST(OptionWords, ValueOfAnOptionIsNoProgram)
{
    EXPECT_EQ(marked("record -o sort -e x"), "record -o sort -e x");
    EXPECT_EQ(marked("record -e"), "record -e");
    EXPECT_EQ(marked("record"), "record");
}

TEST(OptionWords, CommandWithoutAProgramIsLeftAlone)
{
    EXPECT_EQ(marked("report -i x extra"), "report -i x extra");
    EXPECT_EQ(marked("record -"), "record -");
    EXPECT_EQ(marked("frobnicate -o x"), "frobnicate -o x");
}

}  // namespace
}  // namespace pmukit::cli
