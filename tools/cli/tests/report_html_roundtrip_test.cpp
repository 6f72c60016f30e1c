// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// pmukit report --html for every case of tools/encode/testdata. The page must be well-formed, load
// no other file, be usable by keyboard, and have tables with the sums of --json.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/file.hpp"
#include "base/test_folder.hpp"
#include "cli/tests/page_tree.hpp"
#include "encode/encode.hpp"

namespace pmukit {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string text_of_file(const std::string &path)
{
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::string said_by(const std::string &command, int *status = nullptr)
{
    std::string text;
    FILE *pipe = ::popen((command + " 2>/dev/null").c_str(), "r");
    char chunk[4096];
    while (size_t got = std::fread(chunk, 1, sizeof chunk, pipe))
        text.append(chunk, got);
    const int ended = ::pclose(pipe);
    EXPECT_TRUE(WIFEXITED(ended) && WEXITSTATUS(ended) <= 2) << command;
    if (status)
        *status = WEXITSTATUS(ended);
    return text;
}

std::vector<std::string> cases()
{
    std::vector<std::string> names;
    for (const fs::directory_entry &entry : fs::directory_iterator(CASES_FOLDER))
        names.push_back(entry.path().stem());
    std::sort(names.begin(), names.end());
    return names;
}

class Recorded : public testing::Test {
protected:
    std::string path(const std::string &name) const { return folder_.path(name); }
    void record(const std::string &text)
    {
        Result<encode::Case> what = encode::parse_case(text);
        ASSERT_TRUE(what) << what.error().message;
        ASSERT_TRUE(encode::write_recording(*what, path("perf.data")));
    }
    // Makes the page of the recording. Returns it as a tree, which is stored in parser_.
    const Element &page(const std::string &options = "", int wanted_status = -1)
    {
        int status = 0;
        EXPECT_EQ(said_by(PMUKIT_COMMAND " report --html " + path("page.html") + " " + options +
                              " -i " + path("perf.data"),
                          &status),
                  "");
        if (wanted_status >= 0) {
            EXPECT_EQ(status, wanted_status);
        }
        text_ = text_of_file(path("page.html"));
        EXPECT_EQ(parser_.parse(text_), "");
        return parser_.root();
    }
    json said(const std::string &options = "--top 0")
    {
        return json::parse(
            said_by(PMUKIT_COMMAND " report --json " + options + " -i " + path("perf.data")));
    }

    TestFolder folder_;
    std::string text_;
    PageParser parser_;
};

// Numbers in the table of a figure

std::vector<std::string> cells_of(const Element &row)
{
    std::vector<std::string> cells;
    for (const auto &cell : row.children)
        cells.push_back(cell->text);
    return cells;
}

std::optional<uint64_t> number_of(const std::string &text)
{
    if (text.empty() || text.find_first_not_of("0123456789") != std::string::npos)
        return std::nullopt;
    return std::stoull(text);
}

struct Numbers {
    std::vector<std::string> names;
    std::vector<std::vector<std::string>> rows;
    std::vector<std::string> total;

