// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// A page of figures: one self-contained file, without network, fonts or external scripts. The
// caller fills these structs with numbers; only this component decides how they look.
//
// A figure is a picture (inline SVG) and a table with the same numbers. Each mark of a picture has
// a text, and can be reached by keyboard and by pointer. Without JavaScript the texts are tool
// tips, and the tables are unaffected.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/limits.hpp"
#include "base/sentences.hpp"

namespace pmukit::html {

// Rows of cells. A larger value has a darker cell in the light color scheme, and a lighter cell in
// the dark one.
struct HeatMap {
    struct Row {
        std::string label;
        std::vector<uint64_t> values;  // value of each column
        std::string value_name;        // what the values count, such as "accesses"
        bool own_scale = false;        // shades are relative to this row only
    };
    std::vector<Row> rows;
    std::vector<std::string> columns;  // names of the columns
    std::string first, last;           // labels of the ends of the axis
};

// Horizontal bars, each with its text.
struct Bars {
    struct Bar {
        std::string label, value;
        double part = 0;  // length, as a fraction (0 to 1) of the full width
    };
    std::vector<Bar> bars;
};

// Vertical columns side by side.
struct Columns {
    struct Column {
        std::string text;
        double part = 0;  // height, as a fraction (0 to 1) of the full height
    };
    std::vector<Column> columns;
    std::string highest;      // label at the top of the picture
    std::string first, last;  // labels of the ends of the axis
};

// Small line charts above each other, with one axis.
struct Timelines {
    struct Point {
        std::string text;
        double at = 0, part = 0;  // position on the axis and height, as fractions: 0 to 1
    };
    struct Line {
        std::string label, highest;  // highest: label of the full height of its chart
        std::vector<Point> points;   // sorted by at
    };
    std::vector<Line> lines;
    std::string first, last;
};

// Flame graph: each frame is below the frame that contains it.
struct Flame {
    struct Frame {
        std::string name, text;
        double left = 0, width = 1;  // fractions of the picture's width
        unsigned depth = 0;
        unsigned hue = 0;  // less than kHues
    };
    static constexpr unsigned kHues = 6;
    std::vector<Frame> frames;
    // Meaning of each hue that is used in the picture.
    std::vector<std::string> hues;
};

struct Table {
    struct Column {
        std::string name;
        bool is_number = false;
    };
    std::vector<Column> columns;
    std::vector<std::vector<std::string>> rows;
    // Cells of the last row, which has the totals. If empty, there is no such row.
    std::vector<std::string> total;
};

using Picture = std::variant<HeatMap, Bars, Columns, Timelines, Flame>;

struct Figure {
    std::string title;
    std::string pmu;                  // name of the PMU that counted the numbers
    std::string source;               // "model": the PMU is of an emulated device; empty: unknown
    std::vector<std::string> losses;  // texts of one line; empty: nothing is missing
    std::string whole = sentences::kNothingLost;  // text of the badge if losses is empty
    std::vector<std::string> words;               // paragraphs below the title
    Picture picture;
    Table table;
};

class Page {
public:
    std::string title, program;      // program: name of the program that made the page
    std::string source;              // like Figure::source
    std::vector<std::string> facts;  // texts about the whole recording
    std::vector<std::string> losses;

    // Adds a figure. `losses` must be set before.
    void add(const Figure &figure);
    // Call this before adding the figures of one of many parts (such as events or streams) to a
    // page. Returns false if the page has reached limits::kPage; the part is then counted as left
    // out.
    bool has_room();
    // Bytes that are left for a figure that shows many parts.
    size_t bytes_left() const { return limits::kPage - std::min(bytes_, limits::kPage); }

    // Returns the page in consecutive pieces. The page is XHTML 5: it has the same meaning when
    // it is parsed as HTML or as XML.
    std::vector<std::string> take_text();

private:
    std::string head() const;

    // Table of contents, with a line for each figure.
    std::string contents_;
    std::vector<std::string> figures_;
    size_t bytes_ = 0, left_out_ = 0;
    bool a_figure_lost_ = false;
    // Text of the badge of the page. It changes if a figure has another text.
    std::string whole_ = sentences::kNothingLost;
};

// True if a file that begins with this text (4 KiB or the whole file) is a page of pmukit, whose
// title begins with the command.
bool is_page(std::string_view front);

}  // namespace pmukit::html
