// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "html/page.hpp"

#include <utility>

#include "base/sentences.hpp"
#include "base/text.hpp"
#include "html/escape.hpp"
#include "html/parts.hpp"

namespace pmukit::html {
namespace {

// Adds badges for the source of the numbers and for losses. losses: the losses to list below the
// badges. elsewhere: if losses are listed only at another place of the page, a text that refers to
// that place; nullptr: there are none. whole: text of the badge if there are no losses.
void add_badges(std::string &to, const std::string &source, const std::vector<std::string> &losses,
                const char *elsewhere, const std::string &whole)
{
    if (!source.empty())
        append(to, "<span class=\"badge source\">source={}</span> ", escaped(source));
    const auto badge = [&to](const char *kind, const std::string &words) {
        append(to, "<span class=\"badge {}\">{}</span>", kind, escaped(words));
    };
    if (!losses.empty())
        badge("lost", "incomplete");
    else if (elsewhere)
        badge("elsewhere", std::string("incomplete: ") + elsewhere);
    else
        badge(whole == sentences::kNothingLost ? "whole" : "elsewhere", whole);
    to += "</p>\n";
    if (losses.empty())
        return;
    to += "<ul class=\"losses\">\n";
    for (const std::string &loss : losses)
        append(to, "<li>{}</li>\n", escaped(loss));
    to += "</ul>\n";
}

void add_row(std::string &to, const Table &table, const std::vector<std::string> &cells)
{
    to += "<tr>";
    for (size_t i = 0; i < table.columns.size(); i++) {
        to += table.columns[i].is_number ? "<td class=\"n\">" : "<td>";
        to += i < cells.size() ? escaped(cells[i]) : "";
        to += "</td>";
    }
    to += "</tr>\n";
}

void add_table(std::string &to, const Figure &figure, size_t number)
{
    const Table &table = figure.table;
    append(to,
           "<details><summary>The numbers: {} rows</summary>\n"
           "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"numbers of figure "
           "{}\"><table>\n<caption>{}</caption>\n<thead><tr>",
           table.rows.size(), number, escaped(figure.title));
    for (const Table::Column &column : table.columns)
        append(to, "<th scope=\"col\"{}>{}</th>", column.is_number ? " class=\"n\"" : "",
               escaped(column.name));
    to += "</tr></thead>\n<tbody>\n";
    for (const std::vector<std::string> &row : table.rows)
        add_row(to, table, row);
    to += "</tbody>\n";
    if (!table.total.empty()) {
        to += "<tfoot>\n";
        add_row(to, table, table.total);
        to += "</tfoot>\n";
    }
    to += "</table></div></details>\n";
}

void add_figure(std::string &to, const Figure &figure, size_t number, bool page_lost)
{
    append(to, "<figure id=\"figure-{0}\" aria-labelledby=\"title-{0}\">\n<figcaption>\n", number);
    append(to, "<h2 id=\"title-{}\">{}</h2>\n<p class=\"meta\"><code>{}</code> ", number,
           escaped(figure.title), escaped(figure.pmu));
    add_badges(to, figure.source, figure.losses, page_lost ? "see above" : nullptr, figure.whole);
    for (const std::string &words : figure.words)
        append(to, "<p>{}</p>\n", escaped(words));
    to += "</figcaption>\n";
    to += text_of(figure.picture, figure.title);
    // The script fills this paragraph with the text of the current mark. Without scripts, the texts
    // are in the tool tips and in the table.
    to += "<p class=\"readout\" aria-live=\"polite\"></p>\n";
    add_table(to, figure, number);
    to += "</figure>\n";
}

}  // namespace

void Page::add(const Figure &figure)
{
    const size_t number = figures_.size() + 1;
    append(contents_, "<li><a href=\"#figure-{}\">{}</a> <code>{}</code></li>\n", number,
           escaped(figure.title), escaped(figure.pmu));
    a_figure_lost_ |= !figure.losses.empty();
    if (figure.whole != sentences::kNothingLost)
        whole_ = "see the figures";
    add_figure(figures_.emplace_back(), figure, number, !losses.empty());
    // The text has grown in steps, so up to half of its memory is unused.
    figures_.back().shrink_to_fit();
    bytes_ += figures_.back().size();
}

bool Page::has_room()
{
    left_out_ += bytes_ >= limits::kPage;
    return bytes_ < limits::kPage;
}

std::string Page::head() const
{
    std::string out;
    out +=
        "<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n<head>\n"
        "<meta charset=\"utf-8\"/>\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
        "<meta name=\"color-scheme\" content=\"light dark\"/>\n";
    append(out, "<title>{}</title>\n<style>\n{}</style>\n</head>\n<body>\n<header>\n<h1>{}</h1>\n",
           escaped(title), kStyle, escaped(title));
    for (const std::string &fact : facts)
        append(out, "<p>{}</p>\n", escaped(fact));
    if (left_out_)
        append(out, "<p>{} more have no figures here; pmukit report --json has all.</p>\n",
               left_out_);
    out += "<p class=\"meta\">";
    add_badges(out, source, losses, a_figure_lost_ ? "see the figures" : nullptr, whole_);
    append(out, "</header>\n<nav aria-label=\"figures\"><ol>\n{}</ol></nav>\n<main>\n", contents_);
    return out;
}

std::vector<std::string> Page::take_text()
{
    std::vector<std::string> text = std::move(figures_);
    text.insert(text.begin(), head());
    append(text.emplace_back(),
           "</main>\n<footer><p>{}</p></footer>\n<script>\n{}</script>\n</body>\n</html>\n",
           escaped(program), kScript);
    return text;
}

bool is_page(std::string_view front)
{
    return front.starts_with("<!DOCTYPE html>") && front.find("<title>pmukit ") != front.npos;
}

}  // namespace pmukit::html
