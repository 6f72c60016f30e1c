// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Draws pictures as SVG. Horizontal lengths are in percent, vertical ones in pixels, so that text
// has the same size on every screen. For the same reason, axes and names of rows are HTML beside
// the SVG.

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "base/text.hpp"
#include "html/escape.hpp"
#include "html/parts.hpp"

namespace pmukit::html {
namespace {

constexpr unsigned kShades = 8;
constexpr unsigned kCellPixels = 15, kBarPixels = 26, kColumnsPixels = 170, kLinePixels = 52,
                   kFramePixels = 23, kTextPixels = 17;
// A label and a value with fewer letters than this fit in one line.
constexpr size_t kBarLetters = 44;
// Frames that are narrower than this are invisible, so they are omitted.
constexpr double kSmallestPercent = 0.02;

double percent(double part)
{
    return std::clamp(part, 0.0, 1.0) * 100;
}

// Makes the attributes of the marks of one picture. Only the first mark is a tab stop; the script
// moves the tab stop to other marks.
class Marks {
public:
    std::string attributes(std::string_view classes)
    {
        const int index = std::exchange(any_, true) ? -1 : 0;
        return fmt::format(R"(class="m {}" role="img" tabindex="{}")", classes, index);
    }

private:
    bool any_ = false;
};

void open_svg(std::string &to, std::string_view classes, std::string_view name, size_t height)
{
    append(to, R"(<svg class="{}" role="group" aria-label="{}" width="100%" height="{}">)", classes,
           escaped(name), height);
    to += '\n';
}

// Adds the labels to the left of the picture, one for each row.
void add_gutter(std::string &to, const std::vector<std::string> &labels, unsigned row_pixels)
{
    append(to, R"(<div class="gutter" aria-hidden="true" style="grid-auto-rows:{}px">)",
           row_pixels);
    for (const std::string &label : labels)
        append(to, "<span>{}</span>", escaped(label));
    to += "</div>\n";
}

void add_axis(std::string &to, const std::string &first, const std::string &last)
{
    append(to, "<div class=\"axis\" aria-hidden=\"true\"><span>{}</span><span>{}</span></div>\n",
           escaped(first), escaped(last));
}

// Heat map

// Returns the shade of a nonzero value, 1 to kShades. The square root keeps small values visible
// beside large ones.
unsigned shade_of(uint64_t value, uint64_t largest)
{
    const double part = std::sqrt(static_cast<double>(value) / static_cast<double>(largest));
    return std::clamp(static_cast<unsigned>(std::lround(part * kShades)), 1U, kShades);
}

uint64_t largest_of(const HeatMap::Row &row)
{
    return row.values.empty() ? 0 : *std::ranges::max_element(row.values);
}

void add_heat_row(std::string &to, const HeatMap &map, size_t number, uint64_t largest,
                  Marks &marks)
{
    const HeatMap::Row &row = map.rows[number];
    const double width = 100.0 / static_cast<double>(std::max<size_t>(1, map.columns.size()));
    for (size_t i = 0; i < std::min(row.values.size(), map.columns.size()); i++) {
        if (!row.values[i])
            continue;
        append(
            to,
            R"(<rect {} x="{:.3f}%" y="{}" width="{:.3f}%" height="{}"><title>{}, {}: {} {}</title></rect>)",
            marks.attributes(fmt::format("h{}", shade_of(row.values[i], largest))),
            width * static_cast<double>(i), number * kCellPixels, width, kCellPixels - 1,
            escaped(row.label), escaped(map.columns[i]), row.values[i], escaped(row.value_name));
        to += '\n';
    }
}

void add_legend(std::string &to, uint64_t largest, const std::string &value_name)
{
    to += "<p class=\"legend\" aria-hidden=\"true\">1 ";
    for (unsigned shade = 1; shade <= kShades; shade++)
        append(to, R"(<span class="swatch h{}"></span>)", shade);
    append(to, " {} {} in a cell</p>\n", largest, escaped(value_name));
}

std::string body_of(const HeatMap &map, std::string_view name)
{
    uint64_t shared = 0;
    std::vector<std::string> labels;
    const HeatMap::Row *of_legend = nullptr;
    for (const HeatMap::Row &row : map.rows) {
        labels.push_back(row.label);
        if (row.own_scale)
            continue;
        shared = std::max(shared, largest_of(row));
        of_legend = &row;
    }
    std::string out;
    add_gutter(out, labels, kCellPixels);
    open_svg(out, "heat", name, map.rows.size() * kCellPixels);
    Marks marks;
    for (size_t i = 0; i < map.rows.size(); i++) {
        const uint64_t largest = map.rows[i].own_scale ? largest_of(map.rows[i]) : shared;
        if (largest)
            add_heat_row(out, map, i, largest, marks);
    }
    out += "</svg>\n";
    add_axis(out, map.first, map.last);
    if (of_legend && shared)
        add_legend(out, shared, of_legend->value_name);
    return out;
}

// Bars

// Returns the additional height that a bar needs if its value is below its label, or 0 if the value
// is beside the label. The value is below if a page of 400 pixels is too narrow for both in one
// line.
unsigned value_line_pixels(const Bars &bars)
{
    const bool fits = std::ranges::all_of(bars.bars, [](const Bars::Bar &bar) {
        return bar.label.size() + bar.value.size() < kBarLetters;
    });
    return fits ? 0 : kTextPixels;
}

std::string body_of(const Bars &bars, std::string_view name)
{
    const unsigned below = value_line_pixels(bars), row = kBarPixels + below;
    std::string out;
    open_svg(out, "bars wide", name, bars.bars.size() * row);
    Marks marks;
    for (size_t i = 0; i < bars.bars.size(); i++) {
        const Bars::Bar &bar = bars.bars[i];
        const size_t y = i * row;
        append(out, "<g {}><title>{}: {}</title>\n", marks.attributes("bar"), escaped(bar.label),
               escaped(bar.value));
        append(out, R"(<rect class="back" x="0" y="{}" width="100%" height="{}"/>)", y, row - 3);
        append(out, R"(<rect class="front" x="0" y="{}" width="{:.3f}%" height="{}"/>)", y,
               percent(bar.part), row - 3);
        append(out, R"(<text x="6" y="{}">{}</text>)", y + 16, escaped(bar.label));
        append(out, R"(<text class="value" x="100%" dx="-6" y="{}">{}</text></g>)", y + 16 + below,
               escaped(bar.value));
        out += '\n';
    }
    out += "</svg>\n";
    return out;
}

// Columns

std::string body_of(const Columns &columns, std::string_view name)
{
    std::string out;
    append(out,
           "<div class=\"gutter ends\" aria-hidden=\"true\"><span>{}</span><span>0</span></div>\n",
           escaped(columns.highest));
    open_svg(out, "columns", name, kColumnsPixels);
    out += R"(<line class="grid" x1="0" x2="100%" y1="50%" y2="50%"/>)";
    Marks marks;
    const double width = 100.0 / static_cast<double>(std::max<size_t>(1, columns.columns.size()));
    for (size_t i = 0; i < columns.columns.size(); i++) {
        const Columns::Column &column = columns.columns[i];
        const double x = width * static_cast<double>(i), height = percent(column.part);
        append(out, "<g {}><title>{}</title>", marks.attributes("column"), escaped(column.text));
        append(out, R"(<rect class="back" x="{:.3f}%" y="0" width="{:.3f}%" height="100%"/>)", x,
               width);
        append(
            out,
            R"(<rect class="front" x="{:.3f}%" y="{:.3f}%" width="{:.3f}%" height="{:.3f}%"/></g>)",
            x + width * 0.06, 100 - height, width * 0.88, height);
        out += '\n';
    }
    out += "</svg>\n";
    add_axis(out, columns.first, columns.last);
    return out;
}

// Timelines

// Adds a nested <svg> that is stretched to the width of the picture. It is needed because the line
// is a path, and paths cannot have coordinates in percent.
void add_path(std::string &to, const Timelines::Line &line, size_t y)
{
    append(
        to,
        R"(<svg x="0" y="{}" width="100%" height="{}" viewBox="0 0 100 100" preserveAspectRatio="none" aria-hidden="true">)",
        y + 4, kLinePixels - 8);
    std::string path;
    for (const Timelines::Point &point : line.points)
        append(path, "{}{:.3f} {:.2f}", path.empty() ? "M" : "L", percent(point.at),
               100 - percent(point.part));
    if (!line.points.empty())
        append(to,
               R"(<path class="area" d="{}L{:.3f} 100L{:.3f} 100Z"/><path class="line" d="{}"/>)",
               path, percent(line.points.back().at), percent(line.points.front().at), path);
    to += "</svg>\n";
}

// Adds the points of a line. The area in which the pointer selects a point extends halfway to the
// neighboring points.
void add_points(std::string &to, const Timelines::Line &line, size_t y, Marks &marks)
{
    const std::vector<Timelines::Point> &points = line.points;
    for (size_t i = 0; i < points.size(); i++) {
        const double left = i ? (points[i - 1].at + points[i].at) / 2 : 0;
        const double right = i + 1 < points.size() ? (points[i].at + points[i + 1].at) / 2 : 1;
        append(
            to,
            R"(<rect {} x="{:.3f}%" y="{}" width="{:.3f}%" height="{}"><title>{}, {}</title></rect>)",
            marks.attributes("point"), percent(left), y, percent(right) - percent(left),
            kLinePixels - 2, escaped(line.label), escaped(points[i].text));
        to += '\n';
    }
}

std::string body_of(const Timelines &timelines, std::string_view name)
{
    std::string out;
    append(out, "<div class=\"gutter lines\" aria-hidden=\"true\" style=\"grid-auto-rows:{}px\">",
           kLinePixels);
    for (const Timelines::Line &line : timelines.lines)
        append(out, "<span>{}<br/><small>{}</small></span>", escaped(line.label),
               escaped(line.highest));
    out += "</div>\n";
    open_svg(out, "lines", name, timelines.lines.size() * kLinePixels);
    Marks marks;
    for (size_t i = 0; i < timelines.lines.size(); i++) {
        append(out, R"(<line class="grid" x1="0" x2="100%" y1="{0}" y2="{0}"/>)",
               (i + 1) * kLinePixels - 4);
        add_path(out, timelines.lines[i], i * kLinePixels);
        add_points(out, timelines.lines[i], i * kLinePixels, marks);
    }
    out += "</svg>\n";
    add_axis(out, timelines.first, timelines.last);
    return out;
}

// Flame graph

std::string body_of(const Flame &flame, std::string_view name)
{
    unsigned depth = 0;
    for (const Flame::Frame &frame : flame.frames)
        depth = std::max(depth, frame.depth);
    std::string out;
    open_svg(out, "flame wide", name, size_t{depth + 1} * kFramePixels);
    Marks marks;
    for (const Flame::Frame &frame : flame.frames) {
        if (percent(frame.width) < kSmallestPercent)
            continue;
        // A nested <svg> clips text that does not fit.
        append(out, R"(<svg {} x="{:.4f}%" y="{}" width="{:.4f}%" height="{}"><title>{}</title>)",
               marks.attributes(fmt::format("f{}", frame.hue % Flame::kHues)), percent(frame.left),
               frame.depth * kFramePixels, percent(frame.width), kFramePixels - 1,
               escaped(frame.text));
        append(out, R"(<rect width="100%" height="100%"/><text x="5" y="15">{}</text></svg>)",
               escaped(frame.name));
        out += '\n';
    }
    out += "</svg>\n";
    if (!flame.hues.empty()) {
        out += "<p class=\"legend\" aria-hidden=\"true\">";
        for (size_t hue = 0; hue < flame.hues.size(); hue++)
            append(out, R"(<span class="swatch s{}"></span> {} )", hue % Flame::kHues,
                   escaped(flame.hues[hue]));
        out += "</p>\n";
    }
    return out;
}

}  // namespace

std::string text_of(const Picture &picture, std::string_view name)
{
    std::string out = "<div class=\"plot\">\n";
    out += std::visit([name](const auto &shown) { return body_of(shown, name); }, picture);
    return out + "</div>\n";
}

}  // namespace pmukit::html
