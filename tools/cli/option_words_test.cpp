// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cli/option_words.hpp"

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

namespace pmukit::cli {
namespace {

// Returns the line as arranged() writes it, without "pmukit".
std::string in_full(const std::string &line)
{
    CLI::App app;
    app.add_option("--color");
    CLI::App *record = app.add_subcommand("record", "");
    record->add_option("-e,--event");
    record->add_option("-o,--output");
    record->add_option("-m,--mmap-pages");
    record->add_flag("-a,--all-cpus");
    record->add_flag("-g");
    record->add_option("--call-graph");
    record->add_flag("-i,--no-inherit");
    record->add_flag("-B,--no-buildid");
    record->add_option("command");
    CLI::App *report = app.add_subcommand("report", "");
    report->add_option("-i,--input");

    std::istringstream in(line);
    std::vector<std::string> words{"pmukit"};
    for (std::string word; in >> word;)
        words.push_back(word);
    std::string out;
    const Result<std::vector<std::string>> full = arranged(words, app);
    if (!full)
        return full.error().message;
    for (const std::string &word : *full)
        out += word + " ";
    out.erase(0, sizeof "pmukit");
    out.pop_back();
    return out;
}

TEST(OptionWords, LeavesOptionsOfTheWorkloadUnchanged)
{
    EXPECT_EQ(in_full("record -e x sort -o out.txt in.txt"),
              "record --event=x -- sort -o out.txt in.txt");
    EXPECT_EQ(in_full("record -a -m64 make -j2 -e"),
              "record --all-cpus --mmap-pages=64 -- make -j2 -e");
    EXPECT_EQ(in_full("record --event=x gzip -a"), "record --event=x -- gzip -a");
    EXPECT_EQ(in_full("--color never record --output o.data ls -a"),
              "--color never record --output=o.data -- ls -a");
    EXPECT_EQ(in_full("record -ae x true"), "record --all-cpus --event=x -- true");
    EXPECT_EQ(in_full("record -e x perf record -o perf.data -S true"),
              "record --event=x -- perf record -o perf.data -S true");
}

TEST(OptionWords, SplitsCombinedShortOptions)
{
    EXPECT_EQ(in_full("record -aigB ls -l"),
              "record --all-cpus --no-inherit -g --no-buildid -- ls -l");
    EXPECT_EQ(in_full("record -agox.data ls"), "record --all-cpus -g --output=x.data -- ls");
    EXPECT_EQ(in_full("record -aXi"), "record --all-cpus -Xi") << "none of ours: it is named";
}

TEST(OptionWords, CompletesAbbreviatedLongOptions)
{
    EXPECT_EQ(in_full("record --out x --call fp ls"), "record --output=x --call-graph=fp -- ls");
    EXPECT_EQ(in_full("record --no ls"), "record --no -- ls") << "of two: it is named";
    EXPECT_EQ(in_full("record --no-i ls"), "record --no-inherit -- ls");
}

TEST(OptionWords, KeepsADoubleDashBeforeTheWorkload)
{
    EXPECT_EQ(in_full("record -a -- sort -o out"), "record --all-cpus -- sort -o out");
    EXPECT_EQ(in_full("record -a -- sort -- -o"), "record --all-cpus -- sort -- -o");
}

TEST(OptionWords, ValueOfAnOptionIsNotTakenForTheWorkload)
{
    EXPECT_EQ(in_full("record -o sort -e x"), "record --output=sort --event=x");
    EXPECT_EQ(in_full("record -o - -e x"), "record --output=- --event=x");
    EXPECT_EQ(in_full("record"), "record");
}

TEST(OptionWords, NamesAnOptionWhoseValueIsMissing)
{
    EXPECT_EQ(in_full("record -e"), "--event: its value is missing");
    EXPECT_EQ(in_full("record -o -e x"), "--output: its value is missing before -e");
    EXPECT_EQ(in_full("record -ago --event=x"), "--output: its value is missing before --event=x");
    EXPECT_EQ(in_full("record --output -- ls"), "--output: its value is missing before --");
    EXPECT_EQ(in_full("record -o- ls"), "record --output=- -- ls");
    EXPECT_EQ(in_full("report -i -h"), "--input: its value is missing before -h");
    EXPECT_EQ(in_full("report -i -"), "report -i -");
    EXPECT_EQ(in_full("report -i -5"), "report -i -5") << "no option";
}

TEST(OptionWords, DropsTheNegationOfAnUnsupportedPerfOption)
{
    EXPECT_EQ(in_full("record --no-switch-events --no-bpf-event -a ls"), "record --all-cpus -- ls");
    EXPECT_EQ(in_full("record --no-such ls"), "record --no-such -- ls")
        << "none of ours: it is named";
}

TEST(OptionWords, RejectsUnsupportedPerfOptions)
{
    EXPECT_EQ(in_full("record -aS ls").substr(0, 14), "-S, --snapshot");
    EXPECT_EQ(in_full("record --overwr ls").substr(0, 11), "--overwrite");
    EXPECT_EQ(in_full("record ls -S"), "record -- ls -S");
}

TEST(OptionWords, LeavesCommandsWithoutAWorkloadUnchanged)
{
    EXPECT_EQ(in_full("report -i x extra"), "report -i x extra");
    EXPECT_EQ(in_full("record -"), "record -");
    EXPECT_EQ(in_full("frobnicate -o x"), "frobnicate -o x");
}

}  // namespace
}  // namespace pmukit::cli
