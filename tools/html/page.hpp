// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// A page of figures: one file that needs nothing else, no network, no font, no script of others.
// The caller fills these structs with numbers; how they look is decided here alone.
//
// A figure is a picture (inline SVG) and a table with the same numbers. Marks of a picture have a
// text each; they can be reached by keyboard, and pointed at. Without JavaScript the texts show up
// as tool tips, and the tables are as good as ever.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/limits.hpp"

namespace pmukit::html {

// Rows of cells that are the darker, by daylight, the more there is.
struct HeatMap {
    struct Row {
        std::string label;
        std::vector<uint64_t> values;  // as columns
        std::string value_name;        // of a number: "accesses"
        bool own_scale = false;        // its shades are about itself alone
    };
    std::vector<Row> rows;
    std::vector<std::string> columns;  // what each is
    std::string first, last;           // ends of the axis below
};

// Lying bars, each with its words on it.
struct Bars {
    struct Bar {
        std::string label, value;
        double part = 0;  // of the longest, 0 to 1
    };
    std::vector<Bar> bars;
};

// Standing columns side by side.
struct Columns {
    struct Column {
        std::string text;
        double part = 0;  // of the highest, 0 to 1
    };
    std::vector<Column> columns;
    std::string highest;      // what the full height is
    std::string first, last;  // ends of the axis below
};

// One small line above the other, over one axis.
struct Timelines {
    struct Point {
        std::string text;
        double at = 0, part = 0;  // along the axis; of the full height; 0 to 1
    };
    struct Line {
        std::string label, highest;  // highest: what the full height of this line is
        std::vector<Point> points;   // in the order of at
    };
    std::vector<Line> lines;
    std::string first, last;
};

// Frames under those that contain them.
struct Flame {
    struct Frame {
        std::string name, text;
        double left = 0, width = 1;  // of the whole
        unsigned depth = 0;
        unsigned hue = 0;  // below kHues
    };
    static constexpr unsigned kHues = 6;
    std::vector<Frame> frames;
    std::vector<std::string> hues;  // what each hue that is used means
};

struct Table {
    struct Column {
        std::string name;
        bool is_number = false;
    };
    std::vector<Column> columns;
    std::vector<std::vector<std::string>> rows;
    std::vector<std::string> total;  // the last row; empty: there is none
};

using Picture = std::variant<HeatMap, Bars, Columns, Timelines, Flame>;

constexpr const char *kWhole = "nothing lost";

struct Figure {
    std::string title;
    std::string pmu;                  // whose numbers these are
    std::string source;               // "model": its device is emulated; empty: unknown
    std::vector<std::string> losses;  // a line each; empty: nothing is missing
    std::string whole = kWhole;       // what is said then
    std::vector<std::string> words;   // below the title, a paragraph each
    Picture picture;
    Table table;
};

class Page {
public:
    std::string title, program;      // program: that made it
    std::string source;              // as of a figure
    std::vector<std::string> facts;  // about the recording as a whole
    std::vector<std::string> losses;

    // After the losses.
    void add(const Figure &figure);
    // Before the figures of each of many. False: they are left out, by limits::kPage.
    bool has_room();
    // For what one figure has of many.
    size_t bytes_left() const { return limits::kPage - std::min(bytes_, limits::kPage); }

    // XHTML 5: read alike as HTML and as XML. In pieces that follow each other.
    std::vector<std::string> take_text();

private:
    std::string head() const;

    std::string contents_;  // a line for each figure
    std::vector<std::string> figures_;
    size_t bytes_ = 0, left_out_ = 0;
    bool a_figure_lost_ = false;
    std::string whole_ = kWhole;  // of a figure that says otherwise, if one does
};

}  // namespace pmukit::html