    size_t column(const std::string &name) const
    {
        const auto at = std::ranges::find(names, name);
        EXPECT_NE(at, names.end()) << name;
        return static_cast<size_t>(at - names.begin());
    }
    uint64_t total_of(const std::string &name) const
    {
        return column(name) < total.size() ? number_of(total[column(name)]).value_or(UINT64_MAX)
                                           : UINT64_MAX;
    }
};

Numbers numbers_of(const Element &figure)
{
    Numbers numbers;
    for (const Element *head : figure.all("thead"))
        numbers.names = cells_of(*head->children.at(0));
    for (const Element *body : figure.all("tbody"))
        for (const auto &row : body->children)
            numbers.rows.push_back(cells_of(*row));
    for (const Element *foot : figure.all("tfoot"))
        numbers.total = cells_of(*foot->children.at(0));
    return numbers;
}

// Each number in the last row must be the sum of its column.
void expect_sums(const Numbers &numbers, const std::string &title)
{
    for (size_t i = 0; i < numbers.total.size(); i++) {
        const std::optional<uint64_t> total = number_of(numbers.total[i]);
        if (!total)
            continue;
        uint64_t sum = 0;
        for (const std::vector<std::string> &row : numbers.rows)
            sum += number_of(row.at(i)).value_or(0);
        EXPECT_EQ(sum, *total) << title << ", " << numbers.names.at(i);
    }
}

// Sums in the output of --json

uint64_t sum_over(const json &list, const char *member)
{
    uint64_t sum = 0;
    for (const json &one : list)
        sum += one.at(member).get<uint64_t>();
    return sum;
}

uint64_t sum_of_readings(const json &pmu, bool count)
{
    uint64_t sum = 0;
    for (const json &monitor : pmu.at("monitors"))
        if ((monitor.at("unit") == "bytes/s") == count)
            sum += monitor.at("readings").get<uint64_t>();
    return sum;
}

struct Sum {
    const char *driver, *title, *column;
    uint64_t (*of)(const json &pmu);
};
const Sum kSums[] = {
    {"cxl_hmu", "Hot memory over address and time", "accesses",
     [](const json &pmu) { return sum_over(pmu.at("hot"), "accesses"); }},
    {"cxl_hmu", "Hottest ranges", "accesses",
     [](const json &pmu) { return sum_over(pmu.at("hot"), "accesses"); }},
    {"hisi_ptt", "PCIe traffic over time", "TLPs",
     [](const json &pmu) { return pmu.at("tlps").get<uint64_t>(); }},
    {"hisi_ptt", "PCIe traffic over time", "bytes of payload",
     [](const json &pmu) { return sum_over(pmu.at("time").at("columns"), "bytes"); }},
    {"hisi_ptt", "Latency of requests", "requests",
     [](const json &pmu) { return pmu.at("latency").at("answered").get<uint64_t>(); }},
    {"hisi_ptt", "Requesters", "TLPs",
     [](const json &pmu) { return pmu.at("tlps").get<uint64_t>(); }},
    {"cache_qos", "Cache occupancy", "readings",
     [](const json &pmu) { return sum_of_readings(pmu, false); }},
    {"cache_qos", "Memory bandwidth", "readings",
     [](const json &pmu) { return sum_of_readings(pmu, true); }},
    {"imc", "Where programs and the kernel ran", "samples",
     [](const json &pmu) { return pmu.at("samples").get<uint64_t>(); }},
};

const Element *figure_of(const Element &page, const std::string &title, const std::string &pmu)
{
    for (const Element *figure : page.all("figure"))
        if (figure->all("h2").at(0)->text == title && figure->all("code").at(0)->text == pmu)
            return figure;
    return nullptr;
}

// Compares the figures of a PMU with the sums in --json. Returns the number of compared figures.
size_t expect_json_sums(const Element &page, const json &pmu)
{
    size_t met = 0;
    for (const Sum &sum : kSums) {
        if (pmu.at("driver") != sum.driver)
            continue;
        const uint64_t expected = sum.of(pmu);
        const Element *figure = figure_of(page, sum.title, pmu.at("pmu").get<std::string>());
        if (!figure) {
            EXPECT_EQ(expected, 0U) << sum.title << " is missing";
            continue;
        }
        EXPECT_EQ(numbers_of(*figure).total_of(sum.column), expected)
            << sum.title << ", " << sum.column;
        met++;
    }
    return met;
}

// Checks of every page

void expect_nothing_from_elsewhere(const Element &page, std::string text)
{
    const std::string space = "xmlns=\"http://www.w3.org/1999/xhtml\"";
    const size_t at = text.find(space);
    ASSERT_NE(at, std::string::npos);
    text.erase(at, space.size());
    for (const char *word : {"http:", "https:", "//www", "@import", "url(", "<link", "<iframe"})
        EXPECT_EQ(text.find(word), std::string::npos) << word;
    std::vector<const Element *> with_source;
    page.find([](const Element &element) { return element.attributes.contains("src"); },
              with_source);
    EXPECT_TRUE(with_source.empty());
    for (const Element *link : page.all("a"))
        EXPECT_EQ(link->attributes.at("href").front(), '#');
}

void expect_usable_by_keyboard(const Element &figure)
{
    const std::vector<const Element *> marks = figure.of_class("m");
    size_t stops = 0;
    for (const Element *mark : marks) {
        EXPECT_EQ(mark->attributes.at("role"), "img");
        EXPECT_FALSE(mark->children.empty());
        EXPECT_EQ(mark->children.at(0)->name, "title");
        EXPECT_FALSE(mark->children.at(0)->text.empty());
        stops += mark->attributes.at("tabindex") == "0";
    }
    EXPECT_EQ(stops, marks.empty() ? 0U : 1U) << "Tab stops once at a picture";
}

void expect_figure(const Element &figure)
{
    const std::string title = figure.all("h2").at(0)->text;
    SCOPED_TRACE(title);
    ASSERT_GE(figure.all("svg").size(), 1U);
    const Element &picture = *figure.all("svg").at(0);
    EXPECT_EQ(picture.attributes.at("aria-label"), title);
    EXPECT_EQ(figure.all("table").size(), 1U);
    EXPECT_EQ(figure.of_class("badge").empty(), false) << "says what is lost, or that nothing is";
    EXPECT_EQ(figure.of_class("lost").empty(), figure.of_class("losses").empty());
    const Numbers numbers = numbers_of(figure);
    // A monitor without values has "-" instead of them, and no mark. The last column is the bound,
    // which resctrl does not know.
    const auto has_mark = [&title](const auto &row) {
        return title != "Cache occupancy" ||
               std::find(row.begin(), std::prev(row.end()), "-") == std::prev(row.end());
    };
    EXPECT_EQ(figure.of_class("m").empty(), std::ranges::none_of(numbers.rows, has_mark));
    expect_usable_by_keyboard(figure);
    expect_sums(numbers, title);
}

class EveryCase : public Recorded, public testing::WithParamInterface<std::string> {};
INSTANTIATE_TEST_SUITE_P(All, EveryCase, testing::ValuesIn(cases()),
                         [](const auto &name) { return name.param; });

TEST_P(EveryCase, PageIsSelfContainedAndHasTheSumsOfJson)
{
    Result<std::string> text = read_small_file(CASES_FOLDER "/" + GetParam() + ".case");
    ASSERT_TRUE(text);
    record(*text);
    const Element &made = page("--top 0");
    expect_nothing_from_elsewhere(made, text_);
    const std::vector<const Element *> figures = made.all("figure");
    const json reported = said();
    EXPECT_EQ(figures.empty(), reported.at("pmus").empty());
    for (const Element *figure : figures)
        expect_figure(*figure);
    EXPECT_EQ(made.all("nav").at(0)->all("li").size(), figures.size());
    size_t met = 0;
    for (const json &pmu : reported.at("pmus"))
        met += expect_json_sums(made, pmu);
    EXPECT_GE(met, reported.at("pmus").size());
}

// --top shortens the list; a row must then show the sum of the units that are left out.
TEST_F(Recorded, TableShortenedByTopHasARowWithTheSumOfTheOtherUnits)
{
    record(
        "pmu 11 cxl_hmu_mem0.0.0\nevent 7 cxl_hmu_mem0.0.0//\naux 7 cpu 1\n"
        "hot unit 12 time 1000 sequence 0 3:900 1:500 2:100 9:50\n"
        "hot unit 12 time 900000 sequence 1 4000:7\n");
    const Element &made = page("--top 2", 0);
    const Element *hottest = figure_of(made, "Hottest ranges", "cxl_hmu_mem0.0.0");
    ASSERT_TRUE(hottest);
    const Numbers numbers = numbers_of(*hottest);
    ASSERT_EQ(numbers.rows.size(), 3U);
    EXPECT_EQ(numbers.rows[2].at(1), "3 more units");
    expect_sums(numbers, "cut");
    EXPECT_EQ(expect_json_sums(made, said().at("pmus").at(0)), 2U);
}

TEST_F(Recorded, HeatmapPutsHotListEntriesInTheCellOfTheirTime)
{
    record(
        "pmu 11 cxl_hmu_mem0.0.0\nevent 7 cxl_hmu_mem0.0.0//\naux 7 cpu 1\n"
        "hot unit 12 time 1000000000 sequence 0 1:500\n"
        "hot unit 12 time 1000000001 sequence 1 1:20 2:3\n");
    const Element *heat =
        figure_of(page("", 0), "Hot memory over address and time", "cxl_hmu_mem0.0.0");
    ASSERT_TRUE(heat);
    std::vector<std::string> texts;
    for (const Element *mark : heat->of_class("m"))
        texts.push_back(mark->children.at(0)->text);
    EXPECT_EQ(texts, (std::vector<std::string>{"0x1000, from 1.000000 s: 500 accesses",
                                               "0x1000, from 1.000000 s: 20 accesses",
                                               "0x2000, from 1.000000 s: 3 accesses"}));
}

TEST_F(Recorded, EveryFigureShowsSourceAndLosses)
{
    record(
        "pmu 11 cxl_hmu_mem0.0.0\nevent 7 cxl_hmu_mem0.0.0//\naux 7 cpu 1\n"
        "hot unit 12 time 1000 sequence 0 lost 5 flags 2 3:900\n");
    const std::vector<const Element *> figures = page("--source model", 0).all("figure");
    ASSERT_EQ(figures.size(), 2U);
    for (const Element *figure : figures) {
        ASSERT_EQ(figure->of_class("source").size(), 1U);
        EXPECT_EQ(figure->of_class("source").at(0)->text, "source=model");
        ASSERT_EQ(figure->of_class("losses").size(), 1U);
        EXPECT_NE(figure->of_class("losses").at(0)->text.find("5 entries were lost"),
                  std::string::npos);
    }
}

// Names come from a file, and so can have any characters.
TEST_F(Recorded, EscapesMarkupInNames)
{
    record(
        "pmu 30 trace_imc\nevent 9 trace_imc/<script>alert(1)<script>&\"'/ period 251\n"
        "comm 100 100 <b>&\"'\x01\xff exec time 1000\n"
        "mmap 100 0x10000000 0x20000 0x10000 /usr/bin/<img/src=x> time 1100\n"
        "aux 9 cpu 0 pid 100 tid 100 time 500000\n"
        "imc 0x140000000100 user 0x10000420\nimc 0x140000000200 user 0x10000420\n");
    const Element &made = page();
    EXPECT_TRUE(made.all("b").empty());
    EXPECT_TRUE(made.all("img").empty());
    EXPECT_EQ(made.all("script").size(), 1U);
    EXPECT_NE(made.text.find("/usr/bin/<img/src=x>"), std::string::npos);
}

TEST_F(Recorded, DamagedRecordingHasAPageAndExitStatus1)
{
    record(
        "pmu 11 cxl_hmu_mem0.0.0\nevent 7 cxl_hmu_mem0.0.0//\naux 7 cpu 1\n"
        "hot unit 12 time 1000 sequence 0 3:900\nwords 1 2 3\n");
    const Element &made = page("", 1);
    EXPECT_NE(made.text.find("24 bytes held no record"), std::string::npos);
}

TEST_F(Recorded, FailedReportLeavesNoHtmlFile)
{
    int status = 0;
    said_by(PMUKIT_COMMAND " report --html " + path("page.html") + " -i " + path("none"), &status);
    EXPECT_EQ(status, 1);
    EXPECT_FALSE(fs::exists(path("page.html")));
    record("pmu 11 cxl_hmu_mem0.0.0\nevent 7 cxl_hmu_mem0.0.0//\n");
    said_by(PMUKIT_COMMAND " report --html " + path("no/page.html") + " -i " + path("perf.data"),
            &status);
    EXPECT_EQ(status, 1);
    said_by(PMUKIT_COMMAND " report --html", &status);
    EXPECT_EQ(status, 2);
}

TEST_F(Recorded, FigureOfAPmuWithoutDataSaysThatNothingWasHot)
{
    record("pmu 11 cxl_hmu_mem0.0.0\nevent 7 cxl_hmu_mem0.0.0// period 1 raw\n");
    EXPECT_NE(page("", 0).text.find("Nothing was hot."), std::string::npos);
}

TEST_F(Recorded, PageSaysIfSamplesWereRecordedWithoutOptionR)
{
    record(
        "pmu 11 cxl_hmu_mem0.0.0\nevent 7 cxl_hmu_mem0.0.0// period 1\n"
        "sample 7 kernel 0xffffffff81000000 cpu 0 pid 0 tid 0 time 1000\n");
    EXPECT_NE(page("", 1).text.find("recorded without -R"), std::string::npos);
}

// The first PMU has AUX data and no samples, the second has nothing.
TEST_F(Recorded, PmuWithoutSamplesIsNotReportedAsRecordedWithoutOptionR)
{
    record(
        "pmu 11 cxl_hmu_mem0.0.0\npmu 12 cxl_hmu_mem1.0.0\n"
        "event 7 cxl_hmu_mem0.0.0//\nevent 8 cxl_hmu_mem1.0.0//\n"
        "aux 7 cpu 1\nhot unit 12 time 1000 sequence 0 3:900\n");
    EXPECT_EQ(page("", 0).text.find("-R"), std::string::npos);
    for (const char *command : {"dump", "export --format jsonl -o -", "report"}) {
        int status = 0;
        said_by(PMUKIT_COMMAND " " + std::string(command) + " -i " + path("perf.data"), &status);
        EXPECT_EQ(status, 0) << command;
    }
}

// The report is written in both formats after reading the recording once.
TEST_F(Recorded, JsonAndHtmlOptionsWriteBoth)
{
    record(
        "pmu 11 cxl_hmu_mem0.0.0\nevent 7 cxl_hmu_mem0.0.0//\naux 7 cpu 1\n"
        "hot unit 12 time 1000 sequence 0 3:900\n");
    const json reported = said("--html " + path("page.html"));
    EXPECT_EQ(reported.at("pmus").at(0).at("records"), 1);
    EXPECT_TRUE(fs::exists(path("page.html")));
}

}  // namespace
}  // namespace pmukit
