// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Checks tests/record_lines.txt: it has command lines as users type them, and the result of each on
// a machine with the PMUs below.
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <fstream>

#include "base/number.hpp"
#include "base/test_folder.hpp"
#include "base/text.hpp"
#include "cli/option_words.hpp"
#include "cli/record/record_plan.hpp"
#include "cli/record/record_words.hpp"

namespace pmukit::cli {
namespace {

// Splits a line like a shell: at blanks, except inside '' and "".
std::vector<std::string> words_of(const std::string &line)
{
    std::vector<std::string> words;
    char quote = 0;
    bool in_word = false;
    for (const char c : line) {
        if (c == ' ' && !quote) {
            in_word = false;
            continue;
        }
        if (!in_word)
            words.emplace_back();
        in_word = true;
        if (quote ? c == quote : c == '\'' || c == '"')
            quote = quote ? '\0' : c;
        else
            words.back() += c;
    }
    return words;
}

class RecordLines : public testing::Test {
protected:
    void SetUp() override
    {
        root_.put("software/type", "1");
        root_.put("cpu/type", "4");
        root_.put("cpu/format/event", "config:0-7");
        root_.put("cpu/format/umask", "config:8-15");
        root_.put("cpu/caps/max_precise", "2");
        root_.put("cxl_hmu_mem0.0.0/type", "30");
        root_.put("cxl_hmu_mem0.0.0/cpumask", "0");
        root_.put("cxl_hmu_mem0.0.0/format/hotness_threshold", "config:0-15");
        root_.put("hisi_ptt0_2/type", "31");
        root_.put("hisi_ptt0_2/cpumask", "0");
        root_.put("hisi_ptt0_2/format/filter", "config:0-19");
        root_.put("hisi_ptt0_2/format/type", "config:20-23");
        root_.put("hisi_ptt0_2/root_port_filters/0000:00:10.0", "0x80001");
        root_.put("trace_imc/type", "32");
        root_.put("trace_imc/events/trace_cycles", "event=0x7");
        root_.put("trace_imc/format/event", "config:0-31");
        host_.sysfs_root = root_.dir();
        host_.online = {0, 1, 2, 3};
    }

    // Returns the remarks and the plan; or the error.
    std::string outcome(const std::string &line) const
    {
        CLI::App app("", "pmukit");
        RecordCommandOptions options;
        add_record_words(app, options);
        std::vector<std::string> words = words_of(line);
        words.insert(words.begin(), "pmukit");
        const Result<std::vector<std::string>> full = arranged(words, app);
        if (!full)
            return "! " + full.error().message;
        try {
            app.parse(std::vector<std::string>(full->rbegin(), full->rend() - 1));
        } catch (const CLI::ParseError &error) {
            return std::string("! ") + error.what();
        }
        const Result<RecordPlan> plan = make_plan(options, host_);
        if (!plan)
            return "! " + plan.error().message;
        std::string said;
        for (const std::string &remark : plan->remarks)
            said += "~ " + remark + "\n";
        return said + "= " + joined(plan->lines, "; ");
    }

    TestFolder root_;
    RecordHost host_;
};

TEST_F(RecordLines, EachRecordCommandLineGivesThePlanOrErrorOfTheTable)
{
    std::ifstream table(RECORD_LINES);
    ASSERT_TRUE(table) << RECORD_LINES;
    std::string typed, expected;
    size_t lines = 0;
    const auto check = [&] {
        if (typed.empty())
            return;
        lines++;
        std::string said = outcome(typed);
        // The path of the PMU tree differs in each run.
        for (size_t at; (at = said.find(root_.dir())) != said.npos;)
            said.replace(at, root_.dir().size(), "SYSFS");
        EXPECT_EQ(said + "\n", expected) << typed;
    };
    for (std::string line; std::getline(table, line);) {
        if (line.starts_with('#') || trim(line).empty())
            continue;
        if (!line.starts_with("record")) {
            expected += line + "\n";
            continue;
        }
        check();
        typed = line;
        expected.clear();
    }
    check();
    EXPECT_GE(lines, 60U);
}

}  // namespace
}  // namespace pmukit::cli
