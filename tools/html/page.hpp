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

namespace pmukit::html {

// Rows of cells; a larger value is darker in the light color scheme, and lighter in the dark one.
struct HeatMap {
    struct Row {
        std::string label;
        std::vector<uint64_t> values;  // one per column
        std::string value_name;        // what the values count: "accesses"
        bool own_scale = false;        // shades are relative to this row only
    };
    std::vector<Row> rows;
    std::vector<std::string> columns;  // name of each
    std::string first, last;           // labels of the ends of the axis
};

// Horizontal bars, each with its text.
struct Bars {
    struct Bar {
        std::string label, value;
        double part = 0;  // length, as a fraction of the longest bar
    };
    std::vector<Bar> bars;
};

// Vertical columns side by side.
struct Columns {
    struct Column {
        std::string text;
        double part = 0;  // height, as a fraction of the highest column
    };
    std::vector<Column> columns;
    std::string highest;      // label of the full height
    std::string first, last;  // labels of the ends of the axis
};

// Small line charts above each other, with one axis.
struct Timelines {
    struct Point {
        std::string text;
        double at = 0, part = 0;  // position on the axis and height, as fractions: 0 to 1
    };
    struct Line {
        std::string label, highest;  // highest: label of the full height
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
    std::vector<std::string> hues;  // meaning of each hue in use
};

struct Table {
    struct Column {
        std::string name;
        bool is_number = false;
    };
    std::vector<Column> columns;
    std::vector<std::vector<std::string>> rows;
    std::vector<std::string> total;  // the last row; empty: no total
};

using Picture = std::variant<HeatMap, Bars, Columns, Timelines, Flame>;

constexpr const char *kWhole = "nothing lost";

struct Figure {
    std::string title;
    std::string pmu;                  // PMU that counted the numbers
    std::string source;               // "model": the PMU is of an emulated device; empty: unknown
    std::vector<std::string> losses;  // one line each; empty: nothing is missing
    std::string whole = kWhole;       // text of the badge if losses is empty
    std::vector<std::string> words;   // paragraphs below the title
    Picture picture;
    Table table;
};

class Page {
public:
    std::string title, program;      // program: name of the program that made the page
    std::string source;              // as in Figure
    std::vector<std::string> facts;  // about the recording as a whole
    std::vector<std::string> losses;

    // Call after setting the losses.
    void add(const Figure &figure);
    // If a page has figures of many parts (such as events or streams), call this before adding
    // those of each part. Returns false if limits::kPage is reached; the part then counts as left
    // out.
    bool has_room();
    // Bytes that are left for a figure that shows many parts.
    size_t bytes_left() const { return limits::kPage - std::min(bytes_, limits::kPage); }

    // Returns the page in consecutive pieces. The page is XHTML 5: it means the same as HTML and as
    // XML.
    std::vector<std::string> take_text();

private:
    std::string head() const;

    std::string contents_;  // a line for each figure
    std::vector<std::string> figures_;
    size_t bytes_ = 0, left_out_ = 0;
    bool a_figure_lost_ = false;
    std::string whole_ = kWhole;  // text of the page's badge; changes if a figure has another text
};

}  // namespace pmukit::html
