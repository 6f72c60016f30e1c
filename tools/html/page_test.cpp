// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "html/page.hpp"

#include <gtest/gtest.h>

#include <utility>

#include "base/limits.hpp"

namespace pmukit::html {
namespace {

const std::string kHostile = "<b x=\"1\">&'\x01";

Figure figure_with(Picture picture)
{
    Figure figure;
    figure.title = figure.pmu = figure.source = kHostile;
    figure.losses = figure.words = {kHostile};
    figure.picture = std::move(picture);
    figure.table = {{{kHostile, false}, {"n", true}}, {{kHostile, "1"}, {kHostile}}, {kHostile}};
    return figure;
}

std::string text_of(Page page)
{
    std::string text;
    for (const std::string &piece : page.take_text())
        text += piece;
    return text;
}

size_t count_of(const std::string &text, const std::string &part)
{
    size_t count = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
        count++;
    return count;
}

HeatMap hostile_heat()
{
    return {{{kHostile, {1, 0, 9}, kHostile, false}, {"own", {0, 4, 4}, "bytes", true}},
            {"a", kHostile, "c"},
            kHostile,
            kHostile};
}

TEST(Page, EscapesUntrustedTextInEveryPicture)
{
    Page page;
    page.title = page.program = page.source = kHostile;
    page.facts = page.losses = {kHostile};
    const std::vector<Figure> figures = {
        figure_with(hostile_heat()),
        figure_with(Bars{{{kHostile, kHostile, 0.5}}}),
        figure_with(Columns{{{kHostile, 1}}, kHostile, kHostile, kHostile}),
        figure_with(Timelines{{{kHostile, kHostile, {{kHostile, 0.5, 0.5}}}}, kHostile, kHostile}),
        figure_with(Flame{{{kHostile, kHostile, 0, 1, 0, 0}}, {kHostile}}),
    };
    for (const Figure &figure : figures)
        page.add(figure);
    const std::string text = text_of(std::move(page));
    EXPECT_EQ(text.find("<b "), std::string::npos);
    EXPECT_EQ(text.find("x=\"1\""), std::string::npos);
    EXPECT_EQ(text.find('\x01'), std::string::npos);
    EXPECT_EQ(count_of(text, "<figure "), figures.size());
    EXPECT_EQ(count_of(text, "<li><a href="), figures.size());
    EXPECT_GT(count_of(text, "&lt;b x=&quot;1&quot;&gt;&amp;&#39;\xef\xbf\xbd"), 40U);
}

TEST(Page, PictureHasOneTabStop)
{
    Page page;
    page.add(figure_with(hostile_heat()));
    const std::string text = text_of(std::move(page));
    EXPECT_EQ(count_of(text, "role=\"img\" tabindex=\"0\""), 1U);
    EXPECT_EQ(count_of(text, "role=\"img\" tabindex=\"-1\""), 3U);
}

TEST(Page, HeatMapShadesNonzeroCellsAndOmitsZeros)
{
    Page page;
    page.add(figure_with(
        HeatMap{{{"row", {1, 0, 1000000}, "accesses", false}}, {"a", "b", "c"}, "first", "last"}));
    const std::string text = text_of(std::move(page));
    EXPECT_EQ(count_of(text, "class=\"m h1\""), 1U) << "a little is not nothing";
    EXPECT_EQ(count_of(text, "class=\"m h8\""), 1U);
    EXPECT_EQ(text.find("row, b"), std::string::npos);
    EXPECT_NE(text.find("row, c: 1000000 accesses"), std::string::npos);
}

TEST(Page, BarsAreClampedToThePicture)
{
    Page page;
    page.add(figure_with(Bars{{{"a", "1", 7.5}, {"b", "2", -1}}}));
    const std::string text = text_of(std::move(page));
    EXPECT_NE(text.find("width=\"100.000%\""), std::string::npos);
    EXPECT_NE(text.find("width=\"0.000%\""), std::string::npos);
    EXPECT_EQ(text.find("750"), std::string::npos);
}

TEST(Page, FlameGraphOmitsFramesTooSmallToSee)
{
    Page page;
    page.add(figure_with(
        Flame{{{"wide", "wide: 9", 0, 1, 0, 0}, {"thin", "thin: 1", 0, 0.0001, 1, 1}}, {}}));
    const std::string text = text_of(std::move(page));
    EXPECT_NE(text.find("wide: 9"), std::string::npos);
    EXPECT_EQ(text.find("thin: 1"), std::string::npos);
}

TEST(Page, IsValidWithoutFigures)
{
    const std::string text = text_of(Page());
    EXPECT_TRUE(text.starts_with("<!DOCTYPE html>\n"));
    EXPECT_TRUE(text.ends_with("</html>\n"));
    EXPECT_NE(text.find("nothing lost"), std::string::npos);
}

// If it is unknown whether a recording has losses, its figure must not claim that nothing is lost.
TEST(Page, UnknownLossesAreNotReportedAsNothingLost)
{
    Page page;
    Figure figure = figure_with(Bars{});
    figure.losses.clear();
    figure.whole = "not known";
    page.add(figure);
    const std::string text = text_of(std::move(page));
    EXPECT_EQ(text.find("nothing lost"), text.npos);
    EXPECT_NE(text.find(">not known</span>"), text.npos);
    EXPECT_NE(text.find(">see the figures</span>"), text.npos);
}

TEST(Page, AcceptsEmptyPictures)
{
    Page page;
    for (const Picture &nothing :
         {Picture(HeatMap{}), Picture(Bars{}), Picture(Columns{}), Picture(Timelines{}),
          Picture(Flame{}), Picture(Timelines{{{"no points", "0", {}}}, "", ""})})
        page.add(figure_with(nothing));
    const std::string text = text_of(std::move(page));
    EXPECT_EQ(text.find("nan"), std::string::npos);
    EXPECT_EQ(text.find("inf"), std::string::npos);
    EXPECT_EQ(count_of(text, "</figure>"), 6U);
}

TEST(Page, LimitsItsSizeAndReportsTheNumberOfFiguresLeftOut)
{
    constexpr size_t kFigures = 1000, kWords = limits::kPage / 100;
    Page page;
    Figure figure = figure_with(Bars{});
    figure.words = {std::string(kWords, 'w')};
    size_t added = 0;
    for (size_t i = 0; i < kFigures; i++)
        if (page.has_room()) {
            page.add(figure);
            added++;
        }
    EXPECT_GT(added, 90U);
    EXPECT_LE(added, 100U);
    const std::string text = text_of(std::move(page));
    EXPECT_EQ(count_of(text, "</figure>"), added);
    EXPECT_NE(text.find(std::to_string(kFigures - added) + " more have no figures here"),
              std::string::npos);
}

}  // namespace
}  // namespace pmukit::html
